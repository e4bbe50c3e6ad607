"""Event-driven networks in spikes with few documents on the chip, and the memory beside it.

The network has synapses for m documents. The weights of all others wait here, in what is the chip's
external memory, and are swapped in and out between runs, in the order in which tokens come
(`brian_lda.external_memory`). The swaps are counted as they happen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from brian_lda.circuit.circuit import Sizes
from brian_lda.circuit.kept import Kept
from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError
from brian_lda.external_memory import DocumentSlots
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation.event_driven import EventDrivenSpiking, event_driven_model
from brian_lda.simulation.known_state import Model, State, check_weights
from brian_lda.simulation.recording import Recording
from brian_lda.simulation.spiking_network import SpikingNetwork, checked_tokens

ANY_NUMBER = 2**31


class SlottedSpiking(EventDrivenSpiking):
    """ed-SpikeLDA or ed-SpikePLSI in spikes, of which a chip holds m documents at a time.

    Parameters
    ----------
    parameters, n_words, doc_lengths, seed, initial, name
        As in `EventDrivenSpiking`.
    constraints : Constraints
        With `document_slots`, m.
    **options
        inhibition, simulator, pruned, count: see `SpikingNetwork`.

    Attributes
    ----------
    slots : DocumentSlots
        Which documents are on the chip, and the swaps so far.
    """

    _longest_run = (ANY_NUMBER, ANY_NUMBER)  # tokens, and tokens of one document

    def __init__(
        self,
        parameters: EventDrivenParameters,
        n_words: int,
        doc_lengths: np.ndarray,
        *,
        seed: int,
        constraints: Constraints,
        initial: dict[str, np.ndarray] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        model: Any = event_driven_model(name, parameters)
        self._start(
            model, parameters, n_words, doc_lengths, Sizes(n_words, 1, parameters.n_topics),
            model.constants(parameters, n_words, np.asarray(doc_lengths)), model.KEPT, initial,
            seed=seed, constraints=constraints, **options,
        )  # fmt: skip

    def _start(
        self,
        model: Model,
        parameters: EventDrivenParameters,
        n_words: int,
        doc_lengths: np.ndarray,
        sizes: Sizes,
        constants: Mapping[str, Any],
        kept: tuple[Kept, ...],
        initial: dict[str, np.ndarray] | None,
        *,
        seed: int,
        constraints: Constraints,
        **options: Any,
    ) -> None:
        """Make the network with m documents, and the memory for all; kept: what the memory has."""
        if options.get("record") is not None:
            raise ParameterError(NO_RECORDING)
        assert constraints.document_slots is not None
        n_docs = len(doc_lengths)
        m = min(constraints.document_slots, n_docs)
        self.parameters, self.slots, self._constants = parameters, DocumentSlots(m), dict(constants)
        self._all = replace(sizes, n_docs=n_docs, pruned=options.get("pruned"))
        self._kept = kept
        state = initial or initial_state(parameters, n_words, doc_lengths, seed)
        first = initial_state(parameters, n_words, np.asarray(doc_lengths)[:m], seed)
        self.network = SpikingNetwork(
            model,
            replace(sizes, n_docs=m),
            {
                path: value[:m] if _per_doc(path, value) else value
                for path, value in constants.items()
            },
            self._first_on_chip(first),
            seed=int(seed),
            constraints=constraints,
            **options,
        )
        self.set_state(state)

    def _first_on_chip(self, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """A state to make the network with."""
        return state

    def present(
        self, words: np.ndarray, docs: np.ndarray, *, record: Recording | None = None
    ) -> np.ndarray:
        """Show a sequence of tokens, swapping documents; see `SpikingNetwork.present`."""
        if record is not None:
            raise ParameterError(NO_RECORDING)
        docs = checked_tokens(docs, "docs", self._all.n_docs)
        if len(words) != len(docs):
            raise ParameterError(
                f"words and docs must pair up; found {len(words)} and {len(docs)}."
            )
        winners, before = [np.empty(0, np.int32)], self.state()
        try:
            for run in self.slots.runs(docs, *self._longest_run):
                self._swap(run.read_in)
                part = np.asarray(words)[run.start : run.stop]
                seen = int(self._memory["n_beta"].sum())  # tokens so far
                winners.append(self.network.present(part, run.slots, position=seen))
                self._write_out()
        except BaseException:  # a run that dies changes nothing
            self.set_state(before)
            raise
        self._end_sequence()
        return np.concatenate(winners)

    def _end_sequence(self) -> None:
        """What is left to do when all tokens were shown."""

    def _swap(self, read_in: Mapping[int, int]) -> None:
        """Bring documents onto the chip; what was in their slots is written out already."""
        slots, docs = list(read_in.keys()), list(read_in.values())
        changed = {}
        for name, values in self._onto_chip(docs).items():
            changed[name] = self.network.known(name).copy()
            changed[name][slots] = values
        self.network.change(changed)
        for path, value in self._constants.items():
            if _per_doc(path, value):
                on_chip = np.array(self.network.constants[path])
                on_chip[slots] = value[docs]
                self.network.constants[path] = on_chip

    def _onto_chip(self, docs: list[int]) -> dict[str, np.ndarray | float]:
        """What the network is to keep of these documents."""
        return {name: array[docs] for name, array in self._memory.items()}

    def _write_out(self) -> None:
        """The weights of the documents on the chip, into external memory."""
        held = self.slots.doc_in_slot
        slots, docs = list(held.keys()), list(held.values())
        for name, values in self._off_chip().items():
            self._memory[name][docs] = values[slots]

    def _off_chip(self) -> dict[str, np.ndarray]:
        """What the memory is to hold of the documents in the slots."""
        return {name: self.network.known(name) for name in self._memory}

    @property
    def M__beta(self) -> np.ndarray:
        """Weights of the document synapses, on the chip and beside it, [doc, topic]."""
        known = {variable.name: self.network.known(variable.name) for variable in self._kept}
        return self.network.model.weights({**known, **self._memory})["M__beta"]

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on: of all documents, and the slots."""
        return {
            **self.network.state(),
            **{name: array.copy() for name, array in self._memory.items()},
            "M__beta": self.M__beta,
            **self.slots.state(),
        }

    def set_state(self, state: State) -> None:
        """Go on from a state returned by `state` of either twin, with slots or without."""
        known = self.network.known_of(state)
        self._remember(known)
        on_chip = {name: array[: self.slots.n_slots] for name, array in self._memory.items()}
        self.network.set_known({**known, **on_chip})
        self._take_slots(state)

    def _remember(self, known: Mapping[str, np.ndarray]) -> None:
        """Fill the memory, if all that is kept has the right shape and can be stored."""
        own = self._all
        values = {v.path: v.into_network(known[v.name], own, own) for v in self._kept}
        check_weights(values, self._kept, 1, own.pruned)
        self._memory = {
            variable.name: np.array(known[variable.name], np.float64)
            for variable in self._kept
            if variable.axes.startswith("doc")
        }

    def _take_slots(self, state: State) -> None:
        """The documents that were on the chip, or none."""
        self.slots = DocumentSlots(self.slots.n_slots)
        if "slots" in state:
            self.slots.set_state(state)
            self._swap(self.slots.doc_in_slot)


NO_RECORDING = "a network that swaps documents records nothing so far; leave out `record`."


def _per_doc(path: str, value: Any) -> bool:
    return path.startswith("documents.") and np.ndim(value) > 0
