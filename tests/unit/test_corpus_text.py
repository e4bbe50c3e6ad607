"""Texts and gensim's lists in."""

import numpy as np
import pytest

from brian_lda.corpus import corpus_from_texts, from_gensim, load_corpus
from brian_lda.errors import CorpusFormatError, ParameterError


def test_texts():
    corpus = corpus_from_texts(["The cat, the CAT and 2 dogs", "", "a dog's tail"], name="pets")
    assert corpus.vocabulary == ("cat", "dog", "dogs", "tail")
    assert corpus.counts.toarray().tolist() == [[2, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 1]]
    assert corpus.name == "pets"


def test_rare_words_leave_larger_collections():
    texts = ["common words everywhere"] * 9 + ["common hapax"]
    assert "hapax" not in corpus_from_texts(texts).vocabulary
    assert "hapax" in corpus_from_texts(texts, min_df=1).vocabulary


def test_vectorizer_options():
    corpus = corpus_from_texts(["the cat", "the dog"], stop_words=None, max_df=1)
    assert corpus.vocabulary == ("cat", "dog")
    with pytest.raises(ParameterError, match="min_fd"):
        corpus_from_texts(["cat"], min_fd=2)


@pytest.mark.parametrize("texts", [[], ["", "the of and"]])
def test_no_words_left(texts):
    with pytest.raises(CorpusFormatError, match="No words are left"):
        corpus_from_texts(texts)


def test_a_single_string_is_no_list_of_texts():
    with pytest.raises(ParameterError, match="single str"):
        corpus_from_texts("the cat")


def test_directory_of_texts_with_labels(tmp_path):
    for name, text in [
        ("a/2.txt", "cat"),
        ("b/1.txt", "dog dog"),
        ("a/1.txt", "cat dog"),
        ("top.txt", "caf\u00e9"),
    ]:
        file = tmp_path / "pets" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    corpus = load_corpus(tmp_path / "pets")
    assert corpus.name == "pets" and corpus.vocabulary == ("caf\u00e9", "cat", "dog")
    assert corpus.label_names == ("a", "b", "pets") and corpus.labels.tolist() == [0, 0, 1, 2]
    assert corpus.counts.toarray().tolist() == [[0, 1, 1], [0, 1, 0], [0, 0, 2], [1, 0, 0]]


def test_flat_directory_has_no_labels(tmp_path):
    (tmp_path / "1.txt").write_bytes("caf\u00e9 cat".encode("latin-1"))
    assert load_corpus(tmp_path).labels is None
    assert "caf\u00e9" in load_corpus(tmp_path, encoding="latin-1", min_df=1).vocabulary


def test_empty_directory(tmp_path):
    with pytest.raises(CorpusFormatError, match="holds no .txt file"):
        load_corpus(tmp_path)


@pytest.mark.parametrize("dictionary", [["ant", "bee", "cat"], {0: "ant", 1: "bee", 2: "cat"}])
def test_gensim_lists(dictionary):
    corpus = from_gensim([[(0, 2), (2, 1)], [], [(1, 1)]], dictionary, name="bow")
    np.testing.assert_array_equal(corpus.counts.toarray(), [[2, 0, 1], [0, 0, 0], [0, 1, 0]])
    assert corpus.vocabulary == ("ant", "bee", "cat")


def test_gensim_itself():
    corpora = pytest.importorskip("gensim.corpora", reason="gensim is an optional extra")
    texts = [["ant", "bee", "ant"], ["cat"]]
    dictionary = corpora.Dictionary(texts)
    corpus = from_gensim([dictionary.doc2bow(text) for text in texts], dictionary)
    ant = corpus.vocabulary.index("ant")
    assert corpus.counts.toarray()[:, ant].tolist() == [2, 0]


@pytest.mark.parametrize(
    ("bow", "dictionary", "says"),
    [
        ([], ["a"], "bow is empty"),
        ([[(0, 1)]], [], "dictionary is empty"),
        ([[(0, 1)]], {0: "a", 5: "b"}, "no id 1.*compactify"),
        ([[(0, 1)], [(2, 1)]], ["a", "b"], "document 1 of the stream holds word id 2"),
        ([[(0, -1)]], ["a"], "no natural number"),
        ([[(0, 0.25)]], ["a"], "no natural number"),
        ([[]], ["a"], "no token at all"),
    ],
)
def test_gensim_refuses(bow, dictionary, says):
    with pytest.raises(CorpusFormatError, match=says):
        from_gensim(bow, dictionary)
