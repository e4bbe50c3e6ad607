"""theta by EM is the maximum of the posterior that it claims to be."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from brian_lda.errors import ParameterError
from brian_lda.evaluation import fold_in, fold_in_gibbs

PHI = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.1, 0.4, 0.4], [0.25, 0.25, 0.25, 0.25]])
COUNTS = np.array([[5, 2, 1, 0], [0, 1, 3, 4], [1, 1, 1, 1]])


def brute_force(counts, pseudo_count):
    """argmax of sum_w n_w log(theta phi)_w + sum_z c_z log theta_z, over a softmax."""
    c = np.broadcast_to(pseudo_count, 3)

    def loss(x):
        theta = softmax(np.append(x, 0.0))
        return -(counts @ np.log(theta @ PHI) + c @ np.log(theta))

    starts = np.random.default_rng(0).normal(size=(5, 2))
    best = min((minimize(loss, x, tol=1e-12) for x in starts), key=lambda result: result.fun)
    return softmax(np.append(best.x, 0.0))


@pytest.mark.parametrize("pseudo_count", (0.1, 2.0, np.array([0.05, 0.5, 1.5])), ids=str)
def test_em_finds_the_maximum(pseudo_count):
    theta = fold_in(PHI, COUNTS, pseudo_count, max_iterations=100_000, tolerance=1e-13)
    expected = [brute_force(counts, pseudo_count) for counts in COUNTS]
    np.testing.assert_allclose(theta, expected, rtol=0, atol=1e-5)  # BFGS stops at 1e-6
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)


def test_the_default_tolerance_is_close():
    exact = fold_in(PHI, COUNTS, 0.5, max_iterations=100_000, tolerance=1e-13)
    np.testing.assert_allclose(fold_in(PHI, COUNTS, 0.5), exact, rtol=0, atol=0.02)


def test_one_step_of_em_by_hand():
    """From uniform theta: theta_z ~ c_z + sum_w n_w phi_zw / sum_z' phi_z'w."""
    responsibility = PHI / PHI.sum(axis=0)
    c = np.array([0.05, 0.5, 1.5])
    expected = c + responsibility @ COUNTS[0]
    found = fold_in(PHI, COUNTS[:1], c, max_iterations=1)
    np.testing.assert_allclose(found[0], expected / expected.sum(), rtol=1e-13)


def test_empty_document_gets_the_prior():
    empty = np.zeros((1, 4), int)
    np.testing.assert_allclose(fold_in(PHI, empty, [0.1, 0.1, 0.2]), [[0.25, 0.25, 0.5]], rtol=1e-9)
    np.testing.assert_allclose(fold_in(PHI, empty, 0.0), np.full((1, 3), 1 / 3), rtol=1e-12)
    theta = fold_in_gibbs(PHI, empty, [0.1, 0.1, 0.2])
    np.testing.assert_allclose(theta, [[0.25, 0.25, 0.5]], rtol=1e-9)


@pytest.mark.parametrize("probability", (0.0, 1e-310, 1e-300))
def test_a_word_that_no_topic_knows_says_nothing(probability):
    phi = np.array([[0.5, 0.5 - probability, probability], [0.1, 0.9 - probability, probability]])
    without = fold_in(phi, np.array([[4, 1, 0]]), 0.1)
    found = fold_in(phi, np.array([[4, 1, 20]]), 0.1)
    assert np.isfinite(found).all()
    if probability == 0.0:
        np.testing.assert_allclose(found, without, rtol=1e-12)


def test_a_word_that_no_topic_knows_says_nothing_to_gibbs():
    """50 unknown tokens: theta must not lean to a topic that only its number singles out."""
    phi = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    theta = [fold_in_gibbs(phi, np.array([[0, 0, 50]]), 0.5, seed=seed)[0] for seed in range(200)]
    # Dir(0.5) has a standard deviation of 0.3 per topic: 5 standard errors are 0.11
    np.testing.assert_allclose(np.mean(theta, axis=0), [1 / 3] * 3, rtol=0, atol=0.11)


@pytest.mark.parametrize("estimator", (fold_in, fold_in_gibbs))
def test_documents_do_not_see_each_other(estimator):
    together = estimator(PHI, COUNTS, 0.1)
    np.testing.assert_array_equal(together[:1], estimator(PHI, COUNTS[:1], 0.1))


def test_gibbs_repeats_with_its_seed():
    first = fold_in_gibbs(PHI, COUNTS, 0.1, seed=4)
    np.testing.assert_array_equal(first, fold_in_gibbs(PHI, COUNTS, 0.1, seed=4))
    others = [fold_in_gibbs(PHI, COUNTS, 0.1, seed=seed) for seed in range(5, 10)]
    assert any(not np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("estimator", (fold_in, fold_in_gibbs))
@pytest.mark.parametrize(
    ("phi", "pseudo_count", "names"),
    [
        (np.full((3, 3), 1 / 3), 0.1, "vocabulary"),
        (PHI[0], 0.1, "phi"),
        (PHI, -1.0, "pseudo_count"),
        (PHI, np.inf, "pseudo_count"),
        (PHI, [0.1, 0.1], "pseudo_count"),
    ],
)
def test_mismatched_arguments_are_named(estimator, phi, pseudo_count, names):
    with pytest.raises(ParameterError, match=names):
        estimator(phi, COUNTS, pseudo_count)


def test_without_prior_and_known_words_theta_stays_uniform():
    """Nothing is known of the document: not 0/0."""
    phi = np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]])
    np.testing.assert_array_equal(fold_in(phi, np.array([[0, 0, 7]]), 0.0), [[0.5, 0.5]])


@pytest.mark.parametrize("n_sweeps", (0, 1, 5))
def test_gibbs_where_every_word_has_one_topic(n_sweeps):
    """Each draw is certain, so theta is (C_z + c_z)/(N_d + sum c), whatever the seed."""
    phi = np.array([[0.7, 0.3, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    counts, c = np.array([[2, 1, 4, 0], [0, 0, 0, 3], [1, 0, 0, 1]]), np.array([0.5, 1.0, 2.0])
    C_zd = np.array([[3, 4, 0], [0, 0, 3], [1, 0, 1]])
    theta = fold_in_gibbs(phi, counts, c, n_sweeps=n_sweeps, seed=n_sweeps)
    np.testing.assert_allclose(theta, (C_zd + c) / (C_zd + c).sum(axis=1)[:, None], rtol=1e-10)


@pytest.mark.parametrize("estimator", (fold_in, fold_in_gibbs))
def test_rows_of_phi_are_probabilities_to_six_digits(estimator):
    estimator(PHI * (1 + 5e-7), COUNTS, 0.1)
    for off in (1 + 5e-6, 1 - 5e-6, 1.5):
        with pytest.raises(ParameterError, match="must sum to 1"):
            estimator(PHI * off, COUNTS, 0.1)
    negative = PHI.copy()
    negative[0] = [1.2, -0.2, 0.0, 0.0]  # sums to 1
    with pytest.raises(ParameterError, match="probabilities"):
        estimator(negative, COUNTS, 0.1)


@pytest.mark.parametrize("wrong", (np.nan, np.inf))
def test_one_entry_of_phi_that_is_no_number_is_enough(wrong):
    phi = PHI.copy()
    phi[1, 2] = wrong
    with pytest.raises(ParameterError, match="finite matrix"):
        fold_in(phi, COUNTS, 0.1)


def test_gibbs_joins_the_topic_that_the_document_has():
    """Words that both topics know alike, a prior for the first alone: all tokens are its."""
    phi, counts = np.full((2, 3), 1 / 3), np.array([[3, 0, 2], [0, 1, 0]])
    np.testing.assert_allclose(fold_in_gibbs(phi, counts, [1.0, 0.0]), [[1, 0]] * 2, atol=1e-10)
