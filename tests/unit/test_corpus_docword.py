"""Streaming reader of docword files: what it reads, and how it refuses what is wrong."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from brian_lda.corpus import Corpus, read_uci, write_uci
from brian_lda.corpus.docword import DocwordReader
from brian_lda.errors import CorpusFormatError

GOOD = b"3\n4\n3\n1 1 1\n1 3 2\n3 2 3\n"
DENSE = [[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 0]]


def directory_with(path, docword: bytes, *, words: int = 4, name: str = "docword.toy.txt"):
    (path / name).write_bytes(docword)
    (path / "vocab.toy.txt").write_text("".join(f"w{k}\n" for k in range(words)))
    return path


def entries(path, **options) -> list[tuple[int, int, int]]:
    blocks = list(DocwordReader(path, **options))
    return [row for block in blocks for row in zip(*(a.tolist() for a in block), strict=True)]


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.rstrip(b"\n"),
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b" ", b"\t"),
        GOOD.replace(b" ", b"  ") + b"\n\n",
        b"3\n4\n3\n1 3 2\n1 1 1\n3 2 3\n",  # words of a document in any order
        b"3\n4\n4\n1 1 1\n1 3 1\n1 3 1\n3 2 3\n",  # an entry in two lines
        gzip.compress(GOOD),
    ],
    ids=["plain", "no-eol", "crlf", "tabs", "spaces", "unsorted", "duplicate", "gzip"],
)
@pytest.mark.parametrize("name", ["docword.toy.txt", "docword.toy.txt.gz"])
def test_reads_every_spelling(tmp_path, text, name):
    corpus = read_uci(directory_with(tmp_path, text, name=name))
    np.testing.assert_array_equal(corpus.counts.toarray(), DENSE)
    assert corpus.vocabulary == ("w0", "w1", "w2", "w3") and corpus.name == "toy"


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 5, 7, 11, 1000])
def test_blocks_may_end_anywhere(tmp_path, block_bytes):
    path = tmp_path / "docword.toy.txt"
    for text in (GOOD, GOOD.replace(b"\n", b"\r\n"), GOOD.rstrip()):
        path.write_bytes(text)
        assert entries(path, block_bytes=block_bytes) == [(0, 0, 1), (0, 2, 2), (2, 1, 3)]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (b"", 1, "expected D"),
        (b"3\n4\n", 3, "expected NNZ"),
        (b"3\nfour\n3\n", 2, "expected W .* found 'four'"),
        (b"3\n-4\n3\n1 1 1\n", 2, "found '-4'"),
        (b"0\n4\n0\n", 1, "empty corpus"),
        (b"3\n4\n0\n", 3, "empty corpus"),
        (b"3\n4\n4\n1 1 1\n1 3 2\n3 2 3\n", 6, "ends after 3 entries.* promises 4"),
        (b"3\n4\n2\n1 1 1\n1 3 2\n3 2 3\n", 6, "beyond the 2"),
        (b"3\n4\n3\n1 1 1\n1 5 2\n3 2 3\n", 5, "wordID must lie between 1 and 4 .*found 5"),
        (b"3\n4\n3\n1 1 1\n1 0 2\n3 2 3\n", 5, "wordID must lie between 1 and 4 .*found 0"),
        (b"3\n4\n3\n1 1 1\n1 3 2\n4 2 3\n", 6, "docID must lie between 1 and 3 .*found 4"),
        (b"3\n4\n3\n0 1 1\n1 3 2\n3 2 3\n", 4, "docID must lie between 1 and 3 .*found 0"),
        (b"3\n4\n3\n1 1 1\n1 3 -2\n3 2 3\n", 5, "not negative.* found '-2'"),
        (b"3\n4\n3\n1 1 1\n1 3 2.5\n3 2 3\n", 5, "fractional.* found '2.5'"),
        (b"3\n4\n3\n1 1 1\n1 3 0\n3 2 3\n", 5, "count must lie between 1 .*found 0"),
        (b"3\n4\n3\n1 1 1\n1 3 nan\n3 2 3\n", 5, "NaN.* found 'nan'"),
        (b"3\n4\n3\n1 1 1\n1 3 3000000000\n3 2 3\n", 5, "count must lie between"),
        (b"3\n4\n3\n1 1 1\n1 3 " + b"9" * 30 + b"\n3 2 3\n", 5, "count must be"),
        (b"3\n4\n3\n1 1 1\n1 3\n3 2 3\n", 5, "found 2 fields"),
        (b"3\n4\n3\n1 1 1 1\n1 3\n3 2 3\n", 4, "found 4 fields"),
        (b"3\n4\n3\n1 1 1\n1  3\n3 2 3\n", 5, "found 2 fields"),
        (b"3\n4\n3\n1 1 1 1 3 2\n3 2 3\n", 4, "found 6 fields"),
        (b"3\n4\n3\n1 1 1.1 3 2\n3 2 3\n", 4, "found 5 fields"),
        (b"3\n4\n3\n\n1 1 1\n\n1 5 2\n3 2 3\n", 7, "wordID"),
        (b"3\n4\n3\n3 1 1\n1 3 2\n3 2 3\n", 5, "docID 1 comes after docID 3"),
    ],
)
@pytest.mark.parametrize("block_bytes", [4, 1 << 18])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_refuses_and_names_file_and_line(tmp_path, text, line, says, block_bytes, pack):
    path = tmp_path / "docword.toy.txt"
    path.write_bytes(pack(text))
    with pytest.raises(CorpusFormatError, match=f"docword.toy.txt, line {line}: .*{says}"):
        entries(path, block_bytes=block_bytes)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("header", "says"),
    [
        (b"1000000000000\n4\n3\n", "line 1: the header claims 1000000000000 documents"),
        (b"2000000000\n4\n3\n", "line 1: the header claims 2000000000 documents"),
        (b"3\n1000000000000\n3\n", "line 2: the header claims 1000000000000 words"),
        (b"3\n4\n1000000000000\n", "line 3: the header claims 1000000000000 entries"),
    ],
)
def test_absurd_headers_are_refused_before_allocation(tmp_path, header, says, pack):
    directory_with(tmp_path, pack(header + b"1 1 1\n1 3 2\n3 2 3\n"))
    with pytest.raises(CorpusFormatError, match=says):
        read_uci(tmp_path)


def test_the_smallest_possible_lines_are_not_refused(tmp_path):
    # Every line of the shortest possible length: the bound on NNZ must still hold.
    body = b"".join(b"%d %d 1\n" % (d, w) for d in range(1, 10) for w in range(1, 10))
    directory_with(tmp_path, gzip.compress(b"9\n9\n81\n" + body.rstrip()), words=9)
    assert read_uci(tmp_path).n_tokens == 81


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9])
def test_truncated_gzip(tmp_path, kept):
    rng = np.random.default_rng(0)
    packed = write_uci(
        Corpus(rng.integers(1, 99, (200, 50)), [f"w{k}" for k in range(50)]), tmp_path
    )
    packed.write_bytes(packed.read_bytes()[: int(kept * packed.stat().st_size)])
    with pytest.raises(CorpusFormatError, match=r"docword.corpus.txt.gz: truncated.* line \d+"):
        read_uci(tmp_path)


def test_damaged_gzip(tmp_path):
    packed = bytearray(gzip.compress(GOOD))
    packed[-6] ^= 0xFF  # the stored checksum
    with pytest.raises(CorpusFormatError, match="damaged gzip"):
        read_uci(directory_with(tmp_path, bytes(packed)))


def test_a_file_without_lines_is_refused_early(tmp_path):
    directory_with(tmp_path, b"3\n4\n3\n" + b"1" * 10_000)
    with pytest.raises(CorpusFormatError, match="longer than"):
        read_uci(tmp_path)


small_counts = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 2**31 - 1) | st.integers(0, 2))
)


@given(counts=small_counts.filter(np.any), compress=st.booleans(), block_bytes=st.integers(1, 64))
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read(tmp_path_factory, counts, compress, block_bytes):
    corpus = Corpus(counts, [f"w{k}" for k in range(counts.shape[1])], name="any")
    directory = tmp_path_factory.mktemp("uci")
    docword = write_uci(corpus, directory, compress=compress)
    np.testing.assert_array_equal(read_uci(directory).counts.toarray(), counts)
    assert [n for _, _, n in entries(docword, block_bytes=block_bytes)] == counts[
        counts > 0
    ].tolist()
