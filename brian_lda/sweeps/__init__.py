"""Sweeps: many runs from one grid, resumable, in-process, in local processes or on Dask workers.

===========  =====================================================================================
task         a run as plain data; grids of them
sweep        carry out what is not finished yet
store        finished and failed runs as folders
unfinished   what a run that was killed goes on from
engines      in this process, in processes of this machine; `dask_engine` on Dask workers
programs     compiled networks travel to workers
experiments  what a worker runs: train, classify, prune
tables       mean and spread over seeds, CSV files
distributed  one training on many workers; `remote_circuits` in spikes
===========  =====================================================================================
"""

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
