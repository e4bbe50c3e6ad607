"""Global signals of the networks that update M^alpha once per mini-batch."""

from __future__ import annotations

from brian2 import Equations, NeuronGroup, linked_var

from brian_lda.circuit.circuit import Circuit

IN_BATCH = Equations("""
    counting : integer (linked)   # the global signal of the T kept sweeps
    n_winners : integer (linked)
    batch_end : integer (linked)  # number of the topic spike that ends the mini-batch
    """)
BATCH_EVENT = {"end_of_batch": "n_winners == batch_end and accepted > 0"}  # once


def connect_batch(net: Circuit) -> None:
    """Add the neuron that tells topic neurons when to count and when the mini-batch ends.

    The topic neurons have the equations `IN_BATCH` and the event `BATCH_EVENT`. The event comes in
    the slot "end", order 0, after the last token's winner.
    """
    batch = NeuronGroup(
        1,
        """
        token : integer (linked)
        n_winners_before : integer (linked)
        n_tokens : integer (linked)
        first_counted : integer (shared)   # first token of the sweeps that are counted
        tokens_to_come : integer (shared)  # of this mini-batch, in later runs
        counting : integer (shared)
        batch_end : integer
        """,
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}batch",
    )
    for name in ("token", "n_winners_before", "n_tokens"):
        setattr(batch, name, linked_var(net.pacer, name))
    batch.run_regularly(
        "counting = int(token >= first_counted)", when="start", order=1, name=f"{batch.name}_signal"
    )
    net.topics.counting = linked_var(batch, "counting")
    net.topics.batch_end = linked_var(batch, "batch_end")
    net.topics.n_winners = linked_var(net.winners, "N")
    net.topics.set_event_schedule("end_of_batch", when="end", order=0)
    net.first_values.append(("batch.batch_end", "n_winners_before + n_tokens + tokens_to_come"))
    net.add(batch=batch)
