r"""Baseline: stochastic gradient Riemannian Langevin dynamics for LDA (Patterson & Teh, NIPS 2013).

Expanded-mean parametrisation: phi_z = xi_z / sum_w xi_zw with xi_zw ~ Gamma(varphi, 1). For a
mini-batch of |B| of D documents, with n_zw the expected counts under semi-CGS,

.. math:: \xi_{zw} \leftarrow \Big|\xi_{zw} + \frac{\epsilon_t}2\Big(\varphi - \xi_{zw}
          + \frac{D}{|B|}\big(n_{zw} - \phi_{zw} n_z\big)\Big) + \sqrt{\xi_{zw}}\,\nu\Big| ,
          \qquad \nu \sim N(0, \epsilon_t)

and the paper's schedule epsilon_t = a (1 + t/b)^-c.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from brian_lda.parameters import dirichlet_vector
from brian_lda.reference.activation import padded
from brian_lda.reference.document_batch import batch_tokens
from brian_lda.reference.semi_spike_lda import semi_cgs_counts


class StochasticGradientMCMC:
    """SGRLD sampler.

    Parameters
    ----------
    n_topics, n_words, n_docs : int
        K, V and the corpus size D, which this algorithm must know.
    doc_topic_prior, topic_word_prior : float or array
        lambda [topic] and varphi [word].
    local_iterations : int
        Sweeps of semi-CGS of burn-in, then as many that are counted.
    step : tuple (a, b, c)
    seed : int
    """

    def __init__(
        self,
        *,
        n_topics: int,
        n_words: int,
        n_docs: int,
        doc_topic_prior: float | np.ndarray,
        topic_word_prior: float | np.ndarray,
        local_iterations: int,
        step: tuple[float, float, float],
        seed: int,
    ) -> None:
        self.n_topics, self.n_docs, self.seed = n_topics, n_docs, seed
        self.lamda = dirichlet_vector(doc_topic_prior, n_topics, "doc_topic_prior")
        self.varphi = dirichlet_vector(topic_word_prior, n_words, "topic_word_prior")
        self.local_iterations, self.step = local_iterations, step
        rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
        self.xi = rng.gamma(1.0, 1.0, (n_topics, n_words))
        self.n_updates = 0
        self._lamda32 = np.zeros(padded(n_topics), np.float32)
        self._lamda32[:n_topics] = self.lamda

    @property
    def phi(self) -> np.ndarray:
        """The current sample of Phi, [topic, word]."""
        return self.xi / self.xi.sum(axis=1, keepdims=True)

    def update(self, counts: sparse.csr_array) -> None:
        """One Langevin step on a mini-batch of documents [doc, word]."""
        a, b, c = self.step
        epsilon = a * (1.0 + self.n_updates / b) ** -c
        phi = self.phi
        batch = batch_tokens(counts)
        n_zw = np.zeros_like(phi)
        if batch.n_tokens:
            rates = np.zeros((len(batch.words), padded(self.n_topics)), np.float32)
            columns = phi[:, batch.words].T
            rates[:, : self.n_topics] = columns / columns.max(axis=1, keepdims=True)
            T = self.local_iterations
            counted = semi_cgs_counts(
                batch, rates, self._lamda32, self.n_topics, burn_in=T, kept=T,
                key=np.random.SeedSequence([self.seed, 1, self.n_updates]),
            )  # fmt: skip
            n_zw[:, batch.words] = counted[:, : self.n_topics].T / T
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, 2, self.n_updates]))
        noise = rng.normal(0.0, np.sqrt(epsilon), self.xi.shape)
        scale = self.n_docs / max(batch.n_docs, 1)
        drift = self.varphi - self.xi + scale * (n_zw - phi * n_zw.sum(axis=1, keepdims=True))
        self.xi = np.abs(self.xi + 0.5 * epsilon * drift + np.sqrt(self.xi) * noise)
        # A gamma variable of shape 0.01 underflows; phi must stay positive.
        np.maximum(self.xi, 1e-300, out=self.xi)
        self.n_updates += 1

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next update depends on."""
        return {"xi": self.xi.copy(), "n_updates": np.array([self.n_updates])}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state`."""
        self.xi = np.array(state["xi"], np.float64)
        self.n_updates = int(state["n_updates"][0])
