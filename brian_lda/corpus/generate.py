"""Corpora drawn from the LDA generative process, with the truth beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import ParameterError
from .corpus import Corpus, read_only

DOCS_PER_CHUNK = 256  # bounds the dense [doc, word] table that is drawn at a time


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedCorpus(Corpus):
    """A corpus together with the parameters that it was drawn from.

    Parameters
    ----------
    true_phi : array, shape (n_topics, n_words)
        φ, the word distribution of each topic.
    true_theta : array, shape (n_docs, n_topics)
        θ, the topic distribution of each document. `subset` keeps it in step with the documents.
    """

    true_phi: np.ndarray = field(kw_only=True)
    true_theta: np.ndarray = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "true_phi", read_only(np.asarray(self.true_phi)))
        object.__setattr__(self, "true_theta", read_only(np.asarray(self.true_theta)))

    def _rows_of_fields(self, rows: np.ndarray) -> dict[str, Any]:
        return super()._rows_of_fields(rows) | {"true_theta": self.true_theta[rows]}


def make_bars(
    *,
    grid: int = 5,
    n_docs: int = 2000,
    doc_length: int | Sequence[int] = 100,
    alpha: float | Sequence[float] = 1.0,
    seed: int = 0,
) -> GeneratedCorpus:
    """Bars of Griffiths & Steyvers (2004): every topic is a row or a column of a square image.

    A word is a pixel of a `grid` x `grid` image; topics 0 ... grid - 1 are the rows, the next
    `grid` ones the columns, each uniform over its pixels. The defaults are theirs.

    Parameters
    ----------
    grid : int
        Side of the image: V = grid², K = 2 grid.
    n_docs, doc_length : int
        D and the tokens per document (one number, or one per document).
    alpha : float or sequence of length 2 grid
        Dirichlet prior of θ.
    seed : int
    """
    if grid < 2:
        raise ParameterError(f"grid must be at least 2, found {grid}.")
    pixel_row, pixel_column = np.divmod(np.arange(grid * grid), grid)
    sides = np.arange(grid)[:, np.newaxis]
    phi = np.vstack((sides == pixel_row, sides == pixel_column)) / grid
    pixels = zip(pixel_row, pixel_column, strict=True)
    vocabulary = tuple(f"r{row}c{column}" for row, column in pixels)
    rng = np.random.default_rng(seed)
    return _draw_corpus(rng, phi, vocabulary, n_docs, doc_length, ("alpha", alpha), "bars")


def make_synthetic(
    *,
    n_topics: int = 10,
    n_words: int = 200,
    n_docs: int = 500,
    doc_length: int | Sequence[int] = 100,
    doc_topic_prior: float | Sequence[float] = 0.1,
    topic_word_prior: float | Sequence[float] = 0.1,
    seed: int = 0,
) -> GeneratedCorpus:
    """Draw a corpus from LDA: φ_z ~ Dir(topic_word_prior), θ_d ~ Dir(doc_topic_prior).

    Parameters
    ----------
    n_topics, n_words, n_docs : int
        K, V, D.
    doc_length : int or sequence of length n_docs
        Tokens per document.
    doc_topic_prior : float or sequence of length n_topics
        λ in the paper.
    topic_word_prior : float or sequence of length n_words
        The paper's prior of φ.
    seed : int
    """
    for argument, value in (("n_topics", n_topics), ("n_words", n_words)):
        if value < 1:
            raise ParameterError(f"{argument} must be at least 1, found {value}.")
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(_prior("topic_word_prior", topic_word_prior, n_words), size=n_topics)
    vocabulary = tuple(f"word{w}" for w in range(n_words))
    prior = ("doc_topic_prior", doc_topic_prior)
    return _draw_corpus(rng, phi, vocabulary, n_docs, doc_length, prior, "synthetic")


def _draw_corpus(
    rng: np.random.Generator,
    phi: np.ndarray,
    vocabulary: tuple[str, ...],
    n_docs: int,
    doc_length: int | Sequence[int],
    named_prior: tuple[str, float | Sequence[float]],
    name: str,
) -> GeneratedCorpus:
    if n_docs < 1:
        raise ParameterError(f"n_docs must be at least 1, found {n_docs}.")
    lengths = np.asarray(doc_length)
    if lengths.shape not in ((), (n_docs,)) or lengths.dtype.kind not in "iu" or lengths.min() < 0:
        raise ParameterError(
            f"doc_length must be a natural number, or {n_docs} of them, found {doc_length!r}."
        )
    lengths = np.broadcast_to(lengths, n_docs)
    theta = rng.dirichlet(_prior(*named_prior, len(phi)), size=n_docs)
    chunks = []
    for start in range(0, n_docs, DOCS_PER_CHUNK):
        part = slice(start, start + DOCS_PER_CHUNK)
        # Topics are summed out: a document's words are multinomial with p(w|d) = Σ_z θ_dz φ_zw.
        p_word = theta[part] @ phi
        p_word /= p_word.sum(axis=1, keepdims=True)
        chunks.append(sparse.csr_array(rng.multinomial(lengths[part], p_word)))
    counts = sparse.vstack(chunks, format="csr")
    return GeneratedCorpus(counts, vocabulary, name, true_phi=phi, true_theta=theta)


def _prior(argument: str, value: float | Sequence[float], size: int) -> np.ndarray:
    prior = np.asarray(value, dtype=float)
    if prior.shape not in ((), (size,)) or not (np.isfinite(prior) & (prior > 0)).all():
        raise ParameterError(
            f"{argument} must be a positive number, or {size} of them, found {value!r}."
        )
    return np.broadcast_to(prior, size)
