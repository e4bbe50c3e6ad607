"""The traffic that the checker computes is the traffic that the spiking network has."""

import numpy as np
import pytest

from brian_lda.circuit.inhibition import Poisson
from brian_lda.errors import ParameterError
from brian_lda.hardware.checker import count_traffic
from brian_lda.hardware.packets import PACKETS, count_packets
from brian_lda.hardware.pruning import prune_words
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.simulation.recording import EVERYTHING, Recording

V, K, D, CHIPS = 12, 6, 8, 3


@pytest.mark.parametrize("n_private", [4, V])
def test_checker_agrees_with_the_spikes_of_a_partitioned_network(n_private):
    rng = np.random.default_rng(0)
    pruned = prune_words(rng.dirichlet(np.full(V, 0.3), K), n_private)
    words, docs = rng.integers(0, V, 200), rng.integers(0, D, 200)
    network = EventDrivenSpiking(
        EventDrivenParameters(K, 1.3), V, np.bincount(docs, minlength=D), seed=0,
        simulator="numpy", pruned=pruned if n_private < V else None,
    )  # fmt: skip
    network.present(words, docs, record=PACKETS)
    chip_of_topic = np.array([0, 1, 2, 1, 0, 2])
    counted = count_packets(network.network, chip_of_topic, CHIPS)
    winners = counted.winner.sum(axis=1) / (CHIPS - 1)  # per chip
    traffic = count_traffic(
        chip_of_topic, CHIPS, pruned.private, np.bincount(words, minlength=V),
        doc_lengths=np.bincount(docs, minlength=D),
        topic_counts=np.repeat(winners, 2)[np.argsort(np.argsort(chip_of_topic, kind="stable"))],
    )  # fmt: skip
    assert counted.word.sum() == pytest.approx(traffic.word * 200, abs=1e-9)
    assert counted.document.sum() == pytest.approx(traffic.document * 200, abs=1e-9)
    assert counted.winner.sum() == pytest.approx(traffic.winner * 200, abs=1e-9)
    np.testing.assert_allclose(counted.matrix, traffic.matrix, rtol=0, atol=1e-9)
    assert np.diag(counted.matrix).sum() == 0 and counted.word.sum() > 0
    assert counted.n_tokens == 200


def test_a_token_that_is_shown_again_sends_again():
    """In clocked time the word and the document fire in every tick until there is a winner."""
    network = EventDrivenSpiking(
        EventDrivenParameters(2, 1.3), 2, np.array([20]), seed=0, simulator="numpy",
        inhibition=Poisson(),
    )  # fmt: skip
    network.present(np.zeros(20, int), np.zeros(20, int), record=PACKETS)
    n_ticks = len(network.spikes.index["word"])
    counted = count_packets(network.network, np.array([0, 1]), 2)
    assert n_ticks > 20 and counted.n_tokens == counted.winner.sum() == 20
    assert counted.word[0, 1] == counted.document[0, 1] == n_ticks  # both live on chip 0


@pytest.mark.parametrize("record", [None, Recording(("word",), EVERYTHING)])
def test_packets_are_counted_from_recorded_spikes(record):
    network = EventDrivenSpiking(
        EventDrivenParameters(2, 1.3), 2, np.array([3]), seed=0, simulator="numpy"
    )
    network.present(np.zeros(3, int), np.zeros(3, int), record=record)
    with pytest.raises(ParameterError, match="record=PACKETS"):
        count_packets(network.network, np.array([0, 1]), 2)
