"""ed-SpikeLDA and ed-SpikePLSI in spikes: the twin of `EventDrivenTwin`.

The networks are in `models/ed_spike_lda.py` and `models/ed_spike_plsi.py`; this file gives them
tokens and weights and takes the weights back. Between two calls of `present` everything that the
networks know is held here, as plain arrays: a run that dies changes nothing.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from brian_lda.constraints import Constraints, spread_winners
from brian_lda.errors import ParameterError
from brian_lda.models import ed_spike_lda, ed_spike_plsi
from brian_lda.parameters import AdaGrad, EventDrivenParameters, EventStepRule, PrunedWords
from brian_lda.reference.event_driven import initial_state
from brian_lda.reference.word_weights import word_prior_vector
from brian_lda.spiking.circuit import Shape
from brian_lda.spiking.inhibition import Inhibition
from brian_lda.spiking.plasticity import step_values, synapse_variables
from brian_lda.spiking.recording import Recording, Spikes
from brian_lda.spiking.runner import CircuitRunner, check_weights, checked_tokens, pad, round_up
from brian_lda.spiking.simulator import Arrays


class EventDrivenSpiking:
    """Spiking ed-SpikeLDA and ed-SpikePLSI.

    Parameters
    ----------
    parameters : EventDrivenParameters
        `doc_topic_prior=None` selects ed-SpikePLSI.
    n_words : int
        V.
    doc_lengths : int array [doc]
        N_d of the training documents.
    seed : int
        Seeds the initial weights and the spikes.
    initial : dict, optional
        A state as returned by `state` of either twin; the default is the paper's initial weights.
    inhibition : Race or Poisson, optional
        The default is `Race()`.
    simulator : {"standalone", "cython", "numpy"}
        C++ program, compiled once and cached; or inside Python.
    constraints : Constraints, optional
        Limits of the chips: weight precision, lost packets, dead synapses and neurons.
    pruned : PrunedWords, optional
        The words with a synapse of their own (gauge form only); the default is all.
    """

    _values: Arrays  # what the network knows between two calls

    def __init__(
        self,
        parameters: EventDrivenParameters,
        n_words: int,
        doc_lengths: np.ndarray,
        *,
        seed: int,
        initial: dict[str, np.ndarray] | None = None,
        inhibition: Inhibition | None = None,
        simulator: str = "standalone",
        constraints: Constraints | None = None,
        pruned: PrunedWords | None = None,
    ) -> None:
        self.parameters, self.pruned = parameters, pruned
        if pruned is not None:
            pruned.require_shape(parameters.n_topics, n_words)
            if not parameters.gauge:
                raise ParameterError(
                    "a pruned spiking network takes the gauge form: use RobbinsMonro for word_step "
                    "and gauge=True; found gauge=False."
                )
        self._seed = int(seed)
        self._doc_lengths = np.asarray(doc_lengths)
        self._n_words, self._n_docs = n_words, len(self._doc_lengths)
        self._shape = Shape(n_words, round_up(self._n_docs), parameters.n_topics)
        model = ed_spike_plsi if parameters.doc_topic_prior is None else ed_spike_lda
        key = {
            "model": model.__name__,
            "steps": [type(rule).__name__ for _, rule in self._step_rules()],
            "integrator": parameters.integrator,
            "gauge": parameters.gauge,
            "pruned": pruned is not None,
            "smoothed": parameters.smoothed,
        }
        build = partial(model.build, parameters, pruned=pruned is not None)
        self._runner = CircuitRunner(build, key, inhibition, simulator, constraints)
        self._constants = self._constant_values()
        self.set_state(initial or initial_state(parameters, n_words, self._doc_lengths, seed))

    @property
    def spikes(self) -> Spikes | None:
        """What the latest `present(..., record=...)` recorded."""
        return self._runner.spikes

    def present(
        self, words: np.ndarray, docs: np.ndarray, *, record: Recording | None = None
    ) -> np.ndarray:
        """Show a sequence of tokens: infer the topic of each, learn, return the winners.

        Parameters
        ----------
        words, docs : int array [token]
        record : Recording, optional
            Layers and window of which to keep the spikes, in `spikes`.

        Returns
        -------
        int32 array [token]
            Under `constraints`, -1 for a token that no living synapse brings to any topic neuron.
        """
        words = checked_tokens(words, "words", self._n_words)
        docs = checked_tokens(docs, "docs", self._n_docs)
        if len(words) != len(docs):
            raise ParameterError(
                f"words and docs must pair up; found {len(words)} and {len(docs)}."
            )
        heard = self._runner.heard(self._shape, words, docs)
        winners, self._values = self._runner.run(
            self._shape,
            self._values,
            {"words": words[heard], "documents": docs[heard]},
            entropy=[self._seed, 1],
            position=int(self._values["documents.n_beta"].sum()),  # tokens seen so far
            constants=self._constants,
            between=self._fold_offsets,
            record=record,
        )
        return spread_winners(winners, heard)

    def prepare(self) -> None:
        """Compile the network now, or find it in the cache; else the first `present` does."""
        self._runner.prepare(self._shape, self._values)

    def end_pass(self) -> None:
        """End of a pass over the corpus: AdaGrad amplifies its base step by c."""
        for layer, rule in self._step_rules():
            if isinstance(rule, AdaGrad):
                self._constants[f"{layer}.eta_0__{layer}"] *= rule.amplification

    @property
    def M__alpha(self) -> np.ndarray:
        """Weights of the word synapses, [topic, word]; where pruned, the shared synapse's."""
        K, values = self.parameters.n_topics, self._values
        if self.parameters.gauge:
            M__alpha = values["alpha.m__alpha"].reshape(-1, K) - values["topics.a__alpha"]
        else:
            M__alpha = values["alpha.M__alpha"].reshape(-1, K)
        M__alpha = M__alpha.T.copy(order="C")
        if self.pruned is None:
            return M__alpha
        return np.where(self.pruned.private, M__alpha, self.pruned.shared[:, None])

    @property
    def M__beta(self) -> np.ndarray:
        """Weights of the document synapses, [doc, topic]."""
        return (
            self._values["beta.M__beta"]
            .reshape(-1, self.parameters.n_topics)[: self._n_docs]
            .copy()
        )

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on; keys as in the reference's `initial_state`.

        Where weights have few bits, also their "levels" and, in the gauge form, "m__alpha" and
        "a__alpha": the bits hold m, so that M = m - a alone could only be rounded anew.
        """
        K, values = self.parameters.n_topics, self._values
        state = {
            "M__alpha": self.M__alpha,
            "M__beta": self.M__beta,
            "n_alpha": values["topics.n_alpha"].copy(),
            "n_beta": values["documents.n_beta"][: self._n_docs].copy(),
        }
        if self._runner.constraints.weight_bits is not None:
            state["levels"] = self._runner.constraints.levels
            if self.parameters.gauge:
                state["m__alpha"] = values["alpha.m__alpha"].reshape(-1, K).T.copy(order="C")
                state["a__alpha"] = values["topics.a__alpha"].copy()
        for layer, rule in self._step_rules():
            for name in synapse_variables(layer, rule):
                matrix = values[f"{layer}.{name}"].reshape(-1, K)
                state[name] = np.ascontiguousarray(
                    matrix.T if layer == "alpha" else matrix[: self._n_docs]
                )
            if isinstance(rule, AdaGrad):
                state[f"eta_0__{layer}"] = np.array([self._constants[f"{layer}.eta_0__{layer}"]])
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` of either twin."""
        limits, gauge = self._runner.constraints, self.parameters.gauge
        weight = "m__alpha" if gauge else "M__alpha"
        stored = limits.weight_bits is not None and limits.stored(state)
        values: Arrays = {
            f"alpha.{weight}": self._word_synapses(state, weight if stored else "M__alpha"),
            "beta.M__beta": self._document_synapses(state, "M__beta", 0.0),
            "topics.n_alpha": np.array(state["n_alpha"], np.float64),
            "documents.n_beta": pad(state["n_beta"], self._shape.n_docs, 0.0),
        }
        if gauge:
            values["topics.a__alpha"] = np.zeros(self.parameters.n_topics)
        if gauge and stored:
            values["topics.a__alpha"] += state["a__alpha"]
            values = self._fold_offsets(values)
        base_steps = {}
        for layer, rule in self._step_rules():
            read = self._word_synapses if layer == "alpha" else self._document_synapses
            for name in synapse_variables(layer, rule):
                values[f"{layer}.{name}"] = read(state, name)
            if isinstance(rule, AdaGrad):
                eta_0 = float(np.ravel(state[f"eta_0__{layer}"])[0])
                base_steps[f"{layer}.eta_0__{layer}"] = eta_0
        rng = np.random.default_rng([self._seed, 4])
        for path in () if stored else (f"alpha.{weight}", "beta.M__beta"):
            values[path] = limits.rounded(values[path], rng)
        check_weights(values)
        self._values = values
        self._constants |= base_steps

    def _fold_offsets(self, values: Arrays) -> Arrays:
        """M = m - a: fold the offset back, it grows without bound."""
        if self.parameters.gauge:
            a__alpha = values["topics.a__alpha"]
            folded = a__alpha.copy()
            if self._runner.constraints.weight_bits is not None:  # by whole levels
                folded -= a__alpha % self._runner.constraints.quantum
            m = values["alpha.m__alpha"].reshape(-1, self.parameters.n_topics)
            m -= folded
            values["topics.a__alpha"] = a__alpha - folded
        return values

    def _constant_values(self) -> dict[str, np.ndarray | float]:
        """Numbers that the network reads and never writes; `set_state` adds AdaGrad's base step."""
        parameters = self.parameters
        values: dict[str, np.ndarray | float] = {
            **step_values(parameters.word_step, "alpha", "topics", "alpha"),
            **step_values(parameters.doc_step, "beta", "documents", "beta"),
        }
        if parameters.doc_topic_prior is not None:
            values["topics.lamda"] = parameters.doc_topic_prior
            values["documents.kappa"] = parameters.kappa
            values["documents.N_d"] = pad(np.maximum(self._doc_lengths, 1), self._shape.n_docs, 1)
        if parameters.smoothed:
            values["words.epsilon"] = word_prior_vector(
                parameters.epsilon, self._n_words, "epsilon"
            )
        if self.pruned is not None:
            values["alpha.is_private"] = self.pruned.private.T.astype(np.int32).ravel()
            values["topics.shared"] = np.where(
                self.pruned.private.all(axis=1), 0.0, self.pruned.shared
            )
        return values

    def _step_rules(self) -> tuple[tuple[str, EventStepRule], tuple[str, EventStepRule]]:
        return ("alpha", self.parameters.word_step), ("beta", self.parameters.doc_step)

    def _word_synapses(self, state: dict[str, np.ndarray], key: str) -> np.ndarray:
        """[topic, word] as Brian orders synapses: by word neuron, then by topic neuron."""
        expected = (self.parameters.n_topics, self._n_words)
        if state[key].shape != expected:
            raise ParameterError(
                f"{key} must have shape [topic, word] = {expected}; found {state[key].shape}. "
                "Was it trained with another vocabulary or number of topics?"
            )
        return np.array(state[key].T, np.float64, order="C").ravel()

    def _document_synapses(
        self, state: dict[str, np.ndarray], key: str, fill: float = 1.0
    ) -> np.ndarray:
        """[doc, topic] with rows for the unused document neurons."""
        expected = (self._n_docs, self.parameters.n_topics)
        if state[key].shape != expected:
            raise ParameterError(
                f"{key} must have shape [doc, topic] = {expected}; found {state[key].shape}. "
                "Was it trained on another corpus?"
            )
        return pad(state[key], self._shape.n_docs, fill).ravel()
