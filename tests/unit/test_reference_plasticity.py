"""Single synapses by hand, and races whose winner is certain.

The laws of the draws are tested in `tests/statistical`; here every probability is 0 or 1, so that
one token is enough.
"""

from math import exp, log

import numpy as np
import pytest

from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.reference.activation import draw_from_blocks, draw_winner, padded
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.reference.plasticity import log_add, robbins_monro, variance_tracking_eta
from brian_lda.reference.random_streams import new_stream
from brian_lda.step_rules import RobbinsMonro

K = 3
NEVER = -1e4  # exp of it is 0


def test_variance_tracking_stays_within_0_and_1():
    """(s_2 - s_1^2)/(exp(-s_1) + 1): the variance over exp(-mean) + 1."""
    assert variance_tracking_eta(0.0, 0.5) == pytest.approx(0.25, rel=1e-15)
    assert variance_tracking_eta(2.0, 4.6) == pytest.approx(0.6 / (exp(-2.0) + 1), rel=1e-12)
    assert variance_tracking_eta(0.0, 3.0) == 1.0  # 1.5
    assert variance_tracking_eta(1.0, 0.5) == 0.0  # rounding can make a variance negative


def test_robbins_monro_by_hand():
    assert robbins_monro(0.0, 0.5, 4.0, 0.5, 0.0) == 0.5
    assert robbins_monro(12.0, 0.5, 4.0, 0.5, 0.0) == pytest.approx(0.25, rel=1e-15)
    assert robbins_monro(12.0, 0.5, 4.0, 0.5, 0.3) == 0.3


def test_log_add_at_any_size():
    assert log_add(log(2.0), log(3.0)) == pytest.approx(log(5.0), rel=1e-15)
    assert log_add(-1000.0, -1000.0) == pytest.approx(log(2.0) - 1000.0, rel=1e-15)
    assert log_add(1000.0, -1000.0) == log_add(-1000.0, 1000.0) == 1000.0


def network(M__alpha, M__beta, integrator="flow", gauge=True, pruned=None, **state):
    """K topics; the steps are so short that no weight moves, exp(660) of one neither."""
    step = RobbinsMonro(1e-318, power=0)
    parameters = EventDrivenParameters(K, np.full(K, 1.5), step, step, integrator, gauge)
    initial = {"M__alpha": np.array(M__alpha, float), "M__beta": np.array(M__beta, float)}
    initial |= {"n_alpha": np.zeros(K), "n_beta": np.zeros(len(M__beta))} | state
    n_words, lengths = initial["M__alpha"].shape[1], np.full(len(M__beta), 4)
    return EdSpikeLDAReference(parameters, n_words, lengths, seed=0, initial=initial, pruned=pruned)


FORMS = [("flow", True), ("flow", False), ("euler", True), ("euler", False)]
ONLY_ITS_OWN = np.where(np.eye(K, dtype=bool), 0.0, NEVER)
SAME = np.zeros((K, K))


@pytest.mark.parametrize(("integrator", "gauge"), FORMS)
def test_word_and_document_decide_together(integrator, gauge):
    form = {"integrator": integrator, "gauge": gauge}
    tokens, other = [0, 1, 2, 1], [2, 2, 0, 1]
    if integrator == "flow":  # Euler's eta exp(-M) has no place for weights so low
        by_word = network(ONLY_ITS_OWN, SAME, **form)
        assert by_word.present(tokens, other).tolist() == tokens
        by_doc = network(SAME, ONLY_ITS_OWN, **form)
        assert by_doc.present(other, tokens).tolist() == tokens
    # M^alpha prefers topic 0 by e^50, M^beta topic 1 by e^100: topic 1, but for e^-50
    M__alpha, M__beta = [[25.0], [-25.0], [-25.0]], [[-50.0, 50.0, -50.0]]
    assert network(M__alpha, M__beta, **form).present([0] * 5, [0] * 5).tolist() == [1] * 5
    assert network(M__alpha, np.zeros((1, K)), **form).present([0], [0]).tolist() == [0]


@pytest.mark.parametrize("best", range(K))
def test_rates_too_small_for_a_product_are_compared_as_logarithms(best):
    """exp(-600) is below what the sum of rates may be; the difference of 60 still decides."""
    M__beta = np.full((1, K), -660.0)
    M__beta[0, best] = -600.0
    assert network(SAME, M__beta).present([0] * 4, [0] * 4).tolist() == [best] * 4
    M__alpha = SAME.copy()
    M__alpha[best] = 60.0
    level = np.full((1, K), -700.0)
    assert network(M__alpha, level).present([1] * 4, [0] * 4).tolist() == [best] * 4


@pytest.mark.parametrize("best", range(K))
def test_the_offset_of_a_neuron_counts_against_it(best):
    """M^alpha = m - a: where all m are equal the neuron with the smallest a wins."""
    offset = np.full(K, 80.0)
    offset[best] = 20.0
    state = {"m__alpha": np.zeros((K, K)), "a__alpha": offset}
    gauged = network(SAME - offset[:, None], SAME, **state)
    assert gauged.present([0, 1, 2], [0, 0, 0]).tolist() == [best] * 3


@pytest.mark.parametrize("gauge", (True, False))
def test_a_word_without_synapse_is_heard_through_the_shared_one(gauge):
    private = np.eye(K, dtype=bool)
    loud = network(SAME, SAME, gauge=gauge, pruned=PrunedWords(private, np.full(K, -90.0)))
    assert loud.present([0, 1, 2], [0, 0, 0]).tolist() == [0, 1, 2]
    shared = PrunedWords(private, np.array([-90.0, 90.0, -90.0]))
    quiet = network(SAME, SAME, gauge=gauge, pruned=shared)
    assert quiet.present([0, 2], [0, 0]).tolist() == [1, 1]


@pytest.mark.parametrize("gauge", (True, False))
def test_nothing_shown_nothing_learnt(gauge):
    shown = network(ONLY_ITS_OWN, SAME, gauge=gauge)
    before = shown.state()
    assert shown.present([], []).shape == (0,)
    for key, value in shown.state().items():
        np.testing.assert_array_equal(value, before[key], err_msg=key)


@pytest.mark.parametrize("n_topics", (2, 8, 9, 24))
def test_draws_whose_outcome_is_certain(n_topics):
    stream = new_stream(0)
    for best in range(n_topics):
        rate = np.zeros(n_topics)
        rate[best] = 0.25
        assert draw_winner(rate, 0.25, stream) == best
        blocks = np.zeros(padded(n_topics), np.float32)
        blocks[best] = 0.25
        assert draw_from_blocks(blocks, np.float32(0.25), n_topics, stream) == best
