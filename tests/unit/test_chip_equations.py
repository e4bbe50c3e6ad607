"""Which topic neurons take part and learn on chips with limits, from the random numbers drawn.

Every tick is computed again from what the chips drew, as in test_circuit_equations.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from brian2 import StateMonitor, prefs, seed
from brian_lda.models import ed_spike_lda, ed_spike_lda_paper, ed_spike_plsi_paper, spike_cgs

from brian_lda.circuit import circuit
from brian_lda.circuit.chips import add_limits, limit_values
from brian_lda.constraints import Constraints
from brian_lda.parameters import PrunedWords

V, D, K, N = 4, 3, 4, 40
WORDS, DOCS = np.arange(N) % V, np.arange(N) // 2 % D
CHIPS = np.array([0, 1, 1, 0])


@pytest.fixture(autouse=True)
def inside_python(monkeypatch):
    monkeypatch.setattr(circuit, "STALLED_AFTER", 500)  # ticks: a circuit that is wrong may stall
    before, prefs.codegen.target = prefs.codegen.target, "numpy"
    seed(2)
    yield
    prefs.codegen.target = before


def held_in_every_tick(monitor):
    return {name: np.array(getattr(monitor, name)) for name in monitor.record_variables}


def test_lost_packets_dead_synapses_and_shared_ones_decide_who_takes_part():
    rng = np.random.default_rng(0)
    limits = Constraints(packet_loss=0.3, dead_synapses=0.15, chip_of_topic=tuple(CHIPS), seed=1)
    pruned = PrunedWords(rng.random((K, V)) < 0.6, np.log([0.3, 0.5, 0.7, 0.9]))
    net = ed_spike_lda.build(V, D, K, capacity=N)
    add_limits(net, limits, ed_spike_lda.KEPT, pruned=True)
    net.set(limit_values(limits, pruned, ed_spike_lda.KEPT, net.sizes))
    w, p = rng.lognormal(0.0, 0.5, (V, K)), rng.lognormal(0.0, 0.5, (D, K))
    net.set({"alpha.w": w, "beta.p": p, "topics.g": 1.0, "words.varphi": 0.0})
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
    net.set(limit_values(limits, None, spike_cgs.KEPT, net.sizes))
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


@pytest.mark.parametrize("model", [ed_spike_lda_paper, ed_spike_plsi_paper])
def test_networks_as_printed_hear_the_shared_weight_itself(model):
    """u = shared + M^beta where a word has no synapse of its own; who wins cannot tell a shift."""
    rng = np.random.default_rng(0)
    pruned = PrunedWords(rng.random((K, V)) < 0.5, np.log([0.3, 0.5, 0.7, 0.9]))
    net = model.build(V, D, K, capacity=1)
    add_limits(net, Constraints(), model.KEPT, pruned=True)
    net.set(limit_values(Constraints(), pruned, model.KEPT, net.sizes))
    monitor = StateMonitor(net.topics, ["u", "rate"], True, when="end")
    net.network.add(monitor)
    for word in range(V):
        M__alpha = np.reshape(net.alpha.M__alpha[:], (V, K))[word]
        M__beta = np.reshape(net.beta.M__beta[:], (D, K))[1]
        u = np.where(pruned.private[:, word], M__alpha, pruned.shared) + M__beta
        net.present([word], [1])
        np.testing.assert_allclose(monitor.u[:, -1], u, rtol=0, atol=1e-12)
        np.testing.assert_allclose(monitor.rate[:, -1], np.exp(u), rtol=1e-12)
