"""ed-SpikeLDA with split topic neurons, in spikes: the chip, and the memory beside it.

The network (`models/ed_spike_lda_split.py`) has synapses for m documents. The weights of all others
wait here, in what is the chip's external memory, and are swapped in and out between runs, in the
order in which tokens come (`brian_lda.external_memory`). The swaps are counted as they happen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brian_lda.circuit.circuit import Sizes
from brian_lda.constraints import Constraints, n_blocks_for
from brian_lda.errors import ParameterError
from brian_lda.external_memory import DocumentSlots
from brian_lda.initial_weights import initial_state
from brian_lda.models import ed_spike_lda, ed_spike_lda_split
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation.event_driven import EventDrivenSpiking
from brian_lda.simulation.recording import Recording
from brian_lda.simulation.spiking_network import SpikingNetwork, State, checked_tokens

SMALL = 1e-60  # g and G are folded into w and q below this,
LARGEST_FALL = 400.0  # and fall by at most exp(-400) in one run
WHOLE = tuple(variable.name for variable in ed_spike_lda.KEPT)


class SplitSpiking(EventDrivenSpiking):
    """ed-SpikeLDA in spikes, within a limit of fan-in.

    Parameters
    ----------
    parameters : EventDrivenParameters
        Of ed-SpikeLDA, with `RobbinsMonro` steps and the flow.
    n_words, doc_lengths, seed, initial
        As in `EventDrivenSpiking`.
    constraints : Constraints
        With `word_synapses` and `document_slots`.
    simulator : {"standalone", "cython", "numpy"}
    inhibition : Race, optional

    Attributes
    ----------
    slots : DocumentSlots
        Which documents are on the chip, and the swaps so far.
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
        simulator: str = "standalone",
        inhibition: Any = None,
        record: Recording | None = None,
        count: bool = False,
    ) -> None:
        if record is not None:
            raise ParameterError("a split network records nothing so far; leave out `record`.")
        if count:
            raise ParameterError("a split network counts no spikes so far; leave out `count`.")
        parameters.require_split()
        assert constraints.word_synapses is not None and constraints.document_slots is not None
        assert parameters.doc_topic_prior is not None
        self.parameters = parameters
        self._lamda = parameters.doc_topic_prior
        self._doc_lengths = np.asarray(doc_lengths)
        n_slots = min(constraints.document_slots, len(self._doc_lengths))
        self.slots = DocumentSlots(n_slots)
        state = initial or initial_state(parameters, n_words, self._doc_lengths, seed)
        on_chip = {"M__beta": np.zeros((n_slots, parameters.n_topics)), "n_beta": np.zeros(n_slots)}
        sizes = Sizes(
            n_words,
            n_slots,
            parameters.n_topics,
            n_blocks=n_blocks_for(n_words, constraints.word_synapses),
        )
        self._constants = ed_spike_lda_split.constants(parameters, n_words, self._doc_lengths)
        on_chip_constants = ed_spike_lda_split.constants(parameters, n_words, np.ones(n_slots))
        on_chip_constants["parts.per_token"] = self._constants["parts.per_token"]
        self.network = SpikingNetwork(
            ed_spike_lda_split,
            sizes,
            on_chip_constants,
            {**state, **on_chip, "lamda": self._lamda},
            seed=int(seed),
            inhibition=inhibition,
            simulator=simulator,
            constraints=constraints,
        )
        Vbar, per_token = (float(self._constants[f"parts.{x}"]) for x in ("Vbar", "per_token"))
        steps = (parameters.word_step, parameters.doc_step)
        eta = [float(max(step.scale, step.floor)) for step in steps]  # type: ignore[union-attr]
        self._most_tokens = max(int(LARGEST_FALL / (eta[0] * (1 + Vbar * per_token))), 1)
        self._most_tokens = min(self._most_tokens, sizes.capacity)
        self._most_shows = max(int(LARGEST_FALL / eta[1]), 1)
        self.set_state(state)

    def present(
        self, words: np.ndarray, docs: np.ndarray, *, record: Recording | None = None
    ) -> np.ndarray:
        """Show a sequence of tokens, swapping documents; see `SpikingNetwork.present`."""
        if record is not None:
            raise ParameterError("a split network records nothing so far; leave out `record`.")
        docs = checked_tokens(docs, "docs", len(self._p))
        if len(words) != len(docs):
            raise ParameterError(
                f"words and docs must pair up; found {len(words)} and {len(docs)}."
            )
        winners = [np.empty(0, np.int32)]
        position, before = int(self._n_beta.sum()), self.state()
        try:
            for run in self.slots.runs(docs, self._most_tokens, self._most_shows):
                self._swap(run.read_in)
                part = np.asarray(words)[run.start : run.stop]
                winners.append(self.network.present(part, run.slots, position=position + run.start))
                self._write_out()
        except BaseException:  # a run that dies changes nothing
            self.set_state(before)
            raise
        self._fold(everything=True)
        return np.concatenate(winners)

    def _swap(self, read_in: Mapping[int, int]) -> None:
        """Bring documents onto the chip; what was in their slots is written out already."""
        slots, docs = list(read_in.keys()), list(read_in.values())
        known = {name: self.network.known(name).copy() for name in ("q", "G", "S", "n_beta")}
        known["q"][slots], known["G"][slots], known["S"][slots] = self._p[docs], 1.0, 0.0
        known["n_beta"][slots] = self._n_beta[docs]
        self.network.change(known)
        for path in ("documents.per_token", "documents.a"):
            values = np.array(self.network.constants[path])
            values[slots] = np.asarray(self._constants[path])[docs]
            self.network.constants[path] = values
        self._fold()

    def _write_out(self) -> None:
        """The weights of the documents on the chip, into external memory."""
        known, held = self.network.known, self.slots.doc_in_slot
        slots, docs = list(held.keys()), list(held.values())
        p = known("G")[:, None] * known("q") + np.outer(known("S"), self._lamda - 1)
        self._p[docs], self._n_beta[docs] = p[slots], known("n_beta")[slots]

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
        return np.log(self._p)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on: that of the whole network, and the slots."""
        known = self.network.known
        names = ("w", "g", "s_alpha", "n_alpha")
        return {
            "M__alpha": self.M__alpha,
            "M__beta": self.M__beta,
            **{name: known(name).copy() for name in names},
            "Delta_alpha": known("now") - known("last"),
            "p": self._p.copy(),
            "n_beta": self._n_beta.copy(),
            **self.slots.state(),
        }

    def set_state(self, state: State) -> None:
        """Go on from a state returned by `state` of either twin, split or whole."""
        whole = state if set(WHOLE) <= set(state) else ed_spike_lda.kept_of_weights(state)
        self._p = np.array(whole["p"], np.float64)
        self._n_beta = np.array(whole["n_beta"], np.float64)
        names = ("w", "g", "s_alpha", "n_alpha")
        known = {name: np.array(whole[name], np.float64) for name in names}
        known["last"] = -np.asarray(whole["Delta_alpha"], np.float64)
        known["now"] = np.zeros(self.parameters.n_topics)
        self.network.change(known)
        self.slots = DocumentSlots(self.slots.n_slots)
        if "slots" in state:
            self.slots.set_state(state)
            self._swap(self.slots.doc_in_slot)
