"""Memory of past assignments, for the networks with a negative phase (Alg. 2 and 4).

Every token has a neuron of its own, which fires when the token is presented, and one synapse onto
the phase controller. The synapse holds the token's topic z as its state:

==========  ======================================================================================
recall      (early in the tick) the synapse tells the controller z'; topic neuron z' fires
            [line 4 of Alg. 2] and, because the controller's global signal `negative` is on, the
            synapses from the clamped neurons onto z' lose a count
store       (late in the tick) the synapse takes over the winner
==========  ======================================================================================

One spike a token and O(1) work, whatever the size of the corpus. z = `NEVER_ASSIGNED` is a token
that has no topic yet: then no neuron fires and nothing is taken away.
"""

from __future__ import annotations

from brian2 import NeuronGroup, Synapses, linked_var, ms

from brian_lda.errors import ParameterError
from brian_lda.spiking.circuit import Circuit

NEVER_ASSIGNED = -1

CONTROLLER_MODEL = """
z_old : integer                          # z', the last assignment of the clamped token
z_new : integer                          # the winner's; z' as long as there is none
"""
RECALLED_TOPIC = """
z_old : integer (linked)
negative : integer (linked)              # the global phase signal: 1 in a token's first tick
h_old : integer                          # 1 for the neuron that fires in the negative phase
"""
RECALL = "h_old = int(i == z_old)*negative"
RECALL_EVENT = {"recalled": "h_old > 0"}


def add_assignment_memory(circuit: Circuit, recall: str) -> None:
    """Add the synapses of the token neurons and the phase controller.

    Parameters
    ----------
    circuit : Circuit
        Its topic neurons have the equations `RECALLED_TOPIC` and the event `RECALL_EVENT`, and its
        tokens neurons of their own (`remembers_tokens`).
    recall : str
        What topic neurons do in the slot "recall"; begins with `RECALL`.
    """
    if circuit.constraints.packet_loss > 0:
        raise ParameterError(
            "packet_loss must be 0 in a network with a negative phase: a phase that is missed "
            "leaves a count behind for ever. Use EdSpikeLDA or EdSpikePLSI."
        )
    clock = circuit.clock
    controller = NeuronGroup(1, CONTROLLER_MODEL, clock=clock, name="controller")
    memory = Synapses(
        circuit.layers["tokens"],
        controller,
        "z : integer",
        on_pre={"recall": "z_old_post = z\nz_new_post = z", "store": "z = z_new_post"},
        delay={"recall": 0 * ms, "store": 0 * ms},
        clock=clock,
        name="memory",
    )
    memory.connect()
    memory.recall.when, memory.store.when, memory.store.order = "recall", "learn", 2
    outcome = Synapses(
        circuit.topics,
        controller,
        on_pre={"tell": "z_new_post = i"},  # the winner's index
        delay={"tell": 0 * ms},
        clock=clock,
        name="outcome",
    )
    outcome.connect()
    outcome.tell.when, outcome.tell.order = "learn", 1
    topics = circuit.topics
    topics.z_old = linked_var(controller, "z_old")
    topics.negative = linked_var(circuit.pacer, "is_new")
    topics.run_regularly(recall, when="recall", order=1, clock=clock, name="topics_recall")
    topics.set_event_schedule("recalled", when="recall", order=2)
    circuit.network.add(controller, memory, outcome)
