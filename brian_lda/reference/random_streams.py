"""Random numbers inside numba kernels: one 64-bit SplitMix stream per unit of work.

A stream is a `uint64` array of length 1. Kernels that work on documents in parallel give each
document a stream of its own, keyed by (seed, iteration, document), so that the draws do not depend
on the number of threads or on who finishes first.

SplitMix64: Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_INV_53 = 1.0 / (1 << 53)


@njit(inline="always")
def mix(x):
    """The finaliser of SplitMix64: a bijection of uint64 that scatters neighbouring inputs."""
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@njit(inline="always")
def uniform(stream):
    """Next number of the stream, in [0, 1)."""
    stream[0] += _GOLDEN
    return np.float64(mix(stream[0]) >> _S11) * _INV_53


@njit(inline="always")
def substream_state(seed, index):
    """State of the stream with this index: far apart even for neighbouring indices."""
    return mix(mix(np.uint64(seed)) + _GOLDEN * (np.uint64(index) + np.uint64(1)))


def new_stream(*key: int) -> np.ndarray:
    """A stream of its own for each tuple of non-negative integers (seed, purpose, ...)."""
    return np.random.SeedSequence(list(key)).generate_state(1, np.uint64)
