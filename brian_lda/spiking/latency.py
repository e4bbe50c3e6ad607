r"""Winner-take-all over chips that hear of each other with a delay.

Topic neuron z sits `latency[z]` ticks away from where words, documents and inhibition come from: a
token reaches it that much later, and its spikes are heard that much later again.

`Windowed` keeps the law of Alg. 1 exact. Every neuron tries to fire in the same number W of ticks,
counted from the token's arrival at its own chip, with odds o_z = exp(u_z) rate dt in each. When the
last spike can have arrived, W + 2 max(latency) ticks after the window began, the inhibitory neuron
accepts the window if it heard exactly one spike, and else rejects it and begins another:

.. math:: P(\text{only } z) = W \frac{o_z}{1 + o_z} \Big(\frac{1}{1 + o_z}\Big)^{W-1}
          \prod_{j \ne z} \Big(\frac{1}{1 + o_j}\Big)^{W} = o_z \cdot W \prod_j (1 + o_j)^{-W},

which is proportional to exp(u_z), for any W, dt and latencies.

`FirstArrival` is the naive rule, kept for comparison: whoever is heard first wins. It prefers
neurons that are near.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.spiking.inhibition import COUNT_ATTEMPTS


@dataclass(frozen=True)
class Windowed:
    """Poisson neurons whose spikes count within windows; exactly one spike in a window wins.

    Attributes
    ----------
    latency : int or tuple of int
        Ticks between the inhibitory neuron and each topic neuron (one number: all of them).
    window : int
        W, ticks in which a neuron may fire.
    rate : float
        Hz; as in `Poisson`.
    dt : float
        Time step in seconds.
    normalised : bool
        As in `Poisson`.
    """

    latency: int | tuple[int, ...] = 0
    window: int = 1
    rate: float = 500.0
    dt: float = 1e-3
    normalised: bool = True

    model = """
    n_attempts : 1 (linked)
    phase : integer (linked)                       # ticks since the window began
    last : integer (linked)                        # its last tick
    rate : Hz (shared, constant)
    window : integer (shared, constant)            # W
    latency : integer                              # of this neuron
    attempt : integer                              # fired in this tick
    n_own : integer                                # ... in this window
    h = int(n_own == 1)*accepted : integer         # one-hot topic, Table 1(a)
    """
    accepted = accepted_if_gated = "int(phase == last)*int(n_attempts == 1)"
    inhibitory_model = """
    n_attempts : 1                                 # spikes of this window
    phase : integer
    last : integer
    """
    between_tokens = """
    phase = int(phase < last)*(phase + 1)
    n_attempts = int(phase > 0)*n_attempts
    """
    fire = """
    in_window = int(phase >= latency)*int(phase < latency + window)
    attempt = in_window*int(chance*(1 + exp(I - u - log(rate*dt))) < 1){absent}
    n_own = int(phase > 0)*n_own + attempt
    u = 0
    """
    event = ("attempt", "attempt > 0")
    on_event = COUNT_ATTEMPTS  # when within the window a spike is heard makes no difference
    absent = "*int(n_inputs == 2)"
    links: ClassVar[tuple[str, ...]] = ("n_attempts", "phase", "last")

    def __post_init__(self) -> None:
        if np.min(self.latency) < 0 or self.window < 1:
            raise ParameterError(
                "latency must be 0 or more ticks and window at least 1; found "
                f"latency={self.latency}, window={self.window}."
            )
        if not (self.rate > 0 and self.dt > 0):
            raise ParameterError(
                f"rate (Hz) and dt (s) must be positive; found {self.rate!r} and {self.dt!r}."
            )

    @property
    def last_tick(self) -> int:
        """The tick of a window in which the latest possible spike is heard."""
        return self.window - 1 + 2 * int(np.max(self.latency))

    @property
    def values(self) -> dict[str, np.ndarray | float]:
        """Numbers that can change without a rebuild, by name of the Brian variable."""
        return {
            "pacer.tick": self.dt,
            "topics.rate": self.rate,
            "topics.window": self.window,
            "topics.latency": self.latency
            if isinstance(self.latency, (int, np.integer))
            else np.array(self.latency, np.int32),
            "inhibition.last": self.last_tick,
            "inhibition.phase": self.last_tick,  # so that the first tick begins a window
        }

    @property
    def ticks_per_token(self) -> float:
        """Expected ticks until a window is accepted, for one neuron that takes it all."""
        p = 1.0 / (1.0 + 1.0 / (self.rate * self.dt))
        return (self.last_tick + 1) / (self.window * p * math.pow(1.0 - p, self.window - 1))


@dataclass(frozen=True)
class FirstArrival(Windowed):
    """The naive rule: the spike that is heard first wins, ties go to the lowest number. Biased."""

    model = Windowed.model.replace(
        "h = int(n_own == 1)*accepted : integer         # one-hot topic, Table 1(a)",
        """heard_first : 1 (linked)
    arrival : 1                                    # of the own first spike, in order of being heard
    h = accepted*int(arrival == heard_first) : integer""",
    )
    accepted = accepted_if_gated = "int(phase == last)*int(n_attempts > 0)"
    inhibitory_model = Windowed.inhibitory_model + "heard_first : 1\n"
    between_tokens = Windowed.between_tokens + (
        "    heard_first = int(phase > 0)*heard_first + int(phase == 0)*never\n"
    )
    fire = Windowed.fire + (
        "    arrival = arrival*int(phase > 0) + int(phase == 0)*never\n"
        "    arrival = clip(arrival, 0, never*(1 - attempt) + (phase + latency + 1e-6*i))\n"
    )
    on_event = COUNT_ATTEMPTS + "\nheard_first_post = clip(arrival_pre, 0, heard_first_post)"
    links = (*Windowed.links, "heard_first")
