"""A full citizen of scikit-learn: its own checks pass, and fitted models travel in pickles."""

from __future__ import annotations

import pickle
import pickletools

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_validate
from sklearn.utils.estimator_checks import check_estimator

import brian_lda
from brian_lda import SemiSpikeLDA, TopicModel
from brian_lda.algorithms import ALGORITHMS, SPIKING
from brian_lda.errors import CorpusFormatError

TINY = np.array([[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 2, 3], [0, 0, 1, 4], [1, 0, 0, 1]])
FRACTIONAL = "hands over fractional numbers, which are no word counts and are refused on purpose"
FED_WITH_FRACTIONS = dict.fromkeys(
    [
        "check_fit_score_takes_y",
        "check_estimators_overwrite_params",
        "check_dont_overwrite_parameters",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_estimators_dtypes",
        "check_dtype_object",
        "check_pipeline_consistency",
        "check_estimators_nan_inf",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
        "check_transformer_n_iter",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit2d_1sample",
        "check_fit2d_1feature",
        "check_dict_unchanged",
        "check_fit_idempotent",
        "check_fit_check_is_fitted",
        "check_n_features_in",
        "check_fit2d_predict1d",
    ],
    FRACTIONAL,
)
every_estimator = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)


def small(algorithm) -> TopicModel:
    estimator = algorithm.load_estimator()
    # Baselines scale a mini-batch to the corpus, and `partial_fit` must be told its size.
    is_told = "total_documents" in estimator._get_param_names()
    return estimator(n_topics=2, max_iter=5, **({"total_documents": 20} if is_told else {}))


def test_the_table_holds_every_public_estimator():
    public = {getattr(brian_lda, name) for name in brian_lda.__all__}
    estimators = {
        c for c in public if isinstance(c, type) and issubclass(c, TopicModel) and c != TopicModel
    }
    assert estimators == {algorithm.load_estimator() for algorithm in ALGORITHMS}


@every_estimator
def test_scikit_learns_own_checks_pass_on_rounded_counts(algorithm, monkeypatch):
    tags_of = TopicModel.__sklearn_tags__

    def tags(self):
        found = tags_of(self)
        found.input_tags.categorical = True  # scikit-learn then rounds what it feeds
        return found

    monkeypatch.setattr(TopicModel, "__sklearn_tags__", tags)
    results = check_estimator(small(algorithm), on_fail=None, on_skip=None)
    assert {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"} == {}
    assert sum(r["status"] == "passed" for r in results) > 40


@every_estimator
def test_scikit_learns_own_data_fail_for_their_fractions_and_nothing_else(algorithm):
    results = check_estimator(
        small(algorithm), expected_failed_checks=FED_WITH_FRACTIONS, on_fail=None, on_skip=None
    )
    assert {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"} == {}
    refused = {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "xfail"}
    assert set(refused) == set(FED_WITH_FRACTIONS)
    silent = ("check_estimator_sparse_tag", "check_estimator_sparse_array")
    silent += ("check_estimator_sparse_matrix",)  # these tell of the error by its class only
    told = {name: text for name, text in refused.items() if name not in silent}
    assert {name for name, text in told.items() if "fractional count" not in text} == set()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (-TINY, "document 0, word 0 has -3.*Negative values in data"),
        (sparse.csr_array(-TINY), "Negative values in data"),
        (TINY.astype(complex), "Complex data not supported"),
        (TINY[0], "two dimensions .doc, word., found 1. Reshape your data"),
        (np.zeros((0, 4)), r"found 0 sample\(s\) \(shape=\(0, 4\)\) while a minimum"),
        (np.zeros((4, 0)), r"found 0 feature\(s\) \(shape=\(4, 0\)\) while a minimum"),
        (np.array([["two", 1]], object), "must hold numbers: .*two.*CountVectorizer"),
    ],
)
def test_bad_input_is_refused_in_the_words_that_tools_know(X, message):
    with pytest.raises(CorpusFormatError, match=message):
        SemiSpikeLDA(n_topics=2, max_iter=1).fit(X)


def test_an_object_that_is_no_number_is_a_type_error_as_well():
    X = TINY.astype(object)
    X[1, 2] = {"spike": 1}
    with pytest.raises(TypeError, match="argument must be a string or a real number, not 'dict'"):
        SemiSpikeLDA(n_topics=2, max_iter=1).fit(X)


def test_objects_that_are_numbers_are_counts():
    models = [SemiSpikeLDA(n_topics=2, max_iter=3, random_state=0).fit(X)
              for X in (TINY, TINY.astype(object))]  # fmt: skip
    np.testing.assert_array_equal(models[0].components_, models[1].components_)


@pytest.mark.complete
def test_cross_validation_brings_fitted_models_back_from_other_processes():
    X = np.tile(TINY, (4, 1))
    model = SemiSpikeLDA(n_topics=2, max_iter=5, random_state=0)
    found = cross_validate(model, X, cv=2, return_estimator=True, n_jobs=2)
    alone = cross_validate(model, X, cv=2, return_estimator=True)
    for travelled, stayed in zip(found["estimator"], alone["estimator"], strict=True):
        np.testing.assert_array_equal(travelled.components_, stayed.components_)
        assert travelled.transform(X).shape == (20, 2)
    np.testing.assert_array_equal(found["test_score"], alone["test_score"])


@every_estimator
def test_a_fitted_model_goes_on_from_its_pickle_as_it_would_have(algorithm):
    model = small(algorithm).set_params(random_state=0).fit(TINY)
    require_same_future(model, pickle.loads(pickle.dumps(model)))


@pytest.mark.complete(but="semi_spike_lda")
@pytest.mark.parametrize("algorithm", SPIKING, ids=lambda a: a.name)
def test_a_network_in_spikes_is_pickled_as_plain_data(algorithm):
    options = {"simulator": "numpy", "inhibition": "poisson"}
    model = algorithm.load_estimator()(
        n_topics=2, max_iter=1, random_state=0, backend="brian2", brian2_options=options
    ).fit(TINY)
    data = pickle.dumps(model)
    strings = {arg for _, arg, _ in pickletools.genops(data) if isinstance(arg, str)}
    foreign = ("brian2.", "sympy.", "subprocess")  # modules of classes; "brian2" is the backend
    assert [text for text in strings if text.startswith(foreign)] == []
    assert "SpikingNetwork" in strings  # the network itself is there
    require_same_future(model, pickle.loads(data))


def require_same_future(model, again) -> None:
    """The next iterations of two models are the same."""
    np.testing.assert_array_equal(model.components_, again.components_)
    for _ in range(2):
        shown = [m.trainer_.iterate() for m in (model, again)]
        assert shown[0] == shown[1] > 0
    np.testing.assert_array_equal(model.trainer_.phi, again.trainer_.phi)
    assert (model.trainer_.phi != model.components_).any()
