"""What the estimators `EdSpikeLDA` and `EdSpikePLSI` share: they learn token by token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from brian_lda.algorithms import algorithm_of
from brian_lda.automatic_steps import (
    EVENT_FORGETTING,
    STREAM_EVENT_VISITS,
    event_doc_step,
    event_word_step,
    stream_word_step,
)
from brian_lda.constraints import NO_CONSTRAINTS, Constraints
from brian_lda.corpus import Corpus, TokenStore
from brian_lda.errors import ParameterError
from brian_lda.estimators.base import TopicModel
from brian_lda.estimators.protocols import EventDrivenNetwork
from brian_lda.estimators.sources import as_source, in_memory
from brian_lda.estimators.spiking_options import chip_constraints, spiking_options
from brian_lda.estimators.trainers import EventDrivenTrainer
from brian_lda.initial_weights import initial_state, word_smoothing
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.reference.constrained import ConstrainedReference
from brian_lda.reference.ed_spike_lda_split import EdSpikeLDASplitReference
from brian_lda.reference.event_driven import EventDrivenTwin
from brian_lda.step_rules import EventStepRule


class EventDrivenModel(TopicModel):
    """Base of `EdSpikeLDA` and `EdSpikePLSI`; not used by itself.

    A subclass names its rate-level `_twin` and says in `_lamda` which prior its M^beta rule has.
    """

    _twin: ClassVar[type[EventDrivenTwin]]
    _first_look = round(EVENT_FORGETTING / 2)  # passes: weights then average over half a pass

    def _lamda(self) -> np.ndarray | None:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.gauge not in (None, True, False):
            raise ParameterError(f"gauge must be None, True or False; found {self.gauge!r}.")
        passes = self.doc_restart
        if not isinstance(passes, (int, np.integer)) or isinstance(passes, bool) or passes < 0:
            raise ParameterError(
                f"doc_restart must be a number of passes, 0 for never; found {passes!r}."
            )

    def _make_trainer(self, source: Corpus | TokenStore, seed: int) -> EventDrivenTrainer:
        corpus = in_memory(source, type(self).__name__)
        sizes = self.n_topics, corpus.n_words, corpus.n_tokens
        word_step = self.word_step or event_word_step(*sizes, smoothed=self._is_smoothed())
        parameters = self._event_parameters(word_step, corpus, corpus.n_tokens)
        network = self._network(parameters, corpus, seed)
        epsilon = self._read_out_smoothing(parameters, corpus.n_words, corpus.n_tokens)
        tokens = corpus.tokens()
        return EventDrivenTrainer(network, *tokens, seed, epsilon, doc_restart=self.doc_restart)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from newly arrived documents: fresh M^beta for them, M^alpha goes on.

        Their tokens are shown `STREAM_EVENT_VISITS` times: in a single pass M^beta would not get
        away from its random start, and M^alpha would learn that. Pass some dozens of documents at a
        time, or as many as come: the steps do not depend on that.
        """
        self._check_parameters()
        corpus = in_memory(as_source(X), type(self).__name__)
        self._check_memory(corpus)
        learned = self._learned()
        n_tokens = corpus.n_tokens + (self.history_[-1]["tokens"] if learned else 0)
        if learned is None:
            word_step = self.word_step or stream_word_step(smoothed=self._is_smoothed())
        else:
            before, word_step = learned
        parameters = self._event_parameters(word_step, corpus, n_tokens)
        if learned is None:
            self.vocabulary_ = X.vocabulary if isinstance(X, Corpus) else None
            self.n_features_in_, self.history_ = corpus.n_words, []
            seed, initial = self._seed(), None
        else:
            self._check_vocabulary(corpus.counts)
            seed = self.seed_ + 1 + self.n_iter_  # other spikes than in the passes before
            initial = initial_state(parameters, corpus.n_words, corpus.doc_lengths, seed)
            kept = [key for key in initial if "alpha" in key]
            initial.update({key: before[key] for key in kept if key in before})
        network = self._network(parameters, corpus, seed, initial)
        epsilon = self._read_out_smoothing(parameters, corpus.n_words, n_tokens)
        self.trainer_ = EventDrivenTrainer(
            network, *corpus.tokens(), seed, epsilon, STREAM_EVENT_VISITS
        )
        self._train(1)
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
        document_slots: int | None = None,
    ) -> EventDrivenNetwork:
        """The twin that `backend` asks for, with as many documents on the chip at a time."""
        arguments = (parameters, corpus.n_words, corpus.doc_lengths)
        options = spiking_options(self) if self.backend == "brian2" else {}
        given: Constraints | None = options.pop("constraints", None) or chip_constraints(self)
        limits = given or NO_CONSTRAINTS
        if document_slots is not None:
            limits = replace(limits, document_slots=document_slots)
        is_split = limits.splits
        if is_split and pruned is not None:
            raise ParameterError(
                "a pruned network keeps within its fan-in by itself: leave word_synapses out of "
                "constraints, or do not prune."
            )
        if self.backend == "rate":
            if is_split:
                return EdSpikeLDASplitReference(
                    *arguments, seed=seed, initial=initial, constraints=limits
                )
            if replace(limits, document_slots=None) == NO_CONSTRAINTS:
                slots = limits.document_slots
                return self._twin(
                    *arguments, seed=seed, initial=initial, pruned=pruned, document_slots=slots
                )
            return ConstrainedReference(
                *arguments, seed=seed, initial=initial, constraints=limits, pruned=pruned
            )
        # imports Brian2: seconds
        from brian_lda.simulation import EventDrivenSpiking, SlottedSpiking, SplitSpiking

        options |= {"seed": seed, "initial": initial, "constraints": limits}
        network: EventDrivenSpiking
        if is_split:
            network = SplitSpiking(*arguments, **options)
        else:
            has_slots = limits.document_slots is not None
            kind = SlottedSpiking if has_slots else EventDrivenSpiking
            name = algorithm_of(type(self)).name
            network = kind(*arguments, name=name, pruned=pruned, **options)
        network.prepare()  # compiling is not training: `history_` times the iterations
        return network

    def _event_parameters(
        self, word_step: EventStepRule, corpus: Corpus, n_tokens: int
    ) -> EventDrivenParameters:
        """The parameters with automatic steps filled in, and varphi if these steps take it."""
        mean_length = max(corpus.n_tokens / max((corpus.doc_lengths > 0).sum(), 1), 1.0)
        gauge = word_step.per_neuron if self.gauge is None else self.gauge
        has_prior = self.integrator == "flow" and word_step.per_neuron
        return EventDrivenParameters(
            n_topics=self.n_topics,
            doc_topic_prior=self._lamda(),
            word_step=word_step,
            doc_step=self.doc_step
            or event_doc_step(mean_length, smoothed=self._lamda() is not None),
            integrator=self.integrator,
            gauge=gauge,
            topic_word_prior=self._varphi() if has_prior else 0.0,
            n_training_tokens=float(max(n_tokens, 1)),
        )

    def _is_smoothed(self) -> bool:
        """Whether the network itself has the prior, with the default word step."""
        return self.integrator == "flow" and bool(np.any(self._varphi() > 0))

    def _varphi(self) -> np.ndarray:
        """The prior on Phi."""
        return np.asarray(self.topic_word_prior, np.float64)

    def _read_out_smoothing(
        self, parameters: EventDrivenParameters, n_words: int, n_tokens: int
    ) -> np.ndarray:
        """epsilon = varphi K/N [word], where the step rules leave the network without its prior.

        No theorem covers this one: it only keeps words that a topic has lost from having
        probability 0.
        """
        varphi = 0.0 if parameters.smoothed else self._varphi()
        return word_smoothing(varphi, self.n_topics, n_words, n_tokens)
