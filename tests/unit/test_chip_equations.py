"""Which topic neurons take part and learn on chips with limits, from the random numbers drawn.

Every tick is computed again from what the chips drew, as in test_circuit_equations.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from brian2 import StateMonitor, prefs, seed
from brian_lda.models import (
    ed_spike_lda,
    ed_spike_lda_paper,
    ed_spike_plsi,
    ed_spike_plsi_paper,
    spike_cgs,
)

from brian_lda.circuit import circuit
from brian_lda.circuit.chips import add_limits, limit_values
from brian_lda.circuit.circuit import Sizes
from brian_lda.circuit.start import event_driven_defaults, start
from brian_lda.constraints import NO_CONSTRAINTS, Constraints
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.step_rules import AdaGrad, VarianceTracking

V, D, K, N = 4, 3, 4, 40
WORDS, DOCS = np.arange(N) % V, np.arange(N) // 2 % D
N_D = np.full(D, 100)
CHIPS = np.array([0, 1, 1, 0])


@pytest.fixture(autouse=True)
def inside_python(monkeypatch):
    monkeypatch.setattr(circuit, "STALLED_AFTER", 500)  # ticks: a circuit that is wrong may stall
    before, prefs.codegen.target = prefs.codegen.target, "numpy"
    seed(2)
    yield
    prefs.codegen.target = before


def pruned_network(model, parameters, pruned, limits=NO_CONSTRAINTS):
    """The network with first values and limits."""
    net = model.wire(Sizes(V, D, K, capacity=N, pruned=pruned))
    add_limits(net, limits, model.KEPT)
    first = model.kept_of_weights(initial_state(parameters, V, N_D, 0))
    start(net, model.KEPT, first, model.constants(parameters, V, N_D), None)
    net.set(limit_values(limits, model.KEPT, net.sizes))
    return net


def held_in_every_tick(monitor):
    return {name: np.array(getattr(monitor, name)) for name in monitor.record_variables}


def test_lost_packets_dead_synapses_and_shared_ones_decide_who_takes_part():
    rng = np.random.default_rng(0)
    limits = Constraints(packet_loss=0.3, dead_synapses=0.15, chip_of_topic=tuple(CHIPS), seed=1)
    pruned = PrunedWords(rng.random((K, V)) < 0.6, np.log([0.3, 0.5, 0.7, 0.9]))
    net = pruned_network(ed_spike_lda, event_driven_defaults(K, V, N_D), pruned, limits)
    w, p = rng.lognormal(0.0, 0.5, (V, K)), rng.lognormal(0.0, 0.5, (D, K))
    net.set({"alpha.w": w[pruned.private.T], "beta.p": p, "topics.g": 1.0, "words.varphi": 0.0})
    net.set({"topics.scale__alpha": 0.0, "documents.scale__beta": 0.0})  # no step at all
    monitors = (
        StateMonitor(net.chips, ["word", "document", "winner"], True, when="end"),
        StateMonitor(net.topics, ["rate", "latency", "h", "accepted"], True, when="end"),
    )
    net.network.add(*monitors)
    winners = net.present(WORDS, DOCS)
    drawn, seen = map(held_in_every_tick, monitors)

    for numbers in drawn.values():
        assert 0.0 <= numbers.min() and 0.95 < numbers.max() < 1.0
        assert len(np.unique(numbers)) == numbers.size  # fresh for every chip and tick
    alive = [limits.living(layer, n, K) for layer, n in (("alpha", V), ("beta", D))]
    alive[0] |= ~pruned.private.T  # there is no synapse that could be dead
    word_rate = np.where(pruned.private.T, w, np.exp(pruned.shared))
    token, silent, untaught = 0, 0, 0
    for t in range(seen["h"].shape[1]):
        lost = {name: (numbers[:, t] < 0.3)[CHIPS] for name, numbers in drawn.items()}
        word, doc = WORDS[token], DOCS[token]
        takes_part = alive[0][word] & alive[1][doc] & ~lost["word"] & ~lost["document"]
        np.testing.assert_allclose(
            seen["rate"][:, t], takes_part * word_rate[word] * p[doc], rtol=1e-14
        )
        h, accepted = np.zeros(K, int), np.zeros(K, int)
        if takes_part.any():
            winner = int(np.where(takes_part, seen["latency"][:, t], np.inf).argmin())
            h[winner] = 1
            # who misses the document or the winner does not learn; the winner hears itself
            accepted = np.where(lost["document"] | lost["winner"], h, 1)
            assert winners[token] == winner
            token, untaught = token + 1, untaught + int((accepted == 0).sum())
        else:
            silent += 1  # and the token stays clamped
        assert seen["h"][:, t].tolist() == h.tolist()
        assert seen["accepted"][:, t].tolist() == accepted.tolist()
    assert token == N and silent > 0 and untaught > 0  # not vacuous


@pytest.mark.parametrize(("w", "p"), [(0.5, 3.0), (3.0, 0.5), (0.5, 0.5)])
def test_a_count_below_the_one_that_is_taken_away_has_no_vote_and_others_keep_theirs(w, p):
    """Of few bits: the old topic's count was rounded down, and less than nothing is left of it."""
    limits = Constraints(weight_bits=8)
    net = spike_cgs.build(V, D, K, n_tokens=2)
    add_limits(net, limits, spike_cgs.KEPT)
    net.set(limit_values(limits, spike_cgs.KEPT, net.sizes))
    words, documents, c = np.full((V, K), 2.0), np.full((D, K), 3.0), np.array([4.0, 5, 6, 7])
    words[0, 1], documents[0, 1] = w, p
    net.set({"alpha.w": words, "beta.p": documents, "topics.c": c})
    net.memory.z[0] = 1
    monitor = StateMonitor(net.topics, "rate", True, when="end")
    net.network.add(monitor)
    (winner,) = net.present([0], [0], [0])
    expected = 2.0 / c * 3.0
    expected[1] = 0.0
    np.testing.assert_allclose(monitor.rate[:, 0], expected, rtol=1e-14)
    assert winner != 1


PRINTED = {"word_step": VarianceTracking(), "integrator": "euler", "gauge": False}
SHARES = np.array([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("word_bias", [None, np.log(SHARES)], ids=["paper's rule", "unigram"])
@pytest.mark.parametrize("model", [ed_spike_lda_paper, ed_spike_plsi_paper])
def test_networks_as_printed_hear_the_shared_weight_itself(model, word_bias):
    """u = shared + M^beta where a word has no synapse of its own, up to what all topics share."""
    rng = np.random.default_rng(0)
    pruned = PrunedWords(rng.random((K, V)) < 0.5, np.log([0.3, 0.5, 0.7, 0.9]), word_bias)
    is_lda = model is ed_spike_lda_paper
    prior, doc_step = (np.full(K, 1.1), AdaGrad()) if is_lda else (None, VarianceTracking())
    parameters = EventDrivenParameters(K, prior, doc_step=doc_step, **PRINTED)
    net = pruned_network(model, parameters, pruned)
    monitor = StateMonitor(net.topics, ["u", "rate"], True, when="end")
    net.network.add(monitor)
    for word in range(V):
        M__alpha = np.zeros((V, K))
        M__alpha[pruned.private.T] = net.alpha.M__alpha[:]
        M__beta = np.reshape(net.beta.M__beta[:], (D, K))[1]
        own = M__alpha[word] - pruned.word_bias[word]
        u = np.where(pruned.private[:, word], own, pruned.shared) + M__beta
        net.present([word], [1])
        np.testing.assert_allclose(monitor.u[:, -1], u, rtol=0, atol=1e-12)
        np.testing.assert_allclose(monitor.rate[:, -1], np.exp(u), rtol=1e-12)


@pytest.mark.parametrize("word_bias", [None, np.log(SHARES)], ids=["paper's rule", "unigram"])
@pytest.mark.parametrize("model", [ed_spike_lda, ed_spike_plsi])
def test_rates_of_private_and_shared_synapses(model, word_bias):
    """exp(M^alpha)/f_w where the word is private, else exp(shared); times exp(M^beta)."""
    rng = np.random.default_rng(0)
    pruned = PrunedWords(rng.random((K, V)) < 0.5, np.log([0.3, 0.5, 0.7, 0.9]), word_bias)
    prior = 1.1 if model is ed_spike_lda else None
    parameters = event_driven_defaults(K, V, N_D, prior, topic_word_prior=0.0)
    net = pruned_network(model, parameters, pruned)
    monitor = StateMonitor(net.topics, "rate", True, when="end")
    net.network.add(monitor)
    for word in range(V):
        own = np.zeros((V, K))
        own[pruned.private.T] = net.alpha.w[:]
        own = own[word] * net.topics.g[:] / np.exp(pruned.word_bias[word])
        p = np.reshape(net.beta.p[:], (D, K))[1]
        expected = np.where(pruned.private[:, word], own, np.exp(pruned.shared)) * p
        net.present([word], [1])
        np.testing.assert_allclose(monitor.rate[:, -1], expected, rtol=1e-12)
    assert 0 < pruned.private.sum() < V * K
