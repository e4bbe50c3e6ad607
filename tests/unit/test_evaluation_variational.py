"""Half a count comes off a variational model, and nothing becomes impossible."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma

from brian_lda.evaluation import effective_counts, variational_phi


def test_half_a_count_is_taken_off_every_word_before_rows_are_made_one():
    phi = variational_phi(np.array([[2.5, 1.0, 0.75], [4.5, 0.5, 0.02]]))
    np.testing.assert_allclose(phi[0], np.array([2.0, 0.5, 0.25]) / 2.75, rtol=1e-15)
    # below 0.5 there is a floor of 0.001
    np.testing.assert_allclose(phi[1], np.array([4.0, 0.001, 0.001]) / 4.002, rtol=1e-15)
    assert (phi > 0).all()


def test_a_prior_with_the_papers_offset_is_the_samplers():
    assert effective_counts(0.51) == pytest.approx(0.01, rel=1e-12)  # varphi of Sec. 4
    assert effective_counts(0.6) == pytest.approx(0.1, rel=1e-12)
    assert effective_counts(0.02) == 1e-3


def test_effective_counts_are_what_training_sees():
    """exp(digamma(x)) = x - 0.5 + 1/(24 x) + ...: within 1 % from 2.5 counts on."""
    counts = np.linspace(2.5, 100.0, 50)
    np.testing.assert_allclose(effective_counts(counts), np.exp(digamma(counts)), rtol=0.01)
