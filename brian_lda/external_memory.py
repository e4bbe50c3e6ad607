"""Document synapses beyond what fits on the chip: swapped, least recently used first.

A slot on the chip holds the K synapses M^beta_.d of one document. When a token of a document
without a slot is shown, the least recently used document is written out and this one read in: a
*swap* moves 2 K weights (the first filling of an empty slot moves K).

The order in which tokens are shown decides how often. Shuffled over the whole corpus nearly every
token is a miss; in blocks of m documents, random within a block, a pass costs one swap a document,
which is also the least possible when every document is shown and D > m (up to the m that stay from
one pass to the next). The paper keeps the most frequent documents on chip and is silent on the
schedule.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from brian_lda.errors import ParameterError


@dataclass(frozen=True)
class SwapCount:
    """What a sequence of tokens costs in external memory.

    Attributes
    ----------
    reads, writes : int
        Documents read in, and written out (their synapses have changed).
    n_tokens : int
    bytes : float
        Moved in both directions.
    """

    reads: int
    writes: int
    n_tokens: int
    bytes: float

    @property
    def bytes_per_token(self) -> float:
        return self.bytes / max(self.n_tokens, 1)


@dataclass(frozen=True)
class SlottedRun:
    """Part of a sequence of tokens during which no slot changes hands.

    Attributes
    ----------
    start, stop : int
        Its tokens.
    slots : int32 array [token of the run]
        Slot of each token's document.
    read_in : dict of int to int
        Documents that are read in before it, by slot. What was there is written out first.
    """

    start: int
    stop: int
    slots: np.ndarray
    read_in: dict[int, int]


class DocumentSlots:
    """The m slots for document synapses on the chip, as a least-recently-used store.

    Parameters
    ----------
    n_slots : int
        m.

    Attributes
    ----------
    reads, writes : int
        Documents read in and written out so far.
    """

    def __init__(self, n_slots: int) -> None:
        if n_slots < 1:
            raise ParameterError(f"n_slots must be at least 1; found {n_slots!r}.")
        self.n_slots = n_slots
        self.reads = self.writes = 0
        self._slot_of: OrderedDict[int, int] = OrderedDict()  # least recently used first

    def show(self, doc: int) -> tuple[int, int | None]:
        """Bring a document onto the chip: (its slot, the document that had to leave or None)."""
        if doc in self._slot_of:
            self._slot_of.move_to_end(doc)
            return self._slot_of[doc], None
        evicted = None
        slot = len(self._slot_of)
        if slot == self.n_slots:
            evicted, slot = self._slot_of.popitem(last=False)
            self.writes += 1
        self._slot_of[doc] = slot
        self.reads += 1
        return slot, evicted

    def show_all(self, docs: np.ndarray) -> None:
        """Show a sequence of tokens, by their documents [token]."""
        docs = np.asarray(docs)
        # Repeats of the same document change nothing in the order of use: skip them at once.
        changes = np.flatnonzero(np.diff(docs, prepend=-1)) if len(docs) else np.empty(0, np.intp)
        for doc in docs[changes].tolist():
            self.show(doc)

    def __contains__(self, doc: int) -> bool:
        return doc in self._slot_of

    @property
    def doc_in_slot(self) -> dict[int, int]:
        """The document in each slot that has one."""
        return {slot: doc for doc, slot in self._slot_of.items()}

    def runs(self, docs: np.ndarray, most_tokens: int, most_shows: int) -> Iterator[SlottedRun]:
        """Cut a sequence where a slot must change hands that this very part has used.

        A document that is read in during a part can as well be read in before it, because its slot
        was not used until then: the same swaps as token by token, in as few parts as they allow.

        Parameters
        ----------
        docs : int array [token]
        most_tokens, most_shows : int
            Most tokens of a part, and of one document in a part.
        """
        slots = np.empty(len(docs), np.int32)
        start, read_in, shows = 0, {}, {}  # type: ignore[var-annotated]
        for i, doc in enumerate(np.asarray(docs).tolist()):
            is_full = i - start == most_tokens or shows.get(doc, 0) == most_shows
            if not is_full and doc not in self and len(self._slot_of) == self.n_slots:
                is_full = next(iter(self._slot_of)) in shows  # the one to leave was shown here
            if is_full:
                yield SlottedRun(start, i, slots[start:i], read_in)
                start, read_in, shows = i, {}, {}
            is_new = doc not in self
            slots[i] = slot = self.show(doc)[0]
            if is_new:
                read_in[slot] = doc
            shows[doc] = shows.get(doc, 0) + 1
        if start < len(docs):
            yield SlottedRun(start, len(docs), slots[start:], read_in)

    def state(self) -> dict[str, np.ndarray]:
        """Who is where, the least recently used first, then -1 for free slots; swaps so far."""
        held = np.full((self.n_slots, 2), -1, np.int64)
        held[: len(self._slot_of)] = list(self._slot_of.items()) or held[:0]
        return {"slots": held, "swaps": np.array([self.reads, self.writes])}

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` returned."""
        self._slot_of = OrderedDict(
            (int(doc), int(slot)) for doc, slot in state["slots"] if doc >= 0
        )
        self.reads, self.writes = map(int, state["swaps"])


def count_swaps(docs: np.ndarray, n_slots: int, bytes_per_document: float) -> SwapCount:
    """Swaps of a sequence of tokens, from an empty chip.

    Parameters
    ----------
    docs : int array [token]
        Document of each token, in the order in which they are shown.
    n_slots : int
        m.
    bytes_per_document : float
        K times the bytes of a synapse with its state.
    """
    slots = DocumentSlots(n_slots)
    slots.show_all(docs)
    n_moved = slots.reads + slots.writes
    return SwapCount(slots.reads, slots.writes, len(docs), n_moved * bytes_per_document)


def block_order(docs: np.ndarray, n_slots: int, rng: np.random.Generator) -> np.ndarray:
    """An order of the tokens that keeps swaps few: blocks of m documents, shuffled inside.

    Parameters
    ----------
    docs : int array [token]
    n_slots : int
        m.
    rng : numpy Generator
        Draws which documents share a block, and the order of the tokens in each.

    Returns
    -------
    int array [token]
        Indices into `docs`; each token once.
    """
    docs = np.asarray(docs)
    n_docs = int(docs.max()) + 1 if len(docs) else 0
    if n_docs <= n_slots:
        return rng.permutation(len(docs))
    block_of_doc = np.empty(n_docs, np.int64)
    block_of_doc[rng.permutation(n_docs)] = np.arange(n_docs) // n_slots
    order = rng.permutation(len(docs))
    return order[np.argsort(block_of_doc[docs[order]], kind="stable")]
