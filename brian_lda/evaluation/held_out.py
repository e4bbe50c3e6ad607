r"""Held-out perplexity: the only perplexity of this package.

.. math:: \exp\Big(-\frac1{N_{held}} \sum_{d,w} n^{held}_{dw} \ln \sum_z \theta_{dz}\phi_{zw}\Big)

natural logarithm, per held-out token, theta folded in on the observed half of each test document
(`fold_in`). A probability below `FLOOR` counts as `FLOOR`, and the number of tokens for which that
happened is part of the result: plain LDA gives a word that it never saw no probability at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from brian_lda.corpus import as_counts
from brian_lda.errors import ParameterError
from brian_lda.evaluation.fold_in import checked_phi, fold_in

FLOOR = 1e-12
_ENTRIES_AT_ONCE = 1 << 18


class HeldOutScore(NamedTuple):
    """Perplexity, how many held-out tokens hit the floor, and how many there were."""

    perplexity: float
    floor_tokens: int
    n_tokens: int


def heldout_perplexity(
    phi: np.ndarray,
    observed: sparse.csr_array,
    heldout: sparse.csr_array,
    *,
    pseudo_count: float | np.ndarray = 0.1,
    theta: np.ndarray | None = None,
) -> HeldOutScore:
    """Perplexity of the held-out halves, given the observed ones.

    Parameters
    ----------
    phi : float array [topic, word]
        Rows sum to 1.
    observed, heldout : [doc, word]
        The two halves of the same test documents.
    pseudo_count : float or float array [topic]
        Prior of theta in the fold-in, see `fold_in`.
    theta : float array [doc, topic], optional
        Use this instead of folding in (for another estimator's theta).
    """
    heldout = as_counts(heldout, argument="heldout")
    observed = as_counts(observed, argument="observed", require_tokens=False)
    if observed.shape != heldout.shape:
        raise ParameterError(
            "observed and heldout must be halves of the same documents over the same vocabulary; "
            f"found shapes {observed.shape} and {heldout.shape}."
        )
    phi = checked_phi(phi)
    if theta is None:
        theta = fold_in(phi, observed, pseudo_count)
    expected = (heldout.shape[0], len(phi))
    if np.shape(theta) != expected or phi.shape[1] != heldout.shape[1]:
        raise ParameterError(
            f"theta [doc, topic] must have shape {expected} and phi {heldout.shape[1]} words; "
            f"found theta of shape {np.shape(theta)} and phi of shape {phi.shape}."
        )
    word_topics = np.ascontiguousarray(phi.T)
    docs = np.repeat(np.arange(heldout.shape[0]), np.diff(heldout.indptr))
    log_likelihood, floor_tokens = 0.0, 0
    for i in range(0, heldout.nnz, _ENTRIES_AT_ONCE):
        part = slice(i, i + _ENTRIES_AT_ONCE)
        p = np.einsum("iz,iz->i", theta[docs[part]], word_topics[heldout.indices[part]])
        counts = heldout.data[part]
        floor_tokens += int(counts[p < FLOOR].sum())
        # Not a dot product: BLAS threads go on spinning after it, in the way of a training loop.
        log_likelihood += float(np.sum(counts * np.log(np.maximum(p, FLOOR))))
    n_tokens = int(heldout.data.sum())
    return HeldOutScore(float(np.exp(-log_likelihood / n_tokens)), floor_tokens, n_tokens)
