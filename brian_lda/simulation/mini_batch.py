"""semi- and du-SpikeLDA in spikes, with the interface of their rate-level twins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from brian_lda.circuit.circuit import Sizes
from brian_lda.constraints import NO_WINNER
from brian_lda.initial_weights import word_prior_vector
from brian_lda.own_votes import excludes_own_votes, own_votes
from brian_lda.parameters import BatchParameters, require_map_prior
from brian_lda.simulation.model_choice import model_for, require_countable
from brian_lda.simulation.recording import Recording, Spikes
from brian_lda.simulation.side_by_side import (
    Circuits,
    LocalCircuits,
    Sweeps,
    check_circuits,
    check_recorded,
    show_side_by_side,
)
from brian_lda.simulation.spiking_network import SpikingNetwork
from brian_lda.simulation.windows import WindowKeeper


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
        N, the tokens of a pass: how often the prior of Phi counts.
    batch_tokens : int, optional
        Most tokens that a mini-batch can have, if known: then one program serves all of them.
    n_circuits : int
        Circuits that share the documents of a mini-batch, each a process of its own (inside Python
        they take turns). The weights do not depend on it, to the last bit.
    **options
        inhibition, simulator, constraints, record: see `SpikingNetwork`; `packet_loss` must be 0.

    Attributes
    ----------
    documents_swapped : int
        Documents whose K synapses have entered the network so far: the external-memory traffic.
    circuits : Circuits or None
        Where documents are shown, if not in one circuit here.
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
        n_circuits: int = 1,
        **options: Any,
    ) -> None:
        self.parameters, self.seed, self.n_updates = parameters, seed, 0
        model = model_for(self._name, parameters)
        self._varphi = word_prior_vector(parameters.topic_word_prior, n_words)
        self._n_training_tokens, self._is_stream = max(n_training_tokens, 1.0), False
        self.documents_swapped = 0
        self._n_docs = 1  # of the latest mini-batch; the network may have more document neurons
        rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
        M__alpha = rng.normal(1.0, 1.0, (parameters.n_topics, n_words))
        words = {"M__alpha": M__alpha, "v__alpha": np.zeros_like(M__alpha)}
        words["n_spikes"] = np.zeros(parameters.n_topics)
        n_tokens = batch_tokens if model.REMEMBERS else 1
        documents = model.fresh_documents(parameters, 1, n_tokens, self._rng_of_documents())
        self.network = SpikingNetwork(
            model,
            Sizes(n_words, 1, parameters.n_topics, n_tokens=n_tokens),
            {},
            {**words, **documents},
            seed=seed,
            **options,
        )
        check_circuits(n_circuits, self.network)
        others = [self.network.stand_in() for _ in range(n_circuits - 1)]
        self.circuits: Circuits | None = LocalCircuits(others) if others else None

    def set_stream_size(self, n_training_tokens: float) -> None:
        """A pass is as long as so many tokens, and no document will come again in another."""
        self._n_training_tokens, self._is_stream = max(n_training_tokens, 1.0), True

    @property
    def spikes(self) -> Spikes | None:
        """The latest window of `update(..., record=...)`."""
        return self.network.spikes

    @property
    def keeper(self) -> WindowKeeper | None:
        """What was recorded of the training."""
        return self.network.keeper

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
            Windows of all sweeps together, to be found in `network.recorded`; takes one circuit.

        Returns
        -------
        int32 array [sweep, token]
            Winners of all sweeps; tokens in the order of `counts`. -1 where dead synapses keep a
            token from every topic neuron: the mini-batch is learned without it.
        """
        if record is not None:
            check_recorded(self.circuits.n_circuits if self.circuits else 1)
        counts = sparse.csr_array(counts)
        heard = self._begin_batch(counts)
        words = np.repeat(counts.indices, counts.data)[heard]
        docs = np.repeat(_doc_of_entry(counts), counts.data)[heard]
        n_tokens, T = len(words), self.parameters.local_iterations
        burn_in = T + self.first_sweeps
        sweeps = Sweeps(
            words,
            docs,
            np.arange(n_tokens, dtype=np.int32) if self._model.REMEMBERS else None,
            burn_in,
            burn_in + T,
            [self.seed, 1, self.n_updates],
        )
        winners = np.empty((sweeps.n_sweeps, 0), np.int32)
        if self.circuits and n_tokens:
            winners = show_side_by_side(self.network, self.circuits, sweeps)
        elif n_tokens:
            sequence = sweeps.present(self.network, 0, len(sweeps), record)
            winners = sequence.reshape(sweeps.n_sweeps, n_tokens)
        if n_tokens < len(heard):
            of_heard, winners = winners, np.full((sweeps.n_sweeps, len(heard)), NO_WINNER, np.int32)
            winners[:, heard] = of_heard
        self.documents_swapped += counts.shape[0]
        self.n_updates += 1
        return winners

    @property
    def first_sweeps(self) -> int:
        """Sweeps of a mini-batch before the 2T of the paper: they assign a topic to begin with."""
        return int(self._model.FIRST_SWEEPS)

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
        kept_tokens = self.parameters.local_iterations * int(alive.sum())
        prior_share = kept_tokens / self._n_training_tokens
        self.network.constants = self._model.constants(
            self.parameters, self._varphi, prior_share, lengths, counts.shape[0]
        )
        return heard

    def _fresh_documents(self, n_docs: int, n_tokens: int) -> dict[str, np.ndarray]:
        return self._model.fresh_documents(
            self.parameters, n_docs, n_tokens, self._rng_of_documents()
        )

    def _rng_of_documents(self) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence([self.seed, 3, self.n_updates]))

    @property
    def _model(self) -> Any:
        """The file of `models/`."""
        return self.network.model

    @property
    def M__alpha(self) -> np.ndarray:
        """The weights of the word synapses [topic, word]."""
        return self.network.weights["M__alpha"]

    @property
    def M__beta(self) -> np.ndarray:
        """Document synapses as the latest mini-batch left them, [doc, topic]."""
        return self.network.weights["M__beta"][: self._n_docs]

    @property
    def phi(self) -> np.ndarray:
        """Tab. 1(d): exp M^alpha, normalised, [topic, word]."""
        p = np.exp(self.M__alpha)
        return p / p.sum(axis=1, keepdims=True)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next update depends on: what the words' synapses and neurons keep."""
        own = ["M__alpha", "levels", "n_shown"]
        own += [v.name for v in self.network.kept if v.axes in ("topic, word", "topic")]
        state = {name: array for name, array in self.network.state().items() if name in own}
        return {**state, "n_updates": np.array([self.n_updates])}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` of either twin."""
        self.n_updates = int(state["n_updates"][0])
        sizes = self.network.sizes
        self.network.set_state({**state, **self._fresh_documents(sizes.n_docs, sizes.n_tokens)})


class SemiSpikeLDASpiking(MiniBatchSpiking):
    """semi-SpikeLDA in spikes; parameters as in `MiniBatchSpiking`.

    Attributes
    ----------
    C_zd : int array [doc, topic]
        Of the documents of the latest mini-batch, after their last sweep: exp M^beta - lambda.
    """

    _name = "semi_spike_lda"
    C_zd: np.ndarray

    def __init__(self, parameters: BatchParameters, n_words: int, **arguments: Any) -> None:
        require_countable(parameters.doc_topic_prior, "doc_topic_prior")
        super().__init__(parameters, n_words, **arguments)

    def update(self, counts: sparse.csr_array, *, record: Recording | None = None) -> np.ndarray:
        """As in `MiniBatchSpiking`."""
        counts = sparse.csr_array(counts)
        winners = super().update(counts, record=record)
        docs, last = np.repeat(_doc_of_entry(counts), counts.data), winners[-1]
        K, heard = self.parameters.n_topics, last != NO_WINNER
        cells = docs[heard] * K + last[heard]
        self.C_zd = np.bincount(cells, minlength=counts.shape[0] * K).reshape(-1, K)
        return winners

    def _begin_batch(self, counts: sparse.csr_array) -> np.ndarray:
        heard = super()._begin_batch(counts)
        if excludes_own_votes(self.parameters) and not self._is_stream:
            n_spikes, varphi_sum = self.network.known("n_spikes"), self._varphi.sum()
            found = own_votes(self.parameters, n_spikes, self._n_training_tokens, varphi_sum)
            self.network.constants |= self._model.votes(*found)
        return heard

    @property
    def lamda(self) -> np.ndarray:
        """lambda [topic] as of now."""
        return self.parameters.doc_topic_prior

    def set_prior(self, lamda: np.ndarray) -> None:
        """Go on with another lambda [topic].

        The host does it between two mini-batches: the document synapses of the next one begin at
        lambda. The network needs no equation for it.
        """
        self.parameters = replace(self.parameters, doc_topic_prior=lamda)


class DuSpikeLDASpiking(MiniBatchSpiking):
    """du-SpikeLDA in spikes; parameters as in `MiniBatchSpiking`. Every lambda must be > 1."""

    _name = "du_spike_lda"

    def __init__(self, parameters: BatchParameters, n_words: int, **arguments: Any) -> None:
        require_map_prior(parameters.doc_topic_prior)
        super().__init__(parameters, n_words, **arguments)


def _doc_of_entry(counts: sparse.csr_array) -> np.ndarray:
    return np.repeat(np.arange(counts.shape[0], dtype=np.int32), np.diff(counts.indptr))
