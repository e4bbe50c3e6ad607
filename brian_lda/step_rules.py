r"""Step-size rules, each with all that it needs: numbers, what synapses keep, first values.

Step-size rules (paper's appendix "Adaptive step size schedule")
-----------------------------------------------------------------
========================  ======================================================================
`RobbinsMonro`            :math:`\eta_n = \max(\eta_0 (1 + n/n_0)^{-c}, \eta_{min})`; *n* counts
                          the spikes of the topic neuron (for M^alpha) or the tokens seen of the
                          document (for M^beta): one counter per neuron, local, and one
                          :math:`\eta` per neuron, as the gauge form needs.
`VarianceTracking`        Nessler et al. (2013), one :math:`\eta` per synapse from its own running
                          moments: :math:`s_1 \leftarrow s_1 + \eta(M - s_1)`,
                          :math:`s_2 \leftarrow s_2 + \eta(M^2 - s_2)`,
                          :math:`\eta = (s_2 - s_1^2)/(e^{-s_1} + 1)`, kept in [0, 1].
`AdaGrad`                 :math:`G \leftarrow G + g^2`, :math:`\eta = \eta_0/\sqrt{G + \epsilon}`;
                          :math:`\eta_0` is multiplied by *c* at the end of each pass.
`RMSProp`                 :math:`v \leftarrow \rho v + (1-\rho) g^2`, step
                          :math:`\eta_0 g/\sqrt{v + \epsilon}`; for the delayed updates.
========================  ======================================================================

The paper is silent on the first values of s_1 and s_2, on RMSProp's decay and epsilon, and on
AdaGrad's base step; the values here are ours and are written into every run's parameters.

What a rule keeps per synapse (`synapse_memory`) is named alike in both twins and in the state; the
rate-level kernels know a rule by `kernel_rule`, the networks by the variables in `brian_values`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from brian_lda.errors import ParameterError

KernelRule = tuple[int, float, float, float, float]  # which rule, its numbers


def _require(condition: bool, name: str, expected: str, found: Any) -> None:
    if not condition:
        raise ParameterError(f"{name} must be {expected}; found {found!r}.")


class StepRule:
    """What all rules have; not used by itself.

    Attributes
    ----------
    per_neuron : bool
        One eta per neuron, as the gauge form needs, instead of one per synapse.
    synapse_memory : tuple of str
        What each synapse keeps.
    amplification : float
        Of the base step, at the end of a pass.
    """

    per_neuron: ClassVar[bool] = False
    synapse_memory: ClassVar[tuple[str, ...]] = ()
    amplification: float = 1.0

    @property
    def kernel_rule(self) -> KernelRule:
        """How the rate-level kernels know the rule."""
        raise NotImplementedError

    def first_memory(self, M: np.ndarray, layer: str) -> dict[str, np.ndarray]:
        """What synapses with the weights M begin with, by name in the state."""
        return {f"{name}__{layer}": np.zeros_like(M) for name in self.synapse_memory}

    def shifted_memory(
        self, state: dict[str, np.ndarray], layer: str, shift: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The memory of synapses whose weights have been moved by -shift."""
        return {}

    def brian_values(self, owner: str, layer: str) -> dict[str, float]:
        """Its numbers as the networks name them: {"object.variable": value}."""
        return {}


@dataclass(frozen=True)
class RobbinsMonro(StepRule):
    """eta_n = max(scale * (1 + n/offset)**-power, floor), one counter n per neuron.

    For M^beta of ed-SpikeLDA the step is measured in the synapse's own relaxation time, that is
    eta = eta_n / a_d with a_d = 1/kappa + 1/N_d (a_d = 1 for pLSI), because kappa and N_d would
    otherwise set the time scale of each document. `floor` > 0 ends the annealing: the weights
    then average over the last 1/floor events.
    """

    per_neuron: ClassVar[bool] = True

    scale: float = 1.0
    offset: float = 1.0
    power: float = 1.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        _require(self.scale > 0, "scale", "positive", self.scale)
        _require(self.offset > 0, "offset", "positive", self.offset)
        _require(self.power >= 0, "power", "at least 0", self.power)
        _require(0 <= self.floor <= self.scale, "floor", "between 0 and scale", self.floor)

    @property
    def kernel_rule(self) -> KernelRule:
        return 0, self.scale, self.offset, self.power, self.floor

    def sum_of_steps(self, n: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """Integral of eta_n from n to n + delta (the floor applies to its mean)."""
        first, last = 1.0 + n / self.offset, 1.0 + (n + delta) / self.offset
        if self.power == 1.0:
            integral = np.log(last / first)
        else:
            q = 1.0 - self.power
            integral = (last**q - first**q) / q
        return np.maximum(self.scale * self.offset * integral, self.floor * delta)

    def brian_values(self, owner: str, layer: str) -> dict[str, float]:
        names = ("scale", "offset", "power", "floor")
        return {f"{owner}.{name}__{layer}": getattr(self, name) for name in names}


FROZEN = RobbinsMonro(scale=1e-12, power=0.0)  # weights move by less than rounding errors


@dataclass(frozen=True)
class VarianceTracking(StepRule):
    """One eta per synapse from the running mean and variance of its weight (Nessler 2013).

    s_1 starts at the initial weight and s_2 at s_1**2 + `initial_variance` (1, the variance of
    the paper's initial weights), so that the first eta is 1 / (exp(-M) + 1).
    """

    synapse_memory: ClassVar[tuple[str, ...]] = ("s_1", "s_2")

    initial_variance: float = 1.0

    def __post_init__(self) -> None:
        _require(self.initial_variance > 0, "initial_variance", "positive", self.initial_variance)

    @property
    def kernel_rule(self) -> KernelRule:
        return 1, 0.0, 0.0, 0.0, 0.0

    def first_memory(self, M: np.ndarray, layer: str) -> dict[str, np.ndarray]:
        return {f"s_1__{layer}": M.copy(), f"s_2__{layer}": M * M + self.initial_variance}

    def shifted_memory(
        self, state: dict[str, np.ndarray], layer: str, shift: np.ndarray
    ) -> dict[str, np.ndarray]:
        s_1, s_2 = state[f"s_1__{layer}"], state[f"s_2__{layer}"]
        return {f"s_1__{layer}": s_1 - shift, f"s_2__{layer}": s_2 - 2.0 * shift * s_1 + shift**2}


@dataclass(frozen=True)
class AdaGrad(StepRule):
    """eta = eta_0 / sqrt(G + epsilon) per synapse; eta_0 grows by `amplification` (c) a pass."""

    synapse_memory: ClassVar[tuple[str, ...]] = ("G",)

    eta: float = 0.1
    amplification: float = 1.0
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _require(self.eta > 0, "eta", "positive", self.eta)
        _require(self.amplification > 0, "amplification", "positive", self.amplification)
        _require(self.epsilon > 0, "epsilon", "positive", self.epsilon)

    @property
    def kernel_rule(self) -> KernelRule:
        return 2, self.epsilon, 0.0, 0.0, 0.0

    def first_memory(self, M: np.ndarray, layer: str) -> dict[str, np.ndarray]:
        return {f"G__{layer}": np.zeros_like(M), f"eta_0__{layer}": np.array([self.eta])}

    def brian_values(self, owner: str, layer: str) -> dict[str, float]:
        return {f"{owner}.epsilon__{layer}": self.epsilon}


@dataclass(frozen=True)
class RMSProp(StepRule):
    """Step eta * g / sqrt(v + epsilon) with v the running mean square of g, per synapse."""

    synapse_memory: ClassVar[tuple[str, ...]] = ("v",)

    eta: float = 0.5
    decay: float = 0.9
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _require(self.eta > 0, "eta", "positive", self.eta)
        _require(0 <= self.decay < 1, "decay", "in [0, 1)", self.decay)
        _require(self.epsilon > 0, "epsilon", "positive", self.epsilon)

    @property
    def kernel_rule(self) -> KernelRule:
        return 3, self.eta, self.decay, self.epsilon, 0.0

    def brian_values(self, owner: str, layer: str) -> dict[str, float]:
        numbers = {"eta_0": self.eta, "decay": self.decay, "epsilon": self.epsilon}
        return {f"{owner}.{name}__{layer}": value for name, value in numbers.items()}


EventStepRule = RobbinsMonro | VarianceTracking | AdaGrad
BatchStepRule = RobbinsMonro | RMSProp


def step_rule_to_dict(rule: Any) -> dict[str, Any]:
    """A step rule as plain data, for model files and run metadata."""
    return {"rule": type(rule).__name__, **{f.name: getattr(rule, f.name) for f in fields(rule)}}


def step_rule_from_dict(data: dict[str, Any]) -> Any:
    """Inverse of `step_rule_to_dict`."""
    known = {rule.__name__: rule for rule in (RobbinsMonro, VarianceTracking, AdaGrad, RMSProp)}
    data = dict(data)
    name = data.pop("rule", None)
    if not isinstance(name, str) or name not in known:
        raise ParameterError(f"step rule must be one of {sorted(known)}; found {name!r}.")
    try:
        return known[name](**data)
    except TypeError as error:  # an unknown field, or a text where a number belongs
        raise ParameterError(f"{name} cannot be made from {data!r}: {error}.") from error
