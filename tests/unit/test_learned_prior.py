"""`learn_prior=True`: when lambda is learned, from which documents, and who uses it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from brian_lda import CollapsedGibbsLDA, SemiSpikeLDA, SpikeCGS
from brian_lda.algorithms import ALGORITHMS
from brian_lda.constraints import Constraints
from brian_lda.corpus.generate import make_synthetic
from brian_lda.errors import ParameterError
from brian_lda.estimators import TrackPerplexity, mini_batch
from brian_lda.estimators.learned_prior import StreamedPrior, SweptPrior
from brian_lda.evaluation import fold_in, match_topics
from brian_lda.parameters import BatchParameters
from brian_lda.reference.dirichlet import CountHistogram, most_probable_lambda
from brian_lda.reference.document_batch import batch_tokens
from brian_lda.reference.semi_spike_lda import SemiSpikeLDAReference, semi_cgs_counts
from brian_lda.reference.spike_cgs import SpikeCGSReference

LEARNERS = [SemiSpikeLDA, SpikeCGS, CollapsedGibbsLDA]
TINY = np.array([[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 2, 3], [0, 0, 1, 4], [0, 0, 0, 0]])
NUMPY = {"backend": "brian2", "brian2_options": {"simulator": "numpy"}}
every_learner = pytest.mark.parametrize("estimator", LEARNERS)


class Counts:
    """Documents whose counts are set by hand."""

    def __init__(self, lamda):
        self.lamda, self.C_zd = np.array(lamda, float), None

    def set_prior(self, lamda):
        self.lamda = lamda


# ---- the estimators


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)
def test_only_these_three_take_the_keyword_and_all_tell_their_lambda(algorithm):
    estimator = algorithm.load_estimator()
    assert ("learn_prior" in estimator._get_param_names()) == (estimator in LEARNERS)
    if estimator not in LEARNERS:
        with pytest.raises(TypeError, match="learn_prior"):
            estimator(learn_prior=True)
    model = estimator(n_topics=2, max_iter=1, random_state=0)
    assert not hasattr(model, "doc_topic_prior_")  # not fitted
    model.fit(TINY)
    if algorithm.prior != "none":
        assert model.doc_topic_prior_.tolist() == [model.doc_topic_prior] * 2


@every_learner
def test_lambda_is_learned_and_used(estimator, bars):
    lamda = np.linspace(0.1, 0.6, 6)
    given = estimator(n_topics=6, max_iter=30, random_state=0, doc_topic_prior=lamda).fit(bars)
    np.testing.assert_array_equal(given.doc_topic_prior_, lamda)
    tracked = TrackPerplexity(bars, bars, every=30)
    learned = estimator(
        n_topics=6, max_iter=30, random_state=0, doc_topic_prior=lamda, learn_prior=True,
        callbacks=[tracked],
    ).fit(bars)  # fmt: skip
    found = learned.doc_topic_prior_
    assert found.shape == (6,) and (found > 0).all() and not np.allclose(found, lamda, rtol=0.05)
    np.testing.assert_array_equal(learned.doc_topic_prior, lamda)  # a parameter stays as given
    assert (learned.components_ != given.components_).any()  # the sampler goes on with it
    expected = fold_in(learned.components_, bars.counts, found)
    np.testing.assert_array_equal(learned.transform(bars), expected)
    assert learned.perplexity(bars, bars) == learned.history_[-1]["perplexity"]


@every_learner
@pytest.mark.parametrize("wrong", ["auto", 1, None, 0.1])
def test_anything_but_true_or_false_is_refused(estimator, wrong):
    with pytest.raises(ParameterError, match="learn_prior must be True or False; found"):
        estimator(n_topics=2, learn_prior=wrong).fit(TINY)


@pytest.mark.parametrize("estimator", [SpikeCGS, CollapsedGibbsLDA])
def test_training_that_would_end_before_lambda_is_learned_is_refused(estimator):
    with pytest.raises(ParameterError, match="max_iter must be 20 or more; found 19"):
        estimator(n_topics=2, max_iter=19, learn_prior=True).fit(TINY)
    model = estimator(n_topics=2, max_iter=20, random_state=0, learn_prior=True).fit(TINY)
    assert not np.allclose(model.doc_topic_prior_, 0.1, rtol=1e-3)


def test_the_number_of_threads_does_not_change_lambda(bars):
    one, two = (
        SemiSpikeLDA(n_topics=6, max_iter=8, random_state=0, n_jobs=n, learn_prior=True).fit(bars)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.doc_topic_prior_, two.doc_topic_prior_)


def test_lambda_goes_on_being_learned_from_new_documents(bars, monkeypatch):
    monkeypatch.setattr(mini_batch, "STREAM_PRIOR_BURN_IN", 2)
    model = SemiSpikeLDA(n_topics=6, batch_size=50, random_state=0, learn_prior=True)
    model.partial_fit(bars.subset(np.arange(100)))  # two mini-batches: the burn-in
    np.testing.assert_array_equal(model.doc_topic_prior_, 0.1)
    model.partial_fit(bars.subset(np.arange(100, 150)))
    first = model.doc_topic_prior_
    model.partial_fit(bars.subset(np.arange(150, 200)))
    assert (first != 0.1).all() and (model.doc_topic_prior_ != first).all()


def test_lambda_is_learned_within_a_bound_shorter_than_the_burn_in(bars):
    model = SemiSpikeLDA(n_topics=6, max_passes=2, batch_size=100, random_state=0, learn_prior=True)
    assert (model.fit(bars).doc_topic_prior_ != 0.1).all()  # six mini-batches, learned from three


def test_a_mini_batch_without_tokens_teaches_nothing():
    model = SemiSpikeLDA(n_topics=2, max_iter=2, batch_size=4, random_state=0, learn_prior=True)
    model.fit(TINY[:4])
    before, state = model.doc_topic_prior_, model.trainer_.state()
    model.partial_fit(np.vstack([TINY[4], TINY[4], TINY[4], TINY[4], TINY[0]]))
    assert model.trainer_.state()["n_prior_batches"] == state["n_prior_batches"] + 1  # of two
    assert (model.doc_topic_prior_ != before).all()


# ---- when


def test_a_sampler_learns_after_20_sweeps_and_then_every_10():
    documents = Counts([0.1, 0.1])
    documents.C_zd = np.array([[5, 0], [4, 1], [0, 2]])
    prior, changed = SweptPrior(documents), []
    for sweep in range(1, 51):
        before = documents.lamda
        prior.after_iteration()
        if documents.lamda is not before:
            changed.append(sweep)
    assert changed == [20, 30, 40, 50]
    histogram = CountHistogram.of(documents.C_zd)
    np.testing.assert_allclose(documents.lamda, most_probable_lambda(histogram, before), rtol=1e-3)


def test_mini_batches_fade_by_hand():
    """One document each; one token more is lambda/lambda = 1 table, two are 1 + l/(l + 1)."""
    documents = Counts([0.5, 1.5])
    prior = StreamedPrior(documents, burn_in=1)
    documents.C_zd = np.array([[9, 9]])
    prior.after_iteration()
    assert documents.lamda.tolist() == [0.5, 1.5]  # burn-in
    documents.C_zd = np.array([[2, 0]])
    prior.after_iteration()
    S = np.array([1 + 0.5 / 1.5, 0.0])
    lamda = 2.0 * (1 + S) / (2 + S.sum())
    np.testing.assert_allclose(documents.lamda, lamda, rtol=1e-14)
    documents.C_zd = np.array([[1, 1], [0, 2]])
    prior.after_iteration()
    S = (1 - 2**-0.6) * S + [1, 1 + 1 + lamda[1] / (lamda[1] + 1)]
    np.testing.assert_allclose(documents.lamda, 2.0 * (1 + S) / (2 + S.sum()), rtol=1e-14)


# ---- the twins


def test_the_kernel_hands_out_the_counts_of_the_last_sweep(bars):
    """One document a batch and one kept sweep: N_zw summed over words is C_zd."""
    rng = np.random.default_rng(0)
    for d in range(5):
        batch = batch_tokens(bars.counts[[d]])
        rates = np.zeros((len(batch.words), 8), np.float32)
        rates[:, :6] = rng.random((len(batch.words), 6))
        lamda = np.zeros(8, np.float32)
        lamda[:6] = 0.3
        C_zd = np.full((1, 8), -1, np.int32)
        N_zw = semi_cgs_counts(
            batch, rates, lamda, 6, burn_in=2, kept=1, key=np.random.SeedSequence(d), C_zd=C_zd
        )
        np.testing.assert_array_equal(C_zd[0], N_zw.sum(axis=0))
        assert C_zd.sum() == batch.n_tokens


def semi_twins(lamda, **options):
    from brian_lda.simulation import SemiSpikeLDASpiking

    parameters = BatchParameters(3, np.array(lamda), local_iterations=2)
    arguments = (parameters, 4)
    known = {"seed": 1, "n_training_tokens": 18}
    return (
        SemiSpikeLDAReference(*arguments, **known),
        SemiSpikeLDASpiking(*arguments, **known, simulator="numpy", **options),
    )


def test_the_document_synapses_of_semi_spike_lda_hold_the_counts():
    rate, spiking = semi_twins([0.2, 0.3, 0.7])
    counts = sparse.csr_array(TINY)
    for lamda in ([0.2, 0.3, 0.7], [1.5, 0.01, 0.1]):
        for twin in (rate, spiking):
            twin.set_prior(np.array(lamda))
            twin.update(counts)
            assert twin.C_zd.sum(axis=1).tolist() == TINY.sum(axis=1).tolist()
        expected = spiking.C_zd + np.array(lamda)  # the new lambda has reached the synapses
        np.testing.assert_allclose(np.exp(spiking.M__beta), expected, rtol=1e-12)


def test_tokens_that_nobody_hears_are_not_counted():
    _, spiking = semi_twins([0.2, 0.3, 0.7], constraints=Constraints(dead_synapses=0.6, seed=3))
    winners = spiking.update(sparse.csr_array(TINY))
    assert 0 < (winners[-1] < 0).sum() < winners.shape[1]
    assert spiking.C_zd.sum() == (winners[-1] >= 0).sum()


def test_twins_of_semi_spike_lda_learn_the_same_lambda_from_the_same_counts():
    rate, spiking = semi_twins([0.2, 0.3, 0.7])
    priors = [StreamedPrior(twin, burn_in=0) for twin in (rate, spiking)]
    for seed in range(3):
        counts = sparse.csr_array(np.random.default_rng(seed).poisson(1.0, (5, 4)))
        spiking.update(counts)
        rate.C_zd = spiking.C_zd
        for prior in priors:
            prior.after_iteration()
        np.testing.assert_allclose(rate.lamda, spiking.lamda, rtol=1e-12)
    assert not np.allclose(rate.lamda, [0.2, 0.3, 0.7], rtol=0.05)


def spike_cgs_twins(**options):
    from brian_lda.simulation import SpikeCGSSpiking

    docs, words = np.repeat(np.nonzero(TINY), TINY[TINY > 0], axis=1)
    arguments = {
        "n_topics": 3, "n_words": 4, "n_docs": 5, "doc_topic_prior": 0.4, "topic_word_prior": 0.5,
        "seed": 2,
    }  # fmt: skip
    rate = SpikeCGSReference(words, docs, **arguments)
    return rate, SpikeCGSSpiking(words, docs, simulator="numpy", **arguments, **options)


def test_twins_of_spike_cgs_learn_the_same_lambda_from_the_same_counts():
    rate, spiking = spike_cgs_twins()
    priors = [SweptPrior(twin) for twin in (rate, spiking)]
    for _ in range(3):
        spiking.sweep()
        rate.set_state(spiking.state())
        np.testing.assert_array_equal(rate.C_zd, spiking.C_zd)
        for prior in priors:
            for _ in range(20):  # two steps
                prior.after_iteration()
        np.testing.assert_allclose(rate.lamda, spiking.lamda, rtol=1e-12)
        expected = np.log(spiking.C_zd + spiking.lamda)  # p = C_zd + lambda is written anew
        for twin in (rate, spiking):
            np.testing.assert_allclose(twin.M__beta, expected, rtol=1e-12)
            lengths = TINY.sum(axis=1)[:, None]
            theta = (twin.C_zd + twin.lamda) / (lengths + twin.lamda.sum())
            np.testing.assert_allclose(twin.theta, theta, rtol=1e-12)
    assert not np.allclose(rate.lamda, 0.4, rtol=0.05)
    spiking.sweep()  # takes the new weights as they are, counts stay whole numbers
    counts = np.exp(spiking.M__beta) - spiking.lamda
    np.testing.assert_allclose(counts, spiking.C_zd, rtol=0, atol=1e-12)


def test_synapses_of_few_bits_get_a_lambda_that_they_can_hold():
    limits = Constraints(weight_bits=5, weight_range=(-4.0, 4.0))
    _, spiking = spike_cgs_twins(constraints=limits)
    spiking.set_prior(np.array([0.1, 0.5, 2.0]))
    level = (spiking.M__beta - limits.weight_range[0]) / limits.quantum
    np.testing.assert_allclose(level, np.rint(level), rtol=0, atol=1e-9)
    assert np.abs(spiking.M__beta - np.log(spiking.C_zd + spiking.lamda)).max() <= limits.quantum


@pytest.mark.complete(but="SemiSpikeLDA")
@pytest.mark.parametrize("estimator", [SemiSpikeLDA, SpikeCGS])
def test_lambda_is_learned_in_spikes_too(estimator):
    batches = {"max_iter": 2, "batch_size": 64} if estimator is SemiSpikeLDA else {"max_iter": 20}
    model = estimator(n_topics=2, random_state=0, learn_prior=True, **batches, **NUMPY)
    model.fit(TINY)
    assert (model.doc_topic_prior_ > 0).all() and (model.doc_topic_prior_ != 0.1).all()
    assert np.isfinite(model.perplexity(TINY, TINY))


# ---- recovery


SKEWED, EVEN = np.array([0.1, 0.2, 0.4, 0.8]), np.full(4, 0.375)


@pytest.mark.complete(
    but=["CollapsedGibbsLDA-options0-0.25-skewed", "CollapsedGibbsLDA-options0-0.25-even"]
)
@pytest.mark.parametrize("true", [SKEWED, EVEN], ids=["skewed", "even"])  # even: the control
@pytest.mark.parametrize(
    ("estimator", "options", "rtol"),
    [
        # 600 documents tell lambda to 10 %; seed 1 finds the topics, as best of three starts.
        (CollapsedGibbsLDA, {"max_iter": 60}, 0.25),
        # The sum is given. Seeds 0, 3, 4 and 5 find the rarest topic, 1 and 2 do not.
        (SemiSpikeLDA, {"doc_topic_prior": 0.375, "random_state": 0}, 0.25),
    ],
)
def test_lambda_of_a_generated_corpus_is_recovered(estimator, options, rtol, true):
    corpus = make_synthetic(
        n_topics=4, n_words=60, n_docs=600, doc_length=60, doc_topic_prior=true, seed=0
    )
    options = {"random_state": 1, **options}
    model = estimator(n_topics=4, learn_prior=True, **options).fit(corpus)
    match = match_topics(corpus.true_phi, model.components_)
    assert match.cosine.min() > 0.9  # else there is nothing to compare
    found = model.doc_topic_prior_[match.other]
    np.testing.assert_allclose(found, true, rtol=rtol)
    ratio = found.max() / found.min()
    assert ratio > 4 if true is SKEWED else ratio < 1.3
