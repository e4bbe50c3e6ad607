"""What the estimators `SemiSpikeLDA` and `DuSpikeLDA` share: one update per mini-batch."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from brian_lda.automatic_steps import (
    BATCH_FADING,
    STREAM_BATCH_VISITS,
    batch_word_step,
    delayed_doc_step,
    stream_corpus_size,
    stream_word_step,
)
from brian_lda.corpus import Corpus, TokenStore, document_batches
from brian_lda.estimators.base import TopicModel
from brian_lda.estimators.learned_prior import StreamedPrior
from brian_lda.estimators.sources import as_source
from brian_lda.estimators.spiking_options import spiking_options
from brian_lda.estimators.trainers import MiniBatchTrainer
from brian_lda.initial_weights import word_prior_vector
from brian_lda.parameters import BatchParameters
from brian_lda.reference.mini_batch import MiniBatchLearner, MiniBatchReference
from brian_lda.step_rules import BatchStepRule

BATCHES_PER_PASS = 128
LARGEST_BATCH = 4096  # documents; memory
STREAM_BATCH = 64  # documents, where nobody knows how many will come
# Lambda is learned once topics have formed (`StreamedPrior`):
PRIOR_BURN_IN = 8  # passes,
STREAM_PRIOR_BURN_IN = 100  # mini-batches of a stream


class MiniBatchModel(TopicModel):
    """Base of `SemiSpikeLDA` and `DuSpikeLDA`; not used by itself.

    A subclass names its rate-level `_twin`, and its spiking one in `brian_lda.simulation`,
    which is imported only when it is needed.
    """

    _twin: ClassVar[type[MiniBatchReference]]
    _spiking_name: ClassVar[str]
    _fading: ClassVar[float] = BATCH_FADING
    exclude_own_votes: bool = False  # takes a memory of assignments, which semi-SpikeLDA has

    def _algorithm(
        self, word_step: BatchStepRule, source: Corpus | TokenStore, seed: int
    ) -> MiniBatchLearner:
        """The twin that `backend` asks for."""
        arguments = (self._batch_parameters(word_step, source), source.n_words)
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
        batches = document_batches(source, self.documents_per_batch(source), seed)
        network.prepare(next(iter(batches)).counts)
        return network

    def documents_per_batch(self, source: Corpus | TokenStore) -> int:
        """`batch_size` or, without that number, a fixed share of the corpus.

        The steps of M^alpha know passes, not documents: with so many updates a pass, large and
        small corpora train alike.
        """
        if self.batch_size is not None:
            return self.batch_size
        return min(-(-source.n_docs // BATCHES_PER_PASS), LARGEST_BATCH)

    def _most_tokens(self, source: Corpus | TokenStore) -> int:
        """Tokens that a mini-batch may have: one compiled network for all seeds and batches."""
        batch_size = self.documents_per_batch(source)
        if isinstance(source, Corpus):
            return max(int(np.sort(source.doc_lengths)[-batch_size:].sum()), 1)
        return 2 * batch_size * max(source.n_tokens // max(source.n_docs, 1), 1)

    def _batch_parameters(
        self, word_step: BatchStepRule, source: Corpus | TokenStore
    ) -> BatchParameters:
        mean_length = max(source.n_tokens / max(source.n_docs, 1), 1.0)
        return BatchParameters(
            n_topics=self.n_topics,
            doc_topic_prior=self.doc_topic_prior,
            topic_word_prior=self.topic_word_prior,
            local_iterations=self.local_iterations,
            word_step=word_step,
            doc_step=self.doc_step or delayed_doc_step(mean_length),
            integrator=self.integrator,
            exclude_own_votes=self.exclude_own_votes,
        )

    def _make_trainer(
        self, source: Corpus | TokenStore, seed: int
    ) -> MiniBatchTrainer[MiniBatchLearner]:
        word_step = self.word_step or batch_word_step(
            self.n_topics, source.n_words, source.n_tokens, self._fading
        )
        algorithm = self._algorithm(word_step, source, seed)
        batch_size = self.documents_per_batch(source)
        trainer = MiniBatchTrainer(algorithm, source, batch_size, seed)
        per_pass = trainer.iterations_per_pass
        bound = self.max_passes * per_pass if self.max_iter is None else self.max_iter
        burn_in = min(PRIOR_BURN_IN * per_pass, bound // 2)
        trainer.prior = self._learned_prior(algorithm, burn_in)
        return trainer

    def _learned_prior(
        self, algorithm: Any, burn_in: int, state: dict[str, np.ndarray] | None = None
    ) -> StreamedPrior | None:
        """What learns lambda, if it is to be learned; from a state that has learned some."""
        if not self.learn_prior:
            return None
        prior = StreamedPrior(algorithm, burn_in)
        if state is not None and "doc_topic_prior" in state:
            prior.set_state(state)
        return prior

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from newly arrived documents, in mini-batches of `batch_size`.

        Each mini-batch is visited `STREAM_BATCH_VISITS` times, then never again. Call it with as
        many or as few documents at a time as they come: the steps do not depend on that.
        """
        self._check_parameters()
        X = as_source(X)
        self._check_memory(X)
        learned, trainer = self._learned(), getattr(self, "trainer_", None)
        if learned is None:
            self.n_features_in_, self.history_ = X.n_words, []
            self.vocabulary_ = X.vocabulary if isinstance(X, Corpus) else None
            smoothed = bool(np.any(self.topic_word_prior))
            word_step = self.word_step or stream_word_step(smoothed=smoothed)
            algorithm = self._algorithm(word_step, X, self._seed())
        elif trainer is not None:
            algorithm = trainer.algorithm
        else:  # loaded from a file
            state, word_step = learned
            algorithm = self._algorithm(word_step, X, self.seed_)
            algorithm.set_state(state)
        prior = getattr(trainer, "prior", None) or self._learned_prior(
            algorithm,
            0 if learned else STREAM_PRIOR_BURN_IN,  # topics that were learnt have formed
            learned[0] if learned else None,
        )
        self._check_vocabulary(X.counts)
        tokens_before = self.history_[-1]["tokens"] if self.history_ else 0
        self.trainer_ = MiniBatchTrainer(
            algorithm, X, self.batch_size or STREAM_BATCH, self.seed_, STREAM_BATCH_VISITS
        )
        self.trainer_.prior = prior
        varphi_sum = word_prior_vector(self.topic_word_prior, X.n_words).sum()
        n_tokens = stream_corpus_size(tokens_before + X.n_tokens, self.n_topics, varphi_sum)
        algorithm.set_stream_size(n_tokens)
        with self._threads():
            self._train(self.trainer_.iterations_per_pass)
        return self
