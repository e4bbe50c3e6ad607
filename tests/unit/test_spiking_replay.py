"""Replay: weights from Phi and Theta, indices of the caller, one winner a token."""

import numpy as np
import pytest

from brian_lda.errors import ParameterError
from brian_lda.simulation.replay import replay_tokens


def test_certain_topics_win_and_indices_are_the_callers():
    # Word 7 occurs in topic 0 alone, word 900 in topic 1 alone, so the winners are certain.
    phi = np.zeros((2, 1000))
    phi[0, 7] = phi[1, 900] = 1.0
    theta = np.full((50, 2), 0.5)
    words, docs = np.array([7, 900, 7, 7, 900]), np.array([41, 3, 3, 41, 49])
    spikes = replay_tokens(phi, theta, words, docs, seed=0)
    np.testing.assert_array_equal(spikes.index["topic"], [0, 1, 0, 0, 1])
    token = np.searchsorted(spikes.time["topic"], spikes.time["word"])
    np.testing.assert_array_equal(spikes.index["word"], words[token])
    np.testing.assert_array_equal(spikes.index["document"], docs[token])
    assert set(token) == set(range(5))


def test_no_token_is_an_error():
    with pytest.raises(ParameterError, match="at least one token"):
        replay_tokens(np.ones((2, 3)), np.ones((1, 2)), np.array([]), np.array([]), seed=0)
