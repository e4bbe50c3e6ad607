"""Every figure and table at --scale tiny: the files are there, and hold what they should."""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from study.script import run_study

SIMS = Path(__file__).resolve().parents[2] / "sims"
SCRIPTS = (
    "figure_prior",
    "figure_convergence",
    "figure_prior_large",
    "figure_convergence_large",
    "table_classification",
    "table_memory",
    "table_pruning",
    "table_stream",
)
DRAWN = [name for name in SCRIPTS if name not in ("table_classification", "table_stream")]
PNG = b"\x89PNG\r\n\x1a\n"

pytestmark = pytest.mark.complete  # all figures and tables: the fixture `out` takes a minute


def script(name):
    spec = importlib.util.spec_from_file_location(name, SIMS / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """One folder for all scripts, as a user has it: they share runs."""
    folder = tmp_path_factory.mktemp("results")
    for name in SCRIPTS:
        assert script(name).main(["--scale", "tiny", "--out", str(folder), "--quiet"]) == 0
    return folder


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", SCRIPTS)
def test_metadata_says_how_it_was_made(name, out):
    metadata = json.loads((out / f"{name}.json").read_text())
    assert metadata["scale"] == "tiny" and metadata["seeds"] == [0, 1, 2]
    assert metadata["runs_failed"] == 0 and metadata["peak_memory_mib"] > 10
    assert metadata["wall_seconds"] > 0 and metadata["parameters"] and metadata["commit"]
    assert {"python", "numpy", "brian_lda"} <= metadata["versions"].keys()


@pytest.mark.parametrize("name", DRAWN)
def test_figures_are_written_twice(name, out):
    assert (out / f"{name}.png").read_bytes().startswith(PNG)
    assert "<svg" in (out / f"{name}.svg").read_text()


@pytest.mark.parametrize(("name", "n_with_prior"), [("figure_prior", 2), ("figure_prior_large", 6)])
def test_prior_figures_hold_the_mean_of_their_runs(name, n_with_prior, out):
    rows = read_csv(out / f"{name}.csv")
    assert len([row for row in rows if row["lamda"]]) == 2 * n_with_prior  # two lambdas
    metrics = [json.loads(path.read_text()) for path in (out / "runs").glob("cgs-*/metrics.json")]
    configs = [json.loads(path.read_text()) for path in (out / "runs").glob("cgs-*/config.json")]
    for row in rows:
        assert row["n_runs"] == "3" and 500 < float(row["perplexity"]) < 9000
        if row["variant"] == "CGS":
            lamda = float(row["lamda"])
            runs = [
                m["perplexity"]
                for m, c in zip(metrics, configs, strict=True)
                if c["prior"] == lamda and c["function"].endswith(":train")
            ]
            assert float(row["perplexity"]) == pytest.approx(sum(runs) / 3, rel=1e-5)


def test_map_algorithms_get_lambda_plus_one(out):
    priors = {"ed_spike_lda": {1.1, 1.5}, "cgs": {0.1, 0.5}, "svi": {0.6, 1.0}}
    for algorithm, expected in priors.items():
        configs = [
            json.loads(path.read_text())
            for path in (out / "runs").glob(f"{algorithm}-reuters-*/config.json")
        ]
        assert {config["prior"] for config in configs} == expected


def test_convergence_starts_high_and_reuses_the_runs_of_the_prior_figure(out):
    for name in ("figure_convergence", "figure_convergence_large"):
        metadata = json.loads((out / f"{name}.json").read_text())
        assert metadata["runs"] == metadata["runs_made_earlier"] > 0
        rows = read_csv(out / f"{name}.csv")
        for variant in {row["variant"] for row in rows}:
            curve = [row for row in rows if row["variant"] == variant]
            assert [int(row["iteration"]) for row in curve] == sorted(
                int(row["iteration"]) for row in curve
            )
            assert float(curve[0]["perplexity"]) > float(curve[-1]["perplexity"])


def test_classification_chooses_on_validation_and_beats_chance(out):
    rows = read_csv(out / "table_classification.csv")
    assert {row["algorithm"] for row in rows} == {
        "cgs", "ed_spike_lda", "semi_spike_lda", "du_spike_lda",
    }  # fmt: skip
    for row in rows:
        assert float(row["accuracy"]) > 30.0  # ten classes
        assert row["paper_accuracy"] == ""  # the paper's figures belong to 20NG alone
    chosen = json.loads((out / "table_classification.json").read_text())["parameters"]["chosen"]
    configs = [
        json.loads(path.read_text()) for path in (out / "runs").glob("cgs-synthetic-*/config.json")
    ]
    judged = {
        on: {c["prior"] for c in configs if c["judged_on"] == on and c["iterations"] == 20}
        for on in ("test", "validation")
    }
    assert judged["validation"] == {0.05, 0.1}
    assert judged["test"] == {chosen["cgs"][0]}


def test_pruned_networks_branch_off_and_stay_near_the_whole_one(out):
    rows = {row["network"]: row for row in read_csv(out / "table_pruning.csv")}
    all_pruned = ["p-3", "p-4", "ours p-3", "ours p-4"]
    assert list(rows) == ["CGS", "ed-SpikeLDA", "split", *all_pruned]
    for name, row in rows.items():
        assert row["n_runs"] == "3", name
        assert 50 < float(row["accuracy"]) <= 100  # ten classes
    # means over few documents may coincide; means and spreads of different networks do not
    figures = [
        (float(rows[name]["accuracy"]), rows[name]["accuracy_spread"])
        for name in ("ed-SpikeLDA", "split", *all_pruned)
    ]
    assert all(abs(figures[0][0] - mean) < 15 for mean, _ in figures)
    assert len(set(figures)) == len(figures)
    parameters = json.loads((out / "table_pruning.json").read_text())["parameters"]
    assert parameters["n_private"] == 40 and parameters["passes"] == 6


def test_validation_documents_are_no_test_documents_and_no_training_documents():
    from brian_lda.sweeps.experiments import _labelled_parts

    train, test = _labelled_parts("synthetic", "test", None)
    fit, validation = _labelled_parts("synthetic", "validation", None)
    rows = [{tuple(row) for row in part.true_theta} for part in (fit, validation, test, train)]
    assert rows[0] | rows[1] == rows[3]
    assert not rows[0] & rows[1] and not rows[1] & rows[2]


def test_memory_grows_as_the_algorithms_say(out):
    rows = {row["algorithm"]: row for row in read_csv(out / "table_memory.csv")}
    K, V, D, N = (int(rows["spike_cgs"][size]) for size in "KVDN")
    assert (V, D) == (4258, 395)
    for row in rows.values():
        parts = [float(v) for k, v in row.items() if k.endswith("_bytes") and k != "total_bytes"]
        assert float(row["total_bytes"]) == pytest.approx(sum(parts), rel=1e-5)
    assert float(rows["ed_spike_lda"]["local_weights_bytes"]) == pytest.approx(4 * K * D, rel=1e-5)
    assert float(rows["spike_cgs"]["corpus_bytes"]) == pytest.approx(8 * N, rel=1e-5)


def test_the_stream_has_a_row_for_every_algorithm_and_order(out):
    rows = read_csv(out / "table_stream.csv")
    spiking = ["semi-SpikeLDA", "du-SpikeLDA", "ed-SpikeLDA", "ed-SpikePLSI"]
    for order, n_runs in (("arrival", "3"), ("shuffled", "1")):
        of_order = {row["algorithm"]: row for row in rows if row["order"] == order}
        assert list(of_order)[:4] == spiking
        assert {row["n_runs"] for row in of_order.values()} == {n_runs}
        for name, row in of_order.items():
            assert 500 < float(row["perplexity"]) < 4000  # a uniform Phi has 4258
            assert bool(row["mib_at_100%"]) == (name in spiking)
    long = {row["algorithm"]: row for row in rows if row["order"] == "arrival, 2 times"}
    assert list(long) == ["semi-SpikeLDA", "ed-SpikeLDA"]


def test_a_corpus_that_is_not_at_hand_is_skipped_with_a_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BRIAN_LDA_DATA", raising=False)
    arguments = ["--scale", "tiny", "--corpora", "enron", "--out", str(tmp_path), "--quiet"]
    for name in ("figure_prior", "figure_convergence_large"):
        assert script(name).main(arguments) == 0
        error = capsys.readouterr().err
        assert "skipped: enron" in error and "docword.enron.txt.gz" in error
        assert "--data-dir" in error and "--download" in error
        assert not (tmp_path / f"{name}.png").exists()


@pytest.mark.parametrize("name", ["table_spikes", "table_on_chip", "figure_prior"])
def test_a_corpus_that_nobody_knows_is_refused_before_any_run(name, tmp_path, capsys):
    arguments = ["--corpora", "reuters", "nowhere", "--out", str(tmp_path), "--quiet"]
    assert script(name).main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: Unknown corpus 'nowhere'") and error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", [*SCRIPTS, "sweep"])
def test_help_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        script(name).main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert f"python sims/{name}.py" in text
    assert "--engine" in text and "--scheduler" in text and "--out" in text


def test_the_results_page_is_filled_with_the_numbers(out, tmp_path):
    page = tmp_path / "results.md"
    blocks = [f"<!-- {name}.csv -->\nold\n<!-- end -->" for name in (*SCRIPTS, "table_absent")]
    page.write_text("By hand.\n\n" + "\n\n".join(blocks) + "\n")
    for _ in range(2):  # filling a filled page changes nothing
        assert script("update_results").main(["--out", str(out), "--page", str(page)]) == 0
        text = page.read_text()
        assert text.startswith("By hand.") and text.count("<!-- end -->") == len(blocks)
        assert text.count("old") == 1  # the one whose script was not run
        row = read_csv(out / "figure_prior.csv")[0]
        cell = f"{float(row['perplexity']):.0f} ± {float(row['perplexity_spread']):.0f}"
        assert cell in text and f"λ = {float(row['lamda']):g}" in text
        accuracy = read_csv(out / "table_classification.csv")[0]["accuracy"]
        assert f"{float(accuracy):.1f} ±" in text
        assert text.count("](figures/figure_prior.png)") == 1
    figures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert figures == {f"{name}.png" for name in DRAWN}


def test_earlier_numbers_stay_when_no_run_has_a_result(tmp_path, capsys):
    (tmp_path / "table.csv").write_text("earlier")
    run_study("table", "", lambda study: study.write([], {}), ["--out", str(tmp_path)])
    assert (tmp_path / "table.csv").read_text() == "earlier"
    captured = capsys.readouterr()
    assert "nothing was written" in captured.err and "written:" not in captured.out
