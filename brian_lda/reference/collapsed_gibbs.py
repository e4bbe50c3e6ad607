"""Baseline: collapsed Gibbs sampling for smoothed LDA (Griffiths & Steyvers 2004), on counts.

p(z_di = z | rest) ~ (C_wz + varphi_w) / (C_z + sum varphi) * (C_zd + lambda_z)   [Eq. (CGS)]

The same chain as SpikeCGS, written for speed: integer counts (exact for ever), single-precision
probabilities, the draw by blocks. Counts of a word in a topic are exact in float32 up to 2^24.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from brian_lda.reference.activation import draw_from_blocks, padded
from brian_lda.reference.assignments import AssignmentSampler


class CollapsedGibbs(AssignmentSampler):
    """CGS over a token list; parameters as in `AssignmentSampler`."""

    def __init__(self, words: np.ndarray, docs: np.ndarray, **arguments: Any) -> None:
        super().__init__(words, docs, **arguments)
        self._count()

    def _count(self) -> None:
        n_topics, n_words, n_docs = self.n_topics, self._n_words, self._n_docs
        C_wz, C_zd, C_z = self._counts()
        width = padded(n_topics)
        self._C_wz = np.zeros((n_words, width), np.int32)
        self._C_wz[:, :n_topics] = C_wz.T
        self._C_zd = np.zeros((n_docs, width), np.int32)
        self._C_zd[:, :n_topics] = C_zd
        self._C_z = C_z.astype(np.int64)
        self._inverse_total = np.zeros(
            width, np.float32
        )  # 1 / (C_z + sum varphi); 0 in the padding
        self._inverse_total[:n_topics] = 1.0 / (C_z + self.varphi.sum())
        self._lamda = np.zeros(width, np.float32)
        self._lamda[:n_topics] = self.lamda

    def sweep(self, order: np.ndarray | None = None) -> None:
        """Resample tokens in the given order (default: each once, as stored)."""
        order = np.arange(len(self.z)) if order is None else np.asarray(order, np.int64)
        _sweep(
            order, self._words, self._docs, self.z, self._C_wz, self._C_zd, self._C_z,
            self._inverse_total, self._lamda, self.varphi.astype(np.float32),
            self.varphi.sum(), self._stream,
        )  # fmt: skip

    @property
    def phi(self) -> np.ndarray:
        """Posterior mean of Phi given the assignments, [topic, word]."""
        counts = self._C_wz[:, : self.n_topics].T + self.varphi
        return counts / counts.sum(axis=1, keepdims=True)

    @property
    def C_zd(self) -> np.ndarray:
        """Tokens of each document in each topic, [doc, topic]."""
        return self._C_zd[:, : self.n_topics].copy()

    @property
    def theta(self) -> np.ndarray:
        """(C_zd + lambda_z) / (N_d + sum lambda), [doc, topic]."""
        counts = self.C_zd + self.lamda
        return counts / counts.sum(axis=1, keepdims=True)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on: the counts follow from the assignments."""
        return {"z": self.z.copy(), "stream": self._stream.copy()}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state`."""
        self.z = np.array(state["z"], np.int32)
        self._stream = np.array(state["stream"], np.uint64)
        self._count()


@njit(cache=True, fastmath={"nsz", "arcp", "contract", "reassoc"}, error_model="numpy")
def _sweep(
    order, words, docs, z, C_wz, C_zd, C_z, inverse_total, lamda, varphi, varphi_bar, stream
):
    K = C_z.shape[0]
    width = C_wz.shape[1]
    rate = np.empty(width, np.float32)
    for t in range(order.shape[0]):
        i = order[t]
        w, d, old = words[i], docs[i], z[i]
        C_w, C_d, prior_w = C_wz[w], C_zd[d], varphi[w]
        C_w[old] -= 1
        C_d[old] -= 1
        C_z[old] -= 1
        inverse_total[old] = np.float32(1.0 / (C_z[old] + varphi_bar))
        total = np.float32(0.0)
        for k in range(width):
            r = (np.float32(C_w[k]) + prior_w) * (np.float32(C_d[k]) + lamda[k]) * inverse_total[k]
            rate[k] = r
            total += r
        new = draw_from_blocks(rate, total, K, stream)
        C_w[new] += 1
        C_d[new] += 1
        C_z[new] += 1
        inverse_total[new] = np.float32(1.0 / (C_z[new] + varphi_bar))
        z[i] = new
