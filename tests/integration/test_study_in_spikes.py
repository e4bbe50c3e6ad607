"""--backend brian2 of every study script, at sizes that run inside Python in seconds."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
from test_study_scripts import script

import table_quality
from brian_lda.corpus import load_corpus, write_uci
from brian_lda.errors import ParameterError
from brian_lda.runs import RunConfig, make_model
from brian_lda.simulation.simulator import SIMULATORS
from brian_lda.sweeps import experiments, on_chip
from study import backend
from study.comparison import Setting

pytestmark = pytest.mark.complete

IN_SPIKES = ["--backend", "brian2", "--simulator", "numpy", "--seeds", "1", "--quiet"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return str(write_uci(load_corpus("bars", grid=2, n_docs=8, doc_length=5, seed=0), folder))


def rows_of(out, name):
    with open(out / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def backends_of_runs(out):
    """By algorithm, of all runs in a study's folder."""
    configs = [json.loads(path.read_text()) for path in out.glob("runs/*/config.json")]
    return {(config["algorithm"], config.get("backend", "rate")) for config in configs}


def short(setting: Setting) -> Setting:
    """One lambda, two iterations, mini-batches of four documents."""
    variants = tuple(
        replace(v, iterations=2, options={**v.options, **_small_batches(v.options)})
        for v in next(iter(setting.variants.values()))
    )
    return replace(setting, n_topics=2, lamdas=(0.1,), variants={"small": variants})


def _small_batches(options):
    return {"batch_size": 4, "local_iterations": 1} if "batch_size" in options else {}


@pytest.mark.parametrize(
    ("names", "settings", "networks", "baselines"),
    [
        (
            ("figure_prior", "figure_convergence"), "small_corpora",
            {"ed_spike_lda", "ed_spike_plsi"}, {"cgs"},
        ),
        (
            ("figure_prior_large", "figure_convergence_large"), "large_corpora",
            {"semi_spike_lda", "du_spike_lda"}, {"svi", "sgmcmc"},
        ),
    ],
)  # fmt: skip
def test_perplexity_figures(names, settings, networks, baselines, small, tmp_path, monkeypatch):
    for name in names:
        module = script(name)
        of_scale = getattr(module, settings)
        monkeypatch.setattr(module, settings, lambda scale, made=of_scale: short(made("tiny")))
        arguments = ["--corpora", small, "--out", str(tmp_path), *IN_SPIKES]
        assert module.main(arguments) == 0
        rows = rows_of(tmp_path, f"{name}_spikes")
        assert {row["backend"] for row in rows} == {"in spikes", "baseline"}
        assert (tmp_path / f"{name}_spikes.png").stat().st_size > 5000
        assert not list(tmp_path.glob(f"{name}.*"))  # of the rate level
        metadata = json.loads((tmp_path / f"{name}_spikes.json").read_text())
        assert metadata["backend"] == "brian2" and metadata["script"] == f"sims/{name}.py"
    assert backends_of_runs(tmp_path) == {
        *((network, "brian2") for network in networks), *((b, "rate") for b in baselines),
    }  # fmt: skip


@pytest.fixture
def few_documents(monkeypatch):
    """The generated corpus of the classification tables, much smaller."""

    def load(name, data_dir=None):
        return load_corpus("synthetic", n_docs=18, n_words=12, n_topics=2, doc_length=6, seed=0)

    monkeypatch.setattr(experiments, "load_corpus", load)


def test_classification(few_documents, tmp_path, monkeypatch):
    table = script("table_classification")
    tiny = table.Scale("synthetic", (2,), (0.1,), (0.05,), dict.fromkeys(table.ROWS, 1))
    monkeypatch.setitem(table.SCALES, "tiny", tiny)
    monkeypatch.setattr(table, "ROWS", ("cgs", "ed_spike_lda", "semi_spike_lda"))
    assert table.main(["--scale", "tiny", "--out", str(tmp_path), *IN_SPIKES]) == 0
    rows = {row["algorithm"]: row for row in rows_of(tmp_path, "table_classification_spikes")}
    assert {name: row["backend"] for name, row in rows.items()} == {
        "cgs": "baseline", "ed_spike_lda": "in spikes", "semi_spike_lda": "in spikes",
    }  # fmt: skip
    networks = ("ed_spike_lda", "semi_spike_lda")
    assert backends_of_runs(tmp_path) == {
        ("cgs", "rate"), *((name, where) for name in networks for where in ("rate", "brian2")),
    }  # fmt: skip
    assert judged_in("brian2", tmp_path) == {"test"}  # the rate level has chosen
    assert judged_in("rate", tmp_path, networks) == {"validation"}
    for name, row in rows.items():  # every theta in spikes, where there are any
        theta = row["theta"] + ("_in_spikes" if name in networks else "")
        backend = "brian2" if name in networks else "rate"
        (metrics,) = [
            json.loads((path.parent / "metrics.json").read_text())
            for path in tmp_path.glob("runs/*/config.json")
            if (config := json.loads(path.read_text()))["algorithm"] == name
            and (config.get("backend", "rate"), config["judged_on"]) == (backend, "test")
        ]
        assert float(row["accuracy"]) == pytest.approx(metrics[f"accuracy_{theta}"], rel=1e-4)


def judged_in(backend, out, algorithms=None):
    """On which documents the runs of a backend were judged."""
    configs = [json.loads(path.read_text()) for path in out.glob("runs/*/config.json")]
    return {
        config["judged_on"]
        for config in configs
        if config.get("backend", "rate") == backend
        and (algorithms is None or config["algorithm"] in algorithms)
    }


def test_classification_of_some_rows_and_another_number_of_topics(few_documents, tmp_path):
    table = script("table_classification")
    arguments = ["--scale", "tiny", "--rows", "cgs", "--topics", "3", "--seeds", "1", "--quiet"]
    assert table.main([*arguments, "--out", str(tmp_path)]) == 0
    (row,) = rows_of(tmp_path, "table_classification")
    assert (row["algorithm"], row["n_topics"]) == ("cgs", "3")


def test_pruning(few_documents, tmp_path, monkeypatch):
    table = script("table_pruning")
    monkeypatch.setitem(table.SCALES, "tiny", table.Scale("synthetic", (2,), 3, (1, 2), 6, 4, 2))
    assert table.main(["--scale", "tiny", "--out", str(tmp_path), *IN_SPIKES]) == 0
    rows = {row["network"]: row["backend"] for row in rows_of(tmp_path, "table_pruning_spikes")}
    networks = ("ed-SpikeLDA", "split", "p-1", "p-2", "ours p-1", "ours p-2")
    assert rows == {"CGS": "baseline"} | dict.fromkeys(networks, "in spikes")
    assert backends_of_runs(tmp_path) == {("cgs", "rate"), ("ed_spike_lda", "brian2")}


def test_constraints(small, few_documents, tmp_path, monkeypatch):
    figure = script("figure_constraints")
    panels = (
        figure.Panel(small, "rate", 2, 1),
        figure.Panel("synthetic", "rate", 2, 1, "accuracy"),
    )
    limits = {"weight_bits": (8,), "packet_loss": (0.2,), "dead_synapses": (0.2,)}
    monkeypatch.setitem(figure.SCALES, "tiny", figure.Scale(panels, **limits))
    assert figure.main(["--scale", "tiny", "--out", str(tmp_path), *IN_SPIKES]) == 0
    rows = rows_of(tmp_path, "figure_constraints_spikes")
    assert len(rows) == 2 * 4 and {row["backend"] for row in rows} == {"brian2"}
    assert backends_of_runs(tmp_path) == {("ed_spike_lda", "brian2")}


def test_quality(tmp_path, capsys, monkeypatch):
    made = table_quality.models

    def few(n_topics, paper_passes):
        rows = made(n_topics, paper_passes)
        rows["cgs"].max_iter = rows["ed-spike-lda"].max_iter = 1
        return rows

    monkeypatch.setattr(table_quality, "models", few)
    path = tmp_path / "quality.json"
    monkeypatch.setattr(
        table_quality, "corpus_and_topics",
        lambda *_: (load_corpus("bars", grid=2, n_docs=8, doc_length=5, seed=0), 2),
    )  # fmt: skip
    arguments = ["--corpora", "gen-tiny", "--rows", "cgs", "ed-spike-lda", "--json", str(path)]
    assert table_quality.main([*arguments, *IN_SPIKES]) == 0
    found = json.loads(path.read_text())
    assert found["backend"] == "brian2" and set(found["corpora"]["gen-tiny"]) == {
        "cgs", "ed-spike-lda",
    }  # fmt: skip
    assert table_quality.main([*arguments, "--seeds", "1", "--quiet"]) == 2
    assert "backend brian2, not rate" in capsys.readouterr().err


def test_stream(small, tmp_path, monkeypatch):
    """One pass in place of a stream's many visits, which take minutes inside Python."""
    table, seen = script("table_stream"), []

    def feed(model, corpus, batch_size, times=1):
        seen.append((model.backend, model.brian2_options))
        model.set_params(max_iter=1).fit(corpus)
        return [None] * len(table.MARKS)

    monkeypatch.setattr(table, "feed", feed)
    monkeypatch.setattr(table, "STREAMING", ("ed_spike_lda",))
    monkeypatch.setattr(table, "LONG_STREAM", ())
    monkeypatch.setattr(table, "PEERS", {})
    monkeypatch.setitem(table.SCALES, "tiny", table.Scale(("x",), 2, batch_size=4, times=1))
    arguments = ["--scale", "tiny", "--corpora", small, "--out", str(tmp_path), *IN_SPIKES]
    assert table.main(arguments) == 0
    assert len(rows_of(tmp_path, "table_stream_spikes")) == 2  # two orders
    assert seen == [("brian2", {"simulator": "numpy"})] * 2


def test_events_of_a_training_run_are_counted(small, tmp_path, monkeypatch):
    """The ones that depend on no mean over documents are equal to what sizes predict."""
    table = script("table_memory")
    made, kept = table.memory_table, ("ed_spike_lda", "ed_spike_plsi", "spike_cgs")
    monkeypatch.setitem(table.SCALES, "tiny", {small: (4, 4)})
    monkeypatch.setattr(
        table, "memory_table", lambda **sizes: [m for m in made(**sizes) if m.algorithm in kept]
    )
    arguments = ["--scale", "tiny", "--out", str(tmp_path), "--count", "--passes", "1"]
    assert table.main([*arguments, "--simulator", "numpy", "--quiet"]) == 0
    rows = rows_of(tmp_path, "table_memory")
    assert {row["algorithm"] for row in rows} == set(kept)
    for row in rows:
        assert row["counted_races"] == row["N"] and float(row["counted_packets"]) > 0
        for name in ("spikes", "synaptic_events", "plastic_writes"):
            assert float(row[f"counted_{name}"]) == pytest.approx(float(row[name]), rel=1e-5)
        # Davies et al. 2018, Tab. 2: picojoules of an event, a write, a neuron that fires or not
        events = [float(row[f"counted_{name}"]) for name in ("synaptic_events", "plastic_writes")]
        of_race = 23.6e-12 * events[0] + 120e-12 * events[1] + 81e-12 + 3 * 52e-12
        joules = float(row["counted_dynamic_joules"])
        assert joules == pytest.approx(of_race * float(row["counted_races"]), rel=1e-5)


def test_baselines_and_the_rate_level_stay_as_they_are():
    config = {"algorithm": "cgs", "options": {}}
    assert backend.in_backend(config, "brian2") == config
    network = {"algorithm": "ed_spike_lda", "options": {"constraints": {}}}
    assert backend.in_backend(network, None) == backend.in_backend(network, "rate") == network
    spikes = backend.in_backend(network, "brian2", "numpy")
    model = make_model(RunConfig(**spikes))
    assert model.backend == "brian2" and model.brian2_options == {"simulator": "numpy"}
    assert model.constraints == {} and backend.SIMULATORS == SIMULATORS


def test_on_chip(tmp_path, monkeypatch):
    corpus = load_corpus("synthetic", n_docs=18, n_words=12, n_topics=2, doc_length=6, seed=0)
    monkeypatch.setattr(on_chip, "load_corpus", lambda name, data_dir=None: corpus)
    table = script("table_on_chip")
    monkeypatch.setitem(table.SCALES, "tiny", table.Scale(("synthetic",), 4, 3, 1, 6, 4, 2))
    assert table.main(["--scale", "tiny", "--out", str(tmp_path), *IN_SPIKES[2:]]) == 0
    rows = {row["network"]: row for row in rows_of(tmp_path, "table_on_chip")}
    assert list(rows) == ["ideal", "split", "pruned", "all limits"]
    assert [int(row["fan_in"]) for row in rows.values()] == [24, 11, 11, 11]  # 12 + 12; 6 + 4 + 1
    for name, row in rows.items():
        assert 1 < float(row["perplexity"]) < 200 and 0 <= float(row["accuracy_fold_in"]) <= 100
        assert row["writes"] == row["planned_writes"] and (row["writes"] == "") == (name == "ideal")
    assert float(rows["all limits"]["ticks"]) > 7  # a window is 1 + 2*3 ticks
    assert 3 < float(rows["all limits"]["packets"]) < 3 * float(rows["all limits"]["ticks"])
    limits = table.SCALES["tiny"].limits
    assert limits == {"weight_bits": 8, "packet_loss": 0.01, "latency": 3, "n_chips": 2}
    config = {"network": "split", "limits": limits}
    config |= dict.fromkeys(("n_private", "docs_on_chip", "pretraining", "rule"))
    with pytest.raises(ParameterError, match="are those of a pruned network; found .* 'split'"):
        on_chip.on_chip(config)
