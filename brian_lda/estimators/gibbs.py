"""`SpikeCGS` and `CollapsedGibbsLDA`: batch samplers of smoothed LDA that keep all assignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brian_lda.corpus import Corpus, TokenStore
from brian_lda.estimators.algorithms import Sampler
from brian_lda.estimators.base import Callback, TopicModel
from brian_lda.estimators.event_driven import in_memory
from brian_lda.estimators.trainers import GibbsTrainer
from brian_lda.reference.collapsed_gibbs import CollapsedGibbs
from brian_lda.reference.spike_cgs import SpikeCGSReference


class _GibbsModel(TopicModel):
    def __init__(
        self,
        *,
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 0.1,
        topic_word_prior: float | np.ndarray = 0.01,
        max_iter: int = 200,
        backend: str = "rate",
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.backend = backend
        self.random_state = random_state
        self.callbacks = callbacks

    def _sampler(self, words: np.ndarray, docs: np.ndarray, **arguments: Any) -> Sampler:
        raise NotImplementedError

    def _make_trainer(self, source: Corpus | TokenStore, seed: int) -> GibbsTrainer:
        corpus = in_memory(source, type(self).__name__)
        sampler = self._sampler(
            *corpus.tokens(),
            n_topics=self.n_topics,
            n_words=corpus.n_words,
            n_docs=corpus.n_docs,
            doc_topic_prior=self.doc_topic_prior,
            topic_word_prior=self.topic_word_prior,
            seed=seed,
        )
        return GibbsTrainer(sampler)

    def doc_topic(self) -> np.ndarray:
        """Theta of the training documents given their current assignments, [doc, topic]."""
        return self._theta_of_training(GibbsTrainer)


class SpikeCGS(_GibbsModel):
    """SpikeCGS: collapsed Gibbs sampling carried out by spikes (Alg. 2).

    Parameters
    ----------
    n_topics : int
        K.
    doc_topic_prior : float or array [topic]
        lambda > 0.
    topic_word_prior : float or array [word]
        varphi > 0.
    max_iter : int
        Sweeps over the corpus.
    backend : {"rate", "brian2"}
    brian2_options : dict, optional
        Passed to `SpikeCGSSpiking`: inhibition, simulator.
    random_state : None, int or generator
    callbacks : sequence of callables
        See `brian_lda.estimators.callbacks`.
    """

    def __init__(
        self,
        *,
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 0.1,
        topic_word_prior: float | np.ndarray = 0.01,
        max_iter: int = 200,
        backend: str = "rate",
        brian2_options: dict[str, Any] | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        super().__init__(
            n_topics=n_topics,
            doc_topic_prior=doc_topic_prior,
            topic_word_prior=topic_word_prior,
            max_iter=max_iter,
            backend=backend,
            random_state=random_state,
            callbacks=callbacks,
        )
        self.brian2_options = brian2_options

    def _sampler(self, words: np.ndarray, docs: np.ndarray, **arguments: Any) -> Sampler:
        if self.backend == "rate":
            return SpikeCGSReference(words, docs, **arguments)
        from brian_lda.spiking.spike_cgs import SpikeCGSSpiking  # imports Brian2: seconds

        sampler = SpikeCGSSpiking(words, docs, **arguments, **(self.brian2_options or {}))
        sampler.prepare()  # compiling is not training: `history_` times the iterations
        return sampler


class CollapsedGibbsLDA(_GibbsModel):
    """Baseline CGS (Griffiths & Steyvers 2004) on counts; parameters as in `SpikeCGS`."""

    spiking = False

    def _sampler(self, words: np.ndarray, docs: np.ndarray, **arguments: Any) -> Sampler:
        return CollapsedGibbs(words, docs, **arguments)
