"""What a chip takes away from a network: precision, packets, synapses, neurons.

`Constraints` is plain data. The spiking networks (`brian_lda.circuit.chips`) and the
rate-level twin (`brian_lda.reference.constrained`) both read it.

weight_bits
    A weight is one of 2^b levels over `weight_range`. Every write rounds it to one of the two
    levels beside it, at random and without bias: floor(M/q + uniform) q. In the gauge form,
    M = m - a, the b bits hold m; the offset a is one number per neuron, kept exactly, and moves the
    range by whole levels.
packet_loss
    Each packet that enters a chip (word, document, winner) is lost with this probability. A topic
    neuron without its word or its document takes no part in the race, and one whose chip does not
    hear of the winner does not learn from the token. If no neuron takes part, the token is
    presented again.
dead_synapses, dead_neurons
    Fractions, drawn once. Nothing passes a dead synapse: its neuron takes no part in the races of
    that word or document. A dead topic neuron never fires. A token that no neuron can hear has no
    winner (`NO_WINNER`).
document_slots
    m, most documents that a topic neuron has synapses for. The others wait in external memory and
    are swapped in (`brian_lda.external_memory`).
word_synapses
    n, most words. A topic neuron is split into parts, one for each n words
    (`models/ed_spike_lda_split.py`): the same law, nothing is dropped. (Pruning meets the same
    limit by dropping words: `brian_lda.hardware.pruning`.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from brian_lda.errors import FanInError, ParameterError

NO_WINNER = -1


@dataclass(frozen=True)
class Constraints:
    """Limits of the chips; the default is none.

    Attributes
    ----------
    weight_bits : int or None
        b, 2 to 24; None is double precision.
    weight_range : (float, float)
        Lowest and highest weight M, the first and the last of the 2^b levels.
    packet_loss, dead_synapses, dead_neurons : float
        Probabilities in [0, 1).
    chip_of_topic : tuple of int or None
        Which chip each topic neuron is on; None: all on one.
    seed : int
        Which synapses and neurons are dead.
    word_synapses : int or None
        n of a split network, which has `document_slots` as well.
    document_slots : int or None
        m; None: all documents are on the chip.
    """

    weight_bits: int | None = None
    weight_range: tuple[float, float] = (-14.0, 6.0)
    packet_loss: float = 0.0
    dead_synapses: float = 0.0
    dead_neurons: float = 0.0
    chip_of_topic: tuple[int, ...] | None = None
    seed: int = 0
    word_synapses: int | None = None
    document_slots: int | None = None

    def __post_init__(self) -> None:
        bits, limits = self.weight_bits, self.weight_range
        if bits is not None and not (isinstance(bits, (int, np.integer)) and 2 <= bits <= 24):
            raise ParameterError(f"weight_bits must be None or an integer 2..24; found {bits!r}.")
        if not (
            _are_numbers(limits) and len(limits) == 2 and -np.inf < limits[0] < limits[1] < np.inf
        ):
            raise ParameterError(f"weight_range must be (lowest, highest); found {limits!r}.")
        object.__setattr__(self, "weight_range", tuple(limits))  # lists in plain data
        for name in ("packet_loss", "dead_synapses", "dead_neurons"):
            value = getattr(self, name)
            if not (_are_numbers([value]) and 0.0 <= value < 1.0):
                raise ParameterError(f"{name} must be in [0, 1); found {value!r}.")
        if self.chip_of_topic is not None:
            chips = self.chip_of_topic
            if not (_are_numbers(chips) and len(chips) and all(map(_is_whole, chips))):
                raise ParameterError(
                    f"chip_of_topic must name a chip, 0 or above, for each topic; found {chips!r}."
                )
            object.__setattr__(self, "chip_of_topic", tuple(int(chip) for chip in chips))
        if not _is_whole(self.seed):
            raise ParameterError(f"seed must be an integer of at least 0; found {self.seed!r}.")
        for name in ("word_synapses", "document_slots"):
            most = getattr(self, name)
            if most is not None and not (_is_whole(most) and most):
                raise ParameterError(
                    f"{name} must be an integer of at least 1, or None; found {most!r}."
                )
        if self.splits and self.document_slots is None:
            raise ParameterError(
                "word_synapses splits topic neurons, which need document_slots as well; found None."
            )
        if self.splits and replace(self, word_synapses=None, document_slots=None) != Constraints():
            raise ParameterError(
                "word_synapses splits topic neurons, whose parts must keep equal copies: no "
                f"rounding, no lost packets, nothing dead; found {self!r}. Prune instead."
            )

    @property
    def splits(self) -> bool:
        """Whether topic neurons are split, for a limit of their fan-in."""
        return self.word_synapses is not None

    @property
    def fan_in(self) -> dict[str, int]:
        """Most synapses of a neuron, by layer; empty: no limit."""
        limits = {"alpha": self.word_synapses, "beta": self.document_slots}
        return {layer: most for layer, most in limits.items() if most is not None}

    @property
    def gates(self) -> bool:
        """Whether a topic neuron may miss an input and must then stay out of the race."""
        return self.packet_loss > 0 or self.dead_synapses > 0 or self.dead_neurons > 0

    @property
    def quantum(self) -> float:
        """Distance of two levels."""
        if self.weight_bits is None:
            raise ParameterError("weights have levels only where weight_bits is set; it is None.")
        low, high = self.weight_range
        return (high - low) / (2**self.weight_bits - 1)

    @property
    def levels(self) -> np.ndarray:
        """(quantum, lowest, highest), float array [3]: two chips with the same hold the same."""
        return np.array([self.quantum, *self.weight_range], np.float64)

    def stored(self, state: dict[str, np.ndarray]) -> bool:
        """Whether the weights of a network's state are already as this chip stores them."""
        return self.weight_bits is None or np.array_equal(state.get("levels", []), self.levels)

    @property
    def n_chips(self) -> int:
        return 1 if self.chip_of_topic is None else max(self.chip_of_topic) + 1

    def chips(self, n_topics: int) -> np.ndarray:
        """Chip of each topic, int32 array [topic]."""
        if self.chip_of_topic is None:
            return np.zeros(n_topics, np.int32)
        if len(self.chip_of_topic) != n_topics:
            raise ParameterError(
                f"chip_of_topic must have one entry per topic ({n_topics}); found "
                f"{len(self.chip_of_topic)}."
            )
        return np.array(self.chip_of_topic, np.int32)

    def rounded(self, M: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Weights as the chip stores them, rounded at random without bias."""
        if self.weight_bits is None:
            return M
        q, (low, high) = self.quantum, self.weight_range
        level = np.floor((M - low) / q + rng.random(np.shape(M)))
        return np.clip(low + q * level, low, high)

    def living(self, layer: str, n_sources: int, n_topics: int) -> np.ndarray:
        """Which synapses work, bool array [source, topic]; the same in both twins.

        Parameters
        ----------
        layer : {"alpha", "beta"}
        n_sources, n_topics : int
            Words or documents, and topics.
        """
        key = [self.seed, ("alpha", "beta").index(layer)]
        neurons = np.random.default_rng([self.seed, 2]).random(n_topics) >= self.dead_neurons
        if not neurons.any():
            raise ParameterError(
                f"dead_neurons={self.dead_neurons} leaves none of the {n_topics} topic neurons "
                "alive; lower it or choose another seed."
            )
        synapses = np.random.default_rng(key).random((n_sources, n_topics)) >= self.dead_synapses
        return synapses & neurons


def _are_numbers(values: object) -> bool:
    return isinstance(values, (tuple, list, np.ndarray)) and all(
        isinstance(value, (int, float, np.number)) for value in values
    )


def _is_whole(value: Any) -> bool:
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return is_integer and bool(value >= 0)


NO_CONSTRAINTS = Constraints()


def n_blocks_for(n_words: int, word_synapses: int) -> int:
    """B, the fewest blocks of at most n words; a topic neuron hears one part for each.

    Raises
    ------
    FanInError
        B > n, so that a topic neuron would hear more parts than a part hears words.
    """
    n_blocks = -(-n_words // word_synapses)
    if n_blocks > word_synapses:
        raise FanInError(
            f"{n_words} words in blocks of {word_synapses} make {n_blocks} parts a topic, but its "
            f"neuron can hear {word_synapses}; word_synapses must be at least "
            f"{math.ceil(math.sqrt(n_words))} for so many words."
        )
    return n_blocks


def heard_tokens(
    alive__alpha: np.ndarray, alive__beta: np.ndarray, words: np.ndarray, docs: np.ndarray
) -> np.ndarray:
    """Which tokens reach a topic neuron by both synapses, bool array [token].

    The others have no winner and change nothing: the controller gives them up. (Presented, they
    would wait for ever.)
    """
    heard = np.empty(len(words), bool)
    for start in range(0, len(words), 2**16):
        part = slice(start, start + 2**16)
        heard[part] = (alive__alpha[words[part]] & alive__beta[docs[part]]).any(axis=1)
    return heard


def spread_winners(winners: np.ndarray, heard: np.ndarray) -> np.ndarray:
    """Winners of all tokens, int32 array [token]: `NO_WINNER` for those that nobody hears."""
    if len(winners) == len(heard):
        return winners
    spread = np.full(len(heard), NO_WINNER, np.int32)
    spread[heard] = winners
    return spread
