"""Corpora in the UCI bag-of-words layout: read a directory, write a directory.

Files of a corpus `<tag>`, side by side:

- `docword.<tag>.txt` or `docword.<tag>.txt.gz`: header D, W, NNZ, then `docID wordID count`;
- `vocab.<tag>.txt`: word of each wordID, one a line;
- optional, one line per document: `labels.<tag>.txt` and `split.<tag>.txt` (train or test);
- optional `groups.<tag>.txt`: names of the labels 1, 2, ...

A variant `<tag>-<variant>` that lacks one of the last four shares that of `<tag>`.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from io import BufferedWriter
from pathlib import Path

import numpy as np
from scipy import sparse

from ..errors import CorpusFormatError
from .corpus import Corpus
from .docword import DocwordReader, iter_file_bytes

ENTRIES_PER_WRITE = 1 << 16
COMPRESSION_LEVEL = 6  # the default, 9, takes twice as long to save 0.1 %


def read_uci(path: str | Path, *, name: str = "") -> Corpus:
    """Read a corpus in UCI layout.

    Parameters
    ----------
    path : str or Path
        A docword file, or a directory that holds exactly one.
    name : str
        Name of the corpus; the files' tag if empty.

    Returns
    -------
    Corpus
        Labels count from 0: label k of `labels.*` becomes k - 1 when `groups.*` names the labels.
    """
    docword = find_docword(path)
    reader = DocwordReader(docword)
    vocabulary = read_vocabulary(docword, reader.header.n_words)
    labels, label_names = _read_labels(docword, reader.header.n_docs)
    return Corpus(
        counts=_read_counts(reader),
        vocabulary=vocabulary,
        name=name or tag_of(docword),
        labels=labels,
        label_names=label_names,
        split=_read_split(docword, reader.header.n_docs),
    )


def find_docword(path: str | Path) -> Path:
    """The docword file that `path` is or, as a directory, holds."""
    path = Path(path)
    if path.is_file():
        return path
    candidates = sorted({*path.glob("docword.*.txt"), *path.glob("docword.*.txt.gz")})
    tags = {tag_of(file) for file in candidates}
    if len(tags) == 1:
        return candidates[0]  # the plain file, should the same corpus also be there as gzip
    if not candidates:
        raise CorpusFormatError(
            f"{path} holds no docword file. The UCI layout is docword.<tag>.txt[.gz] beside "
            "vocab.<tag>.txt."
        )
    files = ", ".join(file.name for file in candidates)
    raise CorpusFormatError(f"{path} holds several corpora ({files}). Pass the path of one file.")


def tag_of(docword: Path) -> str:
    """`kos` of `docword.kos.txt.gz`."""
    return docword.name.removeprefix("docword.").removesuffix(".gz").removesuffix(".txt")


def read_vocabulary(docword: Path, n_words: int) -> tuple[str, ...]:
    """Words of the vocabulary file beside `docword`; there must be `n_words`."""
    file = _companion(docword, "vocab")
    if file is None:
        raise CorpusFormatError(
            f"{docword} has no vocabulary: expected vocab.{tag_of(docword)}.txt beside it, with "
            f"{n_words} lines, one word each."
        )
    words = read_lines(file)
    if len(words) != n_words:
        relation = "shorter" if len(words) < n_words else "longer"
        raise CorpusFormatError(
            f"{file}: the vocabulary is {relation} than W: it has {len(words)} lines, but "
            f"{docword.name} (line 2) says W = {n_words}. Copy the vocabulary that belongs to this "
            "docword file."
        )
    return tuple(words)


def read_lines(file: Path) -> list[str]:
    """Stripped lines of a text file; blank ones at its end do not count."""
    content = b"".join(iter_file_bytes(file))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:  # older corpora; every byte is a latin-1 character
        text = content.decode("latin-1")
    # Not str.splitlines: it also splits at characters that may be part of a word.
    return [line.strip() for line in text.rstrip().split("\n")] if text.strip() else []


def _companion(docword: Path, kind: str) -> Path | None:
    tag = tag_of(docword)
    for candidate_tag in dict.fromkeys((tag, tag.rpartition("-")[0])):
        for suffix in (".txt", ".txt.gz"):
            file = docword.with_name(f"{kind}.{candidate_tag}{suffix}")
            if candidate_tag and file.is_file():
                return file
    return None


def _read_counts(reader: DocwordReader) -> sparse.csr_array:
    n_docs, n_words, n_entries = reader.header
    indptr = np.zeros(n_docs + 1, dtype=np.int64)
    indices = np.empty(n_entries, dtype=np.int32)
    counts = np.empty(n_entries, dtype=np.int32)
    n_read = 0
    for block in reader:
        end = n_read + len(block.docs)
        indices[n_read:end] = block.words
        counts[n_read:end] = block.counts
        first = block.docs[0]
        entries_of_docs = np.bincount(block.docs - first)
        indptr[first + 1 : first + 1 + len(entries_of_docs)] += entries_of_docs
        n_read = end
    np.cumsum(indptr, out=indptr)
    if n_entries <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)  # else scipy widens `indices` to match
    csr = sparse.csr_array((counts, indices, indptr), shape=(n_docs, n_words))
    for buffer in (csr.data, csr.indices, csr.indptr):
        buffer.flags.writeable = False  # ours alone: Corpus need not copy
    return csr


def _read_lines_per_document(file: Path, n_docs: int) -> list[str]:
    lines = read_lines(file)
    if len(lines) != n_docs:
        raise CorpusFormatError(
            f"{file} has {len(lines)} lines, but its docword file (line 1) says D = {n_docs}. "
            "Expected one line per document."
        )
    return lines


def _read_labels(docword: Path, n_docs: int) -> tuple[np.ndarray | None, tuple[str, ...] | None]:
    file = _companion(docword, "labels")
    if file is None:
        return None, None
    values = _read_lines_per_document(file, n_docs)
    groups = _companion(docword, "groups")
    if groups is None:
        numeric = all(value.isdigit() for value in values)
        names = tuple(sorted(set(values), key=int if numeric else None))
        code = {value: k for k, value in enumerate(names)}
    else:
        names = tuple(read_lines(groups))
        code = {str(k): k - 1 for k in range(1, len(names) + 1)}
        for line, value in enumerate(values, start=1):
            if value not in code:
                raise CorpusFormatError(
                    f"{file}, line {line}: expected a label between 1 and {len(names)}, as "
                    f"{groups.name} names {len(names)} groups, found {value!r}."
                )
    return np.array([code[value] for value in values], dtype=np.int64), names


def _read_split(docword: Path, n_docs: int) -> np.ndarray | None:
    file = _companion(docword, "split")
    if file is None:
        return None
    values = _read_lines_per_document(file, n_docs)
    for line, value in enumerate(values, start=1):
        if value not in ("train", "test"):
            raise CorpusFormatError(
                f"{file}, line {line}: expected train or test, found {value!r}."
            )
    return np.array(values, dtype=str)


def write_uci(
    corpus: Corpus, directory: str | Path, *, tag: str = "", compress: bool = True
) -> Path:
    """Write a corpus in UCI layout; `read_uci` reads it back unchanged.

    Parameters
    ----------
    corpus : Corpus
    directory : str or Path
        Made if missing.
    tag : str
        `<tag>` of the files' names; the corpus' name, or "corpus", if empty.
    compress : bool
        Write `docword.<tag>.txt.gz` rather than plain text. The bytes do not depend on the time.

    Returns
    -------
    Path
        The docword file.
    """
    _check_words_are_lines(corpus)
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    tag = tag or corpus.name or "corpus"
    lines_of_file: dict[str, Sequence[str]] = {"vocab": corpus.vocabulary}
    if corpus.labels is not None:
        names = corpus.label_names or [str(k) for k in range(int(corpus.labels.max()) + 1)]
        lines_of_file["labels"] = [str(label + 1) for label in corpus.labels]
        lines_of_file["groups"] = names
    if corpus.split is not None:
        lines_of_file["split"] = corpus.split.tolist()
    for kind, lines in lines_of_file.items():
        content = "".join(f"{line}\n" for line in lines)
        (directory / f"{kind}.{tag}.txt").write_text(content, encoding="utf-8", newline="\n")
    docword = directory / f"docword.{tag}.txt{'.gz' if compress else ''}"
    with open(docword, "wb") as file:
        if compress:
            with gzip.GzipFile("", "wb", COMPRESSION_LEVEL, file, mtime=0) as packed:
                _write_entries(corpus, packed)
        else:
            _write_entries(corpus, file)
    return docword


def _write_entries(corpus: Corpus, file: gzip.GzipFile | BufferedWriter) -> None:
    counts = corpus.counts
    file.write(f"{corpus.n_docs}\n{corpus.n_words}\n{counts.nnz}\n".encode())
    docs = np.repeat(np.arange(corpus.n_docs), np.diff(counts.indptr))
    for start in range(0, counts.nnz, ENTRIES_PER_WRITE):
        part = slice(start, start + ENTRIES_PER_WRITE)
        table = np.column_stack((docs[part] + 1, counts.indices[part] + 1, counts.data[part]))
        file.write("".join(f"{d} {w} {n}\n" for d, w, n in table.tolist()).encode())


def _check_words_are_lines(corpus: Corpus) -> None:
    for argument, lines in (("vocabulary", corpus.vocabulary), ("label_names", corpus.label_names)):
        for k, line in enumerate(lines or ()):
            if not line or line != line.strip() or "\n" in line:
                raise CorpusFormatError(
                    f"{argument}[{k}] is {line!r}: the UCI layout has one word a line, so that a "
                    "word can neither be empty nor start, end or break with white space."
                )
