"""What a compiled network asks the memory for before a token is shown.

No result depends on it, so that only the C++ itself can tell. Nothing is compiled here.
"""

import re
from importlib import import_module

from brian2 import second

from brian_lda.circuit.circuit import Sizes
from brian_lda.circuit.inhibition import Race
from brian_lda.simulation.circuit_device import CircuitDevice
from brian_lda.simulation.prefetch import fetch_token
from brian_lda.simulation.simulator import brian_device

V, D, K, B = 7, 5, 3, 2
WORD = {"words.varphi": 8, "alpha.w": 8 * K}
DOCUMENT = {f"documents.{name}": 8 for name in ("a", "gain", "n_beta", "per_token")}
DOCUMENT["beta.p"] = 8 * K
CALL = re.compile(r"fetch\(&_(?:dynamic_)?array_(\w+)\[\(size_t\)_array_(\w+)_feed_\w+\[next\]")
ROW = re.compile(r" \* (\d+)\], (\d+)\);")


def fetched(file, sizes):
    """Bytes of each row by the layer whose neuron it belongs to and "object_variable"."""
    device = CircuitDevice()
    with brian_device(device):
        circuit = import_module(f"brian_lda.models.{file}").wire(sizes, Race())
        circuit.network.run(0 * second, namespace={})
        code = fetch_token(circuit, device, "next")
    found = {}
    for line in code.splitlines():
        (array, layer), (width, n_bytes) = CALL.search(line).groups(), ROW.search(line).groups()
        found[layer, array] = int(width), int(n_bytes)
    return found


def rows(layer, variables, itemsize=8):
    return {
        (layer, path.replace(".", "_")): (n_bytes // itemsize, n_bytes)
        for path, n_bytes in variables.items()
    }


def test_all_that_a_token_of_ed_spike_lda_reads_is_fetched():
    expected = rows("words", WORD) | rows("documents", DOCUMENT)
    assert fetched("ed_spike_lda", Sizes(V, D, K)) == expected


def test_eligibilities_and_remembered_assignments_are_fetched():
    found = fetched("semi_spike_lda", Sizes(V, D, K, n_tokens=9))
    expected = rows("words", {"alpha.w": 8 * K})
    expected |= rows("words", {"alpha.N_zw": 4 * K}, itemsize=4)  # counts
    expected |= rows("words", {"words.varphi": 8})  # what is never a token's own vote
    expected |= rows("documents", {"beta.p": 8 * K})
    assert {key: row for key, row in found.items() if key[0] != "tokens"} == expected
    assert ("tokens", "memory_z") in found


def test_synapses_that_are_no_rows_are_left_alone():
    found = fetched("ed_spike_lda_split", Sizes(V, D, K, n_blocks=B))
    assert {array.split("_")[0] for _, array in found} == {"words", "documents"}
