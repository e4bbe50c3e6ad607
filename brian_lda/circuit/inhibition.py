r"""Winner-take-all inhibition: two forms of the same law (Alg. 1).

Topic neuron z fires as a Poisson process of rate exp(u_z); the first spike silences the others.
The winner is then an exact sample of softmax(u). In both forms topic neurons excite one inhibitory
neuron through synapses; it spikes, and its spike reaches them through synapses.

`Race` (default for training): the race in continuous time, one tick a token.
    Neuron z draws the time to its first spike, -log(rand)/exp(u_z). The inhibitory neuron hears
    the earliest and fires at that time; of the topic neurons, only the one that was that early
    keeps its spike. No dt, no ties.

`Poisson`: clocked time, for rasters in which time passes and for chips with a time step.
    In each tick neuron z tries to fire with *odds* o_z = c exp(u_z), that is with probability
    o_z/(1 + o_z). The inhibitory neuron fires if it has heard exactly one, and that neuron has
    won; after a tie or silence the token stays clamped. For any excitability c this is exact:
    P(only z) = o_z/(1 + o_z) * prod_{j != z} 1/(1 + o_j) = o_z * prod_j 1/(1 + o_j), which is
    proportional to exp(u_z). (With probability 1 - exp(-o_z) instead, or with a rule that picks
    one of several, it is not.)

    Rates span many orders of magnitude, so c is controlled: every topic neuron keeps a copy, which
    the inhibitory neuron's `silence` doubles and its `tie` halves. The c of a tick depends
    on past ticks only. Given those, the winner of an accepted tick follows softmax(u)
    whatever c is; so it does without them. (A c that looks at the current tick's
    attempts breaks this: the test has that as its negative control.) Nothing but spikes passes
    between neurons.

    With a `rate`, c is fixed at rate * dt; with `normalised=True` as well, it is Nessler's
    inhibition (2013): the layer as a whole fires at `rate`, c = rate * dt / sum_z exp(u_z). For
    that sum the inhibitory neuron must know the rates of all topic neurons, not only their spikes.

A neuron with rate 0 takes no part: it has not heard both the word and the document.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses, linked_var

from brian_lda.circuit.circuit import TICK, Circuit, no_delay
from brian_lda.errors import ParameterError


class Inhibition(Protocol):
    """What a model needs of `Race`, `Poisson` and those of `brian_lda.circuit.latency`."""

    @property
    def equations(self) -> Equations:
        """Equations that the topic neurons take on; `h` and `accepted` among them."""

    @property
    def events(self) -> Mapping[str, str]:
        """Events that the topic neurons emit, by condition."""

    def connect(self, net: Circuit) -> None:
        """Add the inhibitory neuron and its synapses, from and to `net.topics`."""

    @property
    def values(self) -> Mapping[str, np.ndarray | float]:
        """Numbers that can change without a rebuild, by "object.variable"."""

    @property
    def kept(self) -> tuple[str, ...]:
        """What the topic neurons remember from token to token, besides their weights."""

    @property
    def dt(self) -> float:
        """Length of a tick in seconds."""

    @property
    def ticks_per_token(self) -> float:
        """Expected ticks until a winner is accepted, roughly."""


@dataclass(frozen=True)
class Race:
    """Continuous-time race between the topic neurons, one tick a token."""

    dt: ClassVar[float] = TICK  # label of a tick on the time axis, the law does not see it
    kept: ClassVar[tuple[str, ...]] = ()
    ticks_per_token: ClassVar[float] = 1.0
    values: ClassVar[Mapping[str, np.ndarray | float]] = {}
    equations: ClassVar[Equations] = Equations("""
        chance : 1             # this tick's random number, uniform in [0, 1)
        latency : 1            # time to the own first spike, Alg. 1 line 6
        h : integer            # one-hot topic, Table 1(a): 1 for the neuron that fired first
        accepted : integer     # 1 if the token has found its winner
        """)
    events: ClassVar[Mapping[str, str]] = {"first_spike": "rate > 0"}

    def connect(self, net: Circuit) -> None:
        """Add the inhibitory neuron and its synapses."""
        topics, name = net.topics, net.prefix
        # Alg. 1 line 6: first spike of a process of this rate
        net.race("chance = rand()", "latency = -log(chance)/rate")
        inhibition = NeuronGroup(
            1,
            """
            t_first : 1                                # the earliest topic spike; 1e300: none
            accepted = int(t_first < 1e300) : integer
            """,
            threshold="t_first < 1e300",
            reset="t_first = 1e300",
            clock=net.clock,
            namespace={},
            name=f"{name}inhibition",
        )
        inhibition.t_first = 1e300
        competition = Synapses(
            topics,
            inhibition,
            on_pre={"compete": "t_first_post = clip(latency_pre, 0, t_first_post)"},
            on_event={"compete": "first_spike"},
            delay=no_delay("compete"),
            clock=net.clock,
            namespace={},
            name=f"{name}competition",
        )
        competition.connect()
        silencing = Synapses(
            inhibition,
            topics,
            on_pre={
                "silence": """
                    h_post = int(latency_post <= t_first_pre)
                    accepted_post = 1
                    """
            },
            delay=no_delay("silence"),
            clock=net.clock,
            namespace={},
            name=f"{name}silencing",
        )
        silencing.connect()
        topics.set_event_schedule("first_spike", when="inhibit", order=0)
        competition.compete.when, competition.compete.order = "inhibit", 1
        inhibition.set_event_schedule("spike", when="inhibit", order=2)
        silencing.silence.when, silencing.silence.order = "inhibit", 3
        inhibition.resetter["spike"].when = "end"
        net.add(inhibition=inhibition, competition=competition, silencing=silencing)


@dataclass(frozen=True)
class Poisson:
    """Clocked Poisson neurons with rejection of ties.

    Attributes
    ----------
    rate : float or None
        Hz. None: the excitability is controlled. A number: neuron z fires at rate * exp(u_z), or at
        rate * softmax(u)_z when `normalised`; a token then lasts about 1/(rate * dt) ticks.
    dt : float
        Time step in seconds.
    normalised : bool
        Nessler's inhibition; takes a `rate`.
    """

    rate: float | None = None
    dt: float = TICK
    normalised: bool = False

    equations: ClassVar[Equations] = Equations("""
        chance : 1                          # this tick's random number, uniform in [0, 1)
        excitability : 1                    # odds of firing are excitability*exp(u); own copy
        step_of_excitability : 1 (shared, constant) # after silence times this, after a tie divided
        attempt : integer                   # fired in this tick, before inhibition
        h : integer                         # one-hot topic, Table 1(a)
        accepted : integer                  # 1 if the token has found its winner
        """)
    fire: ClassVar[str] = (
        "attempt = int(chance*(1 + 1/(excitability*rate)) < 1)"  # P = odds/(1 + odds)
    )

    def __post_init__(self) -> None:
        check_clocked(self.rate, self.dt, self.normalised)

    @property
    def events(self) -> Mapping[str, str]:
        return {"attempt": "attempt > 0", **(SUMMED if self.normalised else {})}

    @property
    def values(self) -> Mapping[str, np.ndarray | float]:
        return excitability_values(self.rate, self.dt, self.normalised)

    @property
    def kept(self) -> tuple[str, ...]:
        return ("excitability",) if self.rate is None else ()

    @property
    def ticks_per_token(self) -> float:
        return 2.0 if self.rate is None else 1.0 + 1.0 / (self.rate * self.dt)

    def connect(self, net: Circuit) -> None:
        """Add the inhibitory neuron and its synapses."""
        topics, name = net.topics, net.prefix
        net.race("chance = rand()", self.fire)
        inhibition = NeuronGroup(
            1,
            """
            clamped : integer (linked)                # a token waits for its winner
            n_attempts : 1                            # topic spikes heard in this tick
            accepted = int(n_attempts == 1) : integer
            Z : 1                                     # sum of exp(u), if normalised
            """,
            events={
                "spike": "n_attempts == 1",
                "tie": "n_attempts > 1",
                "silence": "n_attempts == 0 and clamped > 0",
                **({"summed": "Z > 0"} if self.normalised else {}),
            },
            clock=net.clock,
            namespace={},
            name=f"{name}inhibition",
        )
        inhibition.clamped = linked_var(net.pacer, "clamped")
        inhibition.run_regularly(
            "n_attempts = 0\nZ = 0", when="start", name=f"{inhibition.name}_forget"
        )
        competition = Synapses(
            topics,
            inhibition,
            on_pre={"compete": "n_attempts_post += 1"},
            on_event={"compete": "attempt"},
            delay=no_delay("compete"),
            clock=net.clock,
            namespace={},
            name=f"{name}competition",
        )
        competition.connect()
        silencing = Synapses(
            inhibition,
            topics,
            on_pre={
                "accept": """
                    h_post = attempt_post
                    accepted_post = 1
                    """,
                "calm": "excitability_post /= step_of_excitability_post",
                "rouse": "excitability_post *= step_of_excitability_post",
            },
            on_event={"accept": "spike", "calm": "tie", "rouse": "silence"},
            delay=no_delay("accept", "calm", "rouse"),
            clock=net.clock,
            namespace={},
            name=f"{name}silencing",
        )
        silencing.connect()
        topics.set_event_schedule("attempt", when="inhibit", order=0)
        competition.compete.when, competition.compete.order = "inhibit", 1
        for event in ("spike", "tie", "silence"):
            inhibition.set_event_schedule(event, when="inhibit", order=2)
        for pathway in (silencing.accept, silencing.calm, silencing.rouse):
            pathway.when, pathway.order = "inhibit", 3
        net.add(inhibition=inhibition, competition=competition, silencing=silencing)
        if self.normalised:
            connect_normalisation(net)


SUMMED = {"drive": "rate > 0"}


def connect_normalisation(net: Circuit) -> None:
    """Nessler's inhibition: c = rate*dt / sum_z exp(u_z), before any topic neuron fires."""
    topics, inhibition, name = net.topics, net.inhibition, net.prefix
    summing = Synapses(
        topics,
        inhibition,
        on_pre={"sum": "Z_post += rate_pre"},
        on_event={"sum": "drive"},
        delay=no_delay("sum"),
        clock=net.clock,
        namespace={},
        name=f"{name}summing",
    )
    summing.connect()
    dividing = Synapses(
        inhibition,
        topics,
        "layer_rate : Hz (shared, constant)",
        on_pre={"divide": "excitability_post = layer_rate*dt/Z_pre"},
        on_event={"divide": "summed"},
        delay=no_delay("divide"),
        clock=net.clock,
        namespace={},
        name=f"{name}dividing",
    )
    dividing.connect()
    topics.set_event_schedule("drive", when="excite", order=10)
    summing.sum.when, summing.sum.order = "excite", 11
    inhibition.set_event_schedule("summed", when="excite", order=12)
    dividing.divide.when, dividing.divide.order = "excite", 13
    net.add(summing=summing, dividing=dividing)


def check_clocked(rate: float | None, dt: float, normalised: bool) -> None:
    """Refuse numbers that a clocked layer cannot have."""
    if rate is not None and not _is_positive(rate):
        raise ParameterError(f"rate must be a positive number (of Hz), or None; found {rate!r}.")
    if not _is_positive(dt):
        raise ParameterError(f"dt must be a positive number (of seconds); found {dt!r}.")
    if not isinstance(normalised, bool):
        raise ParameterError(f"normalised must be True or False; found {normalised!r}.")
    if normalised and rate is None:
        raise ParameterError("normalised=True needs a `rate` (Hz) at which the layer is to fire.")


def _is_positive(value: Any) -> bool:
    """A number without unit, above 0 and not infinite."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and 0 < float(value) < math.inf


def excitability_values(
    rate: float | None, dt: float, normalised: bool
) -> dict[str, np.ndarray | float]:
    """First excitability and how it is controlled, by "object.variable"."""
    if rate is None:
        return {"topics.excitability": 1.0, "topics.step_of_excitability": 2.0}
    values: dict[str, np.ndarray | float] = {"topics.step_of_excitability": 1.0}
    return values | (
        {"dividing.layer_rate": rate} if normalised else {"topics.excitability": rate * dt}
    )
