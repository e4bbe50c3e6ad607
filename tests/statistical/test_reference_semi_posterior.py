"""semi-CGS samples the exact posterior of a document, on documents small enough to enumerate.

As `test_reference_posterior.py` does for the collapsed samplers, with its number of chains and its
faults. Without own votes there is no posterior, but a law of the chain, computed step by step.
"""

import numpy as np
import pytest
from enumerated_posterior import (
    FAULT_P,
    FORGOTTEN,
    SEMI,
    SMALLEST_P,
    bias_left,
    number,
    p_value,
    semi_chain_law,
    semi_posterior,
)
from numba import njit
from scipy import sparse, stats
from test_reference_posterior import CORRECT, FAULTS, N_CHAINS, faulty_p_value

from brian_lda.reference.activation import padded
from brian_lda.reference.document_batch import batch_tokens
from brian_lda.reference.mean_limit import SemiMeanLimit
from brian_lda.reference.semi_cgs_lists import new_list, sums_of_prior, sweep_list
from brian_lda.reference.semi_spike_lda import (
    NOTHING_TAKEN,
    count_winners,
    semi_cgs_counts,
    sweep_document,
)

pytestmark = pytest.mark.statistical


@njit
def _semi_chains(n_chains, n_sweeps, words, rates, lamda, K, seed, left=NOTHING_TAKEN):
    """Last assignments of independent runs of the library's own sweep."""
    width = rates.shape[1]
    found = np.empty((n_chains, words.shape[0]), np.int32)
    count = np.ones(words.shape[0], np.int32)
    counted = np.zeros((rates.shape[0], width), np.int32)
    stream = np.array([seed], np.uint64)
    for c in range(n_chains):
        C_z, rate = np.zeros(width, np.float32), np.empty(width, np.float32)
        for s in range(n_sweeps + 1):
            sweep_document(words, count, rates, left, lamda, K, s == 0, C_z, found[c], rate, stream)
            if s > 0:
                count_winners(words, count, found[c], counted)
    return found, counted


@njit
def _semi_list_chains(
    n_chains, n_sweeps, words, rates, lamda, K, seed, left=NOTHING_TAKEN, prior_share=1.0
):
    """The same by lists of topics; a share of the prior's part below 1 is a fault."""
    found = np.empty((n_chains, words.shape[0]), np.int32)
    count = np.ones(words.shape[0], np.int32)
    counted = np.zeros(rates.shape, np.int32)
    stream = np.array([seed], np.uint64)
    prior_sums = sums_of_prior(words, rates, lamda) * np.float32(prior_share)
    for c in range(n_chains):
        topics = new_list(K, words.shape[0])
        for s in range(n_sweeps + 1):
            sweep_list(
                words,
                count,
                rates,
                left,
                lamda,
                prior_sums,
                s == 0,
                topics,
                found[c],
                stream,
            )
            if s > 0:
                count_winners(words, count, found[c], counted)
    return found, counted


def padded_rates(phi, lamda):
    K = len(lamda)
    rates, prior = np.zeros((phi.shape[1], padded(K)), np.float32), np.zeros(padded(K), np.float32)
    rates[:, :K], prior[:K] = phi.T, lamda
    return rates, prior


@pytest.mark.parametrize("n_sweeps", (0, 30))
@pytest.mark.parametrize("document", SEMI)
@pytest.mark.parametrize("chains", (_semi_chains, _semi_list_chains))
def test_semi_cgs_matches_the_enumerated_posterior(chains, document, n_sweeps):
    """After 30 sweeps; the first draw, given the tokens before it only, must not match yet."""
    words, lamda, phi = SEMI[document]
    K, posterior = len(lamda), semi_posterior(words, lamda, phi)
    rates, prior = padded_rates(phi, lamda)
    found, counted = chains(10 * N_CHAINS, n_sweeps, np.array(words, np.int32), rates, prior, K, 7)
    assert counted.sum() == 10 * N_CHAINS * n_sweeps * len(words)
    p = p_value(number(found, K), posterior)
    if n_sweeps == 30:
        assert bias_left(posterior, K, len(words), n_sweeps, "sequential") < FORGOTTEN
        assert p > SMALLEST_P
    else:
        assert p < FAULT_P  # the test has the power to see a chain that has not converged


@pytest.mark.parametrize("n_sweeps", (1, 4))
@pytest.mark.parametrize("document", SEMI)
@pytest.mark.parametrize("chains", (_semi_chains, _semi_list_chains))
def test_without_own_votes_the_last_winner_is_raced_with_what_is_left(chains, document, n_sweeps):
    """The exact law of the chain; of one that takes nothing out, it is not."""
    words, lamda, phi = SEMI[document]
    K = len(lamda)
    left = np.random.default_rng(1).uniform(0.05, 0.6, phi.shape)
    rates, prior = padded_rates(phi, lamda)
    factor = np.ones(rates.shape, np.float32)
    factor[:, :K] = left.T
    found, _ = chains(
        10 * N_CHAINS, n_sweeps, np.array(words, np.int32), rates, prior, K, 11, factor
    )
    states_found = number(found, K)
    assert p_value(states_found, semi_chain_law(words, lamda, phi, left, n_sweeps)) > SMALLEST_P
    nothing_taken = semi_chain_law(words, lamda, phi, np.ones(phi.shape), n_sweeps)
    assert p_value(states_found, nothing_taken) < FAULT_P


@pytest.mark.parametrize("document", SEMI)
def test_semi_negative_controls_fail(document):
    words, lamda, phi = SEMI[document]
    docs, varphi = [0] * len(words), np.array([0.8, 0.2, 2.0])
    posterior = semi_posterior(words, lamda, phi)
    assert faulty_p_value(CORRECT, words, docs, lamda, varphi, posterior, phi) > SMALLEST_P
    for fault in FAULTS:
        p = faulty_p_value(fault, words, docs, lamda, varphi, posterior, phi)
        assert p < FAULT_P, fault


@pytest.mark.parametrize("document", SEMI)
def test_a_list_that_forgets_a_part_of_the_law_fails(document):
    words, lamda, phi = SEMI[document]
    rates, prior = padded_rates(phi, lamda)
    found, _ = _semi_list_chains(
        10 * N_CHAINS,
        30,
        np.array(words, np.int32),
        rates,
        prior,
        len(lamda),
        7,
        NOTHING_TAKEN,
        0.8,
    )
    assert p_value(number(found, len(lamda)), semi_posterior(words, lamda, phi)) < FAULT_P


@pytest.mark.parametrize("chains", (_semi_chains, _semi_list_chains))
def test_semi_cgs_of_several_groups_of_topics(chains):
    """37 topics: a second group of the prior's sums, and padding behind the last topic."""
    K, words = 37, np.array([0, 1], np.int32)
    rng = np.random.default_rng(8)
    lamda, phi = rng.gamma(0.5, size=K) + 0.01, rng.dirichlet(np.ones(2), K)
    rates, prior = padded_rates(phi, lamda)
    found, _ = chains(10 * N_CHAINS, 30, words, rates, prior, K, 9)
    posterior = semi_posterior(words, lamda, phi)
    assert p_value(number(found, K), posterior) > SMALLEST_P
    assert p_value(number(found, K), semi_posterior(words, lamda + 0.1, phi)) < FAULT_P


@pytest.mark.parametrize("by_list", (False, True))
def test_semi_spike_lda_collects_the_expected_counts(by_list):
    """The whole parallel path: 20 000 copies of a document, one kept sweep, against E[C_dzw].

    Every word occurs once, so N_zw of a word is one multinomial draw: chi-square per word.
    """
    n_docs, lamda = 20_000, np.array([0.1, 0.6, 1.7])
    phi = np.random.default_rng(3).dirichlet(np.ones(5), 3)
    expected = SemiMeanLimit([[0, 1, 2, 3, 4]], 3, lamda).expected_counts(np.log(phi))
    batch = batch_tokens(sparse.csr_array(np.ones((n_docs, 5), np.int32)))
    rates, prior = padded_rates(phi, lamda)

    def p_values(prior, burn_in):
        N_zw = semi_cgs_counts(
            batch, rates, prior, 3, burn_in=burn_in, kept=1, key=np.random.SeedSequence(5),
            _by_list=by_list,
        )[:, :3]  # fmt: skip
        return [stats.chisquare(N_zw[w], n_docs * expected[:, w]).pvalue for w in range(5)]

    assert min(p_values(prior, burn_in=20)) > SMALLEST_P
    off_by_one = prior.copy()
    off_by_one[:3] += 1.0
    assert min(p_values(off_by_one, burn_in=20)) < FAULT_P
