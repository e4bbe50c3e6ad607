"""CPU time of this process and of the programs that it runs: what work costs on a busy machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

_PROC = Path("/proc")


def cpu_seconds() -> float:
    """Spent so far by this process, the children that have ended, and those that live.

    A compiled network lives as long as it is used (`brian_lda.simulation.live_program`), and the
    system adds a child's time to its parent's only when it has ended. Living children are found in
    Linux's /proc; elsewhere they are not counted.
    """
    times = os.times()
    of_children = times.children_user + times.children_system
    of_children += sum(_time_of(child) for child in _living_children())
    return time.process_time() + of_children


def _living_children() -> list[str]:
    children: list[str] = []
    for file in _PROC.glob(f"{os.getpid()}/task/*/children"):
        try:
            children += file.read_text().split()
        except OSError:  # a thread that has ended since
            continue
    return children


def _time_of(child: str) -> float:
    """Its own, and that of its children that have ended."""
    try:
        stat = (_PROC / child / "stat").read_text()
    except OSError:  # it has ended since
        return 0.0
    ticks = stat.rpartition(")")[2].split()[11:15]  # utime, stime, cutime, cstime of proc(5)
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
