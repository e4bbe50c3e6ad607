"""Energy of a token as dynamic + static, with the evidence of each figure.

Events of one token (w, d) in a network with K topics, of which k_w keep a private synapse for w:

- synaptic events: k_w (word) + K (document) + K - 1 (by which the winner silences the others)
- plastic changes in the gauge form: 1 word synapse if private, the winner's a_z and s_z, K document
  synapses
- plastic changes in the paper's literal form: all n word synapses of the winner, K documents

Dynamic energy counts events; static power runs whether or not anything happens, so its share of a
token depends on how many tokens a second the chips are given. One number for both, such as
TrueNorth's 26 pJ per event, holds at one firing rate only (here it is shown beside, as quoted).
A packet between chips pays at each border that it crosses: 832 pJ on TrueNorth (26 pJ a bit, while
a synaptic event costs 2.3), 1 nJ on SpiNNaker. Loihi's `hop_joules` is a hop on the chip; what it
pays between chips is not known, and hops on a chip are not counted here (SANA-FE counts them).
The conventions are those of `brian_lda.hardware.account`.
A figure that the profile does not know is left out of the sum and named.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.hardware.profiles import ChipProfile

TOKENS_PER_SECOND = 1000.0  # an assumption: one token a millisecond tick


@dataclass(frozen=True)
class TokenEvents:
    """Events of the mean token, over all chips."""

    synaptic: float
    plastic_gauge: float
    plastic_literal: float
    neurons: int
    packets: float
    hops: float


@dataclass(frozen=True)
class Energy:
    """Joules per token.

    Attributes
    ----------
    dynamic : dict of str to (joules per token, evidence)
    static : (joules per token, evidence) or None
    static_watts : float or None
        Of all chips.
    missing : tuple of str
        Fields that the profile does not know: the sum is a lower bound.
    """

    dynamic: dict[str, tuple[float, str]]
    static: tuple[float, str] | None
    static_watts: float | None
    tokens_per_second: float
    missing: tuple[str, ...]

    @property
    def dynamic_total(self) -> float | None:
        """None where no dynamic figure is known."""
        return sum(joules for joules, _ in self.dynamic.values()) if self.dynamic else None

    @property
    def evidence(self) -> str:
        """Labels of everything that went in."""
        labels = {label for _, label in self.dynamic.values()}
        if self.static is not None:
            labels.add(self.static[1])
        return "".join(sorted(labels))


def token_events(
    private: np.ndarray, word_counts: np.ndarray, packets: float = 0.0, mean_hops: float = 0.0
) -> TokenEvents:
    """Events of the mean token.

    Parameters
    ----------
    private : bool array [topic, word]
    word_counts : int array [word]
    packets, mean_hops : float
        Between chips, per token and per packet (`brian_lda.hardware.checker.Traffic`).
    """
    n_topics = len(private)
    frequency = np.asarray(word_counts, np.float64) / np.sum(word_counts)
    connected = float(frequency @ private.sum(axis=0))  # mean k_w
    # The winner mostly keeps the words that it wins; P(private) <= 1, taken as 1.
    return TokenEvents(
        synaptic=connected + 2 * n_topics - 1.0,
        plastic_gauge=3.0 + n_topics,
        plastic_literal=float(private.sum(axis=1).mean()) + n_topics,
        neurons=n_topics,
        packets=packets,
        hops=packets * mean_hops,
    )


def energy_per_token(
    events: TokenEvents,
    chip: ChipProfile,
    n_chips: int,
    *,
    gauge: bool = True,
    tokens_per_second: float = TOKENS_PER_SECOND,
    busy_cores: int = 0,
) -> Energy:
    """Energy of the mean token on `n_chips` chips.

    Parameters
    ----------
    events : TokenEvents
    chip : ChipProfile
    n_chips : int
    gauge : bool
        Count plastic changes of the gauge form, or of the paper's literal one.
    tokens_per_second : float
        What static power is divided by.
    busy_cores : int
        On all chips together.
    """
    if not tokens_per_second > 0:
        raise ParameterError(f"tokens_per_second must be positive; found {tokens_per_second!r}.")
    plastic = events.plastic_gauge if gauge else events.plastic_literal
    counts = {
        "synaptic_event_joules": events.synaptic,
        "plastic_update_joules": plastic,
        "neuron_active_joules": 1.0,
        "neuron_idle_joules": events.neurons - 1.0,
        "packet_joules": events.hops,  # paid again at each border between chips
    }
    dynamic = {
        field: (count * chip.get(field), chip.evidence(field))
        for field, count in counts.items()
        if chip.get(field) is not None
    }
    missing = [field for field in counts if field not in dynamic]
    watts = chip.get("static_watts")
    static = None
    if watts is None:
        missing.append("static_watts")
    else:
        watts = n_chips * watts + busy_cores * (chip.get("busy_core_watts") or 0.0)
        static = (watts / tokens_per_second, chip.evidence("static_watts"))
    return Energy(dynamic, static, watts, tokens_per_second, tuple(missing))
