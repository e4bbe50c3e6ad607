"""Running a circuit: one interface, two ways.

A simulator is made from a function that builds a `Circuit` and is then run as often as needed, each
time with other values, tokens and seed:

>>> result = simulator.run({"alpha.m__alpha": weights, ...}, layers, seed=1)  # doctest: +SKIP
>>> result["winners.i"]                                                      # doctest: +SKIP

`StandaloneSimulator` (`brian_lda.spiking.standalone`) compiles the circuit to a C++ program once;
`RuntimeSimulator` (here) runs it inside Python, for small networks and machines without a compiler.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from brian2 import Network, NetworkOperation, Synapses, prefs, second
from brian2 import seed as set_brian_seed
from brian2.devices.device import Device, reset_device, set_device

from brian_lda.errors import ParameterError, SimulationError, UnsupportedNetworkError
from brian_lda.spiking.circuit import Circuit

logger = logging.getLogger(__name__)

SIMULATORS = ("standalone", "cython", "numpy")
ORDER_LOGGERS = ("brian2.codegen.generators.base", "brian2.codegen.generators.numpy_generator")
Inputs = Mapping[str, np.ndarray | float]  # "object.variable": its value when a run starts
Arrays = dict[str, np.ndarray]  # "object.variable": what a run has changed or recorded
# Ticks without a winner: the rates are too low to wait for. Seconds in C++, minutes in Python.
STALLED_AFTER, STALLED_IN_PYTHON_AFTER = 10_000_000, 100_000


class Simulator(Protocol):
    """What both simulators offer."""

    def run(self, values: Inputs, clamped: Mapping[str, np.ndarray], seed: int) -> Arrays:
        """Present tokens.

        Parameters
        ----------
        values : mapping of str to array or number
            "object.variable": its value at the start; "pacer.tick" (seconds) is required.
        clamped : mapping of str to int array [token]
            Which neuron each clamped layer fires for each token, by name of the layer ("words",
            "documents", ...); at most the circuit's capacity.
        seed : int
            Of the random numbers of this run, 0 <= seed < 2**31.

        Returns
        -------
        dict
            "winners.i" and "winners.t" [token] and the circuit's outputs.
        """


def make_simulator(
    kind: str, build: Callable[[], Circuit], key: Mapping[str, object], outputs: tuple[str, ...]
) -> Simulator:
    """A simulator by name; without a C++ compiler "standalone" falls back to the runtime.

    Parameters
    ----------
    kind : {"standalone", "cython", "numpy"}
    build : callable
        Returns the circuit.
    key : mapping
        Everything that `build` depends on, as plain data; names the compiled program in the cache.
    outputs : tuple of str
        "object.variable" of what a run returns, besides the circuit's own outputs.
    """
    if kind not in SIMULATORS:
        raise ParameterError(f"simulator must be one of {SIMULATORS}; found {kind!r}.")
    if kind == "standalone":
        from brian_lda.spiking.standalone import (
            StandaloneSimulator,
            compiler_found,
            shipped_folder,
        )

        if compiler_found() or shipped_folder().is_dir():
            return StandaloneSimulator(build, key, outputs)
        kind = "numpy"
        warnings.warn(
            "No C++ compiler and make were found, so the spiking network runs inside Python "
            "(slower by a factor of 100 and more); install g++ and make, or set CXX.",
            RuntimeWarning,
            stacklevel=2,
        )
    return RuntimeSimulator(build, outputs, target=kind)


def refuse_unsupported(network: Network) -> None:
    """Refuse what standalone mode would ignore or get wrong.

    - `network_operation` is silently skipped by a compiled network.
    - OpenMP changes the order of random numbers, hence the result, and is slower here.
    - Two `(summed)` pathways onto one variable overwrite each other.
    """
    operations = [obj.name for obj in network.objects if isinstance(obj, NetworkOperation)]
    if operations:
        raise UnsupportedNetworkError(
            f"The network holds the network_operation {operations[0]!r}, which a compiled network "
            "would silently skip; write it as run_regularly code, or run it between two calls."
        )
    if prefs.devices.cpp_standalone.openmp_threads > 0:
        raise UnsupportedNetworkError(
            "prefs.devices.cpp_standalone.openmp_threads is "
            f"{prefs.devices.cpp_standalone.openmp_threads}, but OpenMP changes the result of a "
            "winner-take-all circuit (and slows it down); set it to 0. Use one process per run "
            "instead."
        )
    seen: dict[int, str] = {}
    for synapses in (obj for obj in network.objects if isinstance(obj, Synapses)):
        for name in synapses.summed_updaters:
            variable = id(synapses.variables[name])
            if variable in seen:
                raise UnsupportedNetworkError(
                    f"{synapses.name!r} and {seen[variable]!r} both sum onto {name!r}, of which "
                    "only one would count; give each its own variable and add the two."
                )
            seen[variable] = synapses.name


@contextmanager
def brian_settings(device: str | Device, target: str | None = None) -> Iterator[None]:
    """Activate a Brian device (and code target), and leave Brian as it was found."""
    previous_target = prefs.codegen.target
    set_device(device, build_on_run=False)
    for name in ORDER_LOGGERS:
        logging.getLogger(name).addFilter(_not_about_order)
    if target is not None:
        prefs.codegen.target = target
    try:
        yield
    finally:
        prefs.codegen.target = previous_target
        for name in ORDER_LOGGERS:
            logging.getLogger(name).removeFilter(_not_about_order)
        reset_device()


def _not_about_order(record: logging.LogRecord) -> bool:
    """The minimum and maximum that inhibition takes do not depend on the order of the spikes."""
    message = record.getMessage()
    return "order of execution" not in message and "Failed to vectorise" not in message


def count_tokens(capacity: int, layers: Collection[str], clamped: Mapping[str, np.ndarray]) -> int:
    """Length of the sequence: at least one token, at most the capacity, the same in all layers."""
    found = {name: len(index) for name, index in clamped.items()}
    if set(found) != set(layers) or len({*found.values()}) != 1:
        raise ParameterError(
            f"a run takes as many tokens for each of the layers {sorted(layers)}; found {found}."
        )
    n_tokens = found["words"]
    if not 1 <= n_tokens <= capacity:
        raise ParameterError(f"a run takes 1 to {capacity} tokens; found {n_tokens}.")
    return n_tokens


class RuntimeSimulator:
    """Runs a circuit inside Python.

    Parameters
    ----------
    build : callable
        Returns the circuit.
    outputs : tuple of str
        "object.variable" of what a run returns.
    target : {"numpy", "cython"}
        Brian's code generation target.
    """

    def __init__(
        self, build: Callable[[], Circuit], outputs: tuple[str, ...], target: str = "numpy"
    ) -> None:
        self._target = target
        self._outputs = outputs
        with brian_settings("runtime", target):
            self._circuit = build()
            refuse_unsupported(self._circuit.network)
            stop = NetworkOperation(self._stop_when_done, clock=self._circuit.clock, when="end")
            self._circuit.network.add(stop)

    def run(self, values: Inputs, clamped: Mapping[str, np.ndarray], seed: int) -> Arrays:
        """Present tokens; see `Simulator.run`."""
        circuit = self._circuit
        length = count_tokens(circuit.shape.capacity, circuit.layers, clamped)
        winners = circuit.winners
        random_state = np.random.get_state()  # noqa: NPY002 (Brian draws from this one)
        with brian_settings("runtime", self._target):
            try:
                set_brian_seed(seed)
                for path, value in values.items():
                    circuit.variable(path).set_value(value)
                circuit.clock.dt = float(values["pacer.tick"]) * second
                for name, index in clamped.items():
                    layer = circuit.layers[name]
                    layer.variables["neuron_index"].get_value()[:length] = index
                before, t_before = winners.num_spikes, float(circuit.network.t / second)
                circuit.pacer.n_winners_before, circuit.pacer.n_tokens = before, length
                for owner, name, expression in circuit.first_values:
                    setattr(owner, name, expression)  # Brian looks names up here, too: `length`
                recorded_before = {path: len(self._read(path)) for path in circuit.outputs}
                self._run_until(before + length)
            finally:
                np.random.set_state(random_state)  # noqa: NPY002
        result = {path: self._read(path).copy() for path in self._outputs}
        result["winners.i"] = self._read("winners.i")[before:].copy()
        result["winners.t"] = self._read("winners.t")[before:] - t_before
        for path, start in recorded_before.items():
            shift = t_before if path.endswith(".t") else 0
            result[path] = self._read(path)[start:] - shift
        return result

    def _read(self, path: str) -> np.ndarray:
        return np.asarray(self._circuit.variable(path).get_value())

    def _run_until(self, n_winners: int) -> None:
        """Tick until every token has its winner."""
        circuit = self._circuit
        self._target_winners = n_winners
        while circuit.winners.num_spikes < n_winners:
            before = circuit.winners.num_spikes
            circuit.network.run(STALLED_IN_PYTHON_AFTER * circuit.clock.dt, namespace={})
            if circuit.winners.num_spikes == before:
                raise SimulationError(stalled_message(STALLED_IN_PYTHON_AFTER))

    def _stop_when_done(self) -> None:
        if self._circuit.winners.num_spikes >= self._target_winners:
            self._circuit.network.stop()


def stalled_message(ticks: int) -> str:
    """What to do when no topic neuron fires."""
    return (
        f"no topic neuron has won in {ticks} ticks: the firing rates are too low. Raise `rate`, "
        "or use Poisson(normalised=True) or Race()."
    )
