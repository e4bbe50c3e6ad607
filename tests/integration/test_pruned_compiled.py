"""The pruned network as a compiled program: its fan-in, its swaps, the weights of its twin."""

import numpy as np
import pytest

from brian_lda.constraints import Constraints
from brian_lda.external_memory import count_swaps
from brian_lda.hardware.pruning import prune_words
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.simulation import SlottedSpiking
from brian_lda.step_rules import RobbinsMonro

V, D, K, N_PRIVATE, SLOTS, N_TOKENS = 203, 40, 7, 20, 8, 20_000
CELLS = 20  # of the test below; 5 standard errors of a cell are a false alarm in 10^5 runs


@pytest.mark.complete
def test_winners_and_weights_are_those_of_the_twin_that_follows():
    rng = np.random.default_rng(0)
    words = rng.integers(0, V, N_TOKENS) * rng.integers(0, 2, N_TOKENS)  # one frequent word
    docs = np.sort(rng.integers(0, D, N_TOKENS))
    pruned = prune_words(
        rng.dirichlet(np.full(V, 0.2), K), N_PRIVATE, np.bincount(words, minlength=V)
    )
    steps = RobbinsMonro(0.5, 20), RobbinsMonro(0.1, power=0)
    parameters = EventDrivenParameters(K, np.full(K, 1.1), *steps, topic_word_prior=0.05)
    arguments = parameters, V, np.bincount(docs)
    network = SlottedSpiking(
        *arguments, seed=3, pruned=pruned, constraints=Constraints(document_slots=SLOTS)
    )
    winners = network.present(words, docs)
    assert network.network.most_synapses == {"alpha": N_PRIVATE, "sharing": 1, "beta": SLOTS}
    swaps = count_swaps(docs, SLOTS, 1.0)
    assert (network.slots.reads, network.slots.writes) == (swaps.reads, swaps.writes) == (40, 32)

    twin = EdSpikeLDAReference(*arguments, seed=3, pruned=pruned)
    p = twin.follow(words, docs, winners)  # [token, topic], before each token
    for name in ("J__alpha", "M__beta"):
        here, there = np.exp(getattr(network, name)), np.exp(getattr(twin, name))
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-9, err_msg=name)
    # Where in its share of [0, 1) a winner falls is uniform if it was drawn from p, and only then.
    rows = np.arange(N_TOKENS)
    below = np.cumsum(p, axis=1)[rows, winners] - p[rows, winners]
    for law, is_it in ((below + rng.random(N_TOKENS) * p[rows, winners], True),
                       (below + rng.random(N_TOKENS) * p[rows, winners] ** 2, False)):  # fmt: skip
        cells = np.histogram(law, CELLS, (0, 1))[0] / N_TOKENS
        farthest = np.abs(cells - 1 / CELLS).max()
        assert (farthest < 5 * np.sqrt(1 / CELLS / N_TOKENS)) == is_it
