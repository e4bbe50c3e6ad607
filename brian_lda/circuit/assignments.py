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

from brian2 import Equations, NeuronGroup, Synapses, linked_var

from brian_lda.circuit.circuit import Circuit, no_delay

NEVER_ASSIGNED = -1

RECALLED = Equations("""
    z_old : integer (linked)
    negative : integer (linked)   # the global phase signal: 1 in a token's first tick
    h_old : integer               # 1 for the neuron that fires in the negative phase
    """)
RECALL_EVENT = {"recalled": "h_old > 0"}


def connect_memory(net: Circuit) -> None:
    """Add the token neurons, their synapses and the phase controller.

    The topic neurons have the equations `RECALLED` and the event `RECALL_EVENT`; the model says in
    the slot "recall", order 1, what they do: h_old = int(i == z_old)*negative, to begin with.
    """
    tokens = net.clamped_layer("tokens", net.sizes.n_tokens)
    controller = NeuronGroup(
        1,
        """
        z_old : integer           # z', the last assignment of the clamped token
        z_new : integer           # the winner's; z' as long as there is none
        """,
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}controller",
    )
    memory = Synapses(
        tokens,
        controller,
        "z : integer",
        on_pre={
            "recall": """
                z_old_post = z
                z_new_post = z
                """,
            "store": "z = z_new_post",
        },
        delay=no_delay("recall", "store"),
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}memory",
    )
    memory.connect()
    outcome = Synapses(
        net.topics,
        controller,
        on_pre={"tell": "z_new_post = i"},  # the winner's index
        delay=no_delay("tell"),
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}outcome",
    )
    outcome.connect()
    memory.recall.when, memory.recall.order = "recall", 0
    outcome.tell.when, outcome.tell.order = "learn", 1
    memory.store.when, memory.store.order = "learn", 2
    net.topics.z_old = linked_var(controller, "z_old")
    net.topics.negative = linked_var(net.pacer, "is_new")
    net.topics.set_event_schedule("recalled", when="recall", order=2)
    net.add(controller=controller, memory=memory, outcome=outcome)
