"""Recorded windows as a file: HDF5, readable by any HDF5 tool; nothing in it is ever executed.

user block         checksum (`brian_lda.files.hdf5`)
/                  attribute "about" (JSON): format version; of each window name, first token, ...
/0/index/word      neuron of each spike, and /0/time/word its time in s, of window 0; other layers
/0/latency         if it was recorded
/0/state/u         what was followed, token by token; /0/chosen/topics: of which neurons
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py

from brian_lda.errors import RecordingFileError
from brian_lda.files.atomic import atomic_file
from brian_lda.files.hdf5 import check_seal, read_array, read_arrays, sealed_image
from brian_lda.simulation.recording import Spikes

RECORDING = "recording.h5"  # in the folder of a run
FORMAT_VERSION = 1
ABOUT = ("name", "first_token", "iteration", "tick")
GROUPS = ("index", "time", "state", "chosen")


def write_recording(path: str | Path, windows: Sequence[Spikes]) -> None:
    """Write windows, or replace the file; on any failure the one before stays as it was."""
    about: dict[str, Any] = {"format_version": FORMAT_VERSION}
    about["windows"] = [{name: getattr(window, name) for name in ABOUT} for window in windows]

    def write(file: h5py.File) -> None:
        file.attrs["about"] = json.dumps(about)
        for n, window in enumerate(windows):
            for group in GROUPS:
                arrays = file.create_group(f"{n}/{group}")
                for name, array in getattr(window, group).items():
                    arrays.create_dataset(name, data=array)
            if window.latency is not None:
                file.create_dataset(f"{n}/latency", data=window.latency)

    path, image = Path(path), sealed_image("recording", write)
    try:
        with atomic_file(path) as scratch:
            scratch.write_bytes(image)
    except OSError as error:
        raise RecordingFileError(f"cannot write the recording {path}: {error}.") from error


def read_recording(path: str | Path) -> list[Spikes]:
    """The windows that a run has recorded, in the order of their tokens.

    Parameters
    ----------
    path : str or Path
        The folder of a run, or the file itself.

    Raises
    ------
    RecordingFileError
        There is none, or it is damaged.
    """
    path = Path(path)
    path = path / RECORDING if path.is_dir() else path
    if not path.is_file():
        raise RecordingFileError(
            f"there is no recording {path}: train in spikes, with --record or record=Recording()."
        )
    try:
        check_seal(path, "recording")
        with h5py.File(path, "r") as file:
            about = json.loads(file.attrs["about"])
            if about["format_version"] != FORMAT_VERSION:
                raise ValueError("it was written in another format by another version")
            return [
                _window(file[str(n)], window, path) for n, window in enumerate(about["windows"])
            ]
    except (OSError, RuntimeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise RecordingFileError(
            f"cannot read the recording {path}: {error}. Train again, or put back a copy."
        ) from error


def _window(group: h5py.Group, about: dict[str, Any], path: Path) -> Spikes:
    window = Spikes(**{name: about[name] for name in ABOUT})
    for name in GROUPS:
        setattr(window, name, read_arrays(group[name], path))
    if "latency" in group:
        window.latency = read_array(group, "latency", path)
    if any(len(time) != len(window.index.get(layer, ())) for layer, time in window.time.items()):
        raise ValueError("a layer has not as many times as spikes")
    if "topic" not in window.time:
        raise ValueError("a window has no winners")
    return window
