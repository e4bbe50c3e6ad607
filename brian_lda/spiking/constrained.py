"""The limits of `brian_lda.constraints` as Brian code that any network takes on."""

from __future__ import annotations

import numpy as np
from brian2 import Clock, Network, NeuronGroup, linked_var

from brian_lda.constraints import Constraints

NO_CONSTRAINTS = Constraints()

CHIP_MODEL = """
arrived__alpha : integer                 # the word's packet has reached this chip in this tick
arrived__beta : integer                  # ... the document's
informed : integer                       # ... the winner's, if there is one
loss : 1 (shared, constant)
"""
CHIP_DRAWS = """
arrived__alpha = int(rand() >= loss)
arrived__beta = int(rand() >= loss)
informed = int(rand() >= loss)
"""
LISTENING_TOPIC = """
n_inputs : integer                       # 2 when word and document have been heard
"""
TOPIC_ON_CHIP = """
chip : integer
arrived__alpha : integer (linked)        # of its chip
arrived__beta : integer (linked)
informed : integer (linked)
gets__alpha : integer                    # the neuron's own copies, which its synapses can read
gets__beta : integer
gets_winner : integer
"""
FROM_CHIP = """
gets__alpha = arrived__alpha
gets__beta = arrived__beta
gets_winner = informed
"""
# The winner hears itself; the others learn from the token if its packets reached their chip.
LEARNS = "learns = accepted*int(h + gets_winner*gets__beta > 0) : integer\n"
LEARNS_ALWAYS = "learns = accepted : integer\n"

ROUNDED_SYNAPSE = """
quantum : 1 (shared, constant)
lowest : 1 (shared, constant)
highest : 1 (shared, constant)
"""


def topic_equations(constraints: Constraints) -> str:
    """What topic neurons need beside their own model; `learns` switches document synapses."""
    model = LISTENING_TOPIC if constraints.gates else ""
    if constraints.packet_loss > 0:
        return model + TOPIC_ON_CHIP + LEARNS
    return model + LEARNS_ALWAYS


def add_chips(
    network: Network, topics: NeuronGroup, constraints: Constraints, clock: Clock
) -> None:
    """Packets that are lost: one neuron per chip draws what reaches it, in every tick."""
    if constraints.packet_loss == 0:
        return
    chips = NeuronGroup(constraints.n_chips, CHIP_MODEL, clock=clock, name="chips")
    chips.run_regularly(CHIP_DRAWS, when="start", clock=clock, name="chips_draw")
    for name in ("arrived__alpha", "arrived__beta", "informed"):
        setattr(topics, name, linked_var(chips, name, index="chip"))
    topics.run_regularly(FROM_CHIP, when="start", order=1, clock=clock, name="topics_from_chip")
    network.add(chips)


def synapse_equations(constraints: Constraints) -> str:
    """What every synapse onto a topic neuron needs beside its own model."""
    model = "\nalive : integer\n" if constraints.gates else ""
    return model + (ROUNDED_SYNAPSE if constraints.weight_bits is not None else "")


def heard(constraints: Constraints, layer: str) -> str:
    """Statement of a synapse that delivers: its neuron has heard one more input."""
    if not constraints.gates:
        return ""
    arrived = f"*gets__{layer}_post" if constraints.packet_loss > 0 else ""
    return f"\nn_inputs_post += alive{arrived}"


def rounding(constraints: Constraints, weight: str, offset: str) -> str:
    """Statement that rounds a weight which has just been written.

    Parameters
    ----------
    constraints : Constraints
    weight : str
        Variable of the synapse.
    offset : str
        a in M = weight - a; "0" where the weight is M itself.
    """
    if constraints.weight_bits is None:
        return ""
    level = f"quantum*floor({offset}/quantum)"
    rounded = f"lowest + quantum*floor(({weight} - lowest)/quantum + rand())"
    return f"\n{weight} = clip({rounded}, lowest + {level}, highest + {level})"


def constraint_values(
    constraints: Constraints, n_words: int, n_docs: int, n_topics: int
) -> dict[str, np.ndarray | float]:
    """Values of the variables above, by "object.variable"."""
    values: dict[str, np.ndarray | float] = {}
    for layer, n_sources in (("alpha", n_words), ("beta", n_docs)):
        if constraints.gates:
            alive = constraints.living(layer, n_sources, n_topics)
            values[f"{layer}.alive"] = alive.astype(np.int32).ravel()
        if constraints.weight_bits is not None:
            values[f"{layer}.quantum"] = constraints.quantum
            values[f"{layer}.lowest"], values[f"{layer}.highest"] = constraints.weight_range
    if constraints.packet_loss > 0:
        values["chips.loss"] = constraints.packet_loss
        values["topics.chip"] = constraints.chips(n_topics)
    return values


def structure(constraints: Constraints) -> dict[str, object]:
    """What the equations depend on; everything else is set when a run starts."""
    return {
        "gates": constraints.gates,
        "loses_packets": constraints.packet_loss > 0,
        "n_chips": constraints.n_chips if constraints.packet_loss > 0 else 1,
        "rounds": constraints.weight_bits is not None,
    }
