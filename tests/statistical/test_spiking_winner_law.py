"""The winner of a token is an exact sample of softmax(u), in both forms of the inhibition (Alg. 1).

A network without plasticity holds one random weight vector per word; every word is presented the
same number of times, and each word's winners give one chi-square p-value against softmax. Over 200
words the p-values of an exact sampler are uniform (Kolmogorov-Smirnov). A clocked Poisson layer
that lets the lowest index win a tie must fail the same test.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy import stats

from brian_lda.circuit.circuit import Shape, build_circuit
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.latency import FirstArrival, Windowed
from brian_lda.simulation.recording import read_recorders
from brian_lda.simulation.simulator import make_simulator

pytestmark = pytest.mark.statistical

N_DRAWS, N_TOPICS, TOKENS_PER_DRAW = 200, 5, 1000
SMALLEST_P = 0.005  # fixed seeds: a threshold for a wrong law, not a false-alarm rate


@dataclass(frozen=True)
class NaivePoisson(Poisson):
    """What one would write first: P(fire) = 1 - exp(-rate dt), the lowest index wins a tie."""

    accepted = "int(i_first < 1e9)"
    model = """
    i_first : 1 (linked)
    rate : Hz (shared, constant)
    attempt : integer
    h = int(attempt*i_as_number == attempt*i_first)*attempt : integer
    i_as_number = 1.0*i : 1
    """
    inhibitory_model = "i_first : 1"
    between_tokens = "i_first = 1e9"
    fire = """
    attempt = int(chance < 1 - exp(-exp(u - I)*rate*dt))
    u = 0
    """
    on_event = "i_first_post = clip(1.0*i_as_number_pre, 0, i_first_post)"
    links = ("i_first",)


def build_static(shape, inhibition, record=()):
    circuit = build_circuit(shape, inhibition, record=record)
    for layer, name in ((circuit.words, "alpha"), (circuit.documents, "beta")):
        circuit.connect(
            layer,
            name=name,
            model="M : 1",
            on_pre={"excite": "u_post += M"},
            when={"excite": "excite"},
            weight="M",
            written_by=(),
        )
    return circuit


def run_static(weights, inhibition, tokens_per_draw, *, seed, simulator="standalone", record=()):
    """Winners [draw, token] for weights [draw, topic]."""
    n_draws, n_topics = weights.shape
    shape = Shape(n_draws, 1, n_topics, capacity=2**18)
    key = {
        "shape": repr(shape),
        "inhibition": [type(inhibition).__name__, inhibition.normalised],
        "record": record,
    }
    build = partial(build_static, shape, inhibition, record)
    run = make_simulator(simulator, build, key, outputs=()).run
    words = np.random.default_rng(seed).permutation(np.repeat(np.arange(n_draws), tokens_per_draw))
    values = {"alpha.M": weights.ravel(), "beta.M": np.zeros(n_topics), **inhibition.values}
    clamped = {"words": words.astype(np.int32), "documents": np.zeros(len(words), np.int32)}
    result = run(values, clamped, seed)
    winners = result["winners.i"][np.argsort(words, kind="stable")].reshape(n_draws, -1)
    return winners, words, read_recorders(result, record)


def softmax(u):
    p = np.exp(u - u.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def p_values(winners, weights):
    counts = np.stack([np.bincount(row, minlength=weights.shape[1]) for row in winners])
    expected = softmax(weights) * winners.shape[1]
    assert expected.min() > 5, "too few tokens for a chi-square test"
    return stats.chi2.sf(((counts - expected) ** 2 / expected).sum(axis=1), weights.shape[1] - 1)


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(0).normal(0.0, 0.8, (N_DRAWS, N_TOPICS))


def test_race_winners_follow_softmax(weights):
    winners, _, _ = run_static(weights, Race(), TOKENS_PER_DRAW, seed=1, record=("latency",))
    assert stats.kstest(p_values(winners, weights), "uniform").pvalue > SMALLEST_P


def test_race_is_exact_where_rates_leave_the_range_of_exp(weights):
    """exp(u) over- and underflows; the law only sees differences."""
    for shift in (-2000.0, 2000.0):
        winners, _, _ = run_static(
            weights + shift, Race(), TOKENS_PER_DRAW, seed=2, record=("latency",)
        )
        assert stats.kstest(p_values(winners, weights), "uniform").pvalue > SMALLEST_P


def test_race_waiting_times_are_exponential(weights):
    _, words, spikes = run_static(weights, Race(), TOKENS_PER_DRAW, seed=3, record=("latency",))
    total_rate = np.exp(weights).sum(axis=1)
    assert stats.kstest(spikes.latency * total_rate[words], "expon").pvalue > SMALLEST_P


@pytest.mark.parametrize(("rate", "dt"), [(50.0, 1e-3), (1000.0, 1e-3), (30_000.0, 1e-4)])
def test_poisson_winners_follow_softmax_for_any_time_step(weights, rate, dt):
    """From 0.05 to 3 expected spikes in a tick."""
    inhibition = Poisson(rate=rate, dt=dt)
    winners, _, _ = run_static(weights, inhibition, TOKENS_PER_DRAW, seed=4)
    assert stats.kstest(p_values(winners, weights), "uniform").pvalue > SMALLEST_P


def test_naive_clocked_layer_fails(weights):
    """Negative control at one expected spike a tick, where our own layer passes (above)."""
    winners, _, _ = run_static(weights, NaivePoisson(rate=1000.0), TOKENS_PER_DRAW, seed=4)
    assert stats.kstest(p_values(winners, weights), "uniform").pvalue < 1e-12


@pytest.mark.parametrize(
    "inhibition", [Race(normalised=True), Poisson(rate=300.0, normalised=False)], ids=repr
)
def test_normalisation_does_not_change_the_law(inhibition):
    weights = np.random.default_rng(5).normal(0.0, 0.8, (1, N_TOPICS))
    winners, _, _ = run_static(weights, inhibition, 1500, seed=6, simulator="numpy")
    assert p_values(winners, weights)[0] > SMALLEST_P


def test_normalised_race_waits_one_second_on_average():
    weights = np.random.default_rng(5).normal(3.0, 0.8, (1, N_TOPICS))
    inhibition = Race(normalised=True)
    _, _, spikes = run_static(
        weights, inhibition, 500, seed=7, simulator="numpy", record=("latency",)
    )
    assert stats.kstest(spikes.latency, "expon").pvalue > SMALLEST_P


def test_poisson_token_lasts_as_long_as_the_rate_says():
    """Normalised odds o_z: a tick is accepted with P = sum_z o_z / prod_j (1 + o_j)."""
    weights = np.random.default_rng(8).normal(0.0, 0.8, (1, N_TOPICS))
    inhibition = Poisson(rate=500.0, dt=1e-3)
    _, _, spikes = run_static(weights, inhibition, 400, seed=9, simulator="numpy")
    odds = softmax(weights[0]) * 0.5
    ticks = np.diff(spikes.time["topic"], prepend=-inhibition.dt) / inhibition.dt
    expected = np.prod(1 + odds) / odds.sum()
    standard_error = expected / np.sqrt(len(ticks))  # geometric: standard deviation below the mean
    assert abs(ticks.mean() - expected) < 4 * standard_error


LATENCIES = (0, 1, 3, 10)


def latency_p_values(kind, latency, *, n_draws=60, tokens=600):
    """Chi-square p-values of random weights, neurons 0 to `latency` ticks away."""
    weights = np.random.default_rng(8).normal(0.0, 1.0, (n_draws, 6))
    ticks = tuple(int(t) for t in np.round(np.linspace(0, latency, 6)))
    inhibition = kind(latency=ticks, window=max(latency, 1), rate=1000.0 / max(latency, 1))
    winners, _, _ = run_static(weights, inhibition, tokens, seed=latency)
    p = softmax(weights)
    counts = np.array([np.bincount(row, minlength=6) for row in winners])
    return stats.chisquare(counts, p * tokens, axis=1).pvalue


@pytest.mark.parametrize("latency", LATENCIES)
def test_windows_keep_the_law_under_latency(latency):
    p = latency_p_values(Windowed, latency)
    assert stats.kstest(p, "uniform").pvalue > 1e-3 and p.min() > 1e-5


@pytest.mark.parametrize("latency", LATENCIES[1:])
def test_first_spike_that_arrives_is_biased(latency):
    p = latency_p_values(FirstArrival, latency)
    assert stats.kstest(p, "uniform").pvalue < 1e-12
