"""Parts of networks whose topic neurons are split, and the limit that they are split for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from brian2 import NeuronGroup

from brian_lda.circuit.circuit import Circuit
from brian_lda.circuit.clamped_layer import ClampedLayer
from brian_lda.errors import FanInError


@dataclass
class SplitCircuit(Circuit):
    """A circuit whose topics hear the race of their parts (`models/ed_spike_lda_split.py`).

    Attributes
    ----------
    parts : NeuronGroup
        Neuron b K + z is the part of topic z for the words of block b.
    axons : NeuronGroup
        Neuron d B + b brings document d to block b.
    """

    parts: NeuronGroup = field(init=False)
    axons: ClampedLayer = field(init=False)

    def race(self, draw: str, fire: str) -> None:
        """Let the parts that have heard both word and document try to fire; their input is over."""
        self.parts.run_on_event("listens", f"{draw}\n{fire}\nrate = 0", when="groups")


def check_fan_in(net: Circuit, word_synapses: int, document_synapses: int) -> None:
    """Refuse a network, inside Python, of which a neuron has more synapses than a chip's.

    Parameters
    ----------
    net : Circuit
    word_synapses, document_synapses : int
        The most that a neuron may have.
    """
    for synapses, most in ((net.alpha, word_synapses), (net.beta, document_synapses)):
        n_incoming = np.asarray(synapses.variables["N_incoming"].get_value())
        require_fan_in(n_incoming, synapses.name, most)


def require_fan_in(n_incoming: np.ndarray, name: str, most: int) -> None:
    """Refuse more synapses onto a neuron than it may have.

    Parameters
    ----------
    n_incoming : int array [neuron]
    name : str
        Of the synapses.
    most : int
    """
    if n_incoming.size and n_incoming.max() > most:
        raise FanInError(
            f"each neuron may have {most} synapses of {name}; neuron {n_incoming.argmax()} has "
            f"{n_incoming.max()}. Prune, split the topic neurons, or keep fewer documents."
        )
