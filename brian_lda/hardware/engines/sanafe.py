"""The network's spikes on SANA-FE's Loihi, and the same energy by our own account.

SANA-FE (Boyle et al.) counts what each spike costs on an architecture: synapses, somas, messages
and hops. Its neurons are deterministic, so a race cannot be run. Instead the spikes of a network
that has run are shown again: word w and document d of token i spike in step i, and a *teacher*
neuron lets the recorded winner fire in step i + 1, whose spike then reaches the other topics.
Tokens follow each other step by step.

=====================  ==============================  ============================================
unit of loihi.yaml     event                           how often, by `our_energy`
=====================  ==============================  ============================================
synapse                a spike at a synapse            k_w + K + 1 + (K - 1) a token: word,
                                                       document, teacher, inhibition
soma access            a neuron in a step              K a step
soma update            ... that has received a spike   K a token, K - 1 in the last step
soma spike             a winner                        1 a token
message, hops          a spike to another core         one for each core that holds a target; along
                                                       rows and columns of the mesh of tiles
=====================  ==============================  ============================================

The coefficients are those of SANA-FE's loihi.yaml, or those of a chip profile put into that file.
SANA-FE has no plasticity and does not check the 4096 input axons of a core; our rules do.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda.errors import ParameterError, PlacementError, SimulationError
from brian_lda.hardware.engines.exported import Tokens, import_engine
from brian_lda.hardware.profiles import ChipProfile

CORES, CORES_PER_TILE, HEIGHT = 128, 4, 4  # of loihi.yaml: tiles are numbered down the columns
INPUTS_PER_CORE = 1024
TEACHER, THRESHOLD = 1e6, 5e5  # far beyond what words and documents can add up to


@dataclass(frozen=True)
class Coefficients:
    """Joules of each event on Loihi, with the unit and the attribute of loihi.yaml."""

    synapse: float
    soma_access: float
    soma_update: float
    soma_spike: float
    message: float
    hop_vertical: float
    hop_horizontal: float


PLACES = {
    "synapse": [("loihi_dense_synapse", "energy_process_spike")],
    "soma_access": [("loihi_lif", "energy_access_neuron")],
    "soma_update": [("loihi_lif", "energy_update_neuron")],
    "soma_spike": [("loihi_lif", "energy_spike_out")],
    "message": [("loihi_out", "energy_message_out")],
    "hop_vertical": [("loihi_tile", "energy_north_hop"), ("loihi_tile", "energy_south_hop")],
    "hop_horizontal": [("loihi_tile", "energy_east_hop"), ("loihi_tile", "energy_west_hop")],
}
ATTRIBUTE = re.compile(r"(\s*)(energy_\w+): (\S+)$")
UNIT = re.compile(r"\s*- name: (\w+)")


@dataclass(frozen=True)
class LoihiEnergy:
    """Joules of all tokens together."""

    synapse: float
    soma: float
    network: float

    @property
    def total(self) -> float:
        return self.synapse + self.soma + self.network


def coefficients_of_sanafe() -> Coefficients:
    """What loihi.yaml of the installed SANA-FE says."""
    found = _energies(_loihi_yaml())
    return Coefficients(**{name: found[places[0]] for name, places in PLACES.items()})


def coefficients_of_chip(chip: ChipProfile) -> Coefficients:
    """Those of a profile, as `brian_lda.hardware.energy` uses them (no message is known there)."""
    active, idle = chip.get("neuron_active_joules"), chip.get("neuron_idle_joules")
    synapse, hop = chip.get("synaptic_event_joules"), chip.get("hop_joules")
    if None in (active, idle, synapse, hop):
        raise ParameterError(
            f"{chip.name} lacks an energy that SANA-FE's Loihi needs: synaptic_event_joules, "
            "neuron_active_joules, neuron_idle_joules and hop_joules."
        )
    return Coefficients(synapse, idle, 0.0, active - idle, 0.0, hop, hop)


@dataclass(frozen=True)
class Replay:
    """Spikes of a network that has run.

    Attributes
    ----------
    tokens : Tokens
    winners : int array [token]
    private : bool array [topic, word]
        Word synapses that exist.
    topics_per_core : int
    """

    tokens: Tokens
    winners: np.ndarray
    private: np.ndarray
    topics_per_core: int = 1024

    def __post_init__(self) -> None:
        K, V = self.private.shape
        if len(self.winners) != len(self.tokens) or not len(self.tokens):
            raise ParameterError(
                f"there must be a winner for each token, and a token; found {len(self.winners)} "
                f"winners and {len(self.tokens)} tokens."
            )
        if not (0 <= self.winners.min() and self.winners.max() < K):
            raise ParameterError(f"winners must lie in 0..{K - 1}.")
        if not (0 <= self.tokens.words.min() and self.tokens.words.max() < V):
            raise ParameterError(f"words must lie in 0..{V - 1}.")
        used = int(self.core_of_input[-1]) + 1
        if used > CORES:
            raise PlacementError(
                f"the network needs {used} cores of Loihi, there are {CORES}: show fewer different "
                "words, or put more topics on a core."
            )

    @property
    def core_of_topic(self) -> np.ndarray:
        return np.arange(len(self.private)) // self.topics_per_core

    @property
    def n_topic_cores(self) -> int:
        return int(self.core_of_topic[-1]) + 1

    @property
    def words(self) -> np.ndarray:
        """The different words that are shown; each is an input neuron."""
        return np.unique(self.tokens.words)

    @property
    def docs(self) -> np.ndarray:
        return np.unique(self.tokens.docs)

    @property
    def core_of_input(self) -> np.ndarray:
        """Core of the words, the documents and the teachers, behind those of the topics."""
        n = len(self.words) + len(self.docs) + len(self.private)
        return self.n_topic_cores + np.arange(n) // INPUTS_PER_CORE


def our_energy(replay: Replay, joules: Coefficients) -> LoihiEnergy:
    """The account of the head of this file."""
    K, N = len(replay.private), len(replay.tokens)
    words, docs, topic_core = replay.words, replay.docs, replay.core_of_topic
    connected = replay.private[:, replay.tokens.words]  # [topic, token]
    synaptic = connected.sum() + N * (K + 1 + (K - 1))
    # k_w < K topics hear the word, but all K the document, and none else misses a step
    soma = (
        K * (N + 2) * joules.soma_access
        + (K * N + K - 1) * joules.soma_update
        + N * joules.soma_spike
    )
    network = 0.0
    word_core, doc_core, teacher_core = np.split(
        replay.core_of_input, [len(words), len(words) + len(docs)]
    )
    sources = {
        "word": (word_core[np.searchsorted(words, replay.tokens.words)], connected),
        "document": (
            doc_core[np.searchsorted(docs, replay.tokens.docs)],
            np.ones((K, N), bool),
        ),
        "teacher": (teacher_core[replay.winners], np.arange(K)[:, None] == replay.winners),
        "winner": (topic_core[replay.winners], np.arange(K)[:, None] != replay.winners),
    }
    for core, reached in sources.values():
        for target in range(replay.n_topic_cores):
            hears = reached[topic_core == target].any(axis=0)
            dx, dy = _distance(core[hears], target)
            network += hears.sum() * joules.message
            network += (dx * joules.hop_horizontal + dy * joules.hop_vertical).sum()
    return LoihiEnergy(float(synaptic * joules.synapse), float(soma), float(network))


def sanafe_energy(replay: Replay, joules: Coefficients | None = None) -> LoihiEnergy:
    """What SANA-FE says; without `joules` with its own loihi.yaml."""
    sanafe = import_engine("sanafe", "sanafe")
    text = _loihi_yaml()
    if joules is not None:
        text = _with_energies(text, joules)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loihi.yaml"
        file.write_text(text, encoding="utf-8")
        architecture = sanafe.load_arch(str(file))
    chip = sanafe.SpikingChip(architecture)
    chip.load(_network(sanafe, architecture, replay))
    result = chip.sim(
        len(replay.tokens) + 2, spike_trace=True, timing_model="simple", processing_threads=1
    )
    fired = [[neuron.neuron_offset for neuron in step] for step in result["spike_trace"]]
    expected = [[], *([int(z)] for z in replay.winners), []]
    if fired != expected:
        raise SimulationError("SANA-FE's topic neurons did not fire as the recorded winners did.")
    energy = result["energy"]
    return LoihiEnergy(energy["synapse"], energy["soma"] + energy["dendrite"], energy["network"])


def _network(sanafe: Any, architecture: Any, replay: Replay) -> Any:
    """Inputs with their spike trains, topic neurons, synapses; each on its core."""
    K, N = len(replay.private), len(replay.tokens)
    network, cores = sanafe.Network(), architecture.cores()
    topics = network.create_neuron_group(
        "topics", K, log_spikes=True, soma_hw_name="loihi_lif",
        model_attributes={"threshold": THRESHOLD, "leak_decay": 0.0},
        default_synapse_hw_name="loihi_dense_synapse", default_dendrite_hw_name="loihi_dendrites",
    )  # fmt: skip
    for z in range(K):
        topics[z].map_to_core(cores[replay.core_of_topic[z]])
    words, docs = replay.words, replay.docs
    n_inputs = len(words) + len(docs) + K
    inputs = network.create_neuron_group("inputs", n_inputs)
    trains = np.zeros((n_inputs, N + 2), bool)
    steps = np.arange(N)
    trains[np.searchsorted(words, replay.tokens.words), steps] = True
    trains[len(words) + np.searchsorted(docs, replay.tokens.docs), steps] = True
    trains[len(words) + len(docs) + replay.winners, steps] = True
    for i, core in enumerate(replay.core_of_input):
        inputs[i].set_attributes(
            soma_hw_name=f"loihi_inputs[{i % INPUTS_PER_CORE}]",
            default_synapse_hw_name="loihi_dense_synapse", dendrite_hw_name="loihi_dendrites",
            model_attributes={"spikes": trains[i].tolist()},
        )  # fmt: skip
        inputs[i].map_to_core(cores[core])
    heard = [np.flatnonzero(replay.private[:, w]) for w in words] + [np.arange(K)] * len(docs)
    for i, targets in enumerate(heard):
        for z in targets:
            inputs[i].connect_to_neuron(topics[int(z)], {"weight": -1.0})
    for z in range(K):
        inputs[len(heard) + z].connect_to_neuron(topics[z], {"weight": TEACHER})
        for other in range(K):
            if other != z:
                topics[z].connect_to_neuron(topics[other], {"weight": -1.0})
    return network


def _distance(core: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and rows between tiles."""
    x, y = np.divmod(core // CORES_PER_TILE, HEIGHT)
    x_target, y_target = divmod(target // CORES_PER_TILE, HEIGHT)
    return np.abs(x - x_target), np.abs(y - y_target)


def _loihi_yaml() -> str:
    import_engine("sanafe", "sanafe")
    return (resources.files("sanafe.examples") / "loihi.yaml").read_text(encoding="utf-8")


def _energies(text: str) -> Mapping[tuple[str, str], float]:
    """(unit, attribute): joules, of every line energy_...: of the file."""
    found, unit = {}, ""
    for line in text.splitlines():
        if name := UNIT.match(line):
            unit = name[1]
        elif energy := ATTRIBUTE.match(line):
            found[unit, energy[2]] = float(energy[3])
    needed = {place for places in PLACES.values() for place in places}
    if missing := sorted(f"{unit}.{attribute}" for unit, attribute in needed - found.keys()):
        raise ParameterError(
            f"loihi.yaml of the installed SANA-FE has no {', '.join(missing)}: its names have "
            "changed. This account was written for SANA-FE 2.2; install that one."
        )
    return found


def _with_energies(text: str, joules: Coefficients) -> str:
    """The file with other coefficients."""
    _energies(text)  # all of them are there
    wanted = {place: getattr(joules, name) for name, places in PLACES.items() for place in places}
    lines, unit = [], ""
    for line in text.splitlines():
        if name := UNIT.match(line):
            unit = name[1]
        elif (energy := ATTRIBUTE.match(line)) and (unit, energy[2]) in wanted:
            line = f"{energy[1]}{energy[2]}: {wanted[unit, energy[2]]!r}"
        lines.append(line)
    return "\n".join(lines)
