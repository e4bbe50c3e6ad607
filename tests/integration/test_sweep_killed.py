"""A sweep that is killed goes on where it stopped; a Dask worker that is killed loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from brian_lda.algorithms import find_algorithm
from brian_lda.sweeps import expand_grid, run_sweep, train_tasks
from study.priors import prior_of

SCRIPT = Path(__file__).resolve().parents[2] / "sims" / "sweep.py"
ALGORITHMS, PRIORS, SEEDS = ["cgs", "ed_spike_lda"], [0.05, 0.1, 0.5], 4  # 24 runs
RUN = {"n_topics": 5, "iterations": 3, "evaluate_every": 3}


def tasks():
    grid = expand_grid(algorithm=ALGORITHMS, prior=PRIORS, seed=list(range(SEEDS)), **RUN)
    return train_tasks({**c, "prior": prior_of(c["algorithm"], c["prior"])} for c in grid)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Results of all runs, by key, without the times."""
    report = run_sweep(tasks(), tmp_path_factory.mktemp("whole"), quiet=True)
    assert len(report.results) == 24 and not report.failures
    return {key: timeless(result) for key, result in report.results.items()}


def timeless(result):
    history = [{k: v for k, v in r.items() if k != "seconds"} for r in result["history"]]
    timed = ("seconds", "cpu_seconds", "tokens_per_second", "sweep", "history")
    return {k: v for k, v in result.items() if k not in timed} | {"history": history}


def finished_in(folder):
    names = {path.parent.name for path in folder.glob("*/metrics.json")}
    return {name for name in names if not name.startswith(".")}  # those are being written


@pytest.mark.complete
def test_killed_twice_ends_with_exactly_the_same_results(uninterrupted, tmp_path):
    options = [find_algorithm(name).option for name in ALGORITHMS]
    command = [
        sys.executable, str(SCRIPT), "--algorithm", *options, "--prior", *map(str, PRIORS),
        "--topics", "5", "--iterations", "3", "--evaluate-every", "3", "--seeds", str(SEEDS),
        "--engine", "processes", "--workers", "1", "--out", str(tmp_path), "--quiet",
    ]  # fmt: skip
    before, workers = 0, set()
    for enough in (4, 12):
        process = subprocess.Popen(command, start_new_session=True)
        deadline = time.monotonic() + 120
        while len(finished_in(tmp_path)) < enough:
            assert process.poll() is None and time.monotonic() < deadline
            workers |= children_of(process.pid)
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        n_finished = len(finished_in(tmp_path))
        assert before < n_finished < 24  # it was in mid-sweep
        before = n_finished
    kept = {key: (tmp_path / key).stat().st_mtime_ns for key in finished_in(tmp_path)}
    report = run_sweep(tasks(), tmp_path, quiet=True)
    assert report.n_reused == before and not report.failures
    assert {key: timeless(result) for key, result in report.results.items()} == uninterrupted
    assert all((tmp_path / key).stat().st_mtime_ns == then for key, then in kept.items())
    assert workers and not any(map(is_alive, workers))  # nobody goes on working for a dead sweep


def children_of(pid):
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return set()
    return {int(child) for child in text.split()}


def is_alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.complete
def test_a_killed_dask_worker_loses_nothing(uninterrupted, tmp_path):
    pytest.importorskip("distributed")
    from brian_lda.sweeps.dask_engine import DaskWorkers, dask_client

    with dask_client(n_workers=2) as client:
        victim = list(client.run(os.getpid).values())[0]
        killed = []

        def kill_in_mid_run():
            deadline = time.monotonic() + 300
            while not (finished_in(tmp_path) and client.processing()):
                assert time.monotonic() < deadline, "no run has finished"
                time.sleep(0.005)
            busy = {pid for worker, pid in client.run(os.getpid).items() if worker}
            os.kill(victim, signal.SIGKILL)
            killed.append((len(finished_in(tmp_path)), victim in busy))

        killer = threading.Thread(target=kill_in_mid_run)
        killer.start()
        report = run_sweep(tasks(), tmp_path, engine=DaskWorkers(client), quiet=True)
        killer.join()
    ((n_before, was_there),) = killed
    assert was_there and n_before < 24 and not is_alive(victim)
    assert not report.failures
    assert {key: timeless(result) for key, result in report.results.items()} == uninterrupted
