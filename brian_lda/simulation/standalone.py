"""Circuits as C++ programs: compiled once, cached on disk, run with new values each time.

The cache (in the folder BRIAN_LDA_CACHE, or the user's cache) holds one folder per program, named
by the hash of everything that it depends on: the Brian objects of the network with their equations
and sizes, the versions of Brian and of the compiler (`program_key`). A folder appears by an atomic
rename when it is complete; of processes that start together one compiles and the others wait
(`build_lock`).

A program compiled elsewhere may be put into the folder "shipped" of the cache, under its portable
key, which leaves machine and compiler out: then no compiler is needed here
(`brian_lda.sweeps.programs` does that for the workers of a sweep).

Each run works in a temporary folder of its own. Arrays go in and out as raw binary files; a run
that dies or fills the disk leaves everything that was there before untouched.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from brian2 import Synapses, prefs, second
from brian2.core.variables import ArrayVariable
from brian2.devices.cpp_standalone.device import CPPStandaloneDevice

from brian_lda.circuit.circuit import Circuit, Values, stalled_message
from brian_lda.corpus.locate import cache_dir
from brian_lda.errors import BuildError, SimulationError
from brian_lda.simulation.build_lock import sole_builder
from brian_lda.simulation.program_key import compiler, program_key
from brian_lda.simulation.simulator import (
    Arrays,
    Assemble,
    brian_device,
    count_tokens,
    refuse_unsupported,
)

logger = logging.getLogger(__name__)

STALLED_EXIT = 3
STALLED_AFTER = 10_000_000  # ticks without a winner: seconds
_RECORDS: list[dict[str, Path]] = []  # of `programs_used`
# Synapses are read at random places of arrays of many megabytes: glibc's large pages spare the
# address look-ups (8 % at V = 69 060). Other C libraries ignore the variable.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def cache_folder() -> Path:
    """Where compiled networks are kept, in the package's cache folder (BRIAN_LDA_CACHE)."""
    return cache_dir() / "networks"


def compiler_found() -> bool:
    """Whether a C++ compiler and make can be called."""
    return bool(shutil.which(compiler()) and shutil.which("make"))


def _scratch_folder(n_values: int) -> Path:
    """Where runs exchange arrays: TMPDIR if set, else memory if it has room, else the disk."""
    memory = Path("/dev/shm")
    needed = 64 * n_values + 2**26  # in and out, and what Brian writes besides
    if "TMPDIR" not in os.environ and os.access(memory, os.W_OK):
        if shutil.disk_usage(memory).free > needed:
            return memory
    return Path(tempfile.gettempdir())


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
        device = CPPStandaloneDevice()  # our own, so that a user's standalone project is left alone
        with brian_device(device):
            circuit = assemble()
            refuse_unsupported(circuit.network)
            portable = program_key(circuit, outputs, portable=True)
            self._folder = shipped_folder() / portable
            if not (self._folder / "manifest.json").exists():
                self._folder = cache_folder() / program_key(circuit, outputs)
            self._find_or_compile(device, circuit, outputs)
        self._manifest = json.loads((self._folder / "manifest.json").read_text())
        for used in _RECORDS:
            used[portable] = self._folder

    def _find_or_compile(
        self, device: CPPStandaloneDevice, circuit: Circuit, outputs: tuple[str, ...]
    ) -> None:
        self.built = not (self._folder / "manifest.json").exists()
        if self.built and not compiler_found():
            raise BuildError(
                "this network is neither compiled nor shipped, and no C++ compiler and make were "
                "found here; install g++ and make, or set CXX."
            )
        if self.built:
            try:
                self.built = _compile_into(self._folder, device, circuit, outputs)
            except OSError as error:
                raise BuildError(
                    f"the compiled network could not be stored in {self._folder.parent} ({error}); "
                    "free some space, or set BRIAN_LDA_CACHE to another folder."
                ) from error

    def run(
        self, values: Values, clamped: Mapping[str, np.ndarray], *, dt: float, seed: int
    ) -> Arrays:
        """Present tokens; see `Simulator.run`."""
        capacity = self._manifest["capacity"]
        n_tokens = count_tokens(capacity, self._manifest["layers"], clamped)
        values = dict(values)
        for name, index in clamped.items():
            neuron_index = np.zeros(capacity, np.int32)
            neuron_index[:n_tokens] = index
            values[f"{name}_feed.neuron_index"] = neuron_index
        values["pacer.n_tokens"], values["pacer.random_seed"] = n_tokens, seed
        values["pacer.tick"] = dt
        scratch = _scratch_folder(sum(np.size(value) for value in values.values()))
        try:
            with tempfile.TemporaryDirectory(prefix="brian_lda_run_", dir=scratch) as name:
                folder = Path(name)
                self._call(folder, self._write_inputs(folder, values))
                return self._read_outputs(folder / "results", n_tokens)
        except OSError as error:
            raise SimulationError(
                f"the simulation could not write or read its files ({error}); free some space in "
                f"{scratch} or point TMPDIR to another disk. The weights are those from before the "
                "run."
            ) from error

    def _write_inputs(self, folder: Path, values: Values) -> list[str]:
        for name in ("in", "results"):
            (folder / name).mkdir()
        static = self._folder / "static_arrays"
        if static.exists():
            shutil.copytree(static, folder / "static_arrays")
        arguments = []
        for path, value in values.items():
            dtype = np.dtype(self._manifest["variables"][path]["dtype"])
            if np.ndim(value) == 0:
                arguments.append(f"{path}={dtype.type(value).item()!r}")
            else:
                np.ascontiguousarray(value, dtype).tofile(folder / "in" / path)
                arguments.append(f"{path}=in/{path}")
        return arguments

    def _call(self, folder: Path, arguments: list[str]) -> None:
        command = [str(self._folder / "main"), "--results_dir", f"{folder / 'results'}/"]
        process = subprocess.run(
            command + arguments,
            cwd=folder,
            env={**HUGE_PAGES, **os.environ},
            capture_output=True,
            text=True,
            check=False,
        )
        message = (process.stderr + process.stdout).strip()
        if process.returncode == STALLED_EXIT:
            raise SimulationError(stalled_message(STALLED_AFTER))
        if process.returncode < 0:
            name = signal.Signals(-process.returncode).name
            raise SimulationError(
                f"the compiled network was stopped by {name} in mid-run. The weights are those "
                "from before the run; present the tokens again (SIGKILL often means out of memory)."
            )
        if process.returncode or message:
            raise SimulationError(
                f"the compiled network failed (exit code {process.returncode}): {message[-500:]}. "
                "The weights are those from before the run; check the free space of "
                f"{folder.parent}."
            )

    def _read_outputs(self, results: Path, n_tokens: int) -> Arrays:
        outputs = {}
        for path in self._manifest["outputs"]:
            variable = self._manifest["variables"][path]
            outputs[path] = np.fromfile(results / variable["file"], variable["dtype"])
            expected = variable["size"]
            if path.startswith("winners."):
                expected = n_tokens
            if expected is not None and outputs[path].size != expected:
                raise OSError(f"{path} has {outputs[path].size} values instead of {expected}")
        return outputs


def _compile_into(
    folder: Path, device: CPPStandaloneDevice, circuit: Circuit, outputs: tuple[str, ...]
) -> bool:
    """Generate, compile, keep the program and the map of its variables.

    Returns False if another process did so in the meantime.
    """
    started = time.monotonic()
    with sole_builder(folder) as scratch:
        if (folder / "manifest.json").exists():
            return False
        logger.info("compiling the spiking network (once; kept in %s)", folder)
        project, finished = scratch / "project", scratch / "finished"
        manifest = _generate_and_compile(project, device, circuit, outputs)
        finished.mkdir()
        shutil.move(project / "main", finished / "main")
        if any((project / "static_arrays").iterdir()):
            shutil.move(project / "static_arrays", finished / "static_arrays")
        (finished / "manifest.json").write_text(json.dumps(manifest, indent=1))
        try:
            finished.rename(folder)
        except OSError:  # no lock here, and another process was first; its program is the same
            if not (folder / "manifest.json").exists():
                raise
            return False
    logger.info("compiled in %.0f s", time.monotonic() - started)
    return True


def _generate_and_compile(
    project: Path, device: CPPStandaloneDevice, circuit: Circuit, outputs: tuple[str, ...]
) -> dict[str, object]:
    # Brian compiles with -ffast-math, but glibc offers its vectorised log and exp only under this
    # macro, which -fno-finite-math-only takes away again. They are exact to 4 units in the last
    # place.
    device.define_macros.append(("__FAST_MATH__", "1"))
    device.apply_run_args()
    tick = _value(circuit, device, "tick")
    device.insert_code("main", f"{circuit.clock.name}.dt[0] = {tick};")
    for path, expression in circuit.first_values:
        owner, variable = path.split(".")
        setattr(circuit.network[circuit.prefix + owner], variable, expression)
    circuit.network.run(0 * second, namespace={})  # lists the objects; the loop below runs them
    device.insert_code("main", _run_until_done(circuit, device))
    jobs = prefs.devices.cpp_standalone.extra_make_args_unix
    prefs.devices.cpp_standalone.extra_make_args_unix = [f"-j{os.cpu_count() or 1}"]
    try:
        device.build(directory=str(project), compile=True, run=False, with_output=False)
    except RuntimeError as error:
        raise BuildError(
            f"the C++ compiler could not build the network ({error}). Try it by hand with "
            f"`{compiler()} --version`, or use simulator='numpy'."
        ) from error
    finally:
        prefs.devices.cpp_standalone.extra_make_args_unix = jobs
    return _manifest(circuit, device, outputs)


def _value(circuit: Circuit, device: CPPStandaloneDevice, name: str) -> str:
    """C++ name of one of the pacer's numbers."""
    return f"{device.get_array_name(circuit.pacer.variables[name])}[0]"


def _run_until_done(circuit: Circuit, device: CPPStandaloneDevice) -> str:
    """C++ that seeds the run and ticks until every token has its winner.

    All objects of a circuit share one clock, so that a tick is to run them in the order in which
    Brian has listed them. Brian's own loop asks in every tick which clock is next and (2.9) what
    time it is: a third of a fast network's time.
    """
    network = circuit.network.name
    n_winners = f"{device.get_array_name(circuit.winners.variables['N'])}[0]"
    n_tokens = _value(circuit, device, "n_tokens")
    declare_windows, look_at_windows, unless_closed = _windows(circuit, device)
    return f"""
    _random_generators[0].seed((unsigned long){_value(circuit, device, "random_seed")});
    long idle = 0, found = {n_winners};
    {declare_windows}
    while (found < {n_tokens}) {{
        {look_at_windows}
        for (size_t i = 0; i < {network}.objects.size(); i++)
            if ({network}.objects[i].second{unless_closed}) {network}.objects[i].second();
        {circuit.clock.name}.tick();
        idle = {n_winners} > found ? 0 : idle + 1;
        found = {n_winners};
        if (idle > {STALLED_AFTER}) exit({STALLED_EXIT});
    }}
    """


def _windows(circuit: Circuit, device: CPPStandaloneDevice) -> tuple[str, str, str]:
    """C++ that lets monitors run only in ticks of tokens that are to be recorded.

    Declaration, what a tick begins with, and a condition; nothing if nothing is recorded.
    """
    if not circuit.listening:
        return "", "", ""
    windows = circuit.recorded_windows
    first, last = (device.get_array_name(windows.variables[name]) for name in ("first", "last"))
    objects = f"{circuit.network.name}.objects"
    runs = [f"_run_{code.name}" for monitor in circuit.listening for code in monitor.code_objects]
    declare = f"""
    std::vector<bool> listens({objects}.size());
    for (size_t i = 0; i < listens.size(); i++)
        for (void (*run)() : {{{", ".join(runs)}}})
            if ({objects}[i].second == run) listens[i] = true;
    int window = 0;"""
    look = f"""
        while (window < {len(windows)} && found >= {last}[window]) window++;
        const bool open = window < {len(windows)} && found >= {first}[window];"""
    return declare, look, " && (open || !listens[i])"


def _manifest(
    circuit: Circuit, device: CPPStandaloneDevice, outputs: tuple[str, ...]
) -> dict[str, object]:
    variables = {}
    for variable in device.arrays:
        if not isinstance(variable, ArrayVariable):
            continue
        owner: str = variable.owner.name
        variables[f"{owner}.{variable.name}"] = {
            "file": device.get_array_filename(variable),
            "dtype": np.dtype(variable.dtype).str,
            "size": None if owner.startswith(("winners", "recorded")) else _size(circuit, variable),
        }
    return {
        "capacity": circuit.sizes.capacity,
        "layers": list(circuit.layers),
        "outputs": ["winners.i", "winners.t", *circuit.recorded, *outputs],
        "variables": variables,
    }


def _size(circuit: Circuit, variable: ArrayVariable) -> int | None:
    """Expected length of an output; synapses are full matrices, sized when the program runs."""
    if isinstance(variable.owner, Synapses) and not variable.scalar:
        return len(variable.owner.source) * len(variable.owner.target)
    return int(variable.size)
