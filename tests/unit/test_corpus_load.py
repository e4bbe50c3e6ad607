"""Corpora by name: where they are looked up, and what the real ones hold."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from brian_lda.corpus import NAMED_CORPORA, Corpus, load_corpus, write_uci
from brian_lda.errors import CorpusFormatError, CorpusNotFoundError, ParameterError

DATA = Path(os.environ.get("BRIAN_LDA_DATA") or Path(__file__).parents[3] / "shared" / "data")


def test_reuters_comes_with_the_installation():
    corpus = load_corpus("reuters")
    assert (corpus.n_docs, corpus.n_words, corpus.n_tokens) == (395, 4258, 84010)
    assert corpus.vocabulary[0] == "church" and corpus.name == "reuters"


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(CorpusNotFoundError, match="Unknown corpus 'koss'") as error:
        load_corpus("koss")
    for name in ("reuters", "bars", "synthetic", *NAMED_CORPORA):
        assert name in str(error.value)


@pytest.mark.parametrize(
    ("name", "option", "known"),
    [("bars", "gird", "grid"), ("reuters", "seed", "no options"), ("kos", "grid", "base_url")],
)
def test_unknown_options(name, option, known):
    with pytest.raises(ParameterError, match=rf"\['{option}'\] for corpus '{name}'.*{known}"):
        load_corpus(name, **{option: 3})


def test_lookup_order(tmp_path, monkeypatch):
    """data_dir, then BRIAN_LDA_DATA, then the cache; the number of tokens tells which it was."""
    for tokens, place in enumerate(("argument", "variable", "cache"), start=1):
        folder = tmp_path / place / ("kos" if place != "variable" else "")
        write_uci(Corpus([[tokens]], ["w"]), folder, tag="kos", compress=place == "cache")
    monkeypatch.setenv("BRIAN_LDA_DATA", str(tmp_path / "variable"))
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(tmp_path / "cache"))
    assert load_corpus("kos", data_dir=tmp_path / "argument").n_tokens == 1
    assert load_corpus("kos", data_dir=tmp_path).n_tokens == 2  # not there: go on
    assert load_corpus("kos").n_tokens == 2
    monkeypatch.delenv("BRIAN_LDA_DATA")
    assert load_corpus("kos").n_tokens == 3


def test_data_dir_must_exist(tmp_path):
    with pytest.raises(CorpusNotFoundError, match="data_dir .*nowhere"):
        load_corpus("kos", data_dir=tmp_path / "nowhere")


def test_errors_of_named_corpora_name_the_file(tmp_path):
    docword = write_uci(Corpus([[1]], ["w"]), tmp_path / "kos", tag="kos")
    docword.write_bytes(docword.read_bytes()[:20])
    with pytest.raises(CorpusFormatError, match=r"docword\.kos\.txt\.gz"):
        load_corpus("kos", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("name", "n_docs", "n_words", "n_entries", "n_tokens"),
    [
        ("kos", 3430, 6906, 353160, 467714),
        ("nips", 1500, 12419, 746316, 1932365),
        ("20ng", 18774, 28429, 1513143, 2189361),
        ("20ng-raw", 18774, 61188, 2435219, 4562219),
    ],
)
def test_real_corpora(name, n_docs, n_words, n_entries, n_tokens):
    if not (DATA / name.removesuffix("-raw")).is_dir():
        pytest.skip(f"needs {name}: set BRIAN_LDA_DATA to a folder that holds it")
    start = time.perf_counter()
    corpus = load_corpus(name, data_dir=DATA)
    seconds = time.perf_counter() - start
    assert (corpus.n_docs, corpus.n_words, corpus.n_tokens) == (n_docs, n_words, n_tokens)
    assert corpus.counts.nnz == n_entries
    # Measured 0.08 s for KOS and 0.5 s for 20ng-raw; the bound leaves room for a busy machine.
    assert seconds < 5
    if name.startswith("20ng"):
        assert len(corpus.label_names) == 20
        assert np.bincount(corpus.labels, minlength=20)[:2].tolist() == [480 + 318, 581 + 389]
        assert (corpus.part("train").n_docs, corpus.part("test").n_docs) == (11269, 7505)
    if name == "20ng":
        assert np.flatnonzero(corpus.doc_lengths == 0).tolist() == [10728, 17592, 18233]
    if name == "nips":
        assert n_words - len(np.unique(corpus.counts.indices)) == 44  # unused words stay
