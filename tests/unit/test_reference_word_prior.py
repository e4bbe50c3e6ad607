"""The prior on Phi: its flow climbs to the MAP, and the spike rule has this flow as its mean.

`docs/smoothing.md` has the equations. What the flow shares with the paper's (zeta, the natural
gradient, fixed points) is tested with it in `test_reference_mean_limit.py`.
"""

from itertools import product

import numpy as np
import pytest

from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.reference.mean_limit import EventDrivenMeanLimit, SemiMeanLimit, Weights, solve, zeta
from brian_lda.step_rules import RobbinsMonro

K, V = 3, 5
COUNTS = np.array([[4, 2, 0, 1, 0], [0, 1, 5, 0, 2], [1, 1, 1, 3, 3]])
N, N_D = COUNTS.sum(), COUNTS.sum(axis=1)
LAMDA = np.array([1.3, 2.0, 1.1])
VARPHI = np.array([0.3, 0.0, 0.05, 1.5, 0.4])


def normalised(x):
    return x / x.sum(axis=-1, keepdims=True)


def map_by_em(phi, theta, n_steps):
    """The textbook's EM: Dirichlet(varphi + 1) on phi_z, Dirichlet(lambda) on theta_d."""
    for _ in range(n_steps):
        joint = theta[:, None, :] * phi.T[None, :, :]
        n_dwz = COUNTS[:, :, None] * normalised(joint)
        phi = normalised(n_dwz.sum(axis=0).T + VARPHI)
        theta = normalised(n_dwz.sum(axis=1) + LAMDA - 1.0)
    return phi, theta


@pytest.mark.parametrize("seed", range(2))
def test_the_flow_ends_in_the_map_that_em_finds(seed):
    rng = np.random.default_rng(seed)
    ode = EventDrivenMeanLimit(EventDrivenParameters(K, LAMDA, topic_word_prior=VARPHI), COUNTS)
    start = rng.normal(1, 1, (K, V)), rng.normal(1, 1, (3, K))
    path = solve(ode, *start, times=[0.0, 4000.0])
    phi, theta = (normalised(np.exp(M[-1])) for M in path.weights)
    nearby = normalised(phi + rng.uniform(0, 0.02, phi.shape)), theta
    for found, begin in ((map_by_em(phi, theta, 1), "there"), (map_by_em(*nearby, 5000), "nearby")):
        np.testing.assert_allclose(found[0], phi, rtol=0, atol=1e-6, err_msg=begin)
        np.testing.assert_allclose(found[1], theta, rtol=0, atol=1e-6, err_msg=begin)
    assert phi[:, 3].min() > 1e-2  # 1.5 pseudo-counts: no topic has lost the word


def test_the_semi_flow_ends_in_the_map_that_em_finds():
    """EM over all assignments of each document, theta integrated out."""
    documents, lamda = [[0, 0, 1], [2, 3, 3], [4, 1, 3]], 0.5
    assignments = np.array(list(product(range(2), repeat=3)))
    urn = []  # p(z_d), drawn one by one
    for z in assignments:
        p = 1.0
        for i, k in enumerate(z):
            p *= (lamda + (z[:i] == k).sum()) / (2 * lamda + i)
        urn.append(p)
    ode = SemiMeanLimit(documents, 2, lamda, VARPHI)
    start = np.random.default_rng(0).normal(1, 1, (2, V))
    phi = normalised(np.exp(solve(ode, start, times=[0.0, 2000.0]).weights.M__alpha[-1]))
    counts = np.zeros((2, V))
    for words in documents:
        joint = np.array([p * phi[z, words].prod() for z, p in zip(assignments, urn, strict=True)])
        for z, p in zip(assignments, joint / joint.sum(), strict=True):
            np.add.at(counts, (z, words), p)
    np.testing.assert_allclose(normalised(counts + VARPHI), phi, rtol=0, atol=1e-6)


class ConstantSmoothing:
    """The flow that this prior replaced: rules (3), topic neurons that see exp M + varphi K/N."""

    def __init__(self, counts, lamda, varphi):
        self.epsilon = varphi * K / counts.sum()
        self.paper = EventDrivenMeanLimit(EventDrivenParameters(K, lamda), counts)
        prior = EventDrivenParameters(K, lamda, topic_word_prior=varphi)
        self.posterior_of_map = EventDrivenMeanLimit(prior, counts)

    def seen(self, M):
        return Weights(np.log(np.exp(M.M__alpha) + self.epsilon), M.M__beta)

    def derivative(self, M):
        pi_zw = np.einsum("dw,dwz->zw", self.paper.pi, self.paper.posterior(self.seen(M)))
        rule_3a = pi_zw * np.exp(-M.M__alpha) - pi_zw.sum(axis=1, keepdims=True)
        return Weights(rule_3a, self.paper.derivative(self.seen(M)).M__beta)

    def objective(self, M):
        return self.posterior_of_map.objective(self.seen(M))


def test_a_constant_smoothing_does_not_climb_the_posterior():
    """Negative control: it rises, then falls, where our flow only rises.

    varphi K/N are varphi counts in a topic of N/K tokens. In a larger topic they are more, in a
    smaller one fewer, and here one topic holds nearly all tokens.
    """
    unequal = np.array([[20, 12, 0, 0, 0], [15, 9, 1, 0, 0], [0, 0, 1, 2, 1]])
    old = ConstantSmoothing(unequal, np.full(K, 1.1), np.full(V, 1.5))
    rng = np.random.default_rng(0)
    M = Weights(rng.normal(0, 1, (K, V)), rng.normal(0, 1, (3, K)))
    M = Weights(
        M.M__alpha - np.log(zeta(M.M__alpha))[:, None],
        M.M__beta - np.log(zeta(M.M__beta) / old.paper.kappa)[:, None],
    )
    times = np.linspace(0.0, 200.0, 201)
    there = solve(old, *M, times=times)
    np.testing.assert_allclose(there.zeta__alpha, 1.0, rtol=0, atol=1e-8)  # its own manifold
    assert np.diff(there.objective).min() < -1e-4
    assert there.objective[-1] < there.objective.max() - 1e-2

    seen = old.seen(M).M__alpha
    here = solve(old.posterior_of_map, seen - np.log(zeta(seen))[:, None], M.M__beta, times=times)
    assert here.objective[0] == pytest.approx(there.objective[0], abs=1e-12)  # same phi, theta
    assert np.diff(here.objective).min() > -1e-12
    assert here.objective[-1] > there.objective.max()


def network_at(J__alpha, M__beta, parameters, Delta):
    """A network whose neurons see exp J, some of it by the prior."""
    s = np.array([0.05, 0.0, 0.1])
    initial = {
        "M__alpha": np.log(np.exp(J__alpha) - np.outer(s, VARPHI)),
        "M__beta": M__beta,
        "n_alpha": np.zeros(K),
        "n_beta": np.zeros(3),
        "s_alpha": s,
        "Delta_alpha": Delta,
    }
    return EdSpikeLDAReference(parameters, V, N_D, seed=0, initial=initial)


@pytest.mark.parametrize("gauge", (True, False))
def test_mean_of_the_spike_rule_is_the_right_hand_side(gauge):
    """Enumerate (w, d, z). The rule is linear in Delta, so that its mean N/N_z may stand for it."""
    eta, rng = 1e-7, np.random.default_rng(6)
    J = Weights(rng.normal(1, 0.5, (K, V)), rng.normal(1, 1, (3, K)))
    parameters = EventDrivenParameters(
        K, LAMDA, RobbinsMonro(eta, power=0), RobbinsMonro(eta, power=0), "flow", gauge, VARPHI
    )
    ode = EventDrivenMeanLimit(parameters, COUNTS)
    posterior = ode.posterior(J)
    Delta = 1.0 / np.einsum("dw,dwz->z", ode.pi, posterior)
    mean = np.zeros((K, V))
    for d, w, z in product(range(3), range(V), range(K)):
        network = network_at(*J, parameters, Delta - 1.0)  # and the token itself
        network.present([w], [d], winners=[z])
        mean += ode.pi[d, w] * posterior[d, w, z] * (network.J__alpha - J.M__alpha) / eta
    # 1e-16/eta = 1e-9 of rounding a term, and eta itself
    np.testing.assert_allclose(mean, ode.derivative(J).M__alpha, rtol=0, atol=1e-6)


def test_every_spike_brings_zeta_nearer_to_1():
    """The drive x + varphi Delta/N and the decay a = 1 + Vbar Delta/N have the same sum over words:
    1 - zeta(J_z.) shrinks by exp(-a eta), and a >= 1.
    """
    rng = np.random.default_rng(1)
    step = RobbinsMonro(0.4, power=0)
    parameters = EventDrivenParameters(K, LAMDA, step, step, topic_word_prior=VARPHI)
    J, Vbar = rng.uniform(-1, 1, (K, V)), VARPHI.sum()
    network = network_at(J, np.zeros((3, K)), parameters, np.zeros(K))
    expected, Delta = zeta(J) - 1.0, np.zeros(K)
    for _ in range(30):
        Delta += 1
        z = int(network.present([rng.integers(V)], [rng.integers(3)])[0])
        expected[z] *= np.exp(-0.4 * (1 + Vbar * Delta[z] / N))
        Delta[z] = 0
        np.testing.assert_allclose(zeta(network.J__alpha) - 1.0, expected, rtol=0, atol=1e-13)
    assert np.abs(expected).max() < 0.2 < zeta(J).min() - 1.0


@pytest.mark.parametrize("given", (None, 100.0))
def test_what_a_topic_without_words_forgets(given):
    """A neuron that wins with one word alone ends at (n + varphi)/(N_z + Vbar), Delta = 1."""
    step = RobbinsMonro(0.5, power=0)
    parameters = EventDrivenParameters(
        K, LAMDA, step, step, topic_word_prior=VARPHI, n_training_tokens=given
    )
    network = EdSpikeLDAReference(parameters, V, N_D, seed=0)
    n = 400
    network.present(np.full(n, 2), np.zeros(n, int), winners=np.ones(n, int))
    tokens = given or N
    expected = (tokens * np.eye(V)[2] + VARPHI) / (tokens + VARPHI.sum())
    np.testing.assert_allclose(np.exp(network.J__alpha[1]), expected, rtol=1e-12, atol=1e-80)
    np.testing.assert_array_equal(network.state()["Delta_alpha"], [n, 0, n])
