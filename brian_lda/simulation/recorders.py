"""The monitors of a recording, as Brian objects of a circuit, and what they have heard.

Monitors listen only while a window is open: the group `recorded_windows` holds the windows of a
run, in tokens. A monitor inside Python looks there in every tick (`ListensInWindows`); a compiled
program leaves out its monitors while no window is open (`brian_lda.simulation.standalone`). The
spikes themselves, their random numbers and the weights do not know that somebody listens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from brian2 import EventMonitor, NeuronGroup, StateMonitor

from brian_lda.circuit.circuit import Circuit, Sizes, Values
from brian_lda.circuit.probe import add_document_probe, add_probe, probed_synapses
from brian_lda.errors import ParameterError
from brian_lda.simulation.recording import MOST_WINDOWS, Recording, Spikes, is_int
from brian_lda.simulation.windows import Request, WindowKeeper, union

WINDOWS_OF_A_RUN = MOST_WINDOWS + 4
AFTER_ALL = {"when": "end", "order": 200}


class ListensInWindows:
    """Of a monitor inside Python: hears nothing while no window is open."""

    def listen_in(self, net: Circuit) -> None:
        """Tell the monitor where the windows are."""
        self._token = net.pacer.variables["token"]
        group = net.network[f"{net.prefix}recorded_windows"]
        self._first, self._last = group.variables["first"], group.variables["last"]

    def run(self) -> None:
        """Called in every tick."""
        token = self._token.get_value()
        if np.any((self._first.get_value() <= token) & (token < self._last.get_value())):
            super().run()  # type: ignore[misc]


class WindowSpikes(ListensInWindows, EventMonitor):
    """Spikes in the windows of a run."""


class WindowState(ListensInWindows, StateMonitor):
    """Values in the windows of a run, at the end of each tick."""


class SequenceRecorder:
    """Records the windows of one sequence, run by run.

    Parameters
    ----------
    keeper : WindowKeeper or None
        None records nothing.
    sizes : Sizes
        Of the network.
    n_tokens : int
        Of the sequence.
    dt : float
        Length of a tick.
    """

    def __init__(self, keeper: WindowKeeper | None, sizes: Sizes, n_tokens: int, dt: float) -> None:
        self._keeper, self._n_tokens, self._dt = keeper, n_tokens, dt
        if keeper is None:
            return
        requests = keeper.requests(n_tokens)
        self._parts: dict[Request, list[Spikes]] = {request: [] for request in requests}
        self._chosen = chosen_neurons(keeper.recording, sizes)
        self._slots = self._present = np.asarray(self._chosen["documents"])
        if keeper.documents is not None:  # neurons of a mini-batch: where is each document?
            match = self._slots[:, None] == keeper.documents[None, :]
            self._slots, self._present = match.argmax(axis=1), match.any(axis=1)
        self._n_topics = sizes.n_topics

    def values(self, start: int, stop: int) -> Values:
        """What the monitors of a run over these tokens read, by "object.variable"."""
        if self._keeper is None:
            return {}
        spans = union(list(self._parts), start, stop)
        neurons = {**self._chosen, "documents": self._slots}
        return recorder_values(self._keeper.recording, spans, neurons, self._n_topics)

    def read(self, result: Mapping[str, np.ndarray], start: int, stop: int) -> None:
        """Take what a run over these tokens has recorded."""
        if self._keeper is None:
            return
        for request, parts in self._parts.items():
            span = max(request.start, start) - start, min(request.stop, stop) - start
            if span[0] < span[1]:
                part = read_window(result, self._keeper.recording, span, self._chosen, self._dt)
                if self._keeper.documents is not None and "M__beta" in part.state:
                    part.state["M__beta"][:, ~self._present] = np.nan  # not in this mini-batch
                parts.append(part)

    def finish(self) -> None:
        """The sequence has been shown."""
        if self._keeper is None:
            return
        for request, parts in self._parts.items():
            self._keeper.keep(request, [replace(part, chosen=self._chosen) for part in parts])
        self._keeper.end_sequence(self._n_tokens)


def chosen_neurons(record: Recording, sizes: Sizes) -> dict[str, np.ndarray]:
    """Words, documents and topics whose state is recorded, checked against the network."""
    for name, size in (("words", sizes.n_words), ("topics", sizes.n_topics)):
        for item in getattr(record, name):
            if not is_int(item):
                raise ParameterError(
                    f"the words of this network are not known by name; found {item!r} in {name} of "
                    "the Recording. Give their numbers."
                )
            if item >= size:
                raise ParameterError(
                    f"{name} of the Recording must be less than {size}; found {item}."
                )
    topics = record.topics or range(sizes.n_topics)
    named = {"words": record.words, "documents": record.documents, "topics": topics}
    return {name: np.array(numbers, np.int32) for name, numbers in named.items()}


def add_recorders(net: Circuit, record: Recording | None) -> None:
    """Add the monitors of a recording."""
    if not record:
        return
    name = f"{net.prefix}recorded_windows"
    windows = NeuronGroup(
        WINDOWS_OF_A_RUN,
        """
        first : integer (constant)           # first token of the window
        last : integer (constant)            # the one after its last
        """,
        clock=net.clock,
        namespace={},
        name=name,
    )
    net.add(recorded_windows=windows)
    for layer in record.layers:
        if layer != "topic":  # the winners are recorded in any case
            _add_monitor(net, layer, _spike_monitor(net, layer))
    if record.u:
        u = WindowState(net.topics, "u", record=True, name=_name(net, "u"), **AFTER_ALL)
        _add_monitor(net, "u", u)
    n_topics = len(record.topics) or net.sizes.n_topics
    for source, add, weight in (
        ("words", add_probe, "M__alpha"),
        ("documents", add_document_probe, "M__beta"),
    ):
        if n_synapses := len(getattr(record, source)) * n_topics:
            anywhere = [0] * n_synapses  # `recorder_values` says where
            probe = add(net, anywhere, anywhere)
            monitor = WindowState(probe, weight, record=True, name=_name(net, weight), **AFTER_ALL)
            _add_monitor(net, weight, monitor)


def _name(net: Circuit, what: str) -> str:
    return f"{net.prefix}recorded_{what}"


def _add_monitor(net: Circuit, what: str, monitor: WindowSpikes | WindowState) -> None:
    for attribute in ("_token", "_first", "_last"):
        monitor.add_attribute(attribute)
    monitor.listen_in(net)
    net.add(**{f"recorded_{what}": monitor})
    net.listening.append(monitor)
    heard = "i" if isinstance(monitor, WindowSpikes) and what != "latency" else what
    net.recorded += [f"recorded_{what}.{heard}", f"recorded_{what}.t"]


def _spike_monitor(net: Circuit, layer: str) -> WindowSpikes:
    topics, name = net.topics, _name(net, layer)
    if layer == "latency":
        _require("latency" in topics.variables and "attempt" not in topics.events, layer)
        return WindowSpikes(topics, "spike", variables=["latency"], name=name)
    if layer in ("attempt", "recalled"):
        _require(layer in topics.events, layer)
        return WindowSpikes(topics, layer, name=name)
    if layer == "inhibition":
        return WindowSpikes(net.inhibition, "spike", name=name)
    _require(f"{layer}s" in net.layers, layer)
    return WindowSpikes(net.layers[f"{layer}s"], "spike", name=name)


def _require(present: bool, layer: str) -> None:
    if not present:
        raise ParameterError(
            f"this network has no spikes of the kind {layer!r} to record: 'attempt' needs clocked "
            "time, 'latency' a Race, 'token' and 'recalled' a network that remembers assignments "
            "(SpikeCGS, semi-SpikeLDA)."
        )


def recorder_values(
    record: Recording,
    spans: Sequence[tuple[int, int]],
    chosen: Mapping[str, np.ndarray],
    n_topics: int,
) -> Values:
    """What the recorders of a run read, by "object.variable".

    Parameters
    ----------
    record : Recording
    spans : sequence of (int, int)
        The windows of this run, sorted, apart from each other.
    chosen : mapping of str to int array
        Neurons whose weights are followed: "words", "documents", "topics".
    n_topics : int
        K of the compiled network.
    """
    first, last = np.zeros((2, WINDOWS_OF_A_RUN), np.int32)
    for n, span in enumerate(spans):
        first[n], last[n] = span
    values: dict[str, np.ndarray | float] = {
        "recorded_windows.first": first,
        "recorded_windows.last": last,
    }
    for source, probe in (("words", "probe"), ("documents", "document_probe")):
        if len(getattr(record, source)):
            pairs = np.meshgrid(chosen[source], chosen["topics"], indexing="ij")
            i, j = (np.ravel(index).astype(np.int32) for index in pairs)
            values[f"{probe}.synapse"] = probed_synapses(i, j, n_topics)
            values[f"{probe}.topic"] = j
    return values


def read_window(
    result: Mapping[str, np.ndarray],
    record: Recording,
    span: tuple[int, int],
    chosen: Mapping[str, np.ndarray],
    dt: float,
) -> Spikes:
    """One window of a run, cut out of what its monitors have heard.

    Parameters
    ----------
    result : mapping
        Of a simulator.
    record : Recording
    span : (int, int)
        First token of the run in the window, and the one after the last.
    chosen : mapping of str to int array
        As in `recorder_values`.
    dt : float
        Length of a tick.
    """

    def ticks(path: str) -> np.ndarray:
        return np.rint(result[path] / dt).astype(np.int64)

    start, stop = span
    ends = ticks("winners.t")  # a token ends with its winner's spike
    begin, until = ends[start - 1] + 1 if start else 0, ends[stop - 1]
    won = ends[start:stop]
    spikes = Spikes(tick=dt)
    spikes.index["topic"] = np.asarray(result["winners.i"][start:stop], np.int32)
    spikes.time["topic"] = (won - begin) * dt
    for layer in record.layers:
        if layer == "topic":
            continue
        at = ticks(f"recorded_{layer}.t")
        inside = (begin <= at) & (at <= until)
        if layer == "latency":
            spikes.latency = result["recorded_latency.latency"][inside]
            continue
        spikes.index[layer] = np.asarray(result[f"recorded_{layer}.i"][inside], np.int32)
        spikes.time[layer] = (at[inside] - begin) * dt

    def at_winners(what: str) -> np.ndarray:
        at = ticks(f"recorded_{what}.t")
        return result[f"recorded_{what}.{what}"].reshape(len(at), -1)[np.isin(at, won)]

    if record.u:
        spikes.state["u"] = at_winners("u")[:, chosen["topics"]]
    n_topics = len(chosen["topics"])
    if n_words := len(record.words):
        by_word = at_winners("M__alpha").reshape(-1, n_words, n_topics)
        spikes.state["M__alpha"] = by_word.swapaxes(1, 2).copy()
    if n_docs := len(record.documents):
        spikes.state["M__beta"] = at_winners("M__beta").reshape(-1, n_docs, n_topics)
    return spikes
