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
