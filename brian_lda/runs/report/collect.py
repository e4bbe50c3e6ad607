"""What a run folder and its corpus tell.

The run may be finished, interrupted or still running: whatever is not there yet is None, and
`notes` says so. Rasters show what the run has recorded while it learned.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda.algorithms import find_algorithm
from brian_lda.corpus import Corpus
from brian_lda.errors import BrianLDAError, CheckpointError, RecordingFileError, RunFolderError
from brian_lda.estimators import TopicModel
from brian_lda.estimators.checkpoint import read_checkpoint
from brian_lda.files.json_files import read_json
from brian_lda.runs.folder import CHECKPOINT, CONFIG, METRICS, MODEL, RECORDING
from brian_lda.runs.run import read_config, run_split
from brian_lda.simulation.recording import Spikes
from brian_lda.simulation.recording_file import read_recording

N_WORDS = 10  # of a topic
N_EXAMPLES = 3  # documents of a topic
N_FOLDED_IN = 2000  # documents among which the examples are sought


@dataclass
class RunData:
    """A run as plain data.

    Attributes
    ----------
    folder : Path
    config : dict
    metrics : dict or None
        None while the run has written none.
    progress : list of dict
        Evaluated iterations so far: of `metrics`, or of a running run's checkpoint.
    topics : list of dict
        topic, share (mean theta), words, examples (list of str).
    vocabulary : tuple of str
    windows : list of Spikes
        What was recorded of the training.
    phi : float array [topic, word]
        Of the finished model.
    theta : float array [doc, topic] or None
        The same, of the documents in the windows; 0 elsewhere.
    word_topic : int array [word]
        The most probable topic of each word.
    unit : str
        What an iteration is.
    hardware : dict of str to dict
        Numbers of hardware reports, by file name.
    pages : list of str
        Other pages in the folder, such as hardware-CHIP.html.
    notes : list of str
        What is missing, and why.
    """

    folder: Path
    config: dict[str, Any]
    metrics: dict[str, Any] | None = None
    progress: list[dict[str, Any]] = field(default_factory=list)
    topics: list[dict[str, Any]] = field(default_factory=list)
    vocabulary: tuple[str, ...] = ()
    windows: list[Spikes] = field(default_factory=list)
    phi: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    theta: np.ndarray | None = None
    word_topic: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    unit: str = "iteration"
    hardware: dict[str, dict[str, Any]] = field(default_factory=dict)
    pages: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def collect_run(folder: str | Path, *, data_dir: str | Path | None = None) -> RunData:
    """Read a run folder.

    Parameters
    ----------
    folder : str or Path
        As `sims/train.py` wrote it, or is writing it.
    data_dir : str or Path, optional
        Where the corpus is looked for; the default is what the run used.
    """
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        raise RunFolderError(
            f"{folder} is not the folder of a run: it has no {CONFIG}. Name a folder that "
            "sims/train.py printed as 'run folder'."
        )
    data = RunData(folder, read_json(folder / CONFIG))
    if (folder / METRICS).is_file():
        data.metrics = read_json(folder / METRICS)
        data.progress = data.metrics.get("history", [])
    else:
        data.notes.append(f"No {METRICS} yet: the run is still going on, or was stopped hard.")
        _read_progress(data)
    for path in sorted(folder.glob("hardware*.json")):
        data.hardware[path.name] = read_json(path)
    data.pages = sorted(path.name for path in folder.glob("hardware*.html"))
    if not (folder / MODEL).is_file():
        data.notes.append(f"No {MODEL} yet: topics and rasters come with it.")
        return data
    model = TopicModel.load(folder / MODEL)
    data.unit = find_algorithm(data.config["algorithm"]).iteration
    data.vocabulary = model.vocabulary_ or tuple(map(str, range(model.n_features_in_)))
    corpus = _corpus(data, data_dir)
    data.topics = _topics(model, corpus, data.vocabulary)
    _read_windows(data, model, corpus)
    return data


def _read_windows(data: RunData, model: TopicModel, corpus: Corpus | None) -> None:
    """The recorded windows, and what the finished model says of their words and documents."""
    if not (data.folder / RECORDING).is_file():
        return
    try:
        data.windows = read_recording(data.folder)
    except RecordingFileError as error:
        data.notes.append(str(error))
        return
    shares = {topic["topic"]: topic.get("share", 1.0) for topic in data.topics}
    share = np.array([shares[z] for z in range(len(model.components_))])
    data.phi = model.components_
    data.word_topic = (model.components_ * share[:, None]).argmax(axis=0)
    recorded = [window.index["document"] for window in data.windows if "document" in window.index]
    if corpus is not None and recorded:
        docs = np.unique(np.concatenate(recorded))
        data.theta = np.zeros((corpus.n_docs, len(share)))
        data.theta[docs] = model.transform(corpus.rows(docs))


def _read_progress(data: RunData) -> None:
    """The learning curve of a run that has not ended, from its latest checkpoint."""
    path = data.folder / CHECKPOINT
    if not path.is_file():
        return
    try:
        history = read_checkpoint(path).history
    except CheckpointError as error:
        data.notes.append(str(error))
        return
    data.progress = [record for record in history if "perplexity" in record]
    data.notes.append(
        f"Its latest checkpoint is from iteration {len(history)}. If it was stopped, go on with: "
        f"python sims/train.py --resume {data.folder}"
    )


def _corpus(data: RunData, data_dir: str | Path | None) -> Corpus | None:
    """The training documents; None, and a note, if the corpus cannot be found."""
    name = data.config["corpus"]
    try:
        config, _ = read_config(data.folder)
        place = str(data_dir) if data_dir else config.data_dir
        train = run_split(replace(config, data_dir=place)).train
    except BrianLDAError as error:
        data.notes.append(f"No example documents, for want of the corpus: {error}")
        return None
    if train.vocabulary != data.vocabulary:
        data.notes.append(
            f"No example documents: the corpus {name} has other words than the "
            "model. Were its files changed since?"
        )
        return None
    return train


def _topics(
    model: TopicModel, corpus: Corpus | None, vocabulary: tuple[str, ...]
) -> list[dict[str, Any]]:
    words = model.top_words(N_WORDS, vocabulary)
    topics: list[dict[str, Any]] = [
        {"topic": z, "words": " ".join(best)} for z, best in enumerate(words)
    ]
    if corpus is None:
        return topics
    some = np.arange(corpus.n_docs)[:N_FOLDED_IN]
    theta = model.transform(corpus.rows(some))
    for topic in topics:
        theta_z = theta[:, topic["topic"]]
        topic["share"] = float(theta_z.mean())
        best = np.argsort(-theta_z, kind="stable")[:N_EXAMPLES]
        topic["examples"] = [_describe(corpus, d, theta_z[d]) for d in best]
    return sorted(topics, key=lambda topic: -topic["share"])


def _describe(corpus: Corpus, d: int, theta_dz: float) -> str:
    """A document in a line: share of the topic, label, its most frequent words."""
    row = corpus.rows(np.array([d]))
    often = row.indices[np.argsort(-row.data, kind="stable")[:6]]
    label = ""
    if corpus.labels is not None:
        number = int(corpus.labels[d])
        label = f", {corpus.label_names[number] if corpus.label_names else f'class {number}'}"
    words = " ".join(corpus.vocabulary[w] for w in often)
    return f"{theta_dz:.0%} of document {d}{label}: {words} …"
