"""Which spikes are kept, and how much room they will take.

The winners (index and time of every topic spike) are always kept: 12 bytes a token. Everything
else is recorded on request and only for a window of the token sequence:

==============  =============================================================================
``word``        the clamped word neuron, one spike a tick
``document``    the clamped document neuron, one spike a tick
``inhibition``  the inhibitory neuron: a token has found its winner
``attempt``     topic spikes before the inhibition decides (clocked time only)
``token``       the clamped token's own neuron (networks that remember assignments)
``recalled``    the topic neuron that fires in the negative phase (the same networks)
``latency``     time from the clamp to the winner's spike, drawn in continuous time (`Race` only)
==============  =============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from brian2 import EventMonitor, SpikeMonitor

from brian_lda.circuit.circuit import Circuit
from brian_lda.circuit.inhibition import Inhibition
from brian_lda.errors import ParameterError

LAYERS = ("word", "document", "token", "recalled", "attempt", "inhibition", "latency")
BYTES_PER_SPIKE = 12  # int32 index, float64 time
BYTES_PER_LATENCY = 8


@dataclass(frozen=True)
class Recording:
    """What to record of a token sequence.

    Attributes
    ----------
    layers : tuple of str
        Any of `LAYERS`; the topic layer's winners come in any case.
    start, stop : int or None
        First token of the window and the token after its last, as in a slice (negative counts from
        the end).
    """

    layers: tuple[str, ...] = ("word", "document")
    start: int | None = None
    stop: int | None = None

    def __post_init__(self) -> None:
        unknown = set(self.layers) - set(LAYERS)
        if unknown:
            raise ParameterError(f"layers must be among {LAYERS}; found {sorted(unknown)}.")

    def window(self, n_tokens: int) -> tuple[int, int]:
        """First token and the one after the last, for a sequence of `n_tokens`."""
        start, stop, _ = slice(self.start, self.stop).indices(n_tokens)
        return start, max(start, stop)

    def forecast(self, n_tokens: int, inhibition: Inhibition) -> int:
        """Bytes that recording `n_tokens` will take (an expectation, in clocked time).

        Parameters
        ----------
        n_tokens : int
            Length of the whole sequence; only the window counts for the requested layers.
        inhibition : Race or Poisson

        Examples
        --------
        >>> from brian_lda.circuit.inhibition import Race
        >>> Recording(("word", "document")).forecast(1000, Race())
        36000
        """
        start, stop = self.window(n_tokens)
        ticks = (stop - start) * inhibition.ticks_per_token
        total = n_tokens * BYTES_PER_SPIKE
        for layer in self.layers:
            total += int(ticks * (BYTES_PER_LATENCY if layer == "latency" else BYTES_PER_SPIKE))
        return total


@dataclass
class Spikes:
    """Recorded spikes of a window.

    Attributes
    ----------
    first_token : int
        Position of the window in the presented sequence.
    index, time : dict of str to array [spike]
        Neuron and time (seconds since the window began) of the spikes of each recorded layer;
        "topic" holds the winners.
    latency : float array [token] or None
        Continuous waiting time of each winner in seconds, if recorded.
    """

    first_token: int = 0
    index: dict[str, np.ndarray] = field(default_factory=dict)
    time: dict[str, np.ndarray] = field(default_factory=dict)
    latency: np.ndarray | None = None


def add_recorders(net: Circuit, layers: tuple[str, ...]) -> None:
    """Add the monitors of the requested layers."""
    for layer in layers:
        name = f"{net.prefix}recorded_{layer}"
        if layer == "latency":
            _require(
                "latency" in net.topics.variables and "attempt" not in net.topics.events, layer
            )
            monitor = SpikeMonitor(net.topics, variables=["latency"], record=False, name=name)
            net.recorded.append(f"recorded_{layer}.latency")
        else:
            if layer in ("attempt", "recalled"):
                _require(layer in net.topics.events, layer)
                monitor = EventMonitor(net.topics, layer, name=name)
            elif layer == "inhibition":
                monitor = SpikeMonitor(net.inhibition, name=name)
            else:
                _require(f"{layer}s" in net.layers, layer)
                monitor = SpikeMonitor(net.layers[f"{layer}s"], name=name)
            net.recorded += [f"recorded_{layer}.i", f"recorded_{layer}.t"]
        net.add(**{f"recorded_{layer}": monitor})


def _require(present: bool, layer: str) -> None:
    if not present:
        raise ParameterError(
            f"this network has no spikes of the kind {layer!r} to record: 'attempt' needs clocked "
            "time, 'latency' a Race, 'token' and 'recalled' a network that remembers assignments "
            "(SpikeCGS, semi-SpikeLDA)."
        )


def read_recorders(result: dict[str, np.ndarray], layers: tuple[str, ...]) -> Spikes:
    """The spikes in a simulator's result."""
    spikes = Spikes()
    spikes.index["topic"], spikes.time["topic"] = result["winners.i"], result["winners.t"]
    for layer in layers:
        if layer == "latency":
            spikes.latency = result["recorded_latency.latency"]
        else:
            spikes.index[layer] = result[f"recorded_{layer}.i"]
            spikes.time[layer] = result[f"recorded_{layer}.t"]
    return spikes
