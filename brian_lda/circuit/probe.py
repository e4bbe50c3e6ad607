"""Word weights that a monitor can follow.

In the gauge form M^alpha = log(w g), with w in the synapse and g in the topic neuron, and Brian's
StateMonitor does not record expressions of two objects. A probe is a NeuronGroup with one neuron
for each chosen synapse, whose `M__alpha` is that synapse's weight at the end of every tick:

>>> probe = add_probe(net, words=[0, 3], topics=[1, 1])              # doctest: +SKIP
>>> monitor = StateMonitor(probe, "M__alpha", record=True)           # doctest: +SKIP
>>> net.network.add(monitor)                                         # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from brian2 import NeuronGroup

from brian_lda.circuit.circuit import Circuit
from brian_lda.errors import ParameterError


def add_probe(net: Circuit, words: Sequence[int], topics: Sequence[int]) -> NeuronGroup:
    """Add neurons that follow M^alpha of the synapses (words[i], topics[i])."""
    i, j = np.asarray(words, np.int32), np.asarray(topics, np.int32)
    sizes = (len(net.words), len(net.topics))
    in_range = all(
        index.size and 0 <= index.min() <= index.max() < size
        for index, size in zip((i, j), sizes, strict=True)
    )
    if i.shape != j.shape or not in_range:
        raise ParameterError(
            f"a probe takes pairs of words in [0, {sizes[0]}) and topics in [0, {sizes[1]}); found "
            f"{i.tolist()} and {j.tolist()}."
        )
    probe = NeuronGroup(
        len(i),
        """
        synapse : integer (constant)
        topic : integer (constant)
        M__alpha : 1
        """,
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}probe",
    )
    probe.synapse = i * sizes[1] + j  # Brian orders them by word, then by topic
    probe.topic = j
    rates = "w" in net.alpha.variables
    gauge = "g" in net.topics.variables
    probe.variables.add_reference(
        "weight", net.alpha, "w" if rates else "M__alpha", index="synapse"
    )
    if gauge:
        probe.variables.add_reference("g", net.topics, "g", index="topic")
    follow = "weight" if not rates else "log(weight*g)" if gauge else "log(weight)"
    probe.run_regularly(f"M__alpha = {follow}", when="end", order=100, name=f"{probe.name}_follow")
    net.first_values.append(("probe.M__alpha", follow))
    net.add(probe=probe)
    return probe
