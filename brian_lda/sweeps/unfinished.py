"""Where a long run of a sweep leaves what it has learnt so far, and finds it after a kill.

    FOLDER/<key>/        folder of the run, with its checkpoint (`brian_lda.runs`)
    FOLDER/<key>.lock    held by whoever trains it

Sweeps may share the folder at the same time. Who comes second trains without it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brian_lda.errors import CheckpointError, RunFolderError
from brian_lda.files.json_files import read_json
from brian_lda.runs import CONFIG, METRICS, RunConfig, resume_run, train_run

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]


def train_or_go_on(run: RunConfig, folder: Path) -> dict[str, Any]:
    """Train in `folder`, from where an earlier attempt was killed; returns the run's metrics.

    What cannot be gone on from (another version, a damaged checkpoint) is trained anew.
    """
    if (folder / METRICS).is_file():  # killed between its end and the sweep's keeping it
        metrics = read_json(folder / METRICS)
        if not metrics["interrupted"]:
            return metrics
    if (folder / CONFIG).is_file():
        try:
            return resume_run(folder, given={"data_dir": run.data_dir}, quiet=True)[1]
        except (CheckpointError, RunFolderError):
            shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return train_run(run, folder, overwrite=True, quiet=True)[1]


def forget(folder: Path) -> None:
    """Remove what a run left that is kept elsewhere by now, unless somebody trains in it."""
    with sole_owner(folder) as alone:
        if alone:
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_name(f"{folder.name}.lock").unlink(missing_ok=True)


@contextmanager
def sole_owner(folder: Path) -> Iterator[bool]:
    """Whether nobody else trains in `folder`; False where the system has no locks, too.

    The lock falls with the process that holds it, however that ends.
    """
    if fcntl is None:
        yield False
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield os.fstat(lock.fileno()).st_nlink > 0  # not a lock that `forget` has just removed
