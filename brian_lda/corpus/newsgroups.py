"""20 Newsgroups, by-date version, from the counts that J. Rennie publishes.

His archive holds `{train,test}.data` (lines `docIdx wordIdx count`, both from 1) and
`{train,test}.label`. Two corpora come out: `20ng-raw`, everything, and `20ng`, the words that match
`[a-z]{3,}`, are no English stop words, and occur in at least 5 and at most half of the documents
(training and test documents together), in alphabetical order. Documents keep their order, so that
three of them become empty.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from ..errors import CorpusFormatError
from .corpus import Corpus
from .locate import NamedCorpus, RemoteFile, check_content
from .uci import read_lines, write_uci

URL = "http://qwone.com/~jason/20Newsgroups/"
ARCHIVE = "20news-bydate-matlab.tgz"
VOCABULARY = "vocabulary.txt"
CONTENT_SHA256 = {
    "20ng-raw": "a8697a50076e8df3201936703981a7bec0b3bfc243c45af063a23f41b8e5ed8a",
    "20ng": "e03dfe10c9fb88c738354d55e411270b9edd87e29cc091f8ad81accbb7b4e73e",
}
GROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)


def unpack_newsgroups(download: Path, target: Path) -> None:
    """Write both corpora in UCI layout into `target`, then check what was written."""
    raw = read_archive(download / ARCHIVE, read_lines(download / VOCABULARY))
    for corpus in (raw, filter_words(raw)):
        docword = write_uci(corpus, download / corpus.name)
        check_content(docword, CONTENT_SHA256[corpus.name], f"{corpus.name}, made of {ARCHIVE}")
    for corpus_name in CONTENT_SHA256:
        # docword sorts before vocab: moved in reverse, it completes the corpus.
        for file in sorted((download / corpus_name).iterdir(), reverse=True):
            file.replace(target / file.name)


def read_archive(archive: Path, vocabulary: list[str]) -> Corpus:
    """The raw corpus: training documents first, then test documents."""
    tables, labels, n_docs = [], [], 0
    try:
        with tarfile.open(archive) as tar:
            members = {Path(member.name).name: member for member in tar if member.isfile()}
            for part in ("train", "test"):
                label = _numbers(tar, members[f"{part}.label"])
                table = _numbers(tar, members[f"{part}.data"]).reshape(-1, 3)
                tables.append(table + (n_docs, 0, 0))
                labels.append(label - 1)
                n_docs += len(label)
    except (tarfile.TarError, KeyError, ValueError) as error:
        raise CorpusFormatError(
            f"{archive}: expected a tar archive with train.data, train.label, test.data and "
            f"test.label, found a problem: {error}."
        ) from error
    docs, words, counts = np.concatenate(tables).T
    matrix = sparse.coo_array((counts, (docs - 1, words - 1)), shape=(n_docs, len(vocabulary)))
    split = np.repeat(["train", "test"], [len(label) for label in labels])
    names = tuple(vocabulary)
    return Corpus(matrix, names, "20ng-raw", np.concatenate(labels), GROUPS, split)


def _numbers(tar: tarfile.TarFile, member: tarfile.TarInfo) -> np.ndarray:
    file = tar.extractfile(member)
    if file is None:
        raise tarfile.ExtractError(f"{member.name} is no file")
    # Garbage ends the array early; the checksum of what is made of it tells.
    return np.fromstring(file.read(), dtype=np.int64, sep=" ")


def filter_words(raw: Corpus) -> Corpus:
    """The filtered variant, over the same documents."""
    n_docs_with_word = np.bincount(raw.counts.indices, minlength=raw.n_words)
    keep = [
        w
        for w, word in enumerate(raw.vocabulary)
        if re.fullmatch("[a-z]{3,}", word)
        and word not in ENGLISH_STOP_WORDS
        and 5 <= n_docs_with_word[w] <= raw.n_docs / 2
    ]
    keep.sort(key=raw.vocabulary.__getitem__)
    vocabulary = tuple(raw.vocabulary[w] for w in keep)
    counts = raw.counts[:, keep]
    return Corpus(counts, vocabulary, "20ng", raw.labels, raw.label_names, raw.split)


def newsgroups_corpus(tag: str) -> NamedCorpus:
    """`20ng` or `20ng-raw`; a download brings both."""
    files = (RemoteFile(ARCHIVE), RemoteFile(VOCABULARY))
    return NamedCorpus(tag, "20ng", URL, files, unpack_newsgroups)
