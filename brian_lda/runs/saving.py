"""When a run is saved, when it stops, and what must be the same for it to go on.

The file itself is `brian_lda.estimators.checkpoint`.
"""

from __future__ import annotations

import logging
import re
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brian_lda.errors import CheckpointError, RecordingFileError
from brian_lda.estimators.checkpoint import Checkpoint, write_checkpoint

if TYPE_CHECKING:
    from brian_lda.simulation.recording import Spikes

logger = logging.getLogger(__name__)

# A kill then costs at most 10 s of work and the iteration under way.
DEFAULT_EVERY = "10s"
LARGEST_SHARE = 0.05  # of a run's time may be spent writing checkpoints at timed intervals


def require_same(found: Mapping[str, Any], expected: Mapping[str, Any], what: str) -> None:
    """Refuse to go on if two descriptions differ; the message names each difference.

    Parameters
    ----------
    found : mapping
        The checkpoint's.
    expected : mapping
        What the run would go on with.
    what : {"parameters", "corpus", "versions"}
    """
    found, expected = flat(found), flat(expected)
    names = sorted(set(found) | set(expected))
    differences = [
        f"{name} was {found.get(name)!r} and is {expected.get(name)!r}"
        for name in names
        if found.get(name) != expected.get(name)
    ]
    if differences:
        remedy = {
            "parameters": "Leave these options out, or start a new run.",
            "corpus": "Put back the files with which it was started, or start a new run.",
            "versions": "Results would differ in their last digits. Install the old versions, or "
            "start a new run.",
        }[what]
        raise CheckpointError(
            f"the run was started with other {what}: {'; '.join(differences)}. {remedy}"
        )


def flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested options side by side: {"options": {"eta": 1}} is {"options.eta": 1}."""
    entries: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, Mapping) and value:
            entries |= flat(value, f"{prefix}{name}.")
        else:
            entries[prefix + name] = list(value) if isinstance(value, tuple) else value
    return entries


class CheckpointSaver:
    """Callback for `fit`: writes a checkpoint every so often.

    A disk that is full, or a folder that became read-only, does not stop the training: the last
    checkpoint stays, a warning is logged, and the next interval tries again.

    Parameters
    ----------
    path : Path
    about : dict
        config, corpus and versions of `Checkpoint`.
    every : str or int
        "10s": after the first iteration that ends 10 s or more after the latest checkpoint, though
        never so often that writing takes more than 5 % of the time. 3 or "3": every 3 iterations.
    recording : Path, optional
        Where to keep what was recorded in spikes up to the checkpoint.

    Attributes
    ----------
    saved_iteration : int
        Iterations in the latest checkpoint; 0 if there is none yet.
    """

    def __init__(
        self,
        path: Path,
        about: Mapping[str, Any],
        every: str | int,
        recording: Path | None = None,
    ) -> None:
        self.path, self.about, self.recording = path, dict(about), recording
        self.seconds, self.iterations = parse_interval(every)
        self.saved_iteration = 0
        self._latest = time.monotonic()
        self._pause = self.seconds

    def __call__(self, model: Any, record: dict[str, Any]) -> None:
        if self.iterations:
            due = record["iteration"] % self.iterations == 0
        else:
            due = time.monotonic() - self._latest >= self._pause
        if due:
            self.save(model)

    def save(self, model: Any) -> None:
        """Write a checkpoint now; `model` must be between two iterations."""
        started = time.monotonic()
        checkpoint = Checkpoint(
            **self.about, seed=model.seed_, history=model.history_, state=model.trainer_.state()
        )
        keeper = model.trainer_.keeper
        try:
            if keeper is not None and self.recording is not None:
                save_recording(self.recording, keeper.pieces())  # first: it may be ahead
            write_checkpoint(self.path, checkpoint)
            self.saved_iteration = len(model.history_)
        except (CheckpointError, RecordingFileError) as error:
            logger.warning(
                "%s Training goes on; the checkpoint of iteration %d stays.",
                error,
                self.saved_iteration,
            )
        self._latest = time.monotonic()
        self._pause = max(self.seconds, (self._latest - started) / LARGEST_SHARE)


def save_recording(path: Path, windows: Sequence[Spikes]) -> None:
    """Write what was recorded, if anything was."""
    if windows:
        from brian_lda.simulation.recording_file import write_recording  # imports Brian2: seconds

        write_recording(path, windows)


def recorded_so_far(path: Path) -> list[Spikes]:
    """What a run had recorded when it stopped; nothing, if it records nothing."""
    if not path.is_file():
        return []
    from brian_lda.simulation.recording_file import read_recording  # imports Brian2: seconds

    return read_recording(path)


class StopAfterIteration:
    """Ctrl-C ends training after the iteration under way, where a checkpoint is exact.

    A context and a callback for `fit`. A second Ctrl-C interrupts at once. (A KeyboardInterrupt
    raised anywhere may be swallowed, or leave an iteration half done.)

    Attributes
    ----------
    requested : bool
        Whether Ctrl-C was pressed.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def __enter__(self) -> StopAfterIteration:
        in_main_thread = threading.current_thread() is threading.main_thread()
        handler = signal.getsignal(signal.SIGINT)
        # Python's own or the one that Brian installs; an application's stays in charge.
        ours_to_replace = (
            handler is signal.default_int_handler or type(handler).__module__ == "brian2"
        )
        if in_main_thread and ours_to_replace:
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def __call__(self, model: Any, record: dict[str, Any]) -> bool:
        return self.requested

    def _handle(self, number: int, frame: Any) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        logger.warning("stopping after this iteration; Ctrl-C again stops at once")


def parse_interval(every: str | int) -> tuple[float, int]:
    """(seconds, iterations) of "30s" or "5"; one of them is 0."""
    found = re.fullmatch(
        r"(?P<seconds>\d{1,9}(\.\d+)?)s|(?P<iterations>\d{1,9})", str(every).strip()
    )
    seconds, iterations = (found["seconds"], found["iterations"]) if found else (None, None)
    interval = float(seconds or 0), int(iterations or 0)
    if not any(interval):
        raise CheckpointError(
            "the interval between checkpoints must be seconds, such as 30s, or a number of "
            f"iterations, such as 1; found {every!r}."
        )
    return interval
