"""Sweeps: identity of runs, what is kept of them, what a failure leaves behind."""

from __future__ import annotations

import json
import os
import signal

import pytest

from brian_lda import CollapsedGibbsLDA, SemiSpikeLDA, automatic_steps
from brian_lda.algorithms import ALGORITHMS
from brian_lda.automatic_steps import FAMILIES, constants_of
from brian_lda.errors import ParameterError, RunFolderError
from brian_lda.sweeps import InProcess, LocalProcesses, Task, expand_grid, run_sweep, train_tasks
from brian_lda.sweeps.store import RunStore
from brian_lda.sweeps.tables import summary, write_csv
from brian_lda.sweeps.task import Outcome
from study.priors import lambda_of, prior_of

EXPERIMENTS = """
import os, signal
from pathlib import Path

def double(config, *, data_dir=None):
    if "log" in config:
        with open(config["log"], "a") as file:
            file.write(f"{config['x']}\\n")
    return {"y": 2 * config["x"]}

def fail_on_odd(config, *, data_dir=None):
    if config["x"] % 2:
        raise ValueError(f"{config['x']} is odd")
    return {"y": config["x"]}

def die(config, *, data_dir=None):
    # the first so many attempts of each run take their process with them
    attempts = Path(config["folder"]) / str(config["x"])
    with open(attempts, "a") as file:
        file.write("x")
    if attempts.stat().st_size <= config["deaths"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"y": config["x"]}
"""


@pytest.fixture
def experiments(tmp_path, monkeypatch):
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "sweep_experiments.py").write_text(EXPERIMENTS)
    monkeypatch.syspath_prepend(folder)
    return "sweep_experiments"


def test_grid_is_the_product_of_its_axes():
    grid = expand_grid(algorithm="cgs", prior=[0.1, 0.5], seed=range(3))
    assert len(grid) == 2  # a range is no axis: only lists and tuples are
    grid = expand_grid(algorithm="cgs", prior=[0.1, 0.5], seed=[0, 1, 2])
    assert len(grid) == 6
    assert [(c["prior"], c["seed"]) for c in grid[:4]] == [(0.1, 0), (0.1, 1), (0.1, 2), (0.5, 0)]
    assert {c["algorithm"] for c in grid} == {"cgs"}


def test_key_depends_on_what_is_run_and_on_nothing_else():
    task = Task({"algorithm": "cgs", "seed": 1})
    assert task.key == Task({"seed": 1, "algorithm": "cgs"}, data_dir="elsewhere").key
    others = [Task({"algorithm": "cgs", "seed": 2}), Task(task.config, function="a:b")]
    assert len({task.key, *(other.key for other in others)}) == 3
    assert task.key.startswith("cgs-1-")


def test_when_a_default_changes_runs_with_it_are_other_runs(monkeypatch):
    tasks = [Task({"algorithm": name, "seed": 1}) for name in ("cgs", "semi_spike_lda")]
    before = [task.key for task in tasks]
    assert before == [task.key for task in tasks]
    monkeypatch.setattr("brian_lda.automatic_steps.EVENT_FORGETTING", 30.0)  # of other networks
    assert before == [task.key for task in tasks]
    monkeypatch.setattr("brian_lda.automatic_steps.FORGETTING", 30.0)
    assert [task.key == key for task, key in zip(tasks, before, strict=True)] == [True, False]
    monkeypatch.undo()
    monkeypatch.setitem(SemiSpikeLDA.__init__.__kwdefaults__, "tol", 0.5)
    assert [task.key == key for task, key in zip(tasks, before, strict=True)] == [True, False]
    monkeypatch.setitem(CollapsedGibbsLDA.__init__.__kwdefaults__, "max_iter", 7)
    assert tasks[0].key != before[0]


def test_no_constant_of_a_training_run_is_left_out_of_its_name():
    of_runs = {name for iteration in FAMILIES for name in constants_of(iteration)}
    constants = {name for name, x in vars(automatic_steps).items() if isinstance(x, (int, float))}
    assert constants - of_runs == {name for name in constants if name.startswith("STREAM_")}
    assert {"FORGETTING", "EVENT_FADING"} <= constants_of("pass").keys()
    assert {"FORGETTING", "BATCH_FADING"} <= constants_of("mini-batch").keys()
    units = {algorithm.iteration for algorithm in ALGORITHMS if algorithm.is_spiking}
    assert units - FAMILIES.keys() == {"sweep"}  # the law of SpikeCGS has no steps
    assert constants_of("sweep") == {}


def test_a_default_spelt_out_is_the_same_run():
    short, long = train_tasks([{"seed": 1}, {"seed": 1, "backend": "rate", "options": {}}])
    assert short.key == long.key
    assert "data_dir" not in short.config


def test_unknown_axes_and_what_is_no_plain_data_are_refused():
    with pytest.raises(ParameterError, match="topics.*n_topics"):
        train_tasks([{"topics": 5}])
    with pytest.raises(ParameterError, match="plain data"):
        _ = Task({"x": object()}).key


def test_paths_and_odd_names_make_usable_folder_names():
    key = Task({"algorithm": "cgs", "corpus": "/a b/c*d"}).key
    assert "/" not in key and " " not in key and "*" not in key


def test_offsets_of_lambda_are_the_papers():
    assert prior_of("cgs", 0.1) == 0.1 and prior_of("semi_spike_lda", 0.1) == 0.1
    assert prior_of("ed_spike_lda", 0.1) == 1.1 and prior_of("du_spike_lda", 0.01) == 1.01
    assert prior_of("svi", 0.01) == 0.51
    assert prior_of("ed_spike_plsi", 0.1) is None
    for algorithm in ("cgs", "ed_spike_lda", "svi"):
        assert lambda_of(algorithm, prior_of(algorithm, 0.2)) == 0.2


@pytest.mark.complete(but="engine0")
@pytest.mark.parametrize("engine", [InProcess(), LocalProcesses(2)])
def test_finished_runs_are_not_repeated(engine, experiments, tmp_path):
    log = tmp_path / "log"
    tasks = [
        Task({"x": x, "log": str(log)}, function=f"{experiments}:double") for x in (1, 2, 3, 2)
    ]
    first = run_sweep(tasks[:2], tmp_path / "runs", engine=engine, quiet=True)
    second = run_sweep(tasks, tmp_path / "runs", engine=engine, quiet=True)
    assert (first.n_reused, second.n_reused, len(second.tasks)) == (0, 2, 3)
    assert [result["y"] for _, result in second.finished()] == [2, 4, 6]
    assert sorted(log.read_text().split()) == ["1", "2", "3"]  # each ran once


@pytest.mark.complete(but="engine0")
@pytest.mark.parametrize("engine", [InProcess(), LocalProcesses(2)])
def test_a_failed_run_is_reported_and_stops_nobody(engine, experiments, tmp_path, caplog):
    tasks = [Task({"x": x}, function=f"{experiments}:fail_on_odd") for x in range(5)]
    report = run_sweep(tasks, tmp_path, engine=engine, quiet=True)
    assert [result["y"] for _, result in report.finished()] == [0, 2, 4]
    assert set(report.failures) == {tasks[1].key, tasks[3].key}
    text = report.failures[tasks[3].key].read_text()
    assert "ValueError: 3 is odd" in text and "Traceback" in text and '"x": 3' in text
    assert "3 is odd" in caplog.text
    again = run_sweep(tasks, tmp_path, engine=engine, quiet=True)
    assert again.n_reused == 3 and len(again.failures) == 2  # tried again


def test_a_failure_is_forgotten_when_the_run_succeeds(tmp_path):
    store, task = RunStore(tmp_path), Task({"x": 1})
    file = store.save_failure(task, "Traceback ...")
    assert file.is_file() and store.result(task) is None
    store.save(task, {"y": 2})
    assert not file.exists() and store.result(task) == {"y": 2}


@pytest.mark.complete
def test_a_killed_worker_costs_its_run_a_second_try_only(experiments, tmp_path):
    counts = tmp_path / "attempts"
    counts.mkdir()
    tasks = [
        Task({"x": x, "folder": str(counts), "deaths": deaths}, function=f"{experiments}:die")
        for x, deaths in enumerate([0, 1, 0, 99])
    ]
    report = run_sweep(tasks, tmp_path / "runs", engine=LocalProcesses(1), quiet=True)
    assert [result["y"] for _, result in report.finished()] == [0, 1, 2]
    assert "died 3 times" in report.failures[tasks[3].key].read_text()
    assert (counts / "1").stat().st_size == 2


def test_an_interrupted_run_is_not_kept(tmp_path, monkeypatch):
    """Ctrl-C ends training early with what was learnt; a sweep must not count that as finished."""
    task = train_tasks([{"algorithm": "cgs", "n_topics": 2, "iterations": 50}])[0]
    from brian_lda.estimators import callbacks

    def interrupt(self, model, record):
        if record["iteration"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(callbacks.TrackPerplexity, "__call__", interrupt)
    # Tests started in the background of a shell ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_sweep([task], tmp_path, quiet=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert RunStore(tmp_path).result(task) is None


def test_the_first_of_two_sweeps_wins(tmp_path):
    store, task = RunStore(tmp_path), Task({"x": 1})
    store.save(task, {"y": 1})
    store.save(task, {"y": 2})
    assert store.result(task) == {"y": 1}
    assert [path.name for path in tmp_path.iterdir()] == [task.key]  # no scratch left


def test_damaged_runs_and_unwritable_folders_are_named(tmp_path):
    store, task = RunStore(tmp_path), Task({"x": 1})
    store.save(task, {"y": 1})
    (tmp_path / task.key / "metrics.json").write_text("{")
    with pytest.raises(RunFolderError, match="Remove that run's folder"):
        store.result(task)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot write"):
        RunStore(tmp_path / "file")


def test_what_a_run_folder_holds(tmp_path):
    store, task = RunStore(tmp_path), Task({"x": 1})
    store.save(task, {"y": 1})
    config = json.loads((tmp_path / task.key / "config.json").read_text())
    assert (
        config["x"] == 1 and config["function"] == task.function and "numpy" in config["versions"]
    )


def test_summary_has_mean_and_sample_spread(tmp_path):
    runs = [({"a": 1, "s": s}, {"v": v}) for s, v in enumerate([1.0, 2.0, 3.0])]
    runs.append(({"a": 2, "s": 0}, {"v": 5.0}))
    rows = summary(runs, by=("a",), values=("v",))
    assert rows == [
        {"a": 1, "n_runs": 3, "v": 2.0, "v_spread": 1.0},
        {"a": 2, "n_runs": 1, "v": 5.0, "v_spread": 0.0},
    ]
    write_csv(tmp_path / "t.csv", rows)
    assert (tmp_path / "t.csv").read_text().splitlines() == [
        "a,n_runs,v,v_spread",
        "1,3,2,1",
        "2,1,5,0",
    ]


def test_outcomes_hold_a_result_or_a_traceback():
    (pair,) = InProcess().run([Task({}, function="no.such.module:f")])
    assert pair[1].result is None and "ModuleNotFoundError" in pair[1].traceback
    assert Outcome(result={}).traceback is None
