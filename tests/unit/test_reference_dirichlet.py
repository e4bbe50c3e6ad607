"""Minka's fixed point for lambda: by hand, against an optimiser, and on counts drawn from it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

from brian_lda.reference.dirichlet import (
    RATE,
    SHAPE,
    CountHistogram,
    fixed_point_step,
    most_probable_lambda,
    proportions_step,
)

BY_HAND = np.array([[2, 0], [1, 1], [0, 0]])  # [doc, topic]
EXACT = {"tolerance": 1e-12, "max_steps": 100_000}


def log_probability(C_zd, lamda, shape=SHAPE, rate=RATE):
    """Of the counts, document by document, and of lambda under its Gamma prior."""
    total, lengths = lamda.sum(), C_zd.sum(axis=1)
    documents = gammaln(total) - gammaln(lengths + total)
    documents = documents + (gammaln(C_zd + lamda) - gammaln(lamda)).sum(axis=1)
    return documents.sum() + ((shape - 1.0) * np.log(lamda) - rate * lamda).sum()


def optimum(C_zd, shape, rate, total=None):
    """By an optimiser that knows nothing of digamma functions, over log lambda."""

    def lamda_of(x):
        lamda = np.exp(x)
        return lamda if total is None else total * lamda / lamda.sum()

    def loss(x):
        return -log_probability(C_zd, lamda_of(x), shape, rate)

    x = np.log(np.full(C_zd.shape[1], 0.3))
    for _ in range(3):  # restarted from where its simplex has shrunk to
        options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 50_000, "maxfev": 50_000}
        x = minimize(loss, x, method="Nelder-Mead", options=options).x
    return lamda_of(x)


def drawn_counts(lamda, n_docs, seed, lengths=(5, 60)):
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(lamda, n_docs)
    return rng.multinomial(rng.integers(*lengths, n_docs), theta)


def test_the_histogram_counts_documents():
    histogram = CountHistogram.of(BY_HAND)
    assert histogram.counts.tolist() == [0, 1, 2]
    assert histogram.n_docs.tolist() == [[1, 1, 1], [2, 1, 0]]
    assert histogram.lengths.tolist() == [0, 2]
    assert histogram.n_docs_of_length.tolist() == [1, 2]


def test_one_step_by_hand():
    """psi(x + n) - psi(x) = 1/x + 1/(x + 1) + ... + 1/(x + n - 1)."""
    lamda = np.array([0.5, 1.5])
    histogram = CountHistogram.of(BY_HAND)
    tables = [0.5 * (1 / 0.5 + 1 / 1.5) + 0.5 / 0.5, 1.5 / 1.5]
    np.testing.assert_allclose(histogram.tables(lamda), tables, rtol=1e-14)
    exposure = 2 * (1 / 2 + 1 / 3)
    assert histogram.exposure(lamda) == pytest.approx(exposure, rel=1e-14)
    found = fixed_point_step(histogram.tables(lamda), histogram.exposure(lamda))
    np.testing.assert_allclose(found, (1 + np.array(tables)) / (10 + exposure), rtol=1e-14)
    np.testing.assert_allclose(
        proportions_step(np.array([2.0, 0.0]), 8.0), [6.0, 2.0], rtol=1e-14
    )  # (2 + 1) : (0 + 1)


@pytest.mark.parametrize(("shape", "rate"), [(1.0, 0.0), (SHAPE, RATE), (1.5, 0.3)])
def test_the_fixed_point_is_the_maximum(shape, rate):
    C_zd = drawn_counts([0.2, 0.6, 1.5], 40, seed=0)
    found = most_probable_lambda(
        CountHistogram.of(C_zd), np.full(3, 0.1), shape=shape, rate=rate, **EXACT
    )
    np.testing.assert_allclose(found, optimum(C_zd, shape, rate), rtol=1e-6)


def test_with_a_given_sum_the_proportions_reach_the_maximum():
    """The prior counts tables, whatever the sum: shape 1 is the likelihood alone."""
    C_zd, total = drawn_counts([0.2, 0.6, 1.5], 40, seed=1), 1.2
    histogram, lamda = CountHistogram.of(C_zd), np.full(3, total / 3)
    for _ in range(5000):
        lamda = proportions_step(histogram.tables(lamda), total, shape=1.0)
        assert lamda.sum() == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(lamda, optimum(C_zd, 1.0, 0.0, total), rtol=1e-6)


@pytest.mark.parametrize("start", [1e-3, 0.1, 30.0])
def test_every_step_makes_the_counts_more_probable(start):
    C_zd = drawn_counts([0.05, 0.3, 0.3, 2.0], 60, seed=2)
    histogram, lamda = CountHistogram.of(C_zd), np.full(4, start)
    before = log_probability(C_zd, lamda)
    for _ in range(60):
        lamda = most_probable_lambda(histogram, lamda, max_steps=1)
        after = log_probability(C_zd, lamda)
        assert after >= before - 1e-9 * abs(before)  # rounding
        before = after
    assert before > log_probability(C_zd, np.full(4, start)) + 1.0


def test_lambda_is_recovered_from_counts_drawn_with_it():
    """2 000 documents tell lambda_z to 3 to 5 % (1 standard error, over 40 corpora)."""
    true = np.array([0.05, 0.1, 0.3, 1.0])
    for seed in range(3):
        C_zd = drawn_counts(true, 2000, seed, lengths=(30, 200))
        found = most_probable_lambda(CountHistogram.of(C_zd), np.full(4, 0.1))
        np.testing.assert_allclose(found, true, rtol=0.15)
    mixed = np.random.default_rng(0).permuted(C_zd, axis=1)  # negative control: topics shuffled
    found = most_probable_lambda(CountHistogram.of(mixed), np.full(4, 0.1))
    np.testing.assert_allclose(found, found.mean(), rtol=0.15)
    assert not np.allclose(found, true, rtol=0.5)


def test_a_topic_that_nobody_uses_keeps_a_small_lambda():
    C_zd = drawn_counts([0.3, 0.3], 500, seed=3)
    C_zd = np.column_stack([C_zd, np.zeros(500, int)])
    histogram = CountHistogram.of(C_zd)
    found = most_probable_lambda(histogram, np.full(3, 0.1), **EXACT)
    assert found[2] == pytest.approx(1.0 / (10.0 + histogram.exposure(found)), rel=1e-9)
    assert 0 < found[2] < 0.01 * found[0]
    assert 0 < proportions_step(histogram.tables(found), 1.0)[2] < 0.01


def test_documents_that_are_all_alike_do_not_make_lambda_infinite():
    histogram = CountHistogram.of(np.full((50, 2), 20))
    free = most_probable_lambda(histogram, np.full(2, 0.1), shape=1.0, rate=0.0, max_steps=20_000)
    bounded = most_probable_lambda(histogram, np.full(2, 0.1), **EXACT)
    assert (bounded <= (1 + 50 * 20) / 10).all()
    assert (free > 10 * bounded).all()  # the likelihood alone has no maximum


def test_documents_without_tokens_say_nothing():
    C_zd = drawn_counts([0.2, 0.6], 30, seed=4)
    more = np.vstack([C_zd, np.zeros((7, 2), int)])
    one, two = (most_probable_lambda(CountHistogram.of(C), np.full(2, 0.1)) for C in (C_zd, more))
    np.testing.assert_allclose(one, two, rtol=1e-12)
    nothing = most_probable_lambda(CountHistogram.of(np.zeros((3, 2), int)), np.full(2, 0.7))
    np.testing.assert_allclose(nothing, (SHAPE - 1) / RATE, rtol=1e-12)
