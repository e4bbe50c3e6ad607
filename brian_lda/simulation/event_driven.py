"""ed-SpikeLDA and ed-SpikePLSI in spikes, with the interface of their rate-level twins."""

from __future__ import annotations

from typing import Any

import numpy as np

from brian_lda.circuit.circuit import Sizes
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.seen_weights import seen_weights
from brian_lda.simulation.model_choice import model_for
from brian_lda.simulation.recording import Recording, Spikes
from brian_lda.simulation.spiking_network import SpikingNetwork
from brian_lda.simulation.windows import WindowKeeper


def event_driven_model(name: str | None, parameters: EventDrivenParameters) -> Any:
    """The file of `models/`; without a name the algorithm follows from the prior."""
    by_prior = "ed_spike_plsi" if parameters.doc_topic_prior is None else "ed_spike_lda"
    return model_for(name or by_prior, parameters)


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
        inhibition, simulator, constraints, pruned, record: see `SpikingNetwork`.
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
        model = event_driven_model(name, parameters)
        doc_lengths = np.asarray(doc_lengths)
        self.network = SpikingNetwork(
            model,
            Sizes(n_words, len(doc_lengths), parameters.n_topics),
            model.constants(parameters, n_words, doc_lengths),
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
        model: Any = self.network.model
        if hasattr(model, "end_pass"):
            self.network.change(model.end_pass(self.parameters, self.network.known))

    @property
    def spikes(self) -> Spikes | None:
        """The latest window of `present(..., record=...)`."""
        return self.network.spikes

    @property
    def keeper(self) -> WindowKeeper | None:
        """What was recorded of the training."""
        return self.network.keeper

    @property
    def pruned(self) -> PrunedWords | None:
        """The words with a synapse of their own; None: all."""
        return self.network.pruned

    @property
    def M__alpha(self) -> np.ndarray:
        """Weights of the word synapses, [topic, word]; where pruned, the shared synapse's.

        The prior on Phi is not part of them.
        """
        return self.network.weights["M__alpha"]

    @property
    def J__alpha(self) -> np.ndarray:
        """What topic neurons see of them, [topic, word] (`seen_weights`)."""
        M__alpha = self.M__alpha
        if not (self.parameters.smoothed and self.network.keeps("s_alpha")):
            return M__alpha
        return seen_weights(M__alpha, self.network.known("s_alpha"), self.parameters, self.pruned)

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
