"""What `SpikeCGS` and `CollapsedGibbsLDA` share: they keep the topic of every token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brian_lda.corpus import Corpus, TokenStore
from brian_lda.errors import ParameterError
from brian_lda.estimators.base import Callback, TopicModel
from brian_lda.estimators.learned_prior import BURN_IN, SweptPrior
from brian_lda.estimators.protocols import Sampler
from brian_lda.estimators.sources import in_memory
from brian_lda.estimators.trainers import GibbsTrainer


class GibbsModel(TopicModel):
    """Base of `SpikeCGS` and `CollapsedGibbsLDA`; not used by itself."""

    def __init__(
        self,
        *,
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 0.1,
        topic_word_prior: float | np.ndarray = 0.01,
        learn_prior: bool = False,
        max_iter: int = 200,
        backend: str = "rate",
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learn_prior = learn_prior
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
        return GibbsTrainer(sampler, SweptPrior(sampler) if self.learn_prior else None)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.learn_prior and self.max_iter < BURN_IN:
            raise ParameterError(
                f"learn_prior=True learns lambda from sweep {BURN_IN} on: max_iter must be "
                f"{BURN_IN} or more; found {self.max_iter}."
            )

    def doc_topic(self) -> np.ndarray:
        """Theta of the training documents given their current assignments, [doc, topic]."""
        return self._theta_of_training()
