"""Corpora of many shapes, drawn from LDA with skewed words: where defaults cannot flatter us.

Words follow Zipf's law, f_w ~ 1/w; topic z is drawn from Dir(c f) with c = V/10, so that topics
share their frequent words and differ in the rare ones. Lengths of documents are negative binomial.
A name "gen-…" of `SHAPES` stands for such a corpus wherever these scripts take one; "20ng/3" is a
third of the documents of a corpus, "20ng~7" has about 7 tokens of each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from brian_lda.corpus import Corpus, load_corpus
from brian_lda.errors import ParameterError


@dataclass(frozen=True)
class Shape:
    """Sizes of a generated corpus: D, V, mean of N_d, K."""

    n_docs: int
    n_words: int
    mean_length: int
    n_topics: int
    doc_topic_prior: float = 0.1


SHAPES = {
    "gen-few": Shape(300, 2_000, 150, 10),
    "gen-short": Shape(20_000, 3_000, 20, 20),
    "gen-long": Shape(400, 20_000, 1_500, 100),
    "gen-8000": Shape(8_000, 5_000, 100, 50),
    "gen-30000": Shape(30_000, 10_000, 60, 50),
    # more shapes, farther out (docs/defaults.md)
    "gen-small": Shape(300, 500, 20, 5),
    "gen-five": Shape(20_000, 500, 20, 5),
    "gen-words": Shape(2_000, 50_000, 500, 50),
    "gen-books": Shape(500, 5_000, 2_000, 20),
    "gen-mixed": Shape(8_000, 4_000, 100, 50, 1.0),
    "gen-pure": Shape(8_000, 4_000, 100, 50, 0.02),
    "gen-topics": Shape(1_000, 20_000, 300, 200),
    "gen-tweets": Shape(50_000, 20_000, 40, 100),
    # not part of the tables
    "gen-wide": Shape(5_000, 30_000, 150, 200),
    "gen-tiny": Shape(60, 50, 20, 3),
}
TABLE = ("gen-few", "gen-short", "gen-long", "gen-8000", "gen-30000")


def shaped_corpus(shape: Shape, seed: int = 0) -> Corpus:
    """Draw a corpus token by token: memory O(tokens + K V), not O(D V)."""
    rng = np.random.default_rng(seed)
    K, V = shape.n_topics, shape.n_words
    frequency = 1.0 / np.arange(1, V + 1)
    frequency /= frequency.sum()
    phi = rng.standard_gamma(np.tile(0.1 * V * frequency, (K, 1)))
    lengths = rng.poisson(rng.gamma(2.0, shape.mean_length / 2.0, shape.n_docs))
    theta = rng.dirichlet(np.full(K, shape.doc_topic_prior), shape.n_docs)
    docs = np.repeat(np.arange(shape.n_docs), lengths)
    words = np.empty(len(docs), np.int64)
    topics = np.concatenate([rng.choice(K, n, p=p) for n, p in zip(lengths, theta, strict=True)])
    for z in range(K):
        of_topic = np.flatnonzero(topics == z)
        words[of_topic] = rng.choice(V, len(of_topic), p=phi[z] / phi[z].sum())
    ones = np.ones(len(words), np.int32)
    counts = sparse.coo_array((ones, (docs, words)), (shape.n_docs, V)).tocsr()
    return Corpus(counts, tuple(f"word{w}" for w in range(V)))


def shortened(corpus: Corpus, length: int, seed: int = 0) -> Corpus:
    """About `length` tokens of each document, drawn at random: posts instead of articles."""
    thinned = sparse.csr_array(corpus.counts).copy()
    share = np.minimum(length / np.maximum(corpus.doc_lengths, 1), 1.0)
    of_entry = np.repeat(share, np.diff(thinned.indptr))
    thinned.data = np.random.default_rng(seed).binomial(thinned.data, of_entry).astype(np.int32)
    thinned.eliminate_zeros()
    return Corpus(thinned, corpus.vocabulary)


def corpus_and_topics(name: str, n_topics: int, data_dir: str | None) -> tuple[Corpus, int]:
    """A corpus by the name of a shape, of a corpus, or of a part of one; and its K.

    Parameters
    ----------
    name : str
    n_topics : int
        K of corpora that were not generated.
    data_dir : str or None
        As in `load_corpus`.
    """
    if name in SHAPES:
        return shaped_corpus(SHAPES[name]), SHAPES[name].n_topics
    if name.startswith("gen-"):
        raise ParameterError(f"generated corpora are {', '.join(SHAPES)}; found {name!r}.")
    whole, _, length = name.rpartition("~")
    if whole and length.isdecimal() and int(length):
        return shortened(load_corpus(whole, data_dir=data_dir), int(length)), n_topics
    whole, _, part = name.rpartition("/")
    if not (whole and part.isdecimal() and int(part) > 1):
        return load_corpus(name, data_dir=data_dir), n_topics
    corpus = load_corpus(whole, data_dir=data_dir)
    chosen = np.random.default_rng(0).permutation(corpus.n_docs)[: corpus.n_docs // int(part)]
    return corpus.subset(np.sort(chosen)), n_topics
