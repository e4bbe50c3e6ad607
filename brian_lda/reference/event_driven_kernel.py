"""The token loop of `EventDrivenTwin`, compiled.

Where M^alpha is in gauge form and M^beta is carried as p = exp M^beta, exp(m_zw - r_z) is kept
beside m_zw: the rates of a race are then products, exp(r_z - a_z) exp(m_zw - r_z) p_zd, and a token
costs three exponentials instead of K. r_z = 64 floor(a_z / 64) keeps the products within the range
of floats and is a function of a_z alone, so that a restored network goes on to the last bit.

With a prior on Phi a topic neuron sees exp M^alpha_zw + varphi_w s_z. Its spike, Delta tokens after
its last, is a step eta of dP/ds = x + varphi Delta/N - a P with a = 1 + Vbar Delta/N: M^alpha takes
the drive x, s_z the drive Delta/N, and both decay by a (`docs/smoothing.md`).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from brian_lda.reference.activation import draw_winner, softmax_winner
from brian_lda.reference.plasticity import (
    euler,
    flow,
    log_add,
    robbins_monro,
    variance_tracking_eta,
)

SMALLEST_RATE = 1e-250  # below this the product of rates is redone in the log domain
LOG_TINY = float(np.log(np.finfo(np.float64).tiny))
REBASE = 64.0  # r_z moves in such steps
LARGEST_DECAY = 100.0  # by the prior, in one step: exp(-100) of P is lost in rounding


@njit(inline="always")
def _update_synapse(M, i, j, c, a, eta_neuron, memory, rule, is_flow):
    """One synapse M[i, j] under its step rule: first eta, then the integrator."""
    code, epsilon = rule[0], rule[1]
    first, second, base = memory
    eta = eta_neuron
    if code == 1:
        eta = variance_tracking_eta(first[i, j], second[i, j])
    elif code == 2:
        g = c * np.exp(-M[i, j]) - a
        first[i, j] += g * g
        eta = base[0] / np.sqrt(first[i, j] + epsilon)
    M[i, j] = flow(M[i, j], c, a, eta) if is_flow else euler(M[i, j], c, a, eta)
    if code == 1:
        first[i, j] += eta * (M[i, j] - first[i, j])
        second[i, j] += eta * (M[i, j] * M[i, j] - second[i, j])


@njit
def _rebase(rates, m__alpha, z, r):
    """exp(m_zw - r) for all words of topic z."""
    for v in range(m__alpha.shape[0]):
        rates[v, z] = np.exp(m__alpha[v, z] - r)


@njit(cache=True)
def word_rates(m__alpha, offset):
    """exp(m_zw - r_z) [word, topic] and exp(r_z - a_z) [topic], as `present_tokens` keeps them."""
    rates, scale = np.empty_like(m__alpha), np.empty_like(offset)
    for z in range(offset.shape[0]):
        r = REBASE * np.floor(offset[z] / REBASE)
        _rebase(rates, m__alpha, z, r)
        scale[z] = np.exp(r - offset[z])
    return rates, scale


@njit(inline="always")
def _infer_from_rates(rates, scale, varphi, s, beta, w, d, rate, stream):
    """`_infer` by products alone; -1 if they are too small to tell."""
    total = 0.0
    for z in range(rate.shape[0]):
        rate[z] = (rates[w, z] * scale[z] + varphi * s[z]) * beta[d, z]
        total += rate[z]
    return draw_winner(rate, total, stream) if total > SMALLEST_RATE else -1


@njit(inline="always")
def _infer(m__alpha, offset, private, shared, varphi, s, beta, beta_as_rate, w, d, u, rate, stream):
    """Alg. 1 for the token (w, d), with J = log(exp M^alpha + varphi s) in place of M^alpha."""
    K = rate.shape[0]
    pruned, s_max = private.shape[0] > 0, s.max()
    smoothed = varphi * s_max > 0.0
    for z in range(K):
        u[z] = m__alpha[w, z] - offset[z]
    if pruned:
        for z in range(K):
            if not private[w, z]:
                u[z] = shared[w, z]
    if beta_as_rate:
        largest = np.log(varphi * s_max) if smoothed else -np.inf
        top = largest
        for z in range(K):
            top = max(top, u[z])
        share = np.exp(largest - top) / s_max if smoothed else 0.0  # varphi exp(-top)
        total = 0.0
        for z in range(K):
            rate[z] = np.exp(u[z] - top)
            if smoothed and not (pruned and not private[w, z]):
                rate[z] += share * s[z]
            rate[z] *= beta[d, z]
            total += rate[z]
        if total > SMALLEST_RATE:
            return draw_winner(rate, total, stream)
    for z in range(K):
        if smoothed and not (pruned and not private[w, z]):
            u[z] = log_add(u[z], np.log(varphi * s[z])) if s[z] > 0.0 else u[z]
        u[z] += max(np.log(beta[d, z]), LOG_TINY) if beta_as_rate else beta[d, z]
    return softmax_winner(u, rate, stream)


@njit(cache=True)
def present_tokens(
    words, docs, winners, forced,
    m__alpha, offset, n_alpha, word_memory, word_rule, gauge, private, shared,
    varphi, per_token, s, Delta, rates, scale,
    beta, beta_as_rate, n_beta, doc_memory, doc_rule, a, c, is_flow, stream,
):  # fmt: skip
    V, K = m__alpha.shape
    pruned, has_rates = private.shape[0] > 0, rates.shape[0] > 0
    Vbar = varphi.sum()
    last = -Delta  # number of the token, in this call, at which each neuron spiked last
    u, rate = np.empty(K), np.empty(K)
    for i in range(words.shape[0]):
        w, d = words[i], docs[i]
        if not forced and has_rates:
            winners[i] = _infer_from_rates(rates, scale, varphi[w], s, beta, w, d, rate, stream)
        if not forced and (not has_rates or winners[i] < 0):
            winners[i] = _infer(
                m__alpha, offset, private, shared, varphi[w], s, beta, beta_as_rate, w, d,
                u, rate, stream,
            )  # fmt: skip
        z = winners[i]

        eta = 0.0
        if word_rule[0] == 0:
            eta = robbins_monro(n_alpha[z], word_rule[1], word_rule[2], word_rule[3], word_rule[4])
        waited = (i + 1.0 - last[z]) * per_token  # Delta/N
        last[z] = i + 1.0
        decay__alpha = 1.0 + Vbar * waited
        step = min(decay__alpha * eta, eta + LARGEST_DECAY)
        gain = -np.expm1(-step)
        if (
            gauge
        ):  # m_zw - a_z: the active synapse gains, the neuron's offset takes the decay of all
            m = m__alpha[w, z]
            if pruned and not private[w, z]:
                pass  # the shared synapse is fixed
            elif is_flow:
                gained = np.log(gain / decay__alpha)
                m__alpha[w, z] = log_add(m, offset[z] + step + gained)
            else:
                m__alpha[w, z] = m + eta * np.exp(offset[z] - m)
            r = REBASE * np.floor(offset[z] / REBASE)
            offset[z] += step
            if has_rates:
                moved = REBASE * np.floor(offset[z] / REBASE)
                if moved != r:
                    _rebase(rates, m__alpha, z, moved)
                else:
                    rates[w, z] = np.exp(m__alpha[w, z] - r)
                scale[z] = np.exp(moved - offset[z])
        else:
            for v in range(V):
                if pruned and not private[v, z]:
                    continue
                x = 1.0 if v == w else 0.0
                _update_synapse(
                    m__alpha, v, z, x, decay__alpha, eta, word_memory, word_rule, is_flow
                )
        s[z] += gain * (waited / decay__alpha - s[z])
        n_alpha[z] += 1.0

        if doc_rule[0] == 0:
            eta = (
                robbins_monro(n_beta[d], doc_rule[1], doc_rule[2], doc_rule[3], doc_rule[4]) / a[d]
            )
        if beta_as_rate:  # flow in p = exp M
            decay = np.exp(-a[d] * eta)
            gain = (1.0 - decay) / a[d]
            for k in range(K):
                beta[d, k] = decay * beta[d, k] + gain * c[d, k]
            beta[d, z] += gain
        else:
            for k in range(K):
                drive = c[d, k] + (1.0 if k == z else 0.0)
                _update_synapse(beta, d, k, drive, a[d], eta, doc_memory, doc_rule, is_flow)
        n_beta[d] += 1.0
    for z in range(K):
        Delta[z] = words.shape[0] - last[z]
