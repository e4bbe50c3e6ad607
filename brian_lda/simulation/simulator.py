"""Running a circuit: one interface, two ways.

A simulator is made from a function that assembles a `Circuit` and is then run as often as needed,
each time with other values, tokens and seeds:

>>> result = simulator.run(weights, tokens, dt=1e-3, streams=seeds)  # doctest: +SKIP
>>> result["winners.i"]                                              # doctest: +SKIP

`StandaloneSimulator` (`brian_lda.simulation.standalone`) compiles the circuit to a C++ program
once; `RuntimeSimulator` (here) runs it inside Python, for small networks and machines without a
compiler.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from brian2 import Network, NetworkOperation, Synapses, prefs, second
from brian2 import seed as set_brian_seed
from brian2.devices.device import Device, reset_device, set_device

from brian_lda.circuit.brian_settings import without_order_warnings
from brian_lda.circuit.circuit import Circuit, Values
from brian_lda.errors import ParameterError, UnsupportedNetworkError
from brian_lda.simulation.streams import Streams

SIMULATORS = ("standalone", "cython", "numpy")
Arrays = dict[str, np.ndarray]  # "object.variable": what a run has changed or recorded
Assemble = Callable[[], Circuit]


class Simulator(Protocol):
    """What both simulators offer."""

    def run(
        self,
        values: Values,
        clamped: Mapping[str, np.ndarray],
        *,
        dt: float,
        streams: Streams,
        unchanged: Collection[str] = (),
    ) -> Arrays:
        """Present tokens.

        Parameters
        ----------
        values : mapping of str to array or number
            "object.variable": its value at the start.
        clamped : mapping of str to int array [token]
            Which neuron each clamped layer fires for each token, by name of the layer ("words",
            "documents", ...); at most the circuit's capacity.
        dt : float
            Length of a tick in seconds.
        streams : (int array [stream], int array [stream])
            Tokens with which a new stream of random numbers begins, the first of them 0, and the
            seeds, 0 <= seed < 2**31.
        unchanged : collection of str
            Outputs that this run leaves at their value; they are not read back.

        Returns
        -------
        dict
            "winners.i" and "winners.t" [token], what monitors recorded, and the other outputs.
        """

    def another(self) -> Simulator:
        """One that runs the same circuit, at the same time where that is possible."""


def make_simulator(kind: str, assemble: Assemble, outputs: tuple[str, ...]) -> Simulator:
    """A simulator by name; without a C++ compiler "standalone" falls back to the runtime.

    Parameters
    ----------
    kind : {"standalone", "cython", "numpy"}
    assemble : callable
        Returns the circuit.
    outputs : tuple of str
        "object.variable" of what a run returns, besides what was recorded.
    """
    if kind not in SIMULATORS:
        raise ParameterError(f"simulator must be one of {SIMULATORS}; found {kind!r}.")
    if kind == "standalone":
        from brian_lda.simulation.standalone import (
            StandaloneSimulator,
            compiler_found,
            shipped_folder,
        )

        if compiler_found() or shipped_folder().is_dir():
            return StandaloneSimulator(assemble, outputs)
        kind = "numpy"
        warnings.warn(
            "No C++ compiler and make were found, so the spiking network runs inside Python "
            "(slower by a factor of 100 and more); install g++ and make, or set CXX.",
            RuntimeWarning,
            stacklevel=2,
        )
    return RuntimeSimulator(assemble, outputs, target=kind)


def refuse_unsupported(network: Network) -> None:
    """Refuse what standalone mode would ignore or get wrong.

    - `network_operation` is silently skipped by a compiled network.
    - OpenMP changes the order of random numbers, hence the result, and is slower here.
    - Two `(summed)` pathways onto one variable overwrite each other.
    - A compiled circuit ticks with one clock: an object with another would run in every tick.
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
    clocks = {obj.clock.name: obj.name for obj in network.sorted_objects}
    if len(clocks) > 1:
        raise UnsupportedNetworkError(
            f"The objects of the network follow the clocks {sorted(clocks)}, but a circuit ticks "
            "with one; leave out `dt` and `clock` of your monitors, and give groups "
            "`clock=net.clock`."
        )


@contextmanager
def brian_device(device: str | Device, target: str | None = None) -> Iterator[None]:
    """Activate a Brian device (and code target), and leave Brian as it was found."""
    previous_target = prefs.codegen.target
    set_device(device, build_on_run=False)
    if target is not None:
        prefs.codegen.target = target
    try:
        with without_order_warnings():
            yield
    finally:
        prefs.codegen.target = previous_target
        reset_device()


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
    assemble : callable
        Returns the circuit.
    outputs : tuple of str
        "object.variable" of what a run returns.
    target : {"numpy", "cython"}
        Brian's code generation target.
    """

    def __init__(self, assemble: Assemble, outputs: tuple[str, ...], target: str = "numpy") -> None:
        self._target = target
        self._outputs = outputs
        with brian_device("runtime", target):
            self._circuit = assemble()
            refuse_unsupported(self._circuit.network)

    def run(
        self,
        values: Values,
        clamped: Mapping[str, np.ndarray],
        *,
        dt: float,
        streams: Streams,
        unchanged: Collection[str] = (),
    ) -> Arrays:
        """Present tokens; see `Simulator.run`."""
        circuit = self._circuit
        count_tokens(circuit.sizes.capacity, circuit.layers, clamped)
        random_state = np.random.get_state()  # noqa: NPY002 (Brian draws from this one)
        with brian_device("runtime", self._target):
            try:
                seeds = dict(zip(*(each.tolist() for each in streams), strict=True))

                def reseed(token: int) -> None:
                    if token in seeds:
                        set_brian_seed(seeds[token])

                for path, value in values.items():
                    circuit.variable(path).set_value(value)
                circuit.clock.dt = dt * second
                t_before = float(circuit.network.t / second)
                recorded = ("winners.i", "winners.t", *circuit.recorded)
                before = {path: len(self._read(path)) for path in recorded}
                circuit.present(
                    clamped["words"],
                    clamped["documents"],
                    clamped.get("tokens"),
                    before_token=reseed,
                )
            finally:
                np.random.set_state(random_state)  # noqa: NPY002
        asked = [path for path in self._outputs if path not in unchanged]
        result = {path: self._read(path).copy() for path in asked}
        for path, start in before.items():
            shift = t_before if path.endswith(".t") else 0
            result[path] = self._read(path)[start:] - shift
        return result

    def another(self) -> RuntimeSimulator:
        """The same: inside Python runs take turns, and none depends on the one before."""
        return self

    def _read(self, path: str) -> np.ndarray:
        return np.asarray(self._circuit.variable(path).get_value())
