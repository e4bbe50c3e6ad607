"""Conventions that every estimator keeps: one conformance test over all of them."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from brian_lda import DuSpikeLDA, EdSpikeLDA, SemiSpikeLDA
from brian_lda.algorithms import ALGORITHMS, find_algorithm
from brian_lda.corpus import stream_documents
from brian_lda.errors import BackendError, CorpusFormatError, DivergenceError, ParameterError
from brian_lda.estimators import StopAt, TrackPerplexity
from brian_lda.evaluation import match_topics
from brian_lda.step_rules import AdaGrad, RMSProp, RobbinsMonro, VarianceTracking

ALL = {
    algorithm.name: partial(
        algorithm.load_estimator(), max_iter=60 if algorithm.iteration == "mini-batch" else 30
    )
    for algorithm in ALGORITHMS
}
every_estimator = pytest.mark.parametrize("name", list(ALL))
TINY = np.array([[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 2, 3], [0, 0, 1, 4], [0, 0, 0, 0]])


def tiny(name, **parameters):
    return ALL[name](**{"n_topics": 2, "max_iter": 3, "random_state": 0, **parameters})


@every_estimator
def test_fitted_attributes_have_the_promised_shapes(name):
    model = tiny(name).fit(TINY)
    assert model.components_.shape == (2, 4)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-12)
    assert model.n_features_in_ == 4 and model.n_iter_ == 3
    theta = model.transform(TINY)
    assert theta.shape == (5, 2)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
    assert [record["iteration"] for record in model.history_] == [1, 2, 3]
    assert all(a["tokens"] <= b["tokens"] for a, b in pairwise(model.history_))
    assert list(model.get_feature_names_out()) == ["topic0", "topic1"]


@every_estimator
def test_the_seed_fixes_the_result_and_another_seed_changes_it(name):
    first, again = tiny(name).fit(TINY), tiny(name).fit(TINY)
    np.testing.assert_array_equal(first.components_, again.components_)
    other = tiny(name, random_state=1).fit(TINY)
    assert not np.array_equal(first.components_, other.components_)


@every_estimator
def test_input_forms_agree_and_refitting_starts_anew(name):
    model = tiny(name)
    dense = model.fit(TINY).components_
    np.testing.assert_array_equal(dense, model.fit(sparse.coo_matrix(TINY)).components_)
    np.testing.assert_array_equal(dense, clone(model).fit(TINY.astype(float)).components_)


@pytest.mark.complete(but=["ed_spike_lda-100-0.95", "spike_cgs-150-0.95"])
@pytest.mark.parametrize(
    ("name", "max_iter", "cosine"),
    [
        ("spike_cgs", 150, 0.95),
        ("ed_spike_lda", 100, 0.95),
        ("du_spike_lda", 150, 0.95),
        ("semi_spike_lda", 150, 0.95),
        ("cgs", 150, 0.95),
        ("sgmcmc", 150, 0.95),
        # Starts slowly; and without a prior theta stays blurred, and with it the topics.
        ("ed_spike_plsi", 200, 0.9),
    ],
)
def test_bars_are_recovered(name, max_iter, cosine, bars):
    # Every algorithm here has local optima: the best of four starts, by held-out score.
    batches = {"batch_size": 64} if find_algorithm(name).iteration == "mini-batch" else {}
    models = [
        ALL[name](n_topics=6, max_iter=max_iter, random_state=s, **batches).fit(bars)
        for s in range(4)
    ]
    best = max(models, key=lambda model: model.score(bars))
    assert match_topics(bars.true_phi, best.components_).cosine.mean() > cosine


@every_estimator
def test_unfitted_models_and_other_vocabularies_are_refused(name):
    with pytest.raises(NotFittedError):
        tiny(name).transform(TINY)
    model = tiny(name).fit(TINY)
    with pytest.raises(ParameterError, match="X has 3 features, but .* is expecting 4 features"):
        model.transform(TINY[:, :3])
    with pytest.raises(ParameterError, match="is expecting 4 features"):
        model.perplexity(TINY[:, :3], TINY[:, :3])


@every_estimator
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_topics": 1}, "n_topics must be an integer of at least 2; found 1"),
        ({"n_topics": 2.5}, "n_topics"),
        ({"max_iter": 0}, "max_iter must be (None or )?an integer of at least 1; found 0"),
        ({"max_passes": 0}, "max_passes must be an integer of at least 1; found 0"),
        ({"tol": 1.5}, "tol, the smallest fall .* must be a fraction"),
        ({"random_state": "x"}, "random_state"),
        ({"backend": "gpu"}, "backend must be one of"),
        ({"batch_size": 0}, "batch_size"),
        ({"doc_topic_prior": 0.0}, "doc_topic_prior"),
        ({"doc_topic_prior": [1.5, 1.5, 1.5]}, "doc_topic_prior"),
        ({"topic_word_prior": -1.0}, "topic_word_prior"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_parameters_are_named(name, parameters, message):
    (parameter,) = parameters
    if parameter not in tiny(name).get_params():
        pytest.skip(f"{name} has no {parameter}")
    with pytest.raises(ValueError, match=message):
        tiny(name, **parameters).fit(TINY)


@every_estimator
def test_bad_counts_are_refused(name):
    with pytest.raises(CorpusFormatError, match="negative"):
        tiny(name).fit(-TINY)
    with pytest.raises(CorpusFormatError):
        tiny(name).fit(np.zeros((3, 4)))
    with pytest.raises(CorpusFormatError):
        tiny(name).fit(np.array([[0.5, 1.0]]))


@pytest.mark.parametrize("estimator", [EdSpikeLDA, DuSpikeLDA])
def test_spike_lda_needs_a_prior_above_one_and_names_the_way_out(estimator):
    with pytest.raises(ParameterError, match=r"> 1.*found 0\.5.*SemiSpikeLDA"):
        estimator(doc_topic_prior=0.5).fit(TINY)


@pytest.mark.parametrize(
    "name", ["spike_cgs", "ed_spike_lda", "du_spike_lda", "semi_spike_lda", "ed_spike_plsi"]
)
def test_every_network_also_learns_in_spikes(name):
    model = tiny(name, backend="brian2", brian2_options={"simulator": "numpy"}, max_iter=2)
    model.fit(TINY)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-9)
    assert np.isfinite(model.score(TINY))


@pytest.mark.parametrize(
    "name", ["ed_spike_lda", "du_spike_lda", "semi_spike_lda", "ed_spike_plsi", "svi", "sgmcmc"]
)
def test_partial_fit_goes_on_after_fit(name):
    model = tiny(name).fit(TINY)
    before, n_before = model.components_.copy(), model.n_iter_
    model.partial_fit(TINY)
    assert not np.array_equal(before, model.components_) and model.n_iter_ > n_before


def test_baselines_have_no_spikes():
    with pytest.raises(BackendError, match="baseline without spikes"):
        tiny("cgs", backend="brian2").fit(TINY)


@pytest.mark.parametrize(
    "name", ["spike_cgs", "ed_spike_lda", "du_spike_lda", "semi_spike_lda", "cgs", "sgmcmc"]
)
def test_asymmetric_priors_are_accepted(name):
    lamda = np.array([1.5, 1.2])
    varphi = np.array([0.1, 0.2, 0.3, 0.4])
    model = tiny(name, doc_topic_prior=lamda, topic_word_prior=varphi).fit(TINY)
    assert np.isfinite(model.components_).all()


def test_a_vector_prior_changes_what_a_scalar_does_not():
    flat = tiny("semi_spike_lda", topic_word_prior=0.5).fit(TINY).components_
    same = tiny("semi_spike_lda", topic_word_prior=np.full(4, 0.5)).fit(TINY).components_
    tilted = (
        tiny("semi_spike_lda", topic_word_prior=np.array([5.0, 0.5, 0.5, 0.5]))
        .fit(TINY)
        .components_
    )
    np.testing.assert_array_equal(flat, same)
    assert (tilted[:, 0] > flat[:, 0]).all()


@pytest.mark.parametrize("name", ["semi_spike_lda", "du_spike_lda", "sgmcmc"])
def test_the_number_of_threads_does_not_change_the_result(name, bars):
    one = ALL[name](n_topics=6, max_iter=5, random_state=0, n_jobs=1).fit(bars)
    two = ALL[name](n_topics=6, max_iter=5, random_state=0, n_jobs=2).fit(bars)
    np.testing.assert_array_equal(one.components_, two.components_)


@pytest.mark.parametrize(
    "name", ["ed_spike_lda", "du_spike_lda", "semi_spike_lda", "ed_spike_plsi", "svi", "sgmcmc"]
)
def test_partial_fit_goes_on_learning_from_new_documents(name, bars):
    options = {"total_documents": 300} if name in ("svi", "sgmcmc") else {}
    model = ALL[name](n_topics=6, random_state=0, **options)
    parts = [bars.subset(np.arange(i, 300, 10)) for i in range(10)]
    model.partial_fit(parts[0])
    early = model.score(bars)
    for _ in range(4):
        for part in parts[1:]:
            model.partial_fit(part)
    assert model.score(bars) > early + 0.05
    shown = parts[0].n_tokens + 4 * sum(p.n_tokens for p in parts[1:])
    assert model.history_[-1]["tokens"] == shown
    with pytest.raises(ParameterError, match="is expecting 9 features"):
        model.partial_fit(TINY)


def test_an_unbounded_stream_of_documents_is_learnt_without_knowing_its_length(bars):
    def arriving():  # documents as lists of word ids; nobody knows how many will come
        while True:
            for d in range(bars.n_docs):
                row = bars.counts[[d]]
                yield np.repeat(row.indices, row.data)

    model = ALL["semi_spike_lda"](n_topics=6, batch_size=30, random_state=0)
    scores = []
    for i, batch in enumerate(stream_documents(arriving(), 30, bars.n_words)):
        model.partial_fit(batch.counts)
        if i in (0, 99):
            scores.append(model.score(bars))
        if i == 99:
            break
    assert scores[1] > scores[0] + 0.1
    fitted = ALL["semi_spike_lda"](n_topics=6, batch_size=30, random_state=0).fit(bars)
    assert scores[1] > fitted.score(bars) - 0.02
    assert model.history_[-1]["tokens"] == 100 * 30 * 40


@pytest.mark.parametrize("name", ["ed_spike_lda", "du_spike_lda", "semi_spike_lda", "sgmcmc"])
def test_a_stream_lets_go_of_earlier_documents_at_once(name, bars):
    """Not when the garbage collector comes round: a call allocates too little to call it often."""
    options = {"total_documents": 300} if name == "sgmcmc" else {}
    model = ALL[name](n_topics=6, random_state=0, **options)
    gc.collect()
    gc.disable()
    try:
        earlier = weakref.ref(model.partial_fit(bars.subset(np.arange(20))).trainer_)
        model.partial_fit(bars.subset(np.arange(20, 40)))
        assert earlier() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["svi", "sgmcmc"])
def test_baselines_must_be_told_the_corpus_size_of_a_stream(name):
    with pytest.raises(ParameterError, match="total_documents"):
        tiny(name).partial_fit(TINY)


def test_variational_weights_follow_the_papers_schedule():
    model = tiny("svi", step=(0.1, 50.0, 0.7), max_iter=1, batch_size=2).fit(TINY)
    updates = model.trainer_.algorithm
    for t in range(1, 4):
        updates.update(sparse.csr_array(TINY))
        lda = updates.lda
        # partial_fit counts one further after it used the weight
        weight = (lda.learning_offset + lda.n_batch_iter_ - 1) ** -lda.learning_decay
        assert weight == pytest.approx(0.1 * (1 + t / 50.0) ** -0.7, rel=1e-12)


def test_in_a_pipeline_after_countvectorizer_and_under_gridsearch():
    texts = ["spike neuron synapse", "topic word document"] * 12
    pipeline = make_pipeline(
        CountVectorizer(), SemiSpikeLDA(n_topics=2, max_iter=20, random_state=0)
    )
    theta = pipeline.fit_transform(texts)
    assert theta[0].argmax() != theta[-1].argmax()
    words = pipeline[0].get_feature_names_out()
    assert {"spike", "neuron", "synapse"} in [set(t) for t in pipeline[1].top_words(3, words)]
    search = GridSearchCV(pipeline, {"semispikelda__n_topics": [2, 3]}, cv=2).fit(texts)
    assert np.isfinite(search.best_score_)


def test_top_words_need_a_vocabulary(bars):
    assert tiny("cgs").fit(bars).top_words(2)[0][0].startswith("r")
    with pytest.raises(ParameterError, match="vocabulary="):
        tiny("cgs").fit(TINY).top_words(2)


def test_callbacks_track_stop_and_see_every_iteration(bars):
    seen = []
    model = ALL["cgs"](
        n_topics=6,
        max_iter=50,
        random_state=0,
        callbacks=[
            TrackPerplexity(bars, bars, every=2),
            StopAt(1e9),  # any perplexity will do
            lambda model, record: seen.append(record["iteration"]),
        ],
    ).fit(bars)
    assert model.n_iter_ == 1 and seen == [1]
    assert model.history_[0]["perplexity"] == pytest.approx(model.perplexity(bars, bars))


def test_an_interrupted_fit_leaves_a_usable_model(bars):
    def interrupt(model, record):
        if record["iteration"] == 3:
            raise KeyboardInterrupt

    model = ALL["semi_spike_lda"](n_topics=6, random_state=0, callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        model.fit(bars)
    assert model.n_iter_ == 3 and model.transform(bars).shape == (300, 6)


@pytest.mark.complete(but=["EdSpikeLDA-rules0", "DuSpikeLDA-rules2", "DuSpikeLDA-rules3"])
@pytest.mark.parametrize(
    ("estimator", "rules"),
    [
        (
            EdSpikeLDA,
            {"word_step": VarianceTracking(), "doc_step": AdaGrad(), "integrator": "euler"},
        ),
        (EdSpikeLDA, {"word_step": AdaGrad(), "doc_step": VarianceTracking()}),
        (DuSpikeLDA, {"word_step": RMSProp(), "doc_step": RMSProp(), "integrator": "euler"}),
        (DuSpikeLDA, {"word_step": RMSProp(), "doc_step": RMSProp()}),
    ],
)
def test_the_papers_step_rules_can_be_chosen(estimator, rules, bars):
    model = estimator(n_topics=6, max_iter=30, random_state=0, **rules).fit(bars)
    assert np.isfinite(model.components_).all()
    assert model.score(bars) > -np.log(9.0)  # better than knowing nothing about 9 pixels


def test_an_euler_step_that_is_too_long_is_reported_not_hidden(bars):
    rule = RobbinsMonro(scale=50.0, power=0.0)
    with pytest.raises(DivergenceError, match="integrator='flow'"):
        SemiSpikeLDA(n_topics=6, word_step=rule, integrator="euler", random_state=0).fit(bars)


def test_doc_topic_reads_the_document_synapses(bars):
    model = ALL["ed_spike_lda"](n_topics=6, random_state=0).fit(bars)
    theta = model.doc_topic()
    assert theta.shape == (300, 6)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
    agreement = (theta.argmax(axis=1) == model.transform(bars).argmax(axis=1)).mean()
    assert agreement > 0.7


def test_only_algorithms_that_keep_all_documents_hand_their_theta_out():
    for algorithm in ALGORITHMS:
        keeps = algorithm.keeps_all_documents
        assert hasattr(algorithm.load_estimator(), "doc_topic") == keeps, algorithm.name


@pytest.mark.parametrize("name", ["spike_cgs", "ed_spike_lda", "ed_spike_plsi", "cgs"])
def test_theta_of_the_training_documents_needs_the_training(name, tmp_path):
    with pytest.raises(NotFittedError):
        tiny(name).doc_topic()
    model = tiny(name).fit(TINY)
    model.save(tmp_path / "model.h5")
    with pytest.raises(ParameterError, match="loaded from a file"):
        type(model).load(tmp_path / "model.h5").doc_topic()
