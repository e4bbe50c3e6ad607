"""Topic neurons see exp M^alpha + varphi_w s_z: the law of the winner, wherever one is drawn.

p(z | w, d) ~ (exp M^alpha_zw + varphi_w s_z) exp M^beta_zd, by one chi-square p-value for each of
the words and Kolmogorov-Smirnov over them; the laws without the prior, and with the same share of
it for all topics, must fail on the same winners.
"""

import numpy as np
import pytest
from scipy import stats

from brian_lda.circuit.inhibition import Poisson
from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.reference.constrained import ConstrainedReference
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.step_rules import AdaGrad, RobbinsMonro, VarianceTracking

pytestmark = pytest.mark.statistical

K, V = 4, 40
FROZEN = RobbinsMonro(1e-300, power=0)
SMALLEST_P, FAULT_P = 1e-3, 1e-6


def weights(depth=0.0):
    """M^alpha from log 0.02 to log 2 below and above varphi s; word w belongs to document w."""
    rng = np.random.default_rng(8)
    return {
        "M__alpha": rng.uniform(-4.0, 0.7, (K, V)),
        "M__beta": rng.normal(0.0, 1.0, (V, K)) + depth,
        "n_alpha": np.zeros(K),
        "n_beta": np.zeros(V),
        "s_alpha": S_ALPHA,
        "Delta_alpha": np.zeros(K),
    }


VARPHI = np.random.default_rng(9).uniform(1.0, 6.0, V)
VARPHI[::8] = 0.0  # the paper's synapses beside those with a prior
S_ALPHA = np.array([0.1, 0.02, 0.0, 0.25])
PRIVATE = np.random.default_rng(10).random((K, V)) < 0.7
PRUNED = PrunedWords(PRIVATE, np.log([0.3, 0.1, 0.6, 0.2]))


def laws(state, pruned=None):
    """The law of the network, and two that it must not follow."""
    return [law(state, s, pruned) for s in (S_ALPHA, np.zeros(K), np.full(K, S_ALPHA.mean()))]


def law(state, s, pruned):
    """p(z | w, d = w) by its definition, [word, topic]."""
    seen = np.exp(state["M__alpha"]) + np.outer(s, VARPHI)
    if pruned is not None:
        seen = np.where(pruned.private, seen, np.exp(pruned.shared)[:, None])
    rate = seen.T * np.exp(state["M__beta"] - state["M__beta"].max())
    return rate / rate.sum(axis=1, keepdims=True)


def uniformity(network, p, n_draws):
    """KS p-value of the words' chi-square p-values."""
    tokens = np.repeat(np.arange(V), n_draws)
    winners = network.present(tokens, tokens)
    counts = np.bincount(tokens * K + winners, minlength=V * K).reshape(V, K)
    return [
        stats.kstest(stats.chisquare(counts, n_draws * law_, axis=1).pvalue, "uniform").pvalue
        for law_ in p
    ]


def parameters(gauge=True, lamda=1.1):
    lamda = None if lamda is None else np.full(K, lamda)
    return EventDrivenParameters(K, lamda, FROZEN, FROZEN, "flow", gauge, VARPHI)


def twin(*arguments, gauge=True, **options):
    return EdSpikeLDAReference(parameters(gauge), *arguments, **options)


def constrained(*arguments, **options):
    """Limits that never bind: the other kernel, the same law."""
    limits = Constraints(packet_loss=1e-12, chip_of_topic=(0, 0, 1, 1))
    return ConstrainedReference(parameters(), *arguments, constraints=limits, **options)


@pytest.mark.parametrize(
    ("make", "options", "depth"),
    [
        (twin, {}, 0.0),
        (twin, {"gauge": False}, 0.0),
        (twin, {}, -690.0),
        (twin, {"pruned": PRUNED}, 0.0),
        (twin, {"pruned": PRUNED}, -690.0),
        (constrained, {}, 0.0),
    ],
    ids=["gauge", "full", "tiny rates", "pruned", "pruned, tiny rates", "constrained"],
)
def test_winners_at_rate_level(make, options, depth):
    state, pruned = weights(depth), options.get("pruned")
    network = make(V, np.full(V, 5), seed=1, initial=state, **options)
    own, *others = uniformity(network, laws(state, pruned), n_draws=4000)
    assert own > SMALLEST_P
    assert max(others) < FAULT_P


@pytest.mark.complete(but=["gauge", "plsi"])
@pytest.mark.parametrize(
    ("gauge", "inhibition", "pruned", "lamda"),
    [
        (True, None, None, 1.1),
        (True, None, None, None),
        (False, None, None, 1.1),
        (True, Poisson(), None, 1.1),
        (True, Poisson(rate=400.0), None, 1.1),
        (True, Poisson(rate=400.0, normalised=True), None, 1.1),
        (True, None, PRUNED, 1.1),
        (True, Poisson(), PRUNED, 1.1),
    ],
    ids=[
        "gauge", "plsi", "full", "clocked", "fixed rate", "normalised", "pruned", "pruned, clocked",
    ],
)  # fmt: skip
def test_winners_in_spikes(gauge, inhibition, pruned, lamda):
    state = weights()
    network = EventDrivenSpiking(
        parameters(gauge, lamda), V, np.full(V, 5), seed=1, initial=state, simulator="numpy",
        inhibition=inhibition, pruned=pruned,
    )  # fmt: skip
    n_draws = 60 if inhibition is None else 40  # a tick of Brian in Python takes a millisecond
    own, *others = uniformity(network, laws(state, pruned), n_draws)
    assert own > SMALLEST_P
    assert max(others) < FAULT_P


def test_a_word_that_every_topic_has_lost_comes_back():
    """All its synapses at exp(-400): without a prior the race is decided by what is no longer
    there; with it, by the document."""
    state = weights()
    state["M__alpha"][:, 0] = [-400.0, -401.0, -430.0, -430.0]
    state["M__beta"][0] = np.log([0.1, 0.1, 0.1, 0.7])
    state["s_alpha"] = np.full(K, 0.1)
    shares = []
    for varphi in (0.0, 0.1):
        rule = EventDrivenParameters(K, np.full(K, 1.1), FROZEN, FROZEN, topic_word_prior=varphi)
        network = EdSpikeLDAReference(rule, V, np.full(V, 5), seed=2, initial=state)
        winners = network.present(np.zeros(4000, int), np.zeros(4000, int))
        shares.append(np.bincount(winners, minlength=K) / 4000)
    np.testing.assert_allclose(shares[0], [0.731, 0.269, 0, 0], atol=0.03)  # softmax(0, -1)
    np.testing.assert_allclose(shares[1], [0.1, 0.1, 0.1, 0.7], atol=0.03)


@pytest.mark.parametrize("varphi", [-0.1, np.inf, [0.1, np.nan], np.ones((2, 2))])
def test_what_is_no_prior_is_refused(varphi):
    with pytest.raises(ParameterError, match="topic_word_prior must be a number or a vector of"):
        EventDrivenParameters(K, np.full(K, 1.1), topic_word_prior=varphi)


@pytest.mark.parametrize(
    "form",
    [
        {"integrator": "euler"},
        {"word_step": VarianceTracking(), "gauge": False},
        {"word_step": AdaGrad(), "gauge": False},
    ],
)
def test_step_rules_without_a_rule_for_the_prior_are_refused(form):
    """s_z is one number for all words of a topic: so must be eta, and the step exact."""
    EventDrivenParameters(K, np.full(K, 1.1), **form)
    with pytest.raises(ParameterError, match=r"topic_word_prior > 0 needs integrator='flow' and"):
        EventDrivenParameters(K, np.full(K, 1.1), **form, topic_word_prior=0.01)


@pytest.mark.parametrize("N", [0, -1.0, np.inf, np.nan])
def test_a_number_of_tokens_that_is_none_is_refused(N):
    with pytest.raises(ParameterError, match="n_training_tokens must be positive or None"):
        EventDrivenParameters(K, np.full(K, 1.1), n_training_tokens=N)


def test_a_prior_for_another_vocabulary_is_refused():
    rule = EventDrivenParameters(K, np.full(K, 1.1), topic_word_prior=np.full(V + 1, 0.1))
    message = rf"topic_word_prior must be one number or one per word \({V}\)"
    for twin in (EdSpikeLDAReference, EventDrivenSpiking):
        with pytest.raises(ParameterError, match=message):
            twin(rule, V, np.full(V, 5), seed=0)
