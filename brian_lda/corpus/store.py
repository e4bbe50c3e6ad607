"""A corpus on disk, for corpora that do not fit into memory.

A token store is a directory with the three arrays of a CSR matrix as .npy files, opened as memory
maps, and a metadata file. It is built once from a docword file, block by block, and then read one
mini-batch at a time: neither step holds more than a block, or a batch, in memory.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from ..errors import CorpusFormatError, ParameterError
from .docword import BLOCK_BYTES, DocwordReader
from .load import locate_docword
from .locate import cache_dir
from .streams import DocumentBatch, document_batches
from .uci import read_vocabulary, tag_of

logger = logging.getLogger(__name__)

FORMAT_VERSION = 1
METADATA = "store.json"
ARRAYS = ("indptr", "indices", "counts")


class TokenStore:
    """Read documents from a token store.

    Parameters
    ----------
    directory : str or Path
        Made by `TokenStore.build` or `open_token_store`.

    Attributes
    ----------
    n_docs, n_words, n_tokens : int
        D, V, N.
    name : str
    vocabulary : tuple of str, length n_words
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        metadata = read_metadata(self.directory)
        self.name: str = metadata["name"]
        self.n_docs: int = metadata["n_docs"]
        self.n_words: int = metadata["n_words"]
        self.n_tokens: int = metadata["n_tokens"]
        self.vocabulary: tuple[str, ...] = tuple(metadata["vocabulary"])
        self._indptr, self._indices, self._counts = (
            np.load(self.directory / f"{array}.npy", mmap_mode="r") for array in ARRAYS
        )

    @classmethod
    def build(
        cls, docword: str | Path, directory: str | Path, *, block_bytes: int = BLOCK_BYTES
    ) -> TokenStore:
        """Build a store from a docword file and the vocabulary beside it, in constant memory.

        Parameters
        ----------
        docword : str or Path
        directory : str or Path
            Must not exist. It appears under this name only when it is complete.
        block_bytes : int
            Size of the blocks in which the file is read.
        """
        directory = Path(directory)
        if directory.exists():
            raise ParameterError(f"{directory} exists. Open it with TokenStore, or remove it.")
        directory.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=directory.parent, prefix=".building-"))
        try:
            _write_store(Path(docword), scratch, block_bytes)
            os.replace(scratch, directory)
        except BaseException:
            shutil.rmtree(scratch)
            raise
        return cls(directory)

    def rows(self, doc_ids: np.ndarray) -> sparse.csr_array:
        """Counts of the given documents, in that order: csr_array, shape (rows, n_words)."""
        doc_ids = np.asarray(doc_ids)
        starts, ends = self._indptr[doc_ids], self._indptr[doc_ids + 1]
        indptr = np.concatenate(([0], np.cumsum(ends - starts)))
        rows = sparse.csr_array(
            (
                _read_ranges(self._counts, starts, ends),
                _read_ranges(self._indices, starts, ends),
                indptr.astype(np.int32),
            ),
            shape=(len(doc_ids), self.n_words),
        )
        rows.sum_duplicates()  # also sorts; nothing to do for a sorted docword file
        return rows

    def batches(
        self, batch_size: int, *, seed: int | None = None, n_batches: int | None = None
    ) -> Iterator[DocumentBatch]:
        """Mini-batches of documents.

        In the order of the file, one pass, if `seed` is None; else as `document_batches` does.
        """
        if seed is not None:
            return document_batches(self, batch_size, seed, n_batches)
        if batch_size < 1 or n_batches is not None:
            raise ParameterError(
                f"batch_size must be at least 1, found {batch_size}; n_batches goes with a seed, "
                f"found {n_batches}."
            )
        return self._batches_in_order(batch_size)

    def _batches_in_order(self, batch_size: int) -> Iterator[DocumentBatch]:
        for start in range(0, self.n_docs, batch_size):
            doc_ids = np.arange(start, min(start + batch_size, self.n_docs))
            yield DocumentBatch(self.rows(doc_ids), doc_ids)

    def __repr__(self) -> str:
        return (
            f"TokenStore({self.name!r}, {self.n_docs} documents, {self.n_words} words, "
            f"{self.n_tokens} tokens, {str(self.directory)!r})"
        )


def _read_ranges(array: np.memmap, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """array[starts[0]:ends[0]], array[starts[1]:ends[1]], ... in one piece, read from its file.

    Not by way of the memory map: the system maps the neighbours of every page that is touched, and
    a mini-batch of scattered documents would soon have all of a large file counted as our memory.
    """
    out = np.empty(int((ends - starts).sum()), array.dtype)
    target, size = out.data.cast("B"), array.dtype.itemsize
    is_first = np.ones(len(starts), bool)  # of a run of documents that lie one after the other
    is_first[1:] = starts[1:] != ends[:-1]
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(starts)) - 1
    filled = 0
    assert array.filename is not None  # np.load maps a file by its name
    with open(array.filename, "rb", buffering=0) as file:
        for start, end in zip(starts[first].tolist(), ends[last].tolist(), strict=True):
            file.seek(array.offset + start * size)
            stop = filled + (end - start) * size
            while filled < stop:
                n_read = file.readinto(target[filled:stop])
                if not n_read:
                    raise CorpusFormatError(f"{array.filename} ends early; build the store again.")
                filled += n_read
    return out


def open_token_store(
    name_or_path: str | Path,
    *,
    data_dir: str | Path | None = None,
    store_dir: str | Path | None = None,
) -> TokenStore:
    """Token store of a corpus in UCI layout, built at the first call.

    Parameters
    ----------
    name_or_path : str or Path
        A named corpus of `load_corpus` ("pubmed"), a docword file, or a directory with one.
    data_dir : str or Path, optional
        As in `load_corpus`.
    store_dir : str or Path, optional
        Where the store is, or shall be: in the user's cache if omitted. A store that was built
        from another file, or before the file changed, is built anew.
    """
    docword = locate_docword(name_or_path, data_dir=data_dir).resolve()
    if store_dir is None:
        store_dir = cache_dir() / "stores" / tag_of(docword)
    store_dir = Path(store_dir)
    if (store_dir / METADATA).is_file():
        if read_metadata(store_dir)["source"] == _fingerprint(docword):
            return TokenStore(store_dir)
        logger.info("%s changed: building its token store anew", docword)
        _remove_store(store_dir)
    return TokenStore.build(docword, store_dir)


def read_metadata(directory: Path) -> dict:
    """Metadata of a store; an error if there is none or it is of another version."""
    file = directory / METADATA
    if not file.is_file():
        raise CorpusFormatError(
            f"{directory} is no token store: {METADATA} is missing. Build it with TokenStore.build."
        )
    metadata = json.loads(file.read_text(encoding="utf-8"))
    if metadata.get("format_version") != FORMAT_VERSION:
        raise CorpusFormatError(
            f"{file}: format version {metadata.get('format_version')}, expected {FORMAT_VERSION}. "
            "Remove the directory and build the store again."
        )
    return metadata


def _write_store(docword: Path, directory: Path, block_bytes: int) -> None:
    reader = DocwordReader(docword, block_bytes=block_bytes)
    n_docs, n_words, n_entries = reader.header
    vocabulary = read_vocabulary(docword, n_words)

    def new_array(name: str, dtype: type, size: int) -> np.memmap:
        file = directory / f"{name}.npy"
        return np.lib.format.open_memmap(file, mode="w+", dtype=dtype, shape=(size,))

    indptr = new_array("indptr", np.int64, n_docs + 1)
    indices = new_array("indices", np.int32, n_entries)
    counts = new_array("counts", np.int32, n_entries)
    n_read = n_tokens = next_doc = 0
    for block in reader:
        end = n_read + len(block.docs)
        indices[n_read:end] = block.words
        counts[n_read:end] = block.counts
        n_tokens += int(block.counts.sum(dtype=np.int64))
        # Documents whose first entry is not before this block start at the entry found here.
        last_doc = int(block.docs[-1])
        started = np.arange(next_doc, last_doc + 1)
        indptr[next_doc : last_doc + 1] = n_read + np.searchsorted(block.docs, started)
        next_doc = last_doc + 1
        n_read = end
    indptr[next_doc:] = n_read
    for array in (indptr, indices, counts):
        array.flush()
    metadata = {
        "format_version": FORMAT_VERSION,
        "name": tag_of(docword),
        "n_docs": n_docs,
        "n_words": n_words,
        "n_tokens": n_tokens,
        "source": _fingerprint(docword),
        "vocabulary": vocabulary,
    }
    (directory / METADATA).write_text(json.dumps(metadata), encoding="utf-8")


def _remove_store(directory: Path) -> None:
    """Remove our own files only: the directory is the user's choice."""
    for file in (METADATA, *(f"{array}.npy" for array in ARRAYS)):
        (directory / file).unlink(missing_ok=True)
    directory.rmdir()


def _fingerprint(docword: Path) -> dict:
    stat = docword.stat()
    return {"file": str(docword.resolve()), "bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}
