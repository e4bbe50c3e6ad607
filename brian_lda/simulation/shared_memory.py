"""Memory that a compiled network and its caller both see; `serve.h` is the other side.

Arrays go through it, one after the other, each at the next multiple of `ALIGNMENT` bytes. Pipes
carry only how long they are. The memory grows with what passes through, has no name that anybody
else could open, and is gone when both sides are.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence

import numpy as np

ALIGNMENT = 64  # as in serve.h


class SharedMemory:
    """Arrays on their way to another process and back.

    Attributes
    ----------
    descriptor : int
        Of the file in memory that the other process maps.
    """

    def __init__(self) -> None:
        self.descriptor = _file_without_name()
        self._bytes = np.empty(0, np.uint8)

    def put(self, arrays: Sequence[np.ndarray]) -> None:
        """Lay contiguous arrays down; what was there before is overwritten."""
        for array, place in zip(arrays, self._places([a.nbytes for a in arrays]), strict=True):
            if array.size:
                place[:] = array.reshape(-1).view(np.uint8)

    def take(self, n_bytes: Sequence[int], dtypes: Sequence[str]) -> list[np.ndarray]:
        """Copies of the arrays that the other process has laid down; they cannot be written to."""
        arrays = []
        for place, dtype in zip(self._places(n_bytes), dtypes, strict=True):
            array = np.empty(place.size // np.dtype(dtype).itemsize, dtype)
            if array.size:
                array.view(np.uint8)[:] = place
            array.setflags(write=False)
            arrays.append(array)
        return arrays

    def close(self) -> None:
        """Let go of the memory, here."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor, self._bytes = -1, np.empty(0, np.uint8)

    def _places(self, n_bytes: Sequence[int]) -> Iterator[np.ndarray]:
        starts = [0]
        for n in n_bytes:
            starts.append(starts[-1] + -(-n // ALIGNMENT) * ALIGNMENT)
        if starts[-1] > self._bytes.size:
            size = max(starts[-1], os.fstat(self.descriptor).st_size)
            os.ftruncate(self.descriptor, size)  # the other side may have made it longer
            self._bytes = np.frombuffer(mmap.mmap(self.descriptor, size), np.uint8)
        for start, n in zip(starts, n_bytes, strict=False):
            yield self._bytes[start : start + n]


def _file_without_name() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("brian_lda")
    descriptor, path = tempfile.mkstemp(prefix="brian_lda")  # not Linux
    os.unlink(path)
    return descriptor
