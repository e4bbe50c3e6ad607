"""ed-SpikeLDA with split topic neurons, in spikes (`models/ed_spike_lda_split.py`).

Documents are swapped in and out as in every network with slots (`brian_lda.simulation.slots`). On
the chip the weights are in the gauge G q + S (lambda - 1); the memory holds p = exp M^beta.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brian_lda.circuit.circuit import Sizes
from brian_lda.constraints import Constraints, n_blocks_for
from brian_lda.errors import ParameterError
from brian_lda.models import ed_spike_lda, ed_spike_lda_split
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation.known_state import State
from brian_lda.simulation.slots import SlottedSpiking

SMALL = 1e-60  # g and G are folded into w and q below this,
LARGEST_FALL = 400.0  # and fall by at most exp(-400) in one run
WHOLE = tuple(variable.name for variable in ed_spike_lda.KEPT)


class SplitSpiking(SlottedSpiking):
    """ed-SpikeLDA in spikes, within a limit of fan-in.

    Parameters
    ----------
    parameters : EventDrivenParameters
        Of ed-SpikeLDA, with `RobbinsMonro` steps and the flow.
    n_words, doc_lengths, seed, initial
        As in `EventDrivenSpiking`.
    constraints : Constraints
        With `word_synapses` and `document_slots`.
    **options
        simulator; inhibition: a `Race`.
    """

    def __init__(
        self,
        parameters: EventDrivenParameters,
        n_words: int,
        doc_lengths: np.ndarray,
        *,
        seed: int,
        constraints: Constraints,
        initial: dict[str, np.ndarray] | None = None,
        **options: Any,
    ) -> None:
        if options.get("count"):
            raise ParameterError("a split network counts no spikes so far; leave out `count`.")
        parameters.require_split()
        assert constraints.word_synapses is not None and parameters.doc_topic_prior is not None
        self._lamda = parameters.doc_topic_prior
        n_blocks = n_blocks_for(n_words, constraints.word_synapses)
        constants = ed_spike_lda_split.constants(parameters, n_words, np.asarray(doc_lengths))
        Vbar, per_token = (float(constants[f"parts.{name}"]) for name in ("Vbar", "per_token"))
        steps = (parameters.word_step, parameters.doc_step)
        eta = [float(max(step.scale, step.floor)) for step in steps]  # type: ignore[union-attr]
        sizes = Sizes(n_words, 1, parameters.n_topics, n_blocks=n_blocks)
        most_tokens = max(int(LARGEST_FALL / (eta[0] * (1 + Vbar * per_token))), 1)
        self._longest_run = (
            min(most_tokens, sizes.capacity),
            max(int(LARGEST_FALL / eta[1]), 1),
        )
        self._start(
            ed_spike_lda_split, parameters, n_words, doc_lengths, sizes, constants,
            ed_spike_lda.KEPT, initial, seed=seed, constraints=constraints, **options,
        )  # fmt: skip

    def _first_on_chip(self, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {**state, "lamda": self._lamda}

    def _end_sequence(self) -> None:
        self._fold(everything=True)

    def _swap(self, read_in: Mapping[int, int]) -> None:
        super()._swap(read_in)
        self._fold()

    def _onto_chip(self, docs: list[int]) -> dict[str, np.ndarray | float]:
        n_beta = self._memory["n_beta"][docs]
        return {"q": self._memory["p"][docs], "G": 1.0, "S": 0.0, "n_beta": n_beta}

    def _off_chip(self) -> dict[str, np.ndarray]:
        known = self.network.known
        p = known("G")[:, None] * known("q") + np.outer(known("S"), self._lamda - 1)
        return {"p": p, "n_beta": known("n_beta")}

    def _fold(self, everything: bool = False) -> None:
        """Let w and q take over what g and G stand for, where these are small."""
        known = {
            name: self.network.known(name) for name in ("w", "g", "q", "G", "S", "now", "last")
        }
        changed = {}
        small = np.full(len(known["G"]), True) if everything else known["G"] < SMALL
        if small.any():
            q = known["G"][:, None] * known["q"] + np.outer(known["S"], self._lamda - 1)
            changed["q"] = np.where(small[:, None], q, known["q"])
            changed["G"], changed["S"] = (
                np.where(small, 1.0, known["G"]),
                np.where(small, 0.0, known["S"]),
            )
        if known["g"].min() < SMALL:
            changed["w"] = np.maximum(known["w"] * known["g"][:, None], ed_spike_lda.SMALLEST)
            changed["g"] = np.ones_like(known["g"])
        if everything:
            changed["last"] = known["last"] - known["now"]
            changed["now"] = np.zeros_like(known["now"])
        self.network.change(changed)

    @property
    def M__beta(self) -> np.ndarray:
        """Weights of the document synapses, on the chip and beside it, [doc, topic]."""
        return np.log(self._memory["p"])

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on: that of the whole network, and the slots."""
        known = self.network.known
        names = ("w", "g", "s_alpha", "n_alpha")
        return {
            "M__alpha": self.M__alpha,
            "M__beta": self.M__beta,
            **{name: known(name).copy() for name in names},
            "Delta_alpha": known("now") - known("last"),
            **{name: array.copy() for name, array in self._memory.items()},
            **self.slots.state(),
        }

    def set_state(self, state: State) -> None:
        """Go on from a state returned by `state` of either twin, split or whole."""
        whole = state if set(WHOLE) <= set(state) else ed_spike_lda.kept_of_weights(state)
        self._remember(whole)
        names = ("w", "g", "s_alpha", "n_alpha")
        known = {name: np.array(whole[name], np.float64) for name in names}
        known["last"] = -np.asarray(whole["Delta_alpha"], np.float64)
        known["now"] = np.zeros(self.parameters.n_topics)
        self.network.change(known)
        self._take_slots(state)
