"""Where the files of a named corpus are: on disk, or else downloaded into the user's cache.

Lookup order: the `data_dir` argument, the folder in the environment variable BRIAN_LDA_DATA, the
user's cache (BRIAN_LDA_CACHE, or what pooch considers the user's cache folder), then a download
into that cache. Within a folder the files may lie in a subfolder named after the corpus
(`<dir>/kos/docword.kos.txt.gz`) or in the folder itself.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pooch

from ..errors import ChecksumError, CorpusFormatError, CorpusNotFoundError
from .docword import DocwordReader, iter_file_bytes
from .uci import read_vocabulary

logger = logging.getLogger(__name__)

UCI_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/"
BASE_URL_VARIABLE = "BRIAN_LDA_BASE_URL"
DATA_VARIABLE = "BRIAN_LDA_DATA"
CACHE_VARIABLE = "BRIAN_LDA_CACHE"
DOWNLOAD_TIMEOUT_SECONDS = 30  # without an answer, not for the whole file


@dataclass(frozen=True)
class RemoteFile:
    """A file of a corpus; `sha256` is that of its uncompressed content, where we know it."""

    name: str
    sha256: str | None = None


@dataclass(frozen=True)
class NamedCorpus:
    """What the world offers of one named corpus.

    Parameters
    ----------
    tag : str
        Of its files, `docword.<tag>.txt.gz`.
    folder : str
        Subfolder of a data directory.
    base_url : str
        Folder on the web that holds the files.
    files : tuple of RemoteFile
    unpack : callable(download folder, target folder), optional
        Turns what was downloaded into UCI layout, for corpora that are published otherwise.
    """

    tag: str
    folder: str
    base_url: str
    files: tuple[RemoteFile, ...]
    unpack: Callable[[Path, Path], None] | None = None


def uci_corpus(
    tag: str, docword_sha256: str | None = None, vocab_sha256: str | None = None
) -> NamedCorpus:
    """A corpus of the UCI bag-of-words data set."""
    files = (
        RemoteFile(f"docword.{tag}.txt.gz", docword_sha256),
        RemoteFile(f"vocab.{tag}.txt", vocab_sha256),
    )
    return NamedCorpus(tag, tag, UCI_URL, files)


def locate(
    corpus: NamedCorpus, *, data_dir: str | Path | None = None, base_url: str | None = None
) -> Path:
    """Path of the corpus' docword file, downloaded if it is nowhere on disk.

    Parameters
    ----------
    corpus : NamedCorpus
    data_dir : str or Path, optional
        Searched first.
    base_url : str, optional
        Download from here (a mirror) instead; so does the variable BRIAN_LDA_BASE_URL.
    """
    if docword := find_on_disk(corpus, data_dir=data_dir):
        return docword
    url = base_url or os.environ.get(BASE_URL_VARIABLE) or corpus.base_url
    _download(corpus, url.rstrip("/") + "/", _searched(data_dir))
    docword = _docword_in(cache_dir(), corpus)
    if docword is None:
        raise CorpusNotFoundError(
            f"{url} brought no docword file of the corpus {corpus.tag}. Try again, or get it from "
            "another mirror (base_url=)."
        )
    return docword


def find_on_disk(corpus: NamedCorpus, *, data_dir: str | Path | None = None) -> Path | None:
    """Path of the corpus' docword file if it is on disk already, else None."""
    if data_dir is not None and not Path(data_dir).is_dir():
        raise CorpusNotFoundError(f"data_dir {str(data_dir)!r} is not a directory.")
    for directory in _searched(data_dir):
        if docword := _docword_in(directory, corpus):
            logger.debug("corpus %s: %s", corpus.tag, docword)
            return docword
    return None


def _searched(data_dir: str | Path | None) -> list[Path]:
    named = [Path(d) for d in (data_dir, os.environ.get(DATA_VARIABLE)) if d]
    return [*named, cache_dir()]


def cache_dir() -> Path:
    """The user's cache folder of this package; not created here."""
    return Path(os.environ.get(CACHE_VARIABLE) or pooch.os_cache("brian_lda"))


def _docword_in(directory: Path, corpus: NamedCorpus) -> Path | None:
    for folder in (directory / corpus.folder, directory):
        for suffix in (".txt.gz", ".txt"):
            docword = folder / f"docword.{corpus.tag}{suffix}"
            if docword.is_file():
                return docword
    return None


def _download(corpus: NamedCorpus, url: str, searched: Iterable[Path]) -> None:
    """Fetch all files of a corpus into the cache; nothing stays there unless all is well."""
    target = cache_dir() / corpus.folder
    target.mkdir(parents=True, exist_ok=True)
    downloader = pooch.HTTPDownloader(timeout=DOWNLOAD_TIMEOUT_SECONDS)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-") as scratch:
        for file in corpus.files:
            try:
                pooch.retrieve(
                    url + file.name,
                    known_hash=None,  # what we know is the hash of the content, checked below
                    fname=file.name,
                    path=scratch,
                    downloader=downloader,
                )
            except OSError as error:  # every exception of requests is one
                raise _not_downloaded(corpus, url, searched, error) from error
            check_content(Path(scratch) / file.name, file.sha256, url + file.name)
        if corpus.unpack is None:
            _check_layout(Path(scratch) / corpus.files[0].name, url)
            # The docword file goes last: while it is missing, the corpus counts as absent.
            for file in reversed(corpus.files):
                os.replace(Path(scratch) / file.name, target / file.name)
        else:
            corpus.unpack(Path(scratch), target)


def check_content(path: Path, sha256: str | None, origin: str) -> None:
    """Read a file to its end; damaged gzip or, where it is known, a wrong checksum is an error."""
    digest = hashlib.sha256()
    try:
        for block in iter_file_bytes(path):
            digest.update(block)
    except CorpusFormatError as error:
        raise ChecksumError(f"{origin} arrived damaged: {error}") from error
    if sha256 is None:
        logger.info("%s: no checksum is known; sha256 is %s", origin, digest.hexdigest())
    elif digest.hexdigest() != sha256:
        raise ChecksumError(
            f"{origin}: expected content with sha256 {sha256}, found {digest.hexdigest()}. The "
            "file was not kept. Try again, or get it from another mirror (base_url=)."
        )


def _check_layout(docword: Path, url: str) -> None:
    """Web servers answer with a page of their own, too: that must not become a corpus."""
    try:
        read_vocabulary(docword, DocwordReader(docword).header.n_words)
    except CorpusFormatError as error:
        raise CorpusFormatError(
            f"What arrived from {url} is no corpus, and was not kept: {error}"
        ) from error


def _not_downloaded(
    corpus: NamedCorpus, url: str, searched: Iterable[Path], error: Exception
) -> CorpusNotFoundError:
    names = [file.name for file in corpus.files]
    places = ", ".join(str(directory) for directory in searched)
    if corpus.unpack is None:
        by_hand = (
            f"Place the files by hand: get {' and '.join(names)}, put them into "
            f"<dir>/{corpus.folder}/, then pass data_dir=<dir> or set {DATA_VARIABLE}=<dir>."
        )
    else:
        by_hand = (
            f"Place the files by hand: either docword.{corpus.tag}.txt.gz and "
            f"vocab.{corpus.tag}.txt in <dir>/{corpus.folder}/, with data_dir=<dir> or "
            f"{DATA_VARIABLE}=<dir>; or make {' and '.join(names)} available under an address "
            "that you pass as base_url."
        )
    return CorpusNotFoundError(
        f"Corpus {corpus.tag!r} is not in {places} and could not be downloaded from {url} "
        f"({error}). {by_hand}"
    )
