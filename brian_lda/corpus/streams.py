"""In which order tokens and documents reach an online algorithm.

The paper's environment presents tokens (w, d) drawn from an unknown distribution π(w, d). Four ways
to present them:

==================== ============================================================
`shuffled_passes`    every token once a pass, in random order
`sampled_tokens`     tokens drawn uniformly with replacement: π is the corpus' own
`document_batches`   mini-batches of documents, every document once a pass
`stream_documents`   documents as they arrive from an iterator; D is not known
==================== ============================================================
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from ..errors import CorpusFormatError, ParameterError
from .corpus import Corpus
from .counts import counts_from_matrix


class DocumentBatch(NamedTuple):
    """A mini-batch: `counts` csr_array [batch doc, word] of int32, `doc_ids` int64 [batch doc]."""

    counts: sparse.csr_array
    doc_ids: np.ndarray


class DocumentSource(Protocol):
    """What `document_batches` reads: a `Corpus` or a `TokenStore`."""

    @property
    def n_docs(self) -> int: ...

    def rows(self, doc_ids: np.ndarray) -> sparse.csr_array: ...


def shuffled_passes(
    corpus: Corpus, n_passes: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each pass (words, docs), int32 arrays of shape (N,): all tokens, shuffled anew."""
    _check_positive("n_passes", n_passes)
    words, docs = corpus.tokens()
    rng = np.random.default_rng(seed)
    for _ in range(n_passes):
        order = rng.permutation(len(words))
        yield words[order], docs[order]


def sampled_tokens(
    corpus: Corpus, n_tokens: int, seed: int, *, chunk_size: int = 1 << 16
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield chunks (words, docs) of `n_tokens` tokens drawn uniformly with replacement.

    The arrays are int32 of shape (chunk_size,), the last chunk may be shorter; which tokens are
    drawn does not depend on `chunk_size`.
    """
    _check_positive("n_tokens", n_tokens)
    _check_positive("chunk_size", chunk_size)
    words, docs = corpus.tokens()
    rng = np.random.default_rng(seed)
    for start in range(0, n_tokens, chunk_size):
        drawn = rng.integers(len(words), size=min(chunk_size, n_tokens - start))
        yield words[drawn], docs[drawn]


def document_batches(
    source: DocumentSource, batch_size: int, seed: int, n_batches: int | None = None
) -> Iterator[DocumentBatch]:
    """Yield mini-batches of documents, in shuffled passes.

    Parameters
    ----------
    source : Corpus or TokenStore
        Only the documents of the current batch are read from a `TokenStore`; beside them the order
        of the pass is in memory (8 bytes a document).
    batch_size : int
        Documents per batch. The last batch of a pass holds what is left: every document comes
        exactly once a pass.
    seed : int
        Fixes the order of all passes.
    n_batches : int, optional
        Stop after this many batches, over as many passes as that takes; one pass if omitted.
    """
    _check_positive("batch_size", batch_size)
    if n_batches is not None:
        _check_positive("n_batches", n_batches)
    return itertools.islice(_document_passes(source, batch_size, seed, n_batches), n_batches)


def _document_passes(
    source: DocumentSource, batch_size: int, seed: int, n_batches: int | None
) -> Iterator[DocumentBatch]:
    rng = np.random.default_rng(seed)
    for _ in range(1) if n_batches is None else itertools.count():
        order = rng.permutation(source.n_docs)
        for start in range(0, len(order), batch_size):
            doc_ids = order[start : start + batch_size]
            yield DocumentBatch(source.rows(doc_ids), doc_ids)


def stream_documents(
    documents: Iterable[Any], batch_size: int, n_words: int
) -> Iterator[DocumentBatch]:
    """Group documents that arrive one by one, without end if need be, into mini-batches.

    Only one batch is held at a time, and the iterator is never read ahead of the batch that is
    asked for.

    Parameters
    ----------
    documents : iterable
        Each document is an iterable of word ids (one per token), an iterable of (word id, count)
        pairs, or a sparse matrix of one row. Empty documents are kept.
    batch_size : int
        Documents per batch; the last batch of a finite stream may be smaller.
    n_words : int
        V. Ids count from 0.

    Yields
    ------
    DocumentBatch
        `doc_ids` number the documents in the order of their arrival, from 0.
    """
    _check_positive("batch_size", batch_size)
    _check_positive("n_words", n_words)
    return _batches_of_stream(iter(documents), batch_size, n_words)


def _batches_of_stream(
    documents: Iterator[Any], batch_size: int, n_words: int
) -> Iterator[DocumentBatch]:
    n_seen = 0
    while arrived := list(itertools.islice(documents, batch_size)):
        pairs = [
            _words_and_counts(document, n_words, f"document {n_seen + row} of the stream")
            for row, document in enumerate(arrived)
        ]
        rows = np.repeat(np.arange(len(pairs)), [len(words) for words, _ in pairs])
        words = np.concatenate([words for words, _ in pairs])
        counts = np.concatenate([counts for _, counts in pairs])
        matrix = sparse.coo_array((counts, (rows, words)), shape=(len(pairs), n_words))
        batch = counts_from_matrix(matrix, argument="documents", require_tokens=False)
        yield DocumentBatch(batch, np.arange(n_seen, n_seen + len(pairs)))
        n_seen += len(pairs)


def _words_and_counts(document: Any, n_words: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Word ids and their counts, int64; ids may repeat."""
    if sparse.issparse(document):
        if document.ndim == 1:
            document = document.reshape(1, -1)
        if document.shape != (1, n_words):
            raise CorpusFormatError(
                f"{name} has shape {document.shape}, expected one row of n_words = {n_words}."
            )
        row = counts_from_matrix(document, argument=name, require_tokens=False)
        return row.indices.astype(np.int64), row.data.astype(np.int64)
    entries = np.asarray(document if isinstance(document, np.ndarray) else list(document))
    if entries.size == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if entries.ndim == 1:
        entries = np.column_stack((entries, np.ones_like(entries)))
    if entries.ndim != 2 or entries.shape[1] != 2 or entries.dtype.kind not in "iuf":
        raise CorpusFormatError(
            f"{name} must hold word ids, or pairs (word id, count), found an array of shape "
            f"{entries.shape} and dtype {entries.dtype}."
        )
    with np.errstate(invalid="ignore"):  # NaN is refused below
        whole = entries.astype(np.int64)
    words, counts = whole.T
    if (whole != entries).any() or counts.min() < 0:
        raise CorpusFormatError(f"{name} holds a word id or count that is no natural number.")
    if words.min() < 0 or words.max() >= n_words:
        wrong = words[(words < 0) | (words >= n_words)][0]
        raise CorpusFormatError(
            f"{name} holds word id {wrong}; ids must lie between 0 and n_words - 1 = {n_words - 1}."
        )
    return words, counts


def _check_positive(argument: str, value: int) -> None:
    if value < 1:
        raise ParameterError(f"{argument} must be at least 1, found {value}.")
