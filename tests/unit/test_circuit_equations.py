"""Every tick of a winner-take-all circuit, computed again from the random numbers that it drew.

Nothing is left to chance: monitors keep each neuron's random number and rate, and the same tick in
numpy must give the same attempts, the same winner and the same excitability (Alg. 1). Which law the
winners then follow is tested in tests/statistical.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from brian2 import StateMonitor, prefs, seed
from brian_lda.models import ed_spike_lda

from brian_lda.circuit import circuit
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.latency import FirstArrival, Windowed
from brian_lda.parameters import EventDrivenParameters

V, D, K, N = 4, 3, 3, 30
VARPHI, S_ALPHA = np.array([1.0, 0.0, 3.0, 2.0]), np.array([0.1, 0.3, 0.2])
WORDS = np.arange(N) % V
DOCS = np.arange(N) // 2 % D


@pytest.fixture(autouse=True)
def inside_python(monkeypatch):
    monkeypatch.setattr(circuit, "STALLED_AFTER", 2000)  # ticks: a circuit that is wrong may stall
    before, prefs.codegen.target = prefs.codegen.target, "numpy"
    seed(3)
    yield
    prefs.codegen.target = before


class Ticks:
    """A network with frozen weights, and what its neurons held in every tick."""

    def __init__(self, inhibition, topics, inhibitory, log_scale=0.0):
        rng = np.random.default_rng(0)
        parameters = EventDrivenParameters(K, np.full(K, 1.1), topic_word_prior=VARPHI)
        self.net = ed_spike_lda.build(
            V, D, K, parameters=parameters, inhibition=inhibition, capacity=N
        )
        self.w, self.p = rng.lognormal(log_scale, 1.0, (V, K)), rng.lognormal(0.0, 1.0, (D, K))
        self.p[1, 0] = 0.0  # this neuron takes no part in races for document 1
        self.g = np.array([0.5, 1.0, 2.0])
        self.net.set({"alpha.w": self.w, "beta.p": self.p, "topics.g": self.g})
        self.net.set({"topics.s_alpha": S_ALPHA})
        self.net.set({"topics.scale__alpha": 0.0, "documents.scale__beta": 0.0})  # no step at all
        monitors = {
            "before": StateMonitor(self.net.topics, topics, True, when="groups", order=-1),
            "after": StateMonitor(self.net.topics, ["rate", *topics], True, when="end"),
            "inhibitory": StateMonitor(
                self.net.inhibition, inhibitory, True, when="learn", order=50
            ),
            "pacer": StateMonitor(
                self.net.pacer, ["token", "clamped", "is_new"], True, when="clamp"
            ),
        }
        self.net.network.add(*monitors.values())
        self.winners = self.net.present(WORDS, DOCS)
        self.before, self.after, self.inhibitory, self.pacer = (
            SimpleNamespace(
                **{name: np.array(getattr(monitor, name)) for name in monitor.record_variables}
            )
            for monitor in monitors.values()
        )
        self.n = self.after.rate.shape[1]

    def rates(self, token):
        seen = self.w[WORDS[token]] * self.g + VARPHI[WORDS[token]] * S_ALPHA
        return seen * self.p[DOCS[token]]

    def check_chances(self):
        chance = self.after.chance
        assert chance.min() >= 0.0 and chance.max() < 1.0
        assert chance.max() > 0.95 and abs(chance.mean() - 0.5) < 0.1
        assert len(np.unique(chance)) == chance.size  # fresh in every tick


def odds_won(chance, odds):
    """Fires with the probability odds/(1 + odds)."""
    return (chance * (1.0 + odds) < odds).astype(int)


def test_race_the_earliest_of_all_neurons_wins():
    ticks = Ticks(Race(), ["chance", "latency", "h", "accepted"], ["t_first", "accepted"])
    ticks.check_chances()
    assert ticks.n == N  # one tick a token
    assert ticks.pacer.token[0].tolist() == list(range(N)) and ticks.pacer.is_new.all()
    for token in range(N):
        rates = ticks.rates(token)
        np.testing.assert_allclose(ticks.after.rate[:, token], rates, rtol=1e-14)
        with np.errstate(divide="ignore"):
            latency = -np.log(ticks.after.chance[:, token]) / rates
        np.testing.assert_allclose(ticks.after.latency[:, token], latency, rtol=1e-14)
        winner = int(np.argmin(latency))
        assert ticks.winners[token] == winner
        assert ticks.after.h[:, token].tolist() == np.eye(K, dtype=int)[winner].tolist()
        assert ticks.after.accepted[:, token].tolist() == [1] * K
        assert ticks.inhibitory.t_first[0, token] == ticks.after.latency[winner, token]
        assert ticks.inhibitory.accepted[0, token] == 1
    assert ticks.net.inhibition.t_first[0] == 1e300  # it has forgotten the last spike
    idle_ticks(ticks, ("h", "accepted", "rate"))


def idle_ticks(ticks, silent, kept=()):
    """When all tokens have been shown, nobody fires and nothing is changed."""
    topics, before = ticks.net.topics, {}
    for name in kept:
        before[name] = np.array(getattr(topics, name)[:])
    ticks.net.network.run(3 * ticks.net.clock.dt)
    assert ticks.net.winners.num_spikes == N
    for name in silent:
        np.testing.assert_array_equal(getattr(topics, name)[:], 0, err_msg=name)
    for name in kept:
        np.testing.assert_array_equal(getattr(topics, name)[:], before[name], err_msg=name)


CLOCKED = {
    "controlled": {},
    "free": {"rate": 100.0, "dt": 2e-3},
    "normalised": {"rate": 700.0, "dt": 2e-3, "normalised": True},
}
every_clock = pytest.mark.parametrize("kind", CLOCKED)


def excitability_at_first(options):
    """c of the first tick, and what it is divided by after a tie."""
    if "rate" not in options:
        return 1.0, 2.0
    return options["rate"] * options["dt"], 1.0


@every_clock
def test_poisson_exactly_one_attempt_is_accepted(kind):
    options = CLOCKED[kind]
    ticks = Ticks(
        Poisson(**options),
        ["chance", "excitability", "attempt", "h", "accepted"],
        ["n_attempts", "accepted", "Z"],
        log_scale=2.0 if kind == "controlled" else 0.0,  # rates far from 1: c has a way to go
    )
    ticks.check_chances()
    (c, factor), token, is_new, outcomes = excitability_at_first(options), 0, 1, set()
    for t in range(ticks.n):
        rates = ticks.rates(token)
        if kind == "normalised":
            c_now = c / rates.sum()
            np.testing.assert_allclose(ticks.inhibitory.Z[0, t], rates.sum(), rtol=1e-14)
        else:
            c_now = c
        assert (ticks.pacer.token[0, t], ticks.pacer.is_new[0, t]) == (token, is_new)
        assert ticks.pacer.clamped[0, t] == 1
        np.testing.assert_allclose(ticks.after.rate[:, t], rates, rtol=1e-14)
        np.testing.assert_allclose(ticks.before.excitability[:, t], c_now, rtol=1e-14)
        attempt = odds_won(ticks.after.chance[:, t], c_now * rates)
        assert ticks.after.attempt[:, t].tolist() == attempt.tolist()
        n, is_new = int(attempt.sum()), 0
        assert ticks.inhibitory.n_attempts[0, t] == n
        accepted = int(n == 1)
        assert ticks.inhibitory.accepted[0, t] == accepted
        assert ticks.after.accepted[:, t].tolist() == [accepted] * K
        assert ticks.after.h[:, t].tolist() == (accepted * attempt).tolist()
        if accepted:
            assert ticks.winners[token] == attempt.argmax()
            token, is_new = token + 1, 1
        elif kind == "controlled":
            c = c / factor if n else c * factor
        outcomes.add(min(n, 2))
        if kind != "normalised":
            np.testing.assert_allclose(ticks.after.excitability[:, t], c, rtol=1e-14)
    assert token == N and outcomes == {0, 1, 2}  # not vacuous
    idle_ticks(ticks, ("h", "accepted", "rate", "attempt"), ("excitability",))


@pytest.mark.complete(but=["Windowed-controlled", "FirstArrival-free"])
@every_clock
@pytest.mark.parametrize("rule", [Windowed, FirstArrival])
def test_windows_are_judged_when_the_last_spike_can_have_arrived(rule, kind):
    options, latency, W = CLOCKED[kind], np.array([0, 2, 1]), 2
    ticks = Ticks(
        rule(latency=(0, 2, 1), window=W, **options),
        ["chance", "excitability", "attempt", "phase", "n_own", "arrival", "h", "accepted"],
        ["phase", "n_attempts", "heard_first", "accepted", "Z"],
    )
    ticks.check_chances()
    last = W - 1 + 2 * 2
    (c, factor), token, outcomes = excitability_at_first(options), 0, set()
    assert ticks.n % (last + 1) == 0
    for t in range(ticks.n):
        phase = t % (last + 1)
        if phase == 0:
            n_own, arrival = np.zeros(K, int), np.zeros(K)
        rates = ticks.rates(token)
        c_now = c / rates.sum() if kind == "normalised" else c
        np.testing.assert_allclose(ticks.before.excitability[:, t], c_now, rtol=1e-14)
        in_window = (latency <= phase) & (phase < latency + W)
        attempt = in_window * odds_won(ticks.after.chance[:, t], c_now * rates)
        arrival = np.where(n_own > 0, arrival, phase + latency + 1e-6 * np.arange(K))
        n_own = n_own + attempt
        assert ticks.after.attempt[:, t].tolist() == attempt.tolist()
        assert ticks.after.n_own[:, t].tolist() == n_own.tolist()
        assert ticks.after.phase[:, t].tolist() == [phase + 1] * K
        np.testing.assert_allclose(ticks.after.arrival[:, t], arrival, rtol=1e-14)
        n, first = int(n_own.sum()), arrival[n_own > 0].min(initial=1e300)
        assert (ticks.inhibitory.phase[0, t], ticks.inhibitory.n_attempts[0, t]) == (phase, n)
        assert ticks.inhibitory.heard_first[0, t] == pytest.approx(first, rel=1e-14)
        if kind == "normalised":
            np.testing.assert_allclose(ticks.inhibitory.Z[0, t], rates.sum(), rtol=1e-14)
        wins = n == 1 if rule is Windowed else n > 0
        accepted = int(phase == last and wins)
        h = accepted * (n_own > 0) * (arrival == first)
        assert ticks.inhibitory.accepted[0, t] == accepted
        assert ticks.after.accepted[:, t].tolist() == [accepted] * K
        assert ticks.after.h[:, t].tolist() == h.tolist()
        if accepted:
            assert ticks.winners[token] == h.argmax()
            token += 1
        elif phase == last and kind == "controlled":
            c = c / factor if n else c * factor
        if phase == last:
            outcomes.add(min(n, 2))
    assert token == N and outcomes == {0, 1, 2}  # not vacuous
    idle_ticks(ticks, ("h", "accepted", "rate", "attempt"), ("excitability",))
