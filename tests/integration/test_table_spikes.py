"""table_spikes.py: what it writes, that it goes on after a kill, and that its test can say no."""

from __future__ import annotations

import csv
import json

import pytest
from brian_lda.models import ed_spike_lda, semi_spike_lda, spike_cgs
from test_compare_twins import changed
from test_study_scripts import script

from brian_lda.corpus import load_corpus, write_uci
from brian_lda.simulation import event_driven, mini_batch
from brian_lda.simulation import spike_cgs as spike_cgs_adapter
from study.results_page import _spikes
from study.shapes import Shape, shaped_corpus


def rows_of(out):
    with open(out / "table_spikes.csv", newline="", encoding="utf-8") as file:
        return {row["network"]: row for row in csv.DictReader(file)}


def runs_in(out, algorithm):
    """(configuration, metrics) of its runs."""
    for path in out.glob("runs/*/config.json"):
        config = json.loads(path.read_text())
        if config["algorithm"] == algorithm:
            yield config, json.loads((path.parent / "metrics.json").read_text())


def run(corpus, out, *options):
    arguments = ["--corpora", corpus, "--out", out, "--quiet", *options]
    return script("table_spikes").main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return write_uci(load_corpus("bars", grid=2, n_docs=15, doc_length=6, seed=0), folder)


INSIDE_PYTHON = ("--simulator", "numpy", "--topics", 2, "--passes", 2)


@pytest.mark.complete
def test_the_table_has_all_three_and_a_second_start_repeats_nothing(small, tmp_path, capsys):
    two = ("--networks", "ed-spike-lda", "spike-cgs")
    assert run(small, tmp_path, *two, *INSIDE_PYTHON) == 0
    rows = rows_of(tmp_path)
    assert set(rows) == {"ed_spike_lda", "spike_cgs"}
    for row in rows.values():
        for kind in ("spikes", "twin", "cgs"):
            assert row[f"{kind}_runs"] == "3" and float(row[f"{kind}_passes"]) == 2
            assert 1 < float(row[f"{kind}_perplexity"]) < 10
            assert float(row[f"{kind}_cpu_seconds"]) > 0
        assert 0 <= float(row["p_equivalent"]) <= 1 and row["margin"] == "0.01"
    assert rows["ed_spike_lda"]["cgs_perplexity"] != rows["spike_cgs"]["cgs_perplexity"]
    priors = {config["word_prior"] for config, _ in runs_in(tmp_path, "cgs")}
    assert priors == {0.05, 0.01}  # each network's own
    printed = capsys.readouterr().out
    assert "p equivalent" in printed and "ed-SpikeLDA" in printed
    assert (tmp_path / "table_spikes.png").stat().st_size > 5000

    assert run(small, tmp_path, *two, *INSIDE_PYTHON, "--margin", 0.9, "--seeds", 3) == 0
    metadata = json.loads((tmp_path / "table_spikes.json").read_text())
    assert metadata["runs"] == metadata["runs_made_earlier"] == 18
    wide = rows_of(tmp_path)["ed_spike_lda"]
    assert float(wide["p_equivalent"]) < float(rows["ed_spike_lda"]["p_equivalent"])

    assert run(small, tmp_path, *two, *INSIDE_PYTHON, "--seeds", 4, "--engine", "none") == 0
    assert rows_of(tmp_path)["spike_cgs"]["spikes_runs"] == "3"  # the fourth was not made
    page = tmp_path / "results.md"
    page.write_text("<!-- table_spikes.csv -->\n<!-- end -->\n")
    assert script("update_results").main(["--out", str(tmp_path), "--page", str(page)]) == 0
    row = rows["spike_cgs"]
    mean, spread = (float(row[f"spikes_perplexity{end}"]) for end in ("", "_spread"))
    line = next(line for line in page.read_text().splitlines() if "| SpikeCGS |" in line)
    rows["spike_cgs"] |= {"twin_runs": "0", "twin_passes": ""}  # a table under way
    assert "| 2/– |" in _spikes([rows["spike_cgs"]])
    assert f"| {mean:.0f} ± {spread:.0f} |" in line and f"| {float(row['ratio']):.4g} |" in line


def test_twins_and_spikes_do_not_mix(small, tmp_path):
    arguments = ("--networks", "ed-spike-lda", *INSIDE_PYTHON, "--seeds", 1, "--twin-seeds", 4)
    assert run(small, tmp_path, *arguments) == 0
    row = rows_of(tmp_path)["ed_spike_lda"]
    assert (row["spikes_runs"], row["twin_runs"], row["cgs_runs"]) == ("1", "4", "1")
    found = {"brian2": [], "rate": []}
    for config, metrics in runs_in(tmp_path, "ed_spike_lda"):
        found[config["backend"]].append(metrics["perplexity"])
    assert float(row["spikes_perplexity"]) == pytest.approx(found["brian2"][0], rel=1e-5)
    assert float(row["twin_perplexity"]) == pytest.approx(sum(found["rate"]) / 4, rel=1e-5)
    assert "p_equivalent" not in row  # one run in spikes is too few


def test_a_margin_that_is_none_is_refused(small, tmp_path, capsys):
    arguments = ("--networks", "ed-spike-lda", *INSIDE_PYTHON, "--margin", 0)
    assert run(small, tmp_path, *arguments) == 2
    assert "between 0 and 1" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()  # before any work


WRONG = {  # one line of the network changed, and where its adapter takes it from
    "spike-cgs": (
        changed(
            spike_cgs,
            ("w -= h_old_post              # line 4", "w -= 0*h_old_post # line 4"),
            ("p -= h_old_post              # line 4", "p -= 0*h_old_post # line 4"),
            ("c -= h_old  ", "c -= 0*h_old  "),
        ),
        spike_cgs_adapter,
    ),
    "semi-spike-lda": (
        changed(semi_spike_lda, ("p -= h_old_post", "p -= 0*h_old_post")), mini_batch,
    ),
    "ed-spike-lda": (
        changed(ed_spike_lda, ("w*g_post + varphi_pre*s_alpha_post", "w*g_post")), event_driven,
    ),
}  # fmt: skip


def bars(n_docs):
    return load_corpus("bars", grid=3, n_docs=n_docs, doc_length=40, alpha=0.2, seed=1)


def rare_words():
    """Where a prior of Phi matters: on the bars its loss changes perplexity by less than 1 %."""
    return shaped_corpus(Shape(400, 3_000, 30, 3))


# Where perplexities of right networks scatter by 0.1 %, so that three seeds can say yes; where the
# fault shows.
CORPORA = {
    "spike-cgs": (lambda: bars(600), 10, lambda: bars(600), 10),
    "semi-spike-lda": (lambda: bars(600), 10, lambda: bars(600), 10),
    "ed-spike-lda": (lambda: bars(1500), 10, rare_words, 20),
}


@pytest.mark.long
@pytest.mark.parametrize("network", WRONG)
def test_equal_networks_pass_and_wrong_ones_do_not(network, tmp_path, monkeypatch):
    """Compiled, 24 000 tokens and more."""
    common = ("--networks", network, "--passes", 40, "--twin-seeds", 6)

    def row(name, corpus, n_topics):
        folder = write_uci(corpus(), tmp_path / f"corpus {name}")
        assert run(folder, tmp_path / name, *common, "--topics", n_topics) == 0
        (found,) = rows_of(tmp_path / name).values()
        print(network, name, {key: found[key] for key in ("ratio", "spread", "p_equivalent")})
        return {key: float(found[key]) for key in ("p_equivalent", "p_different")}

    scatters_little, K, shows_it, other_K = CORPORA[network]
    assert row("right", scatters_little, K)["p_equivalent"] < 0.05
    assert row("right, too", shows_it, other_K)["p_different"] > 0.01
    module, adapter = WRONG[network]
    if adapter is spike_cgs_adapter:
        monkeypatch.setattr(adapter, "spike_cgs", module)
    else:
        monkeypatch.setattr(adapter, "model_for", lambda name, parameters: module)
    wrong = row("wrong", shows_it, other_K)
    assert wrong["p_equivalent"] > 0.5 and wrong["p_different"] < 0.01
