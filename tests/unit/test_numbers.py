"""Numbers at the edge: finite results or a clear error, never NaN topics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numba import njit

from brian_lda import (
    CollapsedGibbsLDA,
    DuSpikeLDA,
    EdSpikeLDA,
    EdSpikePLSI,
    SemiSpikeLDA,
    SpikeCGS,
    StochasticGradientMCMCLDA,
    StochasticVariationalLDA,
)
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.kept import Kept
from brian_lda.errors import (
    BrianLDAError,
    DivergenceError,
    ParameterError,
    WeightOverflowError,
)
from brian_lda.estimators.trainers import require_finite
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.reference.plasticity import flow, tau_1, tau_2
from brian_lda.simulation import EventDrivenSpiking, SpikeCGSSpiking
from brian_lda.simulation.known_state import check_weights
from brian_lda.step_rules import RobbinsMonro

MODELS = {
    "SpikeCGS": lambda **o: SpikeCGS(max_iter=3, **o),
    "ed-SpikeLDA": lambda **o: EdSpikeLDA(max_iter=3, **o),
    "du-SpikeLDA": lambda **o: DuSpikeLDA(max_iter=3, **o),
    "semi-SpikeLDA": lambda **o: SemiSpikeLDA(max_iter=3, **o),
    "ed-SpikePLSI": lambda **o: EdSpikePLSI(max_iter=3, **o),
    "CGS": lambda **o: CollapsedGibbsLDA(max_iter=3, **o),
    "SVI": lambda **o: StochasticVariationalLDA(max_iter=3, **o),
    "SGMCMC": lambda **o: StochasticGradientMCMCLDA(max_iter=3, **o),
}
MAP = ("ed-SpikeLDA", "du-SpikeLDA")  # lambda > 1


@njit
def _up_and_down(M, n_pairs):
    """A count that goes up by one and down by one, in the log domain."""
    for _ in range(n_pairs):
        M = tau_1(tau_2(M))
    return M


@njit
def _random_walk(M, n_updates, ceiling):
    """Counts that wander between 1 and `ceiling`; returns the weight and the exact count."""
    count = 1
    state = np.uint64(88172645463325252)
    for _ in range(n_updates):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        if count == ceiling or (count > 1 and state & np.uint64(1)):
            M, count = tau_1(M), count - 1
        else:
            M, count = tau_2(M), count + 1
    return M, count


@pytest.mark.parametrize(
    "n_updates", [10**6, pytest.param(10**8, marks=pytest.mark.long)], ids=["1e6", "1e8"]
)
@pytest.mark.parametrize("prior", [0.01, 0.1])
def test_drift_of_tau_1_and_tau_2(prior, n_updates):
    """Rounding walks: after n updates the count is off by about sqrt(n) units in the last place.

    A topic that loses all its tokens must find its prior again, within 1 % of it, or phi of unused
    topics would be wrong.
    """
    M, count = _random_walk(np.log(1.0 + prior), n_updates, 50)
    drift = abs(np.exp(M) - (count + prior))
    print(f"prior {prior:g}, {n_updates:.0e} updates: count off by {drift:.2e}")
    assert drift < 0.01 * prior
    stuck = _up_and_down(np.log(prior), n_updates // 2)
    print(f"prior {prior:g}, up and down: off by {abs(np.exp(stuck) / prior - 1):.2e} of it")
    assert abs(np.exp(stuck) / prior - 1) < 0.01


def test_sweeps_keep_the_counts(bars):
    """The weights of SpikeCGS against the counts of its own assignments, after 20 sweeps."""
    model = SpikeCGS(n_topics=6, max_iter=20, random_state=0).fit(bars)
    sampler = model.trainer_.sampler
    C_wz, C_zd, _ = sampler._counts()
    np.testing.assert_allclose(np.exp(sampler.M__alpha), C_wz + 0.01, rtol=1e-9)
    np.testing.assert_allclose(np.exp(sampler.M__beta), C_zd + 0.1, rtol=1e-9)


@pytest.mark.parametrize("M", [-700.0, -1.0, 0.0, 700.0])
@pytest.mark.parametrize("eta", [1e-12, 1.0, 1e3])
def test_flow_is_finite_at_the_edge(M, eta):
    for c in (0.0, 1e-12, 1.0):
        assert np.isfinite(flow(M, c, 1.0, eta))
    assert flow(M, 1.0, 1.0, 1e3) == pytest.approx(0.0, abs=1e-9)  # the fixed point log(c/a)


@pytest.mark.parametrize("edge", [-700.0, 700.0])
@pytest.mark.parametrize("gauge", [True, False])
def test_event_driven_goes_on_from_weights_at_the_edge(edge, gauge):
    step = RobbinsMonro(scale=0.5, offset=1.0)
    parameters = EventDrivenParameters(
        n_topics=3, doc_topic_prior=np.full(3, 1.1), word_step=step, doc_step=step, gauge=gauge
    )
    network = EdSpikeLDAReference(parameters, 4, np.array([50, 50]), seed=0)
    state = network.state()
    for name in ("m__alpha", "a__alpha", "p__beta"):
        state.pop(name, None)
    state["M__alpha"] = np.full((3, 4), edge)
    state["M__alpha"][0] = -edge
    state["M__beta"] = np.full((2, 3), edge)
    network.set_state(state)
    rng = np.random.default_rng(0)
    winners = network.present(rng.integers(0, 4, 100), rng.integers(0, 2, 100))
    assert set(winners) <= {0, 1, 2}
    assert np.isfinite(network.M__alpha).all() and np.isfinite(network.M__beta).all()


LOGS = Kept("alpha.M__alpha", "topic, word", written_by=("learn",), in_logs=True)
RATES = Kept("alpha.w", "topic, word", written_by=("learn",))


def test_spiking_networks_refuse_weights_beyond_the_edge():
    check_weights({"alpha.M__alpha": np.array([-699.0, 699.0])}, [LOGS])
    for bad in (701.0, -701.0, np.nan, np.inf, -np.inf):
        with pytest.raises(WeightOverflowError, match="M__alpha must stand for weights"):
            check_weights({"alpha.M__alpha": np.array([0.0, bad])}, [LOGS])
    check_weights({"alpha.w": np.array([1e-300, 1e300])}, [RATES])
    for bad in (0.0, -1e-3, np.nan, np.inf):
        with pytest.raises(WeightOverflowError, match="w must stand for.*use integrator='flow'"):
            check_weights({"alpha.w": np.array([1.0, bad])}, [RATES])
    check_weights({"topics.g": np.array([0.0])}, [Kept("topics.g", "topic")])  # not a weight
    documents = Kept("beta.p", "doc, topic", written_by=("learn",))
    values = {"alpha.w": np.array([1.0, 1e200]), "beta.p": np.array([1e90])}
    check_weights(values, [RATES, documents])
    values["beta.p"] = np.array([1e110])  # their product is infinite
    with pytest.raises(WeightOverflowError, match="p must stand for weights"):
        check_weights(values, [RATES, documents])
    gauge = replace(RATES, gauge=True)  # exp M = w g
    check_weights({"alpha.w": np.array([1e304, 1.0]), "topics.g": np.array([1e-9, 1.0])}, [gauge])


@pytest.mark.complete(but="1.1--340.0")
@pytest.mark.parametrize("edge", [-340.0, 340.0])
@pytest.mark.parametrize("prior", [1.1, None])
def test_spiking_networks_go_on_from_weights_at_the_edge(prior, edge):
    """Their product exp(u) is a number from exp(-700) to exp(700)."""
    step = RobbinsMonro(scale=0.5, offset=1.0)
    parameters = EventDrivenParameters(3, prior, step, step)
    state = {
        "M__alpha": np.full((3, 4), edge), "M__beta": np.full((2, 3), edge),
        "n_alpha": np.zeros(3), "n_beta": np.zeros(2),
    }  # fmt: skip
    state["M__alpha"][0] = -edge
    rng = np.random.default_rng(0)
    words, docs = rng.integers(0, 4, 40), rng.integers(0, 2, 40)
    for inhibition in (Race(), Poisson()):
        network = EventDrivenSpiking(
            parameters, 4, np.array([20, 20]), seed=0, initial=state, simulator="numpy",
            inhibition=inhibition,
        )  # fmt: skip
        winners = network.present(words, docs)
        assert len(winners) == 40 and set(winners) <= {0, 1, 2}
        for name, value in network.state().items():
            assert np.isfinite(value).all(), name


def test_weights_beyond_the_edge_do_not_enter_a_spiking_network():
    parameters = EventDrivenParameters(3, 1.1)
    network = EventDrivenSpiking(parameters, 4, [2, 2], seed=0, simulator="numpy")
    before = network.state()
    for bad in (705.0, 800.0, np.nan):
        state = before | {"M__alpha": np.full((3, 4), bad)}
        for name in ("w", "g", "p"):
            state.pop(name)
        with pytest.raises(WeightOverflowError, match="w must stand for weights"):
            network.set_state(state)
        for name, value in network.state().items():
            np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_edited_weights_are_not_silently_ignored():
    network = EventDrivenSpiking(
        EventDrivenParameters(3, 1.1), 4, [2, 2], seed=0, simulator="numpy"
    )
    state = network.state()
    state["M__alpha"] = state["M__alpha"] + 1.0
    with pytest.raises(ParameterError, match="M__alpha is not the one that its w, g, p"):
        network.set_state(state)
    for name in ("w", "g", "p"):
        state.pop(name)
    network.set_state(state)
    np.testing.assert_allclose(network.M__alpha, state["M__alpha"], rtol=0, atol=1e-12)


def test_lost_weights_enter_a_spiking_network_at_its_floor():
    """The rate-level twin tells exp(-800) from exp(-900); here both are silent for good."""
    lost = {"M__alpha": np.full((3, 4), -800.0), "M__beta": np.full((2, 3), -800.0)}
    lost |= {"n_alpha": np.zeros(3), "n_beta": np.zeros(2)}
    network = EventDrivenSpiking(
        EventDrivenParameters(3, 1.1), 4, [2, 2], seed=0, simulator="numpy", initial=lost
    )
    assert network.present([0, 1], [0, 1]).min() >= 0
    assert network.M__beta.min() > np.log(1e-100) - 1e-9


@pytest.mark.parametrize("name", ["doc_topic_prior", "topic_word_prior"])
def test_a_prior_that_counts_would_round_away_is_refused_in_spikes(name):
    priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.1, name: 1e-17}
    sizes = {"n_topics": 2, "n_words": 2, "n_docs": 1}
    with pytest.raises(ParameterError, match=f"{name} must be at least 1e-09 in spikes"):
        SpikeCGSSpiking([0, 1], [0, 0], seed=0, simulator="numpy", **sizes, **priors)


def test_nan_is_noticed_in_the_iteration_in_which_it_appears():
    with pytest.raises(DivergenceError, match="M__beta became infinite or not a number"):
        require_finite(M__alpha=np.zeros(2), M__beta=np.array([0.0, np.nan]))


def finite_or_refused(model, X):
    """What is learnt is a probability, or the refusal is one of ours."""
    try:
        model.fit(X)
    except BrianLDAError:
        return False
    phi, theta = model.components_, model.transform(X)
    for p in (phi, theta):
        assert np.isfinite(p).all() and (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    return True


TEXTS = np.array([[3, 1, 0, 2], [0, 2, 2, 1], [1, 0, 4, 0]])
EDGES = {
    "V = 1": (np.array([[5], [3], [1]]), {}),
    "one-word documents": (np.eye(6, dtype=int), {}),
    "one document of one word": (np.array([[1, 0, 0]]), {}),
    "K > N": (np.array([[1, 1], [0, 1]]), {"n_topics": 10}),
    "empty documents": (np.array([[0, 0], [1, 1], [0, 0]]), {}),
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", MODELS)
def test_small_corpora(name, edge):
    X, options = EDGES[edge]
    model = MODELS[name](random_state=0, **({"n_topics": 2} | options))
    assert finite_or_refused(model, X)


SPIKING = [name for name in MODELS if "Spike" in name]
IN_SPIKES = {"backend": "brian2", "brian2_options": {"simulator": "numpy"}}


@pytest.mark.complete(but="ed-SpikeLDA")
@pytest.mark.parametrize("name", SPIKING)
def test_small_corpora_in_spikes(name):
    for edge in ("V = 1", "one document of one word", "empty documents"):
        X, _ = EDGES[edge]
        model = MODELS[name](random_state=0, n_topics=2, **IN_SPIKES)
        assert finite_or_refused(model, X), edge


@pytest.mark.complete(but="semi-SpikeLDA-1e-06")
@pytest.mark.parametrize("prior", [1e-6, 1e3])
@pytest.mark.parametrize("name", [name for name in SPIKING if name != "ed-SpikePLSI"])
def test_extreme_priors_in_spikes(name, prior):
    lamda = 1.0 + prior if name in MAP else prior
    options = {"n_topics": 3, "doc_topic_prior": lamda, "topic_word_prior": prior, **IN_SPIKES}
    if name in ("semi-SpikeLDA", "du-SpikeLDA"):
        options["local_iterations"] = 1
    assert finite_or_refused(MODELS[name](random_state=0, **options), TEXTS)


@pytest.mark.parametrize("prior", [1e-6, 1e3])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "ed-SpikePLSI"])
def test_extreme_priors(name, prior):
    """lambda of a MAP estimator is 1 + prior: kappa = K * prior."""
    lamda = 1.0 + prior if name in MAP else prior
    options = {"n_topics": 3, "doc_topic_prior": lamda, "topic_word_prior": prior}
    assert finite_or_refused(MODELS[name](random_state=0, **options), TEXTS)


@pytest.mark.parametrize("name", MODELS)
def test_a_document_of_a_million_tokens(name):
    counts = np.random.default_rng(0).multinomial(10**6, np.full(20, 0.05))
    X = np.vstack([counts, np.ones(20, int)])
    model = MODELS[name](n_topics=2, random_state=0)
    model.max_iter = 1
    if hasattr(model, "local_iterations"):
        model.local_iterations = 1
    assert finite_or_refused(model, X)
