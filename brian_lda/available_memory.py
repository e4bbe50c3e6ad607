"""How much memory a process can still have, before the machine swaps or kills it."""

from __future__ import annotations

import os
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")  # of a container, as it sees it


def available_memory() -> int | None:
    """Bytes; None where the system does not tell."""
    found = [bytes_ for bytes_ in (_of_machine(), _of_container()) if bytes_ is not None]
    return min(found) if found else None


def _of_machine() -> int | None:
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:  # macOS and others: what is there, used or not
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_container() -> int | None:
    """What a limit on the container leaves; None without a limit."""
    try:
        limit = int((CGROUP / "memory.max").read_text())  # "max": no limit, and no integer
        return max(limit - int((CGROUP / "memory.current").read_text()), 0)
    except (OSError, ValueError):
        return None
