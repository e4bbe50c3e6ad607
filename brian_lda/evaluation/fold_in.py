r"""Theta of documents that were not trained on, with Phi held fixed.

`fold_in` is the one common estimator that every algorithm of this package is judged by: the MAP
(EM) solution for theta,

.. math:: \theta_{dz} \propto c_z + \sum_w n_{dw}
          \frac{\phi_{zw}\theta_{dz}}{\sum_{z'}\phi_{z'w}\theta_{dz'}} ,

with c the prior as pseudo-counts: lambda for the collapsed samplers, lambda - 1 for the MAP
algorithms. `fold_in_gibbs` is the paper's estimate for samplers (one Gibbs sample, following
Asuncion et al. 2009), to be reported beside it.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy import sparse

from brian_lda.corpus import as_counts
from brian_lda.errors import ParameterError
from brian_lda.reference.random_streams import substream_state, uniform

MAX_ITERATIONS = 100
TOLERANCE = 1e-4  # largest change of one theta_dz; ten times smaller moves perplexity by < 0.1


def fold_in(
    phi: np.ndarray,
    counts: sparse.csr_array,
    pseudo_count: float | np.ndarray,
    *,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """MAP theta of each document.

    Parameters
    ----------
    phi : float array [topic, word]
        Rows sum to 1.
    counts : [doc, word]
        Anything that `brian_lda.corpus.as_counts` takes.
    pseudo_count : float or float array [topic]
        c above, at least 0. A document without tokens gets its normalised prior.
    max_iterations, tolerance : int, float
        EM stops per document when no theta_dz moves more than `tolerance`.

    Returns
    -------
    float array [doc, topic]
        Rows sum to 1.
    """
    counts, phi, prior = checked_arguments(phi, counts, pseudo_count)
    theta = np.empty((counts.shape[0], len(phi)))
    _em(
        counts.indptr, counts.indices, counts.data, np.ascontiguousarray(phi.T), prior,
        max_iterations, tolerance, theta,
    )  # fmt: skip
    return theta


def fold_in_gibbs(
    phi: np.ndarray,
    counts: sparse.csr_array,
    pseudo_count: float | np.ndarray,
    *,
    n_sweeps: int = 50,
    seed: int = 0,
) -> np.ndarray:
    """Theta from one Gibbs sample of the document's assignments (arguments: see `fold_in`)."""
    counts, phi, prior = checked_arguments(phi, counts, pseudo_count)
    theta = np.empty((counts.shape[0], len(phi)))
    first_token = np.concatenate([[0], np.cumsum(counts.sum(axis=1), dtype=np.int64)])
    _gibbs(
        counts.indptr, counts.indices, counts.data, first_token, np.ascontiguousarray(phi.T), prior,
        n_sweeps, np.random.SeedSequence(seed).generate_state(1, np.uint64)[0], theta,
    )  # fmt: skip
    return theta


def checked_phi(phi: np.ndarray) -> np.ndarray:
    """phi [topic, word] as float64, refused unless its rows are probabilities."""
    phi = np.asarray(phi, np.float64)
    if phi.ndim != 2 or not np.isfinite(phi).all() or (phi < 0).any():
        raise ParameterError(
            f"phi must be a finite matrix [topic, word] of probabilities; found shape {phi.shape} "
            "with negative, infinite or NaN entries, or of another dimension."
        )
    if not np.allclose(phi.sum(axis=1), 1.0, rtol=0.0, atol=1e-6):
        raise ParameterError(
            "the rows of phi must sum to 1; found sums between "
            f"{phi.sum(axis=1).min():g} and {phi.sum(axis=1).max():g}."
        )
    return phi


def checked_arguments(
    phi: np.ndarray, counts: sparse.csr_array, pseudo_count: float | np.ndarray
) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """counts, phi and the prior [topic] of a fold-in, refused unless they go together."""
    counts = as_counts(counts, require_tokens=False)
    phi = checked_phi(phi)
    if phi.shape[1] != counts.shape[1]:
        raise ParameterError(
            "phi [topic, word] and counts [doc, word] must have the same words; found phi of shape "
            f"{phi.shape} and counts of shape {counts.shape}. Was the model trained on another "
            "vocabulary?"
        )
    prior = np.asarray(pseudo_count, np.float64)
    if prior.shape not in ((), (len(phi),)):
        raise ParameterError(
            f"pseudo_count must be one number or one per topic ({len(phi)}); found shape "
            f"{prior.shape}."
        )
    prior = np.broadcast_to(prior, (len(phi),)).copy()
    if not np.isfinite(prior).all() or prior.min() < 0:
        raise ParameterError(f"pseudo_count must be at least 0 and finite; found {pseudo_count!r}.")
    return counts, phi, prior


@njit(cache=True, parallel=True)
def _em(start, words, counts, phi, prior, max_iterations, tolerance, out):
    K = prior.shape[0]
    for d in prange(start.shape[0] - 1):
        theta = (prior + 1e-12) / (prior + 1e-12).sum()
        if start[d + 1] > start[d]:
            theta[:] = 1.0 / K
            new = np.empty(K)
            for _ in range(max_iterations):
                new[:] = prior
                for j in range(start[d], start[d + 1]):
                    row = phi[words[j]]
                    p_word = 0.0
                    for z in range(K):
                        p_word += row[z] * theta[z]
                    if p_word > 0.0:  # a word that no topic knows says nothing about theta
                        for z in range(K):
                            new[z] += counts[j] * (row[z] * theta[z] / p_word)
                total = new.sum()
                if total <= 0.0:
                    break
                change = 0.0
                for z in range(K):
                    value = new[z] / total
                    change = max(change, abs(value - theta[z]))
                    theta[z] = value
                if change < tolerance:
                    break
        out[d] = theta


@njit(cache=True, parallel=True)
def _gibbs(start, words, counts, first_token, phi, prior, n_sweeps, seed, out):
    K = prior.shape[0]
    for d in prange(start.shape[0] - 1):
        stream = np.empty(1, np.uint64)
        stream[0] = substream_state(seed, d)
        z_d = np.zeros(first_token[d + 1] - first_token[d], np.int32)
        C_z, rate = np.zeros(K), np.empty(K)
        for sweep in range(n_sweeps + 1):
            i = 0
            for j in range(start[d], start[d + 1]):
                if phi[words[j]].sum() == 0.0:  # as in `_em`: such a word says nothing
                    continue
                for _ in range(counts[j]):
                    if sweep > 0:
                        C_z[z_d[i]] -= 1.0
                    total = 0.0
                    for z in range(K):
                        total += phi[words[j], z] * (C_z[z] + prior[z] + 1e-12)
                        rate[z] = total
                    target = uniform(stream) * total
                    new = 0
                    while new < K - 1 and rate[new] <= target:
                        new += 1
                    C_z[new] += 1.0
                    z_d[i] = new
                    i += 1
        out[d] = (C_z + prior + 1e-12) / (C_z + prior + 1e-12).sum()
