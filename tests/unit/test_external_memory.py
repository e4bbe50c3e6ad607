"""Swaps of document synapses against slow oracles."""

import numpy as np
import pytest

from brian_lda.errors import ParameterError
from brian_lda.external_memory import DocumentSlots, block_order, count_swaps


def slow_lru(docs, n_slots):
    """(reads, writes) with a plain list, most recently used last."""
    resident, reads, writes = [], 0, 0
    for doc in docs:
        if doc in resident:
            resident.remove(doc)
        else:
            reads += 1
            if len(resident) == n_slots:
                resident.pop(0)
                writes += 1
        resident.append(doc)
    return reads, writes


def belady_reads(docs, n_slots):
    """The least possible number of reads: who is needed latest leaves (Belady 1966)."""
    resident, reads = set(), 0
    for t, doc in enumerate(docs):
        if doc in resident:
            continue
        reads += 1
        if len(resident) == n_slots:
            later = list(docs[t + 1 :])
            next_use = {d: later.index(d) if d in later else np.inf for d in resident}
            resident.remove(max(next_use, key=next_use.get))
        resident.add(doc)
    return reads


@pytest.mark.parametrize("n_slots", [1, 2, 5, 12])
def test_counts_are_those_of_the_oracle_and_above_beladys_bound(n_slots):
    rng = np.random.default_rng(n_slots)
    for _ in range(20):
        docs = rng.integers(0, 12, 120)
        count = count_swaps(docs, n_slots, bytes_per_document=40.0)
        assert (count.reads, count.writes) == slow_lru(docs.tolist(), n_slots)
        assert count.reads >= belady_reads(docs.tolist(), n_slots)
        assert count.bytes == 40.0 * (count.reads + count.writes) and count.n_tokens == 120
    if n_slots == 5:  # not vacuous: LRU is not always the best
        assert count.reads > belady_reads(docs.tolist(), n_slots)


def test_slots_never_hold_two_documents_at_once():
    slots, holder = DocumentSlots(3), {}
    for doc in np.random.default_rng(0).integers(0, 9, 500).tolist():
        slot, evicted = slots.show(doc)
        if evicted is not None:
            assert holder[slot] == evicted
        assert evicted is not None or holder.get(slot, doc) == doc
        holder[slot] = doc
        assert 0 <= slot < 3


def test_blocks_show_each_token_once_and_need_one_read_a_document():
    rng = np.random.default_rng(1)
    docs = np.repeat(np.arange(40), rng.integers(1, 30, 40))
    order = block_order(docs, 7, rng)
    assert sorted(order.tolist()) == list(range(len(docs)))
    count = count_swaps(docs[order], 7, 1.0)
    assert (count.reads, count.writes) == (40, 33) and belady_reads(docs[order], 7) == 40
    shuffled = count_swaps(rng.permutation(docs), 7, 1.0)
    assert shuffled.reads > 8 * count.reads
    # Random inside a block: neighbours are of different documents more often than not.
    assert (np.diff(docs[order]) != 0).mean() > 0.7


def test_an_empty_sequence_and_no_slots():
    assert count_swaps(np.array([], int), 3, 1.0).bytes_per_token == 0.0
    with pytest.raises(ParameterError, match="n_slots must be at least 1"):
        count_swaps(np.array([1]), 0, 1.0)


@pytest.mark.parametrize("n_slots", [1, 3, 8])
def test_runs_make_the_same_swaps_as_single_tokens(n_slots):
    rng = np.random.default_rng(n_slots)
    docs = rng.integers(0, 12, 300)
    slots, holder, shown = DocumentSlots(n_slots), {}, 0
    for run in slots.runs(docs, most_tokens=40, most_shows=9):
        assert run.start == shown and 0 < run.stop - run.start <= 40
        assert np.bincount(docs[run.start : run.stop]).max() <= 9
        holder |= run.read_in
        # During a run every token finds its document where it was put before the run.
        assert [holder[slot] for slot in run.slots] == docs[run.start : run.stop].tolist()
        shown = run.stop
    assert shown == 300 and slots.doc_in_slot == holder
    assert (slots.reads, slots.writes) == slow_lru(docs.tolist(), n_slots)


def test_a_block_of_documents_is_one_run():
    rng = np.random.default_rng(1)
    docs = np.repeat(np.arange(40), rng.integers(5, 30, 40))
    order = block_order(docs, 8, rng)
    runs = list(DocumentSlots(8).runs(docs[order], most_tokens=10**6, most_shows=10**6))
    assert [len(run.read_in) for run in runs] == [8] * 5


def test_slots_go_on_from_their_state():
    docs = np.random.default_rng(2).integers(0, 9, 100).tolist()
    straight, first = DocumentSlots(4), DocumentSlots(4)
    for doc in docs[:50]:
        straight.show(doc)
        first.show(doc)
    resumed = DocumentSlots(4)
    resumed.set_state(first.state())
    assert [straight.show(doc) for doc in docs[50:]] == [resumed.show(doc) for doc in docs[50:]]
    assert straight.reads == resumed.reads and straight.writes == resumed.writes > 0


def test_the_state_of_a_chip_that_is_not_full_yet():
    slots = DocumentSlots(3)
    slots.show_all(np.array([7, 7, 2, 7]))
    state = slots.state()
    assert state["slots"].tolist() == [[2, 1], [7, 0], [-1, -1]]  # least recently used first
    again = DocumentSlots(3)
    again.set_state(state)
    assert again.doc_in_slot == {0: 7, 1: 2} and (again.reads, again.writes) == (2, 0)
    assert again.show(5) == (2, None)  # the free slot, and nobody had to leave
    assert DocumentSlots(2).state()["slots"].tolist() == [[-1, -1], [-1, -1]]
