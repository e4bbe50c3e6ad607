"""SpikeCGS and CGS sample the exact posterior, on corpora small enough to enumerate.

Every test runs many independent chains from random assignments and takes the last state of each:
independent draws, so that the chi-square law holds. How many sweeps are enough is not guessed: the
transition matrix of the sweep is built from Eq. (CGS), and what its second
eigenvalue leaves of the start is required to be below the resolution of the test.

Both forms of CGS (table and lists of C_wz) take the same tests; at a few topics the lists have to
be asked for. semi-CGS: test_reference_semi_posterior.py.

Negative controls: the same chains with one fault each (no negative phase, priors swapped, prior off
by one, ties to the lowest index) must fail the same test.
"""

import numpy as np
import pytest
from enumerated_posterior import (
    CORPORA,
    FAULT_P,
    FORGOTTEN,
    SMALLEST_P,
    bias_left,
    collapsed_posterior,
    number,
    p_value,
)
from numba import njit

from brian_lda.reference import word_lists
from brian_lda.reference.assignments import assignment_counts
from brian_lda.reference.collapsed_gibbs import CollapsedGibbs
from brian_lda.reference.random_streams import new_stream, uniform
from brian_lda.reference.spike_cgs import SpikeCGSReference
from brian_lda.reference.word_lists import WordLists
from brian_lda.reference.word_table import WordTable

pytestmark = pytest.mark.statistical

N_CHAINS = 6000


def gibbs_by_lists(words, docs, **arguments):
    return CollapsedGibbs(words, docs, _word_counts=WordLists, **arguments)


COLLAPSED_KINDS = (SpikeCGSReference, CollapsedGibbs, gibbs_by_lists)


def token_order(order, n_tokens, n_sweeps, rng):
    if order == "random":
        return rng.integers(0, n_tokens, n_sweeps * n_tokens)
    return np.tile(np.arange(n_tokens), n_sweeps)


@pytest.mark.complete(
    but=[
        "SpikeCGSReference-2 docs, 5 tokens, K=3-sequential",
        "CollapsedGibbs-2 docs, 6 tokens, K=2-random",
        "gibbs_by_lists-2 docs, 5 tokens, K=3-sequential",
    ]
)
@pytest.mark.parametrize("order", ("sequential", "random"))
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("kind", COLLAPSED_KINDS)
def test_collapsed_samplers_match_the_enumerated_posterior(kind, corpus, order):
    words, docs, lamda, varphi = CORPORA[corpus]
    K, n_tokens = len(lamda), len(words)
    n_sweeps = 30 if order == "sequential" else 60
    posterior = collapsed_posterior(words, docs, lamda, varphi)
    steps = n_sweeps if order == "sequential" else n_sweeps * n_tokens
    assert bias_left(posterior, K, n_tokens, steps, order) < FORGOTTEN
    rng, found = np.random.default_rng(0), []
    for seed in range(N_CHAINS):
        chain = kind(
            np.array(words), np.array(docs), n_topics=K, n_words=len(varphi),
            n_docs=max(docs) + 1, doc_topic_prior=lamda, topic_word_prior=varphi, seed=seed,
        )  # fmt: skip
        chain.sweep(token_order(order, n_tokens, n_sweeps, rng))
        found.append(chain.z)
    assert p_value(number(found, K), posterior) > SMALLEST_P


@pytest.mark.parametrize("kind", COLLAPSED_KINDS)
def test_one_long_chain_thinned(kind):
    """One chain, a state kept every 20 sweeps: its memory is below the test's resolution."""
    words, docs, lamda, varphi = CORPORA["2 docs, 6 tokens, K=2"]
    posterior = collapsed_posterior(words, docs, lamda, varphi)
    assert bias_left(posterior, 2, 6, 20, "sequential") < 0.01
    chain = kind(
        np.array(words), np.array(docs), n_topics=2, n_words=3, n_docs=2,
        doc_topic_prior=lamda, topic_word_prior=varphi, seed=4,
    )  # fmt: skip
    order, found = np.tile(np.arange(6), 20), []
    for _ in range(20_000):
        chain.sweep(order)
        found.append(chain.z.copy())
    assert p_value(number(found[10:], 2), posterior) > SMALLEST_P


class ForgetfulLists(WordLists):
    """Leaves a fifth of the weight of all topics, phi_w c_z, out."""

    def sweep(self, order, words, docs, z, C_zd, C_z, lamda, varphi, stream):
        word_lists._sweep(
            order, words, docs, z, self._start, self._length, self._entries, C_zd, C_z, lamda,
            0.8 * varphi.astype(np.float32), varphi.sum(), stream,
        )  # fmt: skip


@pytest.mark.complete
@pytest.mark.parametrize("corpus", CORPORA)
def test_lists_that_forget_a_part_of_the_law_fail(corpus):
    words, docs, lamda, varphi = CORPORA[corpus]
    K, found = len(lamda), []
    for seed in range(3 * N_CHAINS):
        chain = CollapsedGibbs(
            np.array(words), np.array(docs), n_topics=K, n_words=len(varphi),
            n_docs=max(docs) + 1, doc_topic_prior=lamda, topic_word_prior=varphi, seed=seed,
            _word_counts=ForgetfulLists,
        )  # fmt: skip
        chain.sweep(np.tile(np.arange(len(words)), 30))
        found.append(chain.z)
    assert p_value(number(found, K), collapsed_posterior(words, docs, lamda, varphi)) < FAULT_P


@pytest.mark.parametrize("word_counts", (WordTable, WordLists))
def test_the_conditional_of_a_token_among_many_topics(word_counts):
    """One token resampled for ever, 93 topics: each winner is an independent draw of Eq. (CGS)."""
    K, V, rng = 93, 6, np.random.default_rng(3)
    words, docs, z = rng.integers(0, V, 300), rng.integers(0, 4, 300), rng.integers(0, K, 300)
    lamda, varphi = rng.gamma(0.5, size=K) + 0.05, rng.gamma(0.5, size=V) + 0.05
    chain = CollapsedGibbs(
        words, docs, n_topics=K, n_words=V, n_docs=4, doc_topic_prior=lamda,
        topic_word_prior=varphi, seed=1, initial_assignments=z, _word_counts=word_counts,
    )  # fmt: skip
    found, token = np.zeros(K, int), np.array([17])
    for _ in range(20_000):
        chain.sweep(token)
        found[chain.z[17]] += 1

    def p_of(lamda):
        C_wz, C_zd, C_z = assignment_counts(
            np.delete(words, 17), np.delete(docs, 17), np.delete(z, 17), V, 4, K
        )
        w, d = words[17], docs[17]
        p = (C_wz[:, w] + varphi[w]) / (C_z + varphi.sum()) * (C_zd[d] + lamda)
        return p_value(np.repeat(np.arange(K), found), p / p.sum())

    assert p_of(lamda) > SMALLEST_P
    assert p_of(lamda + 0.1) < FAULT_P


CORRECT, NO_NEGATIVE_PHASE, SWAPPED_PRIORS, PRIOR_OFF_BY_ONE, TIE_TO_LOWEST = range(5)


@njit
def _faulty_chain(words, docs, lamda, varphi, z, n_sweeps, fault, is_semi, phi, stream):
    """CGS (or semi-CGS with `phi`) on counts, with at most one fault. Changes z."""
    K, V = lamda.shape[0], varphi.shape[0]
    C_wz, C_zd, C_z = np.zeros((K, V)), np.zeros((docs.max() + 1, K)), np.zeros(K)
    for i in range(z.shape[0]):
        C_wz[z[i], words[i]] += 1
        C_zd[docs[i], z[i]] += 1
        C_z[z[i]] += 1
    rate = np.empty(K)
    for _ in range(n_sweeps):
        for i in range(z.shape[0]):
            w, d, old = words[i], docs[i], z[i]
            if fault != NO_NEGATIVE_PHASE:
                C_wz[old, w] -= 1
                C_zd[d, old] -= 1
                C_z[old] -= 1
            for k in range(K):
                prior_d = lamda[k] + (1.0 if fault == PRIOR_OFF_BY_ONE else 0.0)
                prior_w, prior_bar = varphi[w], varphi.sum()
                if fault == SWAPPED_PRIORS:  # Alg. 2, line 1, as printed
                    prior_d, prior_w, prior_bar = varphi[w], lamda[k], V * lamda[k]
                word = phi[k, w] if is_semi else (C_wz[k, w] + prior_w) / (C_z[k] + prior_bar)
                rate[k] = word * (C_zd[d, k] + prior_d)
            new = 0
            if fault == TIE_TO_LOWEST:  # clocked Poisson neurons, about half a spike per tick
                dt = 0.5 / rate.sum()
                fired = False
                while not fired:
                    for k in range(K):
                        if not fired and uniform(stream) < 1 - np.exp(-rate[k] * dt):
                            new, fired = k, True
            else:
                target = uniform(stream) * rate.sum()
                while new < K - 1 and target >= rate[new]:
                    target -= rate[new]
                    new += 1
            if fault == NO_NEGATIVE_PHASE:
                C_wz[old, w] -= 1
                C_zd[d, old] -= 1
                C_z[old] -= 1
            C_wz[new, w] += 1
            C_zd[d, new] += 1
            C_z[new] += 1
            z[i] = new


@njit
def _faulty_chains(starts, words, docs, lamda, varphi, n_sweeps, fault, is_semi, phi, stream):
    for c in range(starts.shape[0]):
        _faulty_chain(words, docs, lamda, varphi, starts[c], n_sweeps, fault, is_semi, phi, stream)


def faulty_p_value(fault, words, docs, lamda, varphi, posterior, phi=None):
    starts = np.random.default_rng(1).integers(0, len(lamda), (N_CHAINS, len(words)))
    is_semi, phi = phi is not None, np.zeros((1, 1)) if phi is None else phi
    _faulty_chains(
        starts, np.array(words), np.array(docs), lamda, varphi, 30, fault, is_semi, phi,
        new_stream(2),
    )  # fmt: skip
    return p_value(number(starts, len(lamda)), posterior)


FAULTS = (NO_NEGATIVE_PHASE, SWAPPED_PRIORS, PRIOR_OFF_BY_ONE, TIE_TO_LOWEST)


@pytest.mark.parametrize("corpus", CORPORA)
def test_negative_controls_fail(corpus):
    words, docs, lamda, varphi = CORPORA[corpus]
    posterior = collapsed_posterior(words, docs, lamda, varphi)
    assert faulty_p_value(CORRECT, words, docs, lamda, varphi, posterior) > SMALLEST_P
    for fault in FAULTS:
        assert faulty_p_value(fault, words, docs, lamda, varphi, posterior) < FAULT_P, fault


@pytest.mark.parametrize("kind", COLLAPSED_KINDS)
def test_the_samplers_themselves_fail_with_a_prior_off_by_one(kind):
    words, docs, lamda, varphi = CORPORA["2 docs, 6 tokens, K=2"]
    posterior = collapsed_posterior(words, docs, lamda, varphi)
    found = []
    for seed in range(1000):
        chain = kind(
            np.array(words), np.array(docs), n_topics=2, n_words=3, n_docs=2,
            doc_topic_prior=lamda + 1.0, topic_word_prior=varphi, seed=seed,
        )  # fmt: skip
        chain.sweep(np.tile(np.arange(6), 30))
        found.append(chain.z)
    assert p_value(number(found, 2), posterior) < FAULT_P
