r"""ed-SpikeLDA: online maximum-a-posteriori LDA, one update per topic spike.

Xiao, Chen & Zhu, "Towards Training Probabilistic Topic Models on Neuromorphic Multi-Chip Systems",
AAAI 2018, Alg. 3. For a token (w, d) the topic neurons race [Alg. 1] with

.. math:: u_z = M^\alpha_{z\cdot} \cdot x^\alpha + M^\beta_{z\cdot} \cdot x^\beta

and the winner's spike h changes the weights [Eq. "MAP discrete dynamics" of Alg. 3, called (3) in
the comments: (3a) its first line, (3b) its second]:

.. math::
    M^\alpha_{zw} &\leftarrow M^\alpha_{zw} + \eta\,h_z \big(x^\alpha_w e^{-M^\alpha_{zw}} - 1\big)
    \quad \forall w, z \\
    M^\beta_{zd} &\leftarrow M^\beta_{zd} + \eta\,x^\beta_d \Big[\big(h_z +
    \tfrac{\lambda_z - 1}{N_d}\big) e^{-M^\beta_{zd}} - \tfrac{1}{\kappa} - \tfrac{1}{N_d}\Big]
    \quad \forall d, z

with :math:`\kappa = \sum_z (\lambda_z - 1)`.

Three forms, the same fixed points
----------------------------------
Euler    (3) as printed. (3a) acts on all V synapses of the winner: a pathway on the topic spike.
Flow     both lines are linear in p = exp M, dp/ds = c - a p. Over a step eta,
         M <- M - a eta + log(1 + c gain exp(-M)) with gain = (exp(a eta) - 1)/a, exactly. Stable
         for any eta, where Euler overshoots by eta exp(-M).
Gauge    M_zw = m_zw - a_z: the "-eta" of (3a), the same for all V synapses of the winner, is kept
         in the neuron as a_z. A spike then writes one word synapse and one offset. The same
         numbers, and O(K) a token instead of O(V). Needs one eta per neuron (Robbins-Monro).

Deviations from the paper
-------------------------
- N_d of an empty document is taken as 1; it is never presented.
- Topic neurons see J = log(exp M^alpha + epsilon_w): with epsilon = 0, J = M^alpha and this is the
  paper's network. Its synapses that have lost a few races fall silent for good, and rare words
  stay with the topic that won them first. The rules (3) are untouched.
- Step sizes: the paper's are `VarianceTracking` for M^alpha and `AdaGrad` for M^beta; the default
  is `RobbinsMonro`, which the gauge needs (`brian_lda.parameters`).

Options: fan-in pruning [appendix "Network pruning"; `PRUNED` below] and the limits of chips
(`brian_lda.constraints`).
"""

from __future__ import annotations

from brian_lda.constraints import Constraints
from brian_lda.parameters import EventDrivenParameters
from brian_lda.spiking.circuit import Circuit, Shape, build_circuit
from brian_lda.spiking.constrained import NO_CONSTRAINTS
from brian_lda.spiking.inhibition import Inhibition, accepted_signal
from brian_lda.spiking.plasticity import (
    WeightRule,
    count_statements,
    counter_variables,
    learn_statements,
    potentiation,
    step_of_counter,
    step_statements,
    synapse_memory,
)

WORD_RULE = WeightRule(
    layer="alpha",
    direction="x__alpha*exp(-M__alpha) - 1",  # (3a); h_z is the topic spike that triggers it
    flow="log1p(x__alpha*gain__alpha*exp(-M__alpha)) - eta__alpha",
    decay="1",
    paced_by="_post",
)
DOCUMENT_RULE = WeightRule(
    layer="beta",
    direction="(h_post + (lamda_post - 1)/N_d_pre)*exp(-M__beta) - 1/kappa_pre - 1/N_d_pre",  # (3b)
    flow="log1p((h_post + (lamda_post - 1)/N_d_pre)*gain__beta*exp(-M__beta))"
    " - (1/kappa_pre + 1/N_d_pre)*eta__beta",
    decay="1/kappa_pre + 1/N_d_pre",
    paced_by="_pre",
)

CLAMPED = """
t_clamped : second                       # when this synapse last saw its word
x__alpha = int(t_clamped == t) : integer # the clamp x of Alg. 1, as the synapse sees it
M__alpha : 1
"""
GAUGED = """
m__alpha : 1
M__alpha = m__alpha - a__alpha_post : 1
"""
PRUNED = """
is_private : integer                     # 0: this word shares the one fixed synapse of the topic
"""
J__ALPHA = "log(exp(M__alpha) + epsilon_pre)"  # what a topic neuron sees of M^alpha, if smoothed
GAUGE_LEARN = {  # (3a) on the active synapse; "-1" is a__alpha += eta in the neuron
    "euler": "m__alpha += h_post*eta__alpha*exp(-M__alpha)",
    "flow": "m__alpha += potentiation(h_post, gain__alpha, M__alpha)",  # log1p(h gain exp(-M))
}


def build(
    parameters: EventDrivenParameters,
    shape: Shape,
    inhibition: Inhibition,
    record: tuple[str, ...] = (),
    constraints: Constraints = NO_CONSTRAINTS,
    pruned: bool = False,
) -> Circuit:
    """The network as Brian objects, without values.

    Parameters
    ----------
    parameters : EventDrivenParameters
        Step rules, integrator and gauge choose the equations; the numbers are set at run time.
    shape : Shape
    inhibition : Race or Poisson
    record : tuple of str
        Layers to record besides the winners.
    constraints : Constraints
    pruned : bool
        Whether some words share one fixed synapse onto each topic neuron (gauge form only).
    """
    return build_event_driven(
        parameters, shape, inhibition, record, constraints, pruned,
        document_rule=DOCUMENT_RULE, topic_constants="lamda : 1",
        document_constants=("N_d",), document_shared=("kappa",),
    )  # fmt: skip


def build_event_driven(
    parameters: EventDrivenParameters,
    shape: Shape,
    inhibition: Inhibition,
    record: tuple[str, ...],
    constraints: Constraints,
    pruned: bool,
    *,
    document_rule: WeightRule,
    topic_constants: str = "",
    document_constants: tuple[str, ...] = (),
    document_shared: tuple[str, ...] = (),
) -> Circuit:
    """The circuit of ed-SpikeLDA and ed-SpikePLSI, which differ in the rule of M^beta."""
    step__alpha, step__beta = parameters.word_step, parameters.doc_step
    own__alpha, shared__alpha = counter_variables(WORD_RULE, step__alpha)
    own__beta, shared__beta = counter_variables(document_rule, step__beta)
    topic_model = [topic_constants, *(f"{name} : 1" for name in own__alpha)]
    topic_model += [f"{name} : 1 (shared, constant)" for name in shared__alpha]
    after_spike = count_statements(WORD_RULE, step__alpha)
    if parameters.gauge:
        topic_model.append("a__alpha : 1")
        after_spike = "a__alpha += eta_n__alpha\n" + after_spike  # the "-eta" of (3a)
    if pruned:
        topic_model.append("shared : 1")  # log(p/(V - n)), fixed
    accepted = accepted_signal(inhibition, constraints.gates)
    circuit = build_circuit(
        shape,
        inhibition,
        topic_model="\n".join(topic_model),
        after_spike=after_spike,
        word_state=("epsilon",) if parameters.smoothed else (),
        document_state=(*document_constants, *own__beta),
        document_shared=(*document_shared, *shared__beta),
        after_token=count_statements(document_rule, step__beta, event=accepted),
        constraints=constraints,
        record=record,
    )
    _connect_words(circuit, parameters, pruned)
    circuit.connect(
        circuit.documents,
        name="beta",
        model="M__beta : 1\n" + synapse_memory("beta", step__beta),
        on_pre={
            "excite": "u_post += M__beta",  # Alg. 1 line 5
            "learn": learn_statements(
                document_rule, step__beta, parameters.integrator, switch="learns_post"
            ),
        },
        when={"excite": "excite", "learn": "learn"},
        weight="M__beta",
        written_by=("learn",),
    )
    circuit.first_values += [
        (circuit.topics, *item) for item in step_of_counter(WORD_RULE, step__alpha).items()
    ] + [(circuit.documents, *item) for item in step_of_counter(document_rule, step__beta).items()]
    return circuit


def _connect_words(circuit: Circuit, parameters: EventDrivenParameters, pruned: bool) -> None:
    """Word synapses: gauge form (plastic when the word fires) or (3a) literally (on the spike)."""
    step, integrator = parameters.word_step, parameters.integrator
    seen = J__ALPHA if parameters.smoothed else "M__alpha"
    excite = f"u_post += {seen}"  # Alg. 1 line 5
    if parameters.gauge:
        learn = GAUGE_LEARN[integrator]
        if pruned:
            excite = f"u_post += is_private*{seen} + (1 - is_private)*shared_post"
            learn = learn.replace("h_post", "is_private*h_post")
        circuit.connect(
            circuit.words,
            name="alpha",
            model=GAUGED + (PRUNED if pruned else ""),
            on_pre={"excite": excite, "learn": step_statements(WORD_RULE, step) + learn},
            namespace={"potentiation": potentiation},
            when={"excite": "excite", "learn": "learn"},
            weight="m__alpha",
            written_by=("learn",),
            offset="a__alpha_post",
        )
    else:
        synapses = circuit.connect(
            circuit.words,
            name="alpha",
            model=CLAMPED + synapse_memory("alpha", step),
            on_pre={"excite": f"{excite}\nt_clamped = t"},
            on_post={"learn": learn_statements(WORD_RULE, step, integrator)},
            when={"excite": "excite", "learn": "learn"},
            weight="M__alpha",
            written_by=("learn",),
        )
        circuit.first_values.append((synapses, "t_clamped", "-1*second"))  # no word seen yet
