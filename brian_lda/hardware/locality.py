"""Locality audit (Remark 1): which values would a cut by topics send from chip to chip?

From the statements of the Brian objects themselves (`brian_lda.hardware.data_flow`, which says what
lives where) the audit follows two kinds of values:

private     what the network writes on a topic's chip (weights, eligibilities, rate, g, ...), and
            whatever is computed from these;
free        what the network never writes (set before a run, copied to every chip), and the clock.

A private value that is read or written across homes is a *parameter crossing*. What may cross:

spike       an event and its address. A condition may read anything on its own chip: what leaves is
            the event, and what its receivers do with it is counting.
spike time  one declared variable of the topic neuron, read by a pathway that its own event
            triggers: `latency` in a race, `arrival` in a window. In a race time is continuous and
            Brian's clock is not: the neuron draws the time of its spike, -log(rand)/rate, and the
            synapse reads as a number what a chip would see as the moment of arrival. Only a value
            that the neuron draws counts: one written without a random number of its own would be
            the rate in disguise. No other variable is known by its name.

            The inhibitory neuron spikes in its turn, and its spike carries its time, `t_first`, to
            the topic neurons. That is a spike time and nothing else, because t_first is computed
            from spike times alone: every statement that writes it reads spike times as they
            arrive, t_first itself and free values, and draws nothing. Any variable outside the
            topics' chips of which this holds may be read by the pathways that its own neuron's
            events trigger.
signal      a number computed from spikes, times and free values alone (`accepted`, `counting`, ...)
copy        the same, kept by a neuron that excites topics and hears none of them (n_beta, gain,
            ...): a chip can keep a copy from the spikes that reach it anyway.
noise       a random number that depends on nothing private (a packet that is lost on its way): a
            chip can draw it itself.

A second finding crosses nothing: a plastic update that reads what has been gathered from other
synapses of its topic (a sum over words). It stays on the chip, but Remark 1 asks for less: the
synapse, its two neurons, and of the other synapses only what the topic's spike tells.

Not seen: what the host does between runs, and what a user's function reads besides its arguments.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from brian2 import Network, Synapses
from brian2.monitors import EventMonitor
from brian2.synapses.synapses import SynapticPathway

from brian_lda.circuit.circuit import Circuit
from brian_lda.errors import UnsupportedNetworkError
from brian_lda.hardware.data_flow import OTHER_TOPIC, TOPIC_CHIP, Access, DataFlow, Flow, Key

PARAMETER_CROSSING = "parameter crossing"
NOT_SYNAPSE_LOCAL = "not synapse-local, stays on chip"
SPIKE_TIMES = ("latency", "arrival")  # of topic neurons: in a race, in a window


@dataclass(frozen=True)
class Crossing:
    """Something that may cross.

    Attributes
    ----------
    kind : {"spike", "spike time", "signal", "copy", "noise"}
    what : str
        "group.event" or "group.variable".
    source, target : str
        Home that it leaves and home that it reaches.
    reader : str
        Brian object that receives it.
    """

    kind: str
    what: str
    source: str
    target: str
    reader: str


@dataclass(frozen=True)
class Violation:
    """A statement that is not local.

    Attributes
    ----------
    kind : str
        `PARAMETER_CROSSING` or `NOT_SYNAPSE_LOCAL`.
    pathway, statement : str
        Brian object that runs the statement, and the statement.
    variable : str
        "group.variable" that holds the value.
    source, target : str
        Where the value lives and where it is wanted.
    bytes_per_token : int
        What would cross for one token of one tick, with each topic on its own chip.
    """

    kind: str
    pathway: str
    statement: str
    variable: str
    source: str
    target: str
    bytes_per_token: int = 0

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.pathway}: '{self.statement}' takes {self.variable} from "
            f"{self.source} to {self.target} ({self.bytes_per_token} bytes per token)"
        )


@dataclass(frozen=True)
class LocalityReport:
    """What crosses between the chips.

    Attributes
    ----------
    crossings : list of Crossing
    violations : list of Violation
    n_statements : int
        Statements that were followed.
    """

    crossings: list[Crossing]
    violations: list[Violation]
    n_statements: int

    @property
    def parameter_bytes(self) -> int:
        """Bytes of parameters per token; a value that several statements want crosses once."""
        sent: dict[tuple[str, str, str], int] = {}
        for violation in self.violations:
            route = (violation.variable, violation.source, violation.target)
            sent[route] = max(sent.get(route, 0), violation.bytes_per_token)
        return sum(sent.values())

    @property
    def copies(self) -> list[str]:
        """Variables of which every chip keeps a copy from the spikes alone."""
        return sorted({c.what for c in self.crossings if c.kind == "copy"})

    def __str__(self) -> str:
        lines = [
            f"{self.parameter_bytes} parameter bytes per token ({self.n_statements} statements)"
        ]
        lines += [str(violation) for violation in self.violations]
        lines += [f"{c.kind}: {c.what}, from {c.source} to {c.target}" for c in self.crossings]
        return "\n".join(dict.fromkeys(lines))


def audit(
    network: Circuit | Network,
    *,
    topics: str = "topics",
    spike_times: Collection[str] = SPIKE_TIMES,
) -> LocalityReport:
    """Follow every value through a network that is cut by topics.

    Parameters
    ----------
    network : Circuit or Network
        Built under Brian's runtime device (nothing is compiled or run). A circuit's first values
        are followed, too.
    topics : str
        Name of the topic neurons' group, without a circuit's prefix.
    spike_times : collection of str
        Their variables that stand for the moment of a spike, if they have any.
    """
    first_values: list[tuple[str, str | int]] = []
    if isinstance(network, Circuit):
        prefix, topics = network.prefix, network.prefix + topics
        first_values = [(prefix + path, value) for path, value in network.first_values]
        network = network.network
    names = sorted(obj.name for obj in network.objects)
    if topics not in names:
        raise UnsupportedNetworkError(
            f"The audit cuts a network by its topic neurons: expected a group {topics!r}, found "
            f"{names}. Pass the group's name as `topics`."
        )
    data = DataFlow(network, network[topics], first_values)
    rules = _Rules(data, spike_times)
    crossings, violations = rules.spikes(), rules.gathered()
    for flow in data.flows:
        if not flow.is_observer:
            found = rules.values(flow)
            crossings, violations = crossings + found[0], violations + found[1]
    return LocalityReport(
        list(dict.fromkeys(crossings)), list(dict.fromkeys(violations)), len(data.flows)
    )


class _Rules:
    """What is private in a network, and what each statement does with it."""

    def __init__(self, data: DataFlow, spike_times: Collection[str]) -> None:
        self.data, flows = data, data.flows
        self._times = self._declared_times(spike_times)
        self._add_derived_times()
        self._private = data.spread(
            {f.target.key for f in flows if f.target.home == TOPIC_CHIP},
            lambda flow, read: not self._is_spike_time(flow, read),
        )
        self._noise = data.spread(
            {f.target.key for f in flows if f.draws and f.home != TOPIC_CHIP},
            lambda flow, read: flow.target.home != TOPIC_CHIP,
        )
        arrivals = {  # of spikes: from which group, to which home
            (runner.source.name, data.home(runner.source)[0], data.home(runner.group)[0])
            for runner in data.runners
            if isinstance(runner, SynapticPathway) and runner.prepost == "pre"
        }
        hears_topics = {to for _, source, to in arrivals if source == TOPIC_CHIP}
        self._exciting = {
            name for name, home, to in arrivals if to == TOPIC_CHIP and home not in hears_topics
        }

    def _declared_times(self, names: Collection[str]) -> dict[Key, str]:
        """The topic neurons' spike times, as far as they are drawn there, and their home."""
        topics, flows = self.data.topics, self.data.flows
        drawn = self.data.spread(  # by the neurons; what synapses draw, such as rounding, is theirs
            {f.target.key for f in flows if f.draws and f.group.name == topics.name},
            lambda flow, read: flow.group.name == topics.name,
        )
        times: dict[Key, str] = {}
        for key in (id(topics.variables[name]) for name in names if name in topics.variables):
            writers = [flow for flow in flows if flow.target.key == key]
            if all(f.draws or any(read.key in drawn for read in f.reads) for f in writers):
                times[key] = TOPIC_CHIP
        return times

    def _add_derived_times(self) -> None:
        """What is computed elsewhere from spike times alone, such as the earliest of them."""
        writers: dict[Key, list[Flow]] = {}
        for flow in self.data.flows:
            if flow.target.home != TOPIC_CHIP and flow.target.variable is not None:
                writers.setdefault(flow.target.key, []).append(flow)
        n_before = -1
        while len(self._times) > n_before:
            n_before = len(self._times)
            for key, flows in writers.items():
                reads = [(flow, read) for flow in flows for read in flow.reads if read.key != key]
                written = [pair for pair in reads if pair[1].key in self.data.written]
                are_times = bool(written) and all(self._is_spike_time(*pair) for pair in written)
                if are_times and not any(flow.draws for flow in flows):
                    self._times[key] = flows[0].target.home

    def values(self, flow: Flow) -> tuple[list[Crossing], list[Violation]]:
        """What one statement takes from another home or brings to one."""
        crossings, violations, private = [], [], []
        for read in flow.reads:
            if read.key in self._private and not self._is_spike_time(flow, read):
                private.append(read)
                if read.away:
                    violations.append(_violation(flow, read, read.home, flow.home, read.away))
            elif read.away and read.key in self.data.written:
                kind = self._kind(flow, read)
                crossings.append(Crossing(kind, read.name, read.home, flow.home, flow.runner))
        target = flow.target
        if target.away:
            violations += [
                _violation(flow, r, flow.home, target.home, target.away) for r in private
            ]
            if not private:
                route = (target.name, flow.home, target.home)
                crossings.append(Crossing("signal", *route, flow.runner))
        return crossings, violations

    def spikes(self) -> list[Crossing]:
        """The events that pathways and the network's own spike counters receive from elsewhere."""
        counters = {
            read.owner.name
            for flow in self.data.flows
            if not flow.is_observer
            for read in flow.reads
            if isinstance(read.owner, EventMonitor)
        }
        found = []
        for runner in self.data.runners:
            is_pathway = isinstance(runner, SynapticPathway) and runner.prepost == "pre"
            if is_pathway or runner.name in counters:
                (source, _), (here, _) = map(self.data.home, (runner.source, runner.group))
                source = OTHER_TOPIC if source == here == TOPIC_CHIP else source
                if source != here:
                    what = f"{runner.source.name}.{runner.event}"
                    found.append(Crossing("spike", what, source, here, runner.name))
        return found

    def gathered(self) -> list[Violation]:
        """Plastic updates that read what their topic neuron gathered from other synapses."""

        def is_of_synapse(access: Access) -> bool:
            return isinstance(access.owner, Synapses) and access.home == TOPIC_CHIP

        def is_of_neuron(access: Access) -> bool:
            return access.variable is not None and not is_of_synapse(access)

        flows = self.data.flows
        weights = {f.target.key for f in flows if is_of_synapse(f.target)}
        of_weights = self.data.spread(weights, lambda flow, read: flow.target.variable is None)
        starts = {
            flow.target.key
            for flow in flows
            if is_of_neuron(flow.target) and flow.target.home == TOPIC_CHIP
            for read in flow.reads
            if read.key in of_weights and not read.is_spike
        }
        gathered = self.data.spread(
            starts, lambda flow, read: not (read.is_spike or is_of_synapse(flow.target))
        )
        return [
            Violation(
                NOT_SYNAPSE_LOCAL, flow.runner, flow.statement, read.name, TOPIC_CHIP, TOPIC_CHIP
            )
            for flow in flows
            if isinstance(flow.group, Synapses) and flow.home == TOPIC_CHIP
            if not is_of_neuron(flow.target)
            for read in flow.reads
            if read.key in gathered and is_of_neuron(read) and not (read.is_spike or read.away)
        ]

    def _is_spike_time(self, flow: Flow, read: Access) -> bool:
        """Whether a pathway reads the time of the spikes that trigger it."""
        return read.away > 0 and self._times.get(read.key, "nowhere") == flow.arrives_from

    def _kind(self, flow: Flow, read: Access) -> str:
        if self._is_spike_time(flow, read):
            return "spike time"
        if read.key in self._noise:
            return "noise"
        is_copy = flow.home == TOPIC_CHIP and read.home in self._exciting
        return "copy" if is_copy else "signal"


def _violation(flow: Flow, read: Access, source: str, target: str, away: float) -> Violation:
    itemsize = 8 if read.variable is None else np.dtype(read.variable.dtype).itemsize
    n_bytes = round(itemsize * flow.times * away)
    return Violation(
        PARAMETER_CROSSING, flow.runner, flow.statement, read.name, source, target, n_bytes
    )
