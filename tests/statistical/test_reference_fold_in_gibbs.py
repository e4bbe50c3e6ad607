"""theta from one Gibbs sample: the counts behind it follow the enumerated posterior."""

from itertools import product
from math import lgamma

import numpy as np
import pytest
from scipy import stats

from brian_lda.evaluation import fold_in_gibbs

pytestmark = pytest.mark.statistical

PHI = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.4, 0.3]])
DOCUMENT = [0, 0, 1, 2]
COUNTS = np.bincount(DOCUMENT)
N_COPIES = 20_000  # rows are independent chains


def enumerated(prior):
    """p(C_z) of the document, from all assignments: dict count vector -> probability."""
    p = {}
    for z in product(range(3), repeat=len(DOCUMENT)):
        C_z = tuple(z.count(k) for k in range(3))
        weight = np.prod([PHI[k, w] for k, w in zip(z, DOCUMENT, strict=True)])
        weight *= np.exp(sum(lgamma(C_z[k] + prior[k]) for k in range(3)))
        p[C_z] = p.get(C_z, 0.0) + weight
    total = sum(p.values())
    return {C_z: weight / total for C_z, weight in p.items()}


def p_value(prior_used, prior_expected):
    theta = fold_in_gibbs(PHI, np.tile(COUNTS, (N_COPIES, 1)), prior_used, seed=3)
    C_z = theta * (len(DOCUMENT) + sum(prior_used)) - prior_used
    np.testing.assert_allclose(C_z, C_z.round(), rtol=0, atol=1e-9)
    found = [tuple(row) for row in C_z.round().astype(int)]
    expected = enumerated(prior_expected)
    observed = np.array([found.count(key) for key in expected])
    assert observed.sum() == N_COPIES
    return stats.chisquare(observed, N_COPIES * np.array(list(expected.values()))).pvalue


def test_counts_follow_the_posterior():
    prior = np.array([0.3, 0.9, 1.5])
    assert p_value(prior, prior) > 0.005


def test_another_prior_fails():
    prior = np.array([0.3, 0.9, 1.5])
    assert p_value(prior, prior + 1.0) < 1e-6
    assert p_value(prior, prior[::-1]) < 1e-6
