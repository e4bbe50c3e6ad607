"""A mini-batch shown to several circuits at one time, as on several chips.

Given M^alpha the documents of a mini-batch are independent of each other. Each circuit has all the
synapses of the network and is shown a share of the documents. Then the eligibilities N_zw and N_z,
which are integers, are added up at one circuit; with the last token of the mini-batch, which was
held back for it, that circuit makes the one update of M^alpha.

Every document draws from streams of its own (`streams`), and so does the last token: the weights
are the same, to the last bit, for any number of circuits, here or on other machines
(`brian_lda.sweeps.remote_circuits`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from brian_lda.circuit.circuit import Values
from brian_lda.equal_shares import deal_out
from brian_lda.errors import ParameterError
from brian_lda.simulation.recording import Recording
from brian_lda.simulation.spiking_network import SpikingNetwork
from brian_lda.simulation.streams import Streams, document_streams, seeds_of

ADDED = ("N_zw", "N_z")  # what circuits count and one of them learns from


def check_circuits(n_circuits: int, network: SpikingNetwork) -> None:
    """Refuse what several circuits cannot do."""
    if not isinstance(n_circuits, (int, np.integer)) or n_circuits < 1:
        raise ParameterError(f"n_circuits must be an integer of at least 1; found {n_circuits!r}.")
    if n_circuits > 1 and network.inhibition.kept:
        raise ParameterError(
            f"n_circuits must be 1 with {network.inhibition}: its topic neurons carry "
            f"{', '.join(network.inhibition.kept)} from document to document, so that documents "
            f"are not independent; found {n_circuits}. Use Race(), or a fixed `rate`."
        )
    if n_circuits > 1 and network.counted is not None:
        raise ParameterError(
            f"spikes are counted in one circuit: use n_circuits=1 with count=True; found "
            f"{n_circuits}. The weights are the same."
        )
    if network.keeper is not None:
        check_recorded(n_circuits)


def check_recorded(n_circuits: int) -> None:
    """One sequence of tokens is recorded, in one circuit."""
    if n_circuits > 1:
        raise ParameterError(
            f"a recording needs n_circuits=1, where all tokens pass in one sequence; found "
            f"{n_circuits}. The weights are the same."
        )


@dataclass(frozen=True)
class Sweeps:
    """The sweeps over the tokens of a mini-batch, or of some of its documents.

    Attributes
    ----------
    words, docs : int array [token]
        Sorted by document.
    tokens : int array [token] or None
        Number of each token, in networks that remember assignments.
    n_burn_in, n_sweeps : int
        Sweeps that are not counted; all sweeps.
    key : sequence of int
        Of the mini-batch: seeds the streams.
    is_last : bool
        The last token is the last of the mini-batch.
    """

    words: np.ndarray
    docs: np.ndarray
    tokens: np.ndarray | None
    n_burn_in: int
    n_sweeps: int
    key: Sequence[int]
    is_last: bool = True

    def __len__(self) -> int:
        return self.n_sweeps * len(self.words)

    def of_tokens(self, part: np.ndarray) -> Sweeps:
        """The same sweeps over some of the tokens, which are those of whole documents."""
        return Sweeps(
            self.words[part],
            self.docs[part],
            None if self.tokens is None else self.tokens[part],
            self.n_burn_in,
            self.n_sweeps,
            self.key,
            self.is_last and part[-1] == len(self.words) - 1,
        )

    def present(
        self,
        network: SpikingNetwork,
        start: int,
        stop: int,
        record: Recording | None = None,
        unchanged: Collection[str] = (),
    ) -> np.ndarray:
        """Show a part of the sequence; the mini-batch ends with its last token."""
        n_tokens = len(self.words)
        beyond = 0 if self.is_last else 1  # tokens of other circuits

        def run_values(first: int, last: int) -> Values:
            return {
                "batch.first_counted": self.n_burn_in * n_tokens - (start + first),
                "batch.tokens_to_come": len(self) - (start + last) + beyond,
            }

        def shown(index: np.ndarray) -> np.ndarray:  # part of the sweeps, one after the other
            before, n_begun = start // n_tokens, -(-stop // n_tokens)
            return np.tile(index, n_begun - before)[start - before * n_tokens :][: stop - start]

        return network.present(
            shown(self.words),
            shown(self.docs),
            None if self.tokens is None else shown(self.tokens),
            streams=self._streams(start, stop),
            run_values=run_values,
            record=record,
            unchanged=unchanged,
        )

    def _streams(self, start: int, stop: int) -> Streams:
        begins, seeds = self._all_streams
        inside = (start <= begins) & (begins < stop)
        return begins[inside] - start, seeds[inside]

    @cached_property
    def _all_streams(self) -> Streams:
        begins, seeds = document_streams(self.docs, self.n_sweeps, self.key)
        if self.is_last:  # the last token has a stream of its own
            before = begins < len(self) - 1
            own = seeds_of([*self.key, int(self.docs[-1]), 1], 1)
            begins = np.append(begins[before], len(self) - 1)
            seeds = np.append(seeds[before], own)
        return begins, seeds


def shares(docs: np.ndarray, n_circuits: int) -> list[np.ndarray]:
    """Tokens of each circuit, in order: whole documents. The last circuit has the last document."""
    own = deal_out(np.bincount(docs), n_circuits)[docs]
    ordered = [*(each for each in range(n_circuits) if each != own[-1]), own[-1]]
    found = (np.flatnonzero(own == each) for each in ordered)
    return [tokens for tokens in found if tokens.size]


Shown = tuple[np.ndarray, dict[str, np.ndarray]]  # winners; what a circuit has to say afterwards


class Circuits(Protocol):
    """Where the documents of a mini-batch are shown."""

    @property
    def n_circuits(self) -> int: ...

    def show(self, network: SpikingNetwork, parts: Sequence[Sweeps]) -> list[Shown]:
        """Show each part to a circuit that knows what `network` knows (`shown_to`)."""


class LocalCircuits:
    """`network` itself, which is shown the last part, and others like it on this machine."""

    def __init__(self, others: Sequence[SpikingNetwork]) -> None:
        self.others = list(others)

    @property
    def n_circuits(self) -> int:
        return 1 + len(self.others)

    def show(self, network: SpikingNetwork, parts: Sequence[Sweeps]) -> list[Shown]:
        circuits = [*self.others[: len(parts) - 1], network]
        network.prepare()  # once, not in every circuit
        for circuit in circuits[:-1]:
            circuit.take_over(network)
        jobs = [partial(shown_to, *both) for both in zip(circuits, parts, strict=True)]
        return _all_at_once(jobs) if network.runs_in_parallel else [job() for job in jobs]


def shown_to(circuit: SpikingNetwork, part: Sweeps) -> Shown:
    """Show a part, but for the last token of the mini-batch, which is held back.

    What the circuit has to say: its counts, and what it keeps of its own documents and tokens.
    """
    own = dict(_of_documents(circuit, part))
    unchanged = {variable.name for variable in circuit.kept} - {*ADDED, *own}
    winners = part.present(circuit, 0, len(part) - part.is_last, unchanged=unchanged)
    said = {name: circuit.known(name) for name in ADDED}
    said |= {name: circuit.known(name)[places] for name, places in own.items()}
    return winners, said


def show_side_by_side(network: SpikingNetwork, circuits: Circuits, sweeps: Sweeps) -> np.ndarray:
    """Show a mini-batch to several circuits; `network` learns. Returns the winners [sweep, token].

    If a circuit fails, `network` knows what it knew before.
    """
    before = {variable.name: network.known(variable.name) for variable in network.kept}
    tokens = shares(sweeps.docs, circuits.n_circuits)
    parts = [sweeps.of_tokens(own) for own in tokens]
    winners = np.empty((sweeps.n_sweeps, len(sweeps.words)), np.int32)
    try:
        shown = circuits.show(network, parts)
        network.change(_together(network, parts, [said for _, said in shown]))
        found, last = [won for won, _ in shown], parts[-1]
        found[-1] = np.append(found[-1], last.present(network, len(last) - 1, len(last)))
    except BaseException:
        network.change(before)
        raise
    for own, won in zip(tokens, found, strict=True):
        winners[:, own] = won.reshape(sweeps.n_sweeps, -1)
    return winners


def _all_at_once(jobs: Sequence[Callable[[], Shown]]) -> list[Shown]:
    *others, own = jobs
    with ThreadPoolExecutor(max(len(others), 1)) as threads:  # they wait for programs
        running = [threads.submit(job) for job in others]
        last = own()
        return [*(job.result() for job in running), last]


def _of_documents(network: SpikingNetwork, part: Sweeps) -> Iterator[tuple[str, np.ndarray]]:
    """What is kept of documents and tokens, each with the indices of those in a part."""
    for variable in network.model.KEPT:
        if variable.axes == "token":
            assert part.tokens is not None  # only networks that remember keep something of them
            yield variable.name, part.tokens
        elif variable.axes.startswith("doc"):
            yield variable.name, np.unique(part.docs)


def _together(
    network: SpikingNetwork, parts: Sequence[Sweeps], said: Sequence[dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """What the network is to know before the last token: all counts, and the documents of all."""
    known = {name: network.laid_out(name) for name in ADDED}
    for name, total in known.items():
        np.add(said[0][name], said[1][name] if len(said) > 1 else 0, out=total)
        for each in said[2:]:
            total += each[name]
    for part, each in zip(parts, said, strict=True):
        for name, own in _of_documents(network, part):
            known.setdefault(name, network.known(name).copy())[own] = each[name]
    return known
