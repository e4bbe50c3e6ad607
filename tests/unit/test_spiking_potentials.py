"""The neuron with the largest u wins (Alg. 1 line 5) where the race is decided beforehand.

The terms of u are multiples of 35, 105 and 315, so that the largest sum leads by 35 or more and
another neuron wins once in exp(35) races: sign and presence of every term show in a few races,
which is not so in races that are left to chance. The law of those is tested in tests/statistical.
"""

import numpy as np
import pytest
from scipy import sparse

from brian_lda.parameters import BatchParameters, EventDrivenParameters, RobbinsMonro
from brian_lda.simulation.twins import (
    DuSpikeLDASpiking,
    EventDrivenSpiking,
    SemiSpikeLDASpiking,
    SpikeCGSSpiking,
)

V, K, LEAD = 30, 4, 35.0
FROZEN = RobbinsMonro(1e-300, power=0)
TOKENS = np.arange(V)  # word w stands in document w


def terms():
    """M^alpha [topic, word], M^beta [doc, topic] and b [topic]."""
    rng = np.random.default_rng(0)
    b = LEAD * rng.integers(0, 3, K)
    M__beta = 3 * LEAD * rng.integers(0, 3, (V, K))
    M__alpha = 9 * LEAD * rng.integers(0, 3, (K, V))
    return M__alpha, M__beta, b


def decided(u):
    """Tokens [doc, topic] whose largest u is alone, and its neuron."""
    first, second = np.sort(u, axis=1)[:, -1], np.sort(u, axis=1)[:, -2]
    sure = np.flatnonzero(first >= second + LEAD)
    assert len(sure) > V / 3
    return sure, u.argmax(axis=1)[sure]


@pytest.mark.parametrize("gauge", [True, False], ids=["gauge", "full"])
@pytest.mark.parametrize("prior", [1.1, None], ids=["ed-SpikeLDA", "ed-SpikePLSI"])
@pytest.mark.parametrize("depth", [0.0, -650.0], ids=["above epsilon", "below epsilon"])
def test_event_driven(gauge, prior, depth):
    M__alpha, M__beta, _ = terms()
    M__alpha = M__alpha + depth
    epsilon = 0.1
    parameters = EventDrivenParameters(K, prior, FROZEN, FROZEN, "flow", gauge, epsilon)
    counters = {"n_alpha": np.zeros(K), "n_beta": np.zeros(V)}
    state = {"M__alpha": M__alpha, "M__beta": M__beta, **counters}
    network = EventDrivenSpiking(
        parameters, V, np.full(V, 5), seed=1, initial=state, simulator="numpy"
    )
    tokens, winners = decided(np.logaddexp(M__alpha.T, np.log(epsilon)) + M__beta)
    np.testing.assert_array_equal(network.present(tokens, tokens), winners)


def test_spike_cgs():
    M__alpha, M__beta, b = terms()
    network = SpikeCGSSpiking(
        TOKENS, TOKENS, n_topics=K, n_words=V, n_docs=V, doc_topic_prior=0.1,
        topic_word_prior=0.1, seed=1, simulator="numpy",
    )  # fmt: skip
    above = 50.0  # one count more or less is nothing
    state = {"M__alpha": M__alpha + above, "M__beta": M__beta + above, "b": b + above}
    network.set_state(network.state() | state)
    tokens, winners = decided(M__alpha.T + M__beta - b)
    np.testing.assert_array_equal(network.sweep(tokens), winners)


class DelayedFrom(DuSpikeLDASpiking):
    """du-SpikeLDA with M^beta given instead of drawn."""

    def _values(self, counts):
        return super()._values(counts) | {"beta.M__beta": terms()[1].astype(float).ravel()}


@pytest.mark.parametrize("depth", [0.0, -650.0], ids=["above epsilon", "below epsilon"])
@pytest.mark.parametrize("network", ["semi", "du"])
def test_mini_batch(network, depth):
    """semi: one word a document, so that without its own count M^beta is log lambda."""
    M__alpha, M__beta, _ = terms()
    M__alpha = M__alpha + depth
    lamda = np.full(K, 1.1) if network == "du" else np.exp([0.0, -2 * LEAD, LEAD, -LEAD])
    parameters = BatchParameters(K, lamda, 0.05, 1, FROZEN, FROZEN)
    kind = DelayedFrom if network == "du" else SemiSpikeLDASpiking
    spiking = kind(parameters, V, seed=1, n_training_tokens=100, simulator="numpy")
    spiking.words.M__alpha = M__alpha
    sweeps = spiking.update(sparse.csr_array(np.eye(V, dtype=np.int32)))
    seen = np.logaddexp(M__alpha.T, np.log(spiking.words.epsilon)[:, None])
    tokens, winners = decided(seen + (M__beta if network == "du" else np.log(lamda)))
    for sweep in sweeps[:1] if network == "du" else sweeps:  # du's M^beta is then cut at log 1e30
        np.testing.assert_array_equal(sweep[tokens], winners)
