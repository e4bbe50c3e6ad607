"""Locality audit (Remark 1): which values would a cut by topics send from chip to chip?

From the statements of the Brian objects themselves (`brian_lda.hardware.data_flow`, which says what
lives where) the audit follows two kinds of values:

private     what the network writes on a topic's chip (weights, eligibilities, u, a_z, n_z, ...) and
            whatever is computed from these;
free        what the network never writes (set before a run, copied to every chip), and the clock.

A private value that is read or written across homes is a *parameter crossing*. What may cross:

spike       an event and its address. A condition may read anything on its own chip: what leaves is
            the event, and what its receivers do with it is counting.
spike time  one declared variable of the topic neuron, `log_latency` in a race, read by the pathway
            that its own event triggers. In a race time is continuous and Brian's clock is not: the
            neuron draws the time of its spike, log(-log(rand)) - u, and the synapse reads as a
            number what a chip would see as the moment of arrival. Only a value that is drawn
            counts: one written without a random number would be u in disguise. No other variable
            is known by its name.
signal      a number computed from spikes, times and free values alone (`accepted`, `counting`, ...)
copy        the same, kept by a neuron that excites topics (n_beta, eta_n__beta, ...): a chip can
            keep a copy from the spikes that reach it anyway.
noise       a random number that depends on nothing private (a packet that is lost on its way): a
            chip can draw it itself.

A second finding crosses nothing: a plastic update that reads what has been gathered from other
synapses of its topic (a sum over words). It stays on the chip, but Remark 1 asks for less: the
synapse, its two neurons, and of the other synapses only what the topic's spike tells.

Not seen: what the host does between runs, and what a user's function reads besides its arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from brian2 import Network, Synapses
from brian2.monitors import EventMonitor
from brian2.synapses.synapses import SynapticPathway

from brian_lda.circuit.circuit import Circuit
from brian_lda.errors import UnsupportedNetworkError
from brian_lda.hardware.data_flow import OTHER_TOPIC, TOPIC_CHIP, Access, DataFlow, Flow

PARAMETER_CROSSING = "parameter crossing"
NOT_SYNAPSE_LOCAL = "not synapse-local, stays on chip"


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
    network: Circuit | Network, *, topics: str = "topics", spike_time: str = "log_latency"
) -> LocalityReport:
    """Follow every value through a network that is cut by topics.

    Parameters
    ----------
    network : Circuit or Network
        Built under Brian's runtime device (nothing is compiled or run). A circuit's first values
        are followed, too.
    topics : str
        Name of the topic neurons' group.
    spike_time : str
        Their variable that stands for the moment of a spike, if they have one.
    """
    first_values = network.first_values if isinstance(network, Circuit) else []
    network = network.network if isinstance(network, Circuit) else network
    names = sorted(obj.name for obj in network.objects)
    if topics not in names:
        raise UnsupportedNetworkError(
            f"The audit cuts a network by its topic neurons: expected a group {topics!r}, found "
            f"{names}. Pass the group's name as `topics`."
        )
    data = DataFlow(network, network[topics], first_values)
    rules = _Rules(data, spike_time)
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

    def __init__(self, data: DataFlow, spike_time: str) -> None:
        self.data, flows = data, data.flows
        drawn = data.spread({f.target.key for f in flows if f.draws}, lambda flow, read: True)
        time = id(data.topics.variables.get(spike_time))
        writers = [flow for flow in flows if flow.target.key == time]
        is_drawn = all(f.draws or any(r.key in drawn for r in f.reads) for f in writers)
        self._spike_time = time if is_drawn else None
        self._private = data.spread(
            {f.target.key for f in flows if f.target.home == TOPIC_CHIP},
            lambda flow, read: not self._is_spike_time(flow, read),
        )
        self._noise = data.spread(
            {f.target.key for f in flows if f.draws and f.home != TOPIC_CHIP},
            lambda flow, read: flow.target.home != TOPIC_CHIP,
        )
        self._exciting = {  # groups of neurons with synapses onto topics
            runner.source.name
            for runner in data.runners
            if isinstance(runner, SynapticPathway)
            and runner.prepost == "pre"
            and data.home(runner.group)[0] == TOPIC_CHIP
        }

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
        return read.key == self._spike_time and read.away > 0 and flow.arrives_from == TOPIC_CHIP

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
