"""Sweeps: many runs from one grid, resumable, in-process, in local processes or on Dask workers."""

from brian_lda.sweeps.engines import Engine, InProcess, LocalProcesses
from brian_lda.sweeps.sweep import SweepReport, run_sweep
from brian_lda.sweeps.task import Task, expand_grid, train_tasks

__all__ = [
    "Engine",
    "InProcess",
    "LocalProcesses",
    "SweepReport",
    "Task",
    "expand_grid",
    "run_sweep",
    "train_tasks",
]
