"""Looking at topics: their words, their coherence, and how those of two models pair up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from brian_lda.corpus import as_counts
from brian_lda.errors import ParameterError


def top_word_ids(phi: np.ndarray, n: int = 10) -> np.ndarray:
    """The n most probable words of each topic, most probable first; int array [topic, n]."""
    phi = np.asarray(phi)
    n = min(n, phi.shape[1])
    candidates = np.argpartition(-phi, n - 1, axis=1)[:, :n]
    order = np.argsort(-np.take_along_axis(phi, candidates, axis=1), axis=1, kind="stable")
    return np.take_along_axis(candidates, order, axis=1)


def top_words(phi: np.ndarray, vocabulary: Sequence[str], n: int = 10) -> list[list[str]]:
    """`top_word_ids` as words."""
    if len(vocabulary) != np.asarray(phi).shape[1]:
        raise ParameterError(
            f"vocabulary must have one word per column of phi ({np.asarray(phi).shape[1]}); "
            f"found {len(vocabulary)}."
        )
    return [[vocabulary[w] for w in row] for row in top_word_ids(phi, n)]


def npmi_coherence(phi: np.ndarray, counts: sparse.csr_array, n: int = 10) -> np.ndarray:
    """Mean normalised pointwise mutual information of each topic's top words, float [topic].

    Probabilities are document frequencies in `counts` [doc, word]. A pair that never occurs
    together scores -1; a pair that always does scores 1 (Bouma 2009; Lau et al. 2014).
    """
    counts = as_counts(counts)
    if n < 2:
        raise ParameterError(f"n must be at least 2, coherence is about pairs; found {n}.")
    ids = top_word_ids(phi, n)
    used, local = np.unique(ids, return_inverse=True)
    occurs = (counts[:, used] > 0).astype(np.int64)
    together = (occurs.T @ occurs).toarray()
    n_docs = counts.shape[0]
    local = local.reshape(ids.shape)
    first, second = np.triu_indices(ids.shape[1], 1)
    scores = np.empty(len(ids))
    for z, words in enumerate(local):
        joint = together[words[first], words[second]] / n_docs
        alone = np.diag(together) / n_docs
        expected = alone[words[first]] * alone[words[second]]
        npmi = np.full(len(first), -1.0)
        everywhere = joint == 1.0
        npmi[everywhere] = 1.0
        some = (joint > 0) & ~everywhere
        npmi[some] = np.log(joint[some] / expected[some]) / -np.log(joint[some])
        scores[z] = npmi.mean()
    return scores


class TopicMatch(NamedTuple):
    """`other[z]` is the partner of topic z, `cosine[z]` the similarity of the two."""

    other: np.ndarray
    cosine: np.ndarray


def match_topics(phi: np.ndarray, phi_other: np.ndarray) -> TopicMatch:
    """Pair the topics of two models one to one so that the sum of cosines is greatest (Hungarian).

    Both [topic, word] over the same words; the second may have more topics than the first.
    """
    phi, phi_other = np.asarray(phi, np.float64), np.asarray(phi_other, np.float64)
    if phi.shape[1] != phi_other.shape[1] or len(phi) > len(phi_other):
        raise ParameterError(
            "match_topics needs two models over the same words, the second with at least as many "
            f"topics as the first; found shapes {phi.shape} and {phi_other.shape}."
        )
    if not (phi.any(axis=1).all() and phi_other.any(axis=1).all()):
        raise ParameterError(
            "match_topics needs topics with a positive weight; found an empty row."
        )
    unit = phi / np.linalg.norm(phi, axis=1, keepdims=True)
    unit_other = phi_other / np.linalg.norm(phi_other, axis=1, keepdims=True)
    cosine = unit @ unit_other.T
    row, column = linear_sum_assignment(-cosine)
    return TopicMatch(column, cosine[row, column])
