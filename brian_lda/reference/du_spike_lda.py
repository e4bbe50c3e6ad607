r"""du-SpikeLDA (Remark 2) at rate level: ed-SpikeLDA with M^alpha updated once a mini-batch.

For each document of the mini-batch, 2T local iterations over its tokens, each of which draws its
topic z from softmax(M^alpha_zw + M^beta_zd). M^beta then moves in one of two ways:

`RobbinsMonro`  with each token, by Eq. (MAP discrete dynamics) as in ed-SpikeLDA,

                .. math:: M^\beta_{zd} \leftarrow M^\beta_{zd} + \eta\Big[\big(h_z +
                          \tfrac{\lambda_z - 1}{N_d}\big) e^{-M^\beta_{zd}} - \tfrac1\kappa
                          - \tfrac1{N_d}\Big]

`RMSProp`       at the end of a local iteration, by the average of that equation over its N_d
                tokens, whose C_zd fell to topic z: the paper's steps.

The assignments of the last T local iterations are counted into N_zw, and M^alpha makes one
averaged update (`word_weights`). The paper does not say how local iterations and averaging
interleave; these are our readings. M^beta starts at N(1, 1) for each visit of a document.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange

from brian_lda.parameters import BatchParameters, require_map_prior
from brian_lda.reference.activation import draw_from_blocks, padded
from brian_lda.reference.document_batch import BatchTokens
from brian_lda.reference.mini_batch import MiniBatchReference
from brian_lda.reference.plasticity import robbins_monro
from brian_lda.reference.random_streams import substream_state, uniform
from brian_lda.step_rules import RobbinsMonro

ROBBINS_MONRO = RobbinsMonro().kernel_rule[0]


class DuSpikeLDAReference(MiniBatchReference):
    """Rate-level twin of the du-SpikeLDA network; parameters as in `MiniBatchReference`.

    Every lambda must be > 1.
    """

    def __init__(self, parameters: BatchParameters, n_words: int, **arguments: Any) -> None:
        require_map_prior(parameters.doc_topic_prior)
        super().__init__(parameters, n_words, **arguments)

    def _infer(
        self, batch: BatchTokens, seen: tuple[np.ndarray, ...], key: np.random.SeedSequence
    ) -> np.ndarray:
        (rates,), K = seen, self.parameters.n_topics
        prior = np.zeros(padded(K))
        prior[:K] = self.parameters.doc_topic_prior - 1.0
        per_thread = np.zeros((get_num_threads(), *rates.shape), np.int32)
        _local_iterations(
            batch.start, batch.local_word, batch.count, *batch.shares(len(per_thread)), rates,
            prior, K, self.parameters.local_iterations, key.generate_state(1, np.uint64)[0],
            self.parameters.doc_step.kernel_rule, self.parameters.integrator == "flow", per_thread,
        )  # fmt: skip
        return per_thread.sum(axis=0, dtype=np.int32)

    def _follow(
        self,
        seen: tuple[np.ndarray, ...],
        doc: np.ndarray,
        winners: np.ndarray,
        M__beta: np.ndarray,
    ) -> np.ndarray:
        (rates,) = seen
        K, prior = self.parameters.n_topics, self.parameters.doc_topic_prior - 1.0
        rule, is_flow = self.parameters.doc_step.kernel_rule, self.parameters.integrator == "flow"
        N_d = np.bincount(doc, minlength=len(M__beta))
        a = 1.0 / prior.sum() + 1.0 / np.maximum(N_d, 1)
        p = np.empty((*winners.shape, K))
        exp_beta, v, C_zd = np.exp(M__beta), np.zeros(M__beta.shape), np.zeros(M__beta.shape)
        n_seen = np.zeros(len(M__beta), np.int64)
        for n, row in enumerate(winners):
            for i, (d, z) in enumerate(zip(doc, row, strict=True)):
                p[n, i] = rates[i] * exp_beta[d]
                if rule[0] == ROBBINS_MONRO:
                    document_update(exp_beta[d], z, prior, a[d], N_d[d], n_seen[d], rule, is_flow)
                C_zd[d, z] += 1.0
                n_seen[d] += 1
                if rule[0] != ROBBINS_MONRO and n_seen[d] % N_d[d] == 0:
                    delayed_document_update(
                        exp_beta[d], v[d], C_zd[d], prior, a[d], N_d[d], rule, is_flow
                    )
                    C_zd[d] = 0.0
        return p


@njit(cache=True)
def document_update(p, z, prior, a, n_tokens, n, rule, is_flow):
    """Eq. (MAP discrete dynamics) for the n-th token of a document, won by z, on p = exp M^beta.

    Steps and n count in passes through the document, steps in units of the relaxation time 1/a.
    """
    number = p.dtype.type  # float32 in the kernel below
    eta = robbins_monro(n / n_tokens, rule[1], rule[2], rule[3], rule[4]) / n_tokens / a
    if is_flow:
        fade, gain = number(np.exp(-a * eta)), -np.expm1(-a * eta) / a
        drive = number(gain / n_tokens)
        for k in range(p.shape[0]):
            p[k] = fade * p[k] + drive * number(prior[k])
        p[z] += number(gain)
    else:
        for k in range(p.shape[0]):
            if p[k] > 0.0:  # not a lane that pads the topics
                c = (1.0 if k == z else 0.0) + prior[k] / n_tokens
                p[k] = number(max(min(p[k] * np.exp(eta * (c / p[k] - a)), 1e30), 1e-30))


@njit(cache=True)
def delayed_document_update(p, v, C_z, prior, a, n_tokens, rule, is_flow):
    """The average of that rule over a local iteration, with RMSProp."""
    for k in range(p.shape[0]):
        if p[k] > 0.0:
            c = (C_z[k] + prior[k]) / n_tokens
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
def _excite(word_rate, p, rate):
    """exp(u) of every topic, and their sum."""
    total = np.float32(0.0)
    for k in range(rate.shape[0]):
        r = word_rate[k] * p[k]
        rate[k] = r
        total += r
    return total


@njit(cache=True)
def _iterate_token_by_token(
    local_word, count, rates, p, prior, a, n_tokens, n_topics, T, rule, is_flow, N_zw, stream
):
    """2T local iterations of a document whose synapses move with each token."""
    p = p.astype(np.float32)
    rate = np.empty(p.shape[0], np.float32)
    n = 0
    for iteration in range(2 * T):
        for j in range(local_word.shape[0]):
            for _ in range(count[j]):
                total = _excite(rates[local_word[j]], p, rate)
                z = draw_from_blocks(rate, total, n_topics, stream)
                document_update(p, z, prior, a, n_tokens, n, rule, is_flow)
                n += 1
                if iteration >= T:
                    N_zw[local_word[j], z] += 1


@njit(cache=True)
def _iterate_delayed(
    local_word, count, rates, p, prior, a, n_tokens, n_topics, T, rule, is_flow, N_zw, stream
):
    """2T local iterations of a document whose synapses move at the end of each."""
    v, C_z, rate = np.zeros(p.shape[0]), np.zeros(p.shape[0]), np.empty(p.shape[0], np.float32)
    for iteration in range(2 * T):
        p32 = p.astype(np.float32)
        C_z[:] = 0.0
        for j in range(local_word.shape[0]):
            total = _excite(rates[local_word[j]], p32, rate)
            for _ in range(count[j]):
                z = draw_from_blocks(rate, total, n_topics, stream)
                C_z[z] += 1.0
                if iteration >= T:
                    N_zw[local_word[j], z] += 1
        delayed_document_update(p, v, C_z, prior, a, n_tokens, rule, is_flow)


@njit(cache=True)
def _infer_document(local_word, count, rates, prior, n_topics, T, rule, is_flow, N_zw, stream):
    n_tokens = count.sum()
    if n_tokens == 0:
        return
    p = np.zeros(rates.shape[1])
    for k in range(n_topics):  # M^beta ~ N(1, 1), by Box and Muller
        radius = np.sqrt(-2.0 * np.log(1.0 - uniform(stream)))
        p[k] = np.exp(1.0 + radius * np.cos(2.0 * np.pi * uniform(stream)))
    a = 1.0 / prior.sum() + 1.0 / n_tokens
    document = (local_word, count, rates, p, prior, a, n_tokens, n_topics, T)
    if rule[0] == ROBBINS_MONRO:
        _iterate_token_by_token(*document, rule, is_flow, N_zw, stream)
    else:
        _iterate_delayed(*document, rule, is_flow, N_zw, stream)


@njit(cache=True, parallel=True)
def _local_iterations(
    start, local_word, count, documents, first, rates, prior, n_topics, T, seed, rule, is_flow,
    N_zw,
):  # fmt: skip
    for thread in prange(first.shape[0] - 1):
        for d in documents[first[thread] : first[thread + 1]]:
            stream = np.empty(1, np.uint64)
            stream[0] = substream_state(seed, d)
            entries = slice(start[d], start[d + 1])
            _infer_document(
                local_word[entries], count[entries], rates, prior, n_topics, T, rule, is_flow,
                N_zw[thread], stream,
            )  # fmt: skip
