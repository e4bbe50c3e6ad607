"""How an array goes through a pipe, to a compiled network and back; `serve.h` is the other side.

First its bytes, then how many of its 8-byte words follow. An array of which most is zero goes as
the places of its other words, 4 bytes each, and these words: of the eligibilities N_zw that a
mini-batch leaves, nineteen in twenty are zero. Every other array goes as it is, which `WHOLE` says.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import numpy as np

WHOLE = 2**64 - 1
LONG = 512  # words; shorter arrays always go whole
FEW = 4  # one word in so many, and fewer: an array goes in parts


def sent(array: np.ndarray) -> Iterator[bytes | memoryview]:
    """What is to be written for an array, contiguous."""
    places = _places(array)
    if places is None:
        yield struct.pack("=QQ", array.nbytes, WHOLE)
        yield _bytes_of(array)
    else:
        yield struct.pack("=QQ", array.nbytes, places.size)
        yield _bytes_of(places.astype(np.uint32))
        yield _bytes_of(array.view(np.uint64)[places])


def received(read: Callable[[memoryview], None], dtype: str) -> np.ndarray:
    """The array that comes in next.

    Parameters
    ----------
    read : callable
        Fills the memory that it is given.
    dtype : str
    """
    header = bytearray(16)
    read(memoryview(header))
    n_bytes, n_words = struct.unpack("=QQ", header)
    size = n_bytes // np.dtype(dtype).itemsize
    if n_words == WHOLE:
        array = np.empty(size, dtype)
        read(_bytes_of(array))
        return array
    array, places, words = np.zeros(size, dtype), np.empty(n_words, np.uint32), np.empty(n_words)
    read(_bytes_of(places))
    read(_bytes_of(words))
    array.view(np.uint64)[places] = words.view(np.uint64)
    return array


def _places(array: np.ndarray) -> np.ndarray | None:
    """Where the words that are not zero are, bit by bit (-0.0 is not zero); None: in too many."""
    if array.nbytes < 8 * LONG or array.nbytes % 8:
        return None
    words = array.view(np.uint64)
    if np.count_nonzero(words) > words.size // FEW or words.size >= 2**32:
        return None
    return np.flatnonzero(words)


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.data.cast("B") if array.size else memoryview(bytearray())
