"""Arrays through memory that two processes see: the same bits come out, whoever made it longer."""

import mmap
import os

import numpy as np
import pytest

from brian_lda.simulation import shared_memory
from brian_lda.simulation.shared_memory import ALIGNMENT, SharedMemory

ARRAYS = [
    np.array([1.5, -0.0, np.nan]),
    np.zeros(0),
    np.arange(7, dtype=np.int32),
    np.array([True, False, True]),
    np.random.default_rng(0).random(100_000),
    np.full((), 3.0),
]


@pytest.fixture(params=["in memory", "in a file"])
def memory(request, monkeypatch):
    """As on Linux, and elsewhere."""
    if request.param == "in a file":
        monkeypatch.delattr(os, "memfd_create", raising=False)
    made = SharedMemory()
    yield made
    made.close()


def test_the_same_bits_come_out(memory):
    for arrays in (ARRAYS, ARRAYS[:2], ARRAYS[::-1], []):
        memory.put(arrays)
        dtypes = [array.dtype.str for array in arrays]
        taken = memory.take([array.nbytes for array in arrays], dtypes)
        for array, found in zip(arrays, taken, strict=True):
            assert found.dtype == array.dtype and not found.flags.writeable
            np.testing.assert_array_equal(found.view(np.uint8), array.reshape(-1).view(np.uint8))


def test_what_was_taken_stays(memory):
    memory.put([np.arange(5)])
    (taken,) = memory.take([40], ["<i8"])
    memory.put([np.zeros(5, int)])
    np.testing.assert_array_equal(taken, np.arange(5))


def test_arrays_lie_where_the_program_looks(memory):
    """One after the other, each at the next multiple of 64 bytes, as `serve.h` has it."""
    assert ALIGNMENT == 64
    memory.put([np.arange(9.0), np.zeros(0), np.arange(3, dtype=np.int32), np.ones(1)])
    seen = os.pread(memory.descriptor, 1000, 0)
    np.testing.assert_array_equal(np.frombuffer(seen[:72], float), np.arange(9.0))
    np.testing.assert_array_equal(np.frombuffer(seen[128:140], np.int32), np.arange(3))
    np.testing.assert_array_equal(np.frombuffer(seen[192:200], float), [1.0])


def test_the_other_side_may_make_it_longer(memory):
    memory.put([np.arange(3)])
    size = 64 + 8 * 10_000
    os.ftruncate(memory.descriptor, size)
    with mmap.mmap(memory.descriptor, size) as other:
        other[64:] = np.arange(10_000).tobytes()
    first, second = memory.take([24, 8 * 10_000], ["<i8", "<i8"])
    np.testing.assert_array_equal(first, np.arange(3))
    np.testing.assert_array_equal(second, np.arange(10_000))
    memory.put([np.zeros(20_000)])  # and then this side again
    assert os.fstat(memory.descriptor).st_size >= 160_000


def test_it_has_no_name_and_ends(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(shared_memory.tempfile, "tempdir", str(tmp_path))
    other = SharedMemory()
    assert not list(tmp_path.iterdir())
    other.put([np.ones(3)])
    descriptor = other.descriptor
    other.close()
    other.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
