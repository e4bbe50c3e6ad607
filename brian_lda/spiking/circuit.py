"""The circuit that all networks of the paper share (Fig. 1): clamp, excite, fire, inhibit, learn.

A tick has phases, in this order (`Network.schedule`):

=============  ==================================================================================
start          the pacer points the clamped layers at the current token; inhibition falls silent
clamp          the word and the document neuron of the token fire (and the token's own neuron, in
               networks that remember assignments)
recall         negative phase of those networks: the topic neuron of the last assignment fires
excite         their spikes add M^alpha and M^beta to the topic neurons' inputs u
groups         topic neurons fire
inhibit        the inhibitory neuron hears them
thresholds     the winner's spike passes; it is recorded
learn          synapses change; every right-hand side reads the values before the token
resets         the winner's own counters advance
=============  ==================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from brian2 import Clock, Network, NeuronGroup, SpikeMonitor, Synapses, linked_var, ms
from brian2.core.variables import Variable
from brian2.groups.group import Group

from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError
from brian_lda.spiking.clamp import ClampedLayer
from brian_lda.spiking.constrained import (
    NO_CONSTRAINTS,
    add_chips,
    heard,
    rounding,
    synapse_equations,
    topic_equations,
)
from brian_lda.spiking.inhibition import Inhibition, add_topic_layer
from brian_lda.spiking.recording import add_recorders

SCHEDULE = ["start", "clamp", "recall", "excite", "groups", "inhibit", "thresholds", "learn"]
SCHEDULE += ["resets", "end"]

PACER_MODEL = """
token : integer (shared)                 # position in the token sequence
is_new : integer (shared)                # 1 in the first tick of a token
n_winners : integer (linked)             # topic spikes so far: one per finished token
n_winners_before : integer (shared)      # ... before this run
n_tokens : integer (shared)              # length of this run's sequence
random_seed : integer (shared)
tick : second (shared)                   # length of a tick
"""

PACE = """
is_new = int(token != n_winners - n_winners_before)
token = n_winners - n_winners_before     # self-paced: a token ends with its winner's spike
"""
LAYERS = ("words", "documents", "tokens")
FirstValue = tuple[Group, str, str | int]  # object, variable, expression or number


@dataclass(frozen=True)
class Shape:
    """Sizes that are compiled into a network.

    Attributes
    ----------
    n_words, n_docs, n_topics : int
        V, D, K.
    n_tokens : int
        Tokens whose assignment the network remembers; ed-SpikeLDA and others remember none.
    capacity : int
        Longest token sequence of one run; a run may be shorter.
    """

    n_words: int
    n_docs: int
    n_topics: int
    capacity: int = 2**20
    n_tokens: int = 1

    def __post_init__(self) -> None:
        for name in ("n_words", "n_docs", "n_topics", "capacity", "n_tokens"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise ParameterError(f"{name} must be an integer of at least 1; found {value!r}.")


@dataclass
class Circuit:
    """A built network and how its values are set and read.

    Attributes
    ----------
    network : Network
    layers : dict of str to ClampedLayer
        "words", "documents" and, in networks that remember assignments, "tokens".
    topics, pacer : NeuronGroup
    winners : SpikeMonitor
        Every topic spike: `i` is the winner, `t` its time.
    outputs : list of str
        "object.variable" of what a run returns besides the winners.
    first_values : list of FirstValue
        Evaluated at the start of a run, when all values have been set.
    """

    network: Network
    clock: Clock
    shape: Shape
    layers: dict[str, ClampedLayer]
    topics: NeuronGroup
    pacer: NeuronGroup
    winners: SpikeMonitor
    constraints: Constraints = NO_CONSTRAINTS
    outputs: list[str] = field(default_factory=list)
    first_values: list[FirstValue] = field(default_factory=list)

    def connect(
        self,
        layer: ClampedLayer,
        *,
        name: str,
        model: str,
        on_pre: dict[str, str],
        on_post: dict[str, str] | None = None,
        on_event: dict[str, str] | None = None,
        when: dict[str, str],
        weight: str,
        written_by: tuple[str, ...],
        offset: str = "0",
        namespace: dict[str, object] | None = None,
    ) -> Synapses:
        """All-to-all synapses from a clamped layer to the topic neurons.

        Parameters
        ----------
        layer : ClampedLayer
        name : str
        model : str
            Equations of the synapse.
        on_pre, on_post : dict of str
            Code of each pathway, by its name.
        on_event : dict of str, optional
            Event that triggers a pathway, where it is not the spike.
        when : dict of str
            Slot of the schedule for each pathway.
        weight : str
            The plastic weight, which a chip keeps with its own precision.
        written_by : tuple of str
            Pathways that change it.
        offset : str
            a if the weight is M + a.
        namespace : dict, optional
            Functions that the code calls.
        """
        on_pre, on_post = dict(on_pre), dict(on_post or {})
        on_pre["excite"] += heard(self.constraints, name)
        for code in (on_pre, on_post):
            for pathway in set(written_by) & set(code):
                code[pathway] += rounding(self.constraints, weight, offset)
        synapses = Synapses(
            layer,
            self.topics,
            model + synapse_equations(self.constraints),
            on_pre=on_pre,
            on_post=on_post,
            on_event=on_event or "spike",
            delay={pathway: 0 * ms for pathway in (*on_pre, *on_post)},
            clock=self.clock,
            namespace=namespace or {},
            name=name,
        )
        synapses.connect()
        for pathway, slot in when.items():
            getattr(synapses, pathway).when = slot
        self.network.add(synapses)
        return synapses

    @property
    def words(self) -> ClampedLayer:
        return self.layers["words"]

    @property
    def documents(self) -> ClampedLayer:
        return self.layers["documents"]

    def variable(self, path: str) -> Variable:
        """The Brian variable "object.variable"."""
        owner, name = path.split(".")
        return self.network[owner].variables[name]


def build_circuit(
    shape: Shape,
    inhibition: Inhibition,
    *,
    topic_model: str = "",
    topic_events: dict[str, str] | None = None,
    after_spike: str = "",
    pacer_model: str = "",
    pace: str = "",
    word_state: tuple[str, ...] = (),
    document_state: tuple[str, ...] = (),
    document_shared: tuple[str, ...] = (),
    after_token: str = "",
    remembers_tokens: bool = False,
    constraints: Constraints = NO_CONSTRAINTS,
    record: tuple[str, ...] = (),
) -> Circuit:
    """Layers, inhibition and pacing; the models add the synapses.

    Parameters
    ----------
    shape : Shape
    inhibition : Race or Poisson
    topic_model, after_spike : str
        Further equations of the topic neuron, and what the winner does after learning.
    topic_events : dict of str, optional
        Further events that topic neurons emit: {name: condition}.
    pacer_model, pace : str
        Further numbers of the pacer, and what it does with them at the start of a tick.
    word_state, document_state, document_shared : tuple of str
        Numbers kept by each word neuron, by each document neuron, and by the document layer.
    after_token : str
        What the clamped document neuron does after learning (in every tick of the token).
    remembers_tokens : bool
        Whether every token has a neuron of its own (`brian_lda.spiking.assignments`).
    constraints : Constraints
        Limits of the chips (`brian_lda.constraints`).
    record : tuple of str
        Layers to record besides the winners (`brian_lda.spiking.recording`).
    """
    clock = Clock(dt=1 * ms, name="clock_tick")  # each run sets it to the pacer's `tick`
    network = Network(name="circuit")
    network.schedule = SCHEDULE
    topics = add_topic_layer(
        network,
        inhibition,
        shape.n_topics,
        clock,
        model=topic_equations(constraints) + topic_model,
        gated=constraints.gates,
        events=topic_events,
        after_spike=after_spike,
    )
    add_chips(network, topics, constraints, clock)
    winners = SpikeMonitor(topics, name="winners")
    cursors = [f"cursor__{name}" for name in LAYERS]
    pacer_model = PACER_MODEL + pacer_model + "\n".join(f"{c} : integer (shared)" for c in cursors)
    pacer = NeuronGroup(1, pacer_model, clock=clock, name="pacer")
    pacer.n_winners = linked_var(winners, "N")
    pace = "\n".join([PACE, *(f"{cursor} = token" for cursor in cursors), pace])
    pacer.run_regularly(pace, when="start", clock=clock, name="pacer_pace")
    words = ClampedLayer(shape.n_words, shape.capacity, pacer, name="words", state=word_state)
    documents = ClampedLayer(
        shape.n_docs,
        shape.capacity,
        pacer,
        name="documents",
        state=document_state,
        shared=document_shared,
        links={name: network["inhibition"] for name in inhibition.links},
        after_spike=after_token,
    )
    layers = {"words": words, "documents": documents}
    if remembers_tokens:
        layers["tokens"] = ClampedLayer(shape.n_tokens, shape.capacity, pacer, name="tokens")
    network.add(winners, pacer, *layers.values())
    circuit = Circuit(network, clock, shape, layers, topics, pacer, winners, constraints)
    circuit.first_values.append((pacer, "token", -1))  # before the first token
    circuit.outputs += add_recorders(circuit, record)
    return circuit
