"""What a training run has cost, from the spikes that were counted in the running network.

Every spike was counted, neuron by neuron (`brian2_options={"count": True}`). A spike is a synaptic
event at each synapse that the neuron has in the network, and it writes what the learning rule of
its pathway writes there; `tests/unit/test_spiking_account.py` counts those writes number by number.
Beside it stands what the sizes alone predict (`brian_lda.hardware.account`). Packets between chips
come from the same counts (`brian_lda.hardware.packets`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brian_lda.algorithms import SPIKING, find_algorithm
from brian_lda.errors import ParameterError
from brian_lda.step_rules import RMSProp

if TYPE_CHECKING:
    from brian_lda.simulation.spiking_network import SpikingNetwork  # imports Brian2: seconds


@dataclass(frozen=True)
class CountedRun:
    """What a run has cost so far.

    Attributes
    ----------
    algorithm : str
    races : int
        Tokens that found a winner, each time that they were shown.
    spikes : int
        Of the whole run, as what follows. The conventions are those of `RaceAccount`: the
        inhibitory neuron is the winner's way to the others, K - 1 events, and no spike of its own.
    synaptic_events : int
    plastic_writes : int
    inhibitory_spikes : int
    """

    algorithm: str
    races: int
    spikes: int
    synaptic_events: int
    plastic_writes: int
    inhibitory_spikes: int

    def per_race(self, name: str) -> float:
        """One of the numbers, shared out among the races."""
        return getattr(self, name) / self.races


def counted_run(algorithm: str, learner: Any) -> CountedRun:
    """The account of a network that has counted its spikes.

    Parameters
    ----------
    algorithm : str
        A spiking one of `brian_lda.algorithms`.
    learner : EventDrivenSpiking, SpikeCGSSpiking, SemiSpikeLDASpiking or DuSpikeLDASpiking
        For an estimator `trainer_.network`, `trainer_.sampler` or `trainer_.algorithm`.
    """
    network: SpikingNetwork = learner.network
    counted = _counted(network)
    kind = find_algorithm(algorithm, SPIKING)
    K, V = network.sizes.n_topics, network.sizes.n_words
    total = {layer: int(counts.sum()) for layer, counts in counted.items()}
    races, recalled, tokens = total["topics"], total.get("recalled", 0), total.get("tokens", 0)
    fan_out = np.full(V, K) if network.pruned is None else network.pruned.private.sum(axis=0)
    events = int(counted["words"] @ fan_out) + K * total["documents"] + (K - 1) * races
    if kind.remembers_topics:
        events += tokens + races  # recall, store
    in_batches = kind.iteration == "mini-batch"
    if kind.remembers_topics:
        counts = 1 if in_batches else 2  # M^beta; M^alpha only where it is a count itself
        counts += 1 if kind.has_biases else 0
        writes = counts * (races + recalled) + races  # one more, one less; z
    elif in_batches:
        if isinstance(learner.parameters.doc_step, RMSProp):
            raise ParameterError(
                "writes are counted for du-SpikeLDA with RobbinsMonro steps, which move M^beta "
                "with each token; found RMSProp, which moves it once a local iteration."
            )
        writes = K * races  # M^beta of d
    else:
        of_winner = 3  # m, a, and what the prior of Phi brings
        writes = K * total["documents"] + of_winner * races
    if in_batches:
        T, first = learner.parameters.local_iterations, learner.first_sweeps
        kept = races * T // (2 * T + first)  # N_zw of the sweeps that count
        writes += kept + K * V * learner.n_updates
    return CountedRun(
        algorithm,
        races,
        total["words"] + total["documents"] + races + tokens + recalled,
        events,
        writes,
        total["inhibition"],
    )


def _counted(network: SpikingNetwork) -> dict[str, np.ndarray]:
    if network.counted is None:
        raise ParameterError(
            'this network has not counted its spikes: train with brian2_options={"count": True}.'
        )
    if not network.counted["topics"].sum():
        raise ParameterError("this network has not been shown a token yet: there is no run.")
    return network.counted
