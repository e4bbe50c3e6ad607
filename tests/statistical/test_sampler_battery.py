"""One battery for all samplers: calibration, joint distribution, and p-values that are uniform.

| sampler                                   | exact posterior              | here                 |
|-------------------------------------------|------------------------------|----------------------|
| SpikeCGS, CGS, rate level; lists          | test_reference_posterior     | calibration, Geweke  |
| semi-CGS, rate level; lists               | test_reference_semi_posterior| calibration, Geweke  |
| SpikeCGS, semi-CGS, in spikes             | test_spiking_posterior       | calibration, Geweke  |
| fold-in by Gibbs                          | test_reference_fold_in_gibbs | calibration          |
| winners of ed- and du-SpikeLDA, in spikes | test_spiking_winner_law      | their own networks   |

ed-SpikeLDA, ed-SpikePLSI and du-SpikeLDA climb a likelihood, and the baselines SVI and SGMCMC only
approximate a posterior: what they sample exactly is the winner of each token. Three samplers that
are broken on purpose must fail. `pytest -m long` repeats the battery with seeds 0 to 99.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from calibration import Collapsed, Semi, SemiCounts, calibration_p_values, joint_p_values
from enumerated_posterior import CORPORA, FAULT_P, SMALLEST_P, collapsed_posterior
from numba import njit
from scipy import sparse, stats
from scipy.special import softmax
from test_reference_posterior import (
    CORRECT,
    NO_NEGATIVE_PHASE,
    PRIOR_OFF_BY_ONE,
    TIE_TO_LOWEST,
    _faulty_chain,
    faulty_p_value,
    gibbs_by_lists,
)
from test_reference_semi_posterior import padded_rates

from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.evaluation import fold_in_gibbs
from brian_lda.parameters import BatchParameters, EventDrivenParameters
from brian_lda.reference.collapsed_gibbs import CollapsedGibbs
from brian_lda.reference.random_streams import new_stream
from brian_lda.reference.semi_cgs_lists import new_list, sums_of_prior, sweep_list
from brian_lda.reference.semi_spike_lda import NOTHING_TAKEN, sweep_document
from brian_lda.reference.spike_cgs import SpikeCGSReference
from brian_lda.simulation import (
    DuSpikeLDASpiking,
    EventDrivenSpiking,
    SemiSpikeLDASpiking,
    SpikeCGSSpiking,
)
from brian_lda.step_rules import RobbinsMonro

pytestmark = pytest.mark.statistical

BURN_IN, THINNING = 30, 10  # sweeps; the enumerated posteriors forget their start in 20
N_CORPORA = 1000
COLLAPSED, SEMI = Collapsed(), Semi()


def sweeps_until_draws(n_draws):
    """Sweeps before each draw."""
    return [BURN_IN, *[THINNING] * (n_draws - 1)]


def collapsed_sampler(kind):
    """One chain for each corpus, by the library's own class."""

    def sampler(w, n_draws, seed, z=None):
        simulators = {}  # the program is opened once
        draws = np.empty((len(w), n_draws, w.shape[1]), np.int32)
        for i, words in enumerate(w):
            chain = kind(
                words, COLLAPSED.docs, n_topics=3, n_words=2, n_docs=2, seed=seed * len(w) + i,
                doc_topic_prior=COLLAPSED.lamda, topic_word_prior=COLLAPSED.varphi,
                initial_assignments=None if z is None else z[i],
            )  # fmt: skip
            tokens = np.arange(w.shape[1])
            if kind is SpikeCGSSpiking:  # all draws in one run of the network
                chain.network._simulators = simulators
                winners = chain.sweep(np.tile(tokens, sum(sweeps_until_draws(n_draws))))
                last = np.cumsum(sweeps_until_draws(n_draws)) - 1
                draws[i] = winners.reshape(-1, w.shape[1])[last]
                continue
            for j, n_sweeps in enumerate(sweeps_until_draws(n_draws)):
                chain.sweep(np.tile(tokens, n_sweeps))
                draws[i, j] = chain.z
        return draws

    return sampler


@njit
def _semi_chains(w, sweeps, rates, lamda, K, stream, draws):
    count = np.ones(w.shape[1], np.int32)
    for i in range(w.shape[0]):
        C_z, rate = np.zeros(rates.shape[1], np.float32), np.empty(rates.shape[1], np.float32)
        z, is_first = np.empty(w.shape[1], np.int32), True
        for j in range(sweeps.shape[0]):
            for _ in range(sweeps[j]):
                sweep_document(
                    w[i], count, rates, NOTHING_TAKEN, lamda, K, is_first, C_z, z, rate, stream
                )
                is_first = False
            draws[i, j] = z


@njit
def _semi_list_chains(w, sweeps, rates, lamda, K, stream, draws):
    count = np.ones(w.shape[1], np.int32)
    for i in range(w.shape[0]):
        prior_sums, topics = sums_of_prior(w[i], rates, lamda), new_list(K, w.shape[1])
        z, is_first = np.empty(w.shape[1], np.int32), True
        for j in range(sweeps.shape[0]):
            for _ in range(sweeps[j]):
                sweep_list(
                    w[i],
                    count,
                    rates,
                    NOTHING_TAKEN,
                    lamda,
                    prior_sums,
                    is_first,
                    topics,
                    z,
                    stream,
                )
                is_first = False
            draws[i, j] = z


def semi_rate(w, n_draws, seed, z=None, chains=_semi_chains):
    rates, lamda = padded_rates(SEMI.phi, SEMI.lamda)
    draws = np.empty((len(w), n_draws, w.shape[1]), np.int32)
    sweeps = np.array(sweeps_until_draws(n_draws))
    chains(w.astype(np.int32), sweeps, rates, lamda, 3, new_stream(seed, 5), draws)
    return draws


def counts_of(w):
    return np.stack([(w == v).sum(axis=1) for v in range(3)], axis=1).astype(np.int32)


def semi_spikes(w, n_draws, seed, z=None):
    """64 documents in a mini-batch; the network sorts the words of a document."""
    T = max(BURN_IN, THINNING * n_draws)
    parameters = BatchParameters(
        n_topics=3, doc_topic_prior=SEMI.lamda, topic_word_prior=0.0, local_iterations=T
    )
    network = SemiSpikeLDASpiking(parameters, 3, seed=seed, n_training_tokens=1)
    draws = []
    for batch in np.split(w, range(64, len(w), 64)):
        network.set_state(  # the network learns: back to what is tested
            {
                "M__alpha": np.log(SEMI.phi),
                "n_spikes": np.zeros(3),
                "n_updates": np.array([network.n_updates]),
            }
        )
        winners = network.update(sparse.csr_array(counts_of(batch)))
        kept = winners.reshape(len(winners), *batch.shape)[-n_draws * THINNING :: THINNING]
        back = np.argsort(np.argsort(batch, axis=1, kind="stable"), axis=1)
        draws.append(np.take_along_axis(kept, back[None], axis=2).swapaxes(0, 1))
    return np.concatenate(draws)


def fold_in(w, n_draws, seed, z=None):
    """Counts rather than assignments: theta of one sample, for each copy of a document."""
    counts = np.repeat(counts_of(w), n_draws, axis=0)
    theta = fold_in_gibbs(SEMI.phi, counts, SEMI.lamda, seed=seed)
    C_z = theta * (SEMI.n_tokens + SEMI.lamda.sum()) - SEMI.lamda
    return C_z.round().astype(int).reshape(len(w), n_draws, 3)


def broken_sampler(fault, is_semi):
    model = SEMI if is_semi else COLLAPSED
    docs = np.zeros(SEMI.n_tokens, np.int64) if is_semi else COLLAPSED.docs
    phi, varphi = SEMI.phi, COLLAPSED.varphi

    def sampler(w, n_draws, seed, z=None):
        rng, stream = np.random.default_rng([seed, 4]), new_stream(seed, 6)
        draws = np.empty((len(w), n_draws, w.shape[1]), np.int64)
        for i, words in enumerate(w):
            state = rng.integers(0, len(model.lamda), w.shape[1]) if z is None else z[i].copy()
            for j, n_sweeps in enumerate(sweeps_until_draws(n_draws)):
                _faulty_chain(
                    words, docs, model.lamda, varphi, state, n_sweeps, fault, is_semi, phi, stream
                )
                draws[i, j] = state
        return draws

    return sampler


RATE = {
    "SpikeCGS": (COLLAPSED, collapsed_sampler(SpikeCGSReference)),
    "CGS": (COLLAPSED, collapsed_sampler(CollapsedGibbs)),
    "CGS by lists": (COLLAPSED, collapsed_sampler(gibbs_by_lists)),
    "semi-CGS": (SEMI, semi_rate),
    "semi-CGS by lists": (SEMI, partial(semi_rate, chains=_semi_list_chains)),
}
FOLD_IN = {"fold-in Gibbs": (SemiCounts(), fold_in)}
SPIKES = {
    "SpikeCGS in spikes": (COLLAPSED, collapsed_sampler(SpikeCGSSpiking), 100),
    "semi-CGS in spikes": (SEMI, semi_spikes, 640),
}
FAULTS = {
    "no negative phase": NO_NEGATIVE_PHASE,
    "tie to the lowest index": TIE_TO_LOWEST,
    "prior off by one": PRIOR_OFF_BY_ONE,
}


@pytest.mark.complete(but=["SpikeCGS", "semi-CGS", "fold-in Gibbs"])
@pytest.mark.parametrize("name", {**RATE, **FOLD_IN})
def test_calibration(name):
    model, sampler = {**RATE, **FOLD_IN}[name]
    p = calibration_p_values(model, sampler, N_CORPORA, seed=0)
    assert min(p.values()) > SMALLEST_P, p


@pytest.mark.complete(but="semi-CGS")
@pytest.mark.parametrize("name", RATE)
def test_joint_distribution(name):
    model, sampler = RATE[name]
    p = joint_p_values(model, sampler, N_CORPORA, seed=0)
    assert min(p.values()) > SMALLEST_P, p


@pytest.mark.complete
@pytest.mark.parametrize("name", SPIKES)
def test_calibration_in_spikes(name):
    model, sampler, n = SPIKES[name]
    p = calibration_p_values(model, sampler, n, seed=0)
    assert min(p.values()) > SMALLEST_P, p


@pytest.mark.complete
def test_joint_distribution_in_spikes():
    p = joint_p_values(SEMI, semi_spikes, 640, seed=0, n_rounds=3)
    assert min(p.values()) > SMALLEST_P, p


@pytest.mark.complete(but="True")
@pytest.mark.parametrize("is_semi", (False, True))
def test_broken_samplers_fail(is_semi):
    model = SEMI if is_semi else COLLAPSED
    correct = broken_sampler(CORRECT, is_semi)
    assert min(calibration_p_values(model, correct, N_CORPORA, seed=0).values()) > SMALLEST_P
    assert min(joint_p_values(model, correct, N_CORPORA, seed=0).values()) > SMALLEST_P
    for name, fault in FAULTS.items():
        if not is_semi and fault == NO_NEGATIVE_PHASE:  # see `calibration`
            words, docs, lamda, varphi = CORPORA["2 docs, 5 tokens, K=3"]
            posterior = collapsed_posterior(words, docs, lamda, varphi)
            p = [faulty_p_value(fault, words, docs, lamda, varphi, posterior)]
        else:
            p = joint_p_values(model, broken_sampler(fault, is_semi), N_CORPORA, seed=0).values()
        assert min(p) < FAULT_P, name


@pytest.mark.complete
def test_calibration_sees_broken_samplers():
    for fault in (TIE_TO_LOWEST, PRIOR_OFF_BY_ONE):
        broken = broken_sampler(fault, is_semi=False)
        assert min(calibration_p_values(COLLAPSED, broken, N_CORPORA, seed=0).values()) < FAULT_P


FROZEN = RobbinsMonro(scale=1e-12)  # the weights stay where they are
N_PAIRS, N_SHOWN = 8, 200  # nothing is compiled: milliseconds a token


def winner_p_value(winners, u):
    """winners [vector, draw] against softmax(u [vector, topic]): one chi-square over all."""
    expected = softmax(u, axis=1) * winners.shape[1]
    counts = np.stack([np.bincount(row, minlength=u.shape[1]) for row in winners])
    used = expected > 5  # of the others chi-square does not hold
    assert used.mean() > 0.8
    deviation = ((counts - expected) ** 2 / expected)[used].sum()
    return stats.chi2.sf(deviation, used.sum() - len(u))


def event_driven_winners(seed, inhibition):
    """ed-SpikeLDA: N_PAIRS tokens (w, d), each shown N_SHOWN times; and u of each pair."""
    rng = np.random.default_rng([seed, 7])
    parameters = EventDrivenParameters(
        n_topics=4, doc_topic_prior=np.full(4, 1.5), word_step=FROZEN, doc_step=FROZEN
    )
    network = EventDrivenSpiking(
        parameters, N_PAIRS, np.full(N_PAIRS, N_SHOWN), seed=seed, simulator="numpy",
        inhibition=inhibition,
    )  # fmt: skip
    state = {
        "M__alpha": rng.normal(0, 0.5, (4, N_PAIRS)),
        "M__beta": rng.normal(0, 0.5, (N_PAIRS, 4)),
        "n_alpha": np.zeros(4),
        "n_beta": np.zeros(N_PAIRS),
    }
    network.set_state(state)
    shown = rng.permutation(np.repeat(np.arange(N_PAIRS), N_SHOWN))
    docs = (shown * 3) % N_PAIRS
    winners = network.present(shown, docs)[np.argsort(shown, kind="stable")]
    pairs = np.arange(N_PAIRS)
    u = state["M__alpha"].T + state["M__beta"][(pairs * 3) % N_PAIRS]
    return winners.reshape(N_PAIRS, N_SHOWN), u


def delayed_winners(seed, inhibition):
    """du-SpikeLDA: a mini-batch of N_PAIRS one-word documents, 2T sweeps over them."""
    parameters = BatchParameters(
        n_topics=4, doc_topic_prior=np.full(4, 1.5), topic_word_prior=0.0,
        local_iterations=N_SHOWN // 2, word_step=FROZEN, doc_step=FROZEN,
    )  # fmt: skip
    network = DuSpikeLDASpiking(
        parameters, N_PAIRS, seed=seed, n_training_tokens=1, simulator="numpy",
        inhibition=inhibition,
    )  # fmt: skip
    M__alpha = np.random.default_rng([seed, 8]).normal(0, 0.5, (4, N_PAIRS))
    network.set_state(
        {"M__alpha": M__alpha, "n_spikes": np.zeros(4), "n_updates": np.zeros(1, int)}
    )
    winners = network.update(sparse.csr_array(np.eye(N_PAIRS, dtype=np.int32)))
    return winners.T, M__alpha.T + network.M__beta


@pytest.mark.complete(but=["event_driven_winners-Race()", "delayed_winners-Race()"])
@pytest.mark.parametrize("inhibition", (Race(), Poisson()), ids=repr)
@pytest.mark.parametrize("winners_and_u", (event_driven_winners, delayed_winners))
def test_winners_of_whole_networks_follow_softmax(winners_and_u, inhibition):
    winners, u = winners_and_u(seed=0, inhibition=inhibition)
    assert winner_p_value(winners, u) > SMALLEST_P
    assert winner_p_value(winners, u + [0.8, 0, 0, 0]) < FAULT_P  # the test could fail


def uniform_p(p_values_of_seed):
    """KS over the p-values of seeds 0 to 99, for each statistic."""
    found = [p_values_of_seed(seed) for seed in range(100)]
    return {name: stats.kstest([p[name] for p in found], "uniform").pvalue for name in found[0]}


@pytest.mark.long
@pytest.mark.parametrize("name", {**RATE, **FOLD_IN})
def test_p_values_of_a_hundred_seeds_are_uniform(name):
    model, sampler = {**RATE, **FOLD_IN}[name]
    p = uniform_p(lambda seed: calibration_p_values(model, sampler, N_CORPORA, seed))
    print(f"calibration of {name}: KS {p}")
    assert min(p.values()) > SMALLEST_P, p
    if name in RATE:
        p = uniform_p(lambda seed: joint_p_values(model, sampler, N_CORPORA, seed))
        print(f"joint distribution of {name}: KS {p}")
        assert min(p.values()) > SMALLEST_P, p


@pytest.mark.long
def test_p_values_of_a_hundred_seeds_are_uniform_in_spikes():
    p = uniform_p(lambda seed: calibration_p_values(SEMI, semi_spikes, 640, seed))
    print(f"calibration of semi-CGS in spikes: KS {p}")
    assert min(p.values()) > SMALLEST_P, p


@pytest.mark.long
def test_joint_distribution_of_spike_cgs_in_spikes():
    p = joint_p_values(COLLAPSED, collapsed_sampler(SpikeCGSSpiking), 300, seed=0, n_rounds=2)
    print(f"joint distribution of SpikeCGS in spikes: {p}")
    assert min(p.values()) > SMALLEST_P, p
