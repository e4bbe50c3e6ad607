"""Compiled kernels that outlived a change of the code.

numba stores compiled functions beside the source and checks only the file that a function stands
in. Ours call rules from other files (`plasticity.py`): whoever changes an equation there would go
on running the old one. So kernels older than the newest source file are dropped before any is
loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def drop_stale_kernels(folders: Iterable[Path]) -> list[Path]:
    """Delete numba's index files that are older than any `.py` file of the folders.

    Returns the deleted files; without its index a compiled kernel is compiled anew.
    """
    folders = list(folders)
    newest = max(
        (source.stat().st_mtime for folder in folders for source in folder.glob("*.py")), default=0
    )
    dropped = []
    for folder in folders:
        for index in (folder / "__pycache__").glob("*.nbi"):
            try:
                if index.stat().st_mtime < newest:
                    index.unlink()
                    dropped.append(index)
            except OSError:  # read-only, or another process was faster: numba copes with both
                continue
    return dropped
