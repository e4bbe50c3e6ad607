"""Token sequences of any length through a circuit: simulators, seeds, recorded windows.

The algorithms (`event_driven`, `spike_cgs`, `mini_batch`) keep what their network knows as plain
arrays and hand them to `CircuitRunner.run`, which returns them changed: a run that dies changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial

import numpy as np

from brian_lda.constraints import Constraints, heard_tokens
from brian_lda.errors import ParameterError, WeightOverflowError
from brian_lda.spiking.circuit import Circuit, Shape
from brian_lda.spiking.constrained import NO_CONSTRAINTS, constraint_values, structure
from brian_lda.spiking.inhibition import Inhibition, Race
from brian_lda.spiking.recording import Recording, Spikes, read_recorders
from brian_lda.spiking.simulator import Arrays, Inputs, Simulator, make_simulator

LARGEST_WEIGHT = 700.0  # exp(+-700) is still a number
Segment = tuple[int, int, tuple[str, ...]]  # first token, the one after the last, layers


class CircuitRunner:
    """Runs one network, compiled once for each shape and choice of recorded layers.

    Parameters
    ----------
    build : callable
        `build(shape=..., inhibition=..., record=..., constraints=...)` returns the circuit.
    key : mapping
        Everything else that `build` depends on, as plain data.
    inhibition : Race or Poisson, optional
        The default is `Race()`.
    simulator : {"standalone", "cython", "numpy"}
        C++ program, compiled once and cached; or inside Python.
    constraints : Constraints, optional
        Limits of the chips.

    Attributes
    ----------
    spikes : Spikes or None
        What the latest run with `record` recorded.
    """

    def __init__(
        self,
        build: Callable[..., Circuit],
        key: Mapping[str, object],
        inhibition: Inhibition | None = None,
        simulator: str = "standalone",
        constraints: Constraints | None = None,
    ) -> None:
        self.inhibition = inhibition or Race()
        self.constraints = constraints or NO_CONSTRAINTS
        self.spikes: Spikes | None = None
        self._build, self._key, self._kind = build, key, simulator
        self._limit_values: dict[Shape, Inputs] = {}
        self._simulators: dict[tuple[Shape, tuple[str, ...]], Simulator] = {}

    def run(
        self,
        shape: Shape,
        values: Arrays,
        clamped: Mapping[str, np.ndarray],
        *,
        entropy: Sequence[int],
        position: int = 0,
        constants: Inputs | None = None,
        run_values: Callable[[int, int], Inputs] | None = None,
        between: Callable[[Arrays], Arrays] = lambda values: values,
        record: Recording | None = None,
    ) -> tuple[np.ndarray, Arrays]:
        """Present tokens.

        Parameters
        ----------
        shape : Shape
        values : dict
            What the network changes, "object.variable": array.
        clamped : mapping of str to int array [token]
            Neuron of each clamped layer.
        entropy : sequence of int
            With the position of the token, seeds the spikes: a run resumed from its state draws
            what it would have drawn uninterrupted.
        position : int
            Tokens that this network has seen before.
        constants : mapping, optional
            What the network only reads.
        run_values : callable, optional
            Further constants of the run that shows tokens start .. stop of the sequence.
        between : callable, optional
            Applied to the values after each run.
        record : Recording, optional

        Returns
        -------
        winners : int32 array [token]
        values : dict
        """
        n_tokens = len(clamped["words"])
        winners, values = [np.empty(0, np.int32)], dict(values)
        for start, stop, layers in self._segments(shape, n_tokens, record):
            seed = np.random.SeedSequence([*entropy, position + start]).generate_state(1)[0] >> 1
            inputs: dict[str, np.ndarray | float] = {
                **self.inhibition.values,
                **self._limits(shape),
                **(constants or {}),
                **values,
            }
            inputs |= run_values(start, stop) if run_values else {}
            part = {name: index[start:stop] for name, index in clamped.items()}
            result = self._simulator(shape, layers, values).run(inputs, part, int(seed))
            after = {path: result[path] for path in values}
            check_weights(after)
            values |= between(after)
            winners.append(result["winners.i"])
            if layers:
                self.spikes = read_recorders(result, layers)
                self.spikes.first_token = start
        return np.concatenate(winners), values

    def prepare(self, shape: Shape, values: Arrays) -> None:
        """Compile the network now, or find it in the cache; else the first run does."""
        self._simulator(shape, (), values)

    def heard(self, shape: Shape, words: np.ndarray, docs: np.ndarray) -> np.ndarray:
        """Tokens with a living path to some topic neuron, bool array [token].

        Present only these: a token that nobody hears would wait for ever.
        """
        if not self.constraints.gates:
            return np.ones(len(words), bool)
        limits = self._limits(shape)
        alive = [
            np.reshape(limits[f"{layer}.alive"], (-1, shape.n_topics)) > 0
            for layer in ("alpha", "beta")
        ]
        return heard_tokens(alive[0], alive[1], words, docs)

    def _limits(self, shape: Shape) -> Inputs:
        if shape not in self._limit_values:
            sizes = (shape.n_words, shape.n_docs, shape.n_topics)
            self._limit_values[shape] = constraint_values(self.constraints, *sizes)
        return self._limit_values[shape]

    def _segments(self, shape: Shape, n_tokens: int, record: Recording | None) -> Iterator[Segment]:
        """The runs that make up a sequence."""
        window = record.window(n_tokens) if record else (0, 0)
        if window[1] - window[0] > shape.capacity:
            raise ParameterError(
                f"a recorded window holds at most {shape.capacity} tokens; found "
                f"{window[1] - window[0]}. Give Recording a `start` and a `stop`."
            )
        parts: list[Segment] = [
            (0, window[0], ()),
            (*window, record.layers if record else ()),
            (window[1], n_tokens, ()),
        ]
        for first, last, layers in parts:
            for start in range(first, last, shape.capacity):
                yield start, min(start + shape.capacity, last), layers

    def _simulator(self, shape: Shape, layers: tuple[str, ...], values: Arrays) -> Simulator:
        if (shape, layers) not in self._simulators:
            inhibition = self.inhibition
            key = {
                **self._key,
                "shape": asdict(shape),
                "inhibition": [type(inhibition).__name__, inhibition.normalised],
                "constraints": structure(self.constraints),
                "record": layers,
            }
            build = partial(
                self._build,
                shape=shape,
                inhibition=inhibition,
                record=layers,
                constraints=self.constraints,
            )
            self._simulators[shape, layers] = make_simulator(self._kind, build, key, tuple(values))
        return self._simulators[shape, layers]


def check_weights(values: Mapping[str, np.ndarray]) -> None:
    """Refuse weights of which exp would not be a number."""
    for path, value in values.items():
        if not path.startswith(("alpha.", "beta.")):
            continue
        limit = LARGEST_WEIGHT if "M__" in path or "m__" in path else np.inf
        largest = np.abs(value).max()
        if not largest < limit or not np.isfinite(largest):
            raise WeightOverflowError(
                f"{path.split('.')[1]} must be finite and below {limit:g} in size, so that exp(M) "
                f"and exp(-M) are numbers; found {largest:g}. With integrator='euler' a step of "
                "size eta adds eta*exp(-M): use integrator='flow', or a smaller step."
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


def pad(array: np.ndarray, n_rows: int, fill: float) -> np.ndarray:
    """Rows for the unused neurons of a layer."""
    padded = np.full((n_rows, *np.shape(array)[1:]), fill, np.float64)
    padded[: len(array)] = array
    return padded
