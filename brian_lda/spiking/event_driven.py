"""ed-SpikeLDA and ed-SpikePLSI in spikes: the twin of `brian_lda.reference.EventDrivenReference`.

The networks are in `models/ed_spike_lda.py` and `models/ed_spike_plsi.py`; this file gives them
tokens and weights and takes the weights back. Between two calls of `present` everything that the
networks know is held here, as plain arrays: a run that dies changes nothing.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import numpy as np

from brian_lda.errors import ParameterError, WeightOverflowError
from brian_lda.models import ed_spike_lda, ed_spike_plsi
from brian_lda.parameters import AdaGrad, EventDrivenParameters, VarianceTracking
from brian_lda.reference.event_driven import initial_state
from brian_lda.spiking.circuit import Shape
from brian_lda.spiking.inhibition import Inhibition, Race
from brian_lda.spiking.plasticity import step_values
from brian_lda.spiking.recording import Recording, Spikes, read_recorders
from brian_lda.spiking.simulator import Simulator, make_simulator

LARGEST_WEIGHT = 700.0  # exp(+-700) is still a number


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

    Attributes
    ----------
    spikes : Spikes or None
        What the latest `present(..., record=...)` recorded.
    """

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
    ) -> None:
        self.parameters = parameters
        self.inhibition = inhibition or Race()
        self.spikes: Spikes | None = None
        self._seed = int(seed)
        self._doc_lengths = np.asarray(doc_lengths)
        self._n_words, self._n_docs = n_words, len(self._doc_lengths)
        # A few unused document neurons let corpora of similar size share one compiled network.
        self._shape = Shape(n_words, _round_up(self._n_docs), parameters.n_topics)
        self._simulator_kind = simulator
        self._simulators: dict[tuple[str, ...], Simulator] = {}
        self._constants = self._constant_values()
        self.set_state(initial or initial_state(parameters, n_words, self._doc_lengths, seed))

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
        """
        words = _checked_tokens(words, "words", self._n_words)
        docs = _checked_tokens(docs, "docs", self._n_docs)
        if len(words) != len(docs):
            raise ParameterError(
                f"words and docs must pair up; found {len(words)} and {len(docs)}."
            )
        if record is None:
            return self._present(words, docs)
        start, stop = record.window(len(words))
        if stop - start > self._shape.capacity:
            raise ParameterError(
                f"a recorded window holds at most {self._shape.capacity} tokens; found "
                f"{stop - start}. Give Recording a `start` and a `stop`."
            )
        before = self._present(words[:start], docs[:start])
        during = self._present(words[start:stop], docs[start:stop], record.layers)
        if self.spikes is not None:
            self.spikes.first_token = start
        return np.concatenate([before, during, self._present(words[stop:], docs[stop:])])

    def prepare(self) -> None:
        """Compile the network now, or find it in the cache; else the first `present` does."""
        self._simulator(())

    def end_pass(self) -> None:
        """End of a pass over the corpus: AdaGrad amplifies its base step by c."""
        for layer, rule in self._step_rules():
            if isinstance(rule, AdaGrad):
                self._values[f"{layer}.eta_0__{layer}"] *= rule.amplification

    @property
    def M__alpha(self) -> np.ndarray:
        """Weights of the word synapses, [topic, word]."""
        K, values = self.parameters.n_topics, self._values
        if self.parameters.gauge:
            M__alpha = values["alpha.m__alpha"].reshape(-1, K) - values["topics.a__alpha"]
        else:
            M__alpha = values["alpha.M__alpha"].reshape(-1, K)
        return M__alpha.T.copy(order="C")

    @property
    def M__beta(self) -> np.ndarray:
        """Weights of the document synapses, [doc, topic]."""
        return (
            self._values["beta.M__beta"]
            .reshape(-1, self.parameters.n_topics)[: self._n_docs]
            .copy()
        )

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on; keys as in the reference's `initial_state`."""
        K, values = self.parameters.n_topics, self._values
        state = {
            "M__alpha": self.M__alpha,
            "M__beta": self.M__beta,
            "n_alpha": values["topics.n_alpha"].copy(),
            "n_beta": values["documents.n_beta"][: self._n_docs].copy(),
        }
        for layer, rule in self._step_rules():
            for name in _synapse_memory(rule):
                matrix = values[f"{layer}.{name}__{layer}"].reshape(-1, K)
                state[f"{name}__{layer}"] = np.ascontiguousarray(
                    matrix.T if layer == "alpha" else matrix[: self._n_docs]
                )
            if isinstance(rule, AdaGrad):
                state[f"eta_0__{layer}"] = np.array([values[f"{layer}.eta_0__{layer}"]])
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` of either twin."""
        weight = "m__alpha" if self.parameters.gauge else "M__alpha"
        values = {
            f"alpha.{weight}": self._word_synapses(state, "M__alpha"),
            "beta.M__beta": self._document_synapses(state, "M__beta", 0.0),
            "topics.n_alpha": np.array(state["n_alpha"], np.float64),
            "documents.n_beta": _pad(state["n_beta"], self._shape.n_docs, 0.0),
        }
        if self.parameters.gauge:
            values["topics.a__alpha"] = np.zeros(self.parameters.n_topics)
        for layer, rule in self._step_rules():
            read = self._word_synapses if layer == "alpha" else self._document_synapses
            for name in _synapse_memory(rule):
                values[f"{layer}.{name}__{layer}"] = read(state, f"{name}__{layer}")
            if isinstance(rule, AdaGrad):
                values[f"{layer}.eta_0__{layer}"] = float(np.ravel(state[f"eta_0__{layer}"])[0])
        _check_weights(values)
        self._values = values

    def _present(
        self, words: np.ndarray, docs: np.ndarray, layers: tuple[str, ...] = ()
    ) -> np.ndarray:
        winners = [np.empty(0, np.int32)]
        for start in range(0, len(words), self._shape.capacity):
            chunk = slice(start, start + self._shape.capacity)
            # Derived from the tokens seen so far, so that a run resumed from `state` draws the same
            # spikes as one that was never interrupted.
            entropy = [self._seed, 1, int(self._values["documents.n_beta"].sum())]
            seed = int(np.random.SeedSequence(entropy).generate_state(1)[0] >> 1)
            values = self._constants | self._values
            result = self._simulator(layers).run(values, words[chunk], docs[chunk], seed)
            after = {path: result[path] for path in self._values if np.ndim(self._values[path])}
            _check_weights(after)
            if self.parameters.gauge:  # fold the offset back: it grows without bound
                m = after["alpha.m__alpha"].reshape(-1, self.parameters.n_topics)
                m -= after["topics.a__alpha"]
                after["topics.a__alpha"] = np.zeros(self.parameters.n_topics)
            self._values |= after
            winners.append(result["winners.i"])
            if layers:
                self.spikes = read_recorders(result, layers)
        return np.concatenate(winners)

    def _simulator(self, layers: tuple[str, ...]) -> Simulator:
        if layers not in self._simulators:
            model = ed_spike_plsi if self.parameters.doc_topic_prior is None else ed_spike_lda
            parameters, inhibition = self.parameters, self.inhibition
            key = {
                "model": model.__name__,
                "steps": [type(rule).__name__ for _, rule in self._step_rules()],
                "integrator": parameters.integrator,
                "gauge": parameters.gauge,
                "shape": asdict(self._shape),
                "inhibition": [type(inhibition).__name__, inhibition.normalised],
                "record": layers,
            }
            outputs = tuple(path for path, value in self._values.items() if np.ndim(value))
            build = partial(model.build, parameters, self._shape, inhibition, layers)
            self._simulators[layers] = make_simulator(self._simulator_kind, build, key, outputs)
        return self._simulators[layers]

    def _constant_values(self) -> dict[str, np.ndarray | float]:
        """Numbers that the network reads and never writes."""
        parameters = self.parameters
        values = dict(self.inhibition.values)
        values |= step_values(parameters.word_step, "alpha", "topics", "alpha")
        values |= step_values(parameters.doc_step, "beta", "documents", "beta")
        if parameters.doc_topic_prior is not None:
            values["topics.lamda"] = parameters.doc_topic_prior
            values["documents.kappa"] = parameters.kappa
            values["documents.N_d"] = _pad(np.maximum(self._doc_lengths, 1), self._shape.n_docs, 1)
        return values

    def _step_rules(self):
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
        return _pad(state[key], self._shape.n_docs, fill).ravel()


def _synapse_memory(rule) -> tuple[str, ...]:
    """What a step rule keeps in each synapse."""
    if isinstance(rule, VarianceTracking):
        return ("s_1", "s_2")
    return ("G",) if isinstance(rule, AdaGrad) else ()


def _round_up(n: int) -> int:
    """`n` with its five leading bits kept and the rest rounded up: at most 6 % more."""
    step = 1 << max(n.bit_length() - 5, 0)
    return -(-n // step) * step


def _pad(array: np.ndarray, n_rows: int, fill: float) -> np.ndarray:
    padded = np.full((n_rows, *np.shape(array)[1:]), fill, np.float64)
    padded[: len(array)] = array
    return padded


def _checked_tokens(index: np.ndarray, name: str, size: int) -> np.ndarray:
    index = np.ascontiguousarray(index, np.int32)
    if index.ndim != 1 or (index.size and not 0 <= index.min() <= index.max() < size):
        raise ParameterError(
            f"{name} must be a vector of indices in [0, {size}); found shape {index.shape}"
            + (f" with values {index.min()} to {index.max()}" if index.size else "")
            + ". Is it a corpus with another vocabulary than the model's?"
        )
    return index


def _check_weights(values: dict[str, np.ndarray]) -> None:
    """Refuse weights of which exp would not be a number."""
    for path, value in values.items():
        if np.ndim(value) == 0 or not path.startswith(("alpha.", "beta.")):
            continue
        limit = LARGEST_WEIGHT if "M__" in path or "m__" in path else np.inf
        largest = np.abs(value).max()
        if not largest < limit or not np.isfinite(largest):
            raise WeightOverflowError(
                f"{path.split('.')[1]} must be finite and below {limit:g} in size, so that exp(M) "
                f"and exp(-M) are numbers; found {largest:g}. With integrator='euler' a step of "
                "size eta adds eta*exp(-M): use integrator='flow', or a smaller step."
            )
