"""Top words, coherence and matching, on numbers small enough for a sheet of paper."""

from math import log

import numpy as np
import pytest

from brian_lda.errors import ParameterError
from brian_lda.evaluation import match_topics, npmi_coherence, top_word_ids, top_words

PHI = np.array([[0.1, 0.4, 0.2, 0.3], [0.7, 0.1, 0.15, 0.05]])


def test_top_words():
    assert top_word_ids(PHI, 3).tolist() == [[1, 3, 2], [0, 2, 1]]
    assert top_words(PHI, ["a", "b", "c", "d"], 2) == [["b", "d"], ["a", "c"]]
    assert top_word_ids(PHI, 99).shape == (2, 4)
    with pytest.raises(ParameterError, match="vocabulary"):
        top_words(PHI, ["a", "b"])


def test_top_words_agree_with_a_full_sort():
    phi = np.random.default_rng(0).dirichlet(np.full(500, 0.1), 20)
    np.testing.assert_array_equal(top_word_ids(phi, 10), np.argsort(-phi, axis=1)[:, :10])


def test_npmi_by_hand():
    """Four documents; words 0 and 1 meet in 2, 0 and 2 in 1, 1 and 2 never."""
    counts = np.array([[5, 1, 0], [1, 2, 0], [3, 0, 7], [0, 0, 1]])
    phi = np.array([[0.5, 0.4, 0.1], [0.5, 0.1, 0.4], [0.1, 0.5, 0.4]])
    p = {0: 3 / 4, 1: 2 / 4, 2: 2 / 4}
    npmi_01 = log((2 / 4) / (p[0] * p[1])) / -log(2 / 4)
    npmi_02 = log((1 / 4) / (p[0] * p[2])) / -log(1 / 4)
    np.testing.assert_allclose(npmi_coherence(phi, counts, 2), [npmi_01, npmi_02, -1], rtol=1e-13)
    mean = (npmi_01 + npmi_02 - 1) / 3
    np.testing.assert_allclose(npmi_coherence(phi, counts, 3), [mean] * 3, rtol=1e-13)


def test_npmi_of_inseparable_and_of_ubiquitous_words():
    phi = np.array([[0.5, 0.5, 0.0]])
    together = np.array([[1, 1, 0], [2, 1, 0], [0, 0, 1], [0, 0, 1]])
    np.testing.assert_allclose(npmi_coherence(phi, together, 2), [1.0], rtol=1e-13)
    everywhere = np.array([[1, 1, 0], [2, 1, 0]])
    np.testing.assert_allclose(npmi_coherence(phi, everywhere, 2), [1.0], rtol=1e-13)


def test_npmi_of_independent_words_is_zero():
    counts = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    np.testing.assert_allclose(npmi_coherence(np.array([[0.6, 0.4]]), counts), [0.0], atol=1e-15)


def test_matching_recovers_a_permutation():
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(30, 0.1), 8)
    order = rng.permutation(8)
    noisy = phi[order] + 0.001 * rng.random((8, 30))
    match = match_topics(phi, noisy)
    np.testing.assert_array_equal(order[match.other], np.arange(8))
    assert match.cosine.min() > 0.99
    np.testing.assert_allclose(match_topics(phi, phi[order]).cosine, 1.0, rtol=1e-12)


def test_matching_is_one_to_one_where_greedy_is_not():
    """Both topics prefer partner 0; the greatest sum gives it to the second."""
    phi = np.array([[1.0, 0.5, 0.0], [1.0, 0.0, 0.0]])
    other = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    match = match_topics(phi, other)
    assert match.other.tolist() == [1, 0]
    np.testing.assert_allclose(match.cosine, [0.5 / np.hypot(1, 0.5), 1.0], rtol=1e-13)


def test_matching_refuses_other_shapes():
    with pytest.raises(ParameterError, match="same words"):
        match_topics(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(ParameterError, match="topics"):
        match_topics(np.ones((3, 3)), np.ones((2, 3)))


def test_ten_words_unless_asked_otherwise():
    phi = np.random.default_rng(2).dirichlet(np.ones(30), 2)
    assert top_word_ids(phi).shape == (2, 10)
    assert [len(words) for words in top_words(phi, [str(w) for w in range(30)])] == [10, 10]


def test_coherence_is_about_pairs():
    counts = np.array([[1, 1, 0], [1, 0, 1]])
    with pytest.raises(ParameterError, match="n must be at least 2"):
        npmi_coherence(np.array([[0.5, 0.3, 0.2]]), counts, 1)


def test_frequencies_are_of_documents_and_not_of_tokens():
    once = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]])
    phi = np.array([[0.5, 0.3, 0.2]])
    np.testing.assert_array_equal(npmi_coherence(phi, once, 3), npmi_coherence(phi, once * 9, 3))


def test_a_topic_without_weight_is_refused_on_either_side():
    full, empty = np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([[0.5, 0.5], [0.0, 0.0]])
    for pair in ((full, empty), (empty, full)):
        with pytest.raises(ParameterError, match="empty row"):
            match_topics(*pair)
