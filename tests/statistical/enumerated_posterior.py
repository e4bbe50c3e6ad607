"""Corpora small enough to enumerate: their exact posteriors, and chi-square tests against them."""

from itertools import product

import numpy as np
from scipy import stats
from scipy.special import gammaln

SMALLEST_P = 1e-3  # a correct sampler fails one p-value in a thousand; seeds are fixed
FAULT_P = 1e-6  # a fault must be this clear
FORGOTTEN = 1e-4  # bias left of the start; thousands of draws resolve 1e-2

CORPORA = {
    "2 docs, 6 tokens, K=2": (
        [0, 1, 0, 1, 2, 2], [0, 0, 0, 1, 1, 1], np.array([0.4, 1.3]), np.array([0.3, 0.6, 1.1])
    ),
    "2 docs, 5 tokens, K=3": (
        [0, 1, 1, 0, 0], [0, 0, 0, 1, 1], np.array([0.1, 0.3, 0.6]), np.array([0.2, 0.4])
    ),
}  # fmt: skip
EXPECTED_IN_A_BIN = 5


def states(n_tokens, K):
    """All assignments in the order of their number in base K, [state, token]."""
    return np.array(list(product(range(K), repeat=n_tokens)))


def number(z, K):
    return np.ravel_multi_index(np.moveaxis(np.asarray(z), -1, 0), (K,) * np.shape(z)[-1])


def collapsed_posterior(words, docs, lamda, varphi):
    """p(Z | W) ~ prod Gamma(C_zd + lambda_z) prod Gamma(C_wz + varphi_w) / Gamma(C_z + bar)."""
    K, all_z = len(lamda), states(len(words), len(lamda))
    log_p = np.zeros(len(all_z))
    for s, z in enumerate(all_z):
        for k in range(K):
            C_w = np.bincount(np.array(words)[z == k], minlength=len(varphi))
            C_d = np.bincount(np.array(docs)[z == k], minlength=max(docs) + 1)
            log_p[s] += gammaln(C_w + varphi).sum() - gammaln(C_w.sum() + varphi.sum())
            log_p[s] += gammaln(C_d + lamda[k]).sum()
    p = np.exp(log_p - log_p.max())
    return p / p.sum()


def bias_left(posterior, K, n_tokens, n_updates, order):
    """Second eigenvalue of a sweep (sequential) or of one update (random), to the n-th power.

    Each update is the conditional of `posterior`, whoever computes it.
    """
    all_z, identity = states(n_tokens, K), np.eye(len(posterior))
    updates = []
    for i in range(n_tokens):
        update = np.zeros_like(identity)
        for s, z in enumerate(all_z):
            siblings = number([[*z[:i], k, *z[i + 1 :]] for k in range(K)], K)
            update[s, siblings] = posterior[siblings] / posterior[siblings].sum()
        updates.append(update)
    if order == "random":
        transition = np.mean(updates, axis=0)
    else:
        transition = np.linalg.multi_dot(updates)
    np.testing.assert_allclose(posterior @ transition, posterior, rtol=1e-9)
    return np.sort(np.abs(np.linalg.eigvals(transition)))[-2] ** n_updates


def p_value(observed_states, posterior):
    """Chi-square of state frequencies; rare states are pooled into one bin."""
    counts = np.bincount(observed_states, minlength=len(posterior))
    expected = posterior * counts.sum()
    rare = expected < EXPECTED_IN_A_BIN
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    assert len(expected) > 10
    return stats.chisquare(counts, expected).pvalue


SEMI = {  # words of one document, lambda, Phi
    "K=2": ([0, 0, 1, 2, 1], np.array([0.3, 0.9]), np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])),
    "K=3": (
        [0, 1, 2, 2],
        np.array([0.1, 0.6, 1.7]),
        np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.3, 0.4, 0.3]]),
    ),
}


def semi_posterior(words, lamda, phi):
    """p(z_d | w_d; Phi, lambda) ~ prod_i phi_{z_i w_i} prod_z Gamma(C_z + lambda_z)."""
    all_z = states(len(words), len(lamda))
    C_z = (all_z[:, :, None] == np.arange(len(lamda))).sum(axis=1)
    p = np.exp(np.log(phi[all_z, words]).sum(axis=1) + gammaln(C_z + lamda).sum(axis=1))
    return p / p.sum()


def semi_chain_law(words, lamda, phi, left, n_sweeps):
    """Law of the assignments after some sweeps from their first draws, step by step.

    Where a token is raced without its own votes the next winner depends on the last, by the factor
    `left` [topic, word]: such a chain has no posterior to begin with, but a law it has.
    """
    K, all_z = len(lamda), states(len(words), len(lamda))
    law = np.ones(len(all_z))
    for s, z in enumerate(all_z):  # the first draws, each given the tokens before it
        for i, w in enumerate(words):
            p = phi[:, w] * (np.bincount(z[:i], minlength=K) + lamda)
            law[s] *= p[z[i]] / p.sum()
    for _ in range(n_sweeps):
        for i, w in enumerate(words):
            before, law = law, np.zeros(len(all_z))
            for s, z in enumerate(all_z):
                others = np.bincount(np.delete(z, i), minlength=K)
                p = phi[:, w] * (others + lamda)
                p[z[i]] *= left[z[i], w]
                law[number([[*z[:i], k, *z[i + 1 :]] for k in range(K)], K)] += (
                    before[s] * p / p.sum()
                )
    return law
