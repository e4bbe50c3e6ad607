"""All limits of chips at once in a compiled network: it learns, within the limits."""

import numpy as np
import pytest

from brian_lda.circuit.latency import Windowed
from brian_lda.constraints import Constraints
from brian_lda.hardware.pruning import prune_words
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.step_rules import RobbinsMonro

V, D, K = 9, 4, 5
STEP = RobbinsMonro(scale=0.3, offset=3.0, power=0.7)
PARAMETERS = EventDrivenParameters(K, 1.3, STEP, STEP)
LIMITS = Constraints(
    weight_bits=8, packet_loss=0.1, dead_synapses=0.1, chip_of_topic=(0, 0, 1, 1, 2), seed=1
)


@pytest.mark.complete
def test_pruned_network_with_every_limit_compiles_and_learns():
    rng = np.random.default_rng(0)
    pruned = prune_words(rng.dirichlet(np.ones(V), K), 4)
    words, docs = rng.integers(0, V, 400), rng.integers(0, D, 400)
    lengths = np.bincount(docs, minlength=D)
    inhibition = Windowed(latency=(0, 0, 1, 1, 2), window=3)
    options = {"seed": 2, "pruned": pruned, "constraints": LIMITS, "inhibition": inhibition}
    networks = [
        EventDrivenSpiking(PARAMETERS, V, lengths, simulator=simulator, **options)
        for simulator in ("standalone", "numpy")
    ]
    unlimited = EdSpikeLDAReference(PARAMETERS, V, lengths, seed=2, pruned=pruned)
    unlimited.present(words, docs)
    for network in networks:
        winners = network.present(words, docs)
        assert (winners >= 0).mean() > 0.9 and set(winners[winners >= 0]) == set(range(K))
        M__alpha = network.M__alpha
        shared = np.repeat(pruned.shared, (~pruned.private).sum(axis=1))
        np.testing.assert_array_equal(M__alpha[~pruned.private], shared)
        levels = (network.M__beta - LIMITS.weight_range[0]) / LIMITS.quantum
        np.testing.assert_allclose(levels, np.round(levels), rtol=0, atol=1e-6)
        # Normalisation is what learning achieves first: zeta falls to about 1 in either network.
        zeta = np.exp(M__alpha).sum(axis=1)
        assert np.all(zeta < 0.25 * np.exp(1.5) * V) and zeta.mean() < 4.0
    np.testing.assert_allclose(
        np.exp(networks[0].M__beta).sum(), np.exp(unlimited.M__beta).sum(), rtol=0.5
    )
