"""Which rate-level class takes these parameters, for tests of both event-driven algorithms."""

from __future__ import annotations

from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.reference.ed_spike_plsi import EdSpikePLSIReference


def rate_twin(parameters, *sizes, **arguments):
    kind = EdSpikePLSIReference if parameters.doc_topic_prior is None else EdSpikeLDAReference
    return kind(parameters, *sizes, **arguments)
