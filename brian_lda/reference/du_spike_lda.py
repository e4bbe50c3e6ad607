r"""du-SpikeLDA (Remark 2) at rate level: ed-SpikeLDA's rule, averaged over a mini-batch.

For each document of the mini-batch, 2T local iterations: all its tokens draw their topic from
softmax(M^alpha_zw + M^beta_zd) with the weights held, then M^beta moves by the average of
Eq. (MAP discrete dynamics) over these N_d tokens, whose C_zd fell to topic z:

.. math:: M^\beta_{zd} \leftarrow M^\beta_{zd} + \eta\Big[\frac{C_{zd} + \lambda_z - 1}{N_d}
          e^{-M^\beta_{zd}} - \frac1\kappa - \frac1{N_d}\Big]

The assignments of the last T local iterations are counted into N_zw, and M^alpha makes one
averaged update (`word_weights`). The paper does not say how local iterations and averaging
interleave; this is our reading. M^beta starts at N(1, 1) for each visit of a document.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads, get_thread_id, njit, prange

from brian_lda.parameters import BatchParameters, require_map_prior
from brian_lda.reference.activation import draw_from_blocks, padded
from brian_lda.reference.document_batch import BatchTokens
from brian_lda.reference.mini_batch import MiniBatchReference
from brian_lda.reference.plasticity import robbins_monro
from brian_lda.reference.random_streams import substream_state, uniform


class DuSpikeLDAReference(MiniBatchReference):
    """Rate-level twin of the du-SpikeLDA network; parameters as in `MiniBatchReference`.

    Every lambda must be > 1.
    """

    def __init__(self, parameters: BatchParameters, n_words: int, **arguments: Any) -> None:
        require_map_prior(parameters.doc_topic_prior)
        super().__init__(parameters, n_words, **arguments)

    def _infer(
        self, batch: BatchTokens, rates: np.ndarray, key: np.random.SeedSequence
    ) -> np.ndarray:
        K = self.parameters.n_topics
        prior = np.zeros(padded(K))
        prior[:K] = self.parameters.doc_topic_prior - 1.0
        per_thread = np.zeros((get_num_threads(), *rates.shape), np.int32)
        _local_iterations(
            batch.start, batch.local_word, batch.count, rates, prior, K,
            self.parameters.local_iterations, key.generate_state(1, np.uint64)[0],
            self.parameters.doc_step.kernel_rule, self.parameters.integrator == "flow", per_thread,
        )  # fmt: skip
        return per_thread.sum(axis=0, dtype=np.int32)

    def _follow(
        self, rates: np.ndarray, doc: np.ndarray, winners: np.ndarray, M__beta: np.ndarray
    ) -> np.ndarray:
        """The weights are held in a local iteration and move after it."""
        K, kappa = self.parameters.n_topics, (self.parameters.doc_topic_prior - 1.0).sum()
        p = np.empty((*winners.shape, K))
        exp_beta, v = np.exp(M__beta), np.zeros(M__beta.shape)
        for n, row in enumerate(winners):
            p[n] = rates * exp_beta[doc]
            for d in np.unique(doc):
                C_z = np.bincount(row[doc == d], minlength=K).astype(np.float64)
                n_tokens = int(C_z.sum())
                delayed_document_update(
                    exp_beta[d], v[d], C_z, self.parameters.doc_topic_prior - 1.0,
                    1.0 / kappa + 1.0 / n_tokens, n_tokens, n, K,
                    self.parameters.doc_step.kernel_rule, self.parameters.integrator == "flow",
                )  # fmt: skip
        return p


@njit(cache=True)
def delayed_document_update(p, v, C_z, prior, a, n_tokens, n, n_topics, rule, is_flow):
    """The averaged M^beta rule for one document, on p = exp M^beta [topic]."""
    for k in range(n_topics):
        c = (C_z[k] + prior[k]) / n_tokens
        if rule[0] == 0:  # RobbinsMonro, in units of the relaxation time 1/a
            eta = robbins_monro(n, rule[1], rule[2], rule[3], rule[4]) / a
        else:  # RMSProp
            g = c / p[k] - a
            v[k] = rule[2] * v[k] + (1.0 - rule[2]) * g * g
            eta = rule[1] / np.sqrt(v[k] + rule[3])
        if is_flow:
            fade = np.exp(-a * eta)
            p[k] = fade * p[k] + (1.0 - fade) * c / a
        else:
            p[k] *= np.exp(eta * (c / p[k] - a))
        p[k] = max(min(p[k], 1e30), 1e-30)  # float32 rates; only an Euler step gets there


@njit(cache=True, fastmath={"nsz", "arcp", "contract", "reassoc"})
def _draw_document(local_word, count, rates, p, n_topics, C_z, N_zw, is_kept, rate, stream):
    """Every token of the document draws its topic with the weights held."""
    for j in range(local_word.shape[0]):
        word_rate = rates[local_word[j]]
        kept_counts = N_zw[local_word[j]]
        total = np.float32(0.0)
        for k in range(rate.shape[0]):
            r = word_rate[k] * p[k]
            rate[k] = r
            total += r
        for _ in range(count[j]):
            z = draw_from_blocks(rate, total, n_topics, stream)
            C_z[z] += 1.0
            if is_kept:
                kept_counts[z] += 1


@njit(cache=True, parallel=True)
def _local_iterations(
    start, local_word, count, rates, prior, n_topics, T, seed, rule, is_flow, N_zw
):
    width = rates.shape[1]
    kappa = prior.sum()
    for d in prange(start.shape[0] - 1):
        stream = np.empty(1, np.uint64)
        stream[0] = substream_state(seed, d)
        entries = slice(start[d], start[d + 1])
        n_tokens = count[entries].sum()
        if n_tokens > 0:
            p, v, C_z = np.zeros(width), np.zeros(width), np.zeros(width)
            p32, rate = np.zeros(width, np.float32), np.empty(width, np.float32)
            for k in range(n_topics):  # M^beta ~ N(1, 1), by Box and Muller
                radius = np.sqrt(-2.0 * np.log(1.0 - uniform(stream)))
                p[k] = np.exp(1.0 + radius * np.cos(2.0 * np.pi * uniform(stream)))
            a = 1.0 / kappa + 1.0 / n_tokens
            for n in range(2 * T):
                C_z[:] = 0.0
                p32[:] = p
                _draw_document(
                    local_word[entries], count[entries], rates, p32, n_topics,
                    C_z, N_zw[get_thread_id()], n >= T, rate, stream,
                )  # fmt: skip
                delayed_document_update(p, v, C_z, prior, a, n_tokens, n, n_topics, rule, is_flow)
