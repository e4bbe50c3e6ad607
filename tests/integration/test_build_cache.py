"""Runs that start together with an empty build cache: one compiles, nothing is corrupted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from brian_lda import SemiSpikeLDA
from brian_lda.corpus.locate import CACHE_VARIABLE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and kills")
HARNESS = Path(__file__).with_name("build_cache_harness.py")


def start_together(folder, cache, n_processes, n_shapes=1, n_kills=0):
    """(report of the harness, {shape: [report of each run]})."""
    folder.mkdir()
    numbers = map(str, (n_processes, n_shapes, n_kills))
    result = subprocess.run(
        [sys.executable, str(HARNESS), str(folder), *numbers],
        capture_output=True, text=True, timeout=3600,
        env=os.environ | {CACHE_VARIABLE: str(cache)},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout.splitlines()[-1])
    assert summary["codes"] == [0] * n_processes, result.stderr
    runs = [json.loads((folder / f"run_{i}.json").read_text()) for i in range(n_processes)]
    return summary, {
        shape: [run for run in runs if run["shape"] == shape] for shape in range(n_shapes)
    }


def check(summary, by_shape):
    """One build per shape, made by one process, and every run with it gave the same."""
    assert len(summary["left"]) == len(by_shape), summary  # no folder of a killed build
    for runs in by_shape.values():
        assert sum(run["built"] for run in runs) == 1, runs
        assert len({run["result"] for run in runs}) == 1, runs


@pytest.mark.complete
def test_eight_runs_share_one_build_after_one_was_killed(tmp_path):
    cache = tmp_path / "cache"
    summary, by_shape = start_together(tmp_path / "runs", cache, 8, n_kills=1)
    assert summary["partial_folders"] == [1]  # the kill did come in mid-compilation
    check(summary, by_shape)
    _, lone = start_together(tmp_path / "lone", cache, 1)
    assert not lone[0][0]["built"] and lone[0][0]["result"] == by_shape[0][0]["result"]


@pytest.mark.complete
def test_mini_batches_and_seeds_of_semi_spike_lda_share_one_program(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(1.0, 1.0, (22, 1)), (22, 12)) + np.eye(22, 12, dtype=int)
    topics = []
    for seed, max_iter in ((0, 6), (1, 4)):  # mini-batches of 8, 8 and 6 documents
        model = SemiSpikeLDA(
            n_topics=3, max_iter=max_iter, batch_size=8, backend="brian2", random_state=seed,
            topic_word_prior=0.1 + seed,
        )  # fmt: skip
        topics.append(model.fit(counts).components_)
    assert not np.array_equal(*topics)
    assert len([path for path in (tmp_path / "networks").iterdir() if path.is_dir()]) == 1


@pytest.mark.long
@pytest.mark.parametrize(("n_shapes", "n_kills"), [(1, 0), (2, 0), (1, 3)])
def test_eight_runs_equal_a_lone_run(n_shapes, n_kills, tmp_path):
    summary, by_shape = start_together(tmp_path / "runs", tmp_path / "cache", 8, n_shapes, n_kills)
    check(summary, by_shape)
    # Each shape once, in another cache: compiled by itself.
    _, lone = start_together(tmp_path / "lone", tmp_path / "other", n_shapes, n_shapes)
    for shape, runs in by_shape.items():
        assert lone[shape][0]["built"]
        assert lone[shape][0]["result"] == runs[0]["result"]
