"""Circuits of du- and semi-SpikeLDA in spikes on Dask workers.

Each worker has a circuit with all the synapses of the network. In every mini-batch it is told the
weights and shown a share of the documents, and says what it has counted; the network on this side
adds the counts up and makes the one update (`brian_lda.simulation.side_by_side`).

A task holds all that it needs, and what a worker keeps between two of them is only its running
program: a worker that dies costs the time of its share.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brian_lda.simulation.side_by_side import Shown, Sweeps, shown_to
from brian_lda.simulation.spiking_network import SpikingNetwork
from brian_lda.simulation.standalone import programs_used
from brian_lda.sweeps.programs import install_programs, pack_programs

if TYPE_CHECKING:
    from distributed import Client

MOST_KEPT = 4  # circuits of a worker, of as many trainings or threads


class RemoteCircuits:
    """One circuit for each share, on whichever worker takes it.

    Parameters
    ----------
    client : Client
    n_circuits : int
        Shares of each mini-batch.
    programs : mapping of str to Path
        The compiled networks so far (`programs_used`), which travel to the workers.
    """

    def __init__(self, client: Client, n_circuits: int, programs: Mapping[str, Path]) -> None:
        self.n_circuits = n_circuits
        self._client, self._programs = client, dict(programs)
        self._training = uuid.uuid4().hex
        self._plugins: list[str] = []
        self._ship()

    def show(self, network: SpikingNetwork, parts: Sequence[Sweeps]) -> list[Shown]:
        """Show each part to a circuit on a worker."""
        with programs_used() as new:  # a mini-batch that outgrows the last needs another
            network.prepare()
        circuit = network.stand_in()
        if new.keys() - self._programs.keys():
            self._programs |= new
            self._ship()
        tasks = [
            self._client.submit(_show, self._training, circuit, part, pure=False) for part in parts
        ]
        return self._client.gather(tasks)

    def close(self) -> None:
        """Let go of what this training has put on the workers."""
        for name in self._plugins:
            self._client.unregister_worker_plugin(name)
        self._client.run(_let_go, self._training)

    def _ship(self) -> None:
        """Install the programs on the workers, and on those that come later or come again."""
        from distributed import WorkerPlugin

        packed = pack_programs(self._programs)

        class InstallPrograms(WorkerPlugin):
            name = f"brian_lda-programs-{self._training}-{len(self._programs)}"

            def setup(self, worker: Any) -> None:
                install_programs(packed)

        self._client.register_plugin(InstallPrograms())
        self._plugins.append(InstallPrograms.name)


# What runs on the workers.

_kept: OrderedDict[tuple[str, int], SpikingNetwork] = OrderedDict()
_keeping = threading.Lock()


def _show(training: str, circuit: SpikingNetwork, part: Sweeps) -> Shown:
    return shown_to(_running(training, circuit), part)


def _let_go(training: str) -> None:
    with _keeping:
        for key in [key for key in _kept if key[0] == training]:
            del _kept[key]  # its program ends with it


def _running(training: str, circuit: SpikingNetwork) -> SpikingNetwork:
    """This thread's circuit of a training, whose program runs already, with what `circuit` knows.

    The first one is `circuit` itself.
    """
    key = training, threading.get_ident()
    with _keeping:
        mine = _kept.setdefault(key, circuit)
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)  # its program ends with it
    if mine is not circuit:
        mine.take_over(circuit)
    return mine
