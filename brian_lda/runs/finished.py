"""A finished run, read again: its model and the documents that it was trained on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from brian_lda.corpus import Corpus
from brian_lda.errors import RunFolderError
from brian_lda.estimators import TopicModel
from brian_lda.runs.folder import CONFIG, MODEL
from brian_lda.runs.run import read_config, run_split


@dataclass(frozen=True)
class FinishedRun:
    """What a finished run leaves to others.

    Attributes
    ----------
    algorithm : str
        A name of `brian_lda.algorithms`.
    model : TopicModel
    corpus : Corpus
        The training documents.
    """

    algorithm: str
    model: TopicModel
    corpus: Corpus


def read_finished_run(folder: str | Path, *, data_dir: str | None = None) -> FinishedRun:
    """Read a run folder that `sims/train.py` wrote.

    Parameters
    ----------
    folder : path
    data_dir : str, optional
        Where the corpus is looked for; the default is where the run found it.

    Raises
    ------
    RunFolderError
        The folder holds no finished run, or one of another version of brian_lda.
    """
    folder = Path(folder)
    missing = [name for name in (CONFIG, MODEL) if not (folder / name).is_file()]
    if missing:
        raise RunFolderError(f"{folder} is not the folder of a finished run: no {missing[0]}.")
    config, written_with = read_config(folder)
    found, here = written_with.get("brian_lda"), version("brian_lda")
    if found != here:
        raise RunFolderError(
            f"{folder} was written by brian_lda {found or '(unknown version)'}, this is {here}: "
            "train again, or use the version that wrote it."
        )
    model = TopicModel.load(folder / MODEL)
    train = run_split(replace(config, data_dir=data_dir or config.data_dir)).train
    if train.n_words != model.n_features_in_:
        raise RunFolderError(
            f"{folder}: the model knows {model.n_features_in_} words, the corpus "
            f"{config.corpus!r} has {train.n_words}; is it still the one that was trained on?"
        )
    return FinishedRun(config.algorithm, model, train)
