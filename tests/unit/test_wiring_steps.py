"""What networks start from, and what the constants of `automatic_steps` mean in a network."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from brian_lda import DuSpikeLDA, EdSpikeLDA, EdSpikePLSI, SemiSpikeLDA
from brian_lda.automatic_steps import (
    batch_word_step,
    event_doc_step,
    event_word_step,
    short_window,
)
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


def test_initial_weights_of_ed_spike_lda_weigh_as_much_as_what_is_learnt_after_1_6_passes(corpus):
    """zeta (1 + n/n_0)^-160 is 1 there."""
    step = event_word_step(5, corpus.n_words, corpus.n_tokens, smoothed=True)
    model = EdSpikeLDA(n_topics=5, random_state=0, topic_word_prior=0.0, word_step=step)
    shares = initial_shares(model, corpus, 2, of_network)
    n_0 = 1.6 / ((corpus.n_words * math.exp(1.5)) ** (1 / 160) - 1)  # in passes
    for passes, share in zip((1, 2), shares, strict=True):
        expected = corpus.n_words * math.exp(1.5) * (1 + passes / n_0) ** -160
        assert share == pytest.approx(expected, rel=0.6)  # topic neurons fire more or less often


@pytest.mark.parametrize(("estimator", "passes"), [(SemiSpikeLDA, 0.2), (DuSpikeLDA, 1.0)])
def test_in_mini_batches_they_fade_within_a_fifth_of_a_pass_or_a_pass(estimator, passes, corpus):
    model = estimator(n_topics=5, batch_size=1, random_state=0, topic_word_prior=0.0)
    shares = initial_shares(model, corpus, 70, of_words)  # 60 mini-batches a pass
    batches = np.interp(0.0, -np.log(shares), np.arange(1, 71))
    assert batches == pytest.approx(60 * passes, rel=0.12)


def test_word_synapses_average_over_the_last_20th_or_160th_of_their_neurons_life(corpus):
    for step, c in (
        (event_word_step(5, corpus.n_words, corpus.n_tokens, smoothed=True), 160),
        (batch_word_step(5, corpus.n_words, corpus.n_tokens), 20),
    ):
        for n in (1e3, 1e6, 1e9):  # spikes: no floor, no power but 1
            eta = robbins_monro(n, *step.kernel_rule[1:])
            assert 1 / eta == pytest.approx((step.offset + n) / c, rel=1e-12)


def test_unsmoothed_networks_forget_less_and_start_slowly(corpus):
    for n_tokens, c in ((100, 2.0), (5 * 25 * 7, 14.0), (10**6, 20.0)):  # by events of a synapse
        step = event_word_step(5, 25, n_tokens, smoothed=False)
        assert step.scale * step.offset == pytest.approx(c, rel=1e-12)
    step = event_word_step(5, corpus.n_words, corpus.n_tokens, smoothed=False)
    zeta, spikes = corpus.n_words * math.exp(1.5), 12 * corpus.n_tokens / 5
    left = math.exp(-float(step.sum_of_steps(np.zeros(1), np.array([spikes]))[0]))
    assert zeta * left == pytest.approx(1.0, rel=1e-9)
    for estimator in (EdSpikeLDA, EdSpikePLSI):
        for varphi, unsmoothed in ((0.0, True), (0.05, False)):
            model = estimator(n_topics=5, random_state=0, topic_word_prior=varphi, max_iter=1)
            assert (model.fit(corpus).trainer_.word_step == step) == unsmoothed


@pytest.mark.parametrize(
    ("doc_length", "window", "plsi_window"),
    [(4, 0.9244, 4.0), (8, 2.36, 8.0), (40, 20.0, 40.0), (80, 25.0, 50.0), (1000, 200.0, 500.0)],
)
def test_document_synapses_average_over_a_share_of_the_document_or_25_tokens(
    doc_length, window, plsi_window
):
    """A fifth, or half of a document that is shorter than 50 tokens; less of a very short one.

    Without a prior of theta: a half or 50 tokens, or the whole document.
    """
    counts = np.full((3, 4), doc_length // 4)
    counts[2] = 0  # an empty document does not shorten the others
    model = EdSpikeLDA(n_topics=2, max_iter=1, random_state=0).fit(counts)
    step = model.trainer_.network.parameters.doc_step
    assert step == event_doc_step(doc_length, smoothed=True)
    without_prior = event_doc_step(doc_length, smoothed=False)
    assert 1.0 / without_prior.scale == pytest.approx(plsi_window)
    plsi = EdSpikePLSI(n_topics=2, max_iter=1, random_state=0).fit(counts)
    assert plsi.trainer_.network.parameters.doc_step == without_prior
    assert (1.0 / step.scale, step.power) == (pytest.approx(window, rel=1e-4), 0.0)
    du = DuSpikeLDA(n_topics=2, max_iter=1, random_state=0).fit(counts[:2])
    passes = min(window / doc_length, 0.5) if doc_length < 20 else 0.5
    assert 1.0 / du.trainer_.algorithm.parameters.doc_step.scale == pytest.approx(passes, rel=1e-4)


@pytest.mark.parametrize("doc_length", [1, 3, 7, 18, 19, 100])
def test_no_vote_of_its_own_decides_a_token(doc_length):
    """When its token comes again a vote weighs at most a 70th, in the longest window."""
    window = short_window(doc_length, 0.5) * doc_length
    vote = np.exp(-doc_length / window) / window
    assert vote == pytest.approx(1 / 70) if window < doc_length / 2 else vote <= 1 / 70
    assert (window == doc_length / 2) == (doc_length >= 19)


STREAMING = (EdSpikeLDA, EdSpikePLSI, SemiSpikeLDA, DuSpikeLDA)


@pytest.mark.parametrize("estimator", STREAMING)
def test_the_step_of_a_stream_does_not_depend_on_what_comes_first(estimator):
    few = np.array([[3, 1, 0, 0], [0, 0, 2, 3]])
    steps = []
    for first in (few, np.tile(few, (50, 1)), np.tile(few, (1, 30))):
        model = estimator(n_topics=3, random_state=0).partial_fit(first)
        steps.append(model.trainer_.word_step)
        assert model.partial_fit(first[:1]).trainer_.word_step == steps[0]  # goes on with it
    assert steps[0] == steps[1] == steps[2]


@pytest.mark.parametrize("estimator", STREAMING)
def test_initial_weights_of_a_stream_count_for_three_events_of_each_synapse(estimator):
    """After 3 V spikes of a topic neuron, a plain average holds as much of them as it has learnt.

    With gain 2 they have faded once more, by the same factor as in the plain average.
    """
    step = (
        estimator(n_topics=3, random_state=0).partial_fit(np.eye(4, dtype=int)).trainer_.word_step
    )
    gain = 2.0
    for n_words in (100, 10_000):  # whatever V
        zeta, n = n_words * math.exp(1.5), np.array([3.0 * n_words])
        plain = 1.0 / zeta  # what is left of a weight when the learnt ones sum to 1 as they do
        left = math.exp(-float(step.sum_of_steps(np.zeros(1), n)[0]))
        assert left == pytest.approx(plain**gain, rel=0.02)
    assert (step.power, step.floor) == (1.0, 0.0)


def test_an_unsmoothed_stream_keeps_its_initial_weights_as_smoothing():
    smoothed, unsmoothed = (
        SemiSpikeLDA(n_topics=3, random_state=0, topic_word_prior=varphi)
        .partial_fit(np.eye(4, dtype=int))
        .trainer_.word_step
        for varphi in (0.05, 0.0)
    )
    assert smoothed == replace(unsmoothed, scale=2.0 * unsmoothed.scale)


def test_a_document_of_du_spike_lda_averages_over_half_of_its_tokens():
    model = DuSpikeLDA(n_topics=2, max_iter=1, random_state=0).fit(20 * np.eye(3, dtype=int))
    step = model.trainer_.algorithm.parameters.doc_step
    numbers = (step.scale, step.offset, step.power, step.floor)
    assert [robbins_monro(n, *numbers) for n in (0, 1, 2, 50)] == [2.0] * 4  # passes


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
    counted = network._infer(batch, network.seen(batch.words), network.next_key())
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
