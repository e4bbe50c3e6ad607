"""The locality audit of an algorithm's network, by name: what the hardware report quotes."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from brian2 import BrianLogger

from brian_lda.algorithms import SPIKING, find_algorithm
from brian_lda.circuit.chips import add_limits
from brian_lda.circuit.circuit import Sizes
from brian_lda.circuit.inhibition import Inhibition
from brian_lda.constraints import NO_CONSTRAINTS, Constraints
from brian_lda.hardware.locality import LocalityReport, audit
from brian_lda.models import ed_spike_lda_split
from brian_lda.parameters import PrunedWords
from brian_lda.simulation.recorders import add_recorders
from brian_lda.simulation.recording import Recording
from brian_lda.simulation.simulator import brian_device

# Parameter bytes grow with K, which is known here; else sizes make no difference: the audit follows
# variables, not values.
SIZES = Sizes(n_words=4, n_docs=2, n_topics=3, n_tokens=5, capacity=8)
PRUNED = PrunedWords(np.eye(SIZES.n_topics, SIZES.n_words, dtype=bool), np.zeros(3), np.ones(4))
AS_PRINTED = "_paper"  # ends the name of a network with the paper's literal steps


def network_names() -> list[str]:
    """Every network of `models/`: "ed_spike_lda", and "ed_spike_lda_paper" where there is one."""
    return [
        algorithm.name + form
        for algorithm in SPIKING
        for form in ("", AS_PRINTED)
        if find_spec(f"{algorithm.network}{form}") is not None
    ]


def audit_algorithm(
    name: str,
    inhibition: Inhibition | None = None,
    *,
    constraints: Constraints = NO_CONSTRAINTS,
    pruned: bool = False,
    record: Recording | None = None,
) -> LocalityReport:
    """Audit the network of an algorithm, with K = 3 topics.

    Parameters
    ----------
    name : str
        One of `network_names()`.
    inhibition : Race, Poisson, Windowed, ..., optional
        The default is the network's own.
    constraints : Constraints, optional
        Limits of the chips.
    pruned : bool
        Whether some words have no synapse of their own.
    record : Recording, optional
        What is recorded of it.
    """
    if name not in network_names():
        find_algorithm(name, SPIKING)  # says which there are
    algorithm = find_algorithm(name.removesuffix(AS_PRINTED), SPIKING)
    form = name.removeprefix(algorithm.name)
    model = import_module(f"{algorithm.network}{form}")
    BrianLogger.suppress_name("unused_brian_object")  # it is looked at, and never run
    with brian_device("runtime", "numpy"):
        net = model.wire(replace(SIZES, pruned=PRUNED if pruned else None), inhibition)
        add_limits(net, constraints, model.KEPT)
        add_recorders(net, record)
        return audit(net)


def audit_split() -> LocalityReport:
    """Audit the split ed-SpikeLDA, with K = 3 topics of 2 parts, each part on a chip of its own."""
    BrianLogger.suppress_name("unused_brian_object")  # it is looked at, and never run
    with brian_device("runtime", "numpy"):
        return audit(ed_spike_lda_split.wire(replace(SIZES, n_blocks=2)), topics="parts")
