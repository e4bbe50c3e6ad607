"""With a referee fewer packets go between chips, and each chip still knows all that it needs."""

import numpy as np
import pytest
from brian2 import StateMonitor, ms, prefs
from brian_lda.models import ed_spike_lda

from brian_lda.circuit.inhibition import Poisson
from brian_lda.circuit.latency import Windowed
from brian_lda.errors import ParameterError
from brian_lda.hardware.checker import count_traffic
from brian_lda.hardware.packets import PACKETS, count_packets
from brian_lda.hardware.pruning import prune_words
from brian_lda.hardware.referee import ATTEMPTS, count_refereed_packets
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.step_rules import RobbinsMonro

V, K, D, CHIPS, N = 12, 6, 8, 3, 200
CHIP_OF_TOPIC = np.array([0, 1, 2, 1, 0, 2])
LAMDA = np.array([1.3, 1.1, 1.2, 1.05, 1.3, 1.1])
WORD_STEP, DOC_STEP = RobbinsMonro(0.5, 10), RobbinsMonro(0.2, 30)
PARAMETERS = EventDrivenParameters(K, LAMDA, WORD_STEP, DOC_STEP, topic_word_prior=0.3)
rng = np.random.default_rng(0)
WORDS, DOCS = rng.integers(0, V, N), rng.integers(0, D, N)
LENGTHS = np.bincount(DOCS, minlength=D)
SAME_FORMULA = 1e-12


def shown(record=PACKETS, **options):
    """A network that has seen the tokens, and what it kept before."""
    network = EventDrivenSpiking(PARAMETERS, V, LENGTHS, seed=0, simulator="numpy", **options)
    before = network.state()
    winners = network.present(WORDS, DOCS, record=record)
    return network, before, winners


def eta(rule, n):
    return max(rule.scale * (1 + n / rule.offset) ** -rule.power, rule.floor)


class Chip:
    """Topic neurons that know their packets alone: words, documents, and the verdicts on them."""

    def __init__(self, topics, before):
        self.topics = topics
        self.w, self.p = before["w"][topics].copy(), before["p"][:, topics].copy()
        self.g, self.s, self.delta, self.n = (
            before[name][topics].copy() for name in ("g", "s_alpha", "Delta_alpha", "n_alpha")
        )
        self.n_beta = before["n_beta"].copy()
        self.doc = self.word = self.won = None

    def hear_document(self, doc):
        """A new token: the one before is over."""
        if self.doc is not None:
            self.learn()
        self.doc, self.won = doc, None

    def learn(self):
        d, per_token = self.doc, 1 / LENGTHS[self.doc]
        a = 1 / np.sum(LAMDA - 1) + per_token
        gain = -np.expm1(-eta(DOC_STEP, self.n_beta[d])) / a
        self.n_beta[d] += 1
        drive = (self.topics == self.won) + (LAMDA[self.topics] - 1) * per_token
        self.p[d] += gain * (drive - a * self.p[d])
        self.delta += 1
        for z in np.flatnonzero(self.topics == self.won):
            waited = self.delta[z] / N
            decay = 1 + 0.3 * V * waited
            step = decay * eta(WORD_STEP, self.n[z])
            self.w[z, self.word] += np.expm1(step) / decay / self.g[z]
            self.g[z] *= np.exp(-step)
            self.s[z] += np.expm1(-step) * (self.s[z] - waited / decay)
            self.n[z], self.delta[z] = self.n[z] + 1, 0


@pytest.mark.parametrize("tells_the_winner", [True, False])
def test_a_chip_needs_no_more_than_its_own_packets(tells_the_winner):
    network, before, winners = shown()
    after = network.state()
    for c in range(CHIPS):
        chip = Chip(np.flatnonzero(CHIP_OF_TOPIC == c), before)
        for word, doc, winner in zip(WORDS, DOCS, winners, strict=True):
            chip.hear_document(doc)
            chip.word = word
            if CHIP_OF_TOPIC[winner] == c and tells_the_winner:
                chip.won = winner
        chip.learn()  # when the next token comes
        kept = {"w": chip.w * chip.g[:, None], "p": chip.p, "s_alpha": chip.s}
        expected = {
            "w": after["w"][chip.topics] * after["g"][chip.topics, None],
            "p": after["p"][:, chip.topics], "s_alpha": after["s_alpha"][chip.topics],
        }  # fmt: skip
        same = [np.allclose(kept[x], expected[x], rtol=SAME_FORMULA, atol=0) for x in kept]
        assert all(same) if tells_the_winner else not any(same)


def test_while_a_token_waits_its_rates_stay():
    """So a chip may hold word and document instead of hearing them in every tick."""
    prefs.codegen.target = "numpy"
    net = ed_spike_lda.build(V, D, K, doc_lengths=LENGTHS, inhibition=Windowed(latency=2))
    rate = StateMonitor(net.topics, "rate", record=True, when="inhibit", order=-1)
    net.network.add(rate)
    net.present(WORDS[:20], DOCS[:20])
    ends = np.rint(np.array(net.winners.t / ms) / (net.clock.dt / ms)).astype(int)
    assert len(ends) == 20 and ends[-1] > 2 * 20  # several ticks a token
    differences = []
    for begin, end in zip(np.append(0, ends[:-1] + 1), ends, strict=True):
        of_token = rate.rate[:, begin : end + 1]
        assert (of_token == of_token[:, :1]).all() and (of_token > 0).all()
        differences.append(of_token[:, 0])
    assert len(np.unique(differences, axis=0)) == 20  # the next token has others


@pytest.mark.parametrize("n_private", [4, V])
def test_checker_and_spikes_agree(n_private):
    pruned = prune_words(np.random.default_rng(1).dirichlet(np.full(V, 0.3), K), n_private)
    network, _, winners = shown(pruned=pruned if n_private < V else None)
    topic_counts = np.bincount(winners, minlength=K)
    traffic = count_traffic(
        CHIP_OF_TOPIC, CHIPS, pruned.private, np.bincount(WORDS, minlength=V),
        doc_lengths=LENGTHS, topic_counts=topic_counts,
    )  # fmt: skip
    of_chip = np.bincount(CHIP_OF_TOPIC, topic_counts, CHIPS)
    referee = int(of_chip.argmax())
    counted = count_refereed_packets(network.network, CHIP_OF_TOPIC, CHIPS, referee)
    assert counted.matrix.sum() == pytest.approx(traffic.with_referee, abs=1e-9)
    assert counted.first_spike.sum() == counted.verdict.sum() == N - of_chip[referee]
    assert not np.diag(counted.matrix).any()
    told_all = count_packets(network.network, CHIP_OF_TOPIC, CHIPS)
    np.testing.assert_array_equal(counted.word, told_all.word)
    np.testing.assert_array_equal(counted.document, told_all.document)
    assert counted.matrix.sum() < told_all.matrix.sum()
    assert (counted.word.sum() < N) == (n_private == 4)


@pytest.mark.parametrize(
    "inhibition", [Poisson(), Poisson(rate=200.0), Windowed(latency=2, window=3)], ids=str
)
def test_in_clocked_time_every_packet_is_counted_once(inhibition):
    network, _, winners = shown(ATTEMPTS, inhibition=inhibition)
    counted = count_refereed_packets(network.network, CHIP_OF_TOPIC, CHIPS)
    assert counted.word.sum() == counted.document.sum() == N * (CHIPS - 1)  # held
    spikes, dt = network.network.spikes, inhibition.dt
    ticks = {name: np.rint(times / dt).astype(int) for name, times in spikes.time.items()}
    window = 1 if isinstance(inhibition, Poisson) else 3 + 2 * 2
    first_spike = verdict = ties = 0
    begin = 0
    for end, winner in zip(ticks["topic"], winners, strict=True):  # token by token, by hand
        for start in range(begin, end + 1, window):
            inside = (start <= ticks["attempt"]) & (ticks["attempt"] < start + window)
            fired = spikes.index["attempt"][inside & (ticks["attempt"] <= end)]
            first_spike += int((CHIP_OF_TOPIC[fired] != 0).sum())
            ties += len(fired) > 1
        verdict += CHIP_OF_TOPIC[winner] != 0
        begin = end + 1
    assert ties > 0
    if inhibition.kept:  # all must halve the excitability
        verdict += ties * (CHIPS - 1)
    assert counted.first_spike.sum() == first_spike and counted.verdict.sum() == verdict
    told_all = count_packets(network.network, CHIP_OF_TOPIC, CHIPS)
    assert counted.matrix.sum() < 0.8 * told_all.matrix.sum()


def test_what_a_referee_cannot_count_is_refused():
    network, *_ = shown(inhibition=Poisson())
    with pytest.raises(ParameterError, match="record=ATTEMPTS"):
        count_refereed_packets(network.network, CHIP_OF_TOPIC, CHIPS)
    network, *_ = shown(inhibition=Poisson(rate=100.0, normalised=True))
    with pytest.raises(ParameterError, match="by their own input"):
        count_refereed_packets(network.network, CHIP_OF_TOPIC, CHIPS)
