"""Scripts about spiking networks and chips at their smallest: files, numbers, messages."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from brian_lda.corpus import load_corpus, write_uci

SIMS = Path(__file__).resolve().parents[2] / "sims"


def run(script, *arguments):
    command = [sys.executable, str(SIMS / f"{script}.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def small_corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora") / "small"
    write_uci(load_corpus("bars", grid=2, n_docs=20, doc_length=6, seed=0), folder)
    return folder


def test_compare_networks_with_the_independent_sampler(tmp_path, small_corpus):
    out = tmp_path / "out"
    done = run(
        "compare_networks", "--algorithm", "spike-cgs", "--corpus", small_corpus, "--topics", 2,
        "--iterations", 3, "--seeds", 2, "--every", 1, "--simulator", "numpy", "--quiet",
        "--out", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "spikes / rate level" in done.stdout and "package lda" in done.stdout
    record = json.loads((out / "comparison.json").read_text())
    assert {len(values) for values in record["final_perplexity"].values()} == {2}
    with (out / "perplexity.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2 * 2 * 3  # twins, seeds, evaluations
    assert (out / "perplexity.png").stat().st_size > 5000
    wrong = run("compare_networks", "--topics", 1, "--out", tmp_path / "never")
    assert wrong.returncode == 2 and "n_topics must be an integer" in wrong.stderr
    assert not (tmp_path / "never").exists()


def test_figure_constraints(tmp_path):
    done = run("figure_constraints", "--scale", "tiny", "--seeds", 1, "--quiet", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "figure_constraints.csv").open() as file:
        rows = {(row["corpus"], row["limit"]): float(row["mean"]) for row in csv.DictReader(file)}
    assert {limit for _, limit in rows} == {
        "none", "weight_bits", "packet_loss", "dead_synapses",
    }  # fmt: skip
    exact, rounded = rows["reuters", "none"], rows["reuters", "weight_bits"]
    assert rounded == pytest.approx(exact, rel=0.01)  # the last point of the axis: 16 bits
    assert (tmp_path / "figure_constraints.png").stat().st_size > 5000
    wrong = run("figure_constraints", "--scale", "tiny", "--corpora", "kos", "--out", tmp_path)
    assert wrong.returncode == 2 and "no panel is left to make" in wrong.stderr


def test_table_traffic_counts_what_the_checker_says(tmp_path):
    pytest.importorskip("mtkahypar", reason="needs the extra [hardware]")
    done = run("table_traffic", "--scale", "tiny", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "table_traffic.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["placed_by"] for row in rows} == {"mtkahypar", "index order", "random"}
    for row in rows:
        assert float(row["sample_checker"]) == pytest.approx(float(row["sample_spikes"]))
