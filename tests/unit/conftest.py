"""Corpora as folders, for runs that are killed and resumed."""

import pytest

from brian_lda.corpus import load_corpus, write_uci


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_uci(load_corpus("bars", grid=2, n_docs=30, doc_length=6, seed=0), folder)
    return str(folder)


@pytest.fixture(scope="module")
def smaller_corpus(tmp_path_factory):
    """Brian takes milliseconds a token where nothing is compiled."""
    folder = tmp_path_factory.mktemp("smaller")
    write_uci(load_corpus("bars", grid=2, n_docs=8, doc_length=3, seed=0), folder)
    return str(folder)
