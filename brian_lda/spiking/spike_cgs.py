"""SpikeCGS in spikes: the twin of `brian_lda.reference.SpikeCGSReference`.

The network is in `models/spike_cgs.py`; this file gives it tokens in the order of a sweep and takes
weights and assignments back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brian_lda.constraints import Constraints, spread_winners
from brian_lda.models import spike_cgs
from brian_lda.reference.spike_cgs import LogCountSampler
from brian_lda.spiking.assignments import NEVER_ASSIGNED
from brian_lda.spiking.circuit import Shape
from brian_lda.spiking.inhibition import Inhibition
from brian_lda.spiking.recording import Recording, Spikes
from brian_lda.spiking.runner import CircuitRunner, checked_tokens, pad, round_up
from brian_lda.spiking.simulator import Arrays


class SpikeCGSSpiking(LogCountSampler):
    """Spiking SpikeCGS.

    Parameters
    ----------
    words, docs, **arguments
        As in `AssignmentSampler`.
    inhibition : Race or Poisson, optional
        The default is `Race()`.
    simulator : {"standalone", "cython", "numpy"}
        C++ program, compiled once and cached; or inside Python.
    constraints : Constraints, optional
        Limits of the chips; `packet_loss` must be 0.
    """

    _values: Arrays  # what the network knows between two sweeps

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
        self._seed = int(seed)
        self._shape = Shape(
            self._n_words, round_up(self._n_docs), self.n_topics, n_tokens=round_up(len(self.z))
        )
        key = {"model": spike_cgs.__name__}
        self._runner = CircuitRunner(spike_cgs.build, key, inhibition, simulator, constraints)
        C_wz, C_zd, C_z = self._counts()
        with np.errstate(divide="ignore"):
            self.set_state(
                {
                    "z": self.z,
                    "M__alpha": np.log(C_wz + self.varphi),  # Tab. 1(b)
                    "M__beta": np.log(C_zd + self.lamda),
                    "b": np.log(C_z + self.varphi.sum()),
                    "n_presented": np.zeros(1, np.int64),
                }
            )

    @property
    def spikes(self) -> Spikes | None:
        """What the latest `sweep(..., record=...)` recorded."""
        return self._runner.spikes

    def prepare(self) -> None:
        """Compile the network now, or find it in the cache; else the first sweep does."""
        self._runner.prepare(self._shape, self._values)

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
        order = np.arange(len(self.z)) if order is None else order
        order = checked_tokens(order, "order", len(self.z))
        heard = self._runner.heard(self._shape, self._words[order], self._docs[order])
        order = order[heard]
        winners, self._values = self._runner.run(
            self._shape,
            self._values,
            {"words": self._words[order], "documents": self._docs[order], "tokens": order},
            entropy=[self._seed, 1],
            position=self._n_presented,
            record=record,
        )
        self._n_presented += len(heard)
        self.z = self._values["memory.z"][: len(self.z)].astype(np.int32)
        return spread_winners(winners, heard)

    @property
    def M__alpha(self) -> np.ndarray:
        """log(C_wz + varphi_w), [topic, word]."""
        return np.ascontiguousarray(self._values["alpha.M__alpha"].reshape(-1, self.n_topics).T)

    @property
    def M__beta(self) -> np.ndarray:
        """log(C_zd + lambda_z), [doc, topic]."""
        return self._values["beta.M__beta"].reshape(-1, self.n_topics)[: self._n_docs].copy()

    @property
    def b(self) -> np.ndarray:
        """log(C_z + sum varphi), [topic]."""
        return self._values["topics.b"].copy()

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on."""
        return {
            "z": self.z.copy(),
            "M__alpha": self.M__alpha,
            "M__beta": self.M__beta,
            "b": self.b,
            "n_presented": np.array([self._n_presented]),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state`."""
        self.z = np.array(state["z"], np.int32)
        self._n_presented = int(state["n_presented"][0])
        self._values = {
            "alpha.M__alpha": np.array(state["M__alpha"].T, np.float64, order="C").ravel(),
            "beta.M__beta": pad(state["M__beta"], self._shape.n_docs, 0.0).ravel(),
            "topics.b": np.array(state["b"], np.float64),
            "memory.z": pad(self.z, self._shape.n_tokens, NEVER_ASSIGNED).astype(np.int32),
        }
