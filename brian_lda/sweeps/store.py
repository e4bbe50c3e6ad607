"""Where the runs of a sweep are kept: one folder per finished run, one file per failed one.

    FOLDER/<key>/config.json     what was run
    FOLDER/<key>/metrics.json    its result
    FOLDER/failed/<key>.txt      configuration and traceback of a run that failed

A run's folder appears by an atomic rename when it is complete: a folder that is there is a run that
is finished, whatever was killed in the meantime.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from brian_lda.errors import RunFolderError
from brian_lda.files.json_files import write_json
from brian_lda.runs import CONFIG, METRICS, versions
from brian_lda.sweeps.task import Task

_SCRATCH = ".writing-"
_STALE_SECONDS = 3600.0  # writing takes milliseconds: an older one was left by a killed process


class RunStore:
    """The finished and failed runs of a sweep.

    Parameters
    ----------
    folder : str or Path
        Made if it does not exist. Sweeps may share it, also at the same time.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(f"cannot write to {self.folder}: {error}.") from error
        for scratch in self.folder.glob(f"{_SCRATCH}*"):
            if time.time() - scratch.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(scratch, ignore_errors=True)

    def result(self, task: Task) -> dict[str, Any] | None:
        """The result of a finished run, else None."""
        file = self.folder / task.key / METRICS
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise RunFolderError(
                f"cannot read {file}: {error}. Remove that run's folder to have it run again."
            ) from error

    def save(self, task: Task, result: dict[str, Any]) -> None:
        """Keep the result of a run; if another sweep was first, its result stays."""
        try:
            scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=self.folder))
        except OSError as error:
            raise RunFolderError(f"cannot write to {self.folder}: {error}.") from error
        try:
            config = {**task.config, "function": task.function, "versions": versions()}
            write_json(scratch / CONFIG, config)
            write_json(scratch / METRICS, result)
            os.chmod(scratch, 0o755)  # mkdtemp makes it private
            os.rename(scratch, self.folder / task.key)
        except OSError as error:
            if not (self.folder / task.key / METRICS).is_file():
                raise RunFolderError(f"cannot keep the run {task.key}: {error}.") from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self._failure_file(task).unlink(missing_ok=True)

    def save_failure(self, task: Task, traceback: str) -> Path:
        """Keep the traceback of a failed run; returns the file."""
        file = self._failure_file(task)
        file.parent.mkdir(exist_ok=True)
        config = json.dumps(dict(task.config), indent=1)
        file.write_text(f"{task.function}\n{config}\n\n{traceback}", encoding="utf-8")
        return file

    def _failure_file(self, task: Task) -> Path:
        return self.folder / "failed" / f"{task.key}.txt"
