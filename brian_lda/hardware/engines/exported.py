r"""What an engine is given: a trained network with fixed weights, and tokens.

In the race for token (w, d), topic neuron z has the potential

.. math:: u_z = M^\alpha_{zw} + M^\beta_{zd}, \qquad P(z) = \mathrm{softmax}(u)_z

(Alg. 1), with :math:`M^\alpha = \log\phi` and :math:`M^\beta = \log\theta`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from brian_lda.corpus import as_counts
from brian_lda.errors import MissingDependencyError, ParameterError

SMALLEST = 1e-12  # a probability of 0 has no logarithm


@dataclass(frozen=True)
class Tokens:
    """Tokens in the order in which they are shown: int arrays [token]."""

    words: np.ndarray
    docs: np.ndarray

    def __len__(self) -> int:
        return len(self.words)


def word_weights(phi: np.ndarray) -> np.ndarray:
    """M^alpha [topic, word] of a trained Phi."""
    phi = np.asarray(phi, np.float64)
    if phi.ndim != 2 or not np.isfinite(phi).all() or phi.min() < 0:
        raise ParameterError(
            f"phi must be a matrix [topic, word] of probabilities; found shape {phi.shape}, or "
            "negative, infinite or NaN entries."
        )
    return np.log(np.maximum(phi, SMALLEST))


def doc_weights(theta: np.ndarray) -> np.ndarray:
    """M^beta [doc, topic] of theta."""
    return np.log(np.maximum(theta, SMALLEST))


def tokens_of(counts: Any) -> Tokens:
    """Every token of some documents, document after document."""
    counts = as_counts(counts, require_tokens=False)
    docs = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return Tokens(np.repeat(counts.indices, counts.data), np.repeat(docs, counts.data))


def fold_in_by_winners(
    race: Callable[[np.ndarray], np.ndarray],
    tokens: Tokens,
    shape: tuple[int, ...],
    pseudo_count: float | np.ndarray,
    n_sweeps: int,
) -> np.ndarray:
    r"""Theta of documents from the winners of races, Phi held fixed; float array [doc, topic].

    Sweep t = 1, 2, ... shows every token once. Its winners are a draw of the topics given theta,
    and with their counts C

    .. math:: \theta_d \leftarrow \theta_d + \gamma_t\left(
              \frac{C_d + c}{N_d + \sum_z c_z} - \theta_d\right), \qquad
              \gamma_t = \max(1, t - 5)^{-0.6}

    The mean of this step is one of EM, so theta tends to the MAP solution of
    `brian_lda.evaluation.fold_in`. The answer is the mean over the second half of the sweeps.

    Parameters
    ----------
    race : callable
        Takes M^beta [doc, topic] and returns the winner of each token.
    tokens : Tokens
    shape : (int, int)
        D, K.
    pseudo_count : float or float array [topic]
        c, the prior.
    n_sweeps : int
    """
    if n_sweeps < 1:
        raise ParameterError(f"n_sweeps must be at least 1; found {n_sweeps!r}.")
    prior = np.broadcast_to(np.asarray(pseudo_count, float), shape[1:]) + SMALLEST
    theta, mean = np.full(shape, 1.0 / shape[1]), np.zeros(shape)
    averaged = range(n_sweeps // 2, n_sweeps)
    for t in range(n_sweeps):
        C = np.zeros(shape)
        np.add.at(C, (tokens.docs, race(doc_weights(theta))), 1.0)
        found = (C + prior) / (C + prior).sum(axis=1, keepdims=True)
        theta += (found - theta) * max(1, t - 4) ** -0.6
        if t in averaged:
            mean += theta / len(averaged)
    return mean


def import_engine(package: str, extra: str) -> ModuleType:
    """The package of an engine, or the pip line that installs it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingDependencyError(
            f"this engine needs {package}, which is not installed: pip install 'brian_lda[{extra}]'"
        ) from error
