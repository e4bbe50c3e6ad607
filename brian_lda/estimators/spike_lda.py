"""`SpikeLDA` and `SemiSpikeLDA`: the paper's online algorithms for LDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from brian_lda.constraints import Constraints
from brian_lda.corpus import Corpus, TokenStore, document_batches
from brian_lda.errors import ParameterError
from brian_lda.estimators.automatic_steps import (
    BATCH_FADING,
    batch_word_step,
    delayed_doc_step,
    stream_word_step,
)
from brian_lda.estimators.base import Callback, TopicModel, as_source
from brian_lda.estimators.event_driven import (
    event_partial_fit,
    event_trainer,
    spiking_options,
)
from brian_lda.estimators.trainers import EventDrivenTrainer, MiniBatchTrainer, Trainer
from brian_lda.parameters import (
    BatchParameters,
    RMSProp,
    RobbinsMonro,
    dirichlet_vector,
    require_map_prior,
)
from brian_lda.reference.delayed import DelayedSpikeLDAReference
from brian_lda.reference.mini_batch import MiniBatchLearner, MiniBatchReference
from brian_lda.reference.semi_spike_lda import SemiSpikeLDAReference

WORD_PRIOR = 0.05


class _MiniBatchModel(TopicModel):
    """semi- and du-SpikeLDA: one update of M^alpha per mini-batch of documents."""

    def _network(self) -> tuple[type[MiniBatchReference], str]:
        """The rate-level algorithm, and the name of its twin in `brian_lda.spiking.mini_batch`."""
        raise NotImplementedError

    def _algorithm(
        self, word_step: RobbinsMonro | RMSProp, source: Corpus | TokenStore, seed: int
    ) -> MiniBatchLearner:
        """The twin that `backend` asks for."""
        algorithm, spiking_name = self._network()
        arguments = (self._batch_parameters(word_step), source.n_words)
        if self.backend == "rate":
            return algorithm(*arguments, seed=seed, n_training_tokens=source.n_tokens)
        from brian_lda.spiking import mini_batch  # imports Brian2: seconds

        network = getattr(mini_batch, spiking_name)(
            *arguments,
            seed=seed,
            n_training_tokens=source.n_tokens,
            **spiking_options(self),
        )
        # Compiling is not training: `history_` times the iterations.
        network.prepare(next(iter(document_batches(source, self.batch_size, seed))).counts)
        return network

    def _batch_parameters(self, word_step: RobbinsMonro | RMSProp) -> BatchParameters:
        return BatchParameters(
            n_topics=self.n_topics,
            doc_topic_prior=self.doc_topic_prior,
            topic_word_prior=self.topic_word_prior,
            local_iterations=self.local_iterations,
            word_step=word_step,
            doc_step=self.doc_step or delayed_doc_step(),
            integrator=self.integrator,
        )

    def _batch_trainer(
        self, source: Corpus | TokenStore, seed: int
    ) -> MiniBatchTrainer[MiniBatchLearner]:
        word_step = self.word_step or batch_word_step(
            self.n_topics, source.n_words, source.n_tokens
        )
        algorithm = self._algorithm(word_step, source, seed)
        return MiniBatchTrainer(algorithm, source, self.batch_size, seed)

    def _batch_partial_fit(self, X: Any) -> Self:
        self._check_parameters()
        self._refuse_if_loaded()
        X = as_source(X)
        trainer = self._trainer_before(MiniBatchTrainer)
        if trainer is None:
            self.n_features_in_, self.history_ = X.n_words, []
            self.vocabulary_ = X.vocabulary if isinstance(X, Corpus) else None
            word_step = self.word_step or stream_word_step(
                BATCH_FADING, self.n_topics, X.n_words, X.n_tokens
            )
            algorithm = self._algorithm(word_step, X, self._seed())
        else:
            algorithm = trainer.algorithm
        self._check_vocabulary(X.counts)
        tokens_before = self.history_[-1]["tokens"] if self.history_ else 0
        self.trainer_ = MiniBatchTrainer(algorithm, X, self.batch_size, self.seed_)
        algorithm.words.set_corpus_size(tokens_before + X.n_tokens)
        with self._threads():
            self._train(-(-X.n_docs // self.batch_size))
        return self


class SemiSpikeLDA(_MiniBatchModel):
    """semi-SpikeLDA: maximises the semi-collapsed likelihood of LDA (Alg. 4).

    Parameters
    ----------
    n_topics : int
        K.
    doc_topic_prior : float or array [topic]
        lambda > 0.
    topic_word_prior : float or array [word]
        varphi, smoothing of Phi (ours, see `BatchParameters`); 0 is the paper's model.
    max_iter : int
        Mini-batch updates.
    batch_size : int
        Documents per mini-batch, |D|.
    local_iterations : int
        T: sweeps of burn-in, then as many that are counted.
    word_step : RobbinsMonro or RMSProp, optional
        Step of M^alpha. The paper's is `RMSProp(eta=0.5)` with integrator="euler"; the default is
        chosen for the corpus (`automatic_steps`).
    integrator : {"flow", "euler"}
    n_jobs : int, optional
        Threads (-1: all cores); the result does not depend on it. Default: numba's setting.
    backend : {"rate", "brian2"}
    brian2_options : dict, optional
        Passed to `SemiSpikeLDASpiking`: inhibition, simulator.
    random_state : None, int or generator
    callbacks : sequence of callables
        See `brian_lda.estimators.callbacks`.

    Examples
    --------
    >>> from brian_lda import SemiSpikeLDA
    >>> from brian_lda.corpus import load_corpus
    >>> corpus = load_corpus("bars", grid=3, n_docs=200, doc_length=30, seed=0)
    >>> model = SemiSpikeLDA(n_topics=6, max_iter=20, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape
    (200, 6)
    """

    doc_step = None  # semi-CGS integrates theta out: M^beta has no step

    def __init__(
        self,
        *,
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 0.1,
        topic_word_prior: float | np.ndarray = WORD_PRIOR,
        max_iter: int = 1000,
        batch_size: int = 64,
        local_iterations: int = 5,
        word_step: RobbinsMonro | RMSProp | None = None,
        integrator: str = "flow",
        n_jobs: int | None = None,
        backend: str = "rate",
        brian2_options: dict[str, Any] | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.local_iterations = local_iterations
        self.word_step = word_step
        self.integrator = integrator
        self.n_jobs = n_jobs
        self.backend = backend
        self.brian2_options = brian2_options
        self.random_state = random_state
        self.callbacks = callbacks

    def _network(self) -> tuple[type[MiniBatchReference], str]:
        return SemiSpikeLDAReference, "SemiSpikeLDASpiking"

    def _make_trainer(self, source: Corpus | TokenStore, seed: int) -> Trainer:
        return self._batch_trainer(source, seed)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """One pass over newly arrived documents, in mini-batches."""
        return self._batch_partial_fit(X)


class SpikeLDA(_MiniBatchModel):
    """SpikeLDA: online MAP estimation of LDA by spikes (Alg. 3), event-driven or delayed.

    Parameters
    ----------
    update : {"event", "delayed"}
        "event" (ed-SpikeLDA): every topic spike updates the weights. "delayed" (du-SpikeLDA,
        Remark 2): one averaged update per mini-batch of documents.
    n_topics : int
        K.
    doc_topic_prior : float or array [topic]
        lambda > 1 (kappa = sum(lambda - 1) must be positive).
    topic_word_prior : float or array [word]
        varphi, smoothing of Phi (ours; 0 is the paper's model, without prior on Phi): topic
        neurons see log(exp M^alpha + epsilon), epsilon = varphi K / N (`BatchParameters`,
        `EventDrivenParameters`). Event form with integrator="euler": only where Phi is read out.
    max_iter : int, optional
        Passes over the corpus (event, default 100) or mini-batch updates (delayed, default 1000).
    batch_size, local_iterations : int
        Of the delayed form: documents per mini-batch; T.
    word_step, doc_step : step rules, optional
        Event: RobbinsMonro, VarianceTracking or AdaGrad; the paper's are `VarianceTracking()` and
        `AdaGrad(...)` with integrator="euler". Delayed: RobbinsMonro or RMSProp. The default is
        chosen for the corpus (`automatic_steps`).
    integrator : {"flow", "euler"}
    gauge : bool, optional
        Event form; default: whenever the word step allows it.
    n_jobs : int, optional
        Threads of the delayed form; the result does not depend on it.
    backend : {"rate", "brian2"}
    brian2_options : dict, optional
        Passed to `EventDrivenSpiking` or `DelayedSpikeLDASpiking`: inhibition, simulator.
    constraints : Constraints or dict of its fields, optional
        Limits of chips: weight bits, lost packets, dead synapses (`brian_lda.constraints`). In the
        event form with either backend, in the delayed form with backend="brian2" and without
        lost packets.
    random_state : None, int or generator
    callbacks : sequence of callables
        See `brian_lda.estimators.callbacks`.
    """

    def __init__(
        self,
        *,
        update: str = "event",
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 1.1,
        topic_word_prior: float | np.ndarray = WORD_PRIOR,
        max_iter: int | None = None,
        batch_size: int = 64,
        local_iterations: int = 5,
        word_step: Any = None,
        doc_step: Any = None,
        integrator: str = "flow",
        gauge: bool | None = None,
        n_jobs: int | None = None,
        backend: str = "rate",
        brian2_options: dict[str, Any] | None = None,
        constraints: Constraints | dict[str, Any] | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.update = update
        self.n_topics = n_topics
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.local_iterations = local_iterations
        self.word_step = word_step
        self.doc_step = doc_step
        self.integrator = integrator
        self.gauge = gauge
        self.n_jobs = n_jobs
        self.backend = backend
        self.brian2_options = brian2_options
        self.constraints = constraints
        self.random_state = random_state
        self.callbacks = callbacks

    def n_iterations(self) -> int:
        if self.max_iter is not None:
            return self.max_iter
        return 100 if self.update == "event" else 1000

    def _check_parameters(self) -> None:
        if self.update not in ("event", "delayed"):
            raise ParameterError(f"update must be 'event' or 'delayed'; found {self.update!r}.")
        super()._check_parameters()
        if self.constraints is not None and self.update == "delayed" and self.backend == "rate":
            raise ParameterError(
                "constraints with update='delayed' need backend='brian2': at rate level only "
                "update='event' has them."
            )
        require_map_prior(dirichlet_vector(self.doc_topic_prior, self.n_topics, "doc_topic_prior"))

    def _network(self) -> tuple[type[MiniBatchReference], str]:
        return DelayedSpikeLDAReference, "DelayedSpikeLDASpiking"

    def _make_trainer(self, source: Corpus | TokenStore, seed: int) -> Trainer:
        if self.update == "event":
            return event_trainer(self, source, self.doc_topic_prior, seed)
        return self._batch_trainer(source, seed)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from newly arrived documents: fresh M^beta for them, M^alpha goes on."""
        if self.update == "event":
            return event_partial_fit(self, X, self.doc_topic_prior)
        return self._batch_partial_fit(X)

    def _pseudo_count(self) -> float | np.ndarray:
        return np.asarray(self.doc_topic_prior) - 1.0  # the MAP solution counts lambda - 1

    def doc_topic(self) -> np.ndarray:
        """Theta of the documents last trained on, from their synapses [Tab. 1(c)], [doc, topic].

        Only the event form keeps the synapses of all documents; `transform` works for both.
        """
        if self.update != "event":
            raise ParameterError(
                "update='delayed' drops the synapses of a mini-batch after its update; use "
                "transform(X)."
            )
        return self._theta_of_training(EventDrivenTrainer)
