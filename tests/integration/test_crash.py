"""Runs killed with SIGKILL at random moments, and runs whose disk is full: nothing is lost.

A process that has imported everything forks the runs, so that a kill costs milliseconds rather than
the start of Python, and falls into compiling, training, evaluating and, mostly, writing: a
checkpoint is written every iteration.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from brian_lda import TopicModel
from brian_lda.corpus import load_corpus, write_uci
from brian_lda.estimators.checkpoint import read_checkpoint
from brian_lda.runs import RunConfig, resume_run, train_run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and kills")

TRAIN = Path(__file__).resolve().parents[2] / "sims" / "train.py"
HARNESS = Path(__file__).with_name("crash_harness.py")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_uci(load_corpus("bars", grid=3, n_docs=60, doc_length=20, seed=0), folder)
    return str(folder)


def crash(config, n_kills, folder, seed=0):
    """Kill a run, resume it to its end, compare with one that was left alone.

    Returns the iterations at which it was killed and the scratch files that a kill left behind.
    """
    arguments = [json.dumps(config), str(n_kills), str(folder), str(seed)]
    result = subprocess.run(
        [sys.executable, str(HARNESS), *arguments], capture_output=True, text=True, timeout=3000
    )
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout.splitlines()[-1])
    assert report["kills"] == n_kills
    whole = TopicModel.load(folder / "whole" / "model.h5")
    killed = TopicModel.load(folder / "killed" / "model.h5")
    assert whole.n_iter_ == killed.n_iter_ == config["iterations"]
    np.testing.assert_array_equal(killed.components_, whole.components_)
    assert killed.state_.keys() == whole.state_.keys()
    for name in whole.state_:
        np.testing.assert_array_equal(killed.state_[name], whole.state_[name], err_msg=name)
    left = {path.name for path in (folder / "killed").iterdir()}
    assert left == {"config.json", "metrics.json", "model.h5"}
    return report


@pytest.mark.complete
def test_four_kills(corpus, tmp_path):
    config = {
        "algorithm": "cgs",
        "corpus": corpus,
        "n_topics": 3,
        "iterations": 150,
        "evaluate_every": 50,
    }
    report = crash(config, 4, tmp_path)
    assert len(set(report["iterations"])) >= 3, report  # the kills came at different moments


@pytest.mark.long
@pytest.mark.parametrize(
    ("algorithm", "backend", "iterations"),
    [
        ("spike_cgs", "rate", 200),
        ("ed_spike_lda", "rate", 200),
        ("du_spike_lda", "rate", 200),
        ("semi_spike_lda", "rate", 200),
        ("ed_spike_plsi", "rate", 200),
        ("semi_spike_lda", "brian2", 100),
        ("ed_spike_lda", "brian2", 100),
    ],
)
def test_twenty_kills(algorithm, backend, iterations, corpus, tmp_path):
    config = {
        "algorithm": algorithm, "backend": backend, "corpus": corpus, "n_topics": 3,
        "iterations": iterations, "evaluate_every": 50,
    }  # fmt: skip
    report = crash(config, 20, tmp_path, seed=1)
    print(f"{algorithm} {backend}: {report}")
    assert len(set(report["iterations"])) >= 10, report


@pytest.mark.complete
def test_a_full_disk_leaves_the_last_checkpoint_usable(corpus, tmp_path):
    """A limit on file sizes stands for the full disk: HDF5 really fails in mid-write."""
    run = tmp_path / "run"
    limited = (
        "import resource, runpy, sys\n"
        f"sys.path.insert(0, {str(TRAIN.parent)!r})\n"
        "from brian_lda.runs import saving\n"
        "write = saving.write_checkpoint\n"
        "def limited(path, content):\n"
        "    if len(content.history) == 3:\n"
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, -1))\n"
        "    write(path, content)\n"
        "saving.write_checkpoint = limited\n"
        f"main = runpy.run_path({str(TRAIN)!r}, run_name='train')['main']\n"
        "code = main(sys.argv[1:])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))\n"  # room for a line counter's file
        "sys.exit(code)\n"
    )
    arguments = ["--algorithm", "semi-spike-lda", "--backend", "rate", "--corpus", corpus]
    arguments += ["--topics", "3", "--iterations", "6", "--words", "0"]
    failed = subprocess.run(
        [sys.executable, "-c", limited, *arguments, "--out", str(run), "--checkpoint-every", "1"],
        capture_output=True,
        text=True,
    )
    assert failed.returncode == 2, failed.stderr
    assert failed.stderr.count("the checkpoint of iteration 2 stays") == 4  # iterations 3 to 6
    assert "error: cannot write" in failed.stderr and "Traceback" not in failed.stderr
    assert len(read_checkpoint(run / "checkpoint.h5").history) == 2
    resumed, _ = resume_run(run, quiet=True)
    config = RunConfig(corpus=corpus, n_topics=3, iterations=6)
    whole, _ = train_run(config, tmp_path / "whole", quiet=True)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
