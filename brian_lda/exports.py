"""Spikes and models in the forms that other tools read: Neo, NWB, pyLDAvis.

Each needs a package of its own, which is asked for by name when it is missing:
`pip install 'brian_lda[analysis]'` (Neo, NWB) and `pip install 'brian_lda[viz]'` (pyLDAvis).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from brian_lda.errors import MissingDependencyError, ParameterError

if TYPE_CHECKING:
    from brian_lda.corpus import Corpus
    from brian_lda.estimators import TopicModel
    from brian_lda.simulation.recording import Spikes

TICK = 1e-3  # s, added to the last spike: a recording ends after it


def to_neo(spikes: Spikes | Sequence[Spikes], vocabulary: Sequence[str] | None = None) -> Any:
    """Recorded spikes as a Neo Block: one Group per layer, one SpikeTrain (in s) per neuron.

    Parameters
    ----------
    spikes : Spikes or sequence of Spikes
        Of `model.recorded_` or `read_recording(folder)`: one window or several.
    vocabulary : sequence of str [word], optional
        Names the word neurons' trains.

    Returns
    -------
    neo.Block
        With one Segment for each window. Trains carry the annotations `layer` and `neuron`; only
        neurons that fired have one.
    """
    neo = _needed("neo", "analysis")
    block = neo.Block(name="brian_lda", description="spiking topic model")
    groups: dict[str, Any] = {}
    for n, window in enumerate(_windows(spikes)):
        segment = neo.Segment(
            name=window.name or "recording",
            index=n,
            first_token=window.first_token,
            iteration=window.iteration,
        )
        block.segments.append(segment)
        t_stop = _duration(window)
        for layer in window.index:
            group = groups.setdefault(layer, neo.Group(name=layer))
            for neuron, times in _trains(window, layer):
                train = neo.SpikeTrain(
                    times,
                    units="s",
                    t_stop=t_stop,
                    name=_name(layer, neuron, vocabulary),
                    layer=layer,
                    neuron=neuron,
                )
                segment.spiketrains.append(train)
                group.add(train)
    block.groups.extend(groups.values())
    block.check_relationships()
    return block


def to_nwb(
    spikes: Spikes | Sequence[Spikes],
    path: str | Path,
    vocabulary: Sequence[str] | None = None,
    *,
    description: str = "spikes of a simulated spiking topic model (brian_lda)",
) -> Path:
    """Recorded spikes as an NWB 2 file: a row of `units` per neuron that fired.

    Windows follow each other on one time axis, without the training between them; the table
    `epochs` says where each begins and ends.

    Parameters
    ----------
    spikes : Spikes or sequence of Spikes
    path : str or Path
        File to write, usually `*.nwb`.
    vocabulary : sequence of str [word], optional
        Fills the column `label` of the word neurons.
    description : str
        Of the session.
    """
    pynwb = _needed("pynwb", "analysis")
    path = Path(path)
    file = pynwb.NWBFile(
        session_description=description,
        identifier=str(uuid.uuid4()),
        session_start_time=datetime.now(UTC),
        source_script="brian_lda",
        source_script_file_name="brian_lda/exports.py",
    )
    file.add_epoch_column("first_token", "number of the window's first token in the training")
    file.add_epoch_column("iteration", "pass, sweep or mini-batch of the training, from 1")
    file.add_unit_column("layer", "layer of the network: word, document, topic or attempt")
    file.add_unit_column("neuron", "number of the neuron in its layer")
    file.add_unit_column("label", "word of a word neuron, else layer and number")
    begin = 0.0
    trains: dict[tuple[str, int], list[np.ndarray]] = {}
    observed: dict[str, list[list[float]]] = {}
    for window in _windows(spikes):
        end = begin + _duration(window)
        file.add_epoch(
            start_time=begin,
            stop_time=end,
            tags=[window.name or "recording"],
            first_token=window.first_token,
            iteration=window.iteration,
        )
        for layer in window.index:
            observed.setdefault(layer, []).append([begin, end])
            for neuron, times in _trains(window, layer):
                trains.setdefault((layer, neuron), []).append(begin + times)
        begin = end
    for layer, neuron in sorted(trains, key=lambda key: (list(observed).index(key[0]), key[1])):
        file.add_unit(
            spike_times=np.concatenate(trains[layer, neuron]),
            obs_intervals=observed[layer],
            layer=layer,
            neuron=neuron,
            label=_name(layer, neuron, vocabulary),
        )
    with pynwb.NWBHDF5IO(str(path), "w") as stream:
        stream.write(file)
    return path


def to_pyldavis(model: TopicModel, corpus: Corpus, **options: Any) -> Any:
    """A fitted model as pyLDAvis shows it.

    Parameters
    ----------
    model : TopicModel
    corpus : Corpus
        Over the model's vocabulary; gives document lengths, word frequencies and theta.
    **options
        Of `pyLDAvis.prepare`. `sort_topics=False` is our default: topics keep their numbers
        (pyLDAvis counts them from 1).

    Returns
    -------
    pyLDAvis.PreparedData
        For `pyLDAvis.save_html(prepared, "topics.html")`. That page fetches its JavaScript from
        the web, unless it is told where else to find it.
    """
    pyldavis = _needed("pyLDAvis", "viz")
    if corpus.n_words != model.n_features_in_:
        raise ParameterError(
            f"the model knows {model.n_features_in_} words, the corpus has {corpus.n_words}: pass "
            "the corpus that it was trained on, or one over the same vocabulary."
        )
    kept = np.flatnonzero(corpus.doc_lengths > 0)  # pyLDAvis divides by the lengths
    corpus = corpus.subset(kept)
    frequency = np.asarray(corpus.counts.sum(axis=0)).ravel()
    seen = np.flatnonzero(frequency > 0)  # ... and by the frequencies
    phi = model.components_[:, seen]
    return pyldavis.prepare(
        topic_term_dists=phi / phi.sum(axis=1, keepdims=True),
        doc_topic_dists=model.transform(corpus),
        doc_lengths=corpus.doc_lengths,
        vocab=[corpus.vocabulary[w] for w in seen],
        term_frequency=frequency[seen],
        **({"sort_topics": False, "n_jobs": 1} | options),
    )


def _windows(spikes: Spikes | Sequence[Spikes]) -> Sequence[Spikes]:
    windows = [*spikes] if isinstance(spikes, Sequence) else [spikes]
    if not windows:
        raise ParameterError("there is no recorded window to export: was `record` given?")
    return windows


def _trains(spikes: Spikes, layer: str) -> Iterator[tuple[int, np.ndarray]]:
    """(neuron, times) of every neuron of the layer that fired."""
    index, time = spikes.index[layer], spikes.time[layer]
    for neuron in np.unique(index):
        yield int(neuron), np.sort(time[index == neuron])


def _name(layer: str, neuron: int, vocabulary: Sequence[str] | None) -> str:
    if layer == "word" and vocabulary is not None:
        return vocabulary[neuron]
    return f"{layer} {neuron}"


def _duration(spikes: Spikes) -> float:
    return max(float(time.max(initial=0.0)) for time in spikes.time.values()) + TICK


def _needed(package: str, extra: str) -> ModuleType:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingDependencyError(
            f"this export needs {package}, which is not installed: pip install 'brian_lda[{extra}]'"
        ) from error
