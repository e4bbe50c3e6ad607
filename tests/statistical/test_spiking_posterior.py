"""SpikeCGS and semi-CGS **in spikes** sample the exact posterior; not so without negative phase.

One chain each, thinned so far that what the transition matrix remembers of the state before is
below the resolution of the test.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from brian_lda.models import semi_spike_lda, spike_cgs
from enumerated_posterior import (
    CORPORA,
    FAULT_P,
    SEMI,
    SMALLEST_P,
    bias_left,
    collapsed_posterior,
    number,
    p_value,
    semi_chain_law,
    semi_posterior,
)
from scipy import sparse, stats

from brian_lda.circuit.inhibition import Poisson
from brian_lda.parameters import BatchParameters
from brian_lda.simulation import SemiSpikeLDASpiking, SpikeCGSSpiking

pytestmark = pytest.mark.statistical

KEPT = 4000


def without_negative_phase(model):
    """The model with a network in which nobody fires in the phase "recall": h_old stays 0."""

    def wire(sizes, inhibition):
        net = model.wire(sizes, inhibition)
        (recall,) = (part for part in net.topics.contained_objects if part.name == "topics_recall")
        net.topics.contained_objects.remove(recall)
        return net

    return SimpleNamespace(**{**vars(model), "wire": wire})


def spike_cgs_p_value(order, inhibition=None, *, faulty=False, kept=KEPT):
    """p-value of the enumerated posterior for a thinned chain of assignments."""
    words, docs, lamda, varphi = CORPORA["2 docs, 5 tokens, K=3"]  # one compiled program for all
    K, n_tokens = len(lamda), len(words)
    posterior = collapsed_posterior(words, docs, lamda, varphi)
    thinning = 20 if order == "sequential" else 40
    updates = thinning if order == "sequential" else thinning * n_tokens
    assert bias_left(posterior, K, n_tokens, updates, order) < 0.01
    chain = SpikeCGSSpiking(
        np.array(words), np.array(docs), n_topics=K, n_words=len(varphi), n_docs=max(docs) + 1,
        doc_topic_prior=lamda, topic_word_prior=varphi, seed=4, inhibition=inhibition,
    )  # fmt: skip
    if faulty:
        chain.network.model = without_negative_phase(spike_cgs)
    if order == "sequential":
        presented = np.tile(np.arange(n_tokens), thinning * kept)
    else:
        presented = np.random.default_rng(5).integers(0, n_tokens, thinning * n_tokens * kept)
    winners = chain.sweep(presented)
    state, found = np.zeros(n_tokens, int), []
    for start in range(0, len(presented), thinning * n_tokens):
        part = slice(start, start + thinning * n_tokens)
        state[presented[part]] = winners[part]  # the last winner of a token is its assignment
        found.append(state.copy())
    np.testing.assert_array_equal(chain.z, state)  # what the synapses remember
    return p_value(number(found[10:], K), posterior)


def test_spike_cgs_samples_the_enumerated_posterior():
    assert spike_cgs_p_value("sequential") > SMALLEST_P


def test_spike_cgs_in_random_order():
    assert spike_cgs_p_value("random", kept=2000) > SMALLEST_P


@pytest.mark.complete
def test_spike_cgs_in_clocked_time():
    """Poisson neurons, several ticks a token: the negative phase still happens once."""
    assert spike_cgs_p_value("sequential", Poisson(), kept=2000) > SMALLEST_P


@pytest.mark.complete  # quick: test_compare_twins.py
def test_spike_cgs_without_negative_phase_fails():
    assert spike_cgs_p_value("sequential", faulty=True) < FAULT_P


def semi_p_value(*, seed, faulty=False, n_docs=64, T=400, thinning=10, own=None, law=None):
    """Copies of one document, side by side in a mini-batch: their chains are independent.

    `own`: what the network is told of own votes; `law`: of the assignments, if not the posterior.
    """
    words, lamda, phi = SEMI["K=3"]
    K, V = phi.shape
    words = np.sort(words)  # the order in which the network presents them
    posterior = semi_posterior(words, lamda, phi)
    assert bias_left(posterior, K, len(words), thinning, "sequential") < 0.01
    posterior = posterior if law is None else law
    parameters = BatchParameters(
        n_topics=K, doc_topic_prior=lamda, topic_word_prior=0.0, local_iterations=T
    )
    network = SemiSpikeLDASpiking(parameters, V, seed=seed, n_training_tokens=1)
    first = {"M__alpha": np.log(phi), "n_spikes": np.zeros(K), "n_updates": np.zeros(1, int)}
    network.set_state(first)
    if faulty:
        network.network.model = without_negative_phase(semi_spike_lda)
    counts = np.tile(np.bincount(words, minlength=V).astype(np.int32), (n_docs, 1))
    if own is not None:
        begin_batch = network._begin_batch

        def begin_batch_with_votes(counts):
            heard = begin_batch(counts)
            network.network.constants |= semi_spike_lda.votes(np.zeros(K), own)
            return heard

        network._begin_batch = begin_batch_with_votes
    winners = network.update(sparse.csr_array(counts))
    found = winners.reshape(-1, n_docs, len(words))[T::thinning]
    return p_value(number(found.reshape(-1, len(words)), K), posterior)


def test_semi_cgs_samples_the_enumerated_posterior():
    """Eight runs together (Fisher): one alone is below 0.001 now and then, as seed 6 is."""
    p_values = [semi_p_value(seed=seed) for seed in range(6, 14)]
    assert stats.combine_pvalues(p_values).pvalue > SMALLEST_P


def test_tokens_are_raced_without_their_own_votes():
    """The law of that chain, long after its start; the posterior, which has them in, it is not."""
    words, lamda, phi = SEMI["K=3"]
    own = np.array([0.25, 0.2, 0.3])
    left = 1.0 - np.minimum(phi, own[:, None]) / phi
    law = semi_chain_law(np.sort(words), lamda, phi, left, n_sweeps=60)
    p_values = [semi_p_value(seed=seed, own=own, law=law) for seed in range(4)]
    assert stats.combine_pvalues(p_values).pvalue > SMALLEST_P
    assert semi_p_value(seed=0, own=own) < FAULT_P


@pytest.mark.complete
def test_semi_cgs_without_negative_phase_fails():
    assert semi_p_value(seed=6, faulty=True) < FAULT_P
