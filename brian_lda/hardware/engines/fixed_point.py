r"""What a SpiNNaker core makes of the weights: the arithmetic of `StocExpStable`, in numpy.

The neuron (sPyNNaker, neuron_impl_stoc_exp_stable.h, stoc_exp_common.h) does in every tick

.. math:: v \leftarrow \max(v + \text{bias} + \text{exc} - \text{inh},\; v_{reset}), \qquad
          P(\text{spike}) = \tau\, 2^{v}

and v stays until something is added. Its bias is added in *every* tick, so it is left at 0, and it
spikes in every refractory tick, so `tau_refrac` is one tick. Potentials are in units of log 2:

- a word adds :math:`\text{LIFT} + \log_2(\phi_{zw}/\max_{z'}\phi_{z'w})`, a document likewise with
  theta, both at least 0 (an excitatory weight has no sign);
- v_reset is -2 LIFT. With word and document v = log2 of the product, at most 0; with one of them or
  none the probability is 0. Inhibition of 2 LIFT and more brings v back to v_reset exactly.

Numbers, as the core has them:

=================  ================================================================================
weight             16 bit without sign, in steps of 2^(shift - 15). sPyNNaker takes the shift from
                   the largest sum of weights that it expects in a tick: without
                   `max_expected_summed_weight` it expects all words at once, and a step is 8
v                  s1615: 15 bits after the point
tau 2^v            U1616: shifted by the integer part of v, then multiplied by 2^(-1/2^n) for each
                   bit n of the fraction, each product cut to 16 bits. Below 2^-16 it is 0
winner             the first tick with exactly one spike: P(z) proportional to p_z / (1 - p_z)
=================  ================================================================================

A large tau lets rare topics be seen (p is cut at 2^-16), a small one brings p/(1-p) closer to p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from brian_lda.corpus import as_counts
from brian_lda.errors import ParameterError

LIFT = 16  # log2 of the largest ratio of two topics that a weight can tell
TAU = 1 / 4  # 1 and 1/64 are worse for KOS (docs/engines.md)
LARGEST_SHIFT = 20
FRACTION_BITS = 15  # of s1615
PROBABILITY_BITS = 16  # of U1616
SMALLEST = 1e-300
HALVES = [math.floor(2.0 ** (-(0.5**n)) * 2**16) for n in range(1, FRACTION_BITS + 1)]


@dataclass(frozen=True)
class BoardArithmetic:
    """Weights and probabilities of a board.

    Parameters
    ----------
    shift : int
        Sums of weights in a tick stay below 2^shift.
    tau : float
        Probability of a spike at v = 0; in (0, 1].
    """

    shift: int = math.ceil(math.log2(2 * LIFT + 1))
    tau: float = TAU

    def __post_init__(self) -> None:
        if not 0 < self.tau <= 1 or not 0 <= self.shift <= LARGEST_SHIFT:
            raise ParameterError(
                f"tau must lie in (0, 1] and shift in 0..{LARGEST_SHIFT}; found {self.tau!r} and "
                f"{self.shift!r}."
            )

    @property
    def step(self) -> float:
        """Smallest difference of two weights."""
        return 2.0 ** (self.shift - FRACTION_BITS)

    def stored(self, weights: np.ndarray) -> np.ndarray:
        """Weights as the 16-bit numbers of a synaptic row."""
        return np.clip(np.rint(weights / self.step), 0, 0xFFFF).astype(np.int64)

    def value(self, stored: np.ndarray) -> np.ndarray:
        """Stored weights as numbers again."""
        return stored * self.step

    def potential(self, of_word: np.ndarray, of_doc: np.ndarray) -> np.ndarray:
        """v in s1615 bits, with these stored weights on top of v_reset."""
        return ((of_word + of_doc) << self.shift) - (2 * LIFT << FRACTION_BITS)

    def probability(self, v: np.ndarray) -> np.ndarray:
        """P(spike) of a tick, of v in s1615 bits."""
        v = np.asarray(v)
        if v.size and v.max() > 0:
            raise ParameterError("v must be at most 0: the weights of a word exceed LIFT.")
        integer, fraction = np.divmod(-v, 1 << FRACTION_BITS)
        tau = int(self.tau * 2**PROBABILITY_BITS)
        p = np.right_shift(tau, np.minimum(integer, 62))
        for n, factor in enumerate(HALVES, start=1):
            has_bit = (fraction >> (FRACTION_BITS - n)) & 1
            p = np.where(has_bit, (p * factor) >> PROBABILITY_BITS, p)
        return p / 2.0**PROBABILITY_BITS

    def winner_odds(self, v: np.ndarray) -> np.ndarray:
        """p / (1 - p), to which the winner's probability is proportional."""
        p = self.probability(v)
        return p / np.maximum(1.0 - p, 2.0**-PROBABILITY_BITS)


def lifted(p: np.ndarray, axis: int) -> np.ndarray:
    """LIFT + log2 of probabilities over their largest along an axis, at least 0."""
    p = np.maximum(p, SMALLEST)
    return np.maximum(LIFT + np.log2(p / p.max(axis=axis, keepdims=True)), 0.0)


def phi_on_board(phi: np.ndarray, board: BoardArithmetic) -> np.ndarray:
    """Phi [topic, word] as the stored weights have it, rows normalised."""
    largest = np.maximum(phi.max(axis=0), SMALLEST)
    seen = 2.0 ** (board.value(board.stored(lifted(phi, axis=0))) - LIFT) * largest
    return seen / seen.sum(axis=1, keepdims=True)


def fold_in_on_board(
    phi: np.ndarray,
    counts: Any,
    pseudo_count: float | np.ndarray,
    board: BoardArithmetic,
    *,
    n_iterations: int = 50,
) -> np.ndarray:
    """Theta [doc, topic] from the expected winners of a board, Phi held fixed.

    As `brian_lda.evaluation.fold_in`, with the board's winner law in place of the exact one and
    document weights stored as the board stores them.
    """
    counts = as_counts(counts, require_tokens=False)
    K = len(phi)
    prior = np.broadcast_to(np.asarray(pseudo_count, float), (K,)) + 1e-12
    stored = board.stored(lifted(phi, axis=0)).T  # [word, topic]
    theta = np.tile(prior / prior.sum(), (counts.shape[0], 1))
    for d in range(counts.shape[0]):
        row = slice(counts.indptr[d], counts.indptr[d + 1])
        words, n = counts.indices[row], counts.data[row]
        if not len(words):
            continue
        now = np.full(K, 1.0 / K)
        for _ in range(n_iterations):
            of_doc = board.stored(lifted(now, axis=0))
            odds = board.winner_odds(board.potential(stored[words], of_doc))
            total = odds.sum(axis=1)
            heard = total > 0  # else no topic ever fires for this token
            C = (n[heard] / total[heard]) @ odds[heard]
            now = (C + prior) / (C + prior).sum()
        theta[d] = now
    return theta
