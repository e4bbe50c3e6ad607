"""Spikes against rate level: all five networks agree with their twins, and faults are found.

The negative controls are the networks of `models/` with one line changed.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from brian_lda.models import ed_spike_lda, semi_spike_lda, spike_cgs
from sklearn.base import clone

from brian_lda import (
    DuSpikeLDA,
    EdSpikeLDA,
    EdSpikePLSI,
    SemiSpikeLDA,
    SpikeCGS,
    compare_twins,
)
from brian_lda.circuit.latency import FirstArrival
from brian_lda.corpus import Corpus, load_corpus, write_uci
from brian_lda.simulation import event_driven, mini_batch
from brian_lda.simulation import spike_cgs as spike_cgs_adapter
from brian_lda.step_rules import AdaGrad, VarianceTracking

SCRIPT = Path(__file__).resolve().parents[2] / "sims" / "compare_twins.py"
FEW = {"seeds": 1, "twin_seeds": 3}
IN_PYTHON = {"n_topics": 4, "brian2_options": {"simulator": "numpy"}}
BROKEN = 1e-6


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("bars", grid=2, n_docs=12, doc_length=20, seed=0)


MODELS = {
    "spike_cgs": SpikeCGS(**IN_PYTHON, max_iter=3),
    "ed_spike_lda": EdSpikeLDA(**IN_PYTHON, max_iter=3),
    "ed_spike_lda_paper": EdSpikeLDA(
        **IN_PYTHON, max_iter=1, word_step=VarianceTracking(), doc_step=AdaGrad(),
        integrator="euler", gauge=False,
    ),
    "ed_spike_plsi": EdSpikePLSI(**IN_PYTHON, max_iter=3),
    "du_spike_lda": DuSpikeLDA(**IN_PYTHON, max_iter=3, batch_size=4),
    "semi_spike_lda": SemiSpikeLDA(**IN_PYTHON, max_iter=3, batch_size=4),
}  # fmt: skip


@pytest.mark.complete  # quick: the same, compiled
@pytest.mark.parametrize("name", MODELS)
def test_the_winners_of_every_network_follow_its_twin(name, corpus):
    model = MODELS[name]
    found = compare_twins(model, corpus, **FEW, law_tokens=500)
    assert found.law_holds and len(found.laws) == 2
    assert max(law.weight_gap for law in found.laws) < 1e-6
    assert [law.p_stay is None for law in found.laws] == [
        not name.endswith(("cgs", "i_spike_lda"))
    ] * 2
    assert found.perplexity["spikes"].shape == (1, len(found.iterations))
    assert found.perplexity["rate level"].shape == (3, len(found.iterations))
    assert found.iterations[-1] == model.max_iter
    assert bool(found.zeta__beta) == name.startswith("ed_")
    assert found.match.cosine.shape == (4,) == found.match_of_twins.cosine.shape
    assert str(found).startswith(found.verdict) and "winner law   holds" in str(found)
    assert not hasattr(model, "components_")


@pytest.mark.complete(but=[name for name in MODELS if not name.endswith("paper")])
@pytest.mark.parametrize("name", MODELS)
def test_every_network_compiled_follows_its_twin(name, corpus):
    model = clone(MODELS[name]).set_params(brian2_options=None)
    found = compare_twins(model, corpus, **FEW, law_tokens=4000)
    assert found.law_holds and len(found.laws) == 2
    assert max(law.weight_gap for law in found.laws) < 1e-6


def changed(module, *replacements):
    """The network file with some of its lines replaced."""
    source = Path(module.__file__).read_text(encoding="utf-8")
    for line, other in replacements:
        assert source.count(line) == 1, line
        source = source.replace(line, other)
    network = ModuleType(module.__name__)
    exec(compile(source, module.__file__, "exec"), network.__dict__)
    return network


def test_a_forgotten_negative_phase_is_found(corpus, monkeypatch):
    wrong = changed(
        spike_cgs,
        ("w -= h_old_post              # line 4", "w -= 0*h_old_post # line 4"),
        ("p -= h_old_post              # line 4", "p -= 0*h_old_post # line 4"),
        ("c -= h_old  ", "c -= 0*h_old  "),
    )
    monkeypatch.setattr(spike_cgs_adapter, "spike_cgs", wrong)
    found = compare_twins(MODELS["spike_cgs"], corpus, **FEW, law_tokens=1500)
    assert found.winner_p < BROKEN and found.verdict == "DIFFER"
    assert "BROKEN" in str(found)


@pytest.mark.complete
def test_a_forgotten_negative_phase_of_semi_spike_lda_is_found(corpus, monkeypatch):
    wrong = changed(semi_spike_lda, ("p -= h_old_post", "p -= 0*h_old_post"))
    monkeypatch.setattr(mini_batch, "model_for", lambda name, parameters: wrong)
    found = compare_twins(MODELS["semi_spike_lda"], corpus, **FEW, law_tokens=1500)
    assert found.winner_p < BROKEN and found.verdict == "DIFFER"


@pytest.mark.complete
def test_a_forgotten_prior_is_found(monkeypatch):
    """Rare words show it: without the prior, a word stays with the topic that won it first."""
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(4, rng.dirichlet(np.full(60, 0.2))) for _ in range(60)])
    rare_words = Corpus(counts, [f"w{i}" for i in range(60)])
    wrong = changed(ed_spike_lda, ("w*g_post + varphi_pre*s_alpha_post", "w*g_post"))
    monkeypatch.setattr(event_driven, "model_for", lambda name, parameters: wrong)
    found = compare_twins(MODELS["ed_spike_lda"], rare_words, **FEW, law_tokens=2000)
    assert found.laws[1].p < BROKEN and found.verdict == "DIFFER"  # it has no effect at first


def test_a_step_that_is_too_long_is_found(corpus, monkeypatch):
    """The winners follow the wrong weights perfectly well; the weights themselves tell."""
    line = "p += accepted_post*gain_pre*(drive - a_pre*p)"
    wrong = changed(ed_spike_lda, (line, line.replace("gain_pre", "1.05*gain_pre")))
    monkeypatch.setattr(event_driven, "model_for", lambda name, parameters: wrong)
    found = compare_twins(MODELS["ed_spike_lda"], corpus, **FEW, law_tokens=300)
    assert found.laws[0].weight_gap > 1e-3 and found.verdict == "DIFFER"


def test_ties_that_go_to_the_lowest_index_are_found(corpus):
    clocked = {"simulator": "numpy", "inhibition": FirstArrival(latency=0, rate=2000.0)}
    model = EdSpikeLDA(n_topics=4, max_iter=1, brian2_options=clocked)
    found = compare_twins(model, corpus, **FEW, law_tokens=300)
    assert found.winner_p < BROKEN and found.verdict == "DIFFER"


def run(*arguments):
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.complete
def test_the_script_writes_a_page_and_compares_with_the_independent_sampler(tmp_path):
    folder, out = tmp_path / "small", tmp_path / "out"
    write_uci(load_corpus("bars", grid=2, n_docs=20, doc_length=6, seed=0), folder)
    command = (
        "--algorithm", "spike-cgs", "--corpus", folder, "--topics", 2, "--iterations", 3,
        "--seeds", 2, "--twin-seeds", 3, "--every", 1, "--law-tokens", 200, "--simulator", "numpy",
        "--quiet", "--out", out,
    )  # fmt: skip
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert "winner law" in done.stdout and "spikes / package lda" in done.stdout
    record = json.loads((out / "comparison.json").read_text())
    assert record["verdict"] in done.stdout
    sizes = {name: len(values) for name, values in record["final_perplexity"].items()}
    assert sizes == {"rate level": 3, "spikes": 2, "package lda": 2}
    with (out / "perplexity.csv").open() as file:
        assert len(list(csv.DictReader(file))) == (3 + 2) * 3  # runs, evaluations
    assert (out / "comparison.png").stat().st_size > 10_000

    again = run(*command)
    assert again.returncode == 2 and "exists" in again.stderr
    assert json.loads((out / "comparison.json").read_text()) == record
    wrong = run("--topics", 1, "--out", tmp_path / "never")
    assert wrong.returncode == 2 and "n_topics must be an integer" in wrong.stderr
    assert not (tmp_path / "never").exists()
