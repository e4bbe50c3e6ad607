"""A placement recomputed from nothing but its arrays: every limit, and what crosses chips.

Written independently of the partitioner (it imports nothing of it), so that a wrong placement
cannot vouch for itself.

What is counted, per token shown, is *multicast packets between chips*. A multicast packet that must
reach several chips is counted once for each chip that it enters, however many neurons it excites
there. Conventions:

word
    The source of word w sits on its *home chip*: the one with the most topics for which w is
    private (the lowest number among equals). The packet enters every other chip with such a topic:
    chips(w) - 1 packets. A word that is private nowhere sends none: its topics receive the shared
    weight as a constant bias, with the document's packet (`brian_lda.hardware.pruning`). In an
    unpruned network each word is private everywhere: chips - 1.
document
    Every topic neuron has a synapse for it. Home chip: d mod chips. It enters all other chips.
winner
    The spike of the winning topic enters all other chips: there it ends the race (inhibition) and
    tells the document synapses that the token is over. Its word synapse is local. With a *referee*
    only the winner is told (`brian_lda.hardware.referee`): two packets, from its chip and to it,
    unless it is on the referee's, which is the chip that wins most often.

Weights never cross, because synapses stand with their neuron and each update reads only what is
there; that is for the spiking network to prove, from its own objects.

Chips lie on a square mesh, chip c in row c // width and column c % width; hops are counted along
rows and columns from the source to each chip entered (an upper bound for a multicast tree).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from brian_lda.errors import PlacementError
from brian_lda.hardware.plan import NEURON_STATE_BYTES
from brian_lda.hardware.profiles import ChipProfile


@dataclass(frozen=True)
class Traffic:
    """Packets between chips per token; see the head of this file.

    Attributes
    ----------
    word, document, winner : float
        Multicast packets per token.
    with_referee : float
        All packets per token, if only the winner is told.
    point_to_point : float
        Packets if each topic neuron on another chip got its own.
    matrix : float array [source chip, target chip]
        Multicast packets per token; sums to `packets`.
    mean_hops, max_hops : float
        Over the packets that cross.
    """

    word: float
    document: float
    winner: float
    with_referee: float
    point_to_point: float
    matrix: np.ndarray
    mean_hops: float
    max_hops: int

    @property
    def packets(self) -> float:
        return self.word + self.document + self.winner


@dataclass(frozen=True)
class ChipLoad:
    """What one chip holds, each figure (used, maximum or None where the limit is not known)."""

    chip: int
    topics: int
    largest_fan_in: tuple[int, int | None]
    synapses: tuple[int, int | None]
    memory_bytes: tuple[float, int | None]
    routing_entries: tuple[int, int | None]

    @property
    def violations(self) -> list[str]:
        limits = {
            "fan-in": self.largest_fan_in,
            "synapses": self.synapses,
            "memory": self.memory_bytes,
            "routing entries": self.routing_entries,
        }
        return [
            f"chip {self.chip}: {name} {used:,.0f} of {most:,.0f}"
            for name, (used, most) in limits.items()
            if most is not None and used > most
        ]


def check_placement(
    chip_of_topic: np.ndarray,
    n_chips: int,
    private: np.ndarray,
    docs_on_chip: int,
    chip: ChipProfile,
    *,
    synapse_bytes: float,
) -> list[ChipLoad]:
    """Load of each chip, from the placement alone.

    Parameters
    ----------
    chip_of_topic : int array [topic]
    n_chips : int
    private : bool array [topic, word]
        Word synapses that exist.
    docs_on_chip : int
        m.
    chip : ChipProfile
    synapse_bytes : float
        Of one synapse with its state.

    Raises
    ------
    PlacementError
        The arrays do not fit each other, a chip number is out of range, or a chip is empty.
    """
    chip_of_topic = _checked(chip_of_topic, n_chips, private)
    n_topics, n_words = private.shape
    loads = []
    for c in range(n_chips):
        topics = np.flatnonzero(chip_of_topic == c)
        own_words = private[topics].sum(axis=1)
        tied = own_words < n_words  # these have the one synapse of all other words
        fan_in = own_words + tied + docs_on_chip
        words_here = int(private[topics].any(axis=0).sum())
        entries = words_here + docs_on_chip + n_topics if n_chips > 1 else 0
        synapses = int(fan_in.sum())
        memory = synapses * synapse_bytes + len(topics) * NEURON_STATE_BYTES
        loads.append(
            ChipLoad(
                chip=c,
                topics=len(topics),
                largest_fan_in=(int(fan_in.max()), chip.get("fan_in")),
                synapses=(synapses, chip.get("synapses")),
                memory_bytes=(memory, chip.get("memory_bytes")),
                routing_entries=(entries, chip.get("routing_entries")),
            )
        )
    return loads


def count_traffic(
    chip_of_topic: np.ndarray,
    n_chips: int,
    private: np.ndarray,
    word_counts: np.ndarray,
    *,
    doc_lengths: np.ndarray | None = None,
    topic_counts: np.ndarray | None = None,
) -> Traffic:
    """Packets between chips per token.

    Parameters
    ----------
    chip_of_topic : int array [topic]
    n_chips : int
    private : bool array [topic, word]
    word_counts : int array [word]
        Tokens of each word.
    doc_lengths : int array [doc], optional
        Tokens of each document; evenly spread if not given. Decides who sends, not how much.
    topic_counts : array [topic], optional
        How often each topic wins, likewise.
    """
    chip_of_topic = _checked(chip_of_topic, n_chips, private)
    word_counts = np.asarray(word_counts, np.float64)
    n_tokens = word_counts.sum()
    if word_counts.shape != (private.shape[1],) or not n_tokens > 0:
        raise PlacementError(
            f"word_counts must hold a count for each of {private.shape[1]} words, not all 0; found "
            f"shape {word_counts.shape} with sum {n_tokens:g}."
        )
    here = np.zeros((n_chips, private.shape[1]), np.int64)  # connected topics per chip and word
    for z, c in enumerate(chip_of_topic):
        here[c] += private[z]
    home = here.argmax(axis=0)
    matrix = np.zeros((n_chips, n_chips))
    for target in range(n_chips):
        entered = (here[target] > 0) & (home != target)
        rate = np.bincount(home[entered], word_counts[entered], minlength=n_chips)
        matrix[:, target] += rate / n_tokens
    word = matrix.sum()
    at_home = here[home, np.arange(len(home))]
    to_single_neurons = (word_counts * (here.sum(axis=0) - at_home)).sum() / n_tokens
    topics_here = np.bincount(chip_of_topic, minlength=n_chips)
    n_others = len(chip_of_topic) - topics_here  # topic neurons on the other chips

    documents = np.arange(0 if doc_lengths is None else len(doc_lengths)) % n_chips
    doc_share = _share_of_chips(documents, doc_lengths, n_chips)
    winner_share = _share_of_chips(chip_of_topic, topic_counts, n_chips)
    for share in (doc_share, winner_share):
        matrix += share[:, None] * (1.0 - np.eye(n_chips))
        to_single_neurons += float(share @ n_others)
    document, winner = (float(each.sum() * (n_chips - 1)) for each in (doc_share, winner_share))
    hops = _mesh_hops(n_chips)
    total = matrix.sum()
    return Traffic(
        word=float(word),
        document=document,
        winner=winner,
        with_referee=float(word + document + 2.0 * (1.0 - winner_share.max())),
        point_to_point=float(to_single_neurons),
        matrix=matrix,
        mean_hops=float((matrix * hops).sum() / total) if total > 0 else 0.0,
        max_hops=int(hops[matrix > 0].max(initial=0)),
    )


def _share_of_chips(chip: np.ndarray, counts: np.ndarray | None, n_chips: int) -> np.ndarray:
    """Of all spikes, those of the sources on each chip; even if it is not known."""
    if counts is None or not np.sum(counts) > 0:
        return np.full(n_chips, 1.0 / n_chips)
    return np.bincount(chip, counts, minlength=n_chips) / np.sum(counts)


def _checked(chip_of_topic: np.ndarray, n_chips: int, private: np.ndarray) -> np.ndarray:
    chip_of_topic = np.asarray(chip_of_topic)
    if chip_of_topic.shape != private.shape[:1] or chip_of_topic.dtype.kind not in "iu":
        raise PlacementError(
            f"a placement names one chip for each of {len(private)} topics; found "
            f"{chip_of_topic.dtype} of shape {chip_of_topic.shape}."
        )
    if chip_of_topic.min() < 0 or chip_of_topic.max() >= n_chips:
        raise PlacementError(
            f"chips must lie in 0..{n_chips - 1}; found {chip_of_topic.min()}.."
            f"{chip_of_topic.max()}."
        )
    empty = np.setdiff1d(np.arange(n_chips), chip_of_topic)
    if len(empty):
        raise PlacementError(f"chip {empty[0]} holds no topic; use fewer chips.")
    return chip_of_topic


def _mesh_hops(n_chips: int) -> np.ndarray:
    """Distance of each pair of chips on the mesh; int array [chip, chip]."""
    row, column = np.divmod(np.arange(n_chips), math.ceil(math.sqrt(n_chips)))
    return np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
