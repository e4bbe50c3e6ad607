"""What the estimators `EdSpikeLDA` and `EdSpikePLSI` share: they learn token by token."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from brian_lda.algorithms import algorithm_of
from brian_lda.automatic_steps import (
    EVENT_FADING,
    event_doc_step,
    event_word_step,
    stream_word_step,
)
from brian_lda.corpus import Corpus, TokenStore
from brian_lda.errors import ParameterError
from brian_lda.estimators.base import TopicModel, as_source, in_memory
from brian_lda.estimators.protocols import EventDrivenNetwork
from brian_lda.estimators.spiking_options import chip_constraints, spiking_options
from brian_lda.estimators.trainers import EventDrivenTrainer
from brian_lda.initial_weights import initial_state, word_smoothing
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.reference.constrained import ConstrainedReference
from brian_lda.reference.event_driven import EventDrivenTwin
from brian_lda.step_rules import EventStepRule

STREAM_PASSES = 10


class EventDrivenModel(TopicModel):
    """Base of `EdSpikeLDA` and `EdSpikePLSI`; not used by itself.

    A subclass names its rate-level `_twin` and says in `_lamda` which prior its M^beta rule has.
    """

    _twin: ClassVar[type[EventDrivenTwin]]

    def _lamda(self) -> np.ndarray | None:
        raise NotImplementedError

    def _make_trainer(self, source: Corpus | TokenStore, seed: int) -> EventDrivenTrainer:
        corpus = in_memory(source, type(self).__name__)
        sizes = self.n_topics, corpus.n_words, corpus.n_tokens
        of_network, of_read_out = self._smoothing(corpus.n_words, corpus.n_tokens)
        smoothed = bool(of_network.any())
        word_step = self.word_step or event_word_step(*sizes, smoothed=smoothed)
        parameters = self._event_parameters(word_step, corpus, of_network)
        network = self._network(parameters, corpus, seed)
        return EventDrivenTrainer(network, *corpus.tokens(), seed, of_read_out)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from newly arrived documents: fresh M^beta for them, M^alpha goes on.

        Their tokens are shown `STREAM_PASSES` times: in a single pass M^beta would not get away
        from its random start, and M^alpha would learn that.
        """
        self._check_parameters()
        corpus = in_memory(as_source(X), type(self).__name__)
        learned = self._learned()
        if learned is None:
            word_step = self.word_step or stream_word_step(
                EVENT_FADING, self.n_topics, corpus.n_words, corpus.n_tokens
            )
        else:
            before, word_step = learned
        n_tokens = corpus.n_tokens + (self.history_[-1]["tokens"] if learned else 0)
        of_network, of_read_out = self._smoothing(corpus.n_words, n_tokens)
        parameters = self._event_parameters(word_step, corpus, of_network)
        if learned is None:
            self.vocabulary_ = X.vocabulary if isinstance(X, Corpus) else None
            self.n_features_in_, self.history_ = corpus.n_words, []
            seed, initial = self._seed(), None
        else:
            self._check_vocabulary(corpus.counts)
            seed = self.seed_ + 1 + self.n_iter_  # other spikes than in the passes before
            initial = initial_state(parameters, corpus.n_words, corpus.doc_lengths, seed)
            kept = [key for key in initial if "alpha" in key]
            initial.update({key: before[key] for key in kept})
        network = self._network(parameters, corpus, seed, initial)
        self.trainer_ = EventDrivenTrainer(network, *corpus.tokens(), seed, of_read_out)
        self._train(STREAM_PASSES)
        return self

    def doc_topic(self) -> np.ndarray:
        """Theta of the documents last trained on, from their synapses [Tab. 1(c)], [doc, topic]."""
        return self._theta_of_training()

    def _network(
        self,
        parameters: EventDrivenParameters,
        corpus: Corpus,
        seed: int,
        initial: dict[str, np.ndarray] | None = None,
        pruned: PrunedWords | None = None,
    ) -> EventDrivenNetwork:
        """The twin that `backend` asks for."""
        arguments = (parameters, corpus.n_words, corpus.doc_lengths)
        if self.backend == "rate":
            limits = chip_constraints(self)
            if limits is None:
                return self._twin(*arguments, seed=seed, initial=initial, pruned=pruned)
            if pruned is not None:
                raise ParameterError(
                    "a pruned network with constraints needs backend='brian2': at rate level it "
                    "has either."
                )
            return ConstrainedReference(*arguments, seed=seed, initial=initial, constraints=limits)
        from brian_lda.simulation import EventDrivenSpiking  # imports Brian2: seconds

        network = EventDrivenSpiking(
            *arguments,
            seed=seed,
            initial=initial,
            name=algorithm_of(type(self)).name,
            pruned=pruned,
            **spiking_options(self),
        )
        network.prepare()  # compiling is not training: `history_` times the iterations
        return network

    def _event_parameters(
        self, word_step: EventStepRule, corpus: Corpus, epsilon: np.ndarray
    ) -> EventDrivenParameters:
        """The parameters with automatic steps filled in; epsilon is the network's."""
        mean_length = max(corpus.n_tokens / max((corpus.doc_lengths > 0).sum(), 1), 1.0)
        gauge = word_step.per_neuron if self.gauge is None else self.gauge
        return EventDrivenParameters(
            n_topics=self.n_topics,
            doc_topic_prior=self._lamda(),
            word_step=word_step,
            doc_step=self.doc_step or event_doc_step(mean_length),
            integrator=self.integrator,
            gauge=gauge,
            epsilon=epsilon,
        )

    def _smoothing(self, n_words: int, n_tokens: int) -> tuple[np.ndarray, np.ndarray]:
        """epsilon [word] that topic neurons see, and the one of Phi where it is read out.

        They differ for Euler steps, which need the paper's network
        (`EventDrivenParameters.epsilon`). pLSI has no prior on Phi, both are 0.
        """
        varphi = getattr(self, "topic_word_prior", 0.0)
        epsilon = word_smoothing(varphi, self.n_topics, n_words, n_tokens)
        return (epsilon if self.integrator == "flow" else np.zeros(n_words)), epsilon
