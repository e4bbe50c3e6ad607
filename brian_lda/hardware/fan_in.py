"""Three ways to meet a limit of fan-in, side by side: whole (it does not), pruned, split.

*Pruned* (`brian_lda.hardware.pruning`) drops word synapses, and with them quality. *Split*
(`models/ed_spike_lda_split.py`) drops nothing: topic neuron z becomes B = V/n parts, each with the
n words of a block and m documents. What it costs instead, for a token:

neurons          K B parts, and K topic neurons that hear their parts. All parts of a block have the
                 same inputs, so that they share the axons of a core.
memory           the word weights of the whole network; B copies of the m document weights
synaptic events  K each: the word to the parts of its block, the document to those parts and to the
                 topic neurons, the parts to their topics; K - 1, the inhibition of the others; and
                 B, the winner to its own parts
plastic changes  one word synapse; offset, share of the prior and one document weight in each of the
                 winner's B parts
packets          between chips: those of the whole network, if the parts of a topic share a chip
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from brian_lda.hardware.energy import TokenEvents, energy_per_token
from brian_lda.hardware.plan import NEURON_STATE_BYTES, NetworkPlan
from brian_lda.hardware.profiles import ChipProfile
from brian_lda.hardware.rules import topics_per_core


@dataclass(frozen=True)
class FanInForm:
    """What a network of one form needs; bytes and cores on all chips together.

    Attributes
    ----------
    form : {"whole", "pruned", "split"}
    neurons, largest_fan_in : int
        Largest fan-in: words and documents, and the one shared synapse (pruned); of a part one from
        its topic, of a topic neuron one from each part (split).
    cores : int or None
        None where the chip's cores are not known.
    memory_bytes : float
    synaptic_events, plastic_writes, packets : float
        For a token; packets between chips.
    dynamic_joules : float or None
        For a token, as far as the profile knows the figures.
    drops : int
        Word synapses that do not exist.
    """

    form: str
    neurons: int
    largest_fan_in: int
    cores: int | None
    memory_bytes: float
    synaptic_events: float
    plastic_writes: float
    packets: float
    dynamic_joules: float | None
    drops: int


def fan_in_forms(
    plan: NetworkPlan, chip: ChipProfile, n_chips: int, pruned: TokenEvents
) -> list[FanInForm]:
    """The whole, the pruned and the split network of a plan.

    Parameters
    ----------
    plan : NetworkPlan
        Of a pruned ed-SpikeLDA: n, m.
    chip : ChipProfile
    n_chips : int
    pruned : TokenEvents
        Of the pruned network, as placed on the chips.
    """
    K, V, n, m = plan.n_topics, plan.n_words, plan.n, plan.m
    B = math.ceil(V / n)  # parts of a topic, which its neuron hears
    whole_packets = 3.0 * (n_chips - 1)  # word, document and winner enter every other chip
    hops = whole_packets * (pruned.hops / pruned.packets if pruned.packets else 0.0)
    whole = TokenEvents(3.0 * K - 1, 3.0 + K, float(V + K), K, whole_packets, hops)
    events = 5.0 * K - 1 + B
    split = TokenEvents(events, 1.0 + 3 * B, float(V + K), K * (B + 1), whole_packets, hops)
    per_core = chip.get("neurons_per_core") or K
    block_cores = B * math.ceil(K / per_core) + math.ceil((K + n_chips) / per_core)
    pruned_cores = math.ceil((K + n_chips) / max(topics_per_core(plan, chip), 1))
    known = chip.get("cores") is not None

    def form(
        name: str, events: TokenEvents, fan_in: int, cores: int | None, synapses: int
    ) -> FanInForm:
        energy = energy_per_token(events, chip, n_chips)
        return FanInForm(
            form=name,
            neurons=events.neurons + n_chips,  # each chip has one that inhibits
            largest_fan_in=fan_in,
            cores=cores if known else None,
            memory_bytes=synapses * plan.synapse_bytes + events.neurons * NEURON_STATE_BYTES,
            synaptic_events=events.synaptic,
            plastic_writes=events.plastic_gauge,
            packets=events.packets,
            dynamic_joules=energy.dynamic_total,
            drops=K * (V - n) if name == "pruned" else 0,
        )

    return [
        form("whole", whole, V + m, None, K * (V + m)),
        form("pruned", pruned, plan.fan_in, pruned_cores, K * plan.fan_in),
        form("split", split, max(n, B) + m + 1, block_cores, K * (V + B * m)),
    ]
