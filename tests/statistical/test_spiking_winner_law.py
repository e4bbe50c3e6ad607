"""The winner of a token is an exact sample of softmax(u), in every form of the inhibition (Alg. 1).

A network without plasticity holds one random weight vector per word; every word is presented the
same number of times, and each word's winners give one chi-square p-value against softmax. Over 200
words the p-values of an exact sampler are uniform (Kolmogorov-Smirnov). Why they should be, for any
excitability that depends on past ticks only, is proved in docs/inhibition.md.

Negative controls, which must fail the same test: a clocked Poisson layer that lets the lowest index
win a tie, one whose excitability looks at the current tick, and one over chips with latencies in
which the spike that is heard first wins.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from brian2 import Equations, NeuronGroup, Synapses, linked_var
from scipy import stats

from brian_lda.circuit.circuit import Circuit, Sizes, no_delay
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.latency import FirstArrival, Windowed
from brian_lda.simulation.recorders import add_recorders, read_window, recorder_values
from brian_lda.simulation.recording import EVERYTHING, Recording
from brian_lda.simulation.simulator import make_simulator

pytestmark = pytest.mark.statistical

N_DRAWS, N_TOPICS, TOKENS_PER_DRAW = 200, 5, 1000
SMALLEST_P = 0.005  # fixed seeds: a threshold for a wrong law, not a false-alarm rate
FAULT_P = 1e-12  # a fault must be this clear
WEIGHTS = np.random.default_rng(0).normal(0.0, 0.8, (N_DRAWS, N_TOPICS))


@dataclass(frozen=True)
class PeekingPoisson(Poisson):
    """After a tie, the excitability is halved and the *same* random numbers are compared again.

    If just one spike survives this, it is accepted, still in the same tick; up to LOOKS times.
    """

    LOOKS = 3
    equations = Poisson.equations + Equations("heard : 1 (linked)")

    @property
    def events(self):
        return {**super().events, **{f"survive_{n}": "attempt > 0" for n in range(self.LOOKS)}}

    def connect(self, net):
        super().connect(net)
        topics, inhibition, silencing = net.topics, net.inhibition, net.silencing
        topics.heard = linked_var(inhibition, "n_attempts")
        for n in range(self.LOOKS):
            order = 10 * (n + 1)
            topics.run_regularly(
                "excitability /= 1 + int(heard > 1)\n" + self.fire.replace("=", "= attempt*", 1),
                when="inhibit",
                order=order,
                name=f"look_again_{n}",
            )
            inhibition.run_regularly(
                "n_attempts = 0", when="inhibit", order=order + 1, name=f"hear_again_{n}"
            )
            again = Synapses(
                topics,
                inhibition,
                on_pre={"compete": "n_attempts_post += 1"},
                on_event={"compete": f"survive_{n}"},
                delay=no_delay("compete"),
                clock=net.clock,
                namespace={},
                name=f"again_{n}",
            )
            again.connect()
            topics.set_event_schedule(f"survive_{n}", when="inhibit", order=order + 2)
            again.compete.when, again.compete.order = "inhibit", order + 3
            net.network.add(again)
        for event in ("spike", "tie", "silence"):  # decided only now
            inhibition.set_event_schedule(event, when="inhibit", order=90)
        for pathway in (silencing.accept, silencing.calm, silencing.rouse):
            pathway.when, pathway.order = "inhibit", 91


def static_network(sizes, inhibition, record=()):
    """Words and topic neurons, and weights that nothing changes."""
    net = Circuit(sizes)
    words = net.clamped_layer("words", sizes.n_words)
    net.clamped_layer("documents", sizes.n_docs)  # every token has one; here it says nothing
    topics = NeuronGroup(
        sizes.n_topics,
        Equations("""
        rate : 1               # exp(u)
        """)
        + inhibition.equations,
        threshold="h > 0",
        reset="",
        events=dict(inhibition.events),
        clock=net.clock,
        namespace={},
        name="topics",
    )
    topics.run_regularly(
        """
        rate = 0
        h = 0
        accepted = 0
        """,
        when="start",
        name="topics_forget",
    )
    net.listen(topics)
    inhibition.connect(net)
    alpha = Synapses(
        words,
        topics,
        "w : 1                 # exp M",
        on_pre={"excite": "rate_post = w"},
        delay=no_delay("excite"),
        clock=net.clock,
        namespace={},
        name="alpha",
    )
    alpha.connect()
    alpha.excite.when = "excite"
    net.add(alpha=alpha)
    if record:
        add_recorders(net, Recording(record, EVERYTHING))
    return net


@cache
def simulator_of(kind, sizes, inhibition_type, normalised, record):
    """One program for all numbers of a form of inhibition."""
    clocked = {} if inhibition_type is Race else {"rate": 1.0, "normalised": normalised}
    inhibition = inhibition_type(**clocked)
    return make_simulator(kind, lambda: static_network(sizes, inhibition, record), outputs=())


def run_static(weights, inhibition, words, *, seed, simulator="standalone", record=()):
    """Winners [token] for weights [word, topic], and the spikes."""
    n_words, n_topics = weights.shape
    sizes = Sizes(n_words, 1, n_topics, capacity=2**18)
    normalised = getattr(inhibition, "normalised", False)
    network = simulator_of(simulator, sizes, type(inhibition), normalised, record)
    values = {"alpha.w": np.exp(weights).ravel(), **inhibition.values}
    recording, everything = Recording(record, EVERYTHING), (0, len(words))
    if record:
        values.update(recorder_values(recording, [everything], {}, n_topics))
    result = network.run(
        values,
        {"words": words.astype(np.int32), "documents": np.zeros(len(words), np.int32)},
        dt=inhibition.dt,
        streams=(np.zeros(1, np.int64), np.array([seed])),
    )
    topics = {"topics": np.arange(n_topics)}
    return result["winners.i"], read_window(result, recording, everything, topics, inhibition.dt)


def shuffled(n_words, tokens_per_word, seed):
    words = np.repeat(np.arange(n_words), tokens_per_word)
    return np.random.default_rng(seed).permutation(words)


def softmax(u):
    p = np.exp(u - u.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def p_values(winners, words, weights):
    """One chi-square p-value for each word that was shown."""
    n_words, n_topics = weights.shape
    counts = np.bincount(words * n_topics + winners, minlength=weights.size)
    counts = counts.reshape(n_words, n_topics)
    shown = counts.sum(axis=1) > 0
    expected = (softmax(weights) * counts.sum(axis=1, keepdims=True))[shown]
    assert expected.min() > 5, "too few tokens for a chi-square test"
    return stats.chisquare(counts[shown], expected, axis=1).pvalue


def uniformity(weights, inhibition, *, seed, n_words=N_DRAWS, tokens=TOKENS_PER_DRAW, record=()):
    """KS p-value of the words' chi-square p-values."""
    words = shuffled(n_words, tokens, seed)
    winners, _ = run_static(weights, inhibition, words, seed=seed, record=record)
    return stats.kstest(p_values(winners, words, weights), "uniform").pvalue


def ticks_of(spikes, inhibition):
    """Ticks that each token lasted."""
    ends = np.round(spikes.time["topic"] / inhibition.dt).astype(int)
    return np.diff(ends, prepend=-1)


def test_race_winners_follow_softmax():
    assert uniformity(WEIGHTS, Race(), seed=1, record=("latency",)) > SMALLEST_P


@pytest.mark.parametrize("shift", (-600.0, 600.0))
def test_race_is_exact_from_one_end_of_exp_to_the_other(shift):
    """Rates of 1e-260 and 1e260; the law only sees differences."""
    assert uniformity(WEIGHTS + shift, Race(), seed=2, record=("latency",)) > SMALLEST_P


def test_race_waiting_times_are_exponential():
    words = shuffled(N_DRAWS, TOKENS_PER_DRAW, seed=3)
    _, spikes = run_static(WEIGHTS, Race(), words, seed=3, record=("latency",))
    total_rate = np.exp(WEIGHTS).sum(axis=1)
    assert stats.kstest(spikes.latency * total_rate[words], "expon").pvalue > SMALLEST_P


@pytest.mark.complete
def test_controlled_poisson_winners_follow_softmax():
    assert uniformity(WEIGHTS, Poisson(), seed=4) > SMALLEST_P


@pytest.mark.parametrize(("rate", "dt"), [(50.0, 1e-3), (200.0, 1e-3), (6000.0, 1e-4)])
def test_poisson_winners_follow_softmax_for_any_time_step(rate, dt):
    """From 0.3 to 4 expected spikes in a tick."""
    assert uniformity(WEIGHTS, Poisson(rate=rate, dt=dt), seed=4) > SMALLEST_P


@pytest.mark.complete
@pytest.mark.parametrize(("rate", "dt"), [(50.0, 1e-3), (1000.0, 1e-3), (30_000.0, 1e-4)])
def test_normalised_poisson_winners_follow_softmax(rate, dt):
    """From 0.05 to 3 expected spikes in a tick."""
    inhibition = Poisson(rate=rate, dt=dt, normalised=True)
    assert uniformity(WEIGHTS, inhibition, seed=4) > SMALLEST_P


OFFSETS = (-600.0, -40.0, 0.0, 40.0, 600.0)


def test_controlled_poisson_takes_words_of_very_different_scales():
    """Words with offsets of -40, 0 and +40 in random order: the excitability is always elsewhere.

    It has to be doubled or halved 58 times for a step of 40. Tokens that come while it is still
    far away are decided in ticks of many ties or of silence; they must obey the law as well.
    """
    offsets = np.array([-40.0, 0.0, 40.0])[np.arange(N_DRAWS) % 3]
    assert uniformity(WEIGHTS + offsets[:, None], Poisson(), seed=5) > SMALLEST_P


def test_controlled_poisson_needs_two_ticks_at_any_scale():
    """Words of one scale come together; the first 100 tokens find the excitability."""
    scale = np.arange(N_DRAWS) % len(OFFSETS)
    weights = WEIGHTS + np.array(OFFSETS)[scale][:, None]
    words = shuffled(N_DRAWS, TOKENS_PER_DRAW, seed=6)
    words = words[np.argsort(scale[words], kind="stable")]
    winners, spikes = run_static(weights, Poisson(), words, seed=6)
    assert stats.kstest(p_values(winners, words, weights), "uniform").pvalue > SMALLEST_P
    ticks = ticks_of(spikes, Poisson()).reshape(len(OFFSETS), -1)[:, 100:].mean(axis=1)
    print(f"ticks per token at offsets {OFFSETS}: {ticks.round(3)}")
    assert 1.7 < ticks.min() and ticks.max() < 3.0


ONE_LIKELY_TOPIC = 0.5 * WEIGHTS + [2.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.complete
def test_excitability_that_looks_at_the_current_tick_fails():
    """Negative control: the proof needs an excitability of past ticks.

    A race between the same odds would prefer unlikely topics; it shows where one is likely.
    """
    assert uniformity(ONE_LIKELY_TOPIC, Poisson(), seed=4) > SMALLEST_P
    assert uniformity(ONE_LIKELY_TOPIC, PeekingPoisson(), seed=4) < FAULT_P


@pytest.mark.complete
def test_naive_clocked_layer_fails():
    """Negative control at 1.4 expected spikes a tick: ties go to the lowest index."""
    assert uniformity(WEIGHTS, Poisson(rate=200.0), seed=4) > SMALLEST_P
    assert uniformity(WEIGHTS, FirstArrival(latency=0, rate=200.0), seed=4) < FAULT_P


@pytest.mark.parametrize("normalised", (True, False))
def test_poisson_token_lasts_as_long_as_the_rate_says(normalised):
    """Odds o_z: a tick is accepted with P = sum_z o_z / prod_j (1 + o_j)."""
    weights = np.random.default_rng(8).normal(0.0, 0.8, (1, N_TOPICS))
    inhibition = Poisson(rate=500.0 if normalised else 100.0, dt=1e-3, normalised=normalised)
    words = np.zeros(400, int)
    _, spikes = run_static(weights, inhibition, words, seed=9, simulator="numpy")
    rates = softmax(weights[0]) if normalised else np.exp(weights[0])
    odds = rates * inhibition.rate * inhibition.dt
    ticks = ticks_of(spikes, inhibition)
    expected = np.prod(1 + odds) / odds.sum()
    standard_error = expected / np.sqrt(len(ticks))  # geometric: standard deviation below the mean
    assert abs(ticks.mean() - expected) < 4 * standard_error


LATENCIES = (0, 1, 3, 10)


def uniformity_with_latency(kind, latency, rate=None):
    """Topic neurons 0 to `latency` ticks away, and a window as long.

    A token takes up to 60 ticks, so there are fewer of them, and no topic is as rare.
    """
    ticks = tuple(int(t) for t in np.round(np.linspace(0, latency, N_TOPICS)))
    inhibition = kind(latency=ticks, window=max(latency, 1), rate=rate)
    return uniformity(0.75 * WEIGHTS, inhibition, seed=latency, tokens=400)


@pytest.mark.complete(but="3")
@pytest.mark.parametrize("latency", LATENCIES)
def test_windows_keep_the_law_under_latency(latency):
    assert uniformity_with_latency(Windowed, latency) > SMALLEST_P


@pytest.mark.complete(but="3")
@pytest.mark.parametrize("latency", LATENCIES)
def test_windows_of_a_fixed_rate_keep_the_law_under_latency(latency):
    p = uniformity_with_latency(Windowed, latency, rate=150.0 / max(latency, 1))
    assert p > SMALLEST_P


@pytest.mark.complete
@pytest.mark.parametrize("latency", LATENCIES[1:])
def test_first_spike_that_arrives_is_biased(latency):
    p = uniformity_with_latency(FirstArrival, latency, rate=150.0 / latency)
    assert p < FAULT_P
