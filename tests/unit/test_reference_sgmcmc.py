"""SGRLD: the printed step, and the prior as its stationary law when there is no document."""

import numpy as np
import pytest
from scipy import sparse, stats

from brian_lda.reference.activation import padded
from brian_lda.reference.document_batch import batch_tokens
from brian_lda.reference.semi_spike_lda import semi_cgs_counts
from brian_lda.reference.sgmcmc import StochasticGradientMCMC


def sampler(K=3, V=6, **changes):
    arguments = {
        "n_topics": K, "n_words": V, "n_docs": 40, "doc_topic_prior": np.linspace(0.1, 0.8, K),
        "topic_word_prior": 0.7, "local_iterations": 4, "step": (0.1, 5.0, 0.6), "seed": 2,
    }  # fmt: skip
    return StochasticGradientMCMC(**(arguments | changes))


def test_the_step_as_printed():
    """|xi + eps/2 (varphi - xi + D/|B| (n_zw - phi_zw n_z)) + sqrt(xi) nu|, nu ~ N(0, eps)."""
    varphi = np.array([0.1, 0.3, 0.7, 1.0, 0.2, 0.4])
    chain = sampler(topic_word_prior=varphi)
    counts = sparse.csr_array(np.random.default_rng(0).poisson(0.8, (8, 6)).astype(np.int32))
    batch = batch_tokens(counts)
    lamda = np.zeros(padded(3), np.float32)
    lamda[:3] = np.linspace(0.1, 0.8, 3)
    for t in range(3):
        xi = chain.xi.copy()
        phi = xi / xi.sum(axis=1, keepdims=True)
        rates = np.zeros((len(batch.words), padded(3)), np.float32)
        rates[:, :3] = (phi / phi.max(axis=0))[:, batch.words].T
        N_zw = semi_cgs_counts(
            batch, rates, lamda, 3, burn_in=4, kept=4, key=np.random.SeedSequence([2, 1, t])
        )
        n_zw = np.zeros((3, 6))
        n_zw[:, batch.words] = N_zw[:, :3].T / 4
        assert n_zw.sum() == counts.sum()
        epsilon = 0.1 * (1 + t / 5.0) ** -0.6
        nu = np.random.default_rng(np.random.SeedSequence([2, 2, t])).normal(size=(3, 6))
        gradient = varphi - xi + 40 / 8 * (n_zw - phi * n_zw.sum(axis=1, keepdims=True))
        expected = np.abs(xi + epsilon / 2 * gradient + np.sqrt(xi * epsilon) * nu)
        chain.update(counts)
        np.testing.assert_allclose(chain.xi, expected, rtol=1e-12)
        np.testing.assert_allclose(chain.phi.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(("claimed", "matches"), [(2.0, True), (2.3, False)])
def test_without_documents_it_samples_the_prior(claimed, matches):
    """Each xi is then a Langevin chain of Gamma(varphi, 1); 4 000 of them, 30 relaxation times."""
    chain = sampler(K=2, V=2000, topic_word_prior=2.0, step=(0.02, 1.0, 0.0))
    for _ in range(3000):
        chain.update(sparse.csr_array((3, 2000), dtype=np.int32))
    p = stats.kstest(chain.xi.ravel(), stats.gamma(claimed).cdf).pvalue
    assert p > 1e-3 if matches else p < 1e-6


def test_a_restored_state_goes_on_bit_for_bit():
    counts = sparse.csr_array(np.random.default_rng(0).poisson(0.8, (8, 6)).astype(np.int32))
    original, restored = sampler(), sampler()
    original.update(counts)
    restored.set_state(original.state())
    for chain in (original, restored):
        chain.update(counts)
    np.testing.assert_array_equal(original.xi, restored.xi)
