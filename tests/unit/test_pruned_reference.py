"""The pruned ed-SpikeLDA at rate level against a plain loop over all synapses."""

import numpy as np
import pytest

from brian_lda.errors import ParameterError
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.step_rules import AdaGrad, RobbinsMonro

K, V, D = 3, 6, 2
LAMDA = np.array([1.5, 1.2, 1.1])
N_D = np.array([7, 5])
PRIVATE = np.array([[1, 1, 0, 0, 0, 1], [0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1]], bool)
PRUNED = PrunedWords(PRIVATE, np.log([0.1, 0.05, 0.2]))
WORDS, DOCS = [0, 3, 1, 5, 2, 4, 3, 1, 5, 0], [0, 0, 1, 0, 1, 0, 1, 0, 1, 0]
WINNERS = [0, 0, 1, 2, 0, 1, 2, 1, 0, 2]  # winners with and without a synapse of their own
SAME_FORMULA = 1e-12  # ten updates of numbers around 1, each rounded to 1e-16


def slow_token(M__alpha, M__beta, w, d, z, eta, eta_beta, is_flow, prior=0.0):
    """Eq. (MAP discrete dynamics) synapse by synapse; the shared synapses never move.

    `prior` is varphi Delta/N: it drives the private synapses and is in the decay V times.
    """
    kappa = LAMDA.sum() - K
    a = 1 / kappa + 1 / N_D[d]
    for v in range(V):
        if PRIVATE[z, v]:
            x = 1.0 if v == w else 0.0
            p = np.exp(M__alpha[z, v])
            if is_flow:
                decay = 1 + V * prior
                rest = np.exp(-decay * eta)
                M__alpha[z, v] = np.log(rest * p + (1 - rest) * (x + prior) / decay)
            else:
                M__alpha[z, v] += eta * (x / p - 1.0)
    for k in range(K):
        c = (1.0 if k == z else 0.0) + (LAMDA[k] - 1) / N_D[d]
        p = np.exp(M__beta[d, k])
        if is_flow:
            step = a * eta_beta
            M__beta[d, k] = np.log(np.exp(-step) * p + (1 - np.exp(-step)) * c / a)
        else:
            M__beta[d, k] += eta_beta * (c / p - a)


@pytest.mark.parametrize("gauge", (True, False))
@pytest.mark.parametrize(("integrator", "varphi"), [("flow", 0.0), ("flow", 0.7), ("euler", 0.0)])
def test_golden_trace(integrator, varphi, gauge):
    step = RobbinsMonro(0.3, power=0)
    parameters = EventDrivenParameters(K, LAMDA, step, step, integrator, gauge, varphi)
    start = initial_state(parameters, V, N_D, seed=3)
    network = EdSpikeLDAReference(parameters, V, N_D, seed=3, pruned=PRUNED)
    M__alpha, M__beta = start["M__alpha"].copy(), start["M__beta"].copy()
    last = np.zeros(K)
    for i, (w, d, z) in enumerate(zip(WORDS, DOCS, WINNERS, strict=True), start=1):
        network.present([w], [d], winners=[z])
        a = 1 / (LAMDA.sum() - K) + 1 / N_D[d]
        prior = varphi * (i - last[z]) / N_D.sum()
        last[z] = i
        slow_token(M__alpha, M__beta, w, d, z, 0.3, 0.3 / a, integrator == "flow", prior)
        expected = np.where(PRIVATE, M__alpha, PRUNED.shared[:, None])
        np.testing.assert_allclose(network.J__alpha, expected, rtol=0, atol=SAME_FORMULA)
        np.testing.assert_allclose(network.M__beta, M__beta, rtol=0, atol=SAME_FORMULA)
    assert network.state()["n_alpha"].tolist() == [4, 3, 3]  # every spike of the neuron counts
    if gauge:  # nothing is written where there is no synapse
        assert np.array_equal(network.state()["m__alpha"][~PRIVATE], start["M__alpha"][~PRIVATE])
    # Not vacuous: without pruning the same tokens end elsewhere.
    full = EdSpikeLDAReference(parameters, V, N_D, seed=3)
    full.present(WORDS, DOCS, winners=WINNERS)
    assert np.abs(full.M__alpha - network.M__alpha)[~PRIVATE].min() > 1e-3
    np.testing.assert_allclose(
        full.M__alpha[PRIVATE], network.M__alpha[PRIVATE], rtol=0, atol=SAME_FORMULA
    )


BACK_OFF = PrunedWords(PRIVATE, PRUNED.shared, np.log([0.05, 3.0, 0.5, 8.0, 0.1, 1.0]))


@pytest.mark.parametrize("pruned", (PRUNED, BACK_OFF), ids=("paper", "unigram"))
@pytest.mark.parametrize("doc_step", (RobbinsMonro(1e-9, power=0), AdaGrad(1e-9)))
def test_winners_follow_private_and_shared_weights(doc_step, pruned):
    """With steps that change nothing, winner frequencies are the softmax of the pruned u."""
    steps = {"word_step": RobbinsMonro(1e-9, power=0), "doc_step": doc_step}
    parameters = EventDrivenParameters(K, LAMDA, **steps)
    network = EdSpikeLDAReference(parameters, V, N_D, seed=1, pruned=pruned)
    n = 100_000
    for w in range(V):
        tied = pruned.shared + pruned.word_bias[w]
        u = np.where(PRIVATE[:, w], network.M__alpha[:, w], tied) + network.M__beta[1]
        law = np.exp(u) / np.exp(u).sum()
        seen = np.bincount(network.present([w] * n, [1] * n), minlength=K) / n
        # 5 standard errors of a frequency: a false alarm in about 1 of 10^5 runs
        np.testing.assert_allclose(seen, law, rtol=0, atol=5 * np.sqrt(0.25 / n))


@pytest.mark.complete(but=["True-0.0", "True-0.7"])
@pytest.mark.parametrize("varphi", (0.0, 0.7))
@pytest.mark.parametrize("gauge", (True, False))
def test_all_words_private_is_the_unpruned_network_bit_for_bit(gauge, varphi):
    parameters = EventDrivenParameters(
        K, LAMDA, RobbinsMonro(0.1, 10), gauge=gauge, topic_word_prior=varphi
    )
    everything = PrunedWords(np.ones((K, V), bool), np.full(K, -np.inf))
    rng = np.random.default_rng(0)
    words, docs = rng.integers(0, V, 3000), rng.integers(0, D, 3000)
    networks = [
        EdSpikeLDAReference(parameters, V, N_D, seed=5, pruned=pruned)
        for pruned in (None, everything)
    ]
    winners = [network.present(words, docs) for network in networks]
    assert np.array_equal(*winners)
    assert np.array_equal(*(network.M__alpha for network in networks))
    assert np.array_equal(*(network.M__beta for network in networks))


@pytest.mark.parametrize("varphi", (0.0, 0.7))
def test_a_saved_state_goes_on_as_if_never_interrupted(varphi):
    parameters = EventDrivenParameters(K, LAMDA, RobbinsMonro(0.1, 10), topic_word_prior=varphi)
    rng = np.random.default_rng(0)
    words, docs = rng.integers(0, V, 2000), rng.integers(0, D, 2000)
    straight = EdSpikeLDAReference(parameters, V, N_D, seed=2, pruned=PRUNED)
    first = straight.present(words[:900], docs[:900])
    saved = straight.state()
    rest = straight.present(words[900:], docs[900:])
    resumed = EdSpikeLDAReference(parameters, V, N_D, seed=9, initial=saved, pruned=PRUNED)
    assert np.array_equal(resumed.present(words[900:], docs[900:]), rest)
    assert np.array_equal(resumed.M__alpha, straight.M__alpha) and len(set(first)) == K


@pytest.mark.parametrize(
    ("private", "shared", "message"),
    [
        (PRIVATE.astype(float), PRUNED.shared, "private must be bool"),
        (PRIVATE[0], PRUNED.shared, "private must be bool"),
        (PRIVATE, PRUNED.shared[:2], "shared must be one number per topic"),
        (PRIVATE, [0.0, np.nan, 0.0], "shared must be finite"),
    ],
)
def test_a_pruning_that_makes_no_sense_is_refused(private, shared, message):
    with pytest.raises(ParameterError, match=message):
        PrunedWords(private, shared)
    with pytest.raises(ParameterError, match=r"word_bias must be one finite number per word \(6\)"):
        PrunedWords(PRIVATE, PRUNED.shared, np.zeros(5))


def test_a_pruning_of_another_network_is_refused():
    parameters = EventDrivenParameters(K, LAMDA)
    with pytest.raises(ParameterError, match=r"pruned.private must be \[topic, word\] = \(3, 7\)"):
        EdSpikeLDAReference(parameters, V + 1, N_D, seed=0, pruned=PRUNED)
