"""Online LDA of scikit-learn and gensim: one pass over documents in the order given.

Both are variational. They get the paper's priors for such methods, lambda = 0.6 and varphi = 0.51,
and `variational_phi` takes the half count off again: with the packages' own priors of 1/K and
their default steps, both are worse in one pass, whichever way Phi is read out. (scikit-learn with
Hoffman's steps is better with 1/K, and worse than with its default steps all the same.) Both are
told the number of documents, which an endless stream has not; the spiking algorithms are not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation

from brian_lda.corpus import Corpus
from brian_lda.errors import MissingDependencyError
from brian_lda.evaluation import variational_phi

LAMBDA, VARPHI = 0.6, 0.51
Peer = Callable[[Corpus, int, int, int], np.ndarray]  # corpus, K, documents at a time, seed -> Phi


def scikit_learn_pass(
    corpus: Corpus, n_topics: int, batch_size: int, seed: int, *, offset: float, decay: float
) -> np.ndarray:
    """Phi [topic, word] after one pass; update t has the weight (offset + t)^-decay."""
    model = LatentDirichletAllocation(
        n_components=n_topics, doc_topic_prior=LAMBDA, topic_word_prior=VARPHI,
        learning_method="online", learning_offset=offset, learning_decay=decay,
        total_samples=corpus.n_docs, random_state=seed,
    )  # fmt: skip
    counts = sparse.csr_matrix(corpus.counts, dtype=np.float64)
    for start in range(0, corpus.n_docs, batch_size):
        model.partial_fit(counts[start : start + batch_size])
    return variational_phi(model.components_)


def gensim_pass(
    corpus: Corpus, n_topics: int, batch_size: int, seed: int, *, chunk_size: int | None = None
) -> np.ndarray:
    """Phi [topic, word] after one pass, an update per chunk of documents (default: the batch)."""
    try:
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel
    except ImportError as error:
        raise MissingDependencyError(
            "this row is gensim's: pip install 'brian_lda[baselines]'"
        ) from error
    model = LdaModel(
        Sparse2Corpus(corpus.counts, documents_columns=False), num_topics=n_topics,
        id2word=dict(enumerate(corpus.vocabulary)), alpha=LAMBDA, eta=VARPHI, passes=1,
        chunksize=chunk_size or batch_size, update_every=1, eval_every=None, random_state=seed,
    )  # fmt: skip
    return variational_phi(model.state.get_lambda())


PEERS: dict[str, Peer] = {
    "scikit-learn, its default steps": partial(scikit_learn_pass, offset=10.0, decay=0.7),
    # tau_0 and kappa of the authors' own program onlineldavb, with mini-batches of 64 documents
    "scikit-learn, Hoffman's steps": partial(scikit_learn_pass, offset=1024.0, decay=0.7),
    "gensim": gensim_pass,
    "gensim, its default chunks of 2000": partial(gensim_pass, chunk_size=2000),
}
