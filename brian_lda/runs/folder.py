"""The folder of a run: the names of its files, how it is made, and which versions it names."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from brian_lda.errors import RunFolderError
from brian_lda.files.atomic import is_scratch

CONFIG, METRICS, MODEL, CHECKPOINT = "config.json", "metrics.json", "model.h5", "checkpoint.h5"
RECORDING = "recording.h5"


def new_run_folder(path: str | Path, *, overwrite: bool = False) -> Path:
    """Make the folder of a run; refuses one that holds something, unless it is an old run."""
    path = Path(path)
    # A run that was killed before it wrote anything leaves scratch files alone.
    if path.exists() and (not path.is_dir() or not all(map(is_scratch, path.iterdir()))):
        if not overwrite:
            raise RunFolderError(
                f"{path} exists already and is left as it is: choose another --out, or pass "
                "--overwrite to replace that run, or --resume to go on with it."
            )
        if not (path / CONFIG).is_file():
            raise RunFolderError(f"{path} is not the folder of a run (no {CONFIG}): not replaced.")
        shutil.rmtree(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for leftover in path.iterdir():
            leftover.unlink()
        (path / ".writable.part").touch()
        (path / ".writable.part").unlink()
    except OSError as error:
        raise RunFolderError(f"cannot write to {path}: {error}.") from error
    return path


def versions() -> dict[str, str]:
    """Versions of everything that a result may depend on."""
    found = {"python": platform.python_version()}
    for package in ("brian_lda", "brian2", "numpy", "scipy", "numba", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def decisive(found: dict[str, str]) -> dict[str, str]:
    """Versions without the last part of Python's, which no result depends on."""
    return found | {"python": ".".join(str(found.get("python")).split(".")[:2])}
