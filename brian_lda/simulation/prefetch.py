"""C++ that brings what the next token needs into the processor's caches while this one is raced.

A token reads K weights of its word and K of its document, anywhere in arrays of many megabytes. The
processor cannot guess where, and waits for the memory; but the list of tokens is known, and a race
takes ten times as long as memory needs to answer. Nothing of the result depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from brian2 import Synapses
from brian2.core.variables import ArrayVariable
from brian2.devices.cpp_standalone.device import CPPStandaloneDevice

from brian_lda.circuit.circuit import Circuit
from brian_lda.circuit.clamped_layer import ClampedLayer

DEFINITION = """
    const auto fetch = [](const void *row, size_t n_bytes) {  // all cache lines that it touches
        const char *line = static_cast<const char *>(row), *end = line + n_bytes;
        for (line -= reinterpret_cast<uintptr_t>(line) % 64; line < end; line += 64)
            __builtin_prefetch(line);
    };"""


def fetch_token(circuit: Circuit, device: CPPStandaloneDevice, token: str) -> str:
    """C++ that fetches what a token will read and write; it needs `DEFINITION`.

    Parameters
    ----------
    circuit : Circuit
        Its code objects must have been made.
    device : CPPStandaloneDevice
    token : str
        C++ expression: position in the token sequence, not behind its end.
    """
    lines = []
    for layer in circuit.layers.values():
        index = device.get_array_name(layer.feed.variables["neuron_index"])
        for variable, size in _rows(circuit, layer):
            array = device.get_array_name(variable, access_data=False)
            row = f"&{array}[(size_t){index}[{token}] * {size}]"
            lines.append(f"fetch({row}, {size * np.dtype(variable.dtype).itemsize});")
    return "\n            ".join(lines)


def _rows(circuit: Circuit, layer: ClampedLayer) -> Iterator[tuple[ArrayVariable, int]]:
    """What the spike of a neuron reads or writes, each with the length of the neuron's own row.

    One number of the neuron itself; of its synapses, one for each target. Only where synapses
    connect all to all are these a row.
    """
    used = [code for each in layer.contained_objects for code in each.code_objects]
    width = {layer.name: 1}
    for synapses in circuit.network.objects:
        if isinstance(synapses, Synapses) and synapses.source is layer:
            pathways = [each for each in synapses._pathways if each.prepost == "pre"]
            used += [pathway.codeobj for pathway in pathways]
            if synapses.name not in circuit.sparse:
                width[synapses.name] = len(synapses.target)
    found = {id(variable): variable for code in used for variable in code.variables.values()}
    for variable in found.values():
        if isinstance(variable, ArrayVariable) and not (variable.scalar or variable.read_only):
            owner = getattr(variable.owner, "name", "")
            if owner in width and not variable.name.startswith("_"):
                yield variable, width[owner]
