"""A fit without `max_iter`: when it looks, when it ends, and what it says."""

from __future__ import annotations

import numpy as np
import pytest

from brian_lda import DuSpikeLDA, EdSpikeLDA, EdSpikePLSI, SemiSpikeLDA
from brian_lda.corpus import load_corpus
from brian_lda.estimators import ProgressBar
from brian_lda.estimators.checkpoint import Checkpoint
from brian_lda.estimators.convergence import Convergence, look_passes
from brian_lda.evaluation import heldout_perplexity

ESTIMATORS = [SemiSpikeLDA, DuSpikeLDA, EdSpikeLDA, EdSpikePLSI]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


@pytest.fixture(scope="module")
def bars():
    return load_corpus("bars", grid=3, n_docs=60, doc_length=30, seed=0)


class Model:
    """A model whose Phi gives each of 4 words of the only topic the same probability, or less."""

    def __init__(self, probabilities):
        self.probabilities, self.history_ = list(probabilities), []

    def current_phi(self):
        p = self.probabilities.pop(0)
        return np.array([[p, 1.0 - p, 0.0, 0.0]])

    def _pseudo_count(self):
        return 0.1


def run(probabilities, tol, max_passes=58, per_pass=3):
    """Records of a fit on documents of word 0 alone: the training perplexity is 1/p."""
    corpus = load_corpus("bars", grid=2, n_docs=5, doc_length=4, seed=0)
    counts = np.array([[4, 0, 0, 0]] * 5)
    corpus = type(corpus)(
        counts, corpus.vocabulary, true_phi=corpus.true_phi, true_theta=corpus.true_theta
    )
    convergence = Convergence(
        corpus, tol=tol, max_passes=max_passes, iterations_per_pass=per_pass, seed=0
    )
    model = Model(probabilities)
    for iteration in range(1, convergence.max_iterations + 1):
        record = {"iteration": iteration}
        convergence.look(model, record)
        model.history_.append(record)
        if "stopped" in record:
            break
    return model.history_


def test_it_looks_at_whole_passes_a_fifth_apart():
    assert look_passes(58) == (27, 33, 40, 48, 58)
    assert look_passes(26) == ()
    assert look_passes(200, first_look=80) == (80, 96, 116, 140, 168)
    assert look_passes(200, first_look=75, every=10) == (80, 100, 120, 150, 180)
    history = run([0.1, 0.2, 0.4, 0.8], tol=0.01, max_passes=48)
    looked = [r["iteration"] for r in history if "training_perplexity" in r]
    assert looked == [3 * 27, 3 * 33, 3 * 40, 3 * 48]
    found = [r["training_perplexity"] for r in history if "training_perplexity" in r]
    np.testing.assert_allclose(found, [10.0, 5.0, 2.5, 1.25], rtol=1e-9)


def test_it_ends_at_the_first_fall_below_tol_and_says_so():
    # 1/0.5, 1/0.52 (a fall of 3.8 %), 1/0.5225 (0.48 %), never 1/0.9
    history = run([0.5, 0.52, 0.5225, 0.9], tol=0.01)
    assert history[-1]["iteration"] == 3 * 40
    assert history[-1]["stopped"] == (
        "converged: from pass 33 to 40 the training perplexity fell by 0.48 %"
    )
    assert not any("stopped" in record for record in history[:-1])
    history = run([0.5, 0.52, 0.5225, 0.9, 0.9], tol=0.004)
    assert history[-1]["iteration"] == 3 * 58  # the stop at 40 was the tolerance's


def test_a_perplexity_that_rises_has_converged_too():
    assert run([0.5, 0.4], tol=0.01)[-1]["iteration"] == 3 * 33


def test_without_tolerance_it_goes_to_the_bound_and_does_not_look():
    history = run([], tol=0.0, max_passes=9)
    assert len(history) == 27 and history[-1]["stopped"] == "reached the bound of 9 passes"


@pytest.mark.complete(but=["EdSpikeLDA", "EdSpikePLSI"])
@every_estimator
def test_a_fit_without_max_iter_ends_by_itself(estimator, bars):
    model = estimator(n_topics=6, random_state=0).fit(bars)
    last = model.history_[-1]
    assert "converged: from pass" in last["stopped"] and model.n_iter_ < model.max_iterations_
    per_pass = model.trainer_.iterations_per_pass
    token_by_token = estimator in (EdSpikeLDA, EdSpikePLSI)
    assert model.max_iterations_ == (200 if token_by_token else 100) * per_pass
    assert per_pass == (60 if hasattr(model, "batch_size") else 1)  # mini-batches of one document
    looks = [r for r in model.history_ if "training_perplexity" in r]
    expected = look_passes(200, 80) if token_by_token else look_passes(100)
    if estimator is EdSpikePLSI:  # just before documents begin anew
        expected = (80, 100, 120, 150, 180)
    assert [r["iteration"] // per_pass for r in looks] == list(expected[: len(looks)])
    falls = [
        1 - after["training_perplexity"] / before["training_perplexity"]
        for before, after in zip(looks, looks[1:], strict=False)
    ]
    assert all(fall >= model.tol for fall in falls[:-1]) and falls[-1] < model.tol
    everything = heldout_perplexity(
        model.components_, bars.counts, bars.counts, pseudo_count=model._pseudo_count()
    )
    assert last["training_perplexity"] == pytest.approx(everything.perplexity, rel=1e-6)


@every_estimator
def test_max_iter_is_a_number_of_iterations_as_ever(estimator, bars):
    model = estimator(n_topics=6, random_state=0, max_iter=9).fit(bars)
    assert model.n_iter_ == 9 == model.max_iterations_
    assert not any("training_perplexity" in r or "stopped" in r for r in model.history_)


@every_estimator
def test_the_bound(estimator, bars):
    model = estimator(n_topics=6, random_state=0, max_passes=3).fit(bars)
    assert model.n_iter_ == 3 * model.trainer_.iterations_per_pass
    assert model.history_[-1]["stopped"] == "reached the bound of 3 passes"


@pytest.mark.complete
def test_a_resumed_fit_ends_where_the_whole_one_does(bars):
    kept = []

    def keep(model, record):
        if "training_perplexity" in record:  # just before and after a look that ends nothing
            kept.append((model.trainer_.state(), list(model.history_)))

    options = {"n_topics": 6, "random_state": 0}
    whole = SemiSpikeLDA(**options, callbacks=[keep]).fit(bars)
    assert len(kept) >= 2
    for state, history in (kept[0], kept[-1]):
        resumed = SemiSpikeLDA(**options).resume(
            bars, Checkpoint({}, {}, {}, seed=whole.seed_, history=history, state=state)
        )
        assert resumed.history_[-1]["stopped"] == whole.history_[-1]["stopped"]
        np.testing.assert_array_equal(resumed.components_, whole.components_)


def test_the_bar_counts_to_the_bound_and_ends_with_the_reason(bars, capsys):
    bar = ProgressBar()
    model = EdSpikeLDA(n_topics=6, random_state=0, callbacks=[bar]).fit(bars)
    written = capsys.readouterr().err
    assert model.history_[-1]["stopped"] in written and "/200 [" in written
