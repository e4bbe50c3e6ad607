"""The locality audit of an algorithm's network, by name: what the hardware report quotes."""

from __future__ import annotations

import numpy as np
from brian2 import BrianLogger

from brian_lda.algorithms import SPIKING, Algorithm, find_algorithm
from brian_lda.circuit.circuit import Circuit, Shape
from brian_lda.circuit.inhibition import Race
from brian_lda.hardware.locality import LocalityReport, audit
from brian_lda.parameters import BatchParameters, EventDrivenParameters
from brian_lda.simulation.simulator import brian_settings

# Sizes make no difference: the audit follows variables, not values.
K = 3
SHAPE = Shape(n_words=4, n_docs=2, n_topics=K, capacity=8, n_tokens=5)


def audit_algorithm(name: str) -> LocalityReport:
    """Audit the network of an algorithm with its default equations.

    Parameters
    ----------
    name : str
        Of a spiking algorithm, for example "ed_spike_lda".
    """
    algorithm = find_algorithm(name, SPIKING)
    BrianLogger.suppress_name("unused_brian_object")  # it is looked at, and never run
    with brian_settings("runtime", "numpy"):
        return audit(_default_network(algorithm))


def _default_network(algorithm: Algorithm) -> Circuit:
    """The network, with the prior and the step rules that its kind takes."""
    build = algorithm.load_network().build
    offset = algorithm.prior_offset
    lamda = np.full(K, 0.1 + (offset or 0.0))
    if algorithm.iteration == "sweep":
        return build(SHAPE, Race())
    if algorithm.iteration == "mini-batch":
        return build(BatchParameters(K, lamda), SHAPE, Race())
    if offset is None:  # pLSI: neither on theta nor on phi
        return build(EventDrivenParameters(K, None), SHAPE, Race())
    return build(EventDrivenParameters(K, lamda, epsilon=0.01), SHAPE, Race())
