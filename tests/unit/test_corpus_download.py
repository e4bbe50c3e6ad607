"""Downloads, from a real HTTP server on the loopback interface."""

import gzip
import hashlib
import http.server
import io
import os
import tarfile
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from brian_lda.corpus import Corpus, load_corpus, write_uci
from brian_lda.corpus import load as load_module
from brian_lda.corpus import locate as locate_module
from brian_lda.corpus.locate import uci_corpus
from brian_lda.corpus.newsgroups import filter_words, read_archive
from brian_lda.errors import ChecksumError, CorpusFormatError, CorpusNotFoundError

TOY = Corpus([[1, 2], [0, 3]], ["ant", "bee"], name="enron")  # enron: no checksum is known
DATA = Path(os.environ.get("BRIAN_LDA_DATA") or Path(__file__).parents[3] / "shared" / "data")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve a folder and count the requests."""

    def __init__(self, *args, requests, **options):
        self.requests = requests
        super().__init__(*args, **options)

    def do_GET(self):
        self.requests.append(self.path)
        super().do_GET()

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """(folder that is served, its address, list of requests); the cache is empty."""
    monkeypatch.delenv("BRIAN_LDA_DATA", raising=False)
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(tmp_path / "cache"))
    folder, requests = tmp_path / "served", []
    folder.mkdir()
    handler = partial(Handler, directory=folder, requests=requests)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}/", requests
        running.shutdown()
        thread.join()


def cached_files(tmp_path) -> list[str]:
    return sorted(file.name for file in (tmp_path / "cache").rglob("*") if file.is_file())


@pytest.mark.parametrize("by_variable", [False, True])
def test_download_then_cache(tmp_path, server, monkeypatch, by_variable):
    folder, url, requests = server
    write_uci(TOY, folder)
    options = {} if by_variable else {"base_url": url}
    if by_variable:
        monkeypatch.setenv("BRIAN_LDA_BASE_URL", url.rstrip("/"))
    corpus = load_corpus("enron", **options)
    np.testing.assert_array_equal(corpus.counts.toarray(), TOY.counts.toarray())
    assert corpus.vocabulary == TOY.vocabulary and corpus.name == "enron"
    assert sorted(requests) == ["/docword.enron.txt.gz", "/vocab.enron.txt"]
    assert cached_files(tmp_path) == ["docword.enron.txt.gz", "vocab.enron.txt"]
    load_corpus("enron", **options)
    assert len(requests) == 2  # the second time from the cache


def test_checksum_of_the_content(tmp_path, server, monkeypatch):
    folder, url, _ = server
    docword = write_uci(TOY, folder)
    content = gzip.decompress(docword.read_bytes())
    known = uci_corpus("enron", docword_sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(load_module.NAMED_CORPORA, "enron", known)
    # Packed in another way: other bytes, same content.
    docword.write_bytes(gzip.compress(content, compresslevel=1, mtime=12345))
    assert load_corpus("enron", base_url=url).n_tokens == 6


@pytest.mark.parametrize("name", ["kos", "nips"])
def test_checksum_mismatch(tmp_path, server, name):
    folder, url, _ = server
    write_uci(TOY, folder, tag=name)
    with pytest.raises(ChecksumError, match=f"docword.{name}.txt.gz: expected content with sha256"):
        load_corpus(name, base_url=url)
    assert cached_files(tmp_path) == []


def test_truncated_download(tmp_path, server):
    folder, url, _ = server
    docword = write_uci(TOY, folder)
    docword.write_bytes(docword.read_bytes()[:-9])
    with pytest.raises(ChecksumError, match="arrived damaged.*truncated"):
        load_corpus("enron", base_url=url)
    assert cached_files(tmp_path) == []


def test_a_web_page_is_no_corpus(tmp_path, server):
    folder, url, _ = server
    write_uci(TOY, folder)
    (folder / "docword.enron.txt.gz").write_text("<html>This data set has moved</html>")
    with pytest.raises(CorpusFormatError, match="is no corpus, and was not kept"):
        load_corpus("enron", base_url=url)
    assert cached_files(tmp_path) == []


def assert_says_what_to_do(error, url, tmp_path):
    message = str(error.value)
    for part in (
        url,
        str(tmp_path / "cache"),
        "docword.enron.txt.gz and vocab.enron.txt",
        "<dir>/enron/",
        "data_dir=<dir>",
        "BRIAN_LDA_DATA=<dir>",
    ):
        assert part in message


def test_missing_on_the_server(tmp_path, server):
    _, url, _ = server
    with pytest.raises(CorpusNotFoundError, match="404") as error:
        load_corpus("enron", base_url=url)
    assert_says_what_to_do(error, url, tmp_path)
    assert cached_files(tmp_path) == []


def test_a_download_without_docword_file(tmp_path, monkeypatch):
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(tmp_path))
    monkeypatch.setattr(locate_module, "_download", lambda *arguments: None)
    with pytest.raises(CorpusNotFoundError, match="brought no docword file of the corpus tiny"):
        locate_module.locate(uci_corpus("tiny"))


def test_unreachable(tmp_path, monkeypatch):
    monkeypatch.delenv("BRIAN_LDA_DATA", raising=False)
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(tmp_path / "cache"))
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as closed_at_once:
        url = f"http://127.0.0.1:{closed_at_once.server_port}/"
    with pytest.raises(CorpusNotFoundError, match="could not be downloaded") as error:
        load_corpus("enron", base_url=url)
    assert_says_what_to_do(error, url, tmp_path)
    with pytest.raises(CorpusNotFoundError, match="20news-bydate-matlab.tgz and vocabulary.txt"):
        load_corpus("20ng", base_url=url)


def archive_of(corpus: Corpus, path: Path) -> None:
    """The by-date archive, made from a corpus with labels and split (training first)."""
    n_train = int((corpus.split == "train").sum())
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        for part, docs in (("train", slice(0, n_train)), ("test", slice(n_train, None))):
            rows = corpus.counts[docs].tocoo()
            table = np.column_stack((rows.row + 1, rows.col + 1, rows.data)).tolist()
            lines = {
                "data": "".join(f"{d} {w} {n}\n" for d, w, n in table),
                "label": "".join(f"{label + 1}\n" for label in corpus.labels[docs]),
            }
            for kind, text in lines.items():
                member = tarfile.TarInfo(f"20news-bydate/matlab/{part}.{kind}")
                member.size = len(text.encode())
                tar.addfile(member, io.BytesIO(text.encode()))


@pytest.mark.complete
def test_newsgroups_are_rebuilt_from_the_published_archive(tmp_path, server):
    """Our filter reproduces the known files: the checksums are those of the real corpora."""
    if not (DATA / "20ng").is_dir():
        pytest.skip("needs 20ng: set BRIAN_LDA_DATA to a folder that holds it")
    folder, url, _ = server
    raw = load_corpus("20ng-raw", data_dir=DATA)
    archive_of(raw, folder / "20news-bydate-matlab.tgz")
    (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in raw.vocabulary))
    made = load_corpus("20ng", base_url=url)
    known = load_corpus("20ng", data_dir=DATA)
    assert (made.counts != known.counts).nnz == 0 and made.vocabulary == known.vocabulary
    assert made.label_names == known.label_names
    np.testing.assert_array_equal(made.labels, known.labels)
    np.testing.assert_array_equal(made.split, known.split)
    assert load_corpus("20ng-raw").n_tokens == raw.n_tokens  # both came with one download


def test_newsgroups_archive_and_filter(tmp_path):
    rng = np.random.default_rng(0)
    words = ["bb", "zebra", "the", "rare", "often", "apple", "a1b"]
    counts = (rng.random((40, 7)) < 0.3) * 2
    counts[:, 3], counts[:, 4] = 0, 1
    counts[:4, 3] = 1
    split = ["train"] * 30 + ["test"] * 10
    corpus = Corpus(counts, words, "x", rng.integers(0, 20, 40), split=split)
    archive_of(corpus, tmp_path / "toy.tgz")
    raw = read_archive(tmp_path / "toy.tgz", words)
    np.testing.assert_array_equal(raw.counts.toarray(), counts)
    np.testing.assert_array_equal(raw.labels, corpus.labels)
    assert raw.split.tolist() == split
    # Too short, a stop word, in 4 documents, in all documents, with a digit: all leave.
    assert filter_words(raw).vocabulary == ("apple", "zebra")
    np.testing.assert_array_equal(filter_words(raw).counts.toarray(), counts[:, [5, 1]])


def test_another_archive_is_refused(tmp_path, server):
    folder, url, _ = server
    labels = np.zeros(40, dtype=int)
    counts = np.ones((40, 2), dtype=int)
    counts[20:, 0] = 0
    corpus = Corpus(counts, ["apple", "pear"], "x", labels, split=["train"] * 30 + ["test"] * 10)
    archive_of(corpus, folder / "20news-bydate-matlab.tgz")
    (folder / "vocabulary.txt").write_text("apple\npear\n")
    with pytest.raises(ChecksumError, match="20ng-raw, made of 20news-bydate-matlab.tgz"):
        load_corpus("20ng", base_url=url)
    (folder / "20news-bydate-matlab.tgz").write_text("no archive")
    with pytest.raises(CorpusFormatError, match="expected a tar archive"):
        load_corpus("20ng", base_url=url)
    assert cached_files(tmp_path) == []
