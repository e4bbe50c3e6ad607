"""Packets between chips, counted by the spiking network itself while it runs.

One router neuron per chip is added to the network, with a synapse from every word, document and
topic neuron. A synapse counts a packet when its neuron fires, if that neuron's spike has to enter
the router's chip: a chip other than the neuron's own, with a topic neuron that has a synapse for it
(conventions: head of `brian_lda.hardware.checker`, which computes the same figures from counts).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from brian2 import NeuronGroup, Synapses, ms

from brian_lda.circuit.circuit import Circuit
from brian_lda.simulation.spiking_network import CircuitRunner
from brian_lda.simulation.twins import EventDrivenSpiking

SOURCES = ("words", "documents", "topics")


@dataclass(frozen=True)
class CountedPackets:
    """What a run sent between chips.

    Attributes
    ----------
    n_tokens : int
    word, document, winner : int array [source chip, target chip]
        Packets of each kind.
    """

    n_tokens: int
    word: np.ndarray
    document: np.ndarray
    winner: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        """Packets per token, float array [source chip, target chip]."""
        return (self.word + self.document + self.winner) / self.n_tokens


def count_packets(
    network: EventDrivenSpiking,
    words: np.ndarray,
    docs: np.ndarray,
    chip_of_topic: np.ndarray,
    n_chips: int,
) -> CountedPackets:
    """Show tokens to a copy of the network on several chips; the network itself stays as it is.

    Parameters
    ----------
    network : EventDrivenSpiking
        With `Race` inhibition, so that a token is presented in one tick.
    words, docs : int array [token]
    chip_of_topic : int array [topic]
    n_chips : int
    """
    chip_of_topic = np.asarray(chip_of_topic)
    shape, runner = network._shape, network._runner
    connected = np.ones((shape.n_words, shape.n_topics), bool)
    if network.pruned is not None:
        connected = network.pruned.private.T
    on_chip = np.stack([connected[:, chip_of_topic == c].sum(axis=1) for c in range(n_chips)], 1)
    home = {
        "words": on_chip.argmax(axis=1),
        "documents": np.arange(shape.n_docs) % n_chips,
        "topics": chip_of_topic,
    }
    reaches = {
        "words": on_chip > 0,
        "documents": np.ones((shape.n_docs, n_chips), bool),
        "topics": np.ones((shape.n_topics, n_chips), bool),
    }
    counting = CircuitRunner(
        partial(build_with_routers, runner._build, n_chips),
        {**runner._key, "routers": n_chips},
        runner.inhibition,
        runner._kind,
        runner.constraints,
    )
    values, constants = dict(network._values), dict(network._constants)
    for name in SOURCES:
        enters = reaches[name] & (home[name][:, None] != np.arange(n_chips))
        constants[f"packets_{name}.enters"] = enters.astype(np.int32).ravel()
        values[f"packets_{name}.n_sent"] = np.zeros(enters.size, np.int32)
    _, values = counting.run(
        shape,
        values,
        {"words": np.asarray(words, np.int32), "documents": np.asarray(docs, np.int32)},
        entropy=[network._seed, 5],
        constants=constants,
        between=network._fold_offsets,
    )
    sent = {}
    for name in SOURCES:
        n_sent = values[f"packets_{name}.n_sent"].reshape(-1, n_chips)
        sent[name] = np.stack([n_sent[home[name] == c].sum(axis=0) for c in range(n_chips)])
    return CountedPackets(len(words), *(sent[name] for name in SOURCES))


def build_with_routers(build: Callable[..., Circuit], n_chips: int, **arguments: Any) -> Circuit:
    """The circuit of `build` with a router for each chip."""
    circuit = build(**arguments)
    routers = NeuronGroup(n_chips, "", clock=circuit.clock, name="routers")
    circuit.network.add(routers)
    sources = {**circuit.layers, "topics": circuit.topics}
    for name in SOURCES:
        packets = Synapses(
            sources[name],
            routers,
            "enters : integer\nn_sent : integer",
            on_pre={"send": "n_sent += enters"},
            delay={"send": 0 * ms},
            clock=circuit.clock,
            name=f"packets_{name}",
        )
        packets.connect()
        packets.send.when = "end"
        circuit.network.add(packets)
    return circuit
