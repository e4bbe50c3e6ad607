"""Millions of tokens through the compiled network: nothing grows with their number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from brian_lda.corpus.locate import CACHE_VARIABLE, cache_dir

pytestmark = pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="reads /proc"
)
HARNESS = Path(__file__).with_name("soak_harness.py")
LIMIT_MIB = 3.0  # of growth in the second half of a run
LIMITS = {"running": 0.5}


def soak(corpus, n_topics, n_passes, leaks, folder, cache):
    """One list of samples, a sample per pass, for each leak."""
    folder.mkdir()
    environment = os.environ | {"TMPDIR": str(folder), CACHE_VARIABLE: str(cache)}
    result = subprocess.run(
        [sys.executable, str(HARNESS), corpus, str(n_topics), str(n_passes), *leaks],
        capture_output=True, text=True, timeout=3600, env=environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def growth(samples, what):
    """MiB (or processes) gained in the second half of the run.

    The largest of the last quarter is compared with the largest of the quarter before, half a half
    apart.
    """
    values = np.array([sample[what] for sample in samples])
    quarter = len(values) // 4
    return 2 * (values[-quarter:].max() - values[-2 * quarter : -quarter].max())


def what_grows(samples):
    return {
        what
        for what in ("python", "simulator", "files", "running")
        if growth(samples, what) > LIMITS.get(what, LIMIT_MIB)
    }


def describe(samples):
    tokens, last = samples[-1]["tokens"], samples[-1]
    parts = [
        f"{what} {last[what]:.1f} ({growth(samples, what):+.2f})"
        for what in last
        if what != "tokens"
    ]
    return f"{tokens:,} tokens; MiB at the end (growth in the second half): {', '.join(parts)}"


@pytest.mark.complete
def test_nothing_grows_and_each_leak_would_be_seen(tmp_path):
    """2.4 * 10^5 tokens; then with a leak of 1 MiB, one file or one process a pass."""
    leaks = {"none": set(), "memory": {"python"}, "processes": {"running"}, "files": {"files"}}
    runs = soak("bars", 6, 20, leaks, tmp_path / "scratch", cache_dir())
    for samples, (leak, expected) in zip(runs, leaks.items(), strict=True):
        assert len(samples) == 20 and samples[-1]["tokens"] == 20 * 12_000
        assert what_grows(samples) == expected, f"{leak}: {describe(samples)}"
    check_one_program(runs[0])


def check_one_program(samples):
    """One process serves all passes, and nothing goes through files."""
    assert {sample["running"] for sample in samples} == {1}
    assert min(sample["simulator"] for sample in samples) > 1  # it was seen in every pass
    assert max(sample["files"] for sample in samples) < 1  # the log that Brian keeps


@pytest.mark.long
def test_ten_million_tokens_in_spikes(tmp_path):
    (samples,) = soak("reuters", 20, 120, ["none"], tmp_path / "scratch", tmp_path / "cache")
    print(describe(samples))
    assert samples[-1]["tokens"] > 1e7
    assert what_grows(samples) == set(), describe(samples)
    check_one_program(samples)
    assert len({sample["cache"] for sample in samples}) == 1
