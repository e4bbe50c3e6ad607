"""Spikes counted in the running network, and what follows from them, beside what sizes predict."""

import numpy as np
import pytest
from scipy import sparse
from test_spiking_counting import K, T, V, batch_network

from brian_lda import EdSpikeLDA, SpikeCGS
from brian_lda.corpus import load_corpus
from brian_lda.errors import ParameterError
from brian_lda.hardware.account import race_account
from brian_lda.hardware.counted import counted_run
from brian_lda.hardware.packets import PACKETS, count_packets
from brian_lda.hardware.pruning import prune_words
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking

COUNTING = {"backend": "brian2", "brian2_options": {"simulator": "numpy", "count": True}}


def assert_as_predicted(run, account, writes=True):
    assert run.spikes == pytest.approx(account.spikes * run.races, rel=1e-12)
    assert run.synaptic_events == pytest.approx(account.synaptic_events * run.races, rel=1e-12)
    if writes:
        assert run.plastic_writes == pytest.approx(account.plastic_writes * run.races, rel=1e-12)
    assert run.inhibitory_spikes == run.races  # a race has one winner, in one tick


@pytest.mark.parametrize(
    ("name", "estimator", "learner"),
    [("ed_spike_lda", EdSpikeLDA, "network"), ("spike_cgs", SpikeCGS, "sampler")],
)
def test_a_training_run_costs_what_the_account_says(name, estimator, learner):
    corpus = load_corpus("bars", grid=2, n_docs=5, doc_length=5, seed=0)
    model = estimator(n_topics=3, max_iter=2, random_state=0, **COUNTING).fit(corpus)
    run = counted_run(name, getattr(model.trainer_, learner))
    assert run.races == 2 * corpus.n_tokens
    assert_as_predicted(run, race_account(name, n_topics=3, n_words=corpus.n_words, doc_length=5))
    counted = getattr(model.trainer_, learner).network.counted
    word_counts = 2 * np.asarray(corpus.counts.sum(axis=0)).ravel()
    np.testing.assert_array_equal(counted["words"], word_counts)
    np.testing.assert_array_equal(counted["documents"], 2 * corpus.doc_lengths)
    plain = estimator(
        n_topics=3, max_iter=2, random_state=0, backend="brian2",
        brian2_options={"simulator": "numpy"},
    ).fit(corpus)  # fmt: skip
    np.testing.assert_array_equal(plain.components_, model.components_)  # nobody notices


@pytest.mark.parametrize("network", ["semi", "du"])
def test_mini_batches_cost_what_the_account_says(network):
    spiking = batch_network(network, count=True)
    counts = sparse.csr_array(np.array([[1, 1, 1, 0, 0, 1, 1]] * 3, np.int32))
    winners = [spiking.update(counts) for _ in range(2)]
    run = counted_run(f"{network}_spike_lda", spiking)
    assert run.races == sum(won.size for won in winners)
    account = race_account(
        f"{network}_spike_lda", n_topics=K, n_words=V, doc_length=5, batch_size=3,
        local_iterations=T,
    )  # fmt: skip
    assert_as_predicted(run, account)


def test_pruned_words_have_fewer_events_and_packets_are_those_of_the_recording():
    rng = np.random.default_rng(0)
    pruned = prune_words(rng.dirichlet(np.full(12, 0.3), 6), 4)
    words, docs = rng.integers(0, 12, 60), rng.integers(0, 4, 60)
    packets = []
    for count in (True, False):
        network = EventDrivenSpiking(
            EventDrivenParameters(6, 1.3), 12, np.bincount(docs, minlength=4), seed=0,
            simulator="numpy", pruned=pruned, count=count,
        )  # fmt: skip
        network.present(words, docs, record=None if count else PACKETS)
        packets.append(count_packets(network.network, np.array([0, 1, 2, 1, 0, 2]), 3))
        if count:
            run = counted_run("ed_spike_lda", network)
            private = pruned.private.sum(axis=0)[words].sum()
            assert run.synaptic_events == private + 60 * 6 + 60 * 5
    assert packets[0].n_tokens == packets[1].n_tokens == 60
    for kind in ("word", "document", "winner"):
        np.testing.assert_array_equal(getattr(packets[0], kind), getattr(packets[1], kind))
    assert packets[0].word.sum() > 0


def test_what_was_not_counted_is_named():
    network = EventDrivenSpiking(
        EventDrivenParameters(2, 1.3), 2, np.array([3]), seed=0, simulator="numpy"
    )
    with pytest.raises(ParameterError, match='"count": True'):
        counted_run("ed_spike_lda", network)
    with pytest.raises(ParameterError, match="use n_circuits=1"):
        batch_network("semi", count=True, n_circuits=2)
