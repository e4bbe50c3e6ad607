"""The file of a checkpoint, and when it is written."""

import numpy as np
import pytest

from brian_lda.errors import CheckpointError, DivergenceError
from brian_lda.estimators.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from brian_lda.runs import RunConfig, saving, train_run
from brian_lda.runs.saving import parse_interval


def test_nan_never_reaches_a_checkpoint(tmp_path):
    state = {"M__alpha": np.array([[0.0, np.nan]])}
    with pytest.raises(DivergenceError, match="M__alpha holds NaN"):
        write_checkpoint(tmp_path / "c.h5", Checkpoint({}, {}, {}, 0, [], state))
    assert not list(tmp_path.iterdir())


def test_a_long_history_fits(tmp_path):
    history = [{"iteration": i, "tokens": i, "seconds": i / 3} for i in range(20_000)]
    written = Checkpoint({"a": 1}, {}, {"numpy": "1"}, 7, history, {"x": np.arange(3)})
    write_checkpoint(tmp_path / "c.h5", written)
    found = read_checkpoint(tmp_path / "c.h5")
    assert (found.history, found.config, found.seed) == (history, {"a": 1}, 7)
    np.testing.assert_array_equal(found.state["x"], np.arange(3))


@pytest.mark.parametrize(
    ("text", "interval"), [("30s", (30.0, 0)), ("0.5s", (0.5, 0)), ("3", (0.0, 3)), (1, (0.0, 1))]
)
def test_intervals(text, interval):
    assert parse_interval(text) == interval


@pytest.mark.parametrize("text", ["", "0", "0s", "-1", "-1s", "1h", "1.5", "nans", "infs", "s"])
def test_wrong_intervals_are_refused_before_training(text, tmp_path):
    with pytest.raises(CheckpointError, match="30s"):
        train_run(RunConfig(algorithm="cgs"), tmp_path / "run", checkpoint_every=text)
    assert not (tmp_path / "run").exists()


def test_timed_checkpoints_take_at_most_a_twentieth_of_the_time(tmp_path, monkeypatch):
    clock, written = [0.0], []
    monkeypatch.setattr(saving.time, "monotonic", lambda: clock[0])

    def slow_write(path, content):
        clock[0] += 2.0
        written.append(clock[0])

    monkeypatch.setattr(saving, "write_checkpoint", slow_write)
    model = type("Model", (), {"seed_": 0, "history_": []})()
    model.trainer_ = type("Trainer", (), {"state": staticmethod(dict), "keeper": None})()
    about = {"config": {}, "corpus": {}, "versions": {}}
    saver = saving.CheckpointSaver(tmp_path / "c.h5", about, "10s")
    for iteration in range(1, 1001):
        clock[0] += 1.0
        saver(model, {"iteration": iteration})
    assert written[0] == 12.0
    assert 0.04 < 2.0 * len(written) / clock[0] < 0.05
