"""Laws of the token and document streams."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import sparse, stats

from brian_lda.corpus import (
    Corpus,
    document_batches,
    make_bars,
    sampled_tokens,
    shuffled_passes,
    stream_documents,
)
from brian_lda.errors import CorpusFormatError, ParameterError

COUNTS = np.array([[5, 0, 2], [0, 0, 0], [0, 3, 1], [1, 1, 1]])
TOY = Corpus(COUNTS, ["a", "b", "c"])


def counted(words, docs) -> np.ndarray:
    table = np.zeros(COUNTS.shape, dtype=int)
    np.add.at(table, (docs, words), 1)
    return table


def test_each_pass_is_a_permutation_of_all_tokens():
    passes = list(shuffled_passes(TOY, 5, seed=0))
    assert len(passes) == 5
    for words, docs in passes:
        assert words.dtype == docs.dtype == np.int32
        np.testing.assert_array_equal(counted(words, docs), COUNTS)
    assert len({tuple(words.tolist()) for words, _ in passes}) > 1


def test_passes_are_shuffled_uniformly():
    """Four distinct tokens: all 24 orders are equally likely."""
    corpus = Corpus(np.eye(4, dtype=int), "abcd")
    orders = [tuple(words.tolist()) for words, _ in shuffled_passes(corpus, 4800, seed=1)]
    _, frequency = np.unique(orders, axis=0, return_counts=True)
    assert len(frequency) == 24
    assert stats.chisquare(frequency).pvalue > 0.001


def test_sampling_is_uniform_over_tokens():
    chunks = list(sampled_tokens(TOY, 20_000, seed=2, chunk_size=4096))
    assert [len(words) for words, _ in chunks] == [4096] * 4 + [20_000 - 4 * 4096]
    found = sum(counted(words, docs) for words, docs in chunks)
    assert (found[COUNTS == 0] == 0).all()
    observed, expected = found[COUNTS > 0], COUNTS[COUNTS > 0] * 20_000 / COUNTS.sum()
    assert stats.chisquare(observed, expected).pvalue > 0.001
    # Negative control: uniform over entries instead of tokens is a different law, and is seen.
    assert stats.chisquare(observed, np.full(len(observed), observed.mean())).pvalue < 1e-6


def test_chunk_size_does_not_change_the_sample():
    def drawn(chunk_size):
        chunks = sampled_tokens(TOY, 1000, seed=3, chunk_size=chunk_size)
        return np.concatenate([np.stack(chunk) for chunk in chunks], axis=1)

    for chunk_size in (1, 7, 333):
        np.testing.assert_array_equal(drawn(chunk_size), drawn(1000))


@pytest.mark.parametrize("batch_size", [1, 3, 4, 9])
def test_batches_cover_each_document_once_a_pass(batch_size):
    corpus = make_bars(n_docs=10, doc_length=5)
    per_pass = -(-10 // batch_size)
    batches = list(document_batches(corpus, batch_size, seed=0, n_batches=3 * per_pass))
    assert len(batches) == 3 * per_pass
    orders = []
    for number in range(3):
        one_pass = batches[number * per_pass : (number + 1) * per_pass]
        order = np.concatenate([batch.doc_ids for batch in one_pass])
        np.testing.assert_array_equal(np.sort(order), np.arange(10))
        orders.append(order.tolist())
    assert orders[0] != orders[1] != orders[2]
    for batch in batches:
        expected = corpus.counts.toarray()[batch.doc_ids]
        np.testing.assert_array_equal(batch.counts.toarray(), expected)
        assert batch.counts.dtype == np.int32


def test_one_pass_is_the_default_and_n_batches_may_stop_within_one():
    assert sum(len(b.doc_ids) for b in document_batches(TOY, 3, seed=0)) == TOY.n_docs
    assert len(list(document_batches(TOY, 1, seed=0, n_batches=2))) == 2


@pytest.mark.parametrize("stream", [shuffled_passes, sampled_tokens, document_batches])
def test_seeds(stream):
    corpus = make_bars(n_docs=20)

    def first(seed):
        return np.concatenate([np.asarray(part).ravel() for part in _arrays(stream, corpus, seed)])

    np.testing.assert_array_equal(first(7), first(7))
    assert not np.array_equal(first(7), first(8))


def _arrays(stream, corpus, seed):
    item = next(iter(stream(corpus, 5, seed)))
    return [part.toarray() if sparse.issparse(part) else part for part in item]


@pytest.mark.parametrize(
    "convert",
    [
        lambda row: np.repeat(np.arange(3), row).tolist(),
        lambda row: np.repeat(np.arange(3), row),
        lambda row: iter(np.repeat(np.arange(3), row).tolist()),
        lambda row: [(w, n) for w, n in enumerate(row.tolist()) if n],
        lambda row: ((w, float(n)) for w, n in enumerate(row.tolist())),
        lambda row: sparse.csr_array(row[np.newaxis]),
        lambda row: sparse.coo_matrix(row[np.newaxis]),
        lambda row: sparse.coo_array(row),
    ],
    ids=["ids", "array", "iterator", "pairs", "pair-generator", "csr", "coo", "sparse-1d"],
)
def test_stream_of_documents(convert):
    batches = list(stream_documents((convert(row) for row in COUNTS), 3, n_words=3))
    assert [batch.doc_ids.tolist() for batch in batches] == [[0, 1, 2], [3]]
    found = np.vstack([batch.counts.toarray() for batch in batches])
    np.testing.assert_array_equal(found, COUNTS)
    assert all(b.counts.dtype == np.int32 and b.counts.has_canonical_format for b in batches)


def test_stream_is_not_read_ahead():
    read = []

    def documents():
        for number in itertools.count():
            read.append(number)
            yield [number % 3]

    stream = stream_documents(documents(), 4, n_words=3)
    assert read == []
    next(stream)
    next(stream)
    assert len(read) == 8


def test_stream_memory_is_that_of_one_batch():
    """5 000 documents of 50 tokens, 2 MB as a matrix, pass within 300 kB."""
    documents = (np.arange(50) for _ in range(5_000))
    tracemalloc.start()
    n_tokens = sum(int(b.counts.sum()) for b in stream_documents(documents, 50, n_words=100))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_tokens == 250_000
    assert peak < 300_000


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ([0, 3], "holds word id 3; ids must lie between 0 and n_words - 1 = 2"),
        ([(-1, 2)], "holds word id -1"),
        ([(1, -2)], "no natural number"),
        ([(1, 0.5)], "no natural number"),
        ([(1, float("nan"))], "no natural number"),
        (["ant"], "must hold word ids"),
        ([(1, 2, 3)], "must hold word ids"),
        (sparse.csr_array([[1, 2]]), r"has shape \(1, 2\)"),
        (sparse.csr_array([[1, -2, 0]]), "negative count"),
    ],
)
def test_stream_names_the_document_that_is_wrong(document, says):
    stream = stream_documents([[0], [1], document], 2, n_words=3)
    next(stream)
    with pytest.raises(CorpusFormatError, match=f"^document 2 of the stream.*{says}"):
        next(stream)


@pytest.mark.parametrize(
    "call",
    [
        lambda: next(shuffled_passes(TOY, 0, 0)),
        lambda: next(sampled_tokens(TOY, 0, 0)),
        lambda: next(sampled_tokens(TOY, 5, 0, chunk_size=0)),
        lambda: document_batches(TOY, 0, 0),
        lambda: document_batches(TOY, 1, 0, n_batches=0),
        lambda: stream_documents([], 0, 3),
        lambda: stream_documents([], 3, 0),
    ],
)
def test_sizes_must_be_positive(call):
    with pytest.raises(ParameterError, match="must be at least 1, found 0"):
        call()
