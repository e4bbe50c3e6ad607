"""One builder at a time for each compiled network, and nothing left of one that died.

The lock is the kernel's (flock): it falls with the process that holds it, however that ends. Where
there is none (Windows, some network file systems), processes that start together all compile, and
the first to finish gives its program its name.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)


@contextmanager
def sole_builder(folder: Path) -> Iterator[Path]:
    """Wait until nobody else builds `folder`; gives a scratch folder beside it.

    Whoever has waited must look again whether `folder` is there by now. The scratch folder is
    removed at the end, and with it those of builders that were killed.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    prefix = f"build_{folder.name}_"
    with open(folder.parent / f".{folder.name}.lock", "w") as lock:
        alone = _wait_for(lock)
        if alone:
            _remove_leftovers(folder.parent, prefix)
        try:
            with tempfile.TemporaryDirectory(prefix=prefix, dir=folder.parent) as scratch:
                yield Path(scratch)
        finally:
            if alone:  # again: a compiler that outlived its killed parent may have written since
                _remove_leftovers(folder.parent, prefix)


def _wait_for(lock: TextIO) -> bool:
    """Whether this process is now the only builder; False where locks are not supported."""
    if fcntl is None:
        return False
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.info("another process compiles the same network: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def _remove_leftovers(parent: Path, prefix: str) -> None:
    for leftover in parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
