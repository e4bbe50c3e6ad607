"""The winner of a race is an exact softmax sample, in every place where the reference draws one.

As in NEST's test suite: one chi-square p-value for each of 200 random weight vectors; the p-values
of an exact sampler are uniform (Kolmogorov-Smirnov). Drawing with ties to the lowest index fails.
"""

import numpy as np
import pytest
from numba import njit
from scipy import stats
from scipy.special import softmax

from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.activation import draw_from_blocks, padded, softmax_winner
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.reference.random_streams import new_stream, substream_state, uniform
from brian_lda.step_rules import RobbinsMonro

pytestmark = pytest.mark.statistical

N_VECTORS, N_DRAWS = 200, 4000
SMALLEST_P = 1e-3  # about 20 p-values in this file; a correct sampler fails one in 50 seeds
FAULT_P = 1e-6


@njit
def _softmax_counts(u, n_draws, stream):
    counts, rate = np.zeros(u.shape, np.int64), np.empty(u.shape[1])
    for i in range(u.shape[0]):
        for _ in range(n_draws):
            counts[i, softmax_winner(u[i], rate, stream)] += 1
    return counts


@njit
def _block_counts(rate, n_topics, n_draws, stream):
    counts = np.zeros((rate.shape[0], n_topics), np.int64)
    for i in range(rate.shape[0]):
        total = np.float32(0.0)
        for k in range(rate.shape[1]):
            total += rate[i, k]
        for _ in range(n_draws):
            counts[i, draw_from_blocks(rate[i], total, n_topics, stream)] += 1
    return counts


@njit
def _lowest_index_counts(p, n_draws, stream):
    """Clocked neurons of which the lowest index wins a tie: p * 0.1 spikes per tick."""
    counts = np.zeros(p.shape, np.int64)
    for i in range(p.shape[0]):
        for _ in range(n_draws):
            winner = -1
            while winner < 0:
                for k in range(p.shape[1]):
                    if winner < 0 and uniform(stream) < 1 - np.exp(-0.1 * p[i, k]):
                        winner = k
            counts[i, winner] += 1
    return counts


def uniformity(counts, p):
    """KS p-value of the chi-square p-values, one per row."""
    expected = p * counts.sum(axis=1, keepdims=True)
    assert expected.min() >= 5
    return stats.kstest(stats.chisquare(counts, expected, axis=1).pvalue, "uniform").pvalue


def weights(K, seed):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (N_VECTORS, K))


@pytest.mark.parametrize("K", (2, 5, 17))
@pytest.mark.parametrize("shift", (0.0, 700.0, -700.0))
def test_softmax_winner(K, shift):
    u = weights(K, K)
    counts = _softmax_counts(u + shift, N_DRAWS, new_stream(1, K))
    assert uniformity(counts, softmax(u, axis=1)) > SMALLEST_P


@pytest.mark.parametrize("K", (2, 5, 8, 9, 50))
def test_draw_from_blocks(K):
    """Topics that fill a block, leave padding, or need several blocks; single precision."""
    rate = np.zeros((N_VECTORS, padded(K)), np.float32)
    rate[:, :K] = np.exp(weights(K, K))
    counts = _block_counts(rate, K, N_DRAWS, new_stream(2, K))
    p = rate[:, :K].astype(np.float64)
    assert uniformity(counts, p / p.sum(axis=1, keepdims=True)) > SMALLEST_P


def test_ties_to_the_lowest_index_fail():
    p = softmax(weights(5, 5), axis=1)
    assert uniformity(_lowest_index_counts(p, N_DRAWS, new_stream(3)), p) < FAULT_P


def test_a_wrong_weight_fails():
    """The test sees one rate of five being 10 % too high."""
    u = weights(5, 5)
    wrong = u.copy()
    wrong[:, 0] += 0.1
    counts = _softmax_counts(wrong, N_DRAWS, new_stream(4))
    assert uniformity(counts, softmax(u, axis=1)) < FAULT_P


def test_certain_and_impossible_topics():
    u = np.array([[0.0, -1e4, -1e4], [-1e4, -1e4, 700.0], [-700.0, 700.0, -700.0]])
    counts = _softmax_counts(u, 1000, new_stream(5))
    np.testing.assert_array_equal(counts, [[1000, 0, 0], [0, 0, 1000], [0, 1000, 0]])
    rate = np.zeros((3, 16), np.float32)
    rate[[0, 1, 2], [0, 8, 11]] = 1.0
    blocks = _block_counts(rate, 12, 1000, new_stream(6))
    np.testing.assert_array_equal(blocks.argmax(axis=1), [0, 8, 11])
    np.testing.assert_array_equal(blocks.max(axis=1), [1000] * 3)


@pytest.mark.parametrize("integrator", ("flow", "euler"))
@pytest.mark.parametrize("gauge", (True, False))
@pytest.mark.parametrize("depth", (0.0, -690.0), ids=("", "tiny rates"))
def test_event_driven_winners(integrator, gauge, depth):
    """Tokens (w, d = w) with frozen weights; at depth -690 rates are redone in the log domain."""
    K, n = 6, 60
    frozen = RobbinsMonro(1e-318, power=0)  # exp(690) times this is still nothing
    parameters = EventDrivenParameters(K, np.full(K, 1.1), frozen, frozen, integrator, gauge)
    u = weights(2 * K, 9)[:n]
    state = {
        "M__alpha": 0.5 * u[:, :K].T,
        "M__beta": 0.5 * u[:, K:] + depth,
        "n_alpha": np.zeros(K),
        "n_beta": np.zeros(n),
    }
    network = EdSpikeLDAReference(parameters, n, np.full(n, 5), seed=1, initial=state)
    tokens = np.repeat(np.arange(n), N_DRAWS)
    winners = network.present(tokens, tokens)
    np.testing.assert_allclose(network.M__beta, state["M__beta"], rtol=1e-12)  # frozen indeed
    counts = np.bincount(tokens * K + winners, minlength=n * K).reshape(n, K)
    p = softmax(state["M__alpha"].T + state["M__beta"], axis=1)
    assert uniformity(counts, p) > SMALLEST_P
    assert uniformity(counts, softmax(state["M__beta"], axis=1)) < FAULT_P


@njit
def _uniforms(n, stream):
    return np.array([uniform(stream) for _ in range(n)])


@njit
def _first_of_substreams(n, seed):
    found, stream = np.empty(n), np.empty(1, np.uint64)
    for i in range(n):
        stream[0] = substream_state(seed, i)
        found[i] = uniform(stream)
    return found


@pytest.mark.parametrize("source", ("one stream", "neighbouring substreams"))
def test_random_numbers_are_uniform_and_uncorrelated(source):
    n = 200_000
    x = _uniforms(n, new_stream(11)) if source == "one stream" else _first_of_substreams(n, 11)
    assert 0 <= x.min() and x.max() < 1
    assert stats.kstest(x, "uniform").pvalue > SMALLEST_P
    for lag in (1, 2, 7):  # standard error 1/sqrt(n) = 0.0022
        assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) < 0.01
