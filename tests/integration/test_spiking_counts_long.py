"""Ten passes of SpikeCGS over KOS in spikes: the weights are still logarithms of integers."""

import numpy as np
import pytest

from brian_lda.corpus import holdout_split, load_corpus
from brian_lda.reference.assignments import assignment_counts
from brian_lda.simulation import SpikeCGSSpiking

LAMDA, VARPHI, K = 0.1, 0.05, 50
ATOL = 1e-6  # of a count, after 4 million tokens


@pytest.mark.long
def test_counts_do_not_drift(data_dir):
    train = holdout_split(load_corpus("kos", data_dir=data_dir), seed=0).train
    words, docs = train.tokens()
    sampler = SpikeCGSSpiking(
        words, docs, n_topics=K, n_words=train.n_words, n_docs=train.n_docs,
        doc_topic_prior=LAMDA, topic_word_prior=VARPHI, seed=1,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    z = sampler.z.copy()
    for _ in range(10):
        order = rng.permutation(len(words))
        z[order] = sampler.sweep(order)  # the recorded spikes of the topic layer
    C_wz, C_zd, C_z = assignment_counts(words, docs, z, train.n_words, train.n_docs, K)
    np.testing.assert_allclose(np.exp(sampler.M__alpha) - VARPHI, C_wz, rtol=0, atol=ATOL)
    np.testing.assert_allclose(np.exp(sampler.M__beta) - LAMDA, C_zd, rtol=0, atol=ATOL)
    bar = VARPHI * train.n_words
    np.testing.assert_allclose(np.exp(sampler.b) - bar, C_z, rtol=0, atol=ATOL)
    total = (np.exp(sampler.M__beta) - LAMDA).sum(axis=1)
    np.testing.assert_allclose(total, train.doc_lengths, rtol=0, atol=K * ATOL)
