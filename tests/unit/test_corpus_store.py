"""Token store: equal to the corpus in memory, and constant in memory itself."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from brian_lda.corpus import (
    Corpus,
    TokenStore,
    document_batches,
    load_corpus,
    open_token_store,
    write_uci,
)
from brian_lda.errors import CorpusFormatError, CorpusNotFoundError, ParameterError


@pytest.fixture
def corpus():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 4, (57, 30)) * (rng.random((57, 30)) < 0.2)
    counts[[0, 20, 21, 56]] = 0  # empty documents: first, in a row, last
    return Corpus(counts, [f"w{k}" for k in range(30)], name="toy")


@pytest.mark.parametrize("block_bytes", [1, 13, 100, 1 << 18])
def test_store_equals_the_corpus(tmp_path, corpus, block_bytes):
    docword = write_uci(corpus, tmp_path)
    store = TokenStore.build(docword, tmp_path / "store", block_bytes=block_bytes)
    assert (store.n_docs, store.n_words, store.n_tokens) == (57, 30, corpus.n_tokens)
    assert store.vocabulary == corpus.vocabulary and store.name == "toy"
    for batch_size in (1, 10, 57, 100):
        batches = list(store.batches(batch_size))
        everything = sparse.vstack([batch.counts for batch in batches])
        np.testing.assert_array_equal(everything.toarray(), corpus.counts.toarray())
        np.testing.assert_array_equal(
            np.concatenate([batch.doc_ids for batch in batches]), np.arange(57)
        )
    order = np.array([5, 5, 0, 56, 3])
    np.testing.assert_array_equal(store.rows(order).toarray(), corpus.counts.toarray()[order])


def test_store_and_corpus_give_the_same_batches(tmp_path, corpus):
    store = TokenStore.build(write_uci(corpus, tmp_path), tmp_path / "store")
    from_store = store.batches(8, seed=3, n_batches=20)
    for expected, found in zip(document_batches(corpus, 8, 3, 20), from_store, strict=True):
        np.testing.assert_array_equal(found.doc_ids, expected.doc_ids)
        np.testing.assert_array_equal(found.counts.toarray(), expected.counts.toarray())
        assert found.counts.dtype == np.int32 and found.counts.has_canonical_format


def test_unsorted_and_repeated_words_are_merged(tmp_path):
    (tmp_path / "docword.toy.txt").write_text("1\n3\n3\n1 3 1\n1 1 5\n1 3 2\n")
    (tmp_path / "vocab.toy.txt").write_text("a\nb\nc\n")
    store = TokenStore.build(tmp_path / "docword.toy.txt", tmp_path / "store")
    row = store.rows(np.array([0]))
    assert row.indices.tolist() == [0, 2] and row.data.tolist() == [5, 3]


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Building and reading a store of ~5 MB of text stays far below 1 MB."""
    n_docs, n_words = 5_000, 1_000
    rng = np.random.default_rng(0)
    docword = tmp_path / "docword.big.txt"
    with open(docword, "w") as file:
        file.write(f"{n_docs}\n{n_words}\n{n_docs * 80}\n")
        for doc in range(1, n_docs + 1):
            words = np.sort(rng.choice(n_words, 80, replace=False)) + 1
            file.writelines(f"{doc} {word} {1 + word % 7}\n" for word in words)
    (tmp_path / "vocab.big.txt").write_text("".join(f"w{k}\n" for k in range(n_words)))
    limit = 1_000_000
    assert docword.stat().st_size > 4 * limit

    def peak_of(work) -> int:
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    def read_all():
        store = TokenStore(tmp_path / "store")
        assert sum(len(batch.doc_ids) for batch in store.batches(100, seed=0)) == n_docs

    build = {"docword": docword, "directory": tmp_path / "store", "block_bytes": 1 << 14}
    assert peak_of(lambda: TokenStore.build(**build)) < limit
    assert peak_of(read_all) < limit
    # The measure is not blind: the whole corpus in memory goes over the same limit.
    assert peak_of(lambda: load_corpus(docword)) > limit


def test_a_store_is_built_once_and_again_when_its_source_changes(tmp_path, corpus, monkeypatch):
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(tmp_path / "cache"))
    write_uci(corpus, tmp_path / "data")
    first = open_token_store(tmp_path / "data")
    metadata = first.directory / "store.json"
    assert first.directory == tmp_path / "cache" / "stores" / "toy"
    built = metadata.stat().st_mtime_ns
    assert open_token_store(tmp_path / "data").n_docs == 57
    assert metadata.stat().st_mtime_ns == built
    write_uci(corpus.subset(slice(0, 9)), tmp_path / "data")
    assert open_token_store(tmp_path / "data").n_docs == 9


def test_a_failed_build_leaves_nothing(tmp_path):
    (tmp_path / "docword.toy.txt").write_text("1\n1\n9\n1 1 1\n")
    (tmp_path / "vocab.toy.txt").write_text("a\n")
    with pytest.raises(CorpusFormatError, match="docword.toy.txt, line 3"):
        TokenStore.build(tmp_path / "docword.toy.txt", tmp_path / "stores" / "toy")
    assert list((tmp_path / "stores").iterdir()) == []


def test_wrong_use(tmp_path, corpus):
    docword = write_uci(corpus, tmp_path)
    with pytest.raises(CorpusFormatError, match="no token store"):
        TokenStore(tmp_path)
    with pytest.raises(CorpusNotFoundError, match="pubmed"):
        open_token_store("pubmet")
    store = TokenStore.build(docword, tmp_path / "store")
    with pytest.raises(ParameterError, match="exists"):
        TokenStore.build(docword, tmp_path / "store")
    with pytest.raises(ParameterError, match="batch_size"):
        store.batches(0)
    metadata = tmp_path / "store" / "store.json"
    metadata.write_text(metadata.read_text().replace('"format_version": 1', '"format_version": 0'))
    with pytest.raises(CorpusFormatError, match="format version 0, expected 1"):
        TokenStore(tmp_path / "store")
