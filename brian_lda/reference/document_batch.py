"""A mini-batch of documents in the form that the parallel kernels read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import sparse

from brian_lda.equal_shares import deal_out


@dataclass(frozen=True)
class BatchTokens:
    """Documents as runs of (word, count), with the words renumbered within the batch.

    Attributes
    ----------
    words : int32 array [n]
        The distinct words of the batch.
    start : int64 array [doc + 1]
        Document d holds entries start[d] .. start[d + 1].
    local_word : int32 array [entry]
        Index into `words`.
    count : int32 array [entry]
    first_token : int64 array [doc + 1]
        Where the tokens of each document begin in an array with one element per token.
    """

    words: np.ndarray
    start: np.ndarray
    local_word: np.ndarray
    count: np.ndarray
    first_token: np.ndarray

    @property
    def n_docs(self) -> int:
        return len(self.start) - 1

    @property
    def n_tokens(self) -> int:
        return int(self.first_token[-1])

    def shares(self, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """The documents of each thread, with about as many tokens each.

        Thread t has documents[first[t] : first[t + 1]] of what is returned, documents and first.
        """
        thread = deal_out(np.diff(self.first_token), n_threads)
        first = np.append(0, np.cumsum(np.bincount(thread, minlength=n_threads)))
        return np.argsort(thread, kind="stable"), first


def batch_tokens(counts: sparse.csr_array) -> BatchTokens:
    """Renumber the words of a mini-batch [doc, word]; O(entries) plus a table of V integers."""
    lookup = np.full(counts.shape[1], -1, np.int32)
    words, local_word = _renumber(counts.indices, lookup)
    start = counts.indptr.astype(np.int64)
    cumulated = np.concatenate([[0], np.cumsum(counts.data, dtype=np.int64)])
    return BatchTokens(
        words=words,
        start=start,
        local_word=local_word,
        count=np.ascontiguousarray(counts.data, np.int32),
        first_token=cumulated[start],
    )


@njit(cache=True)
def _renumber(indices, lookup):
    words = np.empty(min(indices.shape[0], lookup.shape[0]), np.int32)
    local = np.empty(indices.shape[0], np.int32)
    n = 0
    for i in range(indices.shape[0]):
        w = indices[i]
        if lookup[w] < 0:
            lookup[w] = n
            words[n] = w
            n += 1
        local[i] = lookup[w]
    return words[:n].copy(), local
