"""The neuron with the largest u wins (Alg. 1 line 5) where the race is decided beforehand.

The terms of u are multiples of 20, 60 and 180, so that the largest sum leads by 20 or more and
another neuron wins once in exp(20) races: sign and presence of every term show in a few races,
which is not so in races that are left to chance. The law of those is tested in tests/statistical.
All rates, from exp(-650) to exp(600), are numbers.
"""

import numpy as np
import pytest
from scipy import sparse

from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.parameters import BatchParameters, EventDrivenParameters
from brian_lda.simulation import (
    DuSpikeLDASpiking,
    EventDrivenSpiking,
    SemiSpikeLDASpiking,
    SpikeCGSSpiking,
)
from brian_lda.step_rules import AdaGrad, RMSProp, RobbinsMonro, VarianceTracking

V, K, LEAD = 30, 4, 20.0
FROZEN = RobbinsMonro(1e-300, power=0)
TOKENS = np.arange(V)  # word w stands in document w
INHIBITIONS = pytest.mark.parametrize("inhibition", [Race(), Poisson()], ids=["race", "poisson"])
DEPTHS = pytest.mark.parametrize("depth", [0.0, -650.0], ids=["above epsilon", "below epsilon"])


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


@INHIBITIONS
@pytest.mark.parametrize(
    ("prior", "depth"),
    [(1.1, 0.0), (1.1, -650.0), (None, 0.0)],
    ids=["ed-SpikeLDA, above its prior", "ed-SpikeLDA, below its prior", "ed-SpikePLSI"],
)
def test_event_driven(prior, depth, inhibition):
    M__alpha, M__beta, _ = terms()
    M__alpha = M__alpha + depth
    varphi, s_alpha = 0.0 if prior is None else 0.5, np.exp([LEAD, 0.0, -LEAD, 2 * LEAD])
    parameters = EventDrivenParameters(K, prior, FROZEN, FROZEN, topic_word_prior=varphi)
    counters = {"n_alpha": np.zeros(K), "n_beta": np.zeros(V), "Delta_alpha": np.zeros(K)}
    state = {"M__alpha": M__alpha, "M__beta": M__beta, "s_alpha": s_alpha, **counters}
    network = EventDrivenSpiking(
        parameters, V, np.full(V, 5), seed=1, initial=state, simulator="numpy",
        inhibition=inhibition,
    )  # fmt: skip
    with np.errstate(divide="ignore"):
        tokens, winners = decided(np.logaddexp(M__alpha.T, np.log(varphi * s_alpha)) + M__beta)
    np.testing.assert_array_equal(network.present(tokens, tokens), winners)


def test_a_neurons_offset_is_part_of_its_potential():
    """Gauge form: u = log(w g) + log p. Given as w and g, the offset decides."""
    M__alpha, M__beta, b = terms()
    state = {
        "w": np.exp(M__alpha), "g": np.exp(-b), "p": np.exp(M__beta),
        "n_alpha": np.zeros(K), "n_beta": np.zeros(V),
        "s_alpha": np.zeros(K), "Delta_alpha": np.zeros(K),
    }  # fmt: skip
    for prior in (1.1, None):
        network = EventDrivenSpiking(
            EventDrivenParameters(K, prior, FROZEN, FROZEN), V, np.full(V, 5), seed=1,
            initial=state, simulator="numpy",
        )  # fmt: skip
        tokens, winners = decided(M__alpha.T + M__beta - b)
        np.testing.assert_array_equal(network.present(tokens, tokens), winners)


@INHIBITIONS
@pytest.mark.parametrize("prior", [1.1, None], ids=["ed-SpikeLDA", "ed-SpikePLSI"])
def test_event_driven_as_printed(prior, inhibition):
    """Every token in a network of its own: the Euler rules are not frozen."""
    M__alpha, M__beta, _ = terms()
    doc_step = VarianceTracking(1e-12) if prior is None else AdaGrad(1e-12)
    parameters = EventDrivenParameters(
        K, prior, VarianceTracking(1e-12), doc_step, "euler", gauge=False
    )
    counters = {"n_alpha": np.zeros(K), "n_beta": np.zeros(V)}
    state = {"M__alpha": M__alpha - 300.0, "M__beta": M__beta, **counters}
    for layer in ("alpha", "beta"):  # no variance, no step
        M = np.asarray(state[f"M__{layer}"], np.float64)
        state |= {f"s_1__{layer}": M, f"s_2__{layer}": M**2, f"G__{layer}": np.zeros_like(M)}
    state["eta_0__beta"] = np.array([1e-12])
    network = EventDrivenSpiking(
        parameters, V, np.full(V, 5), seed=1, initial=state, simulator="numpy",
        inhibition=inhibition,
    )  # fmt: skip
    tokens, winners = decided(M__alpha.T + M__beta)
    np.testing.assert_array_equal(network.present(tokens, tokens), winners)


@INHIBITIONS
def test_spike_cgs(inhibition):
    M__alpha, M__beta, b = terms()
    network = SpikeCGSSpiking(
        TOKENS, TOKENS, n_topics=K, n_words=V, n_docs=V, doc_topic_prior=0.1,
        topic_word_prior=0.1, seed=1, simulator="numpy", inhibition=inhibition,
    )  # fmt: skip
    above = 50.0  # one count more or less is nothing
    state = {"M__alpha": M__alpha + above, "M__beta": M__beta + above, "b": b + above}
    network.set_state(state | {"z": network.z})
    tokens, winners = decided(M__alpha.T + M__beta - b)
    np.testing.assert_array_equal(network.sweep(tokens), winners)


class DelayedFrom(DuSpikeLDASpiking):
    """du-SpikeLDA with M^beta given instead of drawn."""

    def _fresh_documents(self, n_docs, n_tokens):
        fresh = super()._fresh_documents(n_docs, n_tokens)
        M__beta = terms()[1][:n_docs].astype(float)
        return fresh | ({"p": np.exp(M__beta)} if "p" in fresh else {"M__beta": M__beta})


@pytest.mark.complete(
    but=[
        *(f"{network}-flow-0.0-race" for network in ("semi", "du")),
        *(f"{network}-paper--300.0-race" for network in ("semi", "du")),
        "semi-flow--300.0-poisson",
    ]
)
@INHIBITIONS
@pytest.mark.parametrize("depth", [0.0, -300.0])  # a common scale of the weights decides nothing
@pytest.mark.parametrize("form", ["flow", "paper"])
@pytest.mark.parametrize("network", ["semi", "du"])
def test_mini_batch(network, form, depth, inhibition):
    """semi: one word a document, so that without its own count M^beta is log lambda."""
    M__alpha, M__beta, _ = terms()
    M__alpha = M__alpha + depth
    lamda = np.full(K, 1.1) if network == "du" else np.exp([2 * LEAD, 0.0, 3 * LEAD, LEAD])
    parameters = BatchParameters(K, lamda, 0.05, 1, FROZEN, FROZEN)
    if form == "paper":
        frozen = RMSProp(1e-300)
        parameters = BatchParameters(K, lamda, 0.05, 1, frozen, frozen, "euler")
    kind = DelayedFrom if network == "du" else SemiSpikeLDASpiking
    spiking = kind(
        parameters, V, seed=1, n_training_tokens=100, simulator="numpy", inhibition=inhibition
    )
    spiking.set_state(
        {
            "M__alpha": M__alpha, "v__alpha": np.zeros((K, V)), "n_spikes": np.zeros(K),
            "n_updates": np.array([0]),
        }
    )  # fmt: skip
    sweeps = spiking.update(sparse.csr_array(np.eye(V, dtype=np.int32)))
    seen = M__alpha.T  # the prior of Phi is part of it
    tokens, winners = decided(seen + (M__beta if network == "du" else np.log(lamda)))
    assert len(sweeps) == (2 if network == "du" else 3)
    if (network, form) == ("du", "paper"):  # its Euler step is then cut at log 1e30
        sweeps = sweeps[:1]
    for sweep in sweeps:
        np.testing.assert_array_equal(sweep[tokens], winners)
