"""Circuits as C++ programs: compiled once, cached on disk, run with new values each time.

The cache (in the folder BRIAN_LDA_CACHE, or the user's cache) holds one folder per program, named
by the hash of everything that it depends on: the Brian objects of the network with their equations
and sizes, the versions of Brian and of the compiler (`program_key`). A folder appears by an atomic
rename when it is complete; of processes that start together one compiles and the others wait
(`build_lock`).

A program compiled elsewhere may be put into the folder "shipped" of the cache, under its portable
key, which leaves machine and compiler out: then no compiler is needed here
(`brian_lda.sweeps.programs` does that for the workers of a sweep).

A program stays alive between runs and keeps its arrays (`live_program`). What has not changed since
is not sent again. A run depends on its values, tokens and seed alone, not on the runs before: one
whose process was killed is simply made again, by a new process.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from pathlib import Path

import numpy as np

from brian_lda.circuit.circuit import Circuit, Values, stalled_message
from brian_lda.corpus.locate import cache_dir
from brian_lda.errors import BuildError, SimulationError
from brian_lda.simulation.circuit_device import CircuitDevice
from brian_lda.simulation.compile_program import STALLED, STALLED_AFTER, STREAMS, compile_into
from brian_lda.simulation.live_program import LiveProgram, ProgramEnded
from brian_lda.simulation.program_key import compiler, program_key
from brian_lda.simulation.simulator import (
    Arrays,
    Assemble,
    brian_device,
    count_tokens,
    refuse_unsupported,
)
from brian_lda.simulation.streams import Streams

logger = logging.getLogger(__name__)

LONG = 2**18  # bytes; to send a longer array takes no longer than to compare it
NEVER = 2**31 - 1  # the token with which the stream after the last begins
_RECORDS: list[dict[str, Path]] = []  # of `programs_used`


def cache_folder() -> Path:
    """Where compiled networks are kept, in the package's cache folder (BRIAN_LDA_CACHE)."""
    return cache_dir() / "networks"


def compiler_found() -> bool:
    """Whether a C++ compiler and make can be called."""
    return bool(shutil.which(compiler()) and shutil.which("make"))


def shipped_folder() -> Path:
    """Where programs are kept that were compiled on another machine."""
    return cache_folder() / "shipped"


@contextmanager
def programs_used() -> Iterator[dict[str, Path]]:
    """The programs of all simulators made inside: portable key to folder."""
    used: dict[str, Path] = {}
    _RECORDS.append(used)
    try:
        yield used
    finally:
        _RECORDS.remove(used)


class StandaloneSimulator:
    """Runs a circuit as a compiled program.

    Parameters
    ----------
    assemble : callable
        Returns the circuit.
    outputs : tuple of str
        "object.variable" of what a run returns.

    Attributes
    ----------
    built : bool
        Whether this object had to compile (False: found in the cache).
    """

    def __init__(self, assemble: Assemble, outputs: tuple[str, ...]) -> None:
        device = CircuitDevice()  # our own, so that a user's standalone project is left alone
        with brian_device(device):
            circuit = assemble()
            refuse_unsupported(circuit.network)
            portable = program_key(circuit, outputs, portable=True)
            self._folder = shipped_folder() / portable
            if not (self._folder / "manifest.json").exists():
                self._folder = cache_folder() / program_key(circuit, outputs)
            self._find_or_compile(device, circuit, outputs)
        self._manifest = json.loads((self._folder / "manifest.json").read_text())
        self._program = LiveProgram(self._folder)
        for used in _RECORDS:
            used[portable] = self._folder

    def _find_or_compile(
        self, device: CircuitDevice, circuit: Circuit, outputs: tuple[str, ...]
    ) -> None:
        self.built = not (self._folder / "manifest.json").exists()
        if self.built and not compiler_found():
            raise BuildError(
                "this network is neither compiled nor shipped, and no C++ compiler and make were "
                "found here; install g++ and make, or set CXX."
            )
        if self.built:
            try:
                self.built = compile_into(self._folder, device, circuit, outputs)
            except OSError as error:
                raise BuildError(
                    f"the compiled network could not be stored in {self._folder.parent} ({error}); "
                    "free some space, or set BRIAN_LDA_CACHE to another folder."
                ) from error

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
        n_tokens = count_tokens(self._manifest["capacity"], self._manifest["layers"], clamped)
        values = {**values, "pacer.n_tokens": n_tokens}
        for name, numbers in zip(STREAMS, streams, strict=True):
            values[name] = np.append(numbers, NEVER)
        for name, index in clamped.items():  # what is behind the last token is not read
            values[f"{name}_feed.neuron_index"] = index
        with self._program.in_use:
            try:
                try:
                    return self._ask(values, dt, unchanged)
                except ProgramEnded as ended:
                    if ended.code >= 0:
                        raise
                    logger.warning("the compiled network was killed; the run is made again")
                    return self._ask(values, dt, unchanged)
            except ProgramEnded as ended:
                raise ended.as_error() from None
            except OSError as error:
                raise SimulationError(
                    f"the compiled network in {self._folder} could not be started ({error}). The "
                    "weights are those from before the run."
                ) from error

    def another(self) -> StandaloneSimulator:
        """The same program as another process."""
        other = copy(self)
        other._program = LiveProgram(self._folder)
        return other

    def _ask(self, values: Values, dt: float, unchanged: Collection[str]) -> Arrays:
        """One order to the program: send what it does not hold, take what the run has changed."""
        program, variables = self._program, self._manifest["variables"]
        program.wake(f"pacer.tick={dt!r}")
        if program.holds and program.holds.keys() != values.keys():
            program.end()  # a variable that was set once must be set for ever
            program.wake(f"pacer.tick={dt!r}")
        sets = []
        for path, value in values.items():
            array = _as_held(value, **variables[path])
            if not _same(array, program.holds.get(path)):
                sets.append((variables[path]["number"], array))
                program.holds[path] = _remembered(array)
        paths = [path for path in self._manifest["outputs"] if path not in unchanged]
        asked = [(variables[path]["number"], variables[path]["dtype"]) for path in paths]
        status, arrays = program.order(sets, asked)
        if status == STALLED:
            program.end()
            raise SimulationError(stalled_message(STALLED_AFTER))
        outputs = dict(zip(paths, arrays, strict=True))
        expected = {path: variables[path]["size"] for path in paths}
        expected |= {path: values["pacer.n_tokens"] for path in ("winners.i", "winners.t")}
        for path, array in outputs.items():
            if expected[path] is not None and array.size != expected[path]:
                program.end()
                raise ProgramEnded(0, f"{path} has {array.size} values, not {expected[path]}")
            if path in program.holds:
                program.holds[path] = array
        return outputs


def _as_held(value: np.ndarray | float, *, dtype: str, size: int, **_: object) -> np.ndarray:
    """A value as the program stores it: a number fills the whole array."""
    if np.ndim(value) == 0:
        return np.full(size, value, dtype)
    return np.ascontiguousarray(value, dtype).ravel()


def _same(array: np.ndarray, held: np.ndarray | None) -> bool:
    """Whether the program is known to hold these very bytes.

    Arrays that came out of a program cannot be written to: the same memory is the same content.
    """
    if held is None or array.size != held.size:
        return False
    if array.__array_interface__["data"][0] == held.__array_interface__["data"][0]:
        return True
    bits = f"u{array.itemsize}"  # not a number equals itself here
    return array.nbytes < LONG and np.array_equal(array.view(bits), held.view(bits))


def _remembered(array: np.ndarray) -> np.ndarray | None:
    """What a program was sent, as `_same` compares it; None: whatever comes next is sent."""
    if not array.flags.writeable:
        return array
    return array.copy() if array.nbytes < LONG else None
