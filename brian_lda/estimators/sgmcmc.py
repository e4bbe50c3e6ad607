"""`StochasticGradientMCMCLDA`: the paper's online baseline SGMCMC on smoothed LDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brian_lda.estimators.base import Callback
from brian_lda.estimators.svi import StochasticVariationalLDA
from brian_lda.reference.sgmcmc import StochasticGradientMCMC


class StochasticGradientMCMCLDA(StochasticVariationalLDA):
    """Baseline SGMCMC: SGRLD with the expanded mean (Patterson & Teh 2013).

    Parameters
    ----------
    n_topics : int
    doc_topic_prior, topic_word_prior : float or array
        lambda [topic] and varphi [word].
    max_iter : int
        Mini-batch updates.
    batch_size, local_iterations : int
        Documents per mini-batch; sweeps of burn-in, then as many that are counted.
    step : tuple (a, b, c)
        Step size of update t: a (1 + t/b)^-c. Default: the paper's for NIPS.
    total_documents : int, optional
        Corpus size D for `partial_fit`, which cannot know it.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    random_state, callbacks :
        As in the other estimators.
    """

    def __init__(
        self,
        *,
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 0.1,
        topic_word_prior: float | np.ndarray = 0.01,
        max_iter: int = 1000,
        batch_size: int = 64,
        local_iterations: int = 5,
        step: tuple[float, float, float] = (0.05, 1000.0, 0.7),
        total_documents: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        super().__init__(
            n_topics=n_topics,
            doc_topic_prior=doc_topic_prior,
            topic_word_prior=topic_word_prior,
            max_iter=max_iter,
            batch_size=batch_size,
            local_iterations=local_iterations,
            step=step,
            total_documents=total_documents,
            random_state=random_state,
            callbacks=callbacks,
        )
        self.n_jobs = n_jobs

    def _updates(self, n_docs: int, n_words: int, seed: int) -> StochasticGradientMCMC:
        return StochasticGradientMCMC(
            n_topics=self.n_topics,
            n_words=n_words,
            n_docs=n_docs,
            doc_topic_prior=self.doc_topic_prior,
            topic_word_prior=self.topic_word_prior,
            local_iterations=self.local_iterations,
            step=self.step,
            seed=seed,
        )

    def _pseudo_count(self) -> float | np.ndarray:
        return self.doc_topic_prior
