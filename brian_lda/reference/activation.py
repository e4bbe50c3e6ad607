"""Alg. 1 at rate level: the winner of a race of Poisson neurons is a softmax sample.

Topic neuron z fires with rate exp(u_z); the first spike wins, and
P(winner = z) = exp(u_z) / sum exp(u). Here the winner is drawn from that law directly.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from brian_lda.reference.random_streams import uniform


@njit(inline="always")
def draw_winner(rate, total, stream):
    """Index z with probability rate[z] / total, where total = rate.sum()."""
    target = uniform(stream) * total
    last = rate.shape[0] - 1
    z = 0
    cumulated = rate[0]
    while cumulated <= target and z < last:
        z += 1
        cumulated += rate[z]
    return z


@njit
def softmax_winner(u, rate, stream):
    """InferenceDynamics of Alg. 1 for membrane potentials u [topic]; `rate` is scratch [topic].

    Rates are taken relative to the fastest neuron: a common factor changes when the first spike
    comes, not who fires it, and exp(u) may overflow.
    """
    top = u[0]
    for z in range(1, u.shape[0]):
        top = max(top, u[z])
    total = 0.0
    for z in range(u.shape[0]):
        rate[z] = np.exp(u[z] - top)
        total += rate[z]
    return draw_winner(rate, total, stream)


BLOCK = 8  # topics per block: one AVX register of float32


def padded(n_topics: int) -> int:
    """Number of topics rounded up to whole blocks; the padding has rate 0 and never wins."""
    return -(-n_topics // BLOCK) * BLOCK


@njit(inline="always")
def block_sum(rate, b):
    """Sum of the block that begins at b.

    As a tree: that breaks the chain of dependent additions that a plain sum is.
    """
    return ((rate[b] + rate[b + 1]) + (rate[b + 2] + rate[b + 3])) + (
        (rate[b + 4] + rate[b + 5]) + (rate[b + 6] + rate[b + 7])
    )


@njit(inline="always")
def winner_in_block(rate, b, target):
    """Where the sum of rates, cumulated from b, passes `target`; at most the last of the block.

    Counts how many of the sums it passes: a loop that ends at the winner would be mispredicted.
    """
    two = rate[b] + rate[b + 1]
    four = two + (rate[b + 2] + rate[b + 3])
    six = four + (rate[b + 4] + rate[b + 5])
    passed = 0  # one by one: without numba, True + True is True
    passed += target >= rate[b]
    passed += target >= two
    passed += target >= two + rate[b + 2]
    passed += target >= four
    passed += target >= four + rate[b + 4]
    passed += target >= six
    passed += target >= six + rate[b + 6]
    return b + passed


@njit(inline="always")
def draw_from_blocks(rate, total, n_topics, stream):
    """`draw_winner` for many topics: find the block of 8 first, then the topic in it.

    `rate` is float32, its length a multiple of BLOCK. Rounding can push the target past the last
    topic: that one wins then (probability about 1e-7).
    """
    target = np.float32(uniform(stream)) * total
    last_block = rate.shape[0] - BLOCK
    b = 0
    block = block_sum(rate, b)
    while b < last_block and target >= block:
        target -= block
        b += BLOCK
        block = block_sum(rate, b)
    return min(winner_in_block(rate, b, target), n_topics - 1)
