"""Arrays through a pipe: the same bits come out, in few bytes if most of them are zero."""

import io

import numpy as np
import pytest

from brian_lda.simulation.array_transport import LONG, received, sent


def sparse_floats(size, n_nonzero):
    array = np.zeros(size)
    array[np.arange(1, 1 + n_nonzero) * (size // (n_nonzero + 1))] = np.arange(n_nonzero) - 2.5
    return array


ARRAYS = {
    "empty": np.zeros(0),
    "short": np.zeros(LONG - 1),
    "all zero": np.zeros(4 * LONG),
    "few": sparse_floats(4 * LONG, 20),
    "a quarter": sparse_floats(4 * LONG, LONG),
    "more than a quarter": sparse_floats(4 * LONG, LONG + 1),
    "full": np.random.default_rng(0).random(4 * LONG),
    "integers, two in a word": np.array([0, 7, 0, 0] + [0] * 16 * LONG, np.int32),
    "an odd number of integers": np.zeros(16 * LONG + 1, np.int32),
}
IN_PARTS = {"all zero", "few", "a quarter", "integers, two in a word"}


def passed_on(array):
    """What comes out of the pipe, and how many bytes went through."""
    pipe = io.BytesIO(b"".join(bytes(part) for part in sent(array)))
    found = received(lambda target: target.__setitem__(slice(None), pipe.read(len(target))), "<u1")
    assert not pipe.read()
    return found.view(array.dtype), pipe.tell()


@pytest.mark.parametrize("name", ARRAYS)
def test_the_same_bits_come_out(name):
    found, n_bytes = passed_on(ARRAYS[name])
    np.testing.assert_array_equal(found, ARRAYS[name])
    if name in IN_PARTS:
        assert n_bytes == 16 + 12 * np.count_nonzero(ARRAYS[name])
    else:
        assert n_bytes == 16 + ARRAYS[name].nbytes


def test_minus_zero_and_what_is_no_number_are_not_zero():
    array = np.zeros(4 * LONG)
    array[[3, 5]] = -0.0, np.nan
    found, n_bytes = passed_on(array)
    np.testing.assert_array_equal(found.view(np.uint64), array.view(np.uint64))
    assert n_bytes == 16 + 12 * 2
