"""Partitioning and its checker, each against a count token by token."""

import builtins

import numpy as np
import pytest

from brian_lda.errors import MissingDependencyError, PlacementError
from brian_lda.hardware import partition
from brian_lda.hardware.checker import check_placement, count_traffic
from brian_lda.hardware.plan import NEURON_STATE_BYTES
from brian_lda.hardware.profiles import ChipProfile, Figure, load_chip

SAME_SUM = 1e-12  # the same few thousand terms, added in another order


def random_network(seed, n_topics=12, n_words=40, n_private=9):
    rng = np.random.default_rng(seed)
    private = np.zeros((n_topics, n_words), bool)
    for z in range(n_topics):
        private[z, rng.choice(n_words - 1, n_private, replace=False)] = True  # the last: nowhere
    return private, rng


def packets_token_by_token(placement, n_chips, private, words, docs, winners):
    """Each packet sent by hand: a list of (source chip, target chip), and those to neurons."""
    sent, single = [], 0
    for w, d, winner in zip(words, docs, winners, strict=True):
        topics = [z for z in range(len(private)) if private[z, w]]
        chips = [placement[z] for z in topics]
        if topics:
            home = max(range(n_chips), key=lambda c: (chips.count(c), -c))
            sent += [(home, c) for c in sorted(set(chips)) if c != home]
            single += sum(c != home for c in chips)
        for source in (d % n_chips, placement[winner]):
            sent += [(source, c) for c in range(n_chips) if c != source]
            single += sum(c != source for c in placement)
    return sent, single


@pytest.mark.parametrize("n_chips", [1, 2, 3, 5])
def test_traffic_is_what_is_sent_token_by_token(n_chips):
    private, rng = random_network(n_chips)
    placement = partition.random_placement(12, n_chips, rng)
    words, docs = rng.integers(0, 40, 300), rng.integers(0, 7, 300)
    winners = rng.integers(0, 12, 300)
    sent, single = packets_token_by_token(
        placement.tolist(), n_chips, private, words, docs, winners
    )
    traffic = count_traffic(
        placement, n_chips, private, np.bincount(words, minlength=40),
        doc_lengths=np.bincount(docs, minlength=7), topic_counts=np.bincount(winners, minlength=12),
    )  # fmt: skip
    matrix = np.zeros((n_chips, n_chips))
    for source, target in sent:
        matrix[source, target] += 1 / 300
    np.testing.assert_allclose(traffic.matrix, matrix, rtol=0, atol=SAME_SUM)
    assert traffic.packets == pytest.approx(len(sent) / 300, rel=1e-12)
    assert traffic.point_to_point == pytest.approx(single / 300, rel=1e-12)
    assert traffic.document == pytest.approx(n_chips - 1) == traffic.winner


def test_an_unpruned_network_sends_every_word_everywhere():
    private, counts = np.ones((6, 10), bool), np.arange(10)
    traffic = count_traffic(np.array([0, 0, 1, 1, 2, 2]), 3, private, counts)
    assert traffic.word == pytest.approx(2.0) and traffic.packets == pytest.approx(6.0)
    assert traffic.max_hops == 2 and 1.0 <= traffic.mean_hops <= 2.0


def test_loads_by_hand_and_broken_limits_are_named():
    private = np.zeros((3, 8), bool)
    private[0, :3] = private[1, 1:3] = private[2] = True  # 3, 2 and all 8 words
    limits = {"fan_in": 10, "synapses": 15, "memory_bytes": 200, "routing_entries": 20}
    toy = ChipProfile("toy", "", {k: Figure(v, "U", "a test") for k, v in limits.items()})
    loads = check_placement(np.array([0, 0, 1]), 2, private, 4, toy, synapse_bytes=4.0)
    assert [load.topics for load in loads] == [2, 1]
    assert loads[0].largest_fan_in == (8, 10) and loads[1].largest_fan_in == (12, 10)
    assert loads[0].synapses == (15, 15) and loads[1].synapses == (12, 15)
    assert loads[0].memory_bytes == (60 + 2 * NEURON_STATE_BYTES, 200)
    assert loads[0].routing_entries == (3 + 4 + 3, 20)
    assert loads[0].violations == [] and loads[1].violations == ["chip 1: fan-in 12 of 10"]


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        ([0, 0, 3], "chips must lie in 0..1"),
        ([0, 0, 0], "chip 1 holds no topic"),
        ([0, 1], "one chip for each of 3 topics"),
        ([0.0, 1.0, 1.0], "one chip for each of 3 topics"),
    ],
)
def test_the_checker_refuses_what_is_no_placement(placement, message):
    private = np.ones((3, 5), bool)
    with pytest.raises(PlacementError, match=message):
        count_traffic(np.array(placement), 2, private, np.ones(5))
    with pytest.raises(PlacementError, match=message):
        chip = load_chip("loihi1")
        check_placement(np.array(placement), 2, private, 1, chip, synapse_bytes=4)


def test_index_and_random_placements_are_even():
    for n_topics, n_chips in ((10, 3), (7, 7), (200, 16)):
        for placement in (
            partition.index_placement(n_topics, n_chips),
            partition.random_placement(n_topics, n_chips, np.random.default_rng(0)),
        ):
            load = np.bincount(placement, minlength=n_chips)
            assert load.sum() == n_topics and load.max() - load.min() <= 1
    with pytest.raises(PlacementError, match="Use at most 4 chips"):
        partition.index_placement(4, 5)


def planted(seed=0, n_groups=4, per_group=6):
    """Topics of a group share a vocabulary; the groups are scattered over the index."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(n_groups), per_group))
    private = np.zeros((len(group), 50 * n_groups), bool)
    for z, g in enumerate(group):
        private[z, 50 * g + rng.choice(50, 25, replace=False)] = True
    return private, rng.integers(1, 100, private.shape[1]), group


def test_mtkahypar_finds_planted_groups_and_counts_what_the_checker_counts():
    pytest.importorskip("mtkahypar", reason="optional: pip install 'brian_lda[hardware]'")
    private, counts, group = planted()
    placement = partition.hypergraph_placement(private, counts, 4)
    assert all(len(set(group[placement == c])) == 1 for c in range(4))
    assert count_traffic(placement, 4, private, counts).word == 0
    by_index = partition.index_placement(24, 4)
    assert count_traffic(by_index, 4, private, counts).word > 1  # not vacuous
    assert np.array_equal(placement, partition.hypergraph_placement(private, counts, 4))


@pytest.mark.parametrize(
    ("n_chips", "capacity"), [(1, None), (3, None), (5, None), (5, 9), (24, 1)]
)
def test_mtkahypar_keeps_the_capacity(n_chips, capacity):
    pytest.importorskip("mtkahypar", reason="optional: pip install 'brian_lda[hardware]'")
    private, counts, _ = planted(1)
    placement = partition.hypergraph_placement(private, counts, n_chips, capacity=capacity)
    load = np.bincount(placement, minlength=n_chips)
    assert load.min() >= 1 and load.max() <= (capacity or -(-24 // n_chips))
    with pytest.raises(PlacementError, match="use at least 6 chips"):
        partition.hypergraph_placement(private, counts, 5, capacity=4)


def test_measured_rates_decide():
    """Topic 1 shares one word with each neighbour: it stays with the one whose word is frequent."""
    pytest.importorskip("mtkahypar", reason="optional: pip install 'brian_lda[hardware]'")
    private = np.zeros((4, 3), bool)
    private[[0, 1], 0] = private[[1, 2], 1] = private[[2, 3], 2] = True
    for counts, together in (([9, 1, 9], (0, 1)), ([1, 9, 1], (1, 2))):
        placement = partition.hypergraph_placement(private, np.array(counts), 2)
        assert placement[together[0]] == placement[together[1]]


def test_without_mtkahypar_the_pip_line_is_named(monkeypatch):
    real = builtins.__import__

    def no_mtkahypar(name, *arguments, **options):
        if name == "mtkahypar":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", no_mtkahypar)
    # the one that a process initialises once stays for the other tests
    monkeypatch.setattr(partition, "_partitioner", partition._partitioner.__wrapped__)
    private, counts, _ = planted()
    with pytest.raises(MissingDependencyError, match=r"pip install 'brian_lda\[hardware\]'"):
        partition.hypergraph_placement(private, counts, 4)


def test_hops_on_the_mesh_by_hand():
    """Three chips on a 2 x 2 mesh: 0-1 and 0-2 are neighbours, 1-2 lie across."""
    traffic = count_traffic(np.array([0, 1, 2]), 3, np.ones((3, 4), bool), np.ones(4))
    # a word goes from chip 0 to 1 and 2; document and winner from each chip to both others
    np.testing.assert_allclose(traffic.matrix[0], [0, 1 + 2 / 3, 1 + 2 / 3], rtol=1e-12)
    np.testing.assert_allclose(traffic.matrix[1:], [[2 / 3, 0, 2 / 3], [2 / 3, 2 / 3, 0]])
    assert traffic.mean_hops == pytest.approx((2 * 1 + 2 * (1 + 1 + 1 + 2 + 1 + 2) / 3) / 6)
    assert traffic.max_hops == 2
    five = count_traffic(np.arange(5), 5, np.ones((5, 4), bool), np.ones(4))
    assert five.max_hops == 3  # 3 x 3 mesh: from the end of row 0 to the start of row 1


def test_one_chip_sends_nothing():
    private = np.ones((3, 4), bool)
    traffic = count_traffic(np.zeros(3, int), 1, private, np.ones(4), topic_counts=np.zeros(3))
    assert (traffic.packets, traffic.point_to_point) == (0.0, 0.0)
    assert (traffic.mean_hops, traffic.max_hops) == (0.0, 0)
    (load,) = check_placement(
        np.zeros(3, int), 1, private, 2, load_chip("loihi1"), synapse_bytes=4.0
    )
    assert load.routing_entries[0] == 0 and load.synapses[0] == 3 * (4 + 2)


def test_a_chip_without_winners_is_not_a_division_by_zero():
    private = np.ones((4, 3), bool)
    traffic = count_traffic(
        np.array([0, 0, 1, 1]), 2, private, np.ones(3), topic_counts=[0, 0, 0, 0], doc_lengths=[0]
    )
    assert traffic.winner == pytest.approx(1.0) and traffic.document == pytest.approx(1.0)
    assert traffic.matrix[1, 0] == pytest.approx(1.0)  # half of the documents, half of the winners


@pytest.mark.parametrize("word_counts", (np.zeros(5), np.ones(4), np.ones((1, 5))))
def test_word_counts_that_fit_no_corpus_are_refused(word_counts):
    with pytest.raises(PlacementError, match="word_counts must hold a count for each of 5 words"):
        count_traffic(np.array([0, 1]), 2, np.ones((2, 5), bool), word_counts)


def test_hyperedges_by_hand():
    """Only words that several topics keep, and that occur; large counts shrink, none to nothing."""
    private = np.array([[1, 1, 1, 0], [1, 0, 1, 1], [0, 0, 1, 1]], bool)
    edges, weights = partition._hyperedges(private, np.array([7, 9, 0, 5]))
    assert edges == [[0, 1], [1, 2]] and weights == [7, 5]
    edges, weights = partition._hyperedges(private, np.array([2**32, 9, 1, 2**30]))
    assert edges == [[0, 1], [0, 1, 2], [1, 2]]
    assert weights == [2**30, 1, 2**28]


@pytest.mark.parametrize(
    ("placement", "n_chips", "capacity", "moved"),
    [
        ([0, 0, 1, 1], 2, 2, 0),
        ([0, 0, 0, 0], 2, 3, 1),  # one empty
        ([0, 0, 0, 1], 2, 2, 1),  # one too full
        ([2, 2, 2, 2, 0], 3, 4, 1),
    ],
)
def test_a_placement_is_mended_with_few_moves(placement, n_chips, capacity, moved):
    before = np.array(placement)
    mended = partition._mended(before, n_chips, capacity)
    load = np.bincount(mended, minlength=n_chips)
    assert load.min() >= 1 and load.max() <= capacity
    assert (mended != before).sum() == moved and before.tolist() == placement
