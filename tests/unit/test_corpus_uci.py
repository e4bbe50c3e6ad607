"""Directories in UCI layout: vocabulary, labels, groups, split; writing them."""

import numpy as np
import pytest

from brian_lda.corpus import Corpus, load_corpus, read_uci, write_uci
from brian_lda.errors import CorpusFormatError

COUNTS = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]])


@pytest.fixture
def full():
    return Corpus(
        COUNTS,
        ["ant", "bée", "cat"],
        name="toy",
        labels=[1, 0, 1],
        label_names=["insects", "other"],
        split=["train", "train", "test"],
    )


def test_round_trip_of_all_fields(tmp_path, full):
    docword = write_uci(full, tmp_path / "new" / "folder")
    for path in (docword, docword.parent):
        again = load_corpus(path)
        np.testing.assert_array_equal(again.counts.toarray(), COUNTS)
        np.testing.assert_array_equal(again.labels, full.labels)
        np.testing.assert_array_equal(again.split, full.split)
        assert again.vocabulary == full.vocabulary
        assert again.label_names == full.label_names
        assert again.name == "toy"


def test_written_text_is_the_uci_layout(tmp_path, full):
    docword = write_uci(full, tmp_path, compress=False)
    assert docword.read_text() == "3\n3\n3\n1 1 1\n1 3 2\n3 2 3\n"
    assert (tmp_path / "vocab.toy.txt").read_text(encoding="utf-8") == "ant\nbée\ncat\n"
    assert (tmp_path / "labels.toy.txt").read_text() == "2\n1\n2\n"


def test_gzip_bytes_do_not_depend_on_time(tmp_path, full, monkeypatch):
    first = write_uci(full, tmp_path / "a").read_bytes()
    monkeypatch.setattr("time.time", lambda: 1.0)
    assert write_uci(full, tmp_path / "b").read_bytes() == first


@pytest.mark.parametrize("word", ["", " ant", "ant\n", "an\nt"])
def test_words_that_are_no_lines_are_not_written(tmp_path, word):
    with pytest.raises(CorpusFormatError, match=r"vocabulary\[2\]"):
        write_uci(Corpus(COUNTS, ["a", "b", word]), tmp_path)


@pytest.mark.parametrize(("words", "relation"), [("ant\nbee\n", "shorter"), ("a\n" * 4, "longer")])
def test_vocabulary_of_another_length(tmp_path, full, words, relation):
    write_uci(full, tmp_path)
    (tmp_path / "vocab.toy.txt").write_text(words)
    with pytest.raises(CorpusFormatError, match=rf"vocab.toy.txt: .* {relation} than W.* W = 3"):
        read_uci(tmp_path)


def test_missing_vocabulary(tmp_path, full):
    write_uci(full, tmp_path)
    (tmp_path / "vocab.toy.txt").unlink()
    with pytest.raises(CorpusFormatError, match="expected vocab.toy.txt beside it"):
        read_uci(tmp_path)


def test_vocabulary_in_latin_1(tmp_path, full):
    write_uci(full, tmp_path)
    (tmp_path / "vocab.toy.txt").write_bytes("ant\nbée\ncat\n".encode("latin-1"))
    assert read_uci(tmp_path).vocabulary[1] == "bée"


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("labels", "1\n2\n", "labels.toy.txt has 2 lines.* D = 3"),
        ("labels", "1\n2\n3\n", "labels.toy.txt, line 3: expected a label between 1 and 2"),
        ("labels", "1\n0\n2\n", "labels.toy.txt, line 2: .*found '0'"),
        ("split", "train\ntest\n", "split.toy.txt has 2 lines"),
        ("split", "train\ndev\ntest\n", "split.toy.txt, line 2: expected train or test"),
    ],
)
def test_bad_companion_files(tmp_path, full, file, content, says):
    write_uci(full, tmp_path)
    (tmp_path / f"{file}.toy.txt").write_text(content)
    with pytest.raises(CorpusFormatError, match=says):
        read_uci(tmp_path)


@pytest.mark.parametrize(
    ("lines", "codes", "names"),
    [
        ("10\n9\n10\n", [1, 0, 1], ("9", "10")),
        ("pear\nfig\npear\n", [1, 0, 1], ("fig", "pear")),
    ],
)
def test_labels_without_groups(tmp_path, full, lines, codes, names):
    write_uci(full, tmp_path)
    (tmp_path / "groups.toy.txt").unlink()
    (tmp_path / "labels.toy.txt").write_text(lines)
    corpus = read_uci(tmp_path)
    assert corpus.labels.tolist() == codes and corpus.label_names == names


def test_a_variant_shares_the_files_of_its_corpus(tmp_path, full):
    write_uci(full, tmp_path)
    (tmp_path / "docword.toy.txt.gz").rename(tmp_path / "docword.toy-raw.txt.gz")
    corpus = read_uci(tmp_path)
    assert corpus.name == "toy-raw" and corpus.labels.tolist() == [1, 0, 1]


def test_several_corpora_in_one_directory(tmp_path, full):
    docword = write_uci(full, tmp_path)
    write_uci(full, tmp_path, tag="other")
    with pytest.raises(CorpusFormatError, match="docword.other.txt.gz, docword.toy.txt.gz"):
        read_uci(tmp_path)
    assert read_uci(docword).name == "toy"


def test_directory_without_docword(tmp_path):
    with pytest.raises(CorpusFormatError, match="holds no docword file"):
        read_uci(tmp_path)
