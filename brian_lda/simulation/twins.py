"""The spiking twins of the algorithms in `brian_lda.reference`: same parameters, same results.

What trains them does not know which twin it has. There are three kinds, by what one iteration is:
tokens one by one, sweeps over remembered assignments, mini-batches of documents. All of them hand
their tokens to a `SpikingNetwork`.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from brian_lda.algorithms import find_algorithm
from brian_lda.circuit.circuit import Sizes, Values
from brian_lda.circuit.inhibition import Inhibition
from brian_lda.constraints import NO_WINNER, Constraints
from brian_lda.errors import ParameterError
from brian_lda.initial_weights import initial_state, word_prior_vector, word_smoothing
from brian_lda.models import spike_cgs
from brian_lda.parameters import (
    BatchParameters,
    EventDrivenParameters,
    PrunedWords,
    require_map_prior,
)
from brian_lda.reference.spike_cgs import LogCountSampler
from brian_lda.simulation.recording import Recording, Spikes
from brian_lda.simulation.spiking_network import SpikingNetwork

Parameters = EventDrivenParameters | BatchParameters
SMALLEST_PRIOR = 1e-9  # 1e-16/1e-9 of it is rounded away when a count comes and goes


def model_for(name: str, parameters: Parameters) -> Any:
    """The file of `models/` with the step rules and the integrator that the parameters ask for.

    Parameters
    ----------
    name : str
        Of the algorithm, "ed_spike_lda" for example; its literal form is "ed_spike_lda_paper".
    parameters : EventDrivenParameters or BatchParameters
    """
    offered = []
    path = find_algorithm(name).load_network().__name__
    literal = f"{path}_paper"
    for file in (path, literal) if find_spec(literal) else (path,):
        model = import_module(file)
        if all(type(getattr(parameters, key)) is rule for key, rule in model.STEPS.items()):
            if parameters.integrator == model.INTEGRATOR:
                return model
        steps = ", ".join(f"{key}={rule.__name__}" for key, rule in model.STEPS.items())
        offered.append(f"{steps}, integrator={model.INTEGRATOR!r} ({file})")
    found = ", ".join(f"{key}={type(getattr(parameters, key)).__name__}" for key in model.STEPS)
    raise ParameterError(
        f"in spikes there is {' and '.join(offered)}; found {found}, "
        f"integrator={parameters.integrator!r}. Use backend='rate' for other combinations."
    )


class EventDrivenSpiking:
    """ed-SpikeLDA and ed-SpikePLSI in spikes: learn token by token.

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
    name : str, optional
        Of the algorithm; the default follows from the prior.
    **options
        inhibition, simulator, constraints, pruned: see `SpikingNetwork`.
    """

    def __init__(
        self,
        parameters: EventDrivenParameters,
        n_words: int,
        doc_lengths: np.ndarray,
        *,
        seed: int,
        initial: dict[str, np.ndarray] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self.parameters = parameters
        by_prior = "ed_spike_plsi" if parameters.doc_topic_prior is None else "ed_spike_lda"
        self._model = model_for(name or by_prior, parameters)
        doc_lengths = np.asarray(doc_lengths)
        self.network = SpikingNetwork(
            self._model,
            Sizes(n_words, len(doc_lengths), parameters.n_topics),
            self._model.constants(parameters, n_words, doc_lengths),
            initial or initial_state(parameters, n_words, doc_lengths, seed),
            seed=int(seed),
            **options,
        )

    def present(
        self, words: np.ndarray, docs: np.ndarray, *, record: Recording | None = None
    ) -> np.ndarray:
        """Show a sequence of tokens; see `SpikingNetwork.present`."""
        seen = int(self.network.known("n_beta").sum())  # tokens so far
        return self.network.present(words, docs, position=seen, record=record)

    def prepare(self) -> None:
        """Compile the network now, or find it in the cache; else the first `present` does."""
        self.network.prepare()

    def end_pass(self) -> None:
        """End of a pass over the corpus: a step rule may change its base step."""
        if hasattr(self._model, "end_pass"):
            self.network.change(self._model.end_pass(self.parameters, self.network.known))

    @property
    def spikes(self) -> Spikes | None:
        """What the latest `present(..., record=...)` recorded."""
        return self.network.spikes

    @property
    def pruned(self) -> PrunedWords | None:
        """The words with a synapse of their own; None: all."""
        return self.network.pruned

    @property
    def M__alpha(self) -> np.ndarray:
        """Weights of the word synapses, [topic, word]; where pruned, the shared synapse's."""
        return self.network.weights["M__alpha"]

    @property
    def M__beta(self) -> np.ndarray:
        """Weights of the document synapses, [doc, topic]."""
        return self.network.weights["M__beta"]

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on."""
        return self.network.state()

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` of either twin."""
        self.network.set_state(state)


class SpikeCGSSpiking(LogCountSampler):
    """SpikeCGS in spikes: resamples the topic of each token.

    Parameters
    ----------
    words, docs, **arguments
        As in `AssignmentSampler`.
    inhibition, simulator, constraints
        See `SpikingNetwork`; `packet_loss` must be 0.
    """

    def __init__(
        self,
        words: np.ndarray,
        docs: np.ndarray,
        *,
        seed: int,
        inhibition: Inhibition | None = None,
        simulator: str = "standalone",
        constraints: Constraints | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(words, docs, seed=seed, **arguments)
        require_countable(self.lamda, "doc_topic_prior")
        require_countable(self.varphi, "topic_word_prior")
        C_wz, C_zd, C_z = self._counts()
        first = {  # Tab. 1(b)
            "w": C_wz + self.varphi,
            "p": C_zd + self.lamda,
            "c": C_z + self.varphi.sum(),
            "z": self.z,
        }
        logs = {"M__alpha": np.log(first["w"]), "M__beta": np.log(first["p"])}  # few bits hold them
        logs["b"] = np.log(first["c"])
        sizes = Sizes(self._n_words, self._n_docs, self.n_topics, n_tokens=len(self.z))
        self.network = SpikingNetwork(
            spike_cgs,
            sizes,
            {},
            {**first, **logs},
            seed=int(seed),
            inhibition=inhibition,
            simulator=simulator,
            constraints=constraints,
        )
        self._n_presented = 0

    @property
    def spikes(self) -> Spikes | None:
        """What the latest `sweep(..., record=...)` recorded."""
        return self.network.spikes

    def prepare(self) -> None:
        """Compile the network now, or find it in the cache; else the first sweep does."""
        self.network.prepare()

    def sweep(
        self, order: np.ndarray | None = None, *, record: Recording | None = None
    ) -> np.ndarray:
        """Resample tokens in the given order (default: each once, as stored).

        Parameters
        ----------
        order : int array [n], optional
            Tokens to present; any number, any of them repeatedly (Alg. 2 draws them at random).
        record : Recording, optional
            Layers and window of which to keep the spikes, in `spikes`.

        Returns
        -------
        int32 array [n]
            The winners; -1 where dead synapses keep a token from every topic neuron: it stays
            with the topic that it has.
        """
        order = np.arange(len(self.z)) if order is None else np.asarray(order)
        if order.size and not 0 <= order.min() <= order.max() < len(self.z):
            raise ParameterError(
                f"order must be indices in [0, {len(self.z)}); found {order.min()} to "
                f"{order.max()}."
            )
        winners = self.network.present(
            self._words[order], self._docs[order], order, position=self._n_presented, record=record
        )
        self._n_presented += len(order)
        self.z = self.network.known("z").astype(np.int32)
        return winners

    @property
    def M__alpha(self) -> np.ndarray:
        """log(C_wz + varphi_w), [topic, word]."""
        return self.network.weights["M__alpha"]

    @property
    def M__beta(self) -> np.ndarray:
        """log(C_zd + lambda_z), [doc, topic]."""
        return self.network.weights["M__beta"]

    @property
    def b(self) -> np.ndarray:
        """log(C_z + sum varphi), [topic]."""
        return self.network.weights["b"]

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on."""
        return {**self.network.state(), "n_presented": np.array([self._n_presented])}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` of either twin."""
        self.network.set_state(state)
        self.z = self.network.known("z").astype(np.int32)
        self._n_presented = int(state["n_presented"][0]) if "n_presented" in state else 0


class MiniBatchSpiking:
    """Base of semi- and du-SpikeLDA in spikes: one update of M^alpha per mini-batch of documents.

    Parameters
    ----------
    parameters : BatchParameters
    n_words : int
        V.
    seed : int
        Seeds the initial weights and the spikes.
    n_training_tokens : float
        N in epsilon = varphi K / N (see `BatchParameters.topic_word_prior`).
    batch_tokens : int, optional
        Most tokens that a mini-batch can have, if known: then one program serves all of them.
    **options
        inhibition, simulator, constraints: see `SpikingNetwork`; `packet_loss` must be 0.

    Attributes
    ----------
    documents_swapped : int
        Documents whose K synapses have entered the network so far: the external-memory traffic.
    """

    _name: ClassVar[str]  # of the algorithm

    def __init__(
        self,
        parameters: BatchParameters,
        n_words: int,
        *,
        seed: int,
        n_training_tokens: float,
        batch_tokens: int = 1,
        **options: Any,
    ) -> None:
        self.parameters, self.seed, self.n_updates = parameters, seed, 0
        self._model = model_for(self._name, parameters)
        self._varphi = word_prior_vector(parameters.topic_word_prior, n_words)
        self.set_corpus_size(n_training_tokens)
        self.documents_swapped = 0
        self._n_docs = 1  # of the latest mini-batch; the network may have more document neurons
        rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
        M__alpha = rng.normal(1.0, 1.0, (parameters.n_topics, n_words))
        words = {"M__alpha": M__alpha, "v__alpha": np.zeros_like(M__alpha)}
        words["n_spikes"] = np.zeros(parameters.n_topics)
        n_tokens = batch_tokens if self._model.REMEMBERS else 1
        self.network = SpikingNetwork(
            self._model,
            Sizes(n_words, 1, parameters.n_topics, n_tokens=n_tokens),
            {},
            {**words, **self._fresh_documents(1, n_tokens)},
            seed=seed,
            **options,
        )

    def set_corpus_size(self, n_training_tokens: float) -> None:
        """Fix epsilon for a corpus of this many tokens."""
        K, n_words = self.parameters.n_topics, len(self._varphi)
        self.epsilon = word_smoothing(self._varphi, K, n_words, n_training_tokens)

    @property
    def spikes(self) -> Spikes | None:
        """What the latest `update(..., record=...)` recorded."""
        return self.network.spikes

    def prepare(self, counts: sparse.csr_array) -> None:
        """Compile the network for mini-batches like this one; else the first `update` does."""
        self._begin_batch(counts)
        self.network.prepare()

    def update(self, counts: sparse.csr_array, *, record: Recording | None = None) -> np.ndarray:
        """One mini-batch of documents [doc, word].

        Parameters
        ----------
        counts : sparse array [doc, word]
        record : Recording, optional
            Layers and window (in presented tokens) of which to keep the spikes, in `spikes`.

        Returns
        -------
        int32 array [sweep, token]
            Winners of all sweeps; tokens in the order of `counts`. -1 where dead synapses keep a
            token from every topic neuron: the mini-batch is learned without it.
        """
        counts = sparse.csr_array(counts)
        heard = self._begin_batch(counts)
        words = np.repeat(counts.indices, counts.data)[heard]
        docs = np.repeat(_doc_of_entry(counts), counts.data)[heard]
        n_tokens, T = len(words), self.parameters.local_iterations
        burn_in = T + self._model.FIRST_SWEEPS
        n_sweeps = burn_in + T
        winners = np.full((n_sweeps, len(heard)), NO_WINNER, np.int32)
        if n_tokens:

            def run_values(start: int, stop: int) -> Values:
                return {
                    "batch.first_counted": burn_in * n_tokens - start,
                    "batch.tokens_to_come": n_sweeps * n_tokens - stop,
                }

            tokens = np.tile(np.arange(n_tokens), n_sweeps) if self._model.REMEMBERS else None
            sequence = self.network.present(
                np.tile(words, n_sweeps),
                np.tile(docs, n_sweeps),
                tokens,
                entropy=[1, self.n_updates],
                run_values=run_values,
                record=record,
            )
            winners[:, heard] = sequence.reshape(n_sweeps, n_tokens)
        self.documents_swapped += counts.shape[0]
        self.n_updates += 1
        return winners

    def _begin_batch(self, counts: sparse.csr_array) -> np.ndarray:
        """Let the documents enter the network; which tokens are heard, bool array [token].

        The network is compiled again only if a mini-batch outgrows the last.
        """
        sizes, self._n_docs = self.network.sizes, counts.shape[0]
        n_docs, n_tokens = max(counts.shape[0], sizes.n_docs), sizes.n_tokens
        if self._model.REMEMBERS and (needed := int(counts.sum())) > n_tokens:
            n_tokens = 1 << int(np.ceil(np.log2(1.25 * needed)))  # mini-batches differ
        sizes = replace(sizes, n_docs=n_docs, n_tokens=n_tokens)
        documents = self._fresh_documents(counts.shape[0], n_tokens)
        for variable in self._model.KEPT:  # rows for document neurons that this batch leaves empty
            if variable.axes.startswith("doc"):
                own = documents[variable.name]
                padded = np.full((n_docs, *own.shape[1:]), variable.fill)
                padded[: len(own)] = own
                documents[variable.name] = padded
        self.network.resize(sizes, **documents)
        entries = self.network.heard(counts.indices, _doc_of_entry(counts))
        heard = np.repeat(entries, counts.data)
        alive = sparse.csr_array(
            (counts.data * entries, counts.indices, counts.indptr), counts.shape
        )
        lengths = np.ones(n_docs)
        lengths[: counts.shape[0]] = alive.sum(axis=1)
        self.network.constants = self._model.constants(
            self.parameters, self.epsilon, lengths, counts.shape[0]
        )
        return heard

    def _fresh_documents(self, n_docs: int, n_tokens: int) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, 3, self.n_updates]))
        return self._model.fresh_documents(self.parameters, n_docs, n_tokens, rng)

    @property
    def M__alpha(self) -> np.ndarray:
        """The weights of the word synapses [topic, word]; epsilon is not part of them."""
        return self.network.weights["M__alpha"]

    @property
    def M__beta(self) -> np.ndarray:
        """Document synapses as the latest mini-batch left them, [doc, topic]."""
        return self.network.weights["M__beta"][: self._n_docs]

    @property
    def phi(self) -> np.ndarray:
        """Normalised smoothed rates, [topic, word]."""
        p = np.exp(self.M__alpha) + self.epsilon
        return p / p.sum(axis=1, keepdims=True)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next update depends on: what the words' synapses and neurons keep."""
        own = ["M__alpha", "levels"]
        own += [v.name for v in self.network.kept if v.axes in ("topic, word", "topic")]
        state = {name: array for name, array in self.network.state().items() if name in own}
        return {**state, "n_updates": np.array([self.n_updates])}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` of either twin."""
        self.n_updates = int(state["n_updates"][0])
        sizes = self.network.sizes
        self.network.set_state({**state, **self._fresh_documents(sizes.n_docs, sizes.n_tokens)})


class SemiSpikeLDASpiking(MiniBatchSpiking):
    """semi-SpikeLDA in spikes; parameters as in `MiniBatchSpiking`."""

    _name = "semi_spike_lda"

    def __init__(self, parameters: BatchParameters, n_words: int, **arguments: Any) -> None:
        require_countable(parameters.doc_topic_prior, "doc_topic_prior")
        super().__init__(parameters, n_words, **arguments)


class DuSpikeLDASpiking(MiniBatchSpiking):
    """du-SpikeLDA in spikes; parameters as in `MiniBatchSpiking`. Every lambda must be > 1."""

    _name = "du_spike_lda"

    def __init__(self, parameters: BatchParameters, n_words: int, **arguments: Any) -> None:
        require_map_prior(parameters.doc_topic_prior)
        super().__init__(parameters, n_words, **arguments)


def require_countable(prior: np.ndarray, name: str) -> None:
    """A synapse holds count + prior: what is lost when a count comes and goes must not matter."""
    if prior.min() < SMALLEST_PRIOR:
        raise ParameterError(
            f"{name} must be at least {SMALLEST_PRIOR:g} in spikes, where a synapse holds count + "
            f"prior; found {prior.min():g}. Use backend='rate' for a smaller one."
        )


def _doc_of_entry(counts: sparse.csr_array) -> np.ndarray:
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
