"""The one adapter between a network in `models/` and what trains it.

A model declares what it keeps (`KEPT`); saving, restoring, padding, checks and recording follow
from that. Between two calls of `present` everything that the network knows is held here, as plain
arrays: a run that dies changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from brian_lda.circuit.chips import add_limits, limit_values
from brian_lda.circuit.circuit import Circuit, Sizes, Values, axons_of_tokens
from brian_lda.circuit.inhibition import Inhibition
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.latency import make_inhibition
from brian_lda.circuit.split import require_fan_in
from brian_lda.constraints import NO_CONSTRAINTS, Constraints, heard_tokens, spread_winners
from brian_lda.errors import ParameterError, WeightOverflowError
from brian_lda.parameters import PrunedWords
from brian_lda.simulation.recorders import SequenceRecorder, add_recorders, chosen_neurons
from brian_lda.simulation.recording import Recording, Spikes
from brian_lda.simulation.simulator import Arrays, RuntimeSimulator, Simulator, make_simulator
from brian_lda.simulation.streams import Streams, seeds_of, streams_of_run
from brian_lda.simulation.windows import WindowKeeper

LARGEST_INPUT = 700.0  # exp(+-700) is still a number
State = Mapping[str, np.ndarray]


class Model(Protocol):
    """What a file in `models/` offers."""

    __name__: str
    KEPT: tuple[Kept, ...]

    def wire(self, sizes: Sizes, inhibition: Inhibition) -> Circuit: ...

    def kept_of_weights(self, state: State) -> dict[str, np.ndarray]: ...

    def weights(self, kept: State) -> dict[str, np.ndarray]: ...


class SpikingNetwork:
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

    Attributes
    ----------
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
    ) -> None:
        self.model, self.sizes, self.constants, self.seed = model, sizes, dict(constants), seed
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
        self.pruned = pruned
        if pruned is not None:
            pruned.require_shape(sizes.n_topics, sizes.n_words)
        self.kept = (
            *model.KEPT,
            *(Kept(f"topics.{name}", "topic") for name in self.inhibition.kept),
        )
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
        return {**self.__dict__, "model": self.model.__name__, "_simulators": {}}

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
        clamped = {name: index[heard] for name, index in clamped.items()}
        if self.constraints.splits:
            clamped["axons"] = axons_of_tokens(
                clamped["words"], clamped["documents"], self.sizes.n_blocks
            )
        n_tokens = int(heard.sum())
        compiled, values = self._compiled(), self._values_in_brian(self._known)
        fixed = {**self.inhibition.values, **self._constants(compiled), **self._limit_values()}
        winners = [np.empty(0, np.int32)]
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
            simulator = self._simulator(keeper.recording if keeper else None)
            result = simulator.run(inputs, part, dt=self.inhibition.dt, streams=seeds)
            values = {path: result[path] for path in values}
            check_weights(values, self.kept, self.sizes.n_blocks)
            self._require_fan_in(result)
            winners.append(result["winners.i"])
            recorder.read(result, start, stop)
        recorder.finish()
        if record is not None and keeper is not None:
            self.recorded = keeper.recorded()
        for variable in self.kept:
            left = values[variable.path]
            known = variable.out_of_network(left, self.sizes, compiled)
            self._known[variable.name], self._left[variable.path] = known, (known, left)
        return spread_winners(np.concatenate(winners), heard)

    def stand_in(self) -> SpikingNetwork:
        """Another network like this one, in a program of its own, that records nothing."""
        other = copy(self)
        other._simulators, other._left = {}, {}
        other.keeper, other.recorded = None, []
        other.take_over(self)
        return other

    def take_over(self, other: SpikingNetwork) -> None:
        """Go on from where another network is, which stays as it is."""
        self.sizes, self.constants = other.sizes, dict(other.constants)
        self._known, self._limits = dict(other._known), other._limits
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
        alive = [
            np.reshape(limits[f"lesions__{layer}.dead"], (-1, K)) == 0
            for layer in ("alpha", "beta")
        ]
        return heard_tokens(alive[0], alive[1], words, docs)

    def resize(self, sizes: Sizes, **known: np.ndarray) -> None:
        """Another number of documents or remembered tokens, with what is kept of them."""
        self.sizes = sizes
        self._known |= known

    @property
    def runs_in_parallel(self) -> bool:
        """Whether several networks can run at one time: as programs, not inside Python."""
        return not isinstance(self._simulator(None), RuntimeSimulator)

    def keeps(self, name: str) -> bool:
        """Whether this is one of the variables that the network keeps."""
        return name in self._known

    def known(self, name: str) -> np.ndarray:
        """One of the variables that the network keeps."""
        return self._known[name]

    def change(self, known: dict[str, np.ndarray]) -> None:
        """Replace some of what the network keeps."""
        self._known |= known

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """M^alpha [topic, word], where pruned the shared synapse's, M^beta [doc, topic], ..."""
        weights = self.model.weights(self._known)
        if self.pruned is not None:
            weights["M__alpha"] = self.pruned.seen(weights["M__alpha"])
        return weights

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on, and the weights for the other twin.

        Where weights have few bits, also their "levels": what is on them need not be rounded anew.
        """
        state = {**self.weights, **{name: array.copy() for name, array in self._known.items()}}
        if self.constraints.weight_bits is not None:
            state["levels"] = self.constraints.levels
        if self.keeper is not None:
            state["n_shown"] = np.array([self.keeper.n_sequences, self.keeper.n_tokens])
        return state

    def set_state(self, state: State) -> None:
        """Go on from a state returned by `state` of either twin."""
        names = [variable.name for variable in self.model.KEPT]
        if set(names) <= set(state) and self.constraints.stored(dict(state)):
            known = {name: np.array(state[name]) for name in names}
            self._require_agreement(state, known)
        else:
            rng = np.random.default_rng([self.seed, 4])
            rounded = dict(state)
            for name in ("M__alpha", "M__beta"):
                if name in state:
                    rounded[name] = self.constraints.rounded(np.asarray(state[name]), rng)
            with np.errstate(over="ignore"):  # refused below
                known = self.model.kept_of_weights(rounded)
        for name in self.inhibition.kept:
            first = np.asarray(self.inhibition.values[f"topics.{name}"], np.float64)
            known[name] = np.array(state.get(name, np.broadcast_to(first, (self.sizes.n_topics,))))
        check_weights(self._values_in_brian(known), self.kept, self.sizes.n_blocks)
        self._known = known
        if self.keeper is not None and "n_shown" in state:
            self.keeper.n_sequences, self.keeper.n_tokens = map(int, state["n_shown"])

    def _require_agreement(self, state: State, known: State) -> None:
        """Refuse weights M that somebody edited while what they are made from stayed."""
        if self.pruned is not None:  # M then holds the shared synapse's weights, too
            return
        with np.errstate(divide="ignore", invalid="ignore"):  # refused later, by name
            weights = self.model.weights(known)
        for name, M in weights.items():
            if name in state and not np.allclose(state[name], M, rtol=0, atol=1e-6):
                kept = ", ".join(variable.name for variable in self.model.KEPT)
                raise ParameterError(
                    f"the state's {name} is not the one that its {kept} stand for: leave those out "
                    f"to go on from {name}."
                )

    def _values_in_brian(self, known: State) -> Arrays:
        """What is kept, as Brian orders it; what the last run left and nobody changed, as it is."""
        compiled, values = self._compiled(), {}
        for variable in self.kept:
            array = known[variable.name]
            before, left = self._left.get(variable.path, (None, array))
            if before is not array or left.size != variable.size(compiled):
                left = variable.into_network(array, self.sizes, compiled)
            values[variable.path] = left
        return values

    def _constants(self, compiled: Sizes) -> Values:
        """The constants, with a value for neurons that only fill up a compiled size."""
        n_neurons = {"words": compiled.n_words, "documents": compiled.n_docs}
        padded = dict(self.constants)
        for path, value in self.constants.items():
            owner = path.split(".")[0]
            if owner in n_neurons and np.ndim(value):
                filled = np.ones(n_neurons[owner])
                filled[: np.size(value)] = value
                padded[path] = filled
        return padded

    def _limit_values(self) -> Values:
        compiled = self._compiled()
        if self._limits is None or self._limits[0] != compiled:
            values = limit_values(self.constraints, self.pruned, self.model.KEPT, compiled)
            self._limits = compiled, values
        return self._limits[1]

    def _compiled(self) -> Sizes:
        if self.constraints.splits:  # a neuron more could be one synapse too many
            return self.sizes
        return replace(
            self.sizes,
            n_words=round_up(self.sizes.n_words),
            n_docs=round_up(self.sizes.n_docs),
            n_tokens=round_up(self.sizes.n_tokens),
        )

    def _require_fan_in(self, result: Arrays) -> None:
        """Refuse a run of neurons with more synapses than a chip's; they are counted by Brian."""
        for name, most in self.constraints.fan_in.items():
            require_fan_in(result[f"{name}.N_incoming"], name, most)

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
                add_limits(net, self.constraints, self.model.KEPT, pruned=self.pruned is not None)
                add_recorders(net, record)
                return net

            outputs = (
                *(variable.path for variable in self.kept),
                *(f"{name}.N_incoming" for name in self.constraints.fan_in),
            )
            self._simulators[compiled, record] = make_simulator(self._kind, assemble, outputs)
        return self._simulators[compiled, record]


def check_weights(values: Arrays, kept: Sequence[Kept], n_blocks: int = 1) -> None:
    """Refuse weights of which exp is no number, or which make a rate that is none.

    A rate is a product of exp M over the layers, so that their largest weights add up.
    """
    largest = 0.0
    g = next((value for path, value in values.items() if path.endswith(".g")), np.ones(1))
    g = g[: len(g) // n_blocks]  # of one part of each topic
    for variable in kept:
        if not variable.written_by:
            continue
        value = values[variable.path]
        if variable.gauge:
            value = np.reshape(value, (-1, len(g)))
        M = np.array([value.min(axis=0), value.max(axis=0)])  # the ends, of each topic if w g
        with np.errstate(divide="ignore", invalid="ignore"):
            M = M if variable.in_logs else np.log(M)
            M = M + np.log(g) if variable.gauge else M
        largest += max(0.0, float(M.max()))
        if not (M.min() > -LARGEST_INPUT and largest < LARGEST_INPUT):
            raise WeightOverflowError(
                f"{variable.name} must stand for weights M of which exp is a number, and so is the "
                f"rate exp(u) that they make; found M of {M.min():g} to {M.max():g}. With "
                "integrator='euler' a step of size eta adds eta*exp(-M): use integrator='flow', or "
                "a smaller step."
            )


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


def round_up(n: int) -> int:
    """`n` with its five leading bits kept and the rest rounded up: at most 6 % more.

    A few unused neurons let corpora of similar size share one compiled network.
    """
    step = 1 << max(n.bit_length() - 5, 0)
    return -(-n // step) * step
