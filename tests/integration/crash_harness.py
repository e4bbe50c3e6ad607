"""Forks runs and kills them; called by test_crash.py as CONFIG N_KILLS FOLDER SEED.

Prints one line of JSON. The parent never runs a kernel, so that the children may fork from it.
"""

import json
import os
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from brian_lda.errors import RunFolderError
from brian_lda.estimators.checkpoint import read_checkpoint
from brian_lda.runs import CHECKPOINT, CONFIG, RunConfig, resume_run, train_run


def start(config, folder):
    """A child that goes on with the run in `folder`, or starts it."""
    child = os.fork()
    os.setpgid(child, child or 0)  # with its simulator, if it has one
    if child:
        return child
    try:
        if (folder / CONFIG).exists():
            resume_run(folder, quiet=True, checkpoint_every=1)
        else:
            train_run(config, folder, quiet=True, checkpoint_every=1)
    except RunFolderError as error:
        os._exit(0 if "is finished" in str(error) else 1)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def finish(config, folder):
    _, status = os.waitpid(start(config, folder), 0)
    assert status == 0, f"a run in {folder} ended with status {status}"


def version_of(file):
    return file.stat().st_mtime_ns if file.exists() else 0


def wait_for_a_random_moment(child, checkpoint, rng):
    """Three times out of four after a new checkpoint, else anywhere, the start included."""
    if rng.random() < 0.75:
        before = version_of(checkpoint)
        while version_of(checkpoint) == before and not os.waitid(
            os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT
        ):
            time.sleep(0.0005)
        time.sleep(rng.exponential(0.02))
    else:
        time.sleep(rng.exponential(0.3))


def main(config, n_kills, folder, seed):
    config, folder = RunConfig(**json.loads(config)), Path(folder)
    finish(config, folder / "whole")
    rng, iterations, scratch, run = np.random.default_rng(seed), [], 0, folder / "killed"
    restarts = 0
    while len(iterations) < n_kills:
        child = start(config, run)
        wait_for_a_random_moment(child, run / CHECKPOINT, rng)
        os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert status == 0, f"ended with {status} after kills at iterations {iterations}"
            # A fast machine was done before the next kill: begin again, so that all kills count.
            assert (restarts := restarts + 1) < 20, "the run is too short to be killed this often"
            shutil.rmtree(run)
            iterations, scratch = [], 0
            continue
        scratch += len(list(run.glob(".*.part"))) if run.exists() else 0
        saved = run / CHECKPOINT
        iterations.append(len(read_checkpoint(saved).history) if saved.exists() else 0)
    finish(config, run)
    report = {"kills": len(iterations), "iterations": iterations, "scratch_files_left": scratch}
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
