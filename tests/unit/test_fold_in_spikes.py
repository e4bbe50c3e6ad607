"""Theta from spikes tends to the MAP solution of the deterministic fold-in."""

import numpy as np
import pytest

from brian_lda import fold_in_spikes
from brian_lda.corpus import load_corpus
from brian_lda.errors import ParameterError
from brian_lda.evaluation import fold_in
from brian_lda.simulation import EventDrivenSpiking

K = 4
CORPUS = load_corpus("bars", grid=2, n_docs=6, doc_length=60, seed=1)
PHI = np.full((K, CORPUS.n_words), 0.1) + 0.6 * np.eye(K, CORPUS.n_words)
PRIOR = np.array([0.2, 0.1, 0.4, 0.1])
IN_PYTHON = {"simulator": "numpy"}
NEAR = 0.1  # after 20 passes two seeds were 0.056 and 0.079 off by chance


def distance(theta, other):
    """Mean total variation."""
    return 0.5 * np.abs(theta - other).sum(axis=1).mean()


def test_theta_is_near_the_map_solution_and_nearer_after_more_passes():
    expected = fold_in(PHI, CORPUS.counts, PRIOR)
    few = fold_in_spikes(PHI, CORPUS, PRIOR, n_passes=1, **IN_PYTHON)
    many = fold_in_spikes(PHI, CORPUS, PRIOR, n_passes=20, **IN_PYTHON)
    for theta in (few, many):
        np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
    assert distance(many, expected) < NEAR < distance(few, expected)
    # controls: another Phi, another prior
    assert distance(many, fold_in(PHI[::-1], CORPUS.counts, PRIOR)) > 5 * NEAR
    assert distance(many, fold_in(PHI, CORPUS.counts, 100 * PRIOR)) > NEAR


def test_words_do_not_learn(monkeypatch):
    seen = []
    present = EventDrivenSpiking.present

    def watched(self, *tokens):
        winners = present(self, *tokens)
        seen.append(self.M__alpha)
        return winners

    monkeypatch.setattr(EventDrivenSpiking, "present", watched)
    fold_in_spikes(PHI, CORPUS, PRIOR, n_passes=3, **IN_PYTHON)
    assert len(seen) == 3
    np.testing.assert_allclose(seen[-1], np.log(PHI), rtol=1e-14)  # exp and log


def test_documents_without_tokens_have_their_prior_and_unknown_words_say_nothing():
    phi = np.array([[0.5, 0.5, 0.0], [0.9, 0.1, 0.0]])
    counts = np.array([[0, 0, 0], [0, 0, 2]])
    theta = fold_in_spikes(phi, counts, [0.3, 0.1], n_passes=1, **IN_PYTHON)
    np.testing.assert_allclose(theta[0], [0.75, 0.25], rtol=1e-12)
    assert np.isfinite(theta).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((PHI, CORPUS, 0.0), "pseudo_count must be more than 0 in spikes"),
        ((PHI[:, 1:] / PHI[:, 1:].sum(axis=1, keepdims=True), CORPUS, 0.1), "the same words"),
        ((2 * PHI, CORPUS, 0.1), "rows of phi must sum to 1"),
    ],
)
def test_what_cannot_be_folded_in(arguments, message):
    with pytest.raises(ParameterError, match=message):
        fold_in_spikes(*arguments, **IN_PYTHON)


def test_at_least_one_pass():
    with pytest.raises(ParameterError, match="n_passes must be at least 1"):
        fold_in_spikes(PHI, CORPUS, 0.1, n_passes=0, **IN_PYTHON)


def test_the_prior_counts_once_beside_the_winners_of_a_pass():
    """Two words, each known to one topic alone: the winners are certain."""
    counts = np.array([[1, 0], [3, 1]])
    theta = fold_in_spikes(np.eye(2), counts, [0.3, 0.1], n_passes=3, **IN_PYTHON)
    np.testing.assert_allclose(theta, [[1.3 / 1.4, 0.1 / 1.4], [3.3 / 4.4, 1.1 / 4.4]], rtol=1e-12)
