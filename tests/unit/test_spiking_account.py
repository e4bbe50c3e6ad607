"""The account of a race against what the networks really do, token by token."""

import numpy as np
import pytest
from scipy import sparse
from test_spiking_counting import K, T, V, batch_network, cgs_pair, tokens_of

from brian_lda.errors import ParameterError
from brian_lda.hardware.account import race_account
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.simulation.recording import EVERYTHING, Recording
from brian_lda.step_rules import AdaGrad, RobbinsMonro, VarianceTracking

SIZES = {"n_topics": K, "n_words": V}


def stored(spiking):
    """What neurons and synapses hold, without the counters of the step rules."""
    network = spiking.network
    names = {variable.name for variable in network.kept} - {"n_alpha", "n_beta"}
    return {name: network.known(name).copy() for name in names}


def changed(before, after):
    return sum(np.count_nonzero(before[name] != after[name]) for name in before)


def test_spike_cgs_writes_and_spikes():
    spiking, _, _, _ = cgs_pair()
    account = race_account("spike_cgs", **SIZES, doc_length=6)
    moves = 0
    for token in range(10):
        before, old = stored(spiking), spiking.z[token]
        (new,) = spiking.sweep(
            [token], record=Recording(("word", "document", "token", "recalled"), EVERYTHING)
        )
        n_spikes = sum(len(index) for index in spiking.spikes.index.values())
        assert n_spikes == account.spikes
        if new != old:  # else each weight is written twice and is what it was
            moves += 1
            assert changed(before, stored(spiking)) == account.plastic_writes
    assert moves > 2


@pytest.mark.parametrize(("algorithm", "prior"), [("ed_spike_lda", 1.3), ("ed_spike_plsi", None)])
def test_event_driven_writes(algorithm, prior):
    """One word synapse, two numbers of the winner, K synapses of the document."""
    step = RobbinsMonro(0.1)
    spiking = EventDrivenSpiking(
        EventDrivenParameters(K, prior, step, step), V, [3], seed=1, simulator="numpy"
    )
    account = race_account(algorithm, **SIZES, doc_length=3)
    before = stored(spiking)
    before.pop("Delta_alpha")  # a counter of tokens, as n_alpha is of spikes
    assert set(before) == {"w", "g", "s_alpha", "p"}
    spiking.present([2], [0], record=Recording(("word", "document"), EVERYTHING))
    assert changed(before, stored(spiking)) == account.plastic_writes == K + 3
    assert sum(len(index) for index in spiking.spikes.index.values()) == account.spikes


@pytest.mark.parametrize(("algorithm", "prior"), [("ed_spike_lda", 1.3), ("ed_spike_plsi", None)])
def test_event_driven_writes_as_printed(algorithm, prior):
    """All V word synapses of the winner; the memory of the step rules is left out."""
    rules = VarianceTracking(), VarianceTracking() if prior is None else AdaGrad(), "euler"
    spiking = EventDrivenSpiking(
        EventDrivenParameters(K, prior, *rules, gauge=False), V, [3], seed=1, simulator="numpy"
    )
    account = race_account(algorithm, **SIZES, doc_length=3, gauge=False)
    before = stored(spiking)
    spiking.present([2], [0], record=Recording(("word", "document"), EVERYTHING))
    weights = {name: before[name] for name in ("M__alpha", "M__beta")}
    assert changed(weights, stored(spiking)) == account.plastic_writes == K + V
    assert sum(len(index) for index in spiking.spikes.index.values()) == account.spikes


@pytest.mark.parametrize("network", ["semi", "du"])
def test_mini_batch_writes_add_up(network):
    """Over a mini-batch of equal documents: every count is known from the winners."""
    spiking = batch_network(network)
    counts = sparse.csr_array(np.array([[1, 1, 1, 0, 0, 1, 1]] * 3, np.int32))
    n_docs, doc_length = 3, 5
    layers = (
        ("word", "document", "token", "recalled") if network == "semi" else ("word", "document")
    )
    winners = spiking.update(counts, record=Recording(layers, EVERYTHING))
    account = race_account(
        f"{network}_spike_lda", **SIZES, doc_length=doc_length, batch_size=n_docs,
        local_iterations=T,
    )  # fmt: skip
    races = winners.size
    assert account.races_per_token == len(winners)
    n_spikes = sum(len(index) for index in spiking.spikes.index.values())
    assert n_spikes == pytest.approx(account.spikes * races, rel=1e-12)
    words, _ = tokens_of(counts)
    kept = T * len(words)
    if network == "semi":
        writes = K * V + kept + races + (races + races - len(words))  # update, N_zw, z, M^beta
    else:
        writes = K * V + kept + K * races  # update, N_zw, M^beta
    assert writes == pytest.approx(account.plastic_writes * races, rel=1e-12)


def test_unknown_networks_are_named():
    with pytest.raises(ParameterError, match="found 'cgs'"):
        race_account("cgs", **SIZES, doc_length=5)
