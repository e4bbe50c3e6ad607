"""sims/train.py from the outside: what it writes, what it says, and how it fails."""

from __future__ import annotations

import gzip
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brian_lda import TopicModel
from brian_lda.algorithms import ALGORITHMS
from brian_lda.corpus import holdout_split, load_corpus, write_uci
from brian_lda.runs import twin
from brian_lda.simulation import read_recording, standalone

TRAIN = Path(__file__).resolve().parents[2] / "sims" / "train.py"
METRIC_KEYS = {
    "algorithm", "backend", "corpus", "n_topics", "seed", "iterations", "perplexity",
    "floor_tokens", "tokens_per_second", "seconds", "history", "versions",
}  # fmt: skip


@pytest.fixture(scope="module")
def main():
    """`main` of the script, loaded once: starting Python for each test takes seconds."""
    return runpy.run_path(str(TRAIN), run_name="train")["main"]


@pytest.fixture
def train(main, capsys):
    """Run the script in this process; returns what `subprocess.run` would."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, captured.out, captured.err)

    return run


@pytest.mark.complete(but=["semi_spike_lda", "cgs"])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)
def test_every_algorithm_writes_a_run_that_can_be_read(train, algorithm, tmp_path):
    out = tmp_path / "run"
    result = train(
        "--algorithm", algorithm.option, "--backend", "rate", "--topics", 4, "--iterations", 3,
        "--evaluate-every", 2, "--seed", 5, "--out", out, "--quiet",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    metrics = json.loads((out / "metrics.json").read_text())
    assert set(metrics) >= METRIC_KEYS
    assert metrics["algorithm"] == algorithm.name and metrics["seed"] == 5
    assert [record["iteration"] for record in metrics["history"]] == [1, 2]
    assert json.loads((out / "config.json").read_text())["n_topics"] == 4
    model = TopicModel.load(out / "model.h5")
    _, observed, heldout = holdout_split(load_corpus("reuters"), seed=0)
    assert model.perplexity(observed, heldout) == pytest.approx(metrics["perplexity"], rel=1e-12)
    assert result.stdout.count("topic ") == 4
    assert f"perplexity {metrics['perplexity']:.1f}" in result.stdout


def test_options_reach_the_estimator_and_the_checkpoint(train, tmp_path):
    write_uci(load_corpus("bars", grid=2, n_docs=30, doc_length=6, seed=0), tmp_path / "bars")
    bars = ("--backend", "rate", "--corpus", tmp_path / "bars", "--topics", 4, "--iterations", 2)
    limits = {"weight_bits": 6, "dead_synapses": 0.1}
    for name, options in (("chip", {"constraints": limits}), ("free", {})):
        result = train(
            "--algorithm", "ed-spike-lda", *bars, "--quiet", "--out", tmp_path / name,
            "--options", json.dumps(options),
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        config = json.loads((tmp_path / name / "config.json").read_text())
        assert config["options"] == options
    chip, free = (TopicModel.load(tmp_path / name / "model.h5") for name in ("chip", "free"))
    assert (chip.components_ != free.components_).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("weight_bits=8", "is not JSON"),
        ("[1]", 'expected {"name": value, ...}; found'),
        ('{"constraints": {"bits": 8}}', "constraints has no bits"),
        ('{"constraints": {"packet_loss": "x"}}', "packet_loss must be in"),
        ('{"chips": 3}', "ed-SpikeLDA has no chips"),
    ],
)
def test_wrong_options_are_refused_by_name(options, message, main, capsys, tmp_path):
    arguments = [
        "--backend",
        "rate",
        "--options",
        options,
        "--out",
        str(tmp_path / "run"),
    ]
    try:
        code = main(arguments)
    except SystemExit as end:  # argparse's own
        code = end.code
    assert code == 2 and message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_without_a_compiler_it_trains_in_spikes_on_less(main, monkeypatch, tmp_path, capfd):
    """What the first command does where nothing can be compiled, at a smaller size still."""
    monkeypatch.setattr(standalone, "compiler_found", lambda: False)
    monkeypatch.setattr(standalone, "shipped_folder", lambda: tmp_path / "nothing shipped")
    tiny = {"documents": 10, "n_topics": 3, "iterations": 2}
    monkeypatch.setitem(main.__globals__, "IN_PYTHON", tiny)
    monkeypatch.setattr(twin, "OTHER_STARTS", 2)
    monkeypatch.setattr(twin, "PATIENCE", 1e9)  # whatever this machine needs
    monkeypatch.chdir(tmp_path)
    with pytest.warns(RuntimeWarning, match="No C\\+\\+ compiler"):
        assert main([]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    config = json.loads((run / "config.json").read_text())
    assert (config["algorithm"], config["backend"]) == ("ed_spike_lda", "brian2")
    assert (config["corpus"], config["documents"]) == ("reuters", 10)
    windows = read_recording(run)
    assert [window.name for window in windows] == ["first", "middle", "last"]
    assert {window.n_tokens for window in windows} == {200}
    metrics = json.loads((run / "metrics.json").read_text())
    told = capfd.readouterr()
    assert f"perplexity {metrics['perplexity']:.1f}" in told.out
    assert f"perplexity {metrics['twin']['perplexity']:.1f}  of its rate-level twin" in told.out
    for where, kind in (("in spikes", metrics), ("at rate level", metrics["twin"])):
        others = kind["other_starts"]
        assert [start["seed"] for start in others] == [1, 2]
        reached = sorted(start["perplexity"] for start in others)
        assert reached[0] < reached[-1] and len(others[0]["history"]) == len(metrics["history"])
        assert f"{reached[0]:.1f} to {reached[-1]:.1f} {where} (2)" in told.out
    assert "perplexity=" in told.err  # the progress bar
    assert "No C++ compiler" in told.out and told.out.count("\ntopic ") >= 2
    page = (run / "report.html").resolve()
    assert f"python -m webbrowser {page.as_uri()}" in told.out
    assert "Recorded while the network learned" in page.read_text(encoding="utf-8")


@pytest.mark.complete
@pytest.mark.skipif(not standalone.compiler_found(), reason="no C++ compiler")
def test_the_first_command_trains_ed_spike_lda_in_spikes(tmp_path):
    result = subprocess.run(
        [sys.executable, str(TRAIN), "--topics", "5", "--iterations", "2"],
        capture_output=True, text=True, timeout=600, cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    (run,) = (tmp_path / "runs").iterdir()
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}
    made = {"config.json", "metrics.json", "model.h5", "recording.h5", "report.html"}
    assert {path.name for path in run.iterdir()} == made
    config = json.loads((run / "config.json").read_text())
    assert (config["algorithm"], config["backend"]) == ("ed_spike_lda", "brian2")
    assert [window.name for window in read_recording(run)] == ["first", "middle", "last"]
    assert "of its rate-level twin" in result.stdout and "perplexity=" in result.stderr


def test_the_twin_alone_takes_seconds_and_no_spikes(train, tmp_path):
    result = train("--backend", "rate", "--iterations", 2, "--out", tmp_path / "run", "--quiet")
    assert result.returncode == 0, result.stderr
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["algorithm"], config["backend"]) == ("ed_spike_lda", "rate")
    assert not (tmp_path / "run" / "recording.h5").exists()
    assert "rate-level twin" not in result.stdout


def test_a_folder_of_texts_is_a_corpus(train, tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for i in range(20):
        words = "spike neuron synapse membrane" if i % 2 else "topic word document corpus"
        (texts / f"{i}.txt").write_text(f"{words} " * 5)
    result = train(
        "--algorithm", "semi-spike-lda", "--backend", "rate", "--corpus", texts, "--topics", 2,
        "--iterations", 30, "--words", 4, "--quiet", "--out", tmp_path / "run",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    shown = [set(line.split()[2:]) for line in result.stdout.splitlines() if "topic " in line[:6]]
    assert {"spike", "neuron", "synapse", "membrane"} in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--corpus", "nowhere"], "Unknown corpus 'nowhere'"),
        (["--backend", "rate", "--topics", "1"], "n_topics must be an integer of at least 2"),
        (["--backend", "rate", "--prior", "0.5"], "SemiSpikeLDA"),
        (["--algorithm", "ed-spike-plsi", "--prior", "1.1"], "has no doc_topic_prior"),
        (["--algorithm", "cgs", "--backend", "brian2"], "baseline without spikes"),
        (["--algorithm", "svi", "--backend", "brian2"], "baseline without spikes"),
        (["--record", "first axon"], "layers must be among"),
        (["--record", "first", "--backend", "rate"], "record is for spikes"),
    ],
)
def test_mistakes_get_one_line_and_leave_no_folder(train, arguments, message, tmp_path):
    result = train(*arguments, "--out", tmp_path / "run", "--quiet")
    assert result.returncode == 2
    assert result.stderr.startswith("error: ") and message in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_earlier_results_are_never_overwritten_by_accident(train, tmp_path):
    out = tmp_path / "run"
    arguments = ("--algorithm", "cgs", "--topics", 3, "--iterations", 2, "--out", out, "--quiet")
    assert train(*arguments).returncode == 0
    before = (out / "metrics.json").read_bytes()
    refused = train(*arguments, "--seed", 1)
    assert refused.returncode == 2 and "--overwrite" in refused.stderr
    assert (out / "metrics.json").read_bytes() == before
    assert train(*arguments, "--seed", 1, "--overwrite").returncode == 0
    assert (out / "metrics.json").read_bytes() != before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    refused = train("--backend", "rate", "--out", tmp_path / "mine", "--overwrite", "--quiet")
    assert "not the folder of a run" in refused.stderr
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"


def test_a_broken_corpus_file_is_named_with_its_line(train, tmp_path):
    corpus = load_corpus("bars", grid=2, n_docs=5, doc_length=5, seed=0)
    write_uci(corpus, tmp_path / "mine")
    (docword,) = (tmp_path / "mine").glob("docword*")
    lines = gzip.decompress(docword.read_bytes()).decode().splitlines()
    lines[4] = lines[4].rsplit(" ", 1)[0] + " -3"
    docword.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    result = train("--corpus", tmp_path / "mine", "--out", tmp_path / "run", "--quiet")
    assert result.returncode == 2
    assert docword.name in result.stderr and "line 5" in result.stderr


@pytest.mark.complete
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_keeps_what_was_learnt(tmp_path):
    out = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, str(TRAIN), "--algorithm", "cgs", "--iterations", "1000000",
         "--out", str(out), "--checkpoint-every", "1"],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (out / "checkpoint.h5").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert "what was learnt is saved" in stdout
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["interrupted"] and 0 < metrics["iterations"] < 1_000_000
    assert TopicModel.load(out / "model.h5").n_iter_ == metrics["iterations"]
    assert f"to go on from iteration {metrics['checkpoint_iteration']}: " in stdout
    assert f"--resume {out}" in stdout and metrics["checkpoint_iteration"] >= 1
