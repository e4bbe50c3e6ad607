r"""SpikeCGS (Alg. 2) at rate level: collapsed Gibbs sampling carried by log-domain weights.

exp M^alpha_zw = C_wz + varphi_w,   exp M^beta_zd = C_zd + lambda_z,   exp b_z = C_z + sum(varphi)
[Tab. 1(b); Alg. 2 swaps the two priors in its line 1, the table is right].

For each token (w, d) with last assignment z':

- negative phase [line 4]: M^alpha_z'w, M^beta_z'd and b_z' <- tau_1(.) = log(exp(.) - 1)
- resample [line 5]: z ~ softmax(M^alpha_zw + M^beta_zd - b_z)
- positive phase [line 6]: M^alpha_zw, M^beta_zd and b_z <- tau_2(.) = log(exp(.) + 1)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from brian_lda.reference.activation import softmax_winner
from brian_lda.reference.assignments import AssignmentSampler
from brian_lda.reference.plasticity import tau_1, tau_2


class LogCountSampler(AssignmentSampler):
    """What both twins of SpikeCGS share: Phi and Theta from weights that are logs of counts."""

    @property
    def M__alpha(self) -> np.ndarray:
        """log(C_wz + varphi_w), [topic, word]."""
        raise NotImplementedError

    @property
    def M__beta(self) -> np.ndarray:
        """log(C_zd + lambda_z), [doc, topic]."""
        raise NotImplementedError

    @property
    def b(self) -> np.ndarray:
        """log(C_z + sum varphi), [topic]."""
        raise NotImplementedError

    @property
    def phi(self) -> np.ndarray:
        """(C_wz + varphi_w) / (C_z + sum varphi), [topic, word]."""
        return np.exp(self.M__alpha - self.b[:, None])

    @property
    def theta(self) -> np.ndarray:
        """(C_zd + lambda_z) / (N_d + sum lambda), [doc, topic]."""
        counts = np.exp(self.M__beta)
        return counts / counts.sum(axis=1, keepdims=True)


class SpikeCGSReference(LogCountSampler):
    """Rate-level twin of the SpikeCGS network; parameters as in `AssignmentSampler`."""

    def __init__(self, words: np.ndarray, docs: np.ndarray, **arguments: Any) -> None:
        super().__init__(words, docs, **arguments)
        C_wz, C_zd, C_z = self._counts()
        self._M__alpha = np.ascontiguousarray(np.log(C_wz.T + self.varphi[:, None]))  # reads rows
        self._M__beta = np.log(C_zd + self.lamda)
        self._b = np.log(C_z + self.varphi.sum())

    def sweep(self, order: np.ndarray | None = None, winners: np.ndarray | None = None) -> None:
        """Resample tokens in the given order (default: each once, as stored).

        `winners` [len(order)] forces the outcome of each resampling.
        """
        order = np.arange(len(self.z)) if order is None else np.asarray(order, np.int64)
        forced = winners is not None
        winners = np.asarray(winners, np.int32) if forced else np.empty(0, np.int32)
        _sweep(
            order, self._words, self._docs, self.z, winners, forced,
            self._M__alpha, self._M__beta, self._b, self._stream,
        )  # fmt: skip

    def follow(self, order: np.ndarray, winners: np.ndarray) -> np.ndarray:
        """Go through another sampler's winners, and say before each how likely every topic was.

        Parameters
        ----------
        order, winners : int array [n]
            Tokens, and what became of them.

        Returns
        -------
        float array [n, topic]
            softmax(u) after the negative phase of each token, given all winners before it.
        """
        p = np.empty((len(order), self.n_topics))
        for t, i in enumerate(order):
            w, d, old = self._words[i], self._docs[i], self.z[i]
            u = self._M__alpha[w] + self._M__beta[d] - self._b
            # Alg. 2, line 4, of the old topic alone
            u[old] = (
                tau_1(self._M__alpha[w, old]) + tau_1(self._M__beta[d, old]) - tau_1(self._b[old])
            )
            p[t] = np.exp(u - u.max())
            self.sweep(order[t : t + 1], winners[t : t + 1])
        return p / p.sum(axis=1, keepdims=True)

    def set_prior(self, lamda: np.ndarray) -> None:
        """As in `AssignmentSampler`."""
        super().set_prior(lamda)
        self._M__beta = np.log(self.C_zd + self.lamda)

    @property
    def M__alpha(self) -> np.ndarray:
        """log(C_wz + varphi_w), [topic, word]."""
        return np.array(self._M__alpha.T, order="C")

    @property
    def M__beta(self) -> np.ndarray:
        """log(C_zd + lambda_z), [doc, topic]."""
        return self._M__beta.copy()

    @property
    def b(self) -> np.ndarray:
        """log(C_z + sum varphi), [topic]."""
        return self._b.copy()

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on."""
        return {
            "z": self.z.copy(),
            "M__alpha": self.M__alpha,
            "M__beta": self.M__beta,
            "b": self.b,
            "stream": self._stream.copy(),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` of either twin."""
        self.z = np.array(state["z"], np.int32)
        self._M__alpha = np.array(state["M__alpha"].T, np.float64, order="C")
        self._M__beta = np.array(state["M__beta"], np.float64)
        self._b = np.array(state["b"], np.float64)
        if "stream" in state:
            self._stream = np.array(state["stream"], np.uint64)


@njit(cache=True)
def _sweep(order, words, docs, z, winners, forced, M__alpha, M__beta, b, stream):
    K = b.shape[0]
    u, rate = np.empty(K), np.empty(K)
    for t in range(order.shape[0]):
        i = order[t]
        w, d, old = words[i], docs[i], z[i]
        M__alpha[w, old] = tau_1(M__alpha[w, old])  # Alg. 2, line 4
        M__beta[d, old] = tau_1(M__beta[d, old])
        b[old] = tau_1(b[old])
        if forced:
            new = winners[t]
        else:
            for k in range(K):
                u[k] = M__alpha[w, k] + M__beta[d, k] - b[k]
            new = softmax_winner(u, rate, stream)  # line 5
        M__alpha[w, new] = tau_2(M__alpha[w, new])  # line 6
        M__beta[d, new] = tau_2(M__beta[d, new])
        b[new] = tau_2(b[new])
        z[i] = new
