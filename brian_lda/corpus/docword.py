"""Streaming reader of UCI `docword` files.

Layout: three header lines D, W, NNZ, then NNZ lines `docID wordID count`, ids counted from 1,
sorted by docID. The file, plain or gzip, is read in blocks of whole lines, so that memory does not
grow with the corpus; every error names the file and the line.

A block in the layout that UCI writes (single spaces, digits only) is checked and converted by
whole-array operations: about 0.2 µs a line, gzip included, or 0.08 s for KOS. Any other block takes
the slow path, line by line, which accepts extra white space and finds the line that is wrong.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import CorpusFormatError

BLOCK_BYTES = 1 << 18  # larger blocks fall out of the cache, measured
HEADER_LINES = 3
LARGEST_INT32 = np.iinfo(np.int32).max
LONGEST_LINE = 4096  # bytes; a real line has three numbers
LONGEST_NUMBER = 18  # digits that always fit int64
SHORTEST_LINE = len(b"1 1 1\n")
LARGEST_GZIP_RATIO = 1032  # bound of the deflate format
# Documents may be empty, so D can exceed the number of lines; a header beyond this allowance is
# taken for damage rather than for a corpus of almost nothing but empty documents.
EMPTY_DOCUMENT_ALLOWANCE = 1_000_000

SPACE, NEWLINE, ZERO, NINE = b" \n09"


class Header(NamedTuple):
    """The first three lines of a docword file."""

    n_docs: int
    n_words: int
    n_entries: int


class EntryBlock(NamedTuple):
    """Consecutive entries of a docword file, ids counted from 0; three int32 arrays."""

    docs: np.ndarray
    words: np.ndarray
    counts: np.ndarray


def open_maybe_gzip(path: Path) -> gzip.GzipFile | BufferedReader:
    """Open for reading; gzip is told by its magic number, not by the file's name."""
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzip else open(path, "rb")


def iter_file_bytes(path: Path, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Uncompressed content in blocks; a damaged gzip raises CorpusFormatError."""
    n_lines = 0
    try:
        with open_maybe_gzip(path) as file:
            while block := file.read(block_bytes):
                n_lines += block.count(b"\n")
                yield block
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusFormatError(
            f"{path}: truncated or damaged gzip file after line {n_lines} ({error}). Download or "
            "copy the file again."
        ) from error


class DocwordReader:
    """Iterate over the entries of one docword file.

    Reading the header refuses sizes that a file of this length cannot hold, before anything is
    allocated for them. Iteration checks every line and, at the end, that the number of lines is
    the promised one.

    Parameters
    ----------
    path : path of `docword.*.txt` or `docword.*.txt.gz`
    block_bytes : int
        Size of the blocks in which the file is read.
    """

    def __init__(self, path: str | Path, *, block_bytes: int = BLOCK_BYTES) -> None:
        self.path = Path(path)
        self.block_bytes = block_bytes
        self.header = self._read_header()

    def _read_header(self) -> Header:
        lines = next(iter_file_bytes(self.path, LONGEST_LINE), b"").split(b"\n")[:HEADER_LINES]
        values = []
        for line, what in enumerate(("D (documents)", "W (words)", "NNZ (entries)"), start=1):
            text = lines[line - 1].strip() if len(lines) >= line else b""
            if not text.isdigit():
                raise self.error(
                    line,
                    f"expected {what} as one non-negative integer, found {_shown(text)}. A docword "
                    "file starts with three lines: D, W, NNZ",
                )
            values.append(int(text))
        header = Header(*values)
        self._check_header(header)
        return header

    def _check_header(self, header: Header) -> None:
        size = self.path.stat().st_size
        with open_maybe_gzip(self.path) as file:
            ratio = LARGEST_GZIP_RATIO if isinstance(file, gzip.GzipFile) else 1
        # The last line may lack its newline.
        most_entries = (size * ratio + 1) // SHORTEST_LINE
        most_docs = min(most_entries + EMPTY_DOCUMENT_ALLOWANCE, LARGEST_INT32)
        if header.n_docs > most_docs:
            raise self.error(
                1,
                f"the header claims {header.n_docs} documents, but a file of {size} bytes holds at "
                f"most {most_entries} entries. Check the header or copy the file again",
            )
        if header.n_words > LARGEST_INT32:
            raise self.error(
                2, f"the header claims {header.n_words} words; at most {LARGEST_INT32} are possible"
            )
        if header.n_entries > most_entries:
            raise self.error(
                3,
                f"the header claims {header.n_entries} entries, but a file of {size} bytes "
                f"holds at most {most_entries}. Header and body disagree: copy the file again",
            )
        if 0 in header:
            raise self.error(
                1 + header.index(0),
                f"empty corpus: the header says D = {header.n_docs}, W = {header.n_words}, "
                f"NNZ = {header.n_entries}. At least one document must contain a word",
            )

    def __iter__(self) -> Iterator[EntryBlock]:
        line = HEADER_LINES + 1  # number of the first line of the next block
        n_read = last_doc = 0
        for text in self._body_blocks():
            table = _parse_regular(text)
            if table is None:
                table = self._parse_lines(text, line)
            if len(table):
                self._check_entries(table, text, line, last_doc)
                last_doc = table[-1, 0]
                n_read += len(table)
                if n_read > self.header.n_entries:
                    self._refuse_surplus(text, line, n_read - len(table))
                docs, words, counts = table.astype(np.int32).T
                yield EntryBlock(docs - 1, words - 1, counts)
            line += text.count(b"\n")
        if n_read < self.header.n_entries:
            raise self.error(
                line - 1,
                f"the file ends after {n_read} entries, but the header (line 3) promises "
                f"{self.header.n_entries}. Header and body disagree: copy the file again or "
                "correct line 3",
            )

    def _refuse_surplus(self, text: bytes, line: int, n_before: int) -> None:
        promised = self.header.n_entries
        raise self.error(
            _line_of_entry(text, promised - n_before, line),
            f"an entry beyond the {promised} that the header (line 3) promises. Header and body "
            "disagree: copy the file again or correct line 3",
        )

    def _body_blocks(self) -> Iterator[bytes]:
        """Blocks of whole lines after the header; each ends with a newline."""
        rest = b""
        to_skip = HEADER_LINES
        for block in iter_file_bytes(self.path, self.block_bytes):
            # Files written on Windows, and tab-separated ones, are as good.
            text = (rest + block).replace(b"\r\n", b"\n").replace(b"\t", b" ")
            while to_skip and b"\n" in text:
                text = text[text.index(b"\n") + 1 :]
                to_skip -= 1
            end = 0 if to_skip else text.rfind(b"\n") + 1
            text, rest = text[:end], text[end:]
            if len(rest) > LONGEST_LINE:
                raise CorpusFormatError(
                    f"{self.path}: a line is longer than {LONGEST_LINE} bytes. This is no docword "
                    "file: expected lines 'docID wordID count'."
                )
            if text:
                yield text
        if rest and not to_skip:
            yield rest + b"\n"

    def _parse_lines(self, text: bytes, first_line: int) -> np.ndarray:
        """Slow path: any white space, blank lines skipped; the first wrong line is named."""
        rows = []
        for line, row in enumerate(text.split(b"\n")[:-1], start=first_line):
            fields = row.split()
            if not fields:
                continue
            if len(fields) != 3:
                raise self.error(
                    line,
                    f"expected 'docID wordID count', found {len(fields)} fields: {_shown(row)}",
                )
            for field, what in zip(fields, ("docID", "wordID", "count"), strict=True):
                if not field.isdigit() or len(field) > LONGEST_NUMBER:
                    raise self.error(
                        line,
                        f"{what} must be a positive integer (not negative, fractional or NaN), "
                        f"found {_shown(field)} in {_shown(row)}",
                    )
            rows.append([int(field) for field in fields])
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    def _check_entries(self, table: np.ndarray, text: bytes, line: int, last_doc: int) -> None:
        docs, words, counts = table.T
        limits = (
            ("docID", docs, self.header.n_docs, "D, line 1"),
            ("wordID", words, self.header.n_words, "W, line 2"),
            ("count", counts, LARGEST_INT32, "the largest count"),
        )
        for what, values, largest, origin in limits:
            if values.min() < 1 or values.max() > largest:
                entry = int(np.argmax((values < 1) | (values > largest)))
                raise self.error(
                    _line_of_entry(text, entry, line),
                    f"{what} must lie between 1 and {largest} ({origin}), found {values[entry]}. "
                    + ("Leave entries with count 0 out" if what == "count" else "Ids start at 1"),
                )
        steps = np.diff(docs, prepend=last_doc)
        if steps.min() < 0:
            entry = int(np.argmax(steps < 0))
            raise self.error(
                _line_of_entry(text, entry, line),
                f"docID {docs[entry]} comes after docID {docs[entry] - steps[entry]}. Entries must "
                "be sorted by docID: sort the body with `sort -n -k1,1 -k2,2`",
            )

    def error(self, line: int, message: str) -> CorpusFormatError:
        """An error that names this file and a line of it."""
        return CorpusFormatError(f"{self.path}, line {line}: {message}.")


def _parse_regular(text: bytes) -> np.ndarray | None:
    """Entries [entry, (doc, word, count)] if every line is `digits SP digits SP digits LF`."""
    characters = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(characters < ZERO)  # where each number ends
    if len(ends) % 3 or characters.max() > NINE:
        return None
    separators = characters[ends].reshape(-1, 3)
    if not ((separators[:, :2] == SPACE).all() and (separators[:, 2] == NEWLINE).all()):
        return None
    widths = np.diff(ends, prepend=-1) - 1
    if widths.min() < 1 or widths.max() > LONGEST_NUMBER:
        return None
    return np.fromstring(text, dtype=np.int64, sep=" ").reshape(-1, 3)


def _line_of_entry(text: bytes, entry: int, first_line: int) -> int:
    """Line number of the block's n-th entry; blank lines hold no entry."""
    filled = [line for line, row in enumerate(text.split(b"\n")) if row.strip()]
    return first_line + filled[entry]


def _shown(text: bytes) -> str:
    """Text for an error message, cut to a readable length."""
    shown = text[:40].decode("utf-8", errors="replace")
    return repr(shown + "..." if len(text) > 40 else shown)
