"""The one perplexity of the package, against sums written out by hand."""

from math import exp, log

import numpy as np
import pytest
from scipy import sparse

from brian_lda.errors import BrianLDAError, ParameterError
from brian_lda.evaluation import FLOOR, fold_in, held_out, heldout_perplexity

PHI = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.1, 0.4, 0.4]])
THETA = np.array([[0.75, 0.25], [0.2, 0.8]])
OBSERVED = sparse.csr_array(np.array([[3, 1, 0, 0], [0, 0, 2, 2]]))
HELDOUT = sparse.csr_array(np.array([[1, 0, 2, 0], [0, 1, 0, 1]]))


def test_explicit_formula():
    p = [0.75 * 0.5 + 0.25 * 0.1, 0.75 * 0.2 + 0.25 * 0.4]  # words 0 and 2 of document 0
    q = [0.2 * 0.3 + 0.8 * 0.1, 0.2 * 0.0 + 0.8 * 0.4]  # words 1 and 3 of document 1
    by_hand = exp(-(log(p[0]) + 2 * log(p[1]) + log(q[0]) + log(q[1])) / 5)
    score = heldout_perplexity(PHI, OBSERVED, HELDOUT, theta=THETA)
    assert score.perplexity == pytest.approx(by_hand, rel=1e-14)
    assert (score.floor_tokens, score.n_tokens) == (0, 5)


def test_theta_comes_from_the_observed_half():
    score = heldout_perplexity(PHI, OBSERVED, HELDOUT, pseudo_count=0.3)
    theta = fold_in(PHI, OBSERVED, 0.3)
    assert score == heldout_perplexity(PHI, OBSERVED, HELDOUT, theta=theta)
    assert score != heldout_perplexity(PHI, HELDOUT, HELDOUT, pseudo_count=0.3)
    assert score != heldout_perplexity(PHI, OBSERVED, HELDOUT, pseudo_count=3.0)


@pytest.mark.parametrize("n_words", (2, 10, 1000))
def test_a_uniform_model_has_perplexity_v(n_words):
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (2, 20, n_words)).astype(np.int32)
    score = heldout_perplexity(np.full((3, n_words), 1 / n_words), *counts)
    assert score.perplexity == pytest.approx(n_words, rel=1e-12)


def test_natural_logarithm_and_not_a_bound():
    """A word of probability 1/e costs one nat: perplexity e."""
    phi = np.array([[1 / np.e, 1 - 1 / np.e], [1 / np.e, 1 - 1 / np.e]])
    score = heldout_perplexity(phi, np.array([[5, 2]]), np.array([[4, 0]]))
    assert score.perplexity == pytest.approx(np.e, rel=1e-14)


def test_tokens_without_probability_hit_the_stated_floor():
    phi = np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    observed, heldout = np.array([[2, 1, 0]]), np.array([[0, 1, 3]])
    score = heldout_perplexity(phi, observed, heldout, theta=np.array([[0.5, 0.5]]))
    assert (score.floor_tokens, score.n_tokens) == (3, 4)
    assert score.perplexity == pytest.approx(exp(-(log(0.65) + 3 * log(FLOOR)) / 4), rel=1e-12)
    assert FLOOR == 1e-12  # a change of the floor is a change of every published figure


def test_a_probability_just_above_the_floor_is_not_counted():
    phi = np.array([[1 - 2e-12, 2e-12], [1 - 2e-12, 2e-12]])
    score = heldout_perplexity(phi, np.array([[1, 0]]), np.array([[0, 1]]))
    assert score.floor_tokens == 0
    assert score.perplexity == pytest.approx(5e11, rel=1e-9)


def test_empty_documents_pass():
    """No observed token: theta is the prior. No held-out token: no term."""
    observed, heldout = np.array([[0, 0, 0, 0], [1, 1, 1, 1]]), np.array([[1, 0, 0, 0], [0] * 4])
    score = heldout_perplexity(PHI, observed, heldout, pseudo_count=[0.1, 0.3])
    assert score.perplexity == pytest.approx(1 / (0.25 * 0.5 + 0.75 * 0.1), rel=1e-9)
    assert score.n_tokens == 1


def test_a_corpus_larger_than_one_part(monkeypatch):
    rng = np.random.default_rng(1)
    observed, heldout = rng.poisson(1.0, (2, 30, 40)).astype(np.int32)
    phi = rng.dirichlet(np.ones(40), 5)
    whole = heldout_perplexity(phi, observed, heldout)
    monkeypatch.setattr(held_out, "_ENTRIES_AT_ONCE", 7)
    parts = heldout_perplexity(phi, observed, heldout)
    assert parts.perplexity == pytest.approx(whole.perplexity, rel=1e-12)
    assert parts[1:] == whole[1:]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"heldout": np.ones((3, 4), int)}, "heldout"),
        ({"heldout": np.ones((2, 5), int)}, "heldout"),
        ({"heldout": np.zeros((2, 4), int)}, "heldout"),
        ({"observed": np.full((2, 4), -1)}, "observed"),
        ({"phi": np.full((2, 5), 0.2)}, "phi"),
        ({"phi": np.full((2, 5), 0.2), "theta": THETA}, "phi"),
        ({"phi": PHI * 10}, "phi"),
        ({"phi": PHI * np.nan}, "phi"),
        ({"theta": np.full((3, 2), 0.5)}, "theta"),
        ({"theta": np.full((1, 2), 0.5)}, "theta"),
        ({"theta": np.full((2, 3), 1 / 3)}, "theta"),
        ({"pseudo_count": -0.1}, "pseudo_count"),
        ({"pseudo_count": [0.1, 0.1, 0.1]}, "pseudo_count"),
        ({"pseudo_count": np.nan}, "pseudo_count"),
    ],
    ids=str,
)
def test_mismatched_arguments_are_named(changes, names):
    arguments = {"phi": PHI, "observed": OBSERVED, "heldout": HELDOUT} | changes
    with pytest.raises(BrianLDAError, match=names) as error:
        heldout_perplexity(**arguments)
    if names in ("phi", "theta", "pseudo_count"):
        assert isinstance(error.value, ParameterError)


def test_a_probability_at_the_floor_is_not_below_it():
    phi = np.array([[1 - FLOOR, FLOOR], [1 - FLOOR, FLOOR]])
    score = heldout_perplexity(
        phi, np.array([[1, 0]]), np.array([[0, 3]]), theta=np.array([[1.0, 0.0]])
    )
    assert (score.floor_tokens, score.n_tokens) == (0, 3)


def test_the_prior_of_theta_that_is_used_unless_given():
    """A change of it is a change of every published figure."""
    score = heldout_perplexity(PHI, OBSERVED, HELDOUT)
    assert score == heldout_perplexity(PHI, OBSERVED, HELDOUT, pseudo_count=0.1)
