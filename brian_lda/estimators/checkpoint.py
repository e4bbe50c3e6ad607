"""Checkpoints: what a run needs to go on to the last bit after it was killed.

One HDF5 file, replaced atomically. Nothing in it is ever executed or unpickled:

user block   checksum (`brian_lda.files.hdf5`)
/            attribute "about" (JSON): format version, config, corpus, versions, seed, history
/state/*     arrays of the trainer
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from brian_lda.corpus import Corpus
from brian_lda.errors import CheckpointError, DivergenceError
from brian_lda.files.atomic import atomic_file
from brian_lda.files.hdf5 import check_seal, read_arrays, sealed_image

if TYPE_CHECKING:
    from brian_lda.simulation.recording import Spikes

FORMAT_VERSION = 1
ABOUT = ("config", "corpus", "versions", "seed", "history")


@dataclass
class Checkpoint:
    """A run between two iterations.

    Attributes
    ----------
    config : dict
        What defines the run, as plain data.
    corpus : dict
        `corpus_fingerprint` of the training documents.
    versions : dict of str to str
    seed : int
    history : list of dict
        One record per finished iteration.
    state : dict of str to array
        The trainer's.
    recorded : list of Spikes
        What was recorded so far; a run keeps it in a file of its own.
    """

    config: dict[str, Any]
    corpus: dict[str, Any]
    versions: dict[str, str]
    seed: int
    history: list[dict[str, Any]]
    state: dict[str, np.ndarray]
    recorded: list[Spikes] = field(default_factory=list)


def corpus_fingerprint(corpus: Corpus) -> dict[str, Any]:
    """Sizes and a hash of all counts and words: equal only for equal corpora."""
    digest = hashlib.sha256()
    for array in (corpus.counts.indptr, corpus.counts.indices, corpus.counts.data):
        digest.update(np.ascontiguousarray(array, np.int64).data)
    digest.update("\n".join(corpus.vocabulary).encode())
    sizes = {"documents": corpus.n_docs, "words": corpus.n_words, "tokens": corpus.n_tokens}
    return {**sizes, "sha256": digest.hexdigest()}


def write_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Write, or replace, a checkpoint; on any failure the one before stays as it was.

    Raises
    ------
    DivergenceError
        A state that holds NaN or infinity is not worth going on from.
    CheckpointError
        The file cannot be written.
    """
    for name, array in checkpoint.state.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise DivergenceError(
                f"{name} holds NaN or infinity after {len(checkpoint.history)} iterations; no "
                "checkpoint was written. Use integrator='flow' or a smaller step."
            )
    about = {name: getattr(checkpoint, name) for name in ABOUT}
    about["format_version"] = FORMAT_VERSION

    def write(file: h5py.File) -> None:
        file.attrs["about"] = json.dumps(about)
        group = file.create_group("state")
        for name, array in checkpoint.state.items():
            group.create_dataset(name, data=array)

    path, image = Path(path), sealed_image("checkpoint", write)
    try:
        with atomic_file(path) as scratch:
            scratch.write_bytes(image)
    except OSError as error:
        raise CheckpointError(f"cannot write the checkpoint {path}: {error}.") from error


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint; anything but a complete, undamaged one is refused."""
    path = Path(path)
    try:
        check_seal(path, "checkpoint")
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"cannot go on from {path}: {error}. Start the run anew, or put back a copy."
        ) from error
    try:
        with h5py.File(path, "r") as file:
            about = json.loads(file.attrs["about"])
            if about.pop("format_version") != FORMAT_VERSION:
                raise CheckpointError(f"{path} was written in another format by another version.")
            return Checkpoint(**about, state=read_arrays(file["state"], path))
    except CheckpointError:
        raise
    # The checksum is right, so the writer was wrong: say so, whatever HDF5 or JSON stumbled over.
    except (OSError, RuntimeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} does not hold what a checkpoint holds: {error}.") from error
