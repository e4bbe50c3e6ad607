"""semi- and du-SpikeLDA in spikes: twins of `SemiSpikeLDAReference`, `DuSpikeLDAReference`.

The networks are in `models/semi_spike_lda.py` and `models/du_spike_lda.py`. Between mini-batches
the word synapses are kept as in the reference (`WordWeights`); the synapses of documents enter the
network with a mini-batch and are dropped with it.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from brian_lda.constraints import NO_WINNER, Constraints
from brian_lda.models import du_spike_lda, semi_spike_lda
from brian_lda.parameters import BatchParameters, require_map_prior
from brian_lda.reference.mini_batch import MiniBatchLearner
from brian_lda.spiking.assignments import NEVER_ASSIGNED
from brian_lda.spiking.circuit import Shape
from brian_lda.spiking.inhibition import Inhibition
from brian_lda.spiking.plasticity import step_values, synapse_variables
from brian_lda.spiking.recording import Recording, Spikes
from brian_lda.spiking.runner import CircuitRunner, pad
from brian_lda.spiking.simulator import Arrays, Inputs


class MiniBatchSpiking(MiniBatchLearner):
    """Base of the two networks with delayed updates; not used by itself.

    Parameters
    ----------
    parameters, n_words, seed, n_training_tokens
        As in `MiniBatchLearner`.
    inhibition : Race or Poisson, optional
        The default is `Race()`.
    simulator : {"standalone", "cython", "numpy"}
        C++ program, compiled once and cached; or inside Python.
    constraints : Constraints, optional
        Limits of the chips; `packet_loss` must be 0.

    Attributes
    ----------
    M__beta : float array [doc, topic]
        Document synapses as the latest mini-batch left them.
    documents_swapped : int
        Documents whose K synapses have entered the network so far: the external-memory traffic.
    """

    _model: ModuleType  # of the network
    _layers: ClassVar[tuple[str, ...]] = ("words", "documents")
    _first_sweeps = 0  # before the T sweeps of burn-in

    def __init__(
        self,
        parameters: BatchParameters,
        n_words: int,
        *,
        seed: int,
        n_training_tokens: float,
        inhibition: Inhibition | None = None,
        simulator: str = "standalone",
        constraints: Constraints | None = None,
    ) -> None:
        super().__init__(parameters, n_words, seed=seed, n_training_tokens=n_training_tokens)
        self.M__beta = np.empty((0, parameters.n_topics))
        self.documents_swapped = 0
        key = {
            "model": self._model.__name__,
            "steps": [type(parameters.word_step).__name__, type(parameters.doc_step).__name__],
            "integrator": parameters.integrator,
        }
        build = partial(self._model.build, parameters)
        self._runner = CircuitRunner(build, key, inhibition, simulator, constraints)
        self._shape = Shape(n_words, 1, parameters.n_topics)

    @property
    def spikes(self) -> Spikes | None:
        """What the latest `update(..., record=...)` recorded."""
        return self._runner.spikes

    def prepare(self, counts: sparse.csr_array) -> None:
        """Compile the network for mini-batches like this one; else the first `update` does."""
        self._fit_shape(counts)
        self._runner.prepare(self._shape, self._values(counts))

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
        self._fit_shape(counts)
        counts, heard = self._without_unheard(counts)
        words = np.repeat(counts.indices, counts.data)
        docs = np.repeat(_doc_of_entry(counts), counts.data)
        n_tokens, T = len(words), self.parameters.local_iterations
        burn_in = T + self._first_sweeps
        winners = np.full((burn_in + T, len(heard)), NO_WINNER, np.int32)
        if n_tokens:
            total = (burn_in + T) * n_tokens

            def run_values(start: int, stop: int) -> Inputs:
                return {
                    "pacer.first_counted": burn_in * n_tokens - start,
                    "pacer.tokens_to_come": total - stop,
                }

            clamped = {"words": words, "documents": docs, "tokens": np.arange(n_tokens)}
            sequence, values = self._runner.run(
                self._shape,
                self._values(counts),
                {name: np.tile(clamped[name], burn_in + T) for name in self._layers},
                entropy=[self.seed, 1, self.n_updates],
                constants=self._constants(counts),
                run_values=run_values,
                record=record,
            )
            winners[:, heard] = sequence.reshape(burn_in + T, n_tokens)
            self._keep_word_synapses(values)
            M__beta = values["beta.M__beta"].reshape(-1, self.parameters.n_topics)
            self.M__beta = M__beta[: counts.shape[0]].copy()
        self.documents_swapped += counts.shape[0]
        self.n_updates += 1
        return winners

    def _without_unheard(self, counts: sparse.csr_array) -> tuple[sparse.csr_array, np.ndarray]:
        """The counts without tokens that dead synapses hide, and which stay, bool array [token]."""
        heard = self._runner.heard(self._shape, counts.indices, _doc_of_entry(counts))
        entries = (counts.data * heard, counts.indices, counts.indptr)
        return sparse.csr_array(entries, counts.shape), np.repeat(heard, counts.data)

    def _fit_shape(self, counts: sparse.csr_array) -> None:
        """A network that holds this mini-batch; compiled again only if it outgrows the last."""
        n_docs = max(counts.shape[0], self._shape.n_docs)
        n_tokens = self._shape.n_tokens
        if "tokens" in self._layers:
            needed = int(counts.sum())
            if needed > n_tokens:  # mini-batches differ: leave room for a quarter more
                n_tokens = 1 << int(np.ceil(np.log2(1.25 * needed)))
        K = self.parameters.n_topics
        self._shape = Shape(self._shape.n_words, n_docs, K, n_tokens=n_tokens)

    def _values(self, counts: sparse.csr_array) -> Arrays:
        """What the network changes, at the beginning of a mini-batch."""
        K, words = self.parameters.n_topics, self.words.state()
        values = {
            "alpha.M__alpha": np.ascontiguousarray(words["M__alpha"].T).ravel(),
            "alpha.N_zw": np.zeros(self._shape.n_words * K),
            "topics.N_z": np.zeros(K),
            "topics.n_spikes": words["n_spikes"],
        }
        if "v__alpha" in words:
            values["alpha.v__alpha"] = np.ascontiguousarray(words["v__alpha"].T).ravel()
        return values

    def _constants(self, counts: sparse.csr_array) -> Inputs:
        """What the network only reads."""
        return {
            "words.epsilon": self.words.epsilon,
            "topics.n_kept": float(self.parameters.local_iterations),
            "topics.n_docs": float(counts.shape[0]),
            **step_values(self.parameters.word_step, "alpha", "topics", "alpha"),
        }

    def _keep_word_synapses(self, values: Arrays) -> None:
        K = self.parameters.n_topics
        state = {"n_spikes": values["topics.n_spikes"]}
        for name in ("M__alpha", "v__alpha"):
            if f"alpha.{name}" in values:
                state[name] = values[f"alpha.{name}"].reshape(-1, K).T
        self.words.set_state(state)


class SemiSpikeLDASpiking(MiniBatchSpiking):
    """Spiking semi-SpikeLDA; parameters as in `MiniBatchSpiking`."""

    _model = semi_spike_lda
    _layers = ("words", "documents", "tokens")
    _first_sweeps = 1  # the first assignments are drawn without a negative phase

    def _values(self, counts: sparse.csr_array) -> Arrays:
        K = self.parameters.n_topics
        lamda = np.broadcast_to(self.parameters.doc_topic_prior, (K,))
        return super()._values(counts) | {
            "beta.M__beta": np.tile(np.log(lamda), self._shape.n_docs),  # no counts yet
            "memory.z": np.full(self._shape.n_tokens, NEVER_ASSIGNED, np.int32),
        }


class DelayedSpikeLDASpiking(MiniBatchSpiking):
    """Spiking du-SpikeLDA; parameters as in `MiniBatchSpiking`. Every lambda must be > 1."""

    _model = du_spike_lda

    def __init__(self, parameters: BatchParameters, n_words: int, **arguments: Any) -> None:
        require_map_prior(parameters.doc_topic_prior)
        super().__init__(parameters, n_words, **arguments)

    def _values(self, counts: sparse.csr_array) -> Arrays:
        K, n_docs = self.parameters.n_topics, self._shape.n_docs
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, 3, self.n_updates]))
        M__beta = rng.normal(1.0, 1.0, (counts.shape[0], K))
        values = super()._values(counts) | {
            "beta.M__beta": pad(M__beta, n_docs, 0.0).ravel(),
            "beta.C_zd": np.zeros(n_docs * K),
            "documents.n_seen": np.zeros(n_docs),
            "documents.n_beta": np.zeros(n_docs),
        }
        for name in synapse_variables("beta", self.parameters.doc_step):
            values[f"beta.{name}"] = np.zeros(n_docs * K)
        return values

    def _constants(self, counts: sparse.csr_array) -> Inputs:
        parameters = self.parameters
        N_d = np.maximum(counts.sum(axis=1), 1)
        lamda = np.broadcast_to(parameters.doc_topic_prior, (parameters.n_topics,))
        return {
            **super()._constants(counts),
            "topics.lamda": np.array(lamda, np.float64),
            "documents.kappa": float((lamda - 1.0).sum()),
            "documents.N_d": pad(N_d, self._shape.n_docs, 1.0),
            **step_values(parameters.doc_step, "beta", "documents", "beta"),
        }


def _doc_of_entry(counts: sparse.csr_array) -> np.ndarray:
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
