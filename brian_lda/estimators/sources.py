"""What estimators are given to learn from: a corpus, a token store, or a matrix of counts."""

from __future__ import annotations

from typing import Any

from brian_lda.corpus import Corpus, TokenStore, as_counts
from brian_lda.errors import ParameterError


def as_source(X: Any) -> Corpus | TokenStore:
    """X as something with documents: itself, or a corpus around a matrix."""
    if isinstance(X, (Corpus, TokenStore)):
        return X
    counts = as_counts(X)
    return Corpus(counts, tuple(map(str, range(counts.shape[1]))))


def in_memory(source: Corpus | TokenStore, algorithm: str) -> Corpus:
    """The event-driven and batch algorithms visit single tokens, in passes over all of them."""
    if isinstance(source, Corpus):
        return source
    raise ParameterError(
        f"{algorithm} keeps all tokens at hand: it takes a Corpus, no TokenStore. For "
        "corpora on disk use SemiSpikeLDA or DuSpikeLDA, or partial_fit."
    )
