"""From a circuit to a C++ program that takes orders, with the map of its variables.

The program is Brian's own, with two things put into its `main`: our loop over the ticks of a run,
and around it a loop over orders (`serve.h`), so that one process serves all runs.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from pathlib import Path

import numpy as np
from brian2 import Synapses, prefs, second
from brian2.core.variables import ArrayVariable, DynamicArrayVariable
from brian2.devices.cpp_standalone.device import CPPStandaloneDevice
from brian2.synapses.synapses import SynapticPathway

from brian_lda.circuit.circuit import Circuit
from brian_lda.errors import BuildError
from brian_lda.simulation import prefetch
from brian_lda.simulation.build_lock import sole_builder
from brian_lda.simulation.program_key import SERVE, compiler

logger = logging.getLogger(__name__)

STREAMS = ("stream_begins", "stream_seed")  # of random numbers; see `Simulator.run`
STALLED = 3  # status of a run that gave up
STALLED_AFTER = 10_000_000  # ticks without a winner: seconds
LOOKS_UP_EVERY = 2**14  # ticks, to see whether its caller is still there: milliseconds


def compile_into(
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
    device.insert_code("before_start", "brian_lda::Server server;")
    device.apply_run_args()
    tick = _value(circuit, device, "tick")
    device.insert_code("main", f"{circuit.clock.name}.dt[0] = {tick};")
    circuit.network.run(0 * second, namespace={})  # lists the objects; the loop below runs them
    variables = _exchanged(device)
    device.insert_code("main", _begin_order(circuit, device, variables))
    for path, expression in circuit.first_values:
        owner, variable = path.split(".")
        setattr(circuit.network[circuit.prefix + owner], variable, expression)
    device.insert_code("main", _run_until_done(circuit, device))
    device.headers.append(f'"{SERVE.name}"')
    project.mkdir()
    shutil.copy(SERVE, project)
    jobs = prefs.devices.cpp_standalone.extra_make_args_unix
    # Which file depends on which (make.deps) matters to nobody who builds once.
    prefs.devices.cpp_standalone.extra_make_args_unix = [f"-j{os.cpu_count() or 1} -o make.deps"]
    try:
        device.build(directory=str(project), compile=True, run=False, with_output=False)
    except RuntimeError as error:
        raise BuildError(
            f"the C++ compiler could not build the network ({error}). Try it by hand with "
            f"`{compiler()} --version`, or use simulator='numpy'."
        ) from error
    finally:
        prefs.devices.cpp_standalone.extra_make_args_unix = jobs
    return _manifest(circuit, variables, outputs)


def _value(circuit: Circuit, device: CPPStandaloneDevice, name: str) -> str:
    """C++ name of one of the pacer's numbers."""
    return f"{device.get_array_name(circuit.pacer.variables[name])}[0]"


def _exchanged(device: CPPStandaloneDevice) -> list[ArrayVariable]:
    """What a run can change: all arrays but the wiring. And how many synapses each neuron has."""
    return [
        variable
        for variable in device.arrays
        if isinstance(variable, ArrayVariable)
        and (variable.name == "N_incoming" or not (variable.constant and variable.read_only))
    ]


def _begin_order(
    circuit: Circuit, device: CPPStandaloneDevice, variables: list[ArrayVariable]
) -> str:
    """C++ that names the arrays to the server, and opens the loop over orders."""
    lines = []
    for variable in variables:
        name = device.get_array_name(variable, access_data=False)
        size = "" if isinstance(variable, DynamicArrayVariable) else f", {variable.size}"
        lines.append(f"server.add({name}{size});")
    for name in STREAMS:  # one more than there can be tokens: the end
        lines.append(f"static int32_t {name}[{circuit.sizes.capacity + 1}];")
        lines.append(f"server.add({name}, {circuit.sizes.capacity + 1});")
    lines.append("while (server.next_order()) {")
    for pathway in circuit.network.sorted_objects:
        if isinstance(pathway, SynapticPathway):  # spikes that a run leaves on their way
            lines.append(f"for (auto &spikes : {pathway.name}.queue[0]->queue) spikes.clear();")
    return "\n".join(lines)


def _run_until_done(circuit: Circuit, device: CPPStandaloneDevice) -> str:
    """C++ that ticks until every token has its winner, answers, and goes on to the next order.

    Before some tokens a new stream of random numbers begins (`streams`).

    All objects of a circuit share one clock, so that a tick is to run them in the order in which
    Brian has listed them. Brian's own loop asks in every tick which clock is next and (2.9) what
    time it is: a third of a fast network's time. When there are no more orders the program ends
    without writing its arrays to files, as Brian's would.
    """
    network = circuit.network.name
    n_winners = f"{device.get_array_name(circuit.winners.variables['N'])}[0]"
    n_tokens = _value(circuit, device, "n_tokens")
    declare_windows, look_at_windows, unless_closed = _windows(circuit, device)
    return f"""
    size_t stream = 0;
    long idle = 0, found = {n_winners}, ticks = 0;
    {declare_windows}
    {prefetch.DEFINITION}
    while (found < {n_tokens} && idle <= {STALLED_AFTER}) {{
        if (found == {STREAMS[0]}[stream])
            _random_generators[0].seed((unsigned long){STREAMS[1]}[stream++]);
        if (!idle && found + 1 < {n_tokens}) {{
            {prefetch.fetch_token(circuit, device, "found + 1")}
        }}
        {look_at_windows}
        for (size_t i = 0; i < {network}.objects.size(); i++)
            if ({network}.objects[i].second{unless_closed}) {network}.objects[i].second();
        {circuit.clock.name}.tick();
        idle = {n_winners} > found ? 0 : idle + 1;
        found = {n_winners};
        if (++ticks % {LOOKS_UP_EVERY} == 0 && server.abandoned()) _exit(1);
    }}
    server.answer(found < {n_tokens} ? {STALLED} : 0);
    }}
    _exit(0);
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
    circuit: Circuit, variables: list[ArrayVariable], outputs: tuple[str, ...]
) -> dict[str, object]:
    described = {}
    for number, variable in enumerate(variables):
        owner: str = variable.owner.name
        described[f"{owner}.{variable.name}"] = {
            "number": number,
            "dtype": np.dtype(variable.dtype).str,
            "size": None if owner.startswith(("winners", "recorded")) else _size(circuit, variable),
        }
    for number, name in enumerate(STREAMS, start=len(variables)):
        described[name] = {"number": number, "dtype": "<i4", "size": None}
    return {
        "capacity": circuit.sizes.capacity,
        "layers": list(circuit.layers),
        "outputs": ["winners.i", "winners.t", *circuit.recorded, *outputs],
        "variables": described,
    }


def _size(circuit: Circuit, variable: ArrayVariable) -> int | None:
    """Length of an array; those of synapses are sized when the program runs."""
    if getattr(variable, "ndim", 1) > 1:
        return None
    if isinstance(variable.owner, Synapses) and not variable.scalar:
        source, target = len(variable.owner.source), len(variable.owner.target)
        if variable.name == "N_incoming":
            return target
        return circuit.sparse.get(variable.owner.name, source * target)
    return int(variable.size)
