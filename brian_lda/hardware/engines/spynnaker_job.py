"""The process that `brian_lda.hardware.engines.spynnaker` starts: it builds and maps.

Its working folder, which is its home as well, holds network.npz and .spynnaker.cfg.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import numpy as np

from brian_lda.hardware.engines.spynnaker import NETWORK, RESULT


def main() -> None:
    with np.load(NETWORK) as file:
        network = dict(file)
    import pyNN.spiNNaker as sim  # reads the settings
    from spynnaker.pyNN.data import SpynnakerDataView
    from spynnaker.pyNN.extra_models import StocExpStable

    sim.setup(timestep=1.0)
    ticks, rest = int(network["ticks"]), float(network["rest"])
    begin = 1 + ticks * np.arange(len(network["words"]))
    (V, K), D = network["word_weights"].shape, len(network["doc_weights"])
    words = sim.Population(V, _sources(sim, V, network["words"], begin), label="words")
    docs = sim.Population(D, _sources(sim, D, network["docs"], begin), label="documents")
    end = begin + ticks - 2
    silence = sim.Population(1, sim.SpikeSourceArray(spike_times=[end.tolist()]), label="silence")
    largest = float(network["largest_sum"])
    topics = sim.Population(
        K,
        StocExpStable(v_reset=rest, tau=float(network["tau"]), tau_refrac=1.0, bias=0.0),
        label="topics",
        initial_values={"v_init": rest},
        # Words come one at a time: without this, sPyNNaker reckons with all of them at once.
        additional_parameters={"max_expected_summed_weight": [largest, largest]},
    )
    for source, weights in ((words, "word_weights"), (docs, "doc_weights")):
        connector = sim.FromListConnector(_rows(network[weights]))
        sim.Projection(source, topics, connector, receptor_type="excitatory")
    inhibition = sim.StaticSynapse(weight=-rest, delay=1.0)
    for source, others_only in ((topics, True), (silence, False)):
        connector = sim.AllToAllConnector(allow_self_connections=not others_only)
        sim.Projection(source, topics, connector, inhibition, receptor_type="inhibitory")
    sim.run(float(ticks * len(begin) + 1))

    cores: Counter[str] = Counter()
    chips = set()
    for place in SpynnakerDataView.iterate_placemements():
        population = getattr(place.vertex.app_vertex, "label", None)
        cores[population or "monitors"] += 1
        if population:
            chips.add((place.x, place.y))
    tables = SpynnakerDataView.get_uncompressed().routing_tables
    vertex = topics._vertex
    steps = 1.0 / np.asarray(vertex.get_weight_scales(vertex.get_ring_buffer_shifts()))
    result = {
        "cores": dict(cores),
        "chips": len(chips),
        "routing_entries": max((table.number_of_entries for table in tables), default=0),
        "weight_steps": dict(zip(("excitatory", "inhibitory"), steps.tolist(), strict=True)),
        "cpu_seconds": time.process_time(),
    }
    sim.end()
    Path(RESULT).write_text(json.dumps(result), encoding="utf-8")


def _sources(sim, n: int, sources: np.ndarray, begin: np.ndarray):  # type: ignore[no-untyped-def]
    """Spike trains of sources; sPyNNaker refuses a population that never spikes."""
    times = [begin[sources == i].tolist() for i in range(n)]
    return sim.SpikeSourceArray(spike_times=times)


def _rows(weights: np.ndarray) -> np.ndarray:
    """Source, target, weight and delay of each synapse."""
    source, target = np.indices(weights.shape)
    delay = np.ones(weights.size)
    return np.column_stack([source.ravel(), target.ravel(), weights.ravel(), delay])


if __name__ == "__main__":
    main()
