r"""What variational Dirichlet parameters say of Phi, so that such a model is judged like a sampler.

A variational posterior Dirichlet(lambda) acts on the topics of tokens through
exp(digamma(lambda)), which is lambda - 0.5 for all but the smallest lambda: training makes up for
half a count. Asuncion et al. (2009, "On smoothing and inference for topic models") therefore offset
the priors of variational methods by +0.5 and take 0.5 off again where theta *and* Phi are read
out. Taken off theta alone, a variational model is charged for half a count of every word in every
topic.
"""

from __future__ import annotations

import numpy as np

OFFSET = 0.5
# exp(digamma(lambda)) falls towards 0 below lambda = 0.5 and never reaches it. What must not reach
# it either, lest a word or a topic become impossible, is floored well below the smallest prior in
# use, 0.01. With the paper's priors, lambda >= 0.51, the floor is out of reach.
SMALLEST = 1e-3


def effective_counts(variational: float | np.ndarray) -> np.ndarray:
    """max(lambda - 0.5, 0.001), elementwise: the counts that a sampler would have instead."""
    return np.maximum(np.asarray(variational, np.float64) - OFFSET, SMALLEST)


def variational_phi(variational: np.ndarray) -> np.ndarray:
    """Phi [topic, word], phi_zw ~ lambda_zw - 0.5; rows sum to 1.

    Parameters
    ----------
    variational : float array [topic, word]
        Parameters of the topics' Dirichlet distributions: scikit-learn's `components_`, gensim's
        `state.get_lambda()`.
    """
    counts = effective_counts(variational)
    return counts / counts.sum(axis=1, keepdims=True)
