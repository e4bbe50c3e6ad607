r"""What both twins of an algorithm are told: priors, step-size rules, initial weights.

The rate-level reference (`brian_lda.reference`) and the spiking networks (`brian_lda.models`)
take the same frozen objects, so that switching the backend changes nothing but the backend.

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
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from brian_lda.errors import ParameterError


def _require(condition: bool, name: str, expected: str, found: Any) -> None:
    if not condition:
        raise ParameterError(f"{name} must be {expected}; found {found!r}.")


@dataclass(frozen=True)
class RobbinsMonro:
    """eta_n = max(scale * (1 + n/offset)**-power, floor), one counter n per neuron.

    For M^beta of ed-SpikeLDA the step is measured in the synapse's own relaxation time, that is
    eta = eta_n / a_d with a_d = 1/kappa + 1/N_d (a_d = 1 for pLSI), because kappa and N_d would
    otherwise set the time scale of each document. `floor` > 0 ends the annealing: the weights
    then average over the last 1/floor events.
    """

    scale: float = 1.0
    offset: float = 1.0
    power: float = 1.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        _require(self.scale > 0, "scale", "positive", self.scale)
        _require(self.offset > 0, "offset", "positive", self.offset)
        _require(self.power >= 0, "power", "at least 0", self.power)
        _require(0 <= self.floor <= self.scale, "floor", "between 0 and scale", self.floor)

    def brian_values(self, owner: str, layer: str) -> dict[str, float]:
        """Its numbers as the networks name them: {"object.variable": value}."""
        names = ("scale", "offset", "power", "floor")
        return {f"{owner}.{name}__{layer}": getattr(self, name) for name in names}


FROZEN = RobbinsMonro(scale=1e-12, power=0.0)  # weights move by less than rounding errors


@dataclass(frozen=True)
class VarianceTracking:
    """One eta per synapse from the running mean and variance of its weight (Nessler 2013).

    s_1 starts at the initial weight and s_2 at s_1**2 + `initial_variance` (1, the variance of
    the paper's initial weights), so that the first eta is 1 / (exp(-M) + 1).
    """

    initial_variance: float = 1.0

    def __post_init__(self) -> None:
        _require(self.initial_variance > 0, "initial_variance", "positive", self.initial_variance)

    def brian_values(self, owner: str, layer: str) -> dict[str, float]:
        """Its fixed numbers as the networks name them: it has none."""
        return {}


@dataclass(frozen=True)
class AdaGrad:
    """eta = eta_0 / sqrt(G + epsilon) per synapse; eta_0 grows by `amplification` (c) a pass."""

    eta: float = 0.1
    amplification: float = 1.0
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _require(self.eta > 0, "eta", "positive", self.eta)
        _require(self.amplification > 0, "amplification", "positive", self.amplification)
        _require(self.epsilon > 0, "epsilon", "positive", self.epsilon)

    def brian_values(self, owner: str, layer: str) -> dict[str, float]:
        """Its fixed numbers as the networks name them: {"object.variable": value}."""
        return {f"{owner}.epsilon__{layer}": self.epsilon}


@dataclass(frozen=True)
class RMSProp:
    """Step eta * g / sqrt(v + epsilon) with v the running mean square of g, per synapse."""

    eta: float = 0.5
    decay: float = 0.9
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _require(self.eta > 0, "eta", "positive", self.eta)
        _require(0 <= self.decay < 1, "decay", "in [0, 1)", self.decay)
        _require(self.epsilon > 0, "epsilon", "positive", self.epsilon)

    def brian_values(self, owner: str, layer: str) -> dict[str, float]:
        """Its numbers as the networks name them: {"object.variable": value}."""
        numbers = {"eta_0": self.eta, "decay": self.decay, "epsilon": self.epsilon}
        return {f"{owner}.{name}__{layer}": value for name, value in numbers.items()}


EventStepRule = RobbinsMonro | VarianceTracking | AdaGrad
BatchStepRule = RobbinsMonro | RMSProp
INTEGRATORS = ("flow", "euler")


@dataclass(frozen=True)
class EventDrivenParameters:
    """Parameters of ed-SpikeLDA (Alg. 3) and ed-SpikePLSI (appendix).

    Attributes
    ----------
    doc_topic_prior : float array [topic] or None
        lambda, every entry > 1 (kappa = sum(lambda - 1) must be positive). None: pLSI, no prior,
        kappa = 1 and the M^beta rule of the appendix.
    n_topics : int
        K.
    word_step, doc_step : step rules of M^alpha and M^beta.
    integrator : {"flow", "euler"}
        "euler": Eq. (MAP discrete dynamics) as printed. "flow": the exact solution of the same
        linear equation for p = exp M over a step eta (same fixed points, stable for any eta).
    gauge : bool
        Keep M^alpha_zw = m_zw - a_z, so that "-eta on all V synapses of the winner" is one write
        to a_z. The same numbers; needs one eta per neuron, hence `RobbinsMonro` for M^alpha.
    epsilon : float or float array [word]
        Topic neurons see J = log(exp M^alpha + epsilon_w); 0, the default here, is the paper's.
        Without it a word synapse that has lost a few races falls silent for good: a rare word
        stays with the topic that won it first, when the topics meant nothing yet. varphi K / N
        stands for varphi counts of the word in each topic (`word_smoothing`). Needs the flow: a
        synapse far below epsilon that wins would jump by eta exp(-M) in an Euler step.
    """

    n_topics: int
    doc_topic_prior: np.ndarray | None
    word_step: EventStepRule = field(default_factory=RobbinsMonro)
    doc_step: EventStepRule = field(default_factory=RobbinsMonro)
    integrator: str = "flow"
    gauge: bool = True
    epsilon: float | np.ndarray = 0.0

    def __post_init__(self) -> None:
        check_n_topics(self.n_topics)
        _require(
            self.integrator in INTEGRATORS, "integrator", f"one of {INTEGRATORS}", self.integrator
        )
        epsilon = np.asarray(self.epsilon, np.float64)
        _require(
            bool(np.all((epsilon >= 0) & np.isfinite(epsilon))), "epsilon",
            "finite and not negative", self.epsilon,
        )  # fmt: skip
        if self.smoothed and self.integrator == "euler":
            raise ParameterError(
                "epsilon > 0 needs integrator='flow': an Euler step eta exp(-M) of a synapse far "
                "below epsilon that wins has no bound; found integrator='euler'."
            )
        _check_rule("word_step", self.word_step, EventStepRule)
        _check_rule("doc_step", self.doc_step, EventStepRule)
        if self.gauge and not isinstance(self.word_step, RobbinsMonro):
            raise ParameterError(
                "gauge=True needs one eta per topic neuron, but word_step="
                f"{type(self.word_step).__name__} keeps one per synapse; pass gauge=False, or "
                "word_step=RobbinsMonro(...)."
            )
        if self.doc_topic_prior is not None:
            lamda = dirichlet_vector(self.doc_topic_prior, self.n_topics, "doc_topic_prior")
            require_map_prior(lamda)
            lamda.setflags(write=False)
            object.__setattr__(self, "doc_topic_prior", lamda)

    @property
    def smoothed(self) -> bool:
        """Whether topic neurons see more of M^alpha than the paper's."""
        return bool(np.any(np.asarray(self.epsilon) > 0))

    @property
    def kappa(self) -> float:
        """Sum of exp M^beta over topics on the manifold: sum(lambda - 1), or 1 for pLSI."""
        return 1.0 if self.doc_topic_prior is None else float((self.doc_topic_prior - 1.0).sum())

    def doc_drive(self, doc_lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The two constants of the M^beta rule for each document.

        Returns
        -------
        a : float array [doc]
            Decay 1/kappa + 1/N_d (1 for pLSI).
        c : float array [doc, topic]
            Drive without the spike, (lambda_z - 1)/N_d (0 for pLSI).
        """
        n_docs = len(doc_lengths)
        if self.doc_topic_prior is None:
            return np.ones(n_docs), np.zeros((n_docs, self.n_topics))
        inverse = 1.0 / np.maximum(doc_lengths, 1)  # an empty document shows no token: any value
        return 1.0 / self.kappa + inverse, np.outer(inverse, self.doc_topic_prior - 1.0)


@dataclass(frozen=True, eq=False)
class PrunedWords:
    """Which words keep a synapse of their own (paper's appendix "Network pruning").

    u_z receives M^alpha_zw if (z, w) is private and the fixed shared_z otherwise. Private synapses
    learn by Eq. (MAP discrete dynamics) as before, the decay included; a word without its own
    synapse makes the winner's private ones decay and changes nothing else of M^alpha.

    Attributes
    ----------
    private : bool array [topic, word]
    shared : float array [topic]
        Weight of the one synapse that stands for all other words of a topic,
        log(p_z / (V - n_z)); ignored for a topic whose words are all private.
    """

    private: np.ndarray
    shared: np.ndarray

    def __post_init__(self) -> None:
        private, shared = np.asarray(self.private), np.asarray(self.shared, np.float64)
        _require(private.ndim == 2 and private.dtype == bool, "private", "bool [topic, word]",
                 f"{private.dtype} of shape {private.shape}")  # fmt: skip
        _require(shared.shape == private.shape[:1], "shared",
                 f"one number per topic ({len(private)})", shared.shape)  # fmt: skip
        used = ~private.all(axis=1)
        _require(bool(np.isfinite(shared[used]).all()), "shared", "finite", shared)
        object.__setattr__(self, "private", private)
        object.__setattr__(self, "shared", shared)

    @property
    def n_private(self) -> np.ndarray:
        """Private words of each topic, int array [topic]."""
        return self.private.sum(axis=1)

    def require_shape(self, n_topics: int, n_words: int) -> None:
        """Refuse a pruning that was made for another network."""
        expected = (n_topics, n_words)
        _require(self.private.shape == expected, "pruned.private", f"[topic, word] = {expected}",
                 self.private.shape)  # fmt: skip


@dataclass(frozen=True)
class BatchParameters:
    """Parameters of semi-SpikeLDA (Alg. 4) and du-SpikeLDA (Remark 2).

    Attributes
    ----------
    n_topics : int
        K.
    doc_topic_prior : float array [topic]
        lambda: any positive value for semi-SpikeLDA, > 1 for du-SpikeLDA (checked there).
    topic_word_prior : float or float array [word]
        varphi >= 0, a smoothing of our own: the rate of a word synapse is exp(M^alpha) + epsilon,
        epsilon = varphi K / N with N the number of training tokens, as if each topic had seen each
        word varphi times more. 0 is the paper's model, which has no prior on Phi.
    local_iterations : int
        T: sweeps of burn-in, then as many that are counted.
    word_step : RobbinsMonro or RMSProp
        Step of M^alpha. RobbinsMonro counts the spikes of each topic neuron and adds up its eta
        over the batch; RMSProp is the paper's.
    doc_step : RobbinsMonro or RMSProp
        Step of M^beta of du-SpikeLDA; n counts the local iterations.
    integrator : {"flow", "euler"}
    """

    n_topics: int
    doc_topic_prior: np.ndarray
    topic_word_prior: float | np.ndarray = 0.0
    local_iterations: int = 5
    word_step: BatchStepRule = field(default_factory=RobbinsMonro)
    doc_step: BatchStepRule = field(default_factory=RobbinsMonro)
    integrator: str = "flow"

    def __post_init__(self) -> None:
        check_n_topics(self.n_topics)
        _require(
            self.integrator in INTEGRATORS, "integrator", f"one of {INTEGRATORS}", self.integrator
        )
        _require(
            isinstance(self.local_iterations, (int, np.integer)) and self.local_iterations >= 1,
            "local_iterations",
            "an integer of at least 1",
            self.local_iterations,
        )
        _check_rule("word_step", self.word_step, BatchStepRule)
        _check_rule("doc_step", self.doc_step, BatchStepRule)
        varphi = np.asarray(self.topic_word_prior)
        _require(
            varphi.ndim <= 1 and bool(np.isfinite(varphi).all() and (varphi >= 0).all()),
            "topic_word_prior",
            "a number or a vector of numbers, at least 0",
            self.topic_word_prior,
        )
        lamda = dirichlet_vector(self.doc_topic_prior, self.n_topics, "doc_topic_prior")
        lamda.setflags(write=False)
        object.__setattr__(self, "doc_topic_prior", lamda)


def require_map_prior(lamda: np.ndarray) -> None:
    """ed- and du-SpikeLDA are MAP: kappa = sum(lambda - 1) must be positive in each term."""
    if lamda.min() <= 1.0:
        raise ParameterError(
            "ed- and du-SpikeLDA are MAP estimators and need doc_topic_prior (lambda) > 1, so that "
            f"kappa = sum(lambda - 1) is positive; found {lamda.min():g}. Add 1 to a collapsed "
            "sampler's prior (0.1 becomes 1.1), or use SemiSpikeLDA, which takes any lambda > 0."
        )


def _check_rule(name: str, rule: Any, allowed: Any) -> None:
    kinds = " or ".join(kind.__name__ for kind in allowed.__args__)
    _require(isinstance(rule, allowed), name, kinds, rule)


def check_n_topics(n_topics: Any) -> None:
    _require(
        isinstance(n_topics, (int, np.integer)) and bool(n_topics >= 2),
        "n_topics",
        "an integer of at least 2",
        n_topics,
    )


def dirichlet_vector(value: float | np.ndarray, size: int, name: str) -> np.ndarray:
    """A Dirichlet parameter as a positive float vector [size]; scalars are symmetric priors."""
    vector = np.asarray(value, dtype=np.float64)
    if vector.ndim == 0:
        vector = np.full(size, float(vector))
    if vector.shape != (size,):
        raise ParameterError(
            f"{name} must be one number or a vector of length {size}; found shape {vector.shape}."
        )
    if not np.all(np.isfinite(vector)) or vector.min() <= 0:
        raise ParameterError(f"{name} must be positive and finite; found {value!r}.")
    return vector.copy()


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
