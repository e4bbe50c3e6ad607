"""What chips take away from a network, as further Brian objects beside those of its model.

The networks in `models/` are written without limits; the limits of `brian_lda.constraints` and a
pruned network's shared synapses are put on top, so that every network takes on all of them:

=============  ==================================================================================
`lesions`      dead synapses: what passes them silences the topic neuron for this token
`chips`        lost packets: one neuron per chip draws which packets do not reach its topic neurons
`rounding`     weights of few bits: a write is followed by rounding, at random and without bias
`sharing`      fan-in pruning: the one synapse that stands for all other words
               (`brian_lda.circuit.pruned`)
=============  ==================================================================================

A topic neuron with rate 0 takes no part in the race; if none takes part, the token stays clamped
and is tried again. In clocked time packets are drawn anew in every tick, so that a token may be
heard by other neurons in its second tick than in its first. A chip that misses the document or the
inhibitory spike does not learn from the token (the winner hears itself).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from brian2 import NeuronGroup, Synapses

from brian_lda.circuit.circuit import Circuit, Sizes, Values, no_delay
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.pruned import add_shared_synapses, shared_values
from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError

LAYERS = ("alpha", "beta")


def add_limits(net: Circuit, constraints: Constraints, kept: Sequence[Kept]) -> None:
    """Add the limits that `constraints` and pruning (`net.sizes.pruned`) impose; none by default.

    Parameters
    ----------
    net : Circuit
    constraints : Constraints
    kept : sequence of Kept
        The model's declaration: which weights are stored, and which pathways write them.
    """
    if net.sizes.pruned is not None:
        add_shared_synapses(net)
    if constraints.gates:
        for layer in LAYERS:
            _add_lesions(net, layer)
    if constraints.packet_loss > 0:
        if hasattr(net, "tokens") or hasattr(net, "batch"):
            raise ParameterError(
                "packet_loss must be 0 in a network with a negative phase or delayed updates: what "
                "a chip misses there is never made good. Use EdSpikeLDA or EdSpikePLSI."
            )
        _add_chips(net, constraints.n_chips)
    if constraints.weight_bits is not None:
        # A count that was rounded down may be less than the 1 that is taken away from it.
        for order in (1, 7):  # after the word's input and after the document's
            net.topics.run_regularly(
                "rate = int(rate > 0)*abs(rate)",  # +0: a rate of -0 would fire at once
                when="excite",
                order=order,
                name=f"{net.topics.name}_no_less_than_0_{order}",
            )
        for variable in kept:
            if variable.written_by:
                _add_rounding(net, variable)


def _add_lesions(net: Circuit, layer: str) -> None:
    lesions = Synapses(
        net.words if layer == "alpha" else net.documents,
        net.topics,
        "dead : integer",
        on_pre={"miss": "rate_post *= 1 - dead"},
        delay=no_delay("miss"),
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}lesions__{layer}",
    )
    _connect_like(layer, net, lesions)
    lesions.miss.when, lesions.miss.order = "excite", 8
    net.add(**{f"lesions__{layer}": lesions})


def _connect_like(layer: str, net: Circuit, synapses: Synapses) -> None:
    """Connect where the network has a synapse of its own."""
    if layer == "alpha":
        net.connect_words(synapses)
    else:
        synapses.connect()


def _add_chips(net: Circuit, n_chips: int) -> None:
    chips = NeuronGroup(
        n_chips,
        """
        loss : 1 (shared, constant)            # probability that a packet is lost
        word : 1                               # this tick's random number for the word's packet
        document : 1
        winner : 1
        """,
        events={
            "word_lost": "word < loss",
            "document_lost": "document < loss",
            "winner_lost": "winner < loss",
        },
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}chips",
    )
    chips.run_regularly(
        """
        word = rand()
        document = rand()
        winner = rand()
        """,
        when="start",
        name=f"{chips.name}_draw",
    )
    for event in chips.events:
        chips.set_event_schedule(event, when="clamp", order=1)
    arrival = Synapses(
        chips,
        net.topics,
        "here : integer                        # 1 for the topic neurons of this chip",
        on_pre={
            "without_word": "rate_post *= 1 - here",
            "without_document": "rate_post *= 1 - here",
            "untaught": "accepted_post *= 1 - here*(1 - h_post)",  # no document: nothing to learn
            "uninformed": "accepted_post *= 1 - here*(1 - h_post)",
        },
        on_event={
            "without_word": "word_lost",
            "without_document": "document_lost",
            "untaught": "document_lost",
            "uninformed": "winner_lost",
        },
        delay=no_delay("without_word", "without_document", "untaught", "uninformed"),
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}arrival",
    )
    arrival.connect()
    for pathway in (arrival.without_word, arrival.without_document):
        pathway.when, pathway.order = "excite", 9
    for pathway in (arrival.untaught, arrival.uninformed):
        pathway.when, pathway.order = "inhibit", 9
    net.add(chips=chips, arrival=arrival)


def _add_rounding(net: Circuit, variable: Kept) -> None:
    """Round a weight to its levels whenever it was written.

    The b bits hold its logarithm. Where the weight is w in exp M = w g, they hold log w, and the
    range moves with the neuron's -log g by whole levels.
    """
    owner, name = variable.path.split(".")
    synapses = getattr(net, owner)
    pathways = {name: getattr(synapses, name) for name in variable.written_by}
    code = ROUND_LOG if variable.in_logs else ROUND_GAUGED if variable.gauge else ROUND
    rounding = Synapses(
        synapses.source,
        synapses.target,
        """
        quantum : 1 (shared, constant)         # distance of two levels
        lowest : 1 (shared, constant)
        highest : 1 (shared, constant)
        """,
        on_pre={path: code for path, written in pathways.items() if written.prepost == "pre"},
        on_post={path: code for path, written in pathways.items() if written.prepost == "post"},
        on_event={path: written.event for path, written in pathways.items()},
        delay=no_delay(*pathways),
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}rounding__{owner}",
    )
    _connect_like(owner, net, rounding)
    rounding.variables.add_reference("weight", synapses, name)
    for path, written in pathways.items():
        own = getattr(rounding, path)
        own.when, own.order = written.when, written.order + 20
    net.add(**{f"rounding__{owner}": rounding})


ROUND = """
level = lowest + quantum*floor((log(clip(weight, exp(lowest), inf)) - lowest)/quantum + rand())
weight = exp(clip(level, lowest, highest))
"""
ROUND_LOG = """
level = lowest + quantum*floor((weight - lowest)/quantum + rand())
weight = clip(level, lowest, highest)
"""
ROUND_GAUGED = """
level = lowest + quantum*floor((log(weight) - lowest)/quantum + rand())
moved = quantum*floor(-log(g_post)/quantum)
weight = exp(clip(level, lowest + moved, highest + moved))
"""


def limit_values(constraints: Constraints, kept: Sequence[Kept], sizes: Sizes) -> Values:
    """Values of the variables above, by "object.variable", for the compiled sizes.

    A larger compiled network has the same dead synapses: they are drawn row by row.
    """
    values: dict[str, np.ndarray | float] = {}
    K, pruned = sizes.n_topics, sizes.pruned
    if constraints.gates:
        for layer, n_sources in zip(LAYERS, (sizes.n_words, sizes.n_docs), strict=True):
            dead = (~constraints.living(layer, n_sources, K)).astype(np.int32)
            if layer == "alpha" and pruned is not None:
                dead = dead[pruned.private.T]
            values[f"lesions__{layer}.dead"] = dead.ravel()
    if constraints.packet_loss > 0:
        chips = constraints.chips(K)
        values["chips.loss"] = constraints.packet_loss
        here = chips == np.arange(constraints.n_chips)[:, None]
        values["arrival.here"] = here.astype(np.int32).ravel()
    if constraints.weight_bits is not None:
        for variable in kept:
            if variable.written_by:
                owner = f"rounding__{variable.path.split('.')[0]}"
                values[f"{owner}.quantum"] = constraints.quantum
                values[f"{owner}.lowest"], values[f"{owner}.highest"] = constraints.weight_range
            if variable.gauge:  # a neuron's offset is folded back by whole levels
                values["topics.grain"] = constraints.quantum
    return values if pruned is None else {**values, **shared_values(pruned)}
