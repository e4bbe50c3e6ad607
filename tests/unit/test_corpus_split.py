"""The paper's hold-out protocol."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from brian_lda.corpus import Corpus, holdout_split, make_bars
from brian_lda.errors import ParameterError


def corpus_of(counts, **fields) -> Corpus:
    return Corpus(counts, [f"w{k}" for k in range(np.shape(counts)[1])], **fields)


matrices = st.tuples(st.integers(2, 12), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 5))
)


@given(
    counts=matrices.filter(lambda x: (x.sum(axis=1) > 1).all()),
    test_fraction=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=150, deadline=None)
def test_split_laws(counts, test_fraction, seed):
    n_docs = len(counts)
    # The label of a document is its own number: it tells where each row came from.
    corpus = corpus_of(counts, labels=np.arange(n_docs))
    train, observed, heldout = holdout_split(corpus, test_fraction=test_fraction, seed=seed)
    test_docs = observed.labels
    np.testing.assert_array_equal(heldout.labels, test_docs)
    np.testing.assert_array_equal(np.sort(np.append(train.labels, test_docs)), np.arange(n_docs))
    assert len(test_docs) == min(max(1, round(test_fraction * n_docs)), n_docs - 1)
    np.testing.assert_array_equal(train.counts.toarray(), counts[train.labels])
    together = observed.counts.toarray() + heldout.counts.toarray()
    np.testing.assert_array_equal(together, counts[test_docs])
    lengths = counts[test_docs].sum(axis=1)
    np.testing.assert_array_equal(observed.doc_lengths, (lengths + 1) // 2)
    np.testing.assert_array_equal(heldout.doc_lengths, lengths // 2)
    assert train.vocabulary == observed.vocabulary == heldout.vocabulary == corpus.vocabulary


def test_nine_to_one_by_default():
    train, observed, _ = holdout_split(make_bars(n_docs=200))
    assert (train.n_docs, observed.n_docs) == (180, 20)


def test_the_seed_decides():
    corpus = make_bars(n_docs=100)
    one, again, other = (holdout_split(corpus, seed=seed) for seed in (5, 5, 6))
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a.counts.toarray(), b.counts.toarray())
    assert (one.train.counts != other.train.counts).nnz > 0
    # Halves are drawn from a stream of their own: they differ between seeds for a fixed test set.
    stored = corpus_of(corpus.counts, split=["train"] * 50 + ["test"] * 50)
    halves = [holdout_split(stored, seed=seed, use_stored_split=True).observed for seed in (5, 6)]
    assert (halves[0].counts != halves[1].counts).nnz > 0


def test_every_half_is_equally_likely():
    """One document with words 0, 1, 2, 3: the observed pair is uniform over the six pairs."""
    corpus = corpus_of([[1, 1, 1, 1], [1, 0, 0, 0]], split=["test", "train"])
    seen = {}
    for seed in range(1200):
        observed = holdout_split(corpus, seed=seed, use_stored_split=True).observed
        pair = tuple(observed.counts.indices.tolist())
        seen[pair] = seen.get(pair, 0) + 1
    assert len(seen) == 6
    assert stats.chisquare(list(seen.values())).pvalue > 0.001


def test_every_document_is_equally_likely():
    corpus = corpus_of(np.full((10, 1), 4), labels=np.arange(10))
    chosen = [int(holdout_split(corpus, seed=seed).observed.labels[0]) for seed in range(1000)]
    assert stats.chisquare(np.bincount(chosen, minlength=10)).pvalue > 0.001


def test_stored_split():
    split = ["train", "test", "train", "test"]
    corpus = corpus_of(np.full((4, 3), 2), split=split, labels=np.arange(4))
    train, observed, heldout = holdout_split(corpus, use_stored_split=True)
    assert train.labels.tolist() == [0, 2] and observed.labels.tolist() == [1, 3]
    assert observed.n_tokens == heldout.n_tokens == 6
    with pytest.raises(ParameterError, match="no stored split"):
        holdout_split(corpus_of([[2], [2]]), use_stored_split=True)


def test_empty_and_single_token_documents():
    corpus = corpus_of([[4], [0], [1], [4]], split=["train", "test", "test", "test"])
    _, observed, heldout = holdout_split(corpus, use_stored_split=True)
    assert observed.doc_lengths.tolist() == [0, 1, 2]
    assert heldout.doc_lengths.tolist() == [0, 0, 2]


def test_truth_follows_the_documents():
    corpus = make_bars(n_docs=30)
    train, observed, heldout = holdout_split(corpus)
    assert train.true_theta.shape[0] == 27 and heldout.true_theta.shape[0] == 3
    whole = observed.counts.toarray() + heldout.counts.toarray()
    source = [(corpus.counts.toarray() == row).all(axis=1).argmax() for row in whole]
    np.testing.assert_array_equal(observed.true_theta, corpus.true_theta[source])


@pytest.mark.parametrize("test_fraction", [0, 1, -0.1, 1.5, float("nan")])
def test_refuses_fractions(test_fraction):
    with pytest.raises(ParameterError, match="test_fraction"):
        holdout_split(make_bars(n_docs=10), test_fraction=test_fraction)


def test_refuses_what_cannot_be_split():
    with pytest.raises(ParameterError, match="two documents"):
        holdout_split(corpus_of([[5]]))
    with pytest.raises(ParameterError, match="nothing to hold out"):
        holdout_split(corpus_of([[1], [1]]))
