"""SpikeCGS in spikes, with the interface of its rate-level twin."""

from __future__ import annotations

from typing import Any

import numpy as np

from brian_lda.circuit.circuit import Sizes
from brian_lda.circuit.inhibition import Inhibition
from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError
from brian_lda.models import spike_cgs
from brian_lda.reference.spike_cgs import LogCountSampler
from brian_lda.simulation.model_choice import require_countable
from brian_lda.simulation.recording import Recording, Spikes
from brian_lda.simulation.spiking_network import SpikingNetwork
from brian_lda.simulation.windows import WindowKeeper


class SpikeCGSSpiking(LogCountSampler):
    """SpikeCGS in spikes: resamples the topic of each token.

    Parameters
    ----------
    words, docs, **arguments
        As in `AssignmentSampler`.
    inhibition, simulator, constraints, record
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
        record: Recording | None = None,
        count: bool = False,
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
            record=record,
            count=count,
        )
        self._n_presented = 0

    @property
    def spikes(self) -> Spikes | None:
        """The latest window of `sweep(..., record=...)`."""
        return self.network.spikes

    @property
    def keeper(self) -> WindowKeeper | None:
        """What was recorded of the training."""
        return self.network.keeper

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
            Windows of this sweep, to be found in `network.recorded`.

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

    def set_prior(self, lamda: np.ndarray) -> None:
        """As in `AssignmentSampler`.

        The host does it between two runs: it writes p = C_zd + lambda_z into the document synapses.
        Within a run the network knows nothing of lambda, and needs no equation for it.
        """
        super().set_prior(lamda)
        p = self.C_zd + self.lamda
        limits = self.network.constraints
        if limits.weight_bits is not None:
            rng = np.random.default_rng([self.network.seed, 5, self._n_presented])
            p = np.exp(limits.rounded(np.log(p), rng))
        self.network.change({"p": p})

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
