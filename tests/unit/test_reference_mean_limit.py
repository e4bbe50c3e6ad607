"""The ML-ODEs do what the paper's theorems say, and the stochastic rules have them as their mean.

Proven on three documents and five words, with exact expectations (no Monte Carlo but in the last
test): zeta falls monotonically to 1 and kappa, the objective rises on the manifold along the
natural gradient, stationary points solve the fixed-point equations. The same with our prior on Phi.
"""

from itertools import product

import numpy as np
import pytest
from event_driven_twins import rate_twin

from brian_lda.errors import ParameterError
from brian_lda.parameters import BatchParameters, EventDrivenParameters
from brian_lda.reference.activation import padded
from brian_lda.reference.mean_limit import (
    EventDrivenMeanLimit,
    SemiMeanLimit,
    Weights,
    solve,
    zeta,
)
from brian_lda.reference.word_weights import WordWeights
from brian_lda.step_rules import RobbinsMonro

K = 3
COUNTS = np.array([[4, 2, 0, 1, 0], [0, 1, 5, 0, 2], [1, 1, 1, 3, 3]])
DOCUMENTS = [[0, 0, 1, 2], [2, 3, 3, 4], [0, 4, 1, 1, 3]]
LAMDA = np.array([1.3, 2.0, 1.1])
VARPHI = np.array([0.3, 0.0, 0.05, 1.5, 0.4])  # a word without a prior among them
MODELS = (
    "plsi", "lda", "semi", "plsi, prior on Phi", "lda, prior on Phi", "semi, prior on Phi",
)  # fmt: skip
INTEGRATION_ERROR = 1e-8  # solve() asks LSODA for 1e-9


def varphi_of(model):
    """The prior, and the same a token or a document."""
    varphi = VARPHI if "prior" in model else np.zeros(5)
    return varphi, varphi / (len(DOCUMENTS) if model.startswith("semi") else COUNTS.sum())


def mean_limit(model):
    varphi, _ = varphi_of(model)
    if model.startswith("semi"):
        return SemiMeanLimit(DOCUMENTS, K, LAMDA - 1.0, varphi)
    prior = None if model.startswith("plsi") else LAMDA
    parameters = EventDrivenParameters(K, prior, topic_word_prior=varphi)
    return EventDrivenMeanLimit(parameters, COUNTS)


def random_weights(model, seed, on_manifold=False):
    rng = np.random.default_rng(seed)
    n_docs = 0 if model.startswith("semi") else 3
    M = Weights(rng.normal(1, 1, (K, 5)), rng.normal(1, 1, (n_docs, K)))
    if on_manifold:
        log_kappa = np.log(kappa_of(model))
        M = Weights(
            M.M__alpha - np.log(zeta(M.M__alpha))[:, None],
            M.M__beta - np.log(zeta(M.M__beta))[:, None] + log_kappa,
        )
    return M


def kappa_of(model):
    return (LAMDA - 1).sum() if model.startswith("lda") else 1.0


def deviations(model, path):
    return np.hstack([path.zeta__alpha - 1.0, path.zeta__beta - kappa_of(model)])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(2))
def test_deviation_from_the_manifold_falls_strictly(model, seed):
    start = random_weights(model, seed)
    path = solve(mean_limit(model), *start, times=np.linspace(0.0, 60.0, 301))
    deviation = np.abs(deviations(model, path))
    assert deviation[0].min() > 0.1  # the start is off the manifold in every constraint
    above = deviation[1:] > INTEGRATION_ERROR
    assert np.all(np.diff(deviation, axis=0)[above] < 0)
    assert deviation[-1].max() < 1e-3 * deviation[0].max()


@pytest.mark.parametrize("model", MODELS)
def test_deviation_decays_at_the_rate_of_the_proof(model):
    """d zeta/ds = -pi^(z) (zeta - 1) and -(N_d + kappa)/(kappa N_d) pi(d) (zeta - kappa).

    A prior on Phi adds Vbar/N to pi^(z).
    """
    M, ode = random_weights(model, 1), mean_limit(model)
    g = ode.derivative(M)
    d_zeta__alpha = (np.exp(M.M__alpha) * g.M__alpha).sum(axis=1)
    if model.startswith("semi"):
        pi_z = ode.expected_counts(M.M__alpha).sum(axis=1)
    else:
        pi_z = np.einsum("dw,dwz->z", ode.pi, ode.posterior(M))
        N_d, pi_d, kappa = COUNTS.sum(axis=1), ode.pi.sum(axis=1), ode.kappa
        rate = pi_d if model.startswith("plsi") else (N_d + kappa) / (kappa * N_d) * pi_d
        d_zeta__beta = (np.exp(M.M__beta) * g.M__beta).sum(axis=1)
        np.testing.assert_allclose(d_zeta__beta, -rate * (zeta(M.M__beta) - kappa), rtol=1e-12)
    pi_z = pi_z + varphi_of(model)[1].sum()
    np.testing.assert_allclose(d_zeta__alpha, -pi_z * (zeta(M.M__alpha) - 1.0), rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(2))
def test_on_the_manifold_the_objective_rises(model, seed):
    start = random_weights(model, seed, on_manifold=True)
    path = solve(mean_limit(model), *start, times=np.linspace(0.0, 60.0, 301))
    assert np.abs(deviations(model, path)).max() < INTEGRATION_ERROR  # it stays there
    gain, to_go = np.diff(path.objective), path.objective[-1] - path.objective[:-1]
    assert to_go[0] > 0.05
    assert np.all(gain[to_go > 1e-7] > 0)
    assert gain.min() > -1e-12  # rounding, once converged


@pytest.mark.parametrize("model", MODELS)
def test_from_anywhere_the_objective_rises_once_zeta_has_settled(model):
    times = np.linspace(0.0, 300.0, 301)
    path = solve(mean_limit(model), *random_weights(model, 4), times=times)
    deviation = np.abs(deviations(model, path)).max(axis=1)
    settled = np.flatnonzero(deviation < 1e-6)[0]
    assert settled < 150
    assert np.diff(path.objective[settled:]).min() > -1e-12
    assert path.objective[-1] > path.objective[settled]


@pytest.mark.parametrize("model", MODELS)
def test_right_hand_side_is_the_natural_gradient(model):
    """On the manifold dL/dM = exp(M) g(M), by central differences in every direction."""
    M, ode = random_weights(model, 2, on_manifold=True), mean_limit(model)
    g = ode.derivative(M)
    for layer in (0, 1):
        expected = np.exp(M[layer]) * g[layer]
        for index in np.ndindex(M[layer].shape):
            h = 1e-5
            values = []
            for sign in (1, -1):
                shifted = [M.M__alpha.copy(), M.M__beta.copy()]
                shifted[layer][index] += sign * h
                values.append(ode.objective(Weights(*shifted)))
            # error of a central difference: h^2 = 1e-10 and rounding 1e-16/h = 1e-11
            slope = (values[0] - values[1]) / (2 * h)
            np.testing.assert_allclose(slope, expected[index], rtol=0, atol=1e-9)


def test_objectives_by_hand():
    """phi, theta and lambda small enough to write the sums down (on the manifold)."""
    phi, theta = np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([[0.3, 0.7]])
    p = 0.3 * 0.2 + 0.7 * 0.5, 0.3 * 0.8 + 0.7 * 0.5
    plsi = EventDrivenMeanLimit(EventDrivenParameters(2, None), [[1, 3]])
    by_hand = 0.25 * np.log(p[0]) + 0.75 * np.log(p[1])
    M = Weights(np.log(phi), np.log(theta))
    np.testing.assert_allclose(plsi.objective(M), by_hand, rtol=1e-14)

    lamda, kappa = np.array([1.5, 2.0]), 1.5
    lda = EventDrivenMeanLimit(EventDrivenParameters(2, lamda), [[1, 3]])
    M = Weights(np.log(phi), np.log(kappa * theta))
    prior = 0.5 * np.log(kappa * 0.3) + 1.0 * np.log(kappa * 0.7) - kappa
    np.testing.assert_allclose(lda.objective(M), by_hand + prior / 4, rtol=1e-14)
    varphi = np.array([0.0, 0.6])
    for N, given in ((4, None), (10, 10.0)):
        parameters = EventDrivenParameters(
            2, lamda, topic_word_prior=varphi, n_training_tokens=given
        )
        log_prior = 0.6 * (np.log(0.8) + np.log(0.5)) / N
        np.testing.assert_allclose(
            EventDrivenMeanLimit(parameters, [[1, 3]]).objective(M),
            by_hand + prior / 4 + log_prior,
            rtol=1e-14,
        )

    semi = SemiMeanLimit([[0, 1]], 2, [1.0, 2.0])  # p(z): Polya urn with 1 and 2 balls
    z = {(0, 0): 1 / 3 * 2 / 4, (0, 1): 1 / 3 * 2 / 4, (1, 0): 2 / 3 * 1 / 4, (1, 1): 2 / 3 * 3 / 4}
    likelihood = sum(p * phi[i, 0] * phi[j, 1] for (i, j), p in z.items())
    M = Weights(np.log(phi), np.empty((0, 2)))
    np.testing.assert_allclose(semi.objective(M), np.log(likelihood), rtol=1e-14)
    two = SemiMeanLimit([[0, 1], [0, 1]], 2, [1.0, 2.0], varphi)
    log_prior = 0.6 * (np.log(0.8) + np.log(0.5)) / 2
    np.testing.assert_allclose(two.objective(M), np.log(likelihood) + log_prior, rtol=1e-14)
    C_00 = (z[0, 0] * phi[0, 0] * phi[0, 1] + z[0, 1] * phi[0, 0] * phi[1, 1]) / likelihood
    np.testing.assert_allclose(semi.expected_counts(M.M__alpha)[0, 0], C_00, rtol=1e-14)


@pytest.mark.parametrize("model", MODELS)
def test_stationary_points_solve_the_fixed_point_equations(model):
    ode = mean_limit(model)
    path = solve(ode, *random_weights(model, 5), times=[0.0, 2000.0])
    p__alpha, p__beta = (np.exp(M[-1]) for M in path.weights)
    M = Weights(path.weights.M__alpha[-1], path.weights.M__beta[-1])
    if model.startswith("semi"):
        pi_zw = ode.expected_counts(M.M__alpha)
    else:
        pi_hat = ode.pi[:, :, None] * ode.posterior(M)
        pi_zw, pi_dz, pi_d = pi_hat.sum(axis=0).T, pi_hat.sum(axis=1), ode.pi.sum(axis=1)
        N_d = COUNTS.sum(axis=1)
        if model.startswith("plsi"):
            fixed__beta = pi_dz / pi_d[:, None]
        else:
            drive = pi_dz + pi_d[:, None] * (LAMDA - 1) / N_d[:, None]
            fixed__beta = drive / (pi_d * (1 / ode.kappa + 1 / N_d))[:, None]
        np.testing.assert_allclose(p__beta, fixed__beta, rtol=0, atol=1e-6)
    pi_zw = pi_zw + varphi_of(model)[1]
    fixed__alpha = pi_zw / pi_zw.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p__alpha, fixed__alpha, rtol=0, atol=1e-6)


@pytest.mark.parametrize("model", ("plsi", "lda"))
@pytest.mark.parametrize("gauge", (True, False))
def test_mean_of_the_euler_update_is_the_right_hand_side(model, gauge):
    """Enumerate (w, d, z): sum of pi^(w, d, z) * (change of M / eta), exactly E[g(M)]."""
    eta = 1e-3
    prior = None if model == "plsi" else LAMDA
    N_d = COUNTS.sum(axis=1)
    M, ode = random_weights(model, 6), mean_limit(model)
    posterior = ode.posterior(M)
    mean = [np.zeros_like(M.M__alpha), np.zeros_like(M.M__beta)]
    for d, w, z in product(range(3), range(5), range(K)):
        # M^beta's step is eta / a_d in the reference (RobbinsMonro): undo a_d
        a_d = 1.0 if prior is None else 1 / ode.kappa + 1 / N_d[d]
        parameters = EventDrivenParameters(
            K, prior, RobbinsMonro(eta, power=0), RobbinsMonro(eta * a_d, power=0), "euler", gauge
        )
        initial = {"M__alpha": M.M__alpha, "M__beta": M.M__beta}
        initial |= {"n_alpha": np.zeros(K), "n_beta": np.zeros(3)}
        network = rate_twin(parameters, 5, N_d, seed=0, initial=initial)
        network.present([w], [d], winners=[z])
        p = ode.pi[d, w] * posterior[d, w, z]
        mean[0] += p * (network.M__alpha - M.M__alpha) / eta
        mean[1] += p * (network.M__beta - M.M__beta) / eta
    g = ode.derivative(M)
    # a difference of weights ~ 1 divided by eta = 1e-3 carries an error of 1e-13
    np.testing.assert_allclose(mean[0], g.M__alpha, rtol=0, atol=1e-11)
    np.testing.assert_allclose(mean[1], g.M__beta, rtol=0, atol=1e-11)


def test_mean_of_the_semi_update_is_the_right_hand_side():
    """Enumerate z_d of every document as a mini-batch of one with T = 1."""
    eta, M, ode = 1e-3, random_weights("semi", 7), mean_limit("semi")
    step = RobbinsMonro(eta, power=0)
    parameters = BatchParameters(K, LAMDA - 1, word_step=step, integrator="euler")
    mean = np.zeros_like(M.M__alpha)
    for d, words in enumerate(DOCUMENTS):
        for z, p in zip(*ode.posterior(d, M.M__alpha), strict=True):
            N_zw = np.zeros((5, padded(K)), np.int32)
            np.add.at(N_zw, (np.array(words), z), 1)
            weights = WordWeights(parameters, 5, 0, 1.0)
            weights.M__alpha = M.M__alpha
            weights.update(np.arange(5, dtype=np.int32), N_zw, 1, 1)
            mean += p * (weights.M__alpha - M.M__alpha) / eta / len(DOCUMENTS)
    np.testing.assert_allclose(mean, ode.derivative(M).M__alpha, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("integrator", "varphi"), [("euler", np.zeros(5)), ("flow", np.zeros(5)), ("flow", VARPHI)]
)
def test_small_stochastic_steps_follow_the_ode(integrator, varphi):
    """The mean of 40 runs of ed-SpikeLDA with eta = 5e-4 stays within its standard error."""
    eta, duration, n_runs = 5e-4, 10.0, 40
    counts = np.array([[4, 2, 0, 1, 0], [0, 1, 4, 0, 2], [1, 1, 1, 2, 2]])  # all N_d = 7: one a_d
    N_d, kappa = counts.sum(axis=1), (LAMDA - 1).sum()
    a = 1 / kappa + 1 / 7
    parameters = EventDrivenParameters(
        K, LAMDA, RobbinsMonro(eta, power=0), RobbinsMonro(eta * a, power=0), integrator,
        topic_word_prior=varphi,
    )  # fmt: skip
    start = random_weights("lda", 8)
    initial = {"M__alpha": start.M__alpha, "M__beta": start.M__beta}
    initial |= {"n_alpha": np.zeros(K), "n_beta": np.zeros(3)}
    rng = np.random.default_rng(9)
    ends = []
    for seed in range(n_runs):
        network = rate_twin(parameters, 5, N_d, seed=seed, initial=initial)
        token = rng.choice(15, int(duration / eta), p=counts.ravel() / counts.sum())
        network.present(token % 5, token // 5)
        ends.append(np.concatenate([network.J__alpha.ravel(), network.M__beta.ravel()]))
    ode = EventDrivenMeanLimit(parameters, counts)
    path = solve(ode, *start, times=[0.0, duration])
    expected = np.concatenate([M[-1].ravel() for M in path.weights])
    spread = np.std(ends, axis=0, ddof=1) / np.sqrt(n_runs)
    assert 0.2 < spread.max() / np.sqrt(eta) < 5.0  # neither frozen nor lost in noise
    moved = np.abs(expected - np.concatenate([start.M__alpha.ravel(), start.M__beta.ravel()]))
    assert moved.max() > 1.0
    # 4.5 standard errors (24 weights), and the O(eta) bias of a finite step
    error = np.abs(np.mean(ends, axis=0) - expected)
    assert np.all(error < 4.5 * spread + 20 * eta)


def test_the_printed_semi_objective_may_fall_where_the_likelihood_rises():
    """Our one deviation from the appendix, see mean_limit.py: the entropy of q is no constant."""
    ode = SemiMeanLimit(DOCUMENTS, 2, 0.1)
    rng = np.random.default_rng(2)
    M__alpha = rng.normal(1, 2, (2, 5))
    M__alpha -= np.log(zeta(M__alpha))[:, None]
    path = solve(ode, M__alpha, times=np.linspace(0.0, 30.0, 151))
    no_beta = path.weights.M__beta[0]
    printed = [ode.expected_log_likelihood(Weights(M, no_beta)) for M in path.weights.M__alpha]
    assert np.diff(printed).min() < -0.01
    assert np.diff(path.objective).min() > 0


def test_words_without_a_token_sink_without_nan():
    ode = EventDrivenMeanLimit(EventDrivenParameters(2, None), [[2, 0, 1]])
    M = Weights(np.full((2, 3), -800.0), np.log([[0.5, 0.5]]))
    g = ode.derivative(Weights(np.where([True, False, True], 0.0, M.M__alpha), M.M__beta))
    assert np.isfinite(g.M__alpha).all()
    assert np.all(g.M__alpha[:, 1] < 0)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: EventDrivenMeanLimit(EventDrivenParameters(2, None), [[1, 0], [0, 0]]), "counts"),
        (lambda: EventDrivenMeanLimit(EventDrivenParameters(2, None), [1, 2]), "counts"),
        (lambda: SemiMeanLimit([[0] * 40], 2, 0.1), "document 0"),
        (lambda: SemiMeanLimit([[0]], 2, -0.1), "doc_topic_prior"),
        (lambda: SemiMeanLimit([[0]], 2, 0.1, -0.1), "topic_word_prior"),
    ],
)
def test_bad_input(make, names):
    with pytest.raises(ParameterError, match=names):
        make()
