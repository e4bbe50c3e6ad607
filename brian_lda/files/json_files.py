"""JSON files that are complete or not there, with numpy's numbers as plain ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda.errors import RunFolderError
from brian_lda.files.atomic import atomic_file


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write a JSON file that is either complete or not there."""
    try:
        with atomic_file(path) as scratch:
            scratch.write_text(json.dumps(data, indent=1, default=plain) + "\n", encoding="utf-8")
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error}.") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(f"cannot read {path}: {error}.") from error
    if not isinstance(data, dict):
        raise RunFolderError(f"{path} must hold a JSON object; found a {type(data).__name__}.")
    return data


def plain(value: Any) -> Any:
    """What JSON cannot write by itself, as plain data."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot write a {type(value).__name__} to JSON")
