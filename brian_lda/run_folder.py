"""The folder of a run: the names of its files, how it is made, read and written."""

from __future__ import annotations

import json
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda.atomic_files import atomic_file, is_scratch
from brian_lda.errors import RunFolderError

CONFIG, METRICS, MODEL, CHECKPOINT = "config.json", "metrics.json", "model.h5", "checkpoint.h5"


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


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write a JSON file that is either complete or not there."""
    try:
        with atomic_file(path) as scratch:
            scratch.write_text(json.dumps(data, indent=1, default=plain) + "\n", encoding="utf-8")
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error}.") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of a run folder."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(f"cannot read {path}: {error}.") from error
    if not isinstance(data, dict):
        raise RunFolderError(f"{path} must hold a JSON object; found a {type(data).__name__}.")
    return data


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


def plain(value: Any) -> Any:
    """What JSON cannot write by itself, as plain data."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot write a {type(value).__name__} to JSON")
