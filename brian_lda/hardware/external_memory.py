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


class DocumentSlots:
    """The m slots for document synapses on the chip, as a least-recently-used store.

    Parameters
    ----------
    n_slots : int
        m.
    """

    def __init__(self, n_slots: int) -> None:
        if n_slots < 1:
            raise ParameterError(f"n_slots must be at least 1; found {n_slots!r}.")
        self.n_slots = n_slots
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
        self._slot_of[doc] = slot
        return slot, evicted

    def __contains__(self, doc: int) -> bool:
        return doc in self._slot_of


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
    reads = writes = 0
    docs = np.asarray(docs)
    # Repeats of the same document change nothing in the order of use: skip them at once.
    changes = np.flatnonzero(np.diff(docs, prepend=-1)) if len(docs) else np.empty(0, np.intp)
    for doc in docs[changes].tolist():
        resident = doc in slots
        _, evicted = slots.show(doc)
        reads += not resident
        writes += evicted is not None
    return SwapCount(reads, writes, len(docs), (reads + writes) * bytes_per_document)


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
    block_of_doc = np.empty(n_docs, np.int64)
    block_of_doc[rng.permutation(n_docs)] = np.arange(n_docs) // n_slots
    order = rng.permutation(len(docs))
    return order[np.argsort(block_of_doc[docs[order]], kind="stable")]
