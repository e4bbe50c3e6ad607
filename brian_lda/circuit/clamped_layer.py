r"""Observable layers: one-hot clamped word and document neurons (Alg. 1, line 2).

.. math:: x^\alpha_{w'} = I(w = w'), \qquad x^\beta_{d'} = I(d = d')

A `ClampedLayer` is a NeuronGroup of which one neuron fires in every tick, until a topic neuron has
answered; then the next token is clamped. Its equations, links and reset are ordinary ones. Only its
threshold is not: testing all V or D neurons in each tick would cost more than everything else, so a
`TokenFeed` reads the neuron that fires from a list, in O(1).

Everything that reaches into Brian's code templates is in this file. Tested with Brian 2.9 (Python
3.11) and 2.11 (Python 3.13), inside Python and compiled.
"""

from __future__ import annotations

import numpy as np
from brian2 import NeuronGroup
from brian2.core.variables import Variables
from brian2.groups.group import CodeRunner, Group

PACER_MODEL = """
token : integer (shared)                 # position in the token sequence
clamped : integer (shared)               # 0 when all tokens have been shown
is_new : integer (shared)                # 1 in the first tick of a token
n_winners : integer (linked)             # topic spikes so far: one per finished token
n_winners_before : integer (shared)      # ... before this sequence
n_tokens : integer (shared)              # length of the sequence
tick : second (shared)                   # length of a compiled program's tick
cursor__words : integer (shared)         # where each layer's feed stands
cursor__documents : integer (shared)
cursor__tokens : integer (shared)
cursor__axons : integer (shared)
"""
PACE = """
is_new = int(token != n_winners - n_winners_before)
token = n_winners - n_winners_before     # self-paced: a token ends with its winner's spike
clamped = int(token < n_tokens)
cursor__words = clamped*token + (1 - clamped)*capacity
cursor__documents = cursor__words
cursor__tokens = cursor__words
cursor__axons = cursor__words
"""


def make_pacer(capacity: int, **arguments: object) -> NeuronGroup:
    """The neuron that says which token is clamped; its `n_winners` is linked later.

    Parameters
    ----------
    capacity : int
        Longest token sequence.
    **arguments
        clock and name.
    """
    pacer = NeuronGroup(1, PACER_MODEL, namespace={"capacity": capacity}, **arguments)
    pacer.run_regularly(PACE, when="start", name=f"{pacer.name}_pace")
    return pacer


class ClampedLayer(NeuronGroup):
    """Layer of input neurons of which the one that the current token names fires in each tick.

    Parameters
    ----------
    n_neurons : int
        V for the word layer, D for the document layer.
    model : str
        Equations of the neurons, as of any NeuronGroup.
    pacer : NeuronGroup
        Made by `make_pacer`.
    capacity : int
        Longest token sequence.
    layer : {"words", "documents", "tokens", "axons"}
        Which of the pacer's cursors this layer's feed moves.
    reset : str, optional
        Statements for the neuron that fires, at the end of the tick.
    name : str
    """

    def __init__(
        self,
        n_neurons: int,
        model: str,
        pacer: NeuronGroup,
        capacity: int,
        *,
        layer: str,
        reset: str | None = None,
        name: str,
    ) -> None:
        # The condition is never tested: the feed takes the place of the thresholder.
        super().__init__(
            n_neurons,
            model,
            events={"spike": "False"},
            clock=pacer.clock,
            namespace={},
            name=name,
        )
        if reset is not None:
            self.run_on_event("spike", reset, when="resets")
        self.contained_objects.remove(self.thresholder["spike"])
        self.add_attribute("feed")
        self.feed = TokenFeed(self, pacer, capacity, layer)
        self.thresholder["spike"] = self.feed
        self.contained_objects.append(self.feed)


class TokenFeed(Group, CodeRunner):
    """Makes one neuron of a layer fire: entry `token` of the list `neuron_index`.

    Brian's SpikeGeneratorGroup emits the spikes whose time bin has come. The feed uses the same
    code template, but its time bins are token numbers: the *i*-th spike belongs to token *i*, and
    "now" is the pacer's token instead of the clock's time step. The pacer winds the cursor back to
    `token` in every tick, which is what keeps a neuron clamped. Hence a token may last for any
    number of ticks, and nothing has to be known about the times in advance.
    """

    add_to_magic_network = False

    def __init__(self, layer: NeuronGroup, pacer: NeuronGroup, capacity: int, cursor: str) -> None:
        Group.__init__(self, clock=pacer.clock, when="clamp", name=f"{layer.name}_feed")
        self.variables = Variables(self)
        self.variables.add_constant("N", value=len(layer))
        self.variables.add_reference("_spikespace", layer)
        self.variables.add_reference("t_in_timesteps", pacer, "token")
        self.variables.add_reference("_lastindex", pacer, f"cursor__{cursor}")
        self.variables.add_arange("_timebins", capacity, index="_timebins")
        self.variables.add_array("neuron_index", size=capacity, dtype=np.int32, index="_timebins")
        self.variables.add_array(
            "_period_bins", size=1, dtype=np.int32, scalar=True, constant=True, read_only=True
        )
        self.namespace: dict[str, object] = {}
        self.codeobj_class = None
        CodeRunner.__init__(
            self, self, "spikegenerator", code="", clock=pacer.clock, when="clamp", name=None
        )
        self._enable_group_attributes()
