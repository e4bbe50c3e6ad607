"""The locality audit of an algorithm's network, by name: what the hardware report quotes."""

from __future__ import annotations

import numpy as np
from brian2 import BrianLogger

from brian_lda.errors import ParameterError
from brian_lda.hardware.locality import LocalityReport, audit
from brian_lda.models import du_spike_lda, ed_spike_lda, ed_spike_plsi, semi_spike_lda, spike_cgs
from brian_lda.parameters import BatchParameters, EventDrivenParameters
from brian_lda.spiking.circuit import Shape
from brian_lda.spiking.inhibition import Race
from brian_lda.spiking.simulator import brian_settings

# Sizes make no difference: the audit follows variables, not values.
K = 3
MAP_PRIOR, PRIOR = np.full(K, 1.1), np.full(K, 0.1)
SHAPE = Shape(n_words=4, n_docs=2, n_topics=K, capacity=8, n_tokens=5)
NETWORKS = {
    "spike-cgs": lambda: spike_cgs.build(SHAPE, Race()),
    "ed-spike-lda": lambda: ed_spike_lda.build(
        EventDrivenParameters(K, MAP_PRIOR, epsilon=0.01), SHAPE, Race()
    ),
    "ed-spike-plsi": lambda: ed_spike_plsi.build(EventDrivenParameters(K, None), SHAPE, Race()),
    "du-spike-lda": lambda: du_spike_lda.build(BatchParameters(K, MAP_PRIOR), SHAPE, Race()),
    "semi-spike-lda": lambda: semi_spike_lda.build(BatchParameters(K, PRIOR), SHAPE, Race()),
}


def audit_algorithm(algorithm: str) -> LocalityReport:
    """Audit the network of an algorithm with its default equations.

    Parameters
    ----------
    algorithm : str
        As on the command line, for example "ed-spike-lda".
    """
    if algorithm not in NETWORKS:
        raise ParameterError(
            f"algorithm must be one of {', '.join(NETWORKS)}; found {algorithm!r}."
        )
    BrianLogger.suppress_name("unused_brian_object")  # it is looked at, and never run
    with brian_settings("runtime", "numpy"):
        return audit(NETWORKS[algorithm]())
