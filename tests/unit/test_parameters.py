"""Bad parameters are refused where they are given, with a message that names the argument."""

import numpy as np
import pytest

from brian_lda.errors import ParameterError
from brian_lda.parameters import (
    BatchParameters,
    EventDrivenParameters,
    dirichlet_vector,
    require_map_prior,
)
from brian_lda.step_rules import (
    AdaGrad,
    RMSProp,
    RobbinsMonro,
    VarianceTracking,
    step_rule_from_dict,
    step_rule_to_dict,
)

LAMDA = np.array([1.5, 1.2])
BAD = [
    (lambda: RobbinsMonro(scale=0.0), "scale"),
    (lambda: RobbinsMonro(scale=np.nan), "scale"),
    (lambda: RobbinsMonro(offset=-1.0), "offset"),
    (lambda: RobbinsMonro(power=-0.1), "power"),
    (lambda: RobbinsMonro(scale=0.1, floor=0.2), "floor"),
    (lambda: RobbinsMonro(floor=-0.1), "floor"),
    (lambda: VarianceTracking(0.0), "initial_variance"),
    (lambda: AdaGrad(eta=0.0), "eta"),
    (lambda: AdaGrad(amplification=0.0), "amplification"),
    (lambda: AdaGrad(epsilon=0.0), "epsilon"),
    (lambda: RMSProp(eta=-1.0), "eta"),
    (lambda: RMSProp(decay=1.0), "decay"),
    (lambda: RMSProp(decay=-0.1), "decay"),
    (lambda: RMSProp(epsilon=0.0), "epsilon"),
    (lambda: EventDrivenParameters(1, None), "n_topics"),
    (lambda: EventDrivenParameters(2.5, None), "n_topics"),
    (lambda: EventDrivenParameters(2, np.array([1.5, 1.0])), "doc_topic_prior"),
    (lambda: EventDrivenParameters(2, np.array([0.1, 0.1])), "doc_topic_prior"),
    (lambda: EventDrivenParameters(2, np.array([np.inf, 1.5])), "doc_topic_prior"),
    (lambda: EventDrivenParameters(2, np.array([1.5, 1.5, 1.5])), "doc_topic_prior"),
    (lambda: EventDrivenParameters(2, LAMDA, integrator="heun"), "integrator"),
    (lambda: EventDrivenParameters(2, LAMDA, word_step=VarianceTracking()), "gauge"),
    (lambda: EventDrivenParameters(2, LAMDA, word_step=AdaGrad()), "gauge"),
    (lambda: EventDrivenParameters(2, LAMDA, word_step=RMSProp(), gauge=False), "word_step"),
    (lambda: EventDrivenParameters(2, LAMDA, doc_step=RMSProp()), "doc_step"),
    (lambda: BatchParameters(1, np.array([0.1])), "n_topics"),
    (lambda: BatchParameters(2, 0.0), "doc_topic_prior"),
    (lambda: BatchParameters(2, np.array([0.1, -0.1])), "doc_topic_prior"),
    (lambda: BatchParameters(2, 0.1, topic_word_prior=-1.0), "topic_word_prior"),
    (lambda: BatchParameters(2, 0.1, topic_word_prior=np.nan), "topic_word_prior"),
    (lambda: BatchParameters(2, 0.1, local_iterations=0), "local_iterations"),
    (lambda: BatchParameters(2, 0.1, local_iterations=2.5), "local_iterations"),
    (lambda: BatchParameters(2, 0.1, integrator="exact"), "integrator"),
    (lambda: BatchParameters(2, 0.1, word_step=AdaGrad()), "word_step"),
    (lambda: BatchParameters(2, 0.1, doc_step=VarianceTracking()), "doc_step"),
    (lambda: step_rule_from_dict({"rule": "Adam"}), "RobbinsMonro"),
]


@pytest.mark.parametrize(("make", "names"), BAD, ids=[f"{i}-{b[1]}" for i, b in enumerate(BAD)])
def test_bad_value_is_refused_by_name(make, names):
    with pytest.raises(ParameterError, match=names) as error:
        make()
    assert isinstance(error.value, ValueError)  # code written for scikit-learn catches it


def test_lambda_of_at_most_one_points_to_semi_spike_lda():
    with pytest.raises(ParameterError, match="SemiSpikeLDA") as error:
        require_map_prior(np.array([0.1, 1.2]))
    assert "0.1" in str(error.value)
    require_map_prior(np.array([1.0001, 1.2]))


def test_gauge_message_says_both_ways_out():
    with pytest.raises(ParameterError, match="gauge=False.*word_step=RobbinsMonro"):
        EventDrivenParameters(2, LAMDA, word_step=VarianceTracking())
    EventDrivenParameters(2, LAMDA, word_step=VarianceTracking(), gauge=False)


def test_dirichlet_vector_takes_numbers_and_vectors():
    np.testing.assert_array_equal(dirichlet_vector(0.5, 3, "x"), [0.5, 0.5, 0.5])
    given = np.array([1, 2, 3])
    vector = dirichlet_vector(given, 3, "x")
    assert vector.dtype == np.float64
    vector[0] = 9
    assert given[0] == 1


def test_kappa_and_doc_drive_by_hand():
    """kappa = sum(lambda - 1); a = 1/kappa + 1/N_d, c = (lambda - 1)/N_d; pLSI: 1 and 0."""
    lda = EventDrivenParameters(2, LAMDA)
    assert lda.kappa == pytest.approx(0.7, rel=1e-15)
    a, c = lda.doc_drive(np.array([5, 2, 0]))
    np.testing.assert_allclose(a[:2], [1 / 0.7 + 0.2, 1 / 0.7 + 0.5], rtol=1e-15)
    np.testing.assert_allclose(c[:2], [[0.5 / 5, 0.2 / 5], [0.5 / 2, 0.2 / 2]], rtol=1e-14)
    assert np.isfinite(a).all() and np.isfinite(c).all()  # the empty document too
    plsi = EventDrivenParameters(2, None)
    assert plsi.kappa == 1.0
    a, c = plsi.doc_drive(np.array([5, 2]))
    np.testing.assert_array_equal(a, [1, 1])
    np.testing.assert_array_equal(c, np.zeros((2, 2)))


def test_parameters_cannot_be_changed():
    given = LAMDA.copy()
    parameters = EventDrivenParameters(2, given)
    given[0] = 7.0
    assert parameters.doc_topic_prior[0] == 1.5
    with pytest.raises(ValueError, match="read-only"):
        parameters.doc_topic_prior[0] = 3.0
    with pytest.raises(AttributeError):
        parameters.n_topics = 5


@pytest.mark.parametrize(
    "rule",
    [
        RobbinsMonro(0.3, 2.0, 0.6, 0.01),
        VarianceTracking(0.5),
        AdaGrad(0.2, 4.0, 1e-6),
        RMSProp(0.1, 0.8, 1e-6),
    ],
)
def test_step_rules_survive_as_plain_data(rule):
    data = step_rule_to_dict(rule)
    assert data["rule"] == type(rule).__name__
    assert step_rule_from_dict(data) == rule
    assert data == step_rule_to_dict(rule)  # reading does not consume it
