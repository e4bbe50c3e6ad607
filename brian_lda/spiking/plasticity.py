r"""Step-size rules and integrators as pieces of Brian code.

A model gives for each weight M the paper's direction g and its exact flow
(`models/ed_spike_lda.py`); this file turns them into Brian strings in which

- ``eta__<layer>`` is the step size, whoever computes it,
- ``gain__<layer>`` is :math:`(e^{a\eta} - 1)/a`, what the exact flow needs of it,
- ``switch`` is an expression that is 1 when the rule acts: by default ``accepted_post``, 1 in the
  tick in which a topic neuron has won (always, in a race).

Where a step rule keeps its numbers:

===================  ============================================================================
`RobbinsMonro`       one counter in the neuron that paces the rule: the topic neuron (M^alpha, its
                     spikes) or the document neuron (M^beta, its tokens)
`VarianceTracking`   s_1, s_2 in each synapse (Nessler et al. 2013)
`AdaGrad`            G in each synapse; eta_0 is shared by the layer and grows between passes
`RMSProp`            v in each synapse
===================  ============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from brian2 import check_units, implementation

from brian_lda.parameters import (
    AdaGrad,
    BatchStepRule,
    EventStepRule,
    RMSProp,
    RobbinsMonro,
    VarianceTracking,
)

StepRule = EventStepRule | BatchStepRule


@dataclass(frozen=True)
class WeightRule:
    """The paper's rule for one weight, as Brian expressions.

    Attributes
    ----------
    layer : str
        "alpha" or "beta": the superscript of M, s_1, eta, ...
    direction : str
        g in M <- M + eta g.
    flow : str
        Exact change of M over a step eta, written with ``eta__<layer>`` and ``gain__<layer>``.
    decay : str
        a, the decay of exp M per unit of step.
    paced_by : str
        Suffix of the neuron whose counter sets the Robbins-Monro step: "_post" (topic) or "_pre"
        (document).
    """

    layer: str
    direction: str
    flow: str
    decay: str
    paced_by: str


ROBBINS_MONRO = ("scale", "offset", "power", "floor")


def counter_variables(rule: WeightRule, step: StepRule) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the pacing neuron keeps: numbers of its own, and numbers that its layer shares."""
    layer = rule.layer
    if not isinstance(step, RobbinsMonro):
        return (f"n_{layer}",), ()
    own = (f"n_{layer}", f"eta_n__{layer}", f"gain_n__{layer}")
    return own, tuple(f"{name}__{layer}" for name in ROBBINS_MONRO)


def step_of_counter(rule: WeightRule, step: StepRule) -> dict[str, str]:
    """Expressions of eta_n and of its gain, from the counter n; empty for the other rules."""
    if not isinstance(step, RobbinsMonro):
        return {}
    (n, eta, gain), (scale, offset, power, floor) = counter_variables(rule, step)
    a = rule.decay.replace("_pre", "")  # a synapse's `x_pre` is the neuron's own `x`
    return {
        eta: f"clip({scale}*(1 + {n}/{offset})**(-{power}), {floor}, {scale})/({a})",
        gain: f"expm1({eta}*({a}))/({a})",
    }


def count_statements(rule: WeightRule, step: StepRule, event: str = "1") -> str:
    """The pacing neuron counts one more event and takes the step size of the next.

    Parameters
    ----------
    rule : WeightRule
    step : step rule
    event : str
        1 if there was an event.
    """
    lines = [f"n_{rule.layer} += {event}"]
    lines += [f"{name} = {value}" for name, value in step_of_counter(rule, step).items()]
    return "\n".join(lines)


def synapse_variables(layer: str, step: StepRule) -> tuple[str, ...]:
    """Names of what the step rule keeps in each synapse."""
    if isinstance(step, VarianceTracking):
        return f"s_1__{layer}", f"s_2__{layer}"
    if isinstance(step, AdaGrad):
        return (f"G__{layer}",)
    return (f"v__{layer}",) if isinstance(step, RMSProp) else ()


def synapse_memory(layer: str, step: StepRule) -> str:
    """Equations of what the step rule keeps in each synapse."""
    equations = "".join(f"{name} : 1\n" for name in synapse_variables(layer, step))
    if isinstance(step, AdaGrad):
        equations += f"eta_0__{layer} : 1 (shared)\n"
    if isinstance(step, RMSProp):
        equations += f"eta_0__{layer} : 1 (shared, constant)\n"
        equations += f"decay__{layer} : 1 (shared, constant)\n"
    if isinstance(step, (AdaGrad, RMSProp)):
        equations += f"epsilon__{layer} : 1 (shared, constant)\n"
    return equations


def step_statements(rule: WeightRule, step: StepRule, switch: str = "accepted_post") -> str:
    """Statements that find eta__<layer> and gain__<layer>.

    Learning is switched, so that a token that stays clamped for several ticks is learned once.
    """
    layer, a = rule.layer, rule.decay
    if isinstance(step, RobbinsMonro):
        return f"""
        eta__{layer} = {switch}*eta_n__{layer}{rule.paced_by}
        gain__{layer} = {switch}*gain_n__{layer}{rule.paced_by}
        """
    if isinstance(step, VarianceTracking):
        variance = f"(s_2__{layer} - s_1__{layer}**2)"
        # Within [0, 1], as in the reference: beyond 1 the running means overshoot.
        eta = f"eta__{layer} = {switch}*clip({variance}/(exp(-s_1__{layer}) + 1), 0, 1)"
    elif isinstance(step, AdaGrad):
        eta = f"""
        G__{layer} += {switch}*({rule.direction})**2
        eta__{layer} = {switch}*eta_0__{layer}/sqrt(G__{layer} + epsilon__{layer})
        """
    else:
        eta = f"""
        v__{layer} += {switch}*(1 - decay__{layer})*(({rule.direction})**2 - v__{layer})
        eta__{layer} = {switch}*eta_0__{layer}/sqrt(v__{layer} + epsilon__{layer})
        """
    return f"""
        {eta}
        gain__{layer} = expm1(({a})*eta__{layer})/({a})
        """


def learn_statements(
    rule: WeightRule, step: StepRule, integrator: str, switch: str = "accepted_post"
) -> str:
    """One update of M with its step rule: AdaGrad has looked at the direction before the step,
    variance tracking looks at the new weight, with the step size that made it.
    """
    layer = rule.layer
    change = rule.flow if integrator == "flow" else f"eta__{layer}*({rule.direction})"
    statements = (
        step_statements(rule, step, switch)
        + f"""
        M__{layer} += {change}
        """
    )
    if isinstance(step, VarianceTracking):
        statements += f"""
        s_1__{layer} += eta__{layer}*(M__{layer} - s_1__{layer})
        s_2__{layer} += eta__{layer}*(M__{layer}**2 - s_2__{layer})
        """
    return statements


@implementation(
    "cpp",
    """
    static inline double potentiation(double h, double gain, double M) {
        return h > 0 ? log1p(gain*exp(-M)) : 0.0;
    }
    """,
)
@implementation(
    "cython",
    """
    from libc.math cimport exp, log1p
    cdef double potentiation(double h, double gain, double M):
        return log1p(gain*exp(-M)) if h > 0 else 0.0
    """,
)
@check_units(h=1, gain=1, M=1, result=1)
def potentiation(h: np.ndarray, gain: np.ndarray, M: np.ndarray) -> np.ndarray:
    """log(1 + h gain exp(-M)) for h in {0, 1}; not evaluated for the K - 1 neurons that lost.

    As a function of our own, because Brian's statements have no branches and the two transcendental
    functions would cost a tenth of a token's time.
    """
    return np.where(h > 0, np.log1p(gain * np.exp(-M)), 0.0)


def step_values(step: StepRule, layer: str, counter: str, synapses: str) -> dict[str, float]:
    """The rule's constants as {"object.variable": value}, set at run time without a rebuild."""
    if isinstance(step, RobbinsMonro):
        return {f"{counter}.{name}__{layer}": getattr(step, name) for name in ROBBINS_MONRO}
    if isinstance(step, AdaGrad):
        return {f"{synapses}.epsilon__{layer}": step.epsilon}
    if isinstance(step, RMSProp):
        names = {"eta_0": "eta", "decay": "decay", "epsilon": "epsilon"}
        return {f"{synapses}.{k}__{layer}": getattr(step, name) for k, name in names.items()}
    return {}
