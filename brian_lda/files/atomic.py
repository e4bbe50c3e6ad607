"""Files that are either complete under their name or not there, even if the power fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A scratch path in the same folder, which takes the name `path` when the block succeeds.

    The content reaches the disk before the name does, so that a crash leaves the old file or the
    new one. If the block fails, the old file is untouched and the scratch file is removed.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield scratch
        _sync(scratch)
        os.replace(scratch, path)
        _sync(path.parent)
    finally:
        scratch.unlink(missing_ok=True)


def is_scratch(path: Path) -> bool:
    """Whether a process that was killed may have left this file behind."""
    return path.name.startswith(".") and path.name.endswith(".part")


def _sync(path: Path) -> None:
    if path.is_dir() and os.name != "posix":
        return  # only POSIX systems open folders
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
