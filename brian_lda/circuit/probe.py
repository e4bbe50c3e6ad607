"""Weights that a monitor can follow.

In the gauge form M^alpha = log(w g), with w in the synapse and g in the topic neuron, and Brian's
StateMonitor does not record expressions of two objects. A probe is a NeuronGroup with one neuron
for each chosen synapse, whose `M__alpha` is that synapse's weight at the end of every tick:

>>> probe = add_probe(net, words=[0, 3], topics=[1, 1])              # doctest: +SKIP
>>> monitor = StateMonitor(probe, "M__alpha", record=True)           # doctest: +SKIP
>>> net.network.add(monitor)                                         # doctest: +SKIP

`add_document_probe` does the same for M^beta.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from brian2 import NeuronGroup, Synapses

from brian_lda.circuit.circuit import Circuit
from brian_lda.errors import ParameterError


def add_probe(net: Circuit, words: Sequence[int], topics: Sequence[int]) -> NeuronGroup:
    """Add neurons that follow M^alpha of the synapses (words[i], topics[i])."""
    return _probe(net, net.alpha, "M__alpha", words, topics, "probe", "words")


def add_document_probe(net: Circuit, docs: Sequence[int], topics: Sequence[int]) -> NeuronGroup:
    """Add neurons that follow M^beta of the synapses (docs[i], topics[i])."""
    return _probe(net, net.beta, "M__beta", docs, topics, "document_probe", "documents")


def probed_synapses(sources: np.ndarray, topics: np.ndarray, n_topics: int) -> np.ndarray:
    """Where these synapses are: Brian orders them by source neuron, then by topic."""
    return sources * n_topics + topics


def _probe(
    net: Circuit,
    synapses: Synapses,
    weight: str,
    sources: Sequence[int],
    topics: Sequence[int],
    name: str,
    layer: str,
) -> NeuronGroup:
    i, j = np.asarray(sources, np.int32), np.asarray(topics, np.int32)
    sizes = (len(net.layers[layer]), len(net.topics))
    in_range = all(
        index.size and 0 <= index.min() <= index.max() < size
        for index, size in zip((i, j), sizes, strict=True)
    )
    if i.shape != j.shape or not in_range:
        raise ParameterError(
            f"a probe takes pairs of {layer} in [0, {sizes[0]}) and topics in [0, {sizes[1]}); "
            f"found {i.tolist()} and {j.tolist()}."
        )
    probe = NeuronGroup(
        len(i),
        f"""
        synapse : integer (constant)
        topic : integer (constant)
        {weight} : 1
        """,
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}{name}",
    )
    probe.synapse = probed_synapses(i, j, sizes[1])
    probe.topic = j
    rates = {"M__alpha": "w", "M__beta": "p"}[weight]
    if rates in synapses.variables:
        probe.variables.add_reference("weight", synapses, rates, index="synapse")
        follow = "log(weight)"
        if weight == "M__alpha" and "g" in net.topics.variables:
            probe.variables.add_reference("g", net.topics, "g", index="topic")
            follow = "log(weight*g)"
    else:
        probe.variables.add_reference("weight", synapses, weight, index="synapse")
        follow = "weight"
    probe.run_regularly(f"{weight} = {follow}", when="end", order=100, name=f"{probe.name}_follow")
    net.first_values.append((f"{name}.{weight}", follow))
    net.add(**{name: probe})
    return probe
