"""Packets between chips, counted from the spikes that a network has fired.

A recorded spike of a word, document or topic neuron is a packet for each chip that it has to enter:
a chip other than the neuron's own, with a topic neuron that has a synapse for it (conventions: head
of `brian_lda.hardware.checker`, which computes the same figures from counts of tokens).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.simulation.recording import EVERYTHING, Recording
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
    fired = network.counted if network.counted is not None else _recorded(network)
    chip_of_topic, sizes = np.asarray(chip_of_topic), network.sizes
    connected = np.ones((sizes.n_words, sizes.n_topics), bool)
    if network.pruned is not None:
        connected = network.pruned.private.T
    on_chip = np.stack([connected[:, chip_of_topic == c].sum(axis=1) for c in range(n_chips)], 1)

    def packets(layer: str, home: np.ndarray, reaches: np.ndarray) -> np.ndarray:
        enters = reaches & (home[:, None] != np.arange(n_chips))
        n_sent = fired[layer][:, None] * enters
        return np.stack([n_sent[home == c].sum(axis=0) for c in range(n_chips)])

    everywhere = np.ones((1, n_chips), bool)
    return CountedPackets(
        n_tokens=int(fired["topics"].sum()),
        word=packets("words", on_chip.argmax(axis=1), on_chip > 0),
        document=packets("documents", np.arange(sizes.n_docs) % n_chips, everywhere),
        winner=packets("topics", chip_of_topic, everywhere),
    )


def _recorded(network: SpikingNetwork) -> dict[str, np.ndarray]:
    """Spikes of each neuron in the latest recorded run, by layer."""
    found = {} if network.spikes is None else network.spikes.index
    if not found.keys() >= {"word", "document"}:
        raise ParameterError(
            f"packets are counted from the spikes of words and documents; found {[*found]}. "
            "Present the tokens with record=PACKETS."
        )
    sizes = network.sizes
    n_neurons = {"word": sizes.n_words, "document": sizes.n_docs, "topic": sizes.n_topics}
    return {f"{layer}s": np.bincount(found[layer], minlength=n) for layer, n in n_neurons.items()}
