"""What networks start from, and what the constants of `automatic_steps` mean in a network."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from brian_lda import DuSpikeLDA, EdSpikeLDA, EdSpikePLSI, SemiSpikeLDA
from brian_lda.automatic_steps import event_doc_step, event_word_step
from brian_lda.corpus import load_corpus
from brian_lda.parameters import BatchParameters
from brian_lda.reference.document_batch import batch_tokens
from brian_lda.reference.du_spike_lda import DuSpikeLDAReference
from brian_lda.reference.plasticity import robbins_monro
from brian_lda.step_rules import FROZEN, RobbinsMonro


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("bars", grid=5, n_docs=60, doc_length=40, seed=1)


def initial_shares(model, corpus, n_iterations, weights):
    """What initial weights of size V exp(1.5), the mean of N(1, 1)'s, weigh beside what is learnt.

    The flow has zeta - 1 = (zeta_0 - 1) exp(-sum of eta): nothing else moves zeta.
    """
    zeta = []

    def note(model, record):
        zeta.append(np.exp(weights(model)).sum(axis=1))

    model.set_params(callbacks=[note], max_iter=n_iterations).fit(corpus)
    rng = np.random.default_rng(np.random.SeedSequence([model.seed_, 0]))
    zeta_0 = np.exp(rng.normal(1.0, 1.0, (model.n_topics, corpus.n_words))).sum(axis=1)
    fading = (np.array(zeta) - 1.0) / (zeta_0 - 1.0)
    return (fading * corpus.n_words * math.exp(1.5)).mean(axis=1)


def of_network(model):
    return model.trainer_.network.M__alpha


def of_words(model):
    return model.trainer_.algorithm.words.M__alpha


def test_initial_weights_fade_within_six_passes_if_nothing_else_is_forgotten(corpus):
    step = event_word_step(5, corpus.n_words, corpus.n_tokens, smoothed=True)
    model = EdSpikeLDA(n_topics=5, random_state=0, word_step=replace(step, floor=0.0))
    shares = initial_shares(model, corpus, 9, of_network)
    passes = np.interp(-1.0, -shares, np.arange(1, 10))  # as much as all that has been learnt
    assert passes == pytest.approx(6.0, abs=0.5)


def test_by_default_they_weigh_six_after_a_pass_and_then_a_window_of_one_pass_forgets(corpus):
    model = EdSpikeLDA(n_topics=5, random_state=0)
    shares = initial_shares(model, corpus, 4, of_network)
    assert shares[0] == pytest.approx(6.0, abs=0.8)
    np.testing.assert_allclose(shares[1:] / shares[:-1], math.exp(-1.0), rtol=0.1)


@pytest.mark.parametrize("estimator", [SemiSpikeLDA, DuSpikeLDA])
def test_in_mini_batches_they_fade_within_one_pass(estimator, corpus):
    model = estimator(n_topics=5, batch_size=6, random_state=0)
    shares = initial_shares(model, corpus, 30, of_words)[9::10]  # 10 mini-batches a pass
    assert shares[0] == pytest.approx(1.0, abs=0.1)
    np.testing.assert_allclose(shares[1:] / shares[:-1], math.exp(-1.0), rtol=0.1)


@pytest.mark.parametrize(("doc_length", "window"), [(40, 60.0), (1000, 100.0)])
def test_document_synapses_average_over_a_tenth_of_the_document_or_60_tokens(doc_length, window):
    counts = np.full((3, 4), doc_length // 4)
    counts[2] = 0  # an empty document does not shorten the others
    model = EdSpikeLDA(n_topics=2, max_iter=1, random_state=0).fit(counts)
    step = model.trainer_.network.parameters.doc_step
    assert step == event_doc_step(doc_length)
    assert (1.0 / step.scale, step.power) == (pytest.approx(window, rel=1e-12), 0.0)


def test_unsmoothed_networks_average_over_25_events_of_a_synapse():
    def window(n_tokens):  # in passes of the topic neuron's 1000 synapses, K = 10
        step = event_word_step(10, 1000, n_tokens, smoothed=False)
        return 1.0 / (step.floor * n_tokens / 10)

    assert window(100_000) == pytest.approx(2.5, rel=1e-12)  # 10 events a pass
    assert window(1_000) == pytest.approx(10.0, rel=1e-12)  # not longer than 10 passes
    assert window(10_000_000) == pytest.approx(0.5, rel=1e-12)  # nor shorter than half of one


def test_a_stream_forgets_slowly_and_counts_initial_weights_as_its_first_documents_say():
    """They fade within 6 times (in mini-batches: once) the tokens of the first call."""
    counts = np.array([[3, 1, 0, 0], [0, 0, 2, 3]])
    for model, fading in ((EdSpikeLDA(), 6.0), (SemiSpikeLDA(), 1.0), (DuSpikeLDA(), 1.0)):
        model.set_params(n_topics=3, random_state=0).partial_fit(counts)
        trainer = model.trainer_
        network = trainer.network if fading == 6.0 else trainer.algorithm
        offset = fading * (9 / 3) / (4 * math.exp(1.5))  # spikes of a topic neuron, V zeta
        step = network.parameters.word_step
        assert (step.offset, step.scale) == (pytest.approx(offset), pytest.approx(1.0 / offset))
        assert (step.power, step.floor) == (0.9, 0.0)


def test_a_document_of_du_spike_lda_forgets_its_start_at_once_and_then_averages():
    model = DuSpikeLDA(n_topics=2, max_iter=1, random_state=0).fit(np.eye(3, dtype=int))
    step = model.trainer_.algorithm.parameters.doc_step
    numbers = (step.scale, step.offset, step.power, step.floor)
    assert math.exp(-robbins_monro(0, *numbers)) < 1e-4  # what is left of N(1, 1)
    assert [robbins_monro(n, *numbers) for n in (1, 2, 50)] == [1.0] * 3


def test_networks_start_from_the_papers_weights(corpus):
    """ "All synapses are randomly sampled from N(1,1), except that each synapse of the M^beta is
    initialized to log(1/K) in SpikePLSI" (appendix, "Network initialization").
    """

    def first_weights(estimator):
        model = estimator(n_topics=5)
        network = model._make_trainer(corpus, 0).network
        return network.M__alpha, network.M__beta

    def is_n_1_1(M):
        n = M.size
        return abs(M.mean() - 1.0) < 4 / math.sqrt(n) and abs(M.std() - 1.0) < 4 / math.sqrt(2 * n)

    for M in (*first_weights(EdSpikeLDA), first_weights(EdSpikePLSI)[0]):
        assert is_n_1_1(M)
    np.testing.assert_allclose(first_weights(EdSpikePLSI)[1], math.log(1 / 5), rtol=1e-15)
    for estimator in (SemiSpikeLDA, DuSpikeLDA):
        trainer = estimator(n_topics=5)._make_trainer(corpus, 0)
        assert is_n_1_1(trainer.algorithm.words.M__alpha)


# --- what documents of du-SpikeLDA start from ----------------------------------------------------

N = 20_000  # documents
ERROR = math.sqrt(0.25 / N)  # of a share among them
X = np.linspace(-6.0, 6.0, 241)  # a standard normal variable, for the trapezoidal rule
MASS = np.exp(-(X**2) / 2) / np.exp(-(X**2) / 2).sum()
LAMDA = np.array([1.05, 3.0])


def first_winners(doc_step, counts):
    """Of 2 topics, in the one local iteration that is counted, by word; all words are alike."""
    parameters = BatchParameters(2, LAMDA, local_iterations=1, doc_step=doc_step)
    network = DuSpikeLDAReference(parameters, counts.shape[1], seed=0, n_training_tokens=1.0)
    network.words.M__alpha = np.zeros((2, counts.shape[1]))
    batch = batch_tokens(counts)
    counted = network._infer(batch, network.words.rates(batch.words), network.next_key())
    winners = np.empty(counts.shape[1], int)
    winners[batch.words] = counted[:, :2].argmax(axis=1)
    return winners


def mean_over_starts(function, mean, deviation):
    """Mean of function(p), p = exp M^beta [topic, ...] of independent N(mean, deviation)."""
    p = np.exp(mean + deviation * np.stack(np.meshgrid(X, X, indexing="ij")))
    return float((function(p) * np.outer(MASS, MASS)).sum())


def test_document_synapses_of_du_spike_lda_start_with_mean_1():
    """Appendix "Network initialization": "All synapses are randomly sampled from N(1,1)".

    The first winner of a document sees softmax(M^beta), which does not know the mean of M^beta.
    The second does: p <- f p + (1 - f) c/a weighs what a document started from against what its
    first winner has taught it. One token a document.
    """
    fade = 0.5
    step = RobbinsMonro(scale=-math.log(fade), power=0.0)
    share = first_winners(step, sparse.eye_array(N, dtype=np.int64, format="csr")).mean()

    def topic_1(p):
        a, total = 1.0 / (LAMDA - 1.0).sum() + 1.0, 0.0
        for winner in (0, 1):
            c = (np.arange(2) == winner) + LAMDA - 1.0
            moved = fade * p + (1.0 - fade) * c[:, None, None] / a
            total += (p[winner] / p.sum(axis=0)) * moved[1] / moved.sum(axis=0)
        return total

    expected = mean_over_starts(topic_1, 1.0, 1.0)
    assert abs(share - expected) < 4 * ERROR
    for wrong in (-9.0, 0.0, 2.0):  # the test can tell
        assert abs(mean_over_starts(topic_1, wrong, 1.0) - expected) > 8 * ERROR, wrong


def test_document_synapses_of_du_spike_lda_start_with_deviation_1():
    """Two tokens of a document that does not learn agree the more, the more its synapses differ."""
    counts = sparse.csr_array(np.kron(np.eye(N // 20, dtype=np.int64), np.ones((1, 2), np.int64)))
    agree = [first == second for first, second in first_winners(FROZEN, counts).reshape(-1, 2)]

    def same(p):
        return ((p / p.sum(axis=0)) ** 2).sum(axis=0)

    error, expected = math.sqrt(0.25 / len(agree)), mean_over_starts(same, 1.0, 1.0)
    assert abs(np.mean(agree) - expected) < 4 * error
    for wrong in (0.1, 3.0):  # the test can tell
        assert abs(mean_over_starts(same, 1.0, wrong) - expected) > 6 * error, wrong
