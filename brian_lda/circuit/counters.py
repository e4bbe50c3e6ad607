"""Counters of spikes, as further Brian objects on top of any network.

A `SpikeMonitor` that records nothing keeps one number for each neuron. It costs what there is to
count, a few additions a tick, and the spikes do not know of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from brian2 import EventMonitor

from brian_lda.circuit.circuit import Circuit
from brian_lda.circuit.kept import Kept


def counted_layers(kept: Sequence[Kept]) -> tuple[str, ...]:
    """What can be counted in a network: layers, and the topic neurons of the negative phase."""
    remembers = any(variable.axes == "token" for variable in kept)
    layers = ("words", "documents", "topics", "inhibition")
    return (*layers, "tokens", "recalled") if remembers else layers


def counter_path(layer: str) -> str:
    """Where a counter keeps its numbers, as "object.variable"."""
    return f"counted_{layer}.count"


def add_counters(net: Circuit, layers: Sequence[str]) -> None:
    """Count every spike of these layers, neuron by neuron."""
    for layer in layers:
        group = net.topics if layer == "recalled" else getattr(net, layer)
        event = "recalled" if layer == "recalled" else "spike"
        name = f"{net.prefix}counted_{layer}"
        net.add(**{f"counted_{layer}": EventMonitor(group, event, record=False, name=name)})
