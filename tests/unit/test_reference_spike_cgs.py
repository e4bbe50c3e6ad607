"""SpikeCGS and CGS: log-domain weights carry exact counts, whatever the chain does."""

from math import exp, log

import numpy as np
import pytest
from numba import njit

from brian_lda.errors import ParameterError
from brian_lda.reference.assignments import assignment_counts
from brian_lda.reference.collapsed_gibbs import CollapsedGibbs
from brian_lda.reference.plasticity import tau_1, tau_2
from brian_lda.reference.spike_cgs import SpikeCGSReference

K, V, D, N_TOKENS = 4, 12, 5, 200
LAMDA = np.array([0.1, 0.5, 1.0, 2.3])
VARPHI = np.linspace(0.01, 1.2, V)
SAMPLERS = (SpikeCGSReference, CollapsedGibbs)


def sampler(kind, seed=0, **changes):
    rng = np.random.default_rng(1)
    arguments = {
        "n_topics": K,
        "n_words": V,
        "n_docs": D,
        "doc_topic_prior": LAMDA,
        "topic_word_prior": VARPHI,
        "seed": seed,
    } | changes
    return kind(rng.integers(0, V, N_TOKENS), rng.integers(0, D, N_TOKENS), **arguments)


@njit
def _there_and_back(x, n):
    for _ in range(n):
        x = tau_2(tau_1(x))
    return x


@njit
def _random_walk(x, up):
    """tau_2 where `up`, tau_1 elsewhere."""
    for i in range(up.shape[0]):
        x = tau_2(x) if up[i] else tau_1(x)
    return x


@pytest.mark.parametrize("prior", (0.01, 0.1, 1.0, 50.0))
@pytest.mark.parametrize("count", (1, 7, 1000, 1_000_000))
def test_tau_2_undoes_tau_1_a_million_times(prior, count):
    x = np.log(count + prior)
    # a million pairs of steps, each rounded to half an ulp of x (at most 1e-15): in the worst case
    # 1e6 * 2 * 1e-15, and far less if the errors do not all have one sign
    assert abs(_there_and_back(x, 1_000_000) - x) < 2e-9
    assert abs(_there_and_back(x, 1) - x) <= 4 * np.spacing(x)


@pytest.mark.parametrize("prior", (0.01, 0.5))
def test_counts_survive_a_million_random_phases(prior):
    """A synapse that wanders between 0 and 40 counts ends where its counts end."""
    rng = np.random.default_rng(0)
    count, up = 3, np.empty(1_000_000, np.bool_)
    for i in range(len(up)):
        up[i] = count == 0 or (count < 40 and rng.random() < 0.5)
        count += 1 if up[i] else -1
    end = _random_walk(np.log(3 + prior), up)
    # a rounding error of 1e-15 in log(C + prior) is 4e-14 counts at C = 40, times sqrt(1e6)
    np.testing.assert_allclose(np.exp(end), count + prior, rtol=0, atol=1e-10)


def test_tau_by_hand():
    assert tau_2(log(3.5)) == pytest.approx(log(4.5), rel=1e-15)
    assert tau_1(log(3.5)) == pytest.approx(log(2.5), rel=1e-15)
    assert tau_1(log(1 + 1e-3)) == pytest.approx(log(1e-3), rel=1e-13)


@pytest.mark.parametrize("order", (None, "random scan"))
def test_weights_are_the_log_counts_of_the_assignments(order):
    chain = sampler(SpikeCGSReference)
    rng = np.random.default_rng(2)
    start = chain.z.copy()
    for _ in range(200):
        chain.sweep(None if order is None else rng.integers(0, N_TOKENS, N_TOKENS))
    assert (chain.z != start).mean() > 0.3
    C_wz, C_zd, C_z = (np.exp(chain.M__alpha) - VARPHI, np.exp(chain.M__beta) - LAMDA,
                       np.exp(chain.b) - VARPHI.sum())  # fmt: skip
    exact = assignment_counts(chain._words, chain._docs, chain.z, V, D, K)
    # about 10 000 phases per synapse of at most 100 counts: 100 * 1e-15 * 1e4 in the worst case
    for found, expected in zip((C_wz, C_zd, C_z), exact, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(C_zd.sum(axis=1).round(), np.bincount(chain._docs))
    np.testing.assert_array_equal(C_wz.sum(axis=0).round(), np.bincount(chain._words, minlength=V))
    np.testing.assert_allclose(C_wz.sum(axis=1), C_z, rtol=0, atol=1e-8)


def test_cgs_counts_are_those_of_the_assignments():
    chain = sampler(CollapsedGibbs)
    for _ in range(50):
        chain.sweep()
    C_wz, C_zd, C_z = assignment_counts(chain._words, chain._docs, chain.z, V, D, K)
    np.testing.assert_array_equal(chain._word_counts.C_wz, C_wz)
    np.testing.assert_array_equal(chain.C_zd, C_zd)
    np.testing.assert_array_equal(chain._C_z, C_z)
    np.testing.assert_allclose(
        chain.phi, (C_wz + VARPHI) / (C_z + VARPHI.sum())[:, None], rtol=1e-13
    )


def test_golden_trace_of_alg_2():
    """Two documents, five tokens, forced winners; tau_1 and tau_2 as the paper prints them."""
    words, docs = np.array([0, 1, 1, 2, 0]), np.array([0, 0, 0, 1, 1])
    start, winners = np.array([0, 1, 0, 1, 1]), np.array([1, 1, 1, 0, 1])
    lamda, varphi = [0.3, 0.8], [0.2, 0.5, 0.1]
    chain = SpikeCGSReference(
        words, docs, n_topics=2, n_words=3, n_docs=2, doc_topic_prior=lamda,
        topic_word_prior=varphi, seed=0, initial_assignments=start,
    )  # fmt: skip
    alpha = [[log(1.2), log(1.5), log(0.1)], [log(1.2), log(1.5), log(1.1)]]
    beta = [[log(2.3), log(1.8)], [log(0.3), log(2.8)]]
    b = [log(2.8), log(3.8)]
    np.testing.assert_allclose(chain.M__alpha, alpha, rtol=1e-15)
    np.testing.assert_allclose(chain.M__beta, beta, rtol=1e-15)
    np.testing.assert_allclose(chain.b, b, rtol=1e-15)
    z = start.tolist()
    for i, new in enumerate(winners.tolist()):
        w, d, old = int(words[i]), int(docs[i]), z[i]
        for M, j in ((alpha[old], w), (beta[d], old), (b, old)):
            M[j] = log(exp(M[j]) - 1)
        for M, j in ((alpha[new], w), (beta[d], new), (b, new)):
            M[j] = log(exp(M[j]) + 1)
        z[i] = new
        chain.sweep(np.array([i]), winners=np.array([new]))
        np.testing.assert_allclose(chain.M__alpha, alpha, rtol=0, atol=1e-12)
        np.testing.assert_allclose(chain.M__beta, beta, rtol=0, atol=1e-12)
        np.testing.assert_allclose(chain.b, b, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(chain.z, z)
    np.testing.assert_array_equal(chain.z, winners)


@pytest.mark.parametrize("kind", SAMPLERS)
def test_a_restored_state_goes_on_bit_for_bit(kind):
    original = sampler(kind, seed=3)
    original.sweep()
    state = original.state()
    frozen = {key: value.copy() for key, value in state.items()}
    restored = sampler(kind, seed=8)
    restored.set_state(state)
    for _ in range(5):
        original.sweep()
        restored.sweep()
    end, restored_end = original.state(), restored.state()
    for key in end:
        np.testing.assert_array_equal(end[key], restored_end[key], err_msg=key)
        np.testing.assert_array_equal(state[key], frozen[key], err_msg=f"{key} is shared")
    np.testing.assert_array_equal(original.phi, restored.phi)
    assert not np.array_equal(end["z"], state["z"])


@pytest.mark.parametrize("kind", SAMPLERS)
def test_the_seed_decides(kind):
    chains = [sampler(kind, seed) for seed in (1, 1, 2)]
    for chain in chains:
        chain.sweep()
    np.testing.assert_array_equal(chains[0].z, chains[1].z)
    assert not np.array_equal(chains[0].z, chains[2].z)


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize(
    "changes",
    [
        {"doc_topic_prior": 0.0},
        {"doc_topic_prior": [0.1, 0.1]},
        {"topic_word_prior": -1.0},
        {"topic_word_prior": np.nan},
        {"n_topics": 1, "doc_topic_prior": 0.1},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_bad_parameters_are_named(kind, changes):
    with pytest.raises(ParameterError, match=next(iter(changes))):
        sampler(kind, **changes)


@pytest.mark.parametrize("kind", SAMPLERS)
def test_empty_documents_and_unused_words_pass(kind):
    chain = kind(
        np.array([0, 2, 2]), np.array([0, 2, 2]), n_topics=2, n_words=4, n_docs=4,
        doc_topic_prior=0.1, topic_word_prior=0.1, seed=0,
    )  # fmt: skip
    chain.sweep()
    np.testing.assert_allclose(chain.phi.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(chain.theta[1], [0.5, 0.5], rtol=1e-12)


@pytest.mark.parametrize("kind", ("word", "document", "self-excitation"))
@pytest.mark.parametrize("best", range(3))
def test_a_race_whose_winner_is_certain(kind, best):
    """u = M^alpha + M^beta - b: e^90 decides."""
    chain = SpikeCGSReference(
        np.array([0, 1]), np.array([0, 1]), n_topics=3, n_words=2, n_docs=2, doc_topic_prior=0.5,
        topic_word_prior=0.5, seed=0, initial_assignments=np.array([1, 2]),
    )  # fmt: skip
    state = chain.state()
    state |= {"M__alpha": np.full((3, 2), 10.0), "M__beta": np.full((2, 3), 10.0)}
    state["b"] = np.full(3, 100.0)
    if kind == "self-excitation":
        state["b"][best] = 10.0
    elif kind == "word":
        state["M__alpha"][best] = 100.0
    else:
        state["M__beta"][:, best] = 100.0
    chain.set_state(state)
    chain.sweep()
    assert chain.z.tolist() == [best, best]


def test_both_samplers_make_the_same_chain():
    """The same law and the same random numbers; single precision differs once in 10^7 draws."""
    chains = [sampler(kind, seed=3) for kind in SAMPLERS]
    start = chains[0].z.copy()
    for _ in range(5):
        for chain in chains:
            chain.sweep()
    np.testing.assert_array_equal(chains[0].z, chains[1].z)
    assert (chains[0].z != start).mean() > 0.3
