r"""ed-SpikePLSI: online maximum-likelihood pLSI, ed-SpikeLDA without a prior.

Xiao, Chen & Zhu (AAAI 2018), appendix "Online SNN implementation of pLSI". The network and the rule
of M^alpha are those of Alg. 3 (`ed_spike_lda`); M^beta follows [Eq. "ML discrete dynamics", second
line, called (P) below; kappa = 1]

.. math::
    M^\beta_{zd} \leftarrow M^\beta_{zd} + \eta\,x^\beta_d \big(h_z e^{-M^\beta_{zd}} - 1\big)
    \quad \forall d, z

The paper starts every M^beta at log(1/K) and uses `VarianceTracking` for both weights.
"""

from __future__ import annotations

from brian_lda.models.ed_spike_lda import build_event_driven

from brian_lda.constraints import Constraints
from brian_lda.parameters import EventDrivenParameters
from brian_lda.spiking.circuit import Circuit, Shape
from brian_lda.spiking.constrained import NO_CONSTRAINTS
from brian_lda.spiking.inhibition import Inhibition
from brian_lda.spiking.plasticity import WeightRule

DOCUMENT_RULE = WeightRule(
    layer="beta",
    direction="h_post*exp(-M__beta) - 1",  # (P)
    flow="log1p(h_post*gain__beta*exp(-M__beta)) - eta__beta",
    decay="1",
    paced_by="_pre",
)


def build(
    parameters: EventDrivenParameters,
    shape: Shape,
    inhibition: Inhibition,
    record: tuple[str, ...] = (),
    constraints: Constraints = NO_CONSTRAINTS,
    pruned: bool = False,
) -> Circuit:
    """The network as Brian objects, without values; see `ed_spike_lda.build`."""
    return build_event_driven(
        parameters, shape, inhibition, record, constraints, pruned, document_rule=DOCUMENT_RULE
    )
