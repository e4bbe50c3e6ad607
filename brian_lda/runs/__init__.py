"""A training run as a folder.

========  ========================================================================================
run       train, evaluate, write the folder; resume a run that was killed
folder    names of the files, how a folder is made, versions that a result may depend on
saving    when checkpoints are written, when a run stops, what must be the same to go on
finished  a finished run, read again
twin      what the rate-level twin of a spiking run reaches
report    one HTML page about a run, finished or not
========  ========================================================================================
"""

from brian_lda.runs.finished import FinishedRun, read_finished_run
from brian_lda.runs.folder import CHECKPOINT, CONFIG, METRICS, MODEL, new_run_folder, versions
from brian_lda.runs.run import (
    RunConfig,
    make_model,
    read_config,
    resume_run,
    run_split,
    train_run,
)
from brian_lda.runs.saving import DEFAULT_EVERY
from brian_lda.runs.twin import add_twin

__all__ = [
    "CHECKPOINT",
    "CONFIG",
    "DEFAULT_EVERY",
    "METRICS",
    "MODEL",
    "FinishedRun",
    "RunConfig",
    "add_twin",
    "make_model",
    "new_run_folder",
    "read_config",
    "read_finished_run",
    "resume_run",
    "run_split",
    "train_run",
    "versions",
]
