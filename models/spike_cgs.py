r"""SpikeCGS: collapsed Gibbs sampling of smoothed LDA, a negative and a positive phase per token.

Xiao, Chen & Zhu (AAAI 2018), Alg. 2. The weights are logarithms of counts [Tab. 1(b)]:

.. math::
    e^{M^\alpha_{zw}} = C_{wz} + \varphi_w, \qquad e^{M^\beta_{zd}} = C_{zd} + \lambda_z, \qquad
    e^{b_z} = C_{\cdot z} + \bar\varphi

For a token (w, d) whose last topic was z':

=========  =============================================================================  ========
negative   word w, document d and topic z' fire; M^alpha_z'w, M^beta_z'd, b_z' <- tau_1   [line 4]
resample   race of the topic neurons [Alg. 1] with u = M^alpha.x + M^beta.x - b           [line 5]
positive   the winner z and its synapses: M^alpha_zw, M^beta_zd, b_z <- tau_2             [line 6]
=========  =============================================================================  ========

with tau_1(x) = log(exp x - 1) and tau_2(x) = log(exp x + 1).

A synapse knows that it takes part by coincidence alone: its word (document) neuron has just fired,
and so has its topic neuron; which of the two rules acts is told by the global phase signal
(`brian_lda.spiking.assignments`).

Deviation: line 1 of Alg. 2 prints lambda and varphi in each other's place; Tab. 1(b) is right.
"""

from __future__ import annotations

from brian_lda.constraints import Constraints
from brian_lda.spiking.assignments import (
    RECALL,
    RECALL_EVENT,
    RECALLED_TOPIC,
    add_assignment_memory,
)
from brian_lda.spiking.circuit import Circuit, Shape, build_circuit
from brian_lda.spiking.clamp import ClampedLayer
from brian_lda.spiking.constrained import NO_CONSTRAINTS
from brian_lda.spiking.counting import COUNTING
from brian_lda.spiking.inhibition import Inhibition

SELF_EXCITATION = """
b : 1                                    # log(C_z + sum varphi); enters with a minus sign
"""
NEGATIVE_PHASE = "\n".join(
    [
        RECALL,
        "b = tau_1(h_old, b)",  # line 4
        "u = -b",  # line 5 [footnote to Alg. 1: u = M.x + M.x - b]
    ]
)


def build(
    shape: Shape,
    inhibition: Inhibition,
    record: tuple[str, ...] = (),
    constraints: Constraints = NO_CONSTRAINTS,
) -> Circuit:
    """The network as Brian objects, without values.

    Parameters
    ----------
    shape : Shape
        `n_tokens` is the size of the corpus, whose assignments are remembered.
    inhibition : Race or Poisson
    record : tuple of str
        Layers to record besides the winners.
    constraints : Constraints
        No packet may be lost: a missed negative phase would leave a count behind.
    """
    circuit = build_circuit(
        shape,
        inhibition,
        topic_model=RECALLED_TOPIC + SELF_EXCITATION,
        topic_events=RECALL_EVENT,
        after_spike="b = tau_2(1, b)",  # line 6
        remembers_tokens=True,
        constraints=constraints,
        record=record,
    )
    add_assignment_memory(circuit, NEGATIVE_PHASE)
    connect_counting(circuit, circuit.words, "alpha")
    connect_counting(circuit, circuit.documents, "beta")
    return circuit


def connect_counting(circuit: Circuit, layer: ClampedLayer, name: str) -> None:
    """Synapses whose weight M is the logarithm of a count: tau_1, excite, tau_2."""
    M = f"M__{name}"
    circuit.connect(
        layer,
        name=name,
        model=f"{M} : 1",
        on_pre={
            "excite": f"{M} = tau_1(h_old_post, {M})\nu_post += {M}",  # lines 4 and 5
            "learn": f"{M} = tau_2(h_post, {M})",  # line 6
        },
        when={"excite": "excite", "learn": "learn"},
        weight=M,
        written_by=("excite", "learn"),
        namespace=COUNTING,
    )
