r"""What an engine is given: a trained network with fixed weights, and tokens.

In the race for token (w, d), topic neuron z has the potential

.. math:: u_z = M^\alpha_{zw} + M^\beta_{zd}, \qquad P(z) = \mathrm{softmax}(u)_z

(Alg. 1), with :math:`M^\alpha = \log\phi` and :math:`M^\beta = \log\theta`.
"""

from __future__ import annotations

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


def import_engine(package: str, extra: str) -> ModuleType:
    """The package of an engine, or the pip line that installs it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingDependencyError(
            f"this engine needs {package}, which is not installed: pip install 'brian_lda[{extra}]'"
        ) from error
