r"""Topic neurons and their winner-take-all inhibition: two forms of the same law (Alg. 1).

Topic neuron z fires as a Poisson process of rate exp(u_z); the first spike silences the others.
The winner is then an exact sample of softmax(u).

`Race` (default for training): the race in continuous time, one tick a token.
    Neuron z draws the time to its first spike, -log(rand)/exp(u_z); the inhibitory neuron is
    driven by the earliest and only the neuron that was that early keeps its spike. No dt, no
    ties. Times are kept as logarithms, so that no rate under- or overflows.

`Poisson`: clocked time, for rasters in which time passes and for chips with a time step.
    In each tick neuron z tries to fire with *odds* o_z = exp(u_z) * rate * dt, that is with
    probability o_z/(1 + o_z); the inhibitory neuron rejects a tick with more than one attempt,
    and the token stays clamped until a tick has exactly one. For any dt this is exact:
    P(only z) = o_z/(1 + o_z) * prod_{j != z} 1/(1 + o_j) = o_z * prod_j 1/(1 + o_j), which is
    proportional to o_z. (With probability 1 - exp(-o_z) instead, or with a rule that picks one of
    several, it is not.)

`accepted` is 1 in the tick in which the token has found its winner.

Where inputs may be missing (`brian_lda.constraints`), a neuron takes part only if it has heard both
the word and the document, `{absent}` below; a tick in which nobody takes part has no winner.

`normalised=True` is the inhibition of Nessler et al. (2013): an inhibitory current
I = log sum_z exp(u_z) is subtracted from every u_z, so that the layer as a whole fires at a
constant rate. It changes when the winner fires, never which neuron it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from brian2 import Clock, Network, NeuronGroup, Synapses, linked_var, ms

from brian_lda.errors import ParameterError
from brian_lda.spiking.counting import COUNTING

NEVER = 1e300  # a log-time later than any spike, a current lower than any input

TOPIC_MODEL = """
u : 1                                          # input, Alg. 1 line 5; consumed in the same tick
I : 1 (linked)                                 # inhibitory current, 0 unless normalised
chance : 1                                     # this tick's random number, uniform in [0, 1)
"""

NORMALISE = {  # I = log sum exp(u), the largest u taken out so that exp cannot overflow
    "maximum": "u_max_post = clip(u_pre, u_max_post, never)",
    "total": "Z_post += exp(u_pre - u_max_post)",
}
FIND_FIRST = "log_t_first_post = clip(log_latency_pre, -never, log_t_first_post)"
COUNT_ATTEMPTS = "n_attempts_post += 1"


class Inhibition(Protocol):
    """What `Race`, `Poisson` and those of `brian_lda.spiking.latency` tell the circuit."""

    @property
    def normalised(self) -> bool: ...

    @property
    def model(self) -> str: ...  # further equations of the topic neuron; `h` is the winner

    @property
    def accepted(self) -> str: ...

    @property
    def accepted_if_gated(self) -> str: ...

    @property
    def inhibitory_model(self) -> str: ...

    @property
    def between_tokens(self) -> str: ...  # what the inhibitory neuron does before a tick

    @property
    def fire(self) -> str: ...

    @property
    def event(self) -> tuple[str, str]: ...  # of the topic neuron: name, condition

    @property
    def on_event(self) -> str: ...

    @property
    def absent(self) -> str: ...

    @property
    def links(self) -> tuple[str, ...]: ...  # variables of the inhibitory neuron that others read

    @property
    def values(self) -> Mapping[str, np.ndarray | float]: ...

    @property
    def ticks_per_token(self) -> float: ...


@dataclass(frozen=True)
class Race:
    """Continuous-time race between the topic neurons, one tick a token.

    Attributes
    ----------
    normalised : bool
        Subtract the log-sum of the rates (Nessler's inhibition); waiting times then have mean 1 s.
    """

    normalised: bool = False

    dt = 1e-3  # s; label of a tick on the time axis, the law does not see it
    model = """
    log_latency : 1                                # log of the time to the first spike
    log_t_first : 1 (linked)                       # the earliest of all, from the inhibitory neuron
    h = int(log_latency <= log_t_first) : integer  # one-hot topic, Table 1(a)
    """
    accepted = "1"  # every tick has a winner
    accepted_if_gated = "int(log_t_first < 1e300)"  # unless no neuron has heard both inputs
    inhibitory_model = "log_t_first : 1"
    between_tokens = "log_t_first = never"
    fire = """
    log_latency = log(-log(chance)) - (u - I){absent}  # Alg. 1 line 6: first spike at rate exp(u)
    u = 0
    """
    event = ("latency", "True")  # every topic neuron tells the inhibitory neuron its latency
    on_event = FIND_FIRST
    absent = " + 2*never*int(n_inputs < 2)"  # its spike comes after the end of time
    links = ("log_t_first",)
    ticks_per_token = 1.0

    @property
    def values(self) -> dict[str, float]:
        """Numbers that can change without a rebuild, by name of the Brian variable."""
        return {"pacer.tick": self.dt}


@dataclass(frozen=True)
class Poisson:
    """Clocked Poisson neurons with rejection of ties.

    Attributes
    ----------
    rate : float
        Hz; neuron z fires at rate * exp(u_z), or at rate * softmax(u)_z when `normalised`. A token
        then lasts about 1/(rate * dt) ticks (a little longer for the rejected ones).
    dt : float
        Time step in seconds.
    normalised : bool
        Nessler's inhibition, the default here: free-running rates exp(u) span many orders of
        magnitude while the weights move towards their manifold.
    """

    rate: float = 100.0
    dt: float = 1e-3
    normalised: bool = True

    model = """
    n_attempts : 1 (linked)                        # of all topic neurons in this tick
    rate : Hz (shared, constant)
    attempt : integer                              # fired in this tick, before inhibition
    h = attempt*accepted : integer                 # one-hot topic, Table 1(a)
    """
    accepted = accepted_if_gated = "int(n_attempts == 1)"
    inhibitory_model = "n_attempts : 1"
    between_tokens = "n_attempts = 0"
    fire = """
    attempt = int(chance*(1 + exp(I - u - log(rate*dt))) < 1){absent}  # odds exp(u - I)*rate*dt
    u = 0
    """
    event = ("attempt", "attempt > 0")
    on_event = COUNT_ATTEMPTS
    absent = "*int(n_inputs == 2)"
    links = ("n_attempts",)

    def __post_init__(self) -> None:
        if not self.rate > 0:
            raise ParameterError(f"rate must be positive (Hz); found {self.rate!r}.")
        if not self.dt > 0:
            raise ParameterError(f"dt must be a positive time in seconds; found {self.dt!r}.")

    @property
    def values(self) -> dict[str, float]:
        """Numbers that can change without a rebuild, by name of the Brian variable."""
        return {"pacer.tick": self.dt, "topics.rate": self.rate}

    @property
    def ticks_per_token(self) -> float:
        """Expected ticks until a winner is accepted, for one neuron that takes it all."""
        return 1.0 + 1.0 / (self.rate * self.dt)


def accepted_signal(inhibition: Inhibition, gated: bool) -> str:
    """Expression that is 1 in the tick in which the token has found its winner."""
    return inhibition.accepted_if_gated if gated else inhibition.accepted


def add_topic_layer(
    network: Network,
    inhibition: Inhibition,
    n_topics: int,
    clock: Clock,
    *,
    model: str = "",
    gated: bool = False,
    events: dict[str, str] | None = None,
    after_spike: str = "",
) -> NeuronGroup:
    """Add the topic neurons and their inhibition to a network.

    Parameters
    ----------
    network : Network
    inhibition : Race, Poisson, Windowed or FirstArrival
    n_topics : int
        K.
    clock : Clock
    model : str
        Further equations of the topic neuron (what its plasticity keeps).
    gated : bool
        Whether only neurons with `n_inputs` = 2 take part in the race.
    events : dict of str, optional
        Further events of the topic neuron: {name: condition}.
    after_spike : str
        Statements for the neuron that has just won, run after its synapses have learned.

    Returns
    -------
    NeuronGroup
        "topics"; `h` is 1 for the winner of the tick from the slot "thresholds" on.
    """
    inhibitory = NeuronGroup(
        1,
        f"{inhibition.inhibitory_model}\nI : 1\nu_max : 1\nZ : 1",
        clock=clock,
        namespace={"never": NEVER},
        name="inhibition",
    )
    event_name, condition = inhibition.event
    accepted = accepted_signal(inhibition, gated)
    topics = NeuronGroup(
        n_topics,
        TOPIC_MODEL + inhibition.model + f"accepted = {accepted} : integer\n" + model,
        threshold="h > 0",
        reset=after_spike,
        events={event_name: condition, **(events or {})},
        clock=clock,
        namespace={"never": NEVER, **COUNTING},
        name="topics",
    )
    for name in ("I", *inhibition.links):
        setattr(topics, name, linked_var(inhibitory, name))
    # Drawn in a loop of its own, which leaves the compiler one without state to vectorise.
    topics.run_regularly("chance = rand()", when="groups", clock=clock, name="topics_chance")
    fire = inhibition.fire.format(absent=inhibition.absent if gated else "")
    fire += "\nn_inputs = 0" if gated else ""
    topics.run_regularly(fire, when="groups", order=1, clock=clock, name="topics_fire")
    topics.set_event_schedule(event_name, when="inhibit", order=0)
    compete = Synapses(
        topics,
        inhibitory,
        on_pre={"compete": inhibition.on_event},
        on_event={"compete": event_name},
        delay={"compete": 0 * ms},
        clock=clock,
        namespace={"never": NEVER},
        name="competition",
    )
    compete.connect()
    compete.compete.when, compete.compete.order = "inhibit", 1
    network.add(inhibitory, topics, compete)

    quiet = inhibition.between_tokens
    if inhibition.normalised:
        quiet += "\nu_max = -never\nZ = 0"
        _add_normalisation(network, topics, inhibitory, clock)
    inhibitory.run_regularly(quiet, when="start", clock=clock, name="inhibition_quiet")
    return topics


def _add_normalisation(
    network: Network, topics: NeuronGroup, inhibitory: NeuronGroup, clock: Clock
) -> None:
    """I = log sum_z exp(u_z), gathered from all topic neurons before any of them fires."""
    drive = NeuronGroup(  # relays the inputs: an event of its own, before the neurons fire
        len(topics), "u : 1 (linked)", events={"input": "True"}, clock=clock, name="drive"
    )
    drive.u = linked_var(topics, "u")
    drive.set_event_schedule("input", when="excite", order=10)
    current = Synapses(
        drive,
        inhibitory,
        on_pre=NORMALISE,
        on_event={name: "input" for name in NORMALISE},
        delay={name: 0 * ms for name in NORMALISE},
        clock=clock,
        namespace={"never": NEVER},
        name="inhibitory_current",
    )
    current.connect()
    for order, name in enumerate(NORMALISE, start=11):
        getattr(current, name).when, getattr(current, name).order = "excite", order
    inhibitory.run_regularly(
        "I = u_max + log(Z)", when="excite", order=13, clock=clock, name="inhibition_sum"
    )
    network.add(drive, current)
