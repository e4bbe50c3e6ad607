r"""Winner-take-all over chips that hear of each other with a delay.

Topic neuron z sits `latency[z]` ticks away from where words, documents and inhibition come from: a
token reaches it that much later, and its spikes are heard that much later again.

`Windowed` keeps the law of Alg. 1 exact. Every neuron tries to fire in the same number W of ticks,
counted from the token's arrival at its own chip, with odds o_z = c exp(u_z) in each. When the last
spike can have arrived, W + 2 max(latency) ticks after the window began, the inhibitory neuron
accepts the window if it heard exactly one spike, and else rejects it and begins another:

.. math:: P(\text{only } z) = W \frac{o_z}{1 + o_z} \Big(\frac{1}{1 + o_z}\Big)^{W-1}
          \prod_{j \ne z} \Big(\frac{1}{1 + o_j}\Big)^{W} = o_z \cdot W \prod_j (1 + o_j)^{-W},

which is proportional to exp(u_z), for any W, dt, latencies and excitability c. As in `Poisson`, c
doubles after a silent window and halves after one with a tie, unless a `rate` fixes it.

`FirstArrival` is the naive rule, kept for comparison: whoever is heard first wins. It prefers
neurons that are near.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses, linked_var

from brian_lda.circuit.circuit import TICK, Circuit, no_delay
from brian_lda.circuit.inhibition import (
    SUMMED,
    Inhibition,
    Poisson,
    Race,
    check_clocked,
    connect_normalisation,
    excitability_values,
)
from brian_lda.errors import ParameterError


@dataclass(frozen=True)
class Windowed:
    """Poisson neurons whose spikes count within windows; exactly one spike in a window wins.

    Attributes
    ----------
    latency : int or tuple of int
        Ticks between the inhibitory neuron and each topic neuron (one number: all of them).
    window : int
        W, ticks in which a neuron may fire.
    rate, dt, normalised
        As in `Poisson`.
    """

    latency: int | tuple[int, ...] = 0
    window: int = 1
    rate: float | None = None
    dt: float = TICK
    normalised: bool = False

    equations: ClassVar[Equations] = Equations("""
        chance : 1                          # this tick's random number, uniform in [0, 1)
        excitability : 1                    # odds of firing are excitability*exp(u); own copy
        step_of_excitability : 1 (shared, constant)
        window : integer (shared, constant) # W
        latency : integer                   # of this neuron
        phase : integer                     # ticks since the window began
        attempt : integer                   # fired in this tick
        n_own : integer                     # ... in this window
        arrival : 1                         # of the own first spike, in order of being heard
        h : integer                         # one-hot topic, Table 1(a)
        accepted : integer                  # 1 if the token has found its winner
        """)
    fire: ClassVar[str] = """
        in_window = int(phase >= latency)*int(phase < latency + window)
        attempt = in_window*int(chance*(1 + 1/(excitability*rate)) < 1)
        arrival = int(n_own > 0)*arrival + int(n_own == 0)*(phase + latency + 1e-6*i)
        n_own += attempt
        phase += 1
        """
    hear: ClassVar[str] = """
        n_attempts_post += 1
        heard_first_post = clip(arrival_pre, 0, heard_first_post)
        """
    accepting: ClassVar[str] = "phase == last and n_attempts == 1"
    rejecting: ClassVar[str] = "phase == last and n_attempts > 1"
    winner: ClassVar[str] = """
        h_post = int(n_own_post == 1)
        accepted_post = 1
        """

    def __post_init__(self) -> None:
        delays = self.latency if isinstance(self.latency, (tuple, list)) else (self.latency,)
        if not (delays and all(_is_count(delay, 0) for delay in delays)):
            raise ParameterError(
                "latency must be 0 or more ticks, one number or one for each topic; found "
                f"{self.latency!r}."
            )
        if not _is_count(self.window, 1):
            raise ParameterError(f"window must be 1 or more ticks; found {self.window!r}.")
        check_clocked(self.rate, self.dt, self.normalised)

    @property
    def events(self) -> Mapping[str, str]:
        return {"attempt": "attempt > 0", **(SUMMED if self.normalised else {})}

    @property
    def last_tick(self) -> int:
        """The tick of a window in which the latest possible spike is heard."""
        return self.window - 1 + 2 * int(np.max(self.latency))

    @property
    def values(self) -> Mapping[str, np.ndarray | float]:
        """Numbers that can change without a rebuild, by "object.variable"."""
        latency = (
            self.latency if isinstance(self.latency, int) else np.array(self.latency, np.int32)
        )
        return {
            **excitability_values(self.rate, self.dt, self.normalised),
            "topics.window": self.window,
            "topics.latency": latency,
            "inhibition.last": self.last_tick,
            "inhibition.phase": self.last_tick,  # so that the first tick begins a window
        }

    @property
    def kept(self) -> tuple[str, ...]:
        return ("excitability",) if self.rate is None else ()

    @property
    def ticks_per_token(self) -> float:
        """Expected ticks until a window is accepted, for one neuron that takes it all."""
        p = 0.5 if self.rate is None else 1.0 / (1.0 + 1.0 / (self.rate * self.dt))
        return (self.last_tick + 1) / (self.window * p * math.pow(1.0 - p, self.window - 1))

    def connect(self, net: Circuit) -> None:
        """Add the inhibitory neuron and its synapses."""
        topics, name = net.topics, net.prefix
        net.race("chance = rand()", self.fire)
        inhibition = NeuronGroup(
            1,
            """
            clamped : integer (linked)           # a token waits for its winner
            phase : integer                      # ticks since the window began
            last : integer                       # its last tick
            n_attempts : 1                       # topic spikes heard in this window
            heard_first : 1                      # the earliest arrival
            accepted : integer
            Z : 1                                # sum of exp(u), if normalised
            """,
            events={
                "begin": "phase == 0",
                "spike": self.accepting,
                "tie": self.rejecting,
                "silence": "phase == last and n_attempts == 0 and clamped > 0",
                **({"summed": "Z > 0"} if self.normalised else {}),
            },
            clock=net.clock,
            namespace={},
            name=f"{name}inhibition",
        )
        inhibition.clamped = linked_var(net.pacer, "clamped")
        inhibition.run_regularly(
            """
            phase = int(phase < last)*(phase + 1)
            n_attempts = int(phase > 0)*n_attempts
            heard_first = int(phase > 0)*heard_first + int(phase == 0)*1e300
            accepted = 0
            Z = 0
            """,
            when="start",
            name=f"{inhibition.name}_forget",
        )
        inhibition.run_on_event("spike", "accepted = 1", when="inhibit", order=3)
        competition = Synapses(
            topics,
            inhibition,
            on_pre={"compete": self.hear},
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
                "begin": """
                    phase_post = 0
                    n_own_post = 0
                    """,
                "accept": self.winner,
                "calm": "excitability_post /= step_of_excitability_post",
                "rouse": "excitability_post *= step_of_excitability_post",
            },
            on_event={"begin": "begin", "accept": "spike", "calm": "tie", "rouse": "silence"},
            delay=no_delay("begin", "accept", "calm", "rouse"),
            clock=net.clock,
            namespace={},
            name=f"{name}silencing",
        )
        silencing.connect()
        inhibition.set_event_schedule("begin", when="clamp", order=1)
        silencing.begin.when, silencing.begin.order = "clamp", 2
        topics.set_event_schedule("attempt", when="inhibit", order=0)
        competition.compete.when, competition.compete.order = "inhibit", 1
        for event in ("spike", "tie", "silence"):
            inhibition.set_event_schedule(event, when="inhibit", order=2)
        for pathway in (silencing.accept, silencing.calm, silencing.rouse):
            pathway.when, pathway.order = "inhibit", 3
        net.add(inhibition=inhibition, competition=competition, silencing=silencing)
        if self.normalised:
            connect_normalisation(net)


@dataclass(frozen=True)
class FirstArrival(Windowed):
    """The naive rule: the spike that is heard first wins, ties go to the lowest number. Biased."""

    accepting: ClassVar[str] = "phase == last and n_attempts > 0"
    rejecting: ClassVar[str] = "n_attempts < 0"  # never
    winner: ClassVar[str] = """
        h_post = int(n_own_post > 0)*int(arrival_post == heard_first_pre)
        accepted_post = 1
        """


def _is_count(value: Any, least: int) -> bool:
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return is_integer and value >= least


def make_inhibition(value: Inhibition | str | Mapping[str, Any] | None) -> Inhibition:
    """An inhibition as an object, by its name, or as plain data: {"kind": "poisson", "rate": 100}.

    None is `Race()`.
    """
    kinds: dict[str, Any] = {"race": Race, "poisson": Poisson, "windowed": Windowed}
    kinds["firstarrival"] = FirstArrival
    if value is None:
        return Race()
    if not isinstance(value, (str, Mapping)):
        if not isinstance(value, tuple(kinds.values())):
            raise ParameterError(f"inhibition must be one of {', '.join(kinds)}; found {value!r}.")
        return value
    data = {"kind": value} if isinstance(value, str) else dict(value)
    kind = kinds.get(str(data.pop("kind", None)).lower())
    if kind is None:
        raise ParameterError(f"inhibition must be one of {', '.join(kinds)}; found {value!r}.")
    known = [field.name for field in fields(kind)]
    if unknown := sorted(data.keys() - set(known)):
        raise ParameterError(
            f"{kind.__name__} has no {' or '.join(unknown)}, only {', '.join(known) or 'nothing'}."
        )
    return kind(**data)
