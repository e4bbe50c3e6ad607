"""The peer of the benchmarks: tomotopy's collapsed Gibbs sampler on the same tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from brian_lda.corpus import Corpus
from brian_lda.errors import MissingDependencyError

LAMBDA, VARPHI = 0.1, 0.01


def tomotopy_model(corpus: Corpus, n_topics: int, seed: int, word_prior: float = VARPHI) -> Any:
    """tomotopy's LDA on the same tokens with the same fixed priors."""
    try:
        import tomotopy
    except ImportError as error:
        raise MissingDependencyError(
            "the benchmark's peer is tomotopy: pip install 'brian_lda[baselines]'"
        ) from error
    model = tomotopy.LDAModel(k=n_topics, alpha=LAMBDA, eta=word_prior, seed=seed)
    model.optim_interval = 0  # keep alpha fixed, as ours is
    words, _ = corpus.tokens()
    ends = np.cumsum(corpus.doc_lengths)
    for start, end in zip(ends - corpus.doc_lengths, ends, strict=True):
        if end > start:
            model.add_doc([str(w) for w in words[start:end]])
    model.train(0, workers=1)
    return model


def tomotopy_phi(model: Any, n_words: int) -> np.ndarray:
    """Phi over our vocabulary; words that tomotopy never saw get its prior."""
    known = np.array([int(word) for word in model.used_vocabs])
    phi = np.full((model.k, n_words), 1e-9)
    phi[:, known] = [model.get_topic_word_dist(z) for z in range(model.k)]
    return phi / phi.sum(axis=1, keepdims=True)
