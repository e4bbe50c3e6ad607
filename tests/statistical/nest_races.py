"""Winners of NEST's stochastic neurons: the law, a control that fails, fold-in beside ours.

`test_engine_nest.py` runs this file in a process of its own: NEST crashes beside numba's threads on
OpenMP, which other tests start.
"""

import numpy as np
import pytest
from scipy import sparse, stats

from brian_lda.comparison.winner_law import judge_winners
from brian_lda.errors import SimulationError
from brian_lda.evaluation import fold_in
from brian_lda.hardware.engines.exported import Tokens
from brian_lda.hardware.engines.nest import NestNetwork, fold_in_nest

RACES = 1000


def drawn(seed):
    rng = np.random.default_rng(seed)
    M__alpha, M__beta = rng.normal(size=(6, 5)), 2.0 * rng.normal(size=(3, 6))
    tokens = Tokens(rng.integers(5, size=RACES), rng.integers(3, size=RACES))
    u = M__alpha[:, tokens.words].T + M__beta[tokens.docs]
    return M__alpha, M__beta, tokens, np.exp(u - np.logaddexp.reduce(u, axis=1)[:, None])


@pytest.mark.parametrize("spikes_per_tick", [0.5, 2.0])
def test_winners_follow_softmax_at_any_rate(spikes_per_tick):
    """P-values of 20 draws of weights are uniform, with few ties in a tick and with many."""
    p_values = []
    for seed in range(20):
        M__alpha, M__beta, tokens, p = drawn(seed)
        network = NestNetwork(M__alpha, M__beta, spikes_per_tick=spikes_per_tick, seed=seed + 1)
        p_values.append(judge_winners("draw", p, network.race(tokens)).p_topics)
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_one_weight_changed_is_seen():
    M__alpha, M__beta, tokens, p = drawn(0)
    M__alpha[M__alpha[:, 0].argmax(), 0] += 2.0
    winners = NestNetwork(M__alpha, M__beta, seed=1).race(tokens)
    assert judge_winners("control", p, winners).p_topics < 1e-4


def test_same_seed_same_winners_and_other_document_weights():
    M__alpha, M__beta, tokens, _ = drawn(1)
    first = NestNetwork(M__alpha, M__beta, seed=3)
    winners = first.race(tokens)
    second = NestNetwork(M__alpha, M__beta, seed=3)
    np.testing.assert_array_equal(second.race(tokens), winners)
    with pytest.raises(SimulationError, match="NEST holds another network by now"):
        first.race(tokens)
    only = np.full_like(M__beta, -50.0)
    only[[0, 1, 2], [4, 2, 0]] = 0.0  # document d leaves one topic
    second.set_doc_weights(only)
    np.testing.assert_array_equal(second.race(tokens), np.array([4, 2, 0])[tokens.docs])


def test_theta_of_documents_tends_to_the_map_solution():
    rng = np.random.default_rng(2)
    phi = rng.dirichlet(np.full(30, 0.2), size=4) + 1e-3
    phi /= phi.sum(axis=1, keepdims=True)
    counts = sparse.csr_array(rng.poisson(3.0, size=(3, 30)))
    exact = fold_in(phi, counts, 0.1)
    theta = fold_in_nest(phi, counts, 0.1, n_sweeps=45)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
    # 30 sweeps of some 90 tokens: a standard deviation of 0.01, amplified by slow EM
    assert np.abs(theta - exact).max() < 0.06
