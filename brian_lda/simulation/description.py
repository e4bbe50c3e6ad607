"""A network as it will run, told by its Brian objects: layers, pathways, what a tick does.

Nothing here is written about a network: what it says is read from the objects that run.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from brian2 import EventMonitor, NeuronGroup, Synapses
from brian2.core.base import BrianObject
from brian2.groups.neurongroup import Resetter, Thresholder
from brian2.synapses.synapses import SynapticPathway

from brian_lda.algorithms import SPIKING, find_algorithm
from brian_lda.circuit.circuit import Circuit, Sizes
from brian_lda.circuit.clamped_layer import ClampedLayer, TokenFeed
from brian_lda.circuit.latency import make_inhibition
from brian_lda.simulation.simulator import brian_device


@dataclass(frozen=True)
class Layer:
    """A NeuronGroup: its name, size, equations, and the condition of each of its events."""

    name: str
    n_neurons: int
    is_clamped: bool
    equations: tuple[str, ...]
    events: dict[str, str]

    @property
    def neurons(self) -> str:
        """How many neurons there are, and whether tokens clamp them, in words."""
        kind = ", clamped to the token" if self.is_clamped else ""
        return f"{self.n_neurons} neuron{'s' * (self.n_neurons != 1)}{kind}"

    @property
    def told_events(self) -> list[tuple[str, str]]:
        """Events and their conditions; a clamped layer's condition is never tested."""
        if self.is_clamped:
            return [("spike", "the neuron that the token names")]
        return list(self.events.items())


@dataclass(frozen=True)
class Pathway:
    """What an event of one layer does through synapses: name, layer, event, statements."""

    name: str
    layer: str
    event: str
    code: tuple[str, ...]


@dataclass(frozen=True)
class Connection:
    """Synapses from one layer to another, with their equations and pathways."""

    name: str
    source: str
    target: str
    equations: tuple[str, ...]
    pathways: tuple[Pathway, ...]


@dataclass(frozen=True)
class Step:
    """One thing that happens in a tick: phase, order within it, object, statements."""

    phase: str
    order: int
    name: str
    code: tuple[str, ...]


@dataclass(frozen=True)
class NetworkDescription:
    """What there is to say of a network.

    Attributes
    ----------
    title : str
    layers : tuple of Layer
    connections : tuple of Connection
    schedule : tuple of str
        Phases of a tick, in their order.
    steps : tuple of Step
        What runs in a tick, in its order.
    """

    title: str
    layers: tuple[Layer, ...]
    connections: tuple[Connection, ...]
    schedule: tuple[str, ...]
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = [self.title, "", "LAYERS"]
        for layer in self.layers:
            lines += ["", f"  {layer.name}: {layer.neurons}"]
            lines += [f"      {line}" for line in layer.equations]
            lines += [f"      event {name}: {condition}" for name, condition in layer.told_events]
        lines += ["", "PATHWAYS"]
        for connection in self.connections:
            ends = f"{connection.source} -> {connection.target}"
            lines += ["", f"  {connection.name}: {ends}"]
            lines += [f"      {line}" for line in connection.equations]
            for pathway in connection.pathways:
                lines.append(f"    {pathway.name}, at event {pathway.event} of {pathway.layer}:")
                lines += [f"      {line}" for line in pathway.code]
        lines += ["", f"A TICK: {' -> '.join(self.schedule)}", ""]
        for step in self.steps:
            first, *rest = step.code
            lines.append(f"  {step.phase:10s} {step.order:3d}  {step.name:31s} {first}")
            lines += [f"{'':50s}{line}" for line in rest]
        return "\n".join(lines)


def describe_algorithm(
    name: str, inhibition: str | None = None, *, n_words: int, n_docs: int, n_topics: int
) -> NetworkDescription:
    """The network of an algorithm, wired for these sizes and described.

    Parameters
    ----------
    name : str
        For example "ed_spike_lda".
    inhibition : str, optional
        "race" (default) or "poisson".
    n_words, n_docs, n_topics : int
        V, D, K.
    """
    algorithm, layer = find_algorithm(name, SPIKING), make_inhibition(inhibition)
    sizes = Sizes(n_words, n_docs, n_topics, n_tokens=10 * n_docs)
    with brian_device("runtime", "numpy"):  # nothing runs: Brian need not compile anything
        circuit = algorithm.load_network().wire(sizes, layer)
    where = f"{algorithm.load_network().__name__.removeprefix('brian_lda.').replace('.', '/')}.py"
    return describe(circuit, f"{algorithm.title} ({where}), {type(layer).__name__}")


def describe(circuit: Circuit, title: str) -> NetworkDescription:
    """Read a network's description from its Brian objects.

    Parameters
    ----------
    circuit : Circuit
        As a file of `models/` wires it.
    title : str
    """
    objects = sorted(circuit.network.objects, key=lambda brian_object: brian_object.name)
    groups = [found for found in objects if isinstance(found, NeuronGroup)]
    synapses = [found for found in objects if isinstance(found, Synapses)]
    first = ("words", "documents", "tokens", "topics", "inhibition")
    groups.sort(key=lambda group: first.index(group.name) if group.name in first else len(first))
    return NetworkDescription(
        title=title,
        layers=tuple(_layer(group) for group in groups),
        connections=tuple(_connection(found) for found in synapses),
        schedule=tuple(circuit.network.schedule),
        steps=tuple(
            step for found in circuit.network.sorted_objects if (step := _step(found)) is not None
        ),
    )


def _layer(group: NeuronGroup) -> Layer:
    return Layer(
        group.name,
        len(group),
        isinstance(group, ClampedLayer),
        _equations(group),
        dict(group.events),
    )


def _equations(group: NeuronGroup | Synapses) -> tuple[str, ...]:
    """As Brian keeps them, defined variables before those that are only set."""
    defined = [str(equation) for equation in group.equations.values() if equation.expr is not None]
    kept = [str(equation) for equation in group.equations.values() if equation.expr is None]
    return tuple(" ".join(text.split()) for text in (*sorted(kept), *sorted(defined)))


def _connection(synapses: Synapses) -> Connection:
    source, target = synapses.source.name, synapses.target.name
    pathways = []
    for pathway in synapses._pathways:  # Brian has no public list of them
        layer = source if pathway.prepost == "pre" else target
        code = _statements(pathway.code)
        pathways.append(Pathway(pathway.objname, layer, pathway.event, code))
    return Connection(synapses.name, source, target, _equations(synapses), tuple(pathways))


def _step(brian_object: BrianObject) -> Step | None:
    """What an object does in a tick; None: nothing of its own."""
    if isinstance(brian_object, TokenFeed):
        code: tuple[str, ...] = ("the neuron that the token names fires",)
    elif isinstance(brian_object, Thresholder):
        event = brian_object.event
        code = (f"event {event} if {brian_object.group.events[event]}",)
    elif isinstance(brian_object, Resetter):
        code = _statements(brian_object.group.event_codes[brian_object.event])
    elif isinstance(brian_object, EventMonitor):
        code = (f"event {brian_object.event} of {brian_object.source.name} is recorded",)
    elif isinstance(brian_object, SynapticPathway):
        code = _statements(brian_object.code)
    else:
        code = _statements(getattr(brian_object, "abstract_code", None) or "")
    if not code:
        return None
    return Step(brian_object.when, brian_object.order, brian_object.name, code)


def _statements(code: str) -> tuple[str, ...]:
    lines = textwrap.dedent(str(code)).splitlines()
    return tuple(line.rstrip() for line in lines if line.strip())
