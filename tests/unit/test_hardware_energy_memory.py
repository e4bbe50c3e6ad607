"""Energy as dynamic + static, and the memory of every algorithm, by hand."""

import numpy as np
import pytest

from brian_lda.algorithms import SPIKING
from brian_lda.errors import ParameterError
from brian_lda.hardware.account import race_account
from brian_lda.hardware.energy import (
    TOKENS_PER_SECOND,
    TokenEvents,
    energy_per_token,
    token_events,
)
from brian_lda.hardware.fan_in import fan_in_forms
from brian_lda.hardware.memory import algorithm_memory, memory_table
from brian_lda.hardware.plan import NetworkPlan
from brian_lda.hardware.profiles import load_chip

SIZES = {"n_topics": 50, "n_words": 1000, "n_docs": 200, "n_tokens": 30_000}


def test_events_of_a_token_by_hand():
    private = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]], bool)
    events = token_events(private, np.array([5, 3, 2]), packets=4.0, mean_hops=1.5)
    assert events.synaptic == pytest.approx(0.5 * 3 + 0.3 * 1 + 7)  # k_w + K + K - 1
    assert events.plastic_gauge == 7 and events.plastic_literal == pytest.approx(1.0 + 4)
    assert (events.neurons, events.packets, events.hops) == (4, 4.0, 6.0)


def test_the_energy_counts_the_events_of_the_account():
    events = token_events(np.ones((10, 20), bool), np.ones(20))
    account = race_account("ed_spike_lda", n_topics=10, n_words=20, doc_length=5)
    assert events.synaptic == account.synaptic_events == 29
    assert events.plastic_gauge == account.plastic_writes == 13
    literal = race_account("ed_spike_lda", n_topics=10, n_words=20, doc_length=5, gauge=False)
    assert events.plastic_literal == literal.plastic_writes == 30


def test_loihi_by_hand():
    events = token_events(np.ones((10, 20), bool), np.ones(20), packets=2.0, mean_hops=1.0)
    energy = energy_per_token(events, load_chip("loihi1"), 3, tokens_per_second=500.0)
    # a hop of 4 pJ is one on the chip: packets between chips do not pay it
    expected = 29 * 23.6e-12 + 13 * 120e-12 + 81e-12 + 9 * 52e-12
    assert energy.dynamic_total == pytest.approx(expected, rel=1e-12)
    assert energy.static == (pytest.approx(3 * 0.104 / 500, rel=1e-12), "D")
    assert energy.missing == ("packet_joules",) and energy.evidence == "DR"
    literal = energy_per_token(events, load_chip("loihi1"), 3, gauge=False)
    more = (20 + 10 - 13) * 120e-12
    assert literal.dynamic_total == pytest.approx(expected + more, rel=1e-12)


def test_packets_between_truenorth_chips_pay_at_every_border():
    events = token_events(np.ones((10, 20), bool), np.ones(20), packets=6.0, mean_hops=1.5)
    energy = energy_per_token(events, load_chip("truenorth_paper"), 4)
    assert energy.dynamic["packet_joules"] == (pytest.approx(9 * 832e-12, rel=1e-12), "R")
    assert energy.dynamic_total == pytest.approx(29 * 2.30e-12 + 9 * 832e-12, rel=1e-12)


def test_what_is_not_known_is_named_and_not_zero():
    events = token_events(np.ones((10, 20), bool), np.ones(20))
    energy = energy_per_token(events, load_chip("loihi2"), 1)
    assert energy.dynamic_total is None and energy.static is None
    assert "synaptic_event_joules" in energy.missing and "static_watts" in energy.missing
    with pytest.raises(ParameterError, match="tokens_per_second must be positive"):
        energy_per_token(events, load_chip("loihi2"), 1, tokens_per_second=0.0)


def test_busy_cores_cost():
    events = token_events(np.ones((10, 20), bool), np.ones(20))
    idle, busy = (
        energy_per_token(events, load_chip("spinnaker1"), 2, busy_cores=n) for n in (0, 10)
    )
    assert busy.static_watts - idle.static_watts == pytest.approx(0.34)


def test_memory_by_hand():
    cgs = algorithm_memory("spike_cgs", **SIZES)
    assert cgs.corpus == 8 * 30_000 and cgs.assignments == 30_000  # a topic below 256: one byte
    assert cgs.weights == 4 * (50 * 1000 + 50) and cgs.local_weights == 4 * 50 * 200
    ed = algorithm_memory("ed_spike_lda", **SIZES, word_state_values=2, doc_state_values=1)
    assert (ed.corpus, ed.assignments) == (8, 0)
    assert ed.weights == 4 * 50 * 1000 * 3 and ed.local_weights == 4 * 50 * 200 * 2
    semi = algorithm_memory("semi_spike_lda", **SIZES, batch_size=20)
    assert semi.local_weights == 4 * 50 * 20 and semi.corpus == 8 * 3000
    assert semi.eligibility == 2 * 50 * 1000  # N_zw, a counter of 16 bits per word synapse
    assert semi.assignments == 3000
    assert semi.total == 4 * 50 * 1000 + 100_000 + 4000 + 24_000 + 3000
    du = algorithm_memory("du_spike_lda", **SIZES, batch_size=20)
    assert du.eligibility == semi.eligibility and ed.eligibility == cgs.eligibility == 0
    assert algorithm_memory("spike_cgs", **SIZES | {"n_topics": 300}).assignments == 60_000


def test_online_algorithms_do_not_grow_with_the_corpus():
    small, large = (
        {m.algorithm: m for m in memory_table(**SIZES | {"n_docs": D, "n_tokens": 150 * D})}
        for D in (1000, 100_000)
    )
    assert list(small) == [algorithm.name for algorithm in SPIKING]
    for algorithm in ("du_spike_lda", "semi_spike_lda"):
        assert large[algorithm].total == pytest.approx(small[algorithm].total)
    assert large["spike_cgs"].total > 50 * small["spike_cgs"].total
    assert large["ed_spike_lda"].local_weights == 100 * small["ed_spike_lda"].local_weights
    with pytest.raises(ParameterError, match="algorithm must be one of"):
        algorithm_memory("cgs", **SIZES)


def test_one_token_a_millisecond_unless_asked_otherwise():
    """And no busy core, no packet between chips."""
    events = token_events(np.ones((10, 20), bool), np.ones(20))
    assert (events.packets, events.hops) == (0.0, 0.0)
    energy = energy_per_token(events, load_chip("spinnaker1"), 2)
    assert energy.tokens_per_second == TOKENS_PER_SECOND == 1000.0
    assert energy.static_watts == pytest.approx(2 * load_chip("spinnaker1").get("static_watts"))
    assert energy.static[0] == pytest.approx(energy.static_watts / 1000.0, rel=1e-15)
    with pytest.raises(ParameterError, match="tokens_per_second must be positive"):
        energy_per_token(events, load_chip("loihi1"), 1, tokens_per_second=-1.0)


def test_busy_cores_cost_nothing_where_that_is_not_known():
    events = token_events(np.ones((10, 20), bool), np.ones(20))
    loihi = load_chip("loihi1")
    assert loihi.get("busy_core_watts") is None
    energy = energy_per_token(events, loihi, 1, busy_cores=9)
    assert energy.static_watts == loihi.get("static_watts")


@pytest.mark.parametrize(
    ("n_topics", "topic_bytes"), [(1, 1), (2, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 3)]
)
def test_bytes_of_a_topic_number(n_topics, topic_bytes):
    cgs = algorithm_memory("spike_cgs", **SIZES | {"n_topics": n_topics})
    assert cgs.assignments == 30_000 * topic_bytes


def test_a_mini_batch_is_64_documents_or_the_corpus():
    assert algorithm_memory("semi_spike_lda", **SIZES).local_weights == 4 * 50 * 64
    small = algorithm_memory("semi_spike_lda", **SIZES | {"n_docs": 10})
    assert small.local_weights == 4 * 50 * 10 and small.corpus == 8 * 30_000
    nothing = algorithm_memory("semi_spike_lda", **SIZES | {"n_docs": 0, "n_tokens": 0})
    assert nothing.corpus == nothing.local_weights == 0.0
    halved = algorithm_memory("ed_spike_plsi", **SIZES, weight_bytes=0.5)
    assert halved.weights == 0.5 * 50 * 1000 and halved.local_weights == 0.5 * 50 * 200


def test_split_network_of_20_newsgroups_beside_the_pruned_one():
    """By hand: V = 28 429 words are 143 blocks of 200; K = 100 topics, 50 documents on chip."""
    plan = NetworkPlan("ed_spike_lda", 100, 28_429, 11_269, docs_on_chip=50, n_private=200)
    events = TokenEvents(250.0, 102.0, 300.0, 100, packets=6.0, hops=9.0)
    whole, pruned, split = fan_in_forms(plan, load_chip("truenorth_paper"), 4, events)
    assert (whole.largest_fan_in, pruned.largest_fan_in, split.largest_fan_in) == (28_479, 251, 251)
    assert split.neurons == 14_300 + 100 + 4 and pruned.neurons == 104
    assert split.cores == 143 + 1 and pruned.cores == 1 and whole.cores is None
    words, copies, state = 28_429 * 100 * 4, 143 * 50 * 100 * 4, 14_400 * 48
    assert split.memory_bytes == words + copies + state < 52e6
    assert (split.drops, pruned.drops) == (0, 28_229 * 100)
    assert split.synaptic_events == 642 and split.plastic_writes == 430
    assert split.packets == whole.packets == 9 and pruned.packets == 6
    borders = 13.5 * 832e-12  # 9 packets over 1.5 borders each
    assert split.dynamic_joules == pytest.approx(642 * 2.30e-12 + borders)
    assert whole.dynamic_joules == pytest.approx(299 * 2.30e-12 + borders)
