"""Corpora from gensim's bag-of-words lists; gensim itself is not needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scipy import sparse

from ..errors import CorpusFormatError
from .corpus import Corpus
from .streams import stream_documents

DOCS_PER_CHUNK = 1024


def from_gensim(
    bow: Iterable[Iterable[tuple[int, int]]],
    dictionary: Mapping[int, str] | Sequence[str],
    *,
    name: str = "",
) -> Corpus:
    """Corpus from gensim's documents, each a list of (word id, count).

    Parameters
    ----------
    bow : iterable of documents
        For instance `[dictionary.doc2bow(text) for text in texts]`, or an `MmCorpus`.
    dictionary : gensim Dictionary, mapping id -> word, or sequence of words
        Ids must run from 0 to V - 1 (gensim: call `dictionary.compactify()`).
    """
    vocabulary = _vocabulary(dictionary)
    batches = [batch.counts for batch in stream_documents(bow, DOCS_PER_CHUNK, len(vocabulary))]
    if not batches:
        raise CorpusFormatError("bow is empty: expected at least one document.")
    return Corpus(sparse.vstack(batches, format="csr"), vocabulary, name)


def _vocabulary(dictionary: Any) -> tuple[str, ...]:
    n_words = len(dictionary)
    if n_words == 0:
        raise CorpusFormatError("dictionary is empty: expected one word per id.")
    try:
        # A gensim Dictionary is a mapping id -> word as well, made complete on first access.
        return tuple(dictionary[word_id] for word_id in range(n_words))
    except KeyError as error:
        raise CorpusFormatError(
            f"dictionary has {n_words} words but no id {error}: ids must run from 0 to "
            f"{n_words - 1}. With gensim, call dictionary.compactify() and build bow again."
        ) from error
