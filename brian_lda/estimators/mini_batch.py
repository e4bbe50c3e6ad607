"""What the estimators `SemiSpikeLDA` and `DuSpikeLDA` share: one update per mini-batch."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from brian_lda.automatic_steps import (
    BATCH_FADING,
    batch_word_step,
    delayed_doc_step,
    stream_word_step,
)
from brian_lda.corpus import Corpus, TokenStore, document_batches
from brian_lda.estimators.base import TopicModel, as_source
from brian_lda.estimators.spiking_options import spiking_options
from brian_lda.estimators.trainers import MiniBatchTrainer
from brian_lda.parameters import BatchParameters
from brian_lda.reference.mini_batch import MiniBatchLearner, MiniBatchReference
from brian_lda.step_rules import BatchStepRule


class MiniBatchModel(TopicModel):
    """Base of `SemiSpikeLDA` and `DuSpikeLDA`; not used by itself.

    A subclass names its rate-level `_twin`, and its spiking one in `brian_lda.simulation`,
    which is imported only when it is needed.
    """

    _twin: ClassVar[type[MiniBatchReference]]
    _spiking_name: ClassVar[str]

    def _algorithm(
        self, word_step: BatchStepRule, source: Corpus | TokenStore, seed: int
    ) -> MiniBatchLearner:
        """The twin that `backend` asks for."""
        arguments = (self._batch_parameters(word_step), source.n_words)
        if self.backend == "rate":
            return self._twin(*arguments, seed=seed, n_training_tokens=source.n_tokens)
        from brian_lda import simulation  # imports Brian2: seconds

        network = getattr(simulation, self._spiking_name)(
            *arguments,
            seed=seed,
            n_training_tokens=source.n_tokens,
            batch_tokens=self._most_tokens(source),
            **spiking_options(self),
        )
        # Compiling is not training: `history_` times the iterations.
        network.prepare(next(iter(document_batches(source, self.batch_size, seed))).counts)
        return network

    def _most_tokens(self, source: Corpus | TokenStore) -> int:
        """Tokens that a mini-batch may have: one compiled network for all seeds and batches."""
        if isinstance(source, Corpus):
            return max(int(np.sort(source.doc_lengths)[-self.batch_size :].sum()), 1)
        return 2 * self.batch_size * max(source.n_tokens // max(source.n_docs, 1), 1)

    def _batch_parameters(self, word_step: BatchStepRule) -> BatchParameters:
        return BatchParameters(
            n_topics=self.n_topics,
            doc_topic_prior=self.doc_topic_prior,
            topic_word_prior=self.topic_word_prior,
            local_iterations=self.local_iterations,
            word_step=word_step,
            doc_step=self.doc_step or delayed_doc_step(),
            integrator=self.integrator,
        )

    def _make_trainer(
        self, source: Corpus | TokenStore, seed: int
    ) -> MiniBatchTrainer[MiniBatchLearner]:
        word_step = self.word_step or batch_word_step(
            self.n_topics, source.n_words, source.n_tokens
        )
        algorithm = self._algorithm(word_step, source, seed)
        return MiniBatchTrainer(algorithm, source, self.batch_size, seed)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """One pass over newly arrived documents, in mini-batches."""
        self._check_parameters()
        X = as_source(X)
        learned, trainer = self._learned(), getattr(self, "trainer_", None)
        if learned is None:
            self.n_features_in_, self.history_ = X.n_words, []
            self.vocabulary_ = X.vocabulary if isinstance(X, Corpus) else None
            word_step = self.word_step or stream_word_step(
                BATCH_FADING, self.n_topics, X.n_words, X.n_tokens
            )
            algorithm = self._algorithm(word_step, X, self._seed())
        elif trainer is not None:
            algorithm = trainer.algorithm
        else:  # loaded from a file
            state, word_step = learned
            algorithm = self._algorithm(word_step, X, self.seed_)
            algorithm.set_state(state)
        self._check_vocabulary(X.counts)
        tokens_before = self.history_[-1]["tokens"] if self.history_ else 0
        self.trainer_ = MiniBatchTrainer(algorithm, X, self.batch_size, self.seed_)
        algorithm.set_corpus_size(tokens_before + X.n_tokens)
        with self._threads():
            self._train(-(-X.n_docs // self.batch_size))
        return self
