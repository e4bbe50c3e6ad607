"""The one adapter between a network in `models/` and what trains it.

A model declares what it keeps (`KEPT`); saving, restoring, padding, checks and recording follow
from that. Between two calls of `present` everything that the network knows is held here, as plain
arrays: a run that dies changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from brian_lda.circuit.chips import add_limits, limit_values
from brian_lda.circuit.circuit import Circuit, Sizes, Values, axons_of_tokens
from brian_lda.circuit.counters import add_counters, counted_layers, counter_path
from brian_lda.circuit.inhibition import Inhibition
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.latency import make_inhibition
from brian_lda.circuit.split import require_fan_in
from brian_lda.constraints import NO_CONSTRAINTS, Constraints, heard_tokens, spread_winners
from brian_lda.errors import ParameterError
from brian_lda.parameters import PrunedWords
from brian_lda.simulation.known_state import KnownState, Model, State, check_weights
from brian_lda.simulation.recorders import SequenceRecorder, add_recorders, chosen_neurons
from brian_lda.simulation.recording import Recording, Spikes
from brian_lda.simulation.simulator import Arrays, RuntimeSimulator, Simulator, make_simulator
from brian_lda.simulation.streams import Streams, seeds_of, streams_of_run
from brian_lda.simulation.windows import WindowKeeper


class SpikingNetwork(KnownState):
    """A network and what it knows.

    Parameters
    ----------
    model : module
        A file of `models/`.
    sizes : Sizes
        Of the corpus. The compiled network may be a little larger, so that corpora of like size
        share one program.
    constants : mapping
        What the network only reads, by "object.variable".
    state : mapping
        What it keeps, or weights that this follows from (`model.kept_of_weights`).
    seed : int
        Of the spikes.
    inhibition : Race or Poisson, optional
        As an object or as plain data (`make_inhibition`); the default is `Race()`.
    simulator : {"standalone", "cython", "numpy"}
        C++ program, compiled once and cached; or inside Python.
    constraints : Constraints, optional
        Limits of the chips.
    pruned : PrunedWords, optional
        The words with a synapse of their own; the default is all.
    record : Recording, optional
        Windows of everything that is shown from now on; they are collected in `keeper`.
    count : bool
        Count all spikes, neuron by neuron (`brian_lda.circuit.counters`).

    Attributes
    ----------
    counted : dict of str to int array [neuron], or None
        With `count`, by layer: spikes of all that was shown so far. Document neurons of mini-batch
        networks belong to one document after the other. No part of the state.
    most_synapses : dict of str to int
        Where there is a limit of fan-in: the most that a neuron had in the latest run, by name of
        the synapses, as Brian counts them.
    keeper : WindowKeeper or None
        What was recorded so far of the windows of `record`.
    recorded : list of Spikes
        What the latest `present(..., record=...)` recorded, window by window.
    """

    def __init__(
        self,
        model: Model,
        sizes: Sizes,
        constants: Values,
        state: State,
        *,
        seed: int,
        inhibition: Inhibition | None = None,
        simulator: str = "standalone",
        constraints: Constraints | None = None,
        pruned: PrunedWords | None = None,
        record: Recording | None = None,
        count: bool = False,
    ) -> None:
        if pruned is not None:
            pruned.require_shape(sizes.n_topics, sizes.n_words)
        self.model, self.constants, self.seed = model, dict(constants), seed
        self.sizes = replace(sizes, pruned=pruned)
        self.inhibition = make_inhibition(inhibition)
        for path, value in self.inhibition.values.items():
            if np.ndim(value) and np.shape(value) != (sizes.n_topics,):
                raise ParameterError(
                    f"{path.split('.')[1]} of the inhibition must be one number, or one for each "
                    f"of the {sizes.n_topics} topics; found {np.size(value)} numbers."
                )
        self.constraints = constraints or NO_CONSTRAINTS
        if self.constraints.splits and not any(variable.copied for variable in model.KEPT):
            raise ParameterError(
                f"only ed-SpikeLDA can be split, so that {model.__name__} takes no word_synapses "
                "and document_slots; leave them out of constraints."
            )
        self.kept = (
            *model.KEPT,
            *(Kept(f"topics.{name}", "topic") for name in self.inhibition.kept),
        )
        self.counted: dict[str, np.ndarray] | None = None
        if count:
            self.counted = {layer: np.zeros(0, np.int64) for layer in counted_layers(model.KEPT)}
        self.most_synapses: dict[str, int] = {}
        self.recorded: list[Spikes] = []
        self.keeper: WindowKeeper | None = None
        if record is not None:
            self.keeper = WindowKeeper(record)
            self.keeper.check(self.inhibition, sizes.n_topics)
            chosen_neurons(record, sizes)
        self._kind = simulator
        self._simulators: dict[tuple[Sizes, Recording | None], Simulator] = {}
        self._limits: tuple[Sizes, Values] | None = None
        self._known: dict[str, np.ndarray] = {}
        self._left: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # known, and as Brian has it
        self.set_state(state)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: plain data. The model goes by its name; simulators are made again."""
        own = {"model": self.model.__name__, "_simulators": {}, "_left": {}}
        return {**self.__dict__, **own}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self.model = import_module(attributes["model"])

    def present(
        self,
        words: np.ndarray,
        docs: np.ndarray,
        tokens: np.ndarray | None = None,
        *,
        entropy: Sequence[int] = (1,),
        position: int = 0,
        run_values: Callable[[int, int], Values] | None = None,
        streams: Streams | None = None,
        record: Recording | None = None,
        unchanged: Collection[str] = (),
    ) -> np.ndarray:
        """Show a sequence of tokens: infer the topic of each, learn, return the winners.

        Parameters
        ----------
        words, docs : int array [token]
        tokens : int array [token], optional
            Which token each is, in networks that remember assignments.
        entropy : sequence of int
            With the seed and the position of the token, seeds the spikes: a run resumed from its
            state draws what it would have drawn uninterrupted.
        position : int
            Tokens that this network has seen before.
        run_values : callable, optional
            Further constants of the run that shows tokens start .. stop of the sequence.
        streams : (int array [stream], int array [stream]), optional
            Positions of tokens that begin a new stream of random numbers, the first of them 0, and
            seeds; in place of `entropy`. All tokens must be heard.
        record : Recording, optional
            Windows of this sequence, to be found in `recorded`.
        unchanged : collection of str
            What the network keeps and this sequence cannot change, by name: it is not read back.

        Returns
        -------
        int32 array [token]
            -1 for a token that dead synapses keep from every topic neuron: it is not shown.
        """
        clamped = {
            "words": checked_tokens(words, "words", self.sizes.n_words),
            "documents": checked_tokens(docs, "docs", self.sizes.n_docs),
        }
        if tokens is not None:
            clamped["tokens"] = checked_tokens(tokens, "tokens", self.sizes.n_tokens)
        if len({len(index) for index in clamped.values()}) != 1:
            raise ParameterError(
                f"words and docs must pair up; found {len(words)} and {len(docs)}."
            )
        heard = self.heard(clamped["words"], clamped["documents"])
        n_tokens = int(heard.sum())
        if n_tokens < len(heard):
            clamped = {name: index[heard] for name, index in clamped.items()}
        if self.constraints.splits:
            clamped["axons"] = axons_of_tokens(
                clamped["words"], clamped["documents"], self.sizes.n_blocks
            )
        compiled, values = self._compiled(), self._values_in_brian(self._known)
        fixed = {**self.inhibition.values, **self._constants(compiled), **self._limit_values()}
        winners, same = [np.empty(0, np.int32)], self._paths(unchanged)
        changed = [variable for variable in self.kept if variable.path not in same]
        keeper = self._keeper_of(record, n_tokens)
        recorder = SequenceRecorder(keeper, self.sizes, n_tokens, self.inhibition.dt)
        for start, stop in self._segments(n_tokens, streams):
            if streams is None:
                seeds = np.zeros(1, int), seeds_of([self.seed, *entropy, position + start], 1)
            else:
                seeds = streams_of_run(streams, start, stop)
            inputs = {**fixed, **values, **(run_values(start, stop) if run_values else {})}
            part = {name: index[start:stop] for name, index in clamped.items()}
            inputs.update(recorder.values(start, stop))
            inputs.update({counter_path(layer): 0 for layer in self.counted or ()})
            simulator = self._simulator(keeper.recording if keeper else None)
            result = simulator.run(
                inputs, part, dt=self.inhibition.dt, streams=seeds, unchanged=same
            )
            values |= {path: result[path] for path in values if path not in same}
            check_weights(values, changed, self.sizes.n_blocks, self.pruned)
            self._require_fan_in(result)
            winners.append(result["winners.i"])
            recorder.read(result, start, stop)
            self._count(result)
        recorder.finish()
        if record is not None and keeper is not None:
            self.recorded = keeper.recorded()
        for variable in changed:
            left = values[variable.path]
            known = variable.out_of_network(left, self.sizes, compiled)
            self._known[variable.name], self._left[variable.path] = known, (known, left)
        return spread_winners(np.concatenate(winners), heard)

    def _paths(self, names: Collection[str]) -> list[str]:
        return [variable.path for variable in self.kept if variable.name in names]

    def _count(self, result: Arrays) -> None:
        """Add the spikes of a run; neurons that only fill up a compiled size never fire."""
        sizes = self.sizes
        n_neurons = {"words": sizes.n_words, "documents": sizes.n_docs, "tokens": sizes.n_tokens}
        for layer, before in (self.counted or {}).items():
            now = result[counter_path(layer)].astype(np.int64)[: n_neurons.get(layer)]
            now[: len(before)] += before  # mini-batches may grow
            self.counted[layer] = now  # type: ignore[index]

    def stand_in(self) -> SpikingNetwork:
        """Another network like this one, in a program of its own, that records nothing."""
        other = copy(self)
        other._simulators = {}
        other.keeper, other.recorded = None, []
        other.take_over(self)
        return other

    def take_over(self, other: SpikingNetwork) -> None:
        """Go on from where another network is, which stays as it is."""
        self.sizes, self.constants = other.sizes, dict(other.constants)
        self._known, self._left = dict(other._known), dict(other._left)
        self._limits = other._limits
        for key, simulator in other._simulators.items():
            if key not in self._simulators:
                self._simulators[key] = simulator.another()

    def prepare(self) -> None:
        """Compile the network now, or find it in the cache; else the first `present` does."""
        self._simulator(self.keeper.recording if self.keeper else None)

    @property
    def spikes(self) -> Spikes | None:
        """The latest window of `recorded`."""
        return self.recorded[-1] if self.recorded else None

    def heard(self, words: np.ndarray, docs: np.ndarray) -> np.ndarray:
        """Tokens with a living path to some topic neuron, bool array [token].

        Only these are shown: a token that nobody hears would wait for ever.
        """
        if not self.constraints.gates:
            return np.ones(len(words), bool)
        limits, K = self._limit_values(), self.sizes.n_topics
        alive = {}
        for layer in ("alpha", "beta"):
            living = limits[f"lesions__{layer}.dead"] == 0
            if layer == "alpha" and self.pruned is not None:  # all hear the shared synapse
                heard = ~self.pruned.private.T
                heard[~heard] = living
                living = heard
            alive[layer] = np.reshape(living, (-1, K))
        return heard_tokens(alive["alpha"], alive["beta"], words, docs)

    def resize(self, sizes: Sizes, **known: np.ndarray) -> None:
        """Another number of documents or remembered tokens, with what is kept of them."""
        self.sizes = sizes
        self._known |= known

    @property
    def runs_in_parallel(self) -> bool:
        """Whether several networks can run at one time: as programs, not inside Python."""
        return not isinstance(self._simulator(None), RuntimeSimulator)

    def _limit_values(self) -> Values:
        compiled = self._compiled()
        if self._limits is None or self._limits[0] != compiled:
            values = limit_values(self.constraints, self.model.KEPT, compiled)
            self._limits = compiled, values
        return self._limits[1]

    def _require_fan_in(self, result: Arrays) -> None:
        """Refuse a run of neurons with more synapses than a chip's; they are counted by Brian."""
        for name, most in self.fan_in.items():
            n_incoming = result[f"{name}.N_incoming"]
            require_fan_in(n_incoming, name, most)
            self.most_synapses[name] = int(n_incoming.max())

    def _keeper_of(self, record: Recording | None, n_tokens: int) -> WindowKeeper | None:
        """Who keeps the windows of a sequence: its own recording, or that of the training."""
        if record is None:
            return self.keeper
        keeper = WindowKeeper(record, single=True)
        keeper.check(self.inhibition, self.sizes.n_topics, n_tokens)
        return keeper

    def _segments(self, n_tokens: int, streams: Streams | None) -> Iterator[tuple[int, int]]:
        """The runs that make up a sequence; what is recorded has no part in it.

        A run ends with a stream, if there are any, so that none depends on what was shown before.
        """
        start = 0
        while start < n_tokens:
            stop = min(start + self.sizes.capacity, n_tokens)
            if streams is not None and stop < n_tokens:
                begins = streams[0][(streams[0] > start) & (streams[0] <= stop)]
                stop = int(begins[-1]) if begins.size else stop
            yield start, stop
            start = stop

    def _simulator(self, record: Recording | None) -> Simulator:
        compiled = self._compiled()
        if (compiled, record) not in self._simulators:

            def assemble() -> Circuit:
                net = self.model.wire(compiled, self.inhibition)
                add_limits(net, self.constraints, self.model.KEPT)
                add_recorders(net, record)
                add_counters(net, tuple(self.counted or ()))
                return net

            outputs = (
                *(variable.path for variable in self.kept),
                *(counter_path(layer) for layer in self.counted or ()),
                *(f"{name}.N_incoming" for name in self.fan_in),
            )
            self._simulators[compiled, record] = make_simulator(self._kind, assemble, outputs)
        return self._simulators[compiled, record]


def checked_tokens(index: np.ndarray, name: str, size: int) -> np.ndarray:
    """Token indices as an int32 vector, all of them in [0, size)."""
    index = np.ascontiguousarray(index, np.int32)
    if index.ndim != 1 or (index.size and not 0 <= index.min() <= index.max() < size):
        raise ParameterError(
            f"{name} must be a vector of indices in [0, {size}); found shape {index.shape}"
            + (f" with values {index.min()} to {index.max()}" if index.size else "")
            + ". Is it a corpus with another vocabulary than the model's?"
        )
    return index
