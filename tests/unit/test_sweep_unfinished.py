"""A run of a sweep that was killed goes on from its checkpoint, to the same bits."""

from __future__ import annotations

import json

import pytest

from brian_lda.estimators import callbacks
from brian_lda.runs import CHECKPOINT, saving
from brian_lda.sweeps import InProcess, run_sweep, train_tasks
from brian_lda.sweeps.task import execute
from brian_lda.sweeps.unfinished import sole_owner

CONFIG = {"algorithm": "ed_spike_lda", "n_topics": 3, "iterations": 6, "documents": 40}
TIMED = ("seconds", "cpu_seconds", "tokens_per_second", "sweep", "history")


def timeless(result):
    return {name: value for name, value in result.items() if name not in TIMED}


class Killed(BaseException):
    """What no run catches."""


@pytest.fixture
def killed(tmp_path, monkeypatch):
    """A sweep of one run, killed in its fourth pass after a checkpoint of each; and the task."""
    (task,) = train_tasks([CONFIG], unfinished=str(tmp_path / "unfinished"))
    monkeypatch.setattr(saving, "LARGEST_SHARE", float("inf"))  # a checkpoint of every iteration
    monkeypatch.setattr(saving.CheckpointSaver, "__init__", every_iteration)
    seen = callbacks.TrackPerplexity.__call__

    def kill(self, model, record):
        if record["iteration"] == 4:
            raise Killed
        return seen(self, model, record)

    with monkeypatch.context() as patch:
        patch.setattr(callbacks.TrackPerplexity, "__call__", kill)
        with pytest.raises(Killed):
            run_sweep([task], tmp_path / "runs", quiet=True)
    assert (tmp_path / "unfinished" / task.key / CHECKPOINT).is_file()
    return task


first_init = saving.CheckpointSaver.__init__


def every_iteration(self, path, about, every, recording=None):
    first_init(self, path, about, 1, recording)


def iterations_made(monkeypatch):
    """Counts what the sweep that follows trains."""
    made = []
    seen = callbacks.TrackPerplexity.__call__

    def count(self, model, record):
        made.append(record["iteration"])
        return seen(self, model, record)

    monkeypatch.setattr(callbacks.TrackPerplexity, "__call__", count)
    return made


def test_it_goes_on_to_the_same_result_and_leaves_nothing(killed, tmp_path, monkeypatch):
    (plain,) = train_tasks([CONFIG])
    assert plain.key == killed.key  # where checkpoints are kept is no part of a run
    expected = execute(plain).result
    made = iterations_made(monkeypatch)
    report = run_sweep([killed], tmp_path / "runs", quiet=True)
    assert made == [4, 5, 6]
    assert timeless(report.results[killed.key]) == timeless(expected)
    assert list((tmp_path / "unfinished").iterdir()) == []


def test_a_damaged_checkpoint_is_trained_anew(killed, tmp_path, monkeypatch):
    checkpoint = tmp_path / "unfinished" / killed.key / CHECKPOINT
    checkpoint.write_bytes(checkpoint.read_bytes()[:-100])
    made = iterations_made(monkeypatch)
    report = run_sweep([killed], tmp_path / "runs", quiet=True)
    assert made == [1, 2, 3, 4, 5, 6] and not report.failures


def test_who_comes_second_trains_without_it(killed, tmp_path, monkeypatch):
    folder = tmp_path / "unfinished" / killed.key
    before = (folder / CHECKPOINT).read_bytes()
    made = iterations_made(monkeypatch)
    with sole_owner(folder) as alone:
        assert alone
        outcome = execute(killed)
    assert made == [1, 2, 3, 4, 5, 6] and outcome.result is not None
    assert (folder / CHECKPOINT).read_bytes() == before


def test_a_run_killed_after_its_end_is_not_made_again(tmp_path, monkeypatch):
    (task,) = train_tasks([CONFIG], unfinished=str(tmp_path / "unfinished"))
    first = execute(task).result  # nobody keeps it
    made = iterations_made(monkeypatch)
    ((_, outcome),) = InProcess().run([task])
    assert made == [] and timeless(outcome.result) == timeless(json.loads(json.dumps(first)))


def test_each_is_told_how_far_the_sweep_is(tmp_path):
    tasks = train_tasks({**CONFIG, "iterations": 1, "seed": seed} for seed in range(3))
    run_sweep(tasks[:1], tmp_path, quiet=True)
    seen = []
    run_sweep(tasks, tmp_path, quiet=True, each=lambda report: seen.append(len(report.results)))
    assert seen == [1, 2, 3]
