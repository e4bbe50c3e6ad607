"""Fan-in pruning: which words stay, what the shared synapse weighs, and that training goes on."""

import numpy as np
import pytest

from brian_lda import EdSpikeLDA, EdSpikePLSI, SemiSpikeLDA
from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError
from brian_lda.estimators.sources import as_source
from brian_lda.estimators.trainers import softmax_rows
from brian_lda.hardware import pruning
from brian_lda.hardware.checker import check_placement
from brian_lda.hardware.profiles import load_chip
from brian_lda.hardware.pruning import prune_and_continue, prune_words
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.step_rules import AdaGrad, RobbinsMonro, VarianceTracking


def test_top_words_are_private_and_the_rest_keeps_its_mass():
    phi = np.array([[0.4, 0.1, 0.3, 0.05, 0.15], [0.1, 0.2, 0.1, 0.5, 0.1]])
    pruned = prune_words(phi, 2)
    assert pruned.private.tolist() == [[True, False, True, False, False],
                                       [False, True, False, True, False]]  # fmt: skip
    # log(p/(V - n)) with p = 0.3 in both topics, V - n = 3
    np.testing.assert_allclose(pruned.shared, np.log([0.1, 0.1]), rtol=1e-14)
    assert pruned.n_private.tolist() == [2, 2]


def test_mass_is_conserved_for_random_topics():
    phi = np.random.default_rng(0).dirichlet(np.full(300, 0.1), 7)
    pruned = prune_words(phi, 40)
    tied = np.where(pruned.private, phi, np.exp(pruned.shared)[:, None])
    np.testing.assert_allclose(tied.sum(axis=1), 1.0, rtol=1e-12)
    assert (phi.min(axis=1, where=pruned.private, initial=1.0)
            >= phi.max(axis=1, where=~pruned.private, initial=0.0)).all()  # fmt: skip


def test_unigram_rule_keeps_telling_words_and_backs_off_to_the_corpus():
    phi = np.array([[0.4, 0.3, 0.2, 0.06, 0.04], [0.5, 0.05, 0.05, 0.2, 0.2]])
    counts = np.array([60, 10, 20, 10, 0])  # the last counts as one token
    f = np.array([60, 10, 20, 10, 1]) / 101
    pruned = prune_words(phi, 2, counts)
    # phi log(phi/f): -0.16, 0.33, 0.00, -0.03, 0.06 and -0.09, -0.03, -0.07, 0.14, 0.60; by
    # probability alone word 0, which is frequent everywhere, would be private in both topics.
    assert np.flatnonzero(pruned.private[0]).tolist() == [1, 4]
    assert np.flatnonzero(pruned.private[1]).tolist() == [3, 4]
    tied = np.exp(pruned.tied)
    np.testing.assert_allclose(tied[0, [0, 2, 3]], 0.66 * f[[0, 2, 3]] / f[[0, 2, 3]].sum())
    np.testing.assert_allclose(tied[1, :3], 0.6 * f[:3] / f[:3].sum())
    np.testing.assert_allclose(np.where(pruned.private, phi, tied).sum(axis=1), 1.0)
    assert not prune_words(phi, 2).word_bias.any()  # the paper's rule has none


def test_training_goes_on_by_the_unigram_rule(pretrained, reuters):
    counts = np.asarray(reuters.train.counts.sum(axis=0)).ravel()
    pruned = prune_and_continue(pretrained, reuters.train, n_passes=1, n_private=50, rule="unigram")
    network = pruned.trainer_.network
    expected = prune_words(softmax_rows(pretrained.trainer_.network.J__alpha), 50, counts)
    assert np.array_equal(network.pruned.private, expected.private)
    assert np.array_equal(network.M__alpha[~expected.private], expected.tied[~expected.private])
    paper = prune_words(softmax_rows(pretrained.trainer_.network.J__alpha), 50)
    assert not np.array_equal(paper.private, expected.private)
    with pytest.raises(ParameterError, match="rule must be one of .*found 'best'"):
        prune_and_continue(pretrained, reuters.train, n_passes=1, rule="best")


def test_private_words_are_chosen_anew_from_the_winners(pretrained, reuters):
    """Two passes: the network of the second is made of the first, by hand."""
    counts = np.asarray(reuters.train.counts.sum(axis=0)).ravel()
    after_pass = []

    def note(model, record):
        network = model.trainer_.network
        after_pass.append((network.pruned, np.exp(network.J__alpha), network.state()["s_alpha"]))
        after_pass[-1] += model.trainer_._latest

    prune_and_continue(
        pretrained, reuters.train, n_passes=2, n_private=50, rule="renewed", callbacks=[note]
    )
    (first, P, s, words, winners), (second, *_) = after_pass
    unigram = prune_words(softmax_rows(pretrained.trainer_.network.J__alpha), 50, counts)
    assert np.array_equal(first.private, unigram.private)
    C = np.zeros(P.shape)
    np.add.at(C, (winners, words), 1)
    varphi = pretrained.topic_word_prior
    won = C / (C.sum(axis=1, keepdims=True) + varphi * C.shape[1])
    phi = np.where(first.private, P, won + varphi * s[:, None])
    by_hand = prune_words(phi / phi.sum(axis=1, keepdims=True), 50, counts)
    assert np.array_equal(by_hand.private, second.private)
    np.testing.assert_allclose(by_hand.shared, second.shared, rtol=1e-9)
    assert (second.private & ~first.private).sum() > 10  # not vacuous
    steps = EdSpikeLDA(n_topics=2, max_iter=1, random_state=0, word_step=VarianceTracking())
    few = reuters.train.subset(range(9))
    with pytest.raises(ParameterError, match="rule='renewed' needs one step for all synapses"):
        prune_and_continue(steps.fit(few), few, n_passes=1, n_private=9, rule="renewed")


def test_with_room_for_all_words_nothing_is_tied():
    assert prune_words(np.full((2, 5), 0.2), 5).private.all()
    assert prune_words(np.full((2, 5), 0.2), 9).private.all()


def test_no_mass_left_is_an_error_that_says_what_to_do():
    with pytest.raises(ParameterError, match="topic 1 .* smoothed phi"):
        prune_words(np.array([[0.5, 0.3, 0.2], [0.5, 0.5, 0.0]]), 2)
    with pytest.raises(ParameterError, match="n_private must be at least 1"):
        prune_words(np.full((2, 5), 0.2), 0)


@pytest.mark.parametrize("corpus", ["20ng", "nips"])
def test_the_papers_case_every_topic_neuron_has_251_synapses(corpus, data_dir):
    from brian_lda.corpus import load_corpus

    real = load_corpus(corpus, data_dir=data_dir)
    model = SemiSpikeLDA(n_topics=50, max_iter=5, random_state=0).fit(real)
    private = prune_words(model.components_, 200).private
    placement, chip = np.arange(50), load_chip("truenorth_paper")
    loads = check_placement(placement, 50, private, 50, chip, synapse_bytes=4.0)  # a chip a topic
    assert [load.largest_fan_in for load in loads] == [(251, 256)] * 50
    assert all(load.violations == [] for load in loads)
    whole = check_placement(
        placement, 50, np.ones_like(private), real.n_docs, chip, synapse_bytes=4.0
    )
    assert whole[0].largest_fan_in == (real.n_words + real.n_docs, 256)
    assert "fan-in" in whole[0].violations[0]


@pytest.fixture(scope="module")
def pretrained(reuters):
    return EdSpikeLDA(n_topics=5, max_iter=4, random_state=3).fit(reuters.train)


def test_training_goes_on_in_the_pruned_network(pretrained, reuters):
    before = pretrained.trainer_.network.J__alpha  # M^alpha and the prior on Phi
    assert pretrained.trainer_.network.parameters.smoothed
    pruned = prune_and_continue(pretrained, reuters.train, n_passes=3, n_private=50)
    network = pruned.trainer_.network
    assert pruned.n_iter_ == 7 and pretrained.n_iter_ == 4
    assert np.array_equal(pretrained.trainer_.network.J__alpha, before)  # the original stays
    expected = prune_words(softmax_rows(before), 50)
    assert np.array_equal(network.pruned.private, expected.private)
    np.testing.assert_allclose(network.pruned.shared, expected.shared, rtol=1e-12)
    J__alpha = network.J__alpha
    shared = np.broadcast_to(expected.shared[:, None], J__alpha.shape)
    for weights in (J__alpha, network.M__alpha):
        assert np.array_equal(weights[~expected.private], shared[~expected.private])
    s_alpha = network.state()["s_alpha"][:, None]
    own = np.exp(network.M__alpha) + pretrained.topic_word_prior * s_alpha
    np.testing.assert_allclose(np.exp(J__alpha)[expected.private], own[expected.private])
    moved = np.abs(J__alpha - np.log(softmax_rows(before)))[expected.private]
    assert np.median(moved) > 0.01  # private synapses are plastic
    np.testing.assert_allclose(pruned.components_.sum(axis=1), 1.0, rtol=1e-12)
    phi = np.exp(J__alpha) / np.exp(J__alpha).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pruned.components_, phi, rtol=1e-12)
    theta = pruned.transform(reuters.observed)
    assert theta.shape == (reuters.observed.n_docs, 5)
    assert pruned.doc_topic().shape == (reuters.train.n_docs, 5)


def test_pruning_nothing_only_puts_the_weights_on_the_manifold(reuters):
    V = reuters.train.n_words
    pretrained = EdSpikeLDA(n_topics=5, max_iter=1, random_state=3).fit(reuters.train)
    same = prune_and_continue(pretrained, reuters.train, n_passes=0, n_private=V)
    before, after = (np.exp(m.trainer_.network.J__alpha).sum(axis=1) for m in (pretrained, same))
    assert np.abs(np.log(before)).max() > 1e-3  # zeta was not 1 yet
    np.testing.assert_allclose(after, 1.0, rtol=1e-12)
    np.testing.assert_allclose(same.components_, pretrained.components_, rtol=1e-9)
    assert np.array_equal(same.doc_topic(), pretrained.doc_topic())


@pytest.mark.parametrize(
    "model",
    [
        EdSpikePLSI(n_topics=4, max_iter=2, random_state=0),
        EdSpikeLDA(n_topics=4, max_iter=2, random_state=0, word_step=RobbinsMonro(0.01),
                 integrator="euler"),
        EdSpikeLDA(n_topics=4, max_iter=1, random_state=0, word_step=VarianceTracking()),
    ],
    ids=["plsi", "euler", "variance tracking"],
)  # fmt: skip
def test_every_event_driven_model_can_be_pruned(model, reuters):
    few = reuters.train.subset(range(20))
    pruned = prune_and_continue(model.fit(few), few, n_passes=1, n_private=30)
    assert np.isfinite(pruned.components_).all()
    assert pruned.trainer_.network.pruned.n_private.tolist() == [30] * 4


def test_limits_of_chips_are_kept_by_the_pruned_network():
    counts = np.random.default_rng(0).poisson(1.0, (6, 8))
    options = {"n_topics": 3, "max_iter": 1, "random_state": 0}
    options["constraints"] = {"weight_bits": 6, "weight_range": (-10.0, 3.0)}
    spiking = EdSpikeLDA(backend="brian2", brian2_options={"simulator": "numpy"}, **options)
    corpus = as_source(counts)
    pruned = prune_and_continue(spiking.fit(corpus), corpus, n_passes=1, n_private=4)
    network = pruned.trainer_.network
    assert network.pruned.n_private.tolist() == [4] * 3
    levels = (network.M__beta + 10.0) / Constraints(**options["constraints"]).quantum
    np.testing.assert_allclose(levels, np.rint(levels), rtol=0, atol=1e-9)
    at_rate_level = EdSpikeLDA(**options).fit(corpus)
    network = prune_and_continue(at_rate_level, corpus, n_passes=1, n_private=4).trainer_.network
    levels = (network.M__beta + 10.0) / Constraints(**options["constraints"]).quantum
    np.testing.assert_allclose(levels, np.rint(levels), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(
        network.M__alpha[~network.pruned.private], network.pruned.tied[~network.pruned.private]
    )


def test_models_that_cannot_be_pruned_are_refused(reuters):
    with pytest.raises(ParameterError, match="not fitted"):
        prune_and_continue(EdSpikeLDA(), reuters.train, n_passes=1)
    semi = SemiSpikeLDA(n_topics=3, max_iter=1, random_state=0).fit(reuters.train)
    with pytest.raises(ParameterError, match="SemiSpikeLDA of another kind"):
        prune_and_continue(semi, reuters.train, n_passes=1)


def test_moments_of_variance_tracking_move_with_the_weights():
    """Onto zeta = 1: M falls by log zeta, so E M = s_1 and E M^2 = s_2 must be those of M - c."""
    M = np.log([[0.5, 1.5, 2.0], [0.1, 0.2, 0.1]])
    samples = M + np.array([-0.3, 0.1, 0.5])[:, None, None]
    state = {"M__alpha": M, "s_1__alpha": samples.mean(0), "s_2__alpha": (samples**2).mean(0)}
    moved = pruning._on_manifold(state, M, VarianceTracking())
    shifted = samples - np.log([[4.0], [0.4]])
    np.testing.assert_allclose(np.exp(moved["M__alpha"]).sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(moved["s_1__alpha"], shifted.mean(0), rtol=1e-12)
    np.testing.assert_allclose(moved["s_2__alpha"], (shifted**2).mean(0), rtol=1e-12)


PRINTED = {"word_step": VarianceTracking(), "integrator": "euler", "gauge": False}


@pytest.mark.complete(but="lda")
@pytest.mark.parametrize(
    "parameters",
    [
        EventDrivenParameters(2, 1.3),
        EventDrivenParameters(2, None),
        EventDrivenParameters(2, 1.3, doc_step=AdaGrad(), **PRINTED),
        EventDrivenParameters(2, None, doc_step=VarianceTracking(), **PRINTED),
    ],
    ids=["lda", "plsi", "lda as printed", "plsi as printed"],
)
def test_topic_neurons_hear_the_shared_synapse_in_spikes(parameters):
    """Topic 0 has no synapse of its own for word 0, and a shared one that it hardly hears."""
    private = np.array([[False, True, True], [True, True, True]])
    words, docs = np.zeros(30, int), np.zeros(30, int)

    def wins_of_topic_0(pruned):
        network = EventDrivenSpiking(
            parameters, 3, np.array([30]), seed=0, simulator="numpy", pruned=pruned
        )
        return (network.present(words, docs) == 0).sum()

    assert wins_of_topic_0(None) > 0
    assert wins_of_topic_0(PrunedWords(private, np.array([-40.0, 0.0]))) == 0
    assert wins_of_topic_0(PrunedWords(private, np.array([40.0, 0.0]))) == 30
