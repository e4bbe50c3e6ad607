"""The spiking networks of models/ learn: they find the topics of a corpus that has known ones."""

import numpy as np
import pytest

from brian_lda.corpus import shuffled_passes
from brian_lda.estimators.trainers import softmax_rows
from brian_lda.evaluation import match_topics
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.step_rules import RobbinsMonro

# The first steps must not commit a document to the winners of its first tokens, when the topics
# still mean nothing: constant steps, an average over 50 tokens of the document.
WORD_STEP, DOC_STEP = RobbinsMonro(0.001, power=0.0), RobbinsMonro(0.02, power=0.0)


N_PASSES = 60
RESTARTS = 4  # the likelihood has local maxima, in which about one pLSI network in three ends


@pytest.mark.complete(but="ed-SpikeLDA")
@pytest.mark.parametrize("doc_topic_prior", [1.2, None], ids=["ed-SpikeLDA", "ed-SpikePLSI"])
def test_bars_are_recovered_in_spikes(bars, doc_topic_prior):
    n_topics = len(bars.true_phi)
    parameters = EventDrivenParameters(n_topics, doc_topic_prior, WORD_STEP, DOC_STEP)
    passes = list(shuffled_passes(bars, N_PASSES, seed=0))
    words, docs = (np.concatenate(part) for part in zip(*passes, strict=True))
    likelihoods, cosines = [], []
    for seed in range(RESTARTS):
        network = EventDrivenSpiking(parameters, bars.n_words, bars.doc_lengths, seed=seed)
        assert mean_cosine(bars, network) < 0.8, "untrained: the test would show nothing"
        winners = network.present(words, docs)
        likelihoods.append(log_likelihood(bars, network))
        cosines.append(mean_cosine(bars, network))

        state = network.state()
        np.testing.assert_array_equal(state["n_alpha"], np.bincount(winners, minlength=n_topics))
        np.testing.assert_array_equal(state["n_beta"], N_PASSES * bars.doc_lengths)
        # Theorem: the weights reach the manifold zeta(M^alpha_z) = 1, zeta(M^beta_d) = kappa.
        zeta__alpha, zeta__beta = (
            np.exp(state[key]).sum(axis=1) for key in ("M__alpha", "M__beta")
        )
        np.testing.assert_allclose(zeta__alpha, 1.0, rtol=1e-3)
        np.testing.assert_allclose(zeta__beta, parameters.kappa, rtol=1e-3)
    assert cosines[int(np.argmax(likelihoods))] >= 0.95


def mean_cosine(bars, network):
    return match_topics(bars.true_phi, softmax_rows(network.M__alpha)).cosine.mean()


def log_likelihood(bars, network):
    """Of the training corpus; what a user has to choose between restarts, who knows no truth."""
    p = softmax_rows(network.M__beta) @ softmax_rows(network.M__alpha)
    return float((bars.counts.toarray() * np.log(p)).sum())
