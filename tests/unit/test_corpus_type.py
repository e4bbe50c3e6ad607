"""The corpus type and the validation of every matrix that a user may pass."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from brian_lda.corpus import Corpus, as_counts
from brian_lda.errors import CorpusFormatError, ParameterError

# Document 1 is empty, word 3 is unused: both must pass everywhere.
COUNTS = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 0]])
WORDS = ("ant", "bee", "cat", "dog")


def corpus(**fields) -> Corpus:
    return Corpus(COUNTS, WORDS, **fields)


def test_sizes_and_tokens():
    toy = corpus()
    assert (toy.n_docs, toy.n_words, toy.n_tokens) == (3, 4, 6)
    assert toy.doc_lengths.tolist() == [3, 0, 3]
    words, docs = toy.tokens()
    assert words.tolist() == [0, 2, 2, 1, 1, 1]
    assert docs.tolist() == [0, 0, 0, 2, 2, 2]
    assert words.dtype == docs.dtype == np.int32


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        lambda x: x.tolist(),
        lambda x: x.astype(float),
        lambda x: x.astype(np.uint8),
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_array,
        sparse.lil_matrix,
        sparse.dok_array,
        lambda x: sparse.csr_array(x.astype(np.float32)),
        lambda x: Corpus(x, WORDS),
    ],
)
def test_as_counts_accepts_every_container(convert):
    counts = as_counts(convert(COUNTS))
    assert isinstance(counts, sparse.csr_array)
    assert counts.dtype == counts.indices.dtype == counts.indptr.dtype == np.int32
    assert counts.has_canonical_format
    np.testing.assert_array_equal(counts.toarray(), COUNTS)


def test_as_counts_makes_canonical_and_leaves_the_input_alone():
    data, indices, indptr = np.array([1, 5, 2, 0]), np.array([2, 0, 2, 1]), np.array([0, 4])
    messy = sparse.csr_array((data, indices, indptr), shape=(1, 3))
    counts = as_counts(messy)
    assert counts.indices.tolist() == [0, 2] and counts.data.tolist() == [5, 3]
    assert messy.data.tolist() == [1, 5, 2, 0] and messy.indices.tolist() == [2, 0, 2, 1]


def test_as_counts_converts_64_bit_indices():
    wide = sparse.csr_array(COUNTS)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert as_counts(wide).indices.dtype == np.int32
    assert wide.indices.dtype == np.int64


@pytest.mark.parametrize(
    ("X", "says"),
    [
        ([[1, -2]], "negative count: document 0, word 1 has -2"),
        (sparse.csr_array([[1, 0], [0, -2]]), "negative count: document 1, word 1 has -2"),
        ([[1.0, 0.5]], "fractional count: document 0, word 1 has 0.5"),
        ([[1.0], [np.nan]], "NaN or infinite: document 1, word 0"),
        ([[np.inf]], "NaN or infinite"),
        ([[3e9]], "above 2147483647"),
        (np.zeros((0, 3), dtype=int), "empty"),
        (np.zeros((3, 0), dtype=int), "empty"),
        (np.zeros((3, 2), dtype=int), "no token at all"),
        ([1, 2], "two dimensions"),
        ([[1, 2], [3]], "differ in length"),
        ([["ant"]], "must hold numbers"),
        ([[(0, 2)], [(1, 1)]], "from_gensim"),
    ],
)
def test_as_counts_refuses(X, says):
    with pytest.raises(CorpusFormatError, match=says):
        as_counts(X)
    with pytest.raises(CorpusFormatError, match="^heldout"):
        as_counts(X, argument="heldout")


def test_as_counts_refuses_a_sparse_matrix_with_wild_indices():
    wild = sparse.csr_array(COUNTS)
    wild.indices[0] = 99  # would make compiled code write outside its arrays
    with pytest.raises(CorpusFormatError, match="not a valid sparse matrix"):
        as_counts(wild)


def test_documents_without_tokens_pass_when_asked_for():
    assert as_counts([[0, 0]], require_tokens=False).nnz == 0


def test_corpus_cannot_be_changed():
    source = sparse.csr_array(COUNTS.astype(np.int32))
    toy = Corpus(source, WORDS, labels=[0, 1, 0])
    source.data[:] = 9
    assert toy.n_tokens == 6
    with pytest.raises(dataclasses.FrozenInstanceError):
        toy.name = "other"
    for buffer in (toy.counts.data, toy.counts.indices, toy.counts.indptr, toy.labels):
        with pytest.raises(ValueError, match="read-only"):
            buffer[0] = 1


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"labels": [0, 1]}, "labels has shape"),
        ({"labels": [0, 1, -1]}, "labels must be integers counted from 0"),
        ({"labels": [0.5, 1, 2]}, "labels must be integers"),
        ({"labels": [0, 1, 2], "label_names": ["a", "b"]}, "labels go up to 2"),
        ({"label_names": ["a"]}, "without labels"),
        ({"split": ["train", "test"]}, "split has shape"),
        ({"split": ["train", "test", "dev"]}, "found .'dev'."),
    ],
)
def test_corpus_refuses_inconsistent_fields(fields, says):
    with pytest.raises(CorpusFormatError, match=says):
        corpus(**fields)


@pytest.mark.parametrize("n_words", [3, 5])
def test_vocabulary_must_fit(n_words):
    with pytest.raises(CorpusFormatError, match=f"vocabulary has {n_words} words but counts has 4"):
        Corpus(COUNTS, ["w"] * n_words)


def test_subset_keeps_fields_in_step():
    toy = corpus(labels=[0, 1, 2], label_names="abc", split=["train", "test", "train"])
    part = toy.subset([2, 0])
    np.testing.assert_array_equal(part.counts.toarray(), COUNTS[[2, 0]])
    assert part.labels.tolist() == [2, 0] and part.split.tolist() == ["train", "train"]
    assert part.vocabulary == toy.vocabulary and part.label_names == toy.label_names
    np.testing.assert_array_equal(toy.subset(slice(0, 2)).counts.toarray(), COUNTS[:2])


def test_part_follows_the_stored_split():
    toy = corpus(split=["test", "train", "test"])
    np.testing.assert_array_equal(toy.part("test").counts.toarray(), COUNTS[[0, 2]])
    with pytest.raises(ParameterError, match="which"):
        toy.part("dev")
    with pytest.raises(ParameterError, match="no stored split"):
        corpus().part("train")


def test_repr_tells_and_does_not_dump():
    shown = repr(corpus(name="toy", labels=[0, 1, 1], split=["train", "test", "train"]))
    assert shown == (
        "Corpus('toy', 3 documents, 4 words, 6 tokens, 2 classes, split 2 train / 1 test)"
    )
