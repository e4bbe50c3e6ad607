"""Packets between chips, counted from the spikes that a network has fired.

A recorded spike of a word, document or topic neuron is a packet for each chip that it has to enter:
a chip other than the neuron's own, with a topic neuron that has a synapse for it (conventions: head
of `brian_lda.hardware.checker`, which computes the same figures from counts of tokens).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.simulation.recording import EVERYTHING, Recording, Spikes
from brian_lda.simulation.spiking_network import SpikingNetwork

# What to record; the winners come in any case.
PACKETS = Recording(("word", "document"), windows=EVERYTHING)


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
    network: SpikingNetwork, chip_of_topic: np.ndarray, n_chips: int
) -> CountedPackets:
    """Count the packets of a network's spikes, had it been on several chips.

    Parameters
    ----------
    network : SpikingNetwork
        One that counts its spikes: all packets so far. Else after `present(..., record=PACKETS)`:
        those of the latest recorded run. With `Race` inhibition a token is presented in one
        tick; else its word and its document fire in every tick until there is a winner.
    chip_of_topic : int array [topic]
    n_chips : int
    """
    chip_of_topic, sizes = np.asarray(chip_of_topic), network.sizes
    fired = network.counted
    if fired is None:
        index = recorded_spikes(network, ("word", "document")).index
        n_neurons = {"word": sizes.n_words, "document": sizes.n_docs, "topic": sizes.n_topics}
        fired = {f"{x}s": np.bincount(index[x], minlength=n) for x, n in n_neurons.items()}
    everywhere = np.ones((1, n_chips), bool)
    return CountedPackets(
        n_tokens=int(fired["topics"].sum()),
        word=sent_by_words(network, fired["words"], chip_of_topic, n_chips),
        document=sent_by_documents(fired["documents"], n_chips),
        winner=_sent(fired["topics"], chip_of_topic, everywhere, n_chips),
    )


def sent_by_words(
    network: SpikingNetwork, n_spikes: np.ndarray, chip_of_topic: np.ndarray, n_chips: int
) -> np.ndarray:
    """Packets of word neurons that fired so often, int array [source chip, target chip]."""
    connected = np.ones((network.sizes.n_words, network.sizes.n_topics), bool)
    if network.pruned is not None:
        connected = network.pruned.private.T
    on_chip = np.stack([connected[:, chip_of_topic == c].sum(axis=1) for c in range(n_chips)], 1)
    return _sent(n_spikes, on_chip.argmax(axis=1), on_chip > 0, n_chips)


def sent_by_documents(n_spikes: np.ndarray, n_chips: int) -> np.ndarray:
    """Packets of document neurons that fired so often, int array [source chip, target chip]."""
    home = np.arange(len(n_spikes)) % n_chips
    return _sent(n_spikes, home, np.ones((1, n_chips), bool), n_chips)


def _sent(n_spikes: np.ndarray, home: np.ndarray, reaches: np.ndarray, n_chips: int) -> np.ndarray:
    enters = reaches & (home[:, None] != np.arange(n_chips))
    n_sent = n_spikes[:, None] * enters
    return np.stack([n_sent[home == c].sum(axis=0) for c in range(n_chips)])


def recorded_spikes(network: SpikingNetwork, layers: tuple[str, ...]) -> Spikes:
    """The latest recorded run, if it has these layers."""
    found = {} if network.spikes is None else network.spikes.index
    if network.spikes is None or not found.keys() >= set(layers):
        record = "ATTEMPTS" if "attempt" in layers else "PACKETS"
        raise ParameterError(
            f"packets are counted from the spikes of the layers {', '.join(layers)}; found "
            f"{[*found]}. Present the tokens with record={record}."
        )
    return network.spikes
