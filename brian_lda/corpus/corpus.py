"""The corpus: word counts per document, with a vocabulary and, where known, labels and a split."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import CorpusFormatError, ParameterError
from .counts import counts_from_matrix


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Immutable document-word counts.

    Parameters
    ----------
    counts : csr_array of int32, shape (n_docs, n_words)
        Any matrix that `as_counts` takes; stored canonical, in read-only buffers. Buffers that are
        read-only already are shared, others are copied.
    vocabulary : tuple of str, length n_words
        The word of each column.
    name : str
        Shown by `repr` and written into reports.
    labels : int array, shape (n_docs,), optional
        Class of each document, counted from 0.
    label_names : tuple of str, optional
        Name of each class: `label_names[labels[d]]`.
    split : str array, shape (n_docs,), optional
        "train" or "test" per document, for corpora that come with a split.

    Empty documents and words that never occur are kept: real corpora have both.
    """

    counts: sparse.csr_array
    vocabulary: tuple[str, ...]
    name: str = ""
    labels: np.ndarray | None = None
    label_names: tuple[str, ...] | None = None
    split: np.ndarray | None = None

    def __post_init__(self) -> None:
        # object.__setattr__ is how a frozen dataclass normalises its own fields.
        set_field = object.__setattr__
        set_field(self, "counts", _read_only_csr(as_counts(self.counts, argument="counts")))
        set_field(self, "vocabulary", tuple(str(word) for word in self.vocabulary))
        if len(self.vocabulary) != self.n_words:
            raise CorpusFormatError(
                f"vocabulary has {len(self.vocabulary)} words but counts has {self.n_words} "
                "columns. Pass one word per column."
            )
        if self.labels is not None:
            set_field(self, "labels", self._checked_labels())
        if self.label_names is not None:
            label_names = tuple(str(label) for label in self.label_names)
            self._check_label_names(label_names)
            set_field(self, "label_names", label_names)
        if self.split is not None:
            set_field(self, "split", self._checked_split())

    def _checked_labels(self) -> np.ndarray:
        labels = np.asarray(self.labels)
        self._check_one_per_document("labels", labels)
        if labels.dtype.kind not in "iu" or labels.min() < 0:
            raise CorpusFormatError(
                "labels must be integers counted from 0, found dtype "
                f"{labels.dtype} with smallest value {labels.min()}."
            )
        return read_only(labels.astype(np.int64))

    def _check_label_names(self, label_names: tuple[str, ...]) -> None:
        if self.labels is None:
            raise CorpusFormatError("label_names were given without labels. Pass both or neither.")
        if self.labels.max() >= len(label_names):
            raise CorpusFormatError(
                f"labels go up to {self.labels.max()} but there are {len(label_names)} "
                "label_names. Labels count from 0: pass one name per class."
            )

    def _checked_split(self) -> np.ndarray:
        split = np.asarray(self.split, dtype=str)
        self._check_one_per_document("split", split)
        unknown = sorted(set(split.tolist()) - {"train", "test"})
        if unknown:
            raise CorpusFormatError(
                f'split must hold "train" or "test" for each document, found {unknown[:3]}.'
            )
        return read_only(split)

    def _check_one_per_document(self, argument: str, values: np.ndarray) -> None:
        if values.shape != (self.n_docs,):
            raise CorpusFormatError(
                f"{argument} has shape {values.shape} but counts has {self.n_docs} documents. "
                "Pass one entry per document."
            )

    @property
    def n_docs(self) -> int:
        """D, the number of documents."""
        return self.counts.shape[0]

    @property
    def n_words(self) -> int:
        """V, the size of the vocabulary."""
        return self.counts.shape[1]

    @cached_property
    def n_tokens(self) -> int:
        """N, the number of tokens."""
        return int(self.counts.data.sum(dtype=np.int64))

    @cached_property
    def doc_lengths(self) -> np.ndarray:
        """Tokens per document: int64, shape (n_docs,)."""
        return read_only(doc_lengths(self.counts))

    def tokens(self) -> tuple[np.ndarray, np.ndarray]:
        """Word and document of every token, in document order: two int32 arrays, shape (N,)."""
        return expand_tokens(self.counts)

    def rows(self, doc_ids: np.ndarray) -> sparse.csr_array:
        """Counts of the given documents, in that order: csr_array, shape (rows, n_words)."""
        return self.counts[doc_ids]

    def subset(self, doc_indices: Any) -> Corpus:
        """Corpus of the given documents (indices, slice or mask), in that order, same words."""
        rows = np.arange(self.n_docs)[doc_indices]
        return replace(self, **self._rows_of_fields(rows))

    def part(self, which: str) -> Corpus:
        """Documents that the stored split assigns to "train" or to "test"."""
        if which not in ("train", "test"):
            raise ParameterError(f'which must be "train" or "test", found {which!r}.')
        if self.split is None:
            raise ParameterError(
                f"{self!r} has no stored split. Use brian_lda.corpus.holdout_split, or build the "
                "corpus with split=."
            )
        return self.subset(self.split == which)

    def _rows_of_fields(self, rows: np.ndarray) -> dict[str, Any]:
        """Fields that have one entry per document, restricted to `rows`."""
        return {
            "counts": self.rows(rows),
            "labels": None if self.labels is None else self.labels[rows],
            "split": None if self.split is None else self.split[rows],
        }

    def __repr__(self) -> str:
        extras = ""
        if self.labels is not None:
            classes = len(self.label_names) if self.label_names else len(np.unique(self.labels))
            extras += f", {classes} classes"
        if self.split is not None:
            n_train = int((self.split == "train").sum())
            extras += f", split {n_train} train / {self.n_docs - n_train} test"
        name = f"{self.name!r}, " if self.name else ""
        return (
            f"{type(self).__name__}({name}{self.n_docs} documents, {self.n_words} words, "
            f"{self.n_tokens} tokens{extras})"
        )


def as_counts(X: Any, *, argument: str = "X", require_tokens: bool = True) -> sparse.csr_array:
    """Canonical counts of a `Corpus`, a sparse matrix of any format, an array or a list of lists.

    Every estimator passes its user's `X` through here.

    Parameters
    ----------
    X : Corpus or matrix-like, shape (n_docs, n_words)
    argument : str
        Name of the argument in error messages.
    require_tokens : bool
        Refuse a matrix without any token.

    Returns
    -------
    csr_array of int32, shape (n_docs, n_words)
        Sorted, without duplicates or explicit zeros. Read-only for a `Corpus`; may share memory
        with `X`, so do not write to it.

    Raises
    ------
    CorpusFormatError
        For negative, fractional, NaN or overflowing counts and for an empty matrix.
    """
    if isinstance(X, Corpus):
        return X.counts
    return counts_from_matrix(X, argument=argument, require_tokens=require_tokens)


def doc_lengths(counts: sparse.csr_array) -> np.ndarray:
    """Tokens per row of canonical counts: int64, shape (n_docs,)."""
    tokens_before = np.concatenate(([0], np.cumsum(counts.data, dtype=np.int64)))
    return np.diff(tokens_before[counts.indptr])


def expand_tokens(counts: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """One (word, row) entry per token of canonical counts, in row order: int32, shape (N,)."""
    words = np.repeat(counts.indices.astype(np.int32, copy=False), counts.data)
    docs = np.repeat(np.arange(counts.shape[0], dtype=np.int32), doc_lengths(counts))
    return words, docs


def read_only(array: np.ndarray) -> np.ndarray:
    """The array itself if nobody can write to it, else a read-only copy."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def _read_only_csr(csr: sparse.csr_array) -> sparse.csr_array:
    frozen = sparse.csr_array(
        (read_only(csr.data), read_only(csr.indices), read_only(csr.indptr)), shape=csr.shape
    )
    # Canonical by construction; scipy caches the answer instead of checking again.
    frozen.has_canonical_format = True
    return frozen
