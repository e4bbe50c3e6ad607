"""ed-SpikeLDA and ed-SpikePLSI behind the estimators `SpikeLDA(update="event")` and `SpikePLSI`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Self, TypeVar

import numpy as np

from brian_lda.constraints import Constraints
from brian_lda.corpus import Corpus, TokenStore
from brian_lda.errors import ParameterError
from brian_lda.estimators.algorithms import EventDrivenNetwork
from brian_lda.estimators.automatic_steps import (
    EVENT_FADING,
    event_doc_step,
    event_word_step,
    stream_word_step,
)
from brian_lda.estimators.base import Callback, TopicModel, as_source
from brian_lda.estimators.trainers import EventDrivenTrainer
from brian_lda.parameters import (
    EventDrivenParameters,
    EventStepRule,
    PrunedWords,
    RobbinsMonro,
)
from brian_lda.reference.constrained import ConstrainedReference
from brian_lda.reference.event_driven import EventDrivenReference, initial_state
from brian_lda.reference.word_weights import word_smoothing

STREAM_PASSES = 10
Model = TypeVar("Model", bound=TopicModel)


def event_network(
    model: TopicModel,
    parameters: EventDrivenParameters,
    corpus: Corpus,
    seed: int,
    initial: dict[str, np.ndarray] | None = None,
    pruned: PrunedWords | None = None,
) -> EventDrivenNetwork:
    """The twin that `model.backend` asks for."""
    arguments = (parameters, corpus.n_words, corpus.doc_lengths)
    if model.backend == "rate":
        limits = chip_constraints(model)
        if limits is None:
            return EventDrivenReference(*arguments, seed=seed, initial=initial, pruned=pruned)
        if pruned is not None:
            raise ParameterError(
                "a pruned network with constraints needs backend='brian2': at rate level it has "
                "either."
            )
        return ConstrainedReference(*arguments, seed=seed, initial=initial, constraints=limits)
    from brian_lda.spiking.event_driven import EventDrivenSpiking  # imports Brian2: seconds

    network = EventDrivenSpiking(
        *arguments, seed=seed, initial=initial, pruned=pruned, **spiking_options(model)
    )
    network.prepare()  # compiling is not training: `history_` times the iterations
    return network


def chip_constraints(model: TopicModel) -> Constraints | None:
    """The limits of an estimator that has any; as an object, or as plain data in a dict."""
    limits = getattr(model, "constraints", None)
    if not isinstance(limits, dict):
        return limits
    known = [field.name for field in fields(Constraints)]
    if unknown := sorted(limits.keys() - set(known)):
        raise ParameterError(
            f"constraints has no {' or '.join(unknown)}; it has {', '.join(known)}."
        )
    return Constraints(**limits)


def spiking_options(model: TopicModel) -> dict[str, Any]:
    """What an estimator passes to its spiking network beside the algorithm's parameters."""
    options = dict(model.brian2_options or {})
    limits = chip_constraints(model)
    return options if limits is None else {**options, "constraints": limits}


def event_parameters(
    model: TopicModel, lamda: Any, word_step: EventStepRule, corpus: Corpus, epsilon: np.ndarray
) -> EventDrivenParameters:
    """Parameter object of the two event-driven algorithms, automatic steps filled in.

    epsilon is the network's (`event_smoothing`).
    """
    mean_length = max(corpus.n_tokens / max((corpus.doc_lengths > 0).sum(), 1), 1.0)
    gauge = isinstance(word_step, RobbinsMonro) if model.gauge is None else model.gauge
    return EventDrivenParameters(
        n_topics=model.n_topics,
        doc_topic_prior=lamda,
        word_step=word_step,
        doc_step=model.doc_step or event_doc_step(mean_length),
        integrator=model.integrator,
        gauge=gauge,
        epsilon=epsilon,
    )


def event_trainer(model: TopicModel, source: Any, lamda: Any, seed: int) -> EventDrivenTrainer:
    """Trainer for `fit`: the whole corpus is known."""
    corpus = in_memory(source, type(model).__name__)
    sizes = model.n_topics, corpus.n_words, corpus.n_tokens
    of_network, of_read_out = event_smoothing(model, corpus.n_words, corpus.n_tokens)
    smoothed = bool(of_network.any())
    word_step = model.word_step or event_word_step(*sizes, smoothed=smoothed)
    parameters = event_parameters(model, lamda, word_step, corpus, of_network)
    network = event_network(model, parameters, corpus, seed)
    return EventDrivenTrainer(network, *corpus.tokens(), seed, of_read_out)


def event_smoothing(
    model: TopicModel, n_words: int, n_tokens: int
) -> tuple[np.ndarray, np.ndarray]:
    """epsilon [word] that topic neurons see, and the one of Phi where it is read out.

    They differ for Euler steps, which need the paper's network (`EventDrivenParameters.epsilon`).
    pLSI has no prior on Phi, both are 0.
    """
    varphi = getattr(model, "topic_word_prior", 0.0)
    epsilon = word_smoothing(varphi, model.n_topics, n_words, n_tokens)
    return (epsilon if model.integrator == "flow" else np.zeros(n_words)), epsilon


def event_partial_fit(model: Model, X: Any, lamda: Any) -> Model:
    """Newly arrived documents: fresh M^beta for them, M^alpha goes on.

    Their tokens are shown `STREAM_PASSES` times: in a single pass M^beta would not get away from
    its random start, and M^alpha would learn that.
    """
    model._check_parameters()
    model._refuse_if_loaded()
    corpus = in_memory(as_source(X), type(model).__name__)
    trainer = model._trainer_before(EventDrivenTrainer)
    if trainer is None:
        word_step = model.word_step or stream_word_step(
            EVENT_FADING, model.n_topics, corpus.n_words, corpus.n_tokens
        )
    else:
        word_step = trainer.network.parameters.word_step
    n_tokens = corpus.n_tokens + (model.history_[-1]["tokens"] if trainer else 0)
    of_network, of_read_out = event_smoothing(model, corpus.n_words, n_tokens)
    parameters = event_parameters(model, lamda, word_step, corpus, of_network)
    if trainer is None:
        model.vocabulary_ = X.vocabulary if isinstance(X, Corpus) else None
        model.n_features_in_, model.history_ = corpus.n_words, []
        seed, initial = model._seed(), None
    else:
        model._check_vocabulary(corpus.counts)
        seed = model.seed_ + 1 + model.n_iter_  # other spikes than in the passes before
        before = trainer.network.state()
        initial = initial_state(parameters, corpus.n_words, corpus.doc_lengths, seed)
        kept = [key for key in initial if "alpha" in key]
        initial.update({key: before[key] for key in kept})
    network = event_network(model, parameters, corpus, seed, initial)
    model.trainer_ = EventDrivenTrainer(network, *corpus.tokens(), seed, of_read_out)
    model._train(STREAM_PASSES)
    return model


def in_memory(source: Corpus | TokenStore, algorithm: str) -> Corpus:
    """The event-driven algorithms keep M^beta of every document and shuffle single tokens."""
    if isinstance(source, Corpus):
        return source
    raise ParameterError(
        f"{algorithm} with this update shuffles single tokens: it takes a Corpus, no TokenStore. "
        "For corpora on disk use SemiSpikeLDA or SpikeLDA(update='delayed'), or partial_fit."
    )


class SpikePLSI(TopicModel):
    """ed-SpikePLSI: online maximum likelihood for pLSI by spikes (paper's appendix).

    Parameters
    ----------
    n_topics : int
        K.
    max_iter : int
        Passes over the corpus.
    word_step, doc_step : RobbinsMonro, VarianceTracking or AdaGrad, optional
        Step of M^alpha and M^beta. The paper's is `VarianceTracking()` for both, with
        integrator="euler"; the default is chosen for the corpus (`automatic_steps`).
    integrator : {"flow", "euler"}
    gauge : bool, optional
        Default: whenever the word step allows it.
    fold_in_prior : float
        pLSI has no prior on theta; folding a new document in needs one. Pseudo-counts.
    backend : {"rate", "brian2"}
    brian2_options : dict, optional
        Passed to `EventDrivenSpiking`: inhibition, simulator.
    random_state : None, int or generator
    callbacks : sequence of callables
        See `brian_lda.estimators.callbacks`.
    """

    def __init__(
        self,
        *,
        n_topics: int = 10,
        max_iter: int = 100,
        word_step: EventStepRule | None = None,
        doc_step: EventStepRule | None = None,
        integrator: str = "flow",
        gauge: bool | None = None,
        fold_in_prior: float = 0.1,
        backend: str = "rate",
        brian2_options: dict[str, Any] | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.max_iter = max_iter
        self.word_step = word_step
        self.doc_step = doc_step
        self.integrator = integrator
        self.gauge = gauge
        self.fold_in_prior = fold_in_prior
        self.backend = backend
        self.brian2_options = brian2_options
        self.random_state = random_state
        self.callbacks = callbacks

    def _make_trainer(self, source: Corpus | TokenStore, seed: int) -> EventDrivenTrainer:
        return event_trainer(self, source, None, seed)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from newly arrived documents (`STREAM_PASSES` passes over them)."""
        return event_partial_fit(self, X, None)

    def _pseudo_count(self) -> float:
        return self.fold_in_prior

    def doc_topic(self) -> np.ndarray:
        """Theta of the documents last trained on, from their synapses [Tab. 1(c)], [doc, topic]."""
        return self._theta_of_training(EventDrivenTrainer)
