"""What each statement of a Brian network reads and writes, and on which chip it runs.

The network is cut as finely as it can be: topic neuron z and every synapse onto it live on a chip
of their own, each other group (words, documents, inhibition, pacer, ...) lives elsewhere. A synapse
onto such a group lives with its target, and the feed of a clamped layer with its layer. `DataFlow`
takes the code that Brian would compile (pathways, thresholds, resets, regular code, summed
variables, monitors). It resolves each name through subexpressions and linked variables to the array
that holds the value, and to those elements of it that are meant: a linked variable with an index
can be another topic's. The conclusions are drawn in `brian_lda.hardware.locality`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from brian2 import BrianObject, Clock, Network, Synapses
from brian2.codegen.runtime.numpy_rt import NumpyCodeObject
from brian2.core.functions import Function
from brian2.core.variables import Subexpression, Variable
from brian2.groups.group import CodeRunner, Group
from brian2.groups.neurongroup import Thresholder
from brian2.groups.subgroup import Subgroup
from brian2.monitors import EventMonitor, StateMonitor
from brian2.parsing.statements import parse_statement
from brian2.synapses.synapses import SummedVariableUpdater, SynapticPathway
from brian2.utils.stringtools import get_identifiers

from brian_lda.circuit.clamped_layer import ClampedLayer, TokenFeed
from brian_lda.errors import UnsupportedNetworkError

TOPIC_CHIP = "chip of the topic"
OTHER_TOPIC = "chip of another topic"
Key = int | tuple[str, str]


@dataclass(frozen=True)
class Access:
    """One value that a statement reads or writes.

    Attributes
    ----------
    key : int or tuple of str
        Identifies the array, or the local name of a code block.
    variable : Variable or None
        None for a local name.
    name : str
        "group.variable".
    home : str
        Where the value lives.
    away : float
        Share of its elements that live in another home than the statement that wants them.
    is_spike : bool
        Reached through the flag that the topic neuron's own event condition tests.
    """

    key: Key
    variable: Variable | None
    name: str
    home: str
    away: float
    is_spike: bool = False

    @property
    def owner(self) -> Group | None:
        return None if self.variable is None else self.variable.owner


@dataclass(frozen=True)
class Flow:
    """One statement.

    Attributes
    ----------
    runner, statement : str
        Brian object that runs it, and its text.
    group : Group
        Of which each element runs it.
    home : str
        Where it runs.
    target : Access
    reads : list of Access
    draws : bool
        Whether it calls rand() or the like.
    arrives_from : str or None
        Home of the neurons whose spikes trigger it, for an `on_pre` pathway.
    is_observer : bool
        A monitor: no part of the network.
    times : float
        Elements that run it for one token, in one tick.
    """

    runner: str
    statement: str
    group: Group
    home: str
    target: Access
    reads: list[Access]
    draws: bool
    arrives_from: str | None
    is_observer: bool
    times: float


class DataFlow:
    """The statements of a network.

    Parameters
    ----------
    network : Network
        Built under Brian's runtime device; nothing is compiled or run.
    topics : Group
    first_values : sequence of (str, str or int)
        "object.variable", as the network names the object, and the expression that it is set to at
        the start of every run.
    """

    def __init__(
        self, network: Network, topics: Group, first_values: Sequence[tuple[str, str | int]] = ()
    ) -> None:
        self.topics = topics
        self._topic_of_synapse: dict[str, np.ndarray] = {}
        self._spike_flags = {
            name
            for condition in topics.events.values()
            for name in get_identifiers(condition) & set(topics.variables)
            if np.issubdtype(topics.variables[name].dtype, np.integer)
        }
        objects = [part for obj in network.objects for part in _parts(obj)]
        objects.sort(key=lambda obj: obj.name)
        unknown = [obj.name for obj in objects if not isinstance(obj, (CodeRunner, Group))]
        if unknown:
            raise UnsupportedNetworkError(
                f"The network holds {unknown[0]!r}, Python code whose reads and writes cannot be "
                "followed; write it as run_regularly code, or run it between two calls."
            )
        self.runners = [obj for obj in objects if isinstance(obj, CodeRunner)]
        self.flows = [flow for runner in self.runners for flow in self._flows_of(runner)]
        for path, value in first_values:
            owner, name = path.split(".")
            self.flows += self._flows("first values", network[owner], f"{name} = {value}", times=0)
        self.written = {flow.target.key for flow in self.flows}

    def spread(self, start: set[Key], carries: Callable[[Flow, Access], bool]) -> set[Key]:
        """Everything that is computed from `start`, as far as a read carries it."""
        reached, before = set(start), -1
        while len(reached) > before:
            before = len(reached)
            reached |= {
                flow.target.key
                for flow in self.flows
                if any(read.key in reached and carries(flow, read) for read in flow.reads)
            }
        return reached

    def home(self, group: Group) -> tuple[str, np.ndarray | None]:
        """Name of the home, and for what lives on the topics' chips the topic of each element."""
        if isinstance(group, Subgroup):
            name, topic = self.home(group.source)
            return name, None if topic is None else topic[group.start : group.stop]
        if group.name == self.topics.name:
            return TOPIC_CHIP, np.arange(len(self.topics))
        if isinstance(group, TokenFeed):
            return self.home(group.variables["_spikespace"].owner)
        if isinstance(group, Synapses):
            target = group.target.source if isinstance(group.target, Subgroup) else group.target
            name, topic = self.home(target)  # synapses index the whole group, not the subgroup
            if topic is not None and group.name not in self._topic_of_synapse:
                index = group.variables["_synaptic_post"].get_value()
                self._topic_of_synapse[group.name] = topic[index]
            return name, None if topic is None else self._topic_of_synapse[group.name]
        return group.name, None

    def _access(self, group: Group, name: str, is_spike: bool = False) -> Access:
        """The array behind a name in a group's code, and whether its elements live elsewhere."""
        variable, index = group.variables[name], group.variables.indices[name]
        owner, full_name = variable.owner, f"{variable.owner.name}.{variable.name}"
        if isinstance(owner, Clock):
            return Access(id(variable), variable, full_name, "clock", 0.0)
        (here, own), (there, topic) = self.home(group), self.home(owner)
        if topic is not None and variable.scalar:  # one number for all topics belongs to none
            there, topic = f"{owner.name} (shared)", None
        if own is None or topic is None:
            away = float(here != there)
        else:
            if index == "0":
                element = np.zeros(1, int)
            elif index == "_idx":
                element = np.arange(len(own))
            else:
                element = np.asarray(group.variables[index].get_value())
            away = float(np.mean(topic[element] != own))
            there = OTHER_TOPIC if away else there
        return Access(id(variable), variable, full_name, there, away, is_spike)

    def _flows_of(self, runner: CodeRunner) -> Iterator[Flow]:
        """The statements of one Brian object, as it would compile them."""
        runner.update_abstract_code(run_namespace={})
        group, code = runner.group, runner.abstract_code
        is_observer = isinstance(runner, (EventMonitor, StateMonitor))
        if is_observer:
            code = "\n".join([code.replace("_to_record_", ""), "N += 1"])
        elif isinstance(runner, SummedVariableUpdater):
            code = f"{runner.target_varname} = {runner.expression.code}"
        elif runner.template == "spikegenerator":  # reads by its template, not by its code
            used = NumpyCodeObject.templater.spikegenerator.variables & set(group.variables)
            code = f"_spikes = {' + '.join(sorted(used - {'_spikespace'}))}"
        times, arrives_from = float(len(group)), None
        if isinstance(runner, SynapticPathway):
            times *= self._share_that_fires(runner.source, runner.event)
            arrives_from = self.home(runner.source)[0] if runner.prepost == "pre" else None
        elif hasattr(runner, "event") and not isinstance(runner, Thresholder):
            times *= self._share_that_fires(group, runner.event)
        yield from self._flows(runner.name, group, code, times, arrives_from, is_observer)

    def _share_that_fires(self, source: Group, event: str) -> float:
        """Of a clamped layer and of the winners one neuron a token; of the others at most all."""
        is_one_hot = isinstance(source, ClampedLayer) or source.name == self.topics.name
        return 1 / len(source) if is_one_hot and event == "spike" else 1.0

    def _flows(
        self,
        runner: str,
        group: Group,
        code: str,
        times: float,
        arrives_from: str | None = None,
        is_observer: bool = False,
    ) -> Iterator[Flow]:
        lines = [line.strip() for line in re.split(r"[;\n]", code)]  # as Brian splits them
        parsed = [parse_statement(line) for line in lines if line and not line.startswith("#")]
        here = self.home(group)[0]
        local = {
            name: Access((runner, name), None, f"{runner}.{name}", here, 0.0)
            for name, *_ in parsed
            if name not in group.variables
        }
        for name, operation, expression, _ in parsed:
            target = local.get(name) or self._access(group, name)
            reads, draws = self._reads(group, expression, local)
            yield Flow(
                runner=runner,
                statement=f"{name} {operation} {expression}",
                group=group,
                home=here,
                target=target,
                reads=reads,
                draws=draws,
                arrives_from=arrives_from,
                is_observer=is_observer,
                times=times,
            )

    def _reads(
        self, group: Group, expression: str, local: dict[str, Access], is_spike: bool = False
    ) -> tuple[list[Access], bool]:
        """The arrays behind an expression, and whether it draws random numbers."""
        reads, draws = [], False
        for name in sorted(get_identifiers(expression)):
            if name in local:
                reads.append(local[name])
            elif name not in group.variables:
                function = group.resolve_all({name}, {}, user_identifiers=set())[name]
                draws |= isinstance(function, Function) and not function.stateless
            else:
                known_as = self._name_in_topics(group, name)
                is_flag = is_spike or known_as in self._spike_flags
                variable = group.variables[name]
                if not isinstance(variable, Subexpression):
                    reads.append(self._access(group, name, is_flag))
                    continue
                if known_as is None:
                    inner = self._reads(group, variable.expr, local, is_flag)
                else:  # on the same chip, where it may be made of spike flags in its turn
                    expression = self.topics.variables[known_as].expr
                    inner = self._reads(self.topics, expression, {}, is_flag)
                reads, draws = reads + inner[0], draws or inner[1]
        return reads, draws

    def _name_in_topics(self, group: Group, name: str) -> str | None:
        """What the topic neuron of an element calls the variable, if it is one of its own."""
        if group.name == self.topics.name:
            return name
        is_of_target = group.variables.indices[name] == "_postsynaptic_idx"
        is_of_topic = is_of_target and group.target.name == self.topics.name
        return name.removesuffix("_post") if is_of_topic else None


def _parts(obj: BrianObject) -> Iterator[BrianObject]:
    yield obj
    for part in obj.contained_objects:
        yield from _parts(part)
