"""Generated corpora: the truth that they carry, and that the counts follow it."""

import numpy as np
import pytest

from brian_lda.corpus import GeneratedCorpus, load_corpus, make_bars, make_synthetic
from brian_lda.errors import ParameterError


def test_bars_are_bars():
    corpus = make_bars(grid=3, n_docs=4)
    images = corpus.true_phi.reshape(6, 3, 3)
    for k in range(3):
        assert (images[k, k] > 0).all() and images[k].astype(bool).sum() == 3
        assert (images[3 + k, :, k] > 0).all() and images[3 + k].astype(bool).sum() == 3
    np.testing.assert_allclose(corpus.true_phi.sum(axis=1), 1, rtol=1e-12)  # rounding of 3 x 1/3
    assert corpus.vocabulary[:4] == ("r0c0", "r0c1", "r0c2", "r1c0")


def test_defaults_are_those_of_griffiths_and_steyvers():
    corpus = load_corpus("bars")
    assert isinstance(corpus, GeneratedCorpus)
    assert (corpus.n_docs, corpus.n_words, corpus.true_phi.shape[0]) == (2000, 25, 10)
    assert set(corpus.doc_lengths.tolist()) == {100}


def test_synthetic_shapes_and_names():
    corpus = load_corpus("synthetic", n_topics=3, n_words=7, n_docs=300, doc_length=9)
    assert corpus.true_phi.shape == (3, 7) and corpus.true_theta.shape == (300, 3)
    assert corpus.counts.shape == (300, 7) and set(corpus.doc_lengths.tolist()) == {9}
    # Rows are probabilities to rounding.
    np.testing.assert_allclose(corpus.true_phi.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(corpus.true_theta.sum(axis=1), 1, rtol=1e-12)


def test_lengths_and_priors_may_be_vectors():
    corpus = make_synthetic(
        n_topics=2, n_words=3, n_docs=4, doc_length=[0, 5, 1, 2], doc_topic_prior=[1e6, 1.0]
    )
    assert corpus.doc_lengths.tolist() == [0, 5, 1, 2]
    assert (corpus.true_theta[:, 0] > 0.99).all()


@pytest.mark.parametrize("make", [make_bars, make_synthetic])
def test_counts_follow_the_truth(make):
    """Words of a document are multinomial with p(w|d) = sum_z theta_dz phi_zw."""
    corpus = make(n_docs=400, doc_length=200, seed=4)
    counts = corpus.counts.toarray()

    def standardised(theta) -> np.ndarray:
        p_word = theta @ corpus.true_phi
        usual = 200 * p_word > 5  # where counts are close to normal
        p = p_word[usual]
        return (counts[usual] - 200 * p) / np.sqrt(200 * p * (1 - p))

    # Thousands of residuals: mean 0 and deviation 1 within five standard errors.
    residuals = standardised(corpus.true_theta)
    assert len(residuals) > 3000
    assert abs(residuals.mean()) < 5 / np.sqrt(len(residuals))
    assert abs(residuals.std() - 1) < 5 / np.sqrt(2 * len(residuals))
    # Negative control: against the theta of other documents.
    assert standardised(np.roll(corpus.true_theta, 1, axis=0)).std() > 1.5


def test_seed():
    one, again, other = (make_bars(n_docs=20, seed=seed).counts.toarray() for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_truth_is_read_only_and_follows_subset():
    corpus = make_bars(n_docs=5)
    with pytest.raises(ValueError, match="read-only"):
        corpus.true_phi[0, 0] = 1
    np.testing.assert_array_equal(corpus.subset([3, 1]).true_theta, corpus.true_theta[[3, 1]])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: make_bars(grid=1), "grid"),
        (lambda: make_bars(n_docs=0), "n_docs"),
        (lambda: make_bars(doc_length=-1), "doc_length"),
        (lambda: make_bars(doc_length=2.5), "doc_length"),
        (lambda: make_bars(n_docs=3, doc_length=[1, 2]), "doc_length"),
        (lambda: make_bars(alpha=0), "alpha"),
        (lambda: make_bars(alpha=[1, 2]), "alpha must be a positive number, or 10 of them"),
        (lambda: make_synthetic(n_topics=0), "n_topics"),
        (lambda: make_synthetic(topic_word_prior=-1), "topic_word_prior"),
        (lambda: make_synthetic(doc_topic_prior=float("nan")), "doc_topic_prior"),
    ],
)
def test_refuses(call, says):
    with pytest.raises(ParameterError, match=says):
        call()
