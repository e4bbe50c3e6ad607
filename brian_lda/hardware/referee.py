r"""Fewer packets between chips for the same law: a referee tells nobody but the winner.

The spike of a winner usually goes to all chips (`packets`). What does a chip need to know of a
token that another chip has won? That it began: its word and its document have sent packets. That it
is over: its topic neurons stop racing, M^beta of the document decays, Delta counts one more token.
It does not need to know who won. And a token is over when the next one begins. So:

referee
    One chip hears the first spikes of all topic neurons (a packet each, from another chip) and
    answers the winner alone (a packet). It is the inhibitory neuron.
new token
    The document's packet, one a token and chip, ends the token before: losers then make the updates
    that need no winner, and race again. Nothing is read in between, so that all weights are what
    they would have been.
clocked time
    A chip holds word and document until the next token comes: one packet each a token instead of
    one in every tick. After a tie the referee tells all chips to halve the excitability; a chip
    that hears nothing at the end of a window knows that all were silent. With a fixed `rate` it
    says nothing of ties either.

Tokens come from outside, as they do without a referee; that the source learns when a token is over
is no packet between chips in either count.

With one tick a token this is

.. math:: \text{words} + (C - 1) + 2\,(1 - q)

packets on C chips, q the share of tokens that the referee's own topics win, in place of
words + 2 (C - 1). `tests/integration/test_hardware_referee.py` replays a chip from these packets
alone. It holds for the event-driven networks. Where an update needs the spikes of other winners, as
the copies of a split network do, all must be told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brian_lda.circuit.inhibition import Race
from brian_lda.errors import ParameterError
from brian_lda.hardware.packets import recorded_spikes, sent_by_documents, sent_by_words
from brian_lda.simulation.recording import EVERYTHING, Recording
from brian_lda.simulation.spiking_network import SpikingNetwork

# What to record in clocked time; with `Race` `packets.PACKETS` is enough.
ATTEMPTS = Recording(("word", "document", "attempt"), windows=EVERYTHING)


@dataclass(frozen=True)
class RefereedPackets:
    """What a run would have sent between chips with a referee.

    Attributes
    ----------
    n_tokens : int
    word, document : int array [source chip, target chip]
        Packets of the tokens, which chips hold.
    first_spike : int array [source chip, target chip]
        From topic neurons to the referee.
    verdict : int array [source chip, target chip]
        From the referee: to the winner; to all after a tie.
    """

    n_tokens: int
    word: np.ndarray
    document: np.ndarray
    first_spike: np.ndarray
    verdict: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        """Packets per token, float array [source chip, target chip]."""
        return (self.word + self.document + self.first_spike + self.verdict) / self.n_tokens


def count_refereed_packets(
    network: SpikingNetwork, chip_of_topic: np.ndarray, n_chips: int, referee: int = 0
) -> RefereedPackets:
    """Count the packets of the latest recorded run, had there been a referee.

    Parameters
    ----------
    network : SpikingNetwork
        After `present(..., record=PACKETS)`, in clocked time `record=ATTEMPTS`.
    chip_of_topic : int array [topic]
    n_chips : int
    referee : int
        Its chip.
    """
    inhibition, chip_of_topic = network.inhibition, np.asarray(chip_of_topic)
    if getattr(inhibition, "normalised", False):
        raise ParameterError(
            f"a referee needs topic neurons that fire by their own input; found {inhibition}, "
            "which sums over all of them in every tick."
        )
    is_clocked = not isinstance(inhibition, Race)
    layers = ("word", "document", "attempt") if is_clocked else ("word", "document")
    spikes = recorded_spikes(network, layers)
    ends = _ticks(spikes.time["topic"], inhibition.dt)
    held = {}
    for layer, size in (("word", network.sizes.n_words), ("document", network.sizes.n_docs)):
        token = np.searchsorted(ends, _ticks(spikes.time[layer], inhibition.dt))
        first = np.unique(token, return_index=True)[1]
        held[layer] = np.bincount(spikes.index[layer][first], minlength=size)
    winners = spikes.index["topic"]
    attempts, n_ties = winners, 0
    if is_clocked:
        attempts = spikes.index["attempt"]
        if inhibition.kept:  # the excitability follows ties
            at = _ticks(spikes.time["attempt"], inhibition.dt)
            n_ties = _ties(at, ends, getattr(inhibition, "last_tick", 0) + 1)
    first_spike, verdict = np.zeros((2, n_chips, n_chips), np.int64)
    first_spike[:, referee] = np.bincount(chip_of_topic[attempts], minlength=n_chips)
    verdict[referee] = np.bincount(chip_of_topic[winners], minlength=n_chips) + n_ties
    for packets in (first_spike, verdict):
        packets[referee, referee] = 0
    return RefereedPackets(
        n_tokens=len(winners),
        word=sent_by_words(network, held["word"], chip_of_topic, n_chips),
        document=sent_by_documents(held["document"], n_chips),
        first_spike=first_spike,
        verdict=verdict,
    )


def _ties(attempts: np.ndarray, ends: np.ndarray, window: int) -> int:
    """Windows with more than one attempt; the first of a token begins after the last winner.

    Parameters
    ----------
    attempts, ends : int array
        Ticks of the attempts and of the winners.
    window : int
        Ticks.
    """
    token = np.searchsorted(ends, attempts)
    begins = np.append(0, ends[:-1] + 1)
    nth = (attempts - begins[token]) // window
    _, n_attempts = np.unique(np.stack([token, nth]), axis=1, return_counts=True)
    return int((n_attempts > 1).sum())


def _ticks(times: np.ndarray, dt: float) -> np.ndarray:
    return np.rint(times / dt).astype(np.int64)
