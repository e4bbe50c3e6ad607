"""What both twins of an algorithm are told: priors, step-size rules, integrator.

The rate-level reference (`brian_lda.reference`) and the spiking networks (`brian_lda.models`)
take the same frozen objects, so that switching the backend changes nothing but the backend.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.step_rules import BatchStepRule, EventStepRule, RobbinsMonro


def _require(condition: bool, name: str, expected: str, found: Any) -> None:
    if not condition:
        raise ParameterError(f"{name} must be {expected}; found {found!r}.")


INTEGRATORS = ("flow", "euler")


@dataclass(frozen=True)
class EventDrivenParameters:
    """Parameters of ed-SpikeLDA (Alg. 3) and ed-SpikePLSI (appendix).

    Attributes
    ----------
    doc_topic_prior : float array [topic] or None
        lambda, every entry > 1 (kappa = sum(lambda - 1) must be positive). None: pLSI, no prior
        of theta, kappa = 1 and the M^beta rule of the appendix.
    n_topics : int
        K.
    word_step, doc_step : step rules of M^alpha and M^beta.
    integrator : {"flow", "euler"}
        "euler": Eq. (MAP discrete dynamics) as printed. "flow": the exact solution of the same
        linear equation for p = exp M over a step eta (same fixed points, stable for any eta).
    gauge : bool
        Keep M^alpha_zw = m_zw - a_z, so that "-eta on all V synapses of the winner" is one write
        to a_z. The same numbers; needs one eta per neuron, hence `RobbinsMonro` for M^alpha.
    topic_word_prior : float or float array [word]
        varphi >= 0, pseudo-counts: the prior Dirichlet(varphi + 1) on each phi_z, of which the
        network finds the MAP (`docs/smoothing.md`). Topic neurons see exp M^alpha + varphi_w s_z.
        0, the default here, is the paper's network, in which a word synapse that has lost a few
        races falls silent for good: a rare word stays with the topic that won it first, when the
        topics meant nothing yet. Needs the flow and one eta per neuron: all synapses of a topic
        share one s_z.
    n_training_tokens : float, optional
        N, what the pseudo-counts are compared with: varphi_w/N a token. The default is the number
        of tokens in the documents.
    """

    n_topics: int
    doc_topic_prior: np.ndarray | None
    word_step: EventStepRule = field(default_factory=RobbinsMonro)
    doc_step: EventStepRule = field(default_factory=RobbinsMonro)
    integrator: str = "flow"
    gauge: bool = True
    topic_word_prior: float | np.ndarray = 0.0
    n_training_tokens: float | None = None

    def __post_init__(self) -> None:
        check_n_topics(self.n_topics)
        _require(
            self.integrator in INTEGRATORS, "integrator", f"one of {INTEGRATORS}", self.integrator
        )
        _check_rule("word_step", self.word_step, EventStepRule)
        _check_rule("doc_step", self.doc_step, EventStepRule)
        check_word_prior(self.topic_word_prior)
        if self.smoothed:
            self._require_a_network_with_word_prior()
        N = self.n_training_tokens
        _require(
            N is None or bool(np.isfinite(N) and N > 0), "n_training_tokens", "positive or None", N
        )
        if self.gauge and not self.word_step.per_neuron:
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

    def _require_a_network_with_word_prior(self) -> None:
        """Refuse a prior on Phi where there is no rule for it."""
        if self.integrator != "flow" or not self.word_step.per_neuron:
            raise ParameterError(
                "topic_word_prior > 0 needs integrator='flow' and word_step=RobbinsMonro(...), one "
                f"step for all words of a topic; found {self.integrator!r} and word_step="
                f"{type(self.word_step).__name__}. With topic_word_prior=0 any form runs."
            )

    def require_split(self) -> None:
        """Refuse what parts of topic neurons cannot follow from spikes alone."""
        if self.doc_topic_prior is None or self.integrator != "flow":
            raise ParameterError(
                "word_synapses splits ed-SpikeLDA with integrator='flow'; found doc_topic_prior="
                f"{self.doc_topic_prior!r}, integrator={self.integrator!r}."
            )
        if not (self.word_step.per_neuron and self.doc_step.per_neuron):
            raise ParameterError(
                "word_synapses needs RobbinsMonro steps, one for all synapses of a neuron; found "
                f"{type(self.word_step).__name__} and {type(self.doc_step).__name__}."
            )

    @property
    def smoothed(self) -> bool:
        """Whether there is a prior on Phi, so that topic neurons see more than exp M^alpha."""
        return bool(np.any(np.asarray(self.topic_word_prior) > 0))

    def n_tokens(self, doc_lengths: np.ndarray) -> float:
        """N: `n_training_tokens`, or the tokens of these documents; at least 1."""
        N = np.sum(doc_lengths) if self.n_training_tokens is None else self.n_training_tokens
        return max(float(N), 1.0)

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

    u_z receives M^alpha_zw if (z, w) is private and the fixed shared_z + word_bias_w otherwise. The
    bias is the same for all topics, so that it may as well be taken off the private synapses of the
    word: it needs no synapse of its own, and in the paper there is none. Private synapses learn by
    Eq. (MAP discrete dynamics) as before, the decay included; a word without its own synapse makes
    the winner's private ones decay and changes nothing else of M^alpha.

    Attributes
    ----------
    private : bool array [topic, word]
    shared : float array [topic]
        Weight of the one synapse that stands for all other words of a topic,
        log(p_z / (V - n_z)); ignored for a topic whose words are all private.
    word_bias : float array [word], optional
        log f_w in a back-off to the words' shares of the corpus; the default is 0.
    """

    private: np.ndarray
    shared: np.ndarray
    word_bias: np.ndarray | None = None

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
        bias = np.zeros(private.shape[1]) if self.word_bias is None else self.word_bias
        bias = np.asarray(bias, np.float64)
        _require(bias.shape == private.shape[1:] and bool(np.isfinite(bias).all()), "word_bias",
                 f"one finite number per word ({private.shape[1]})", self.word_bias)  # fmt: skip
        object.__setattr__(self, "word_bias", bias)

    @property
    def n_private(self) -> np.ndarray:
        """Private words of each topic, int array [topic]."""
        return self.private.sum(axis=1)

    @property
    def tied(self) -> np.ndarray:
        """What words without a synapse of their own bring, [topic, word]."""
        return self.shared[:, None] + self.word_bias

    def seen(self, M__alpha: np.ndarray) -> np.ndarray:
        """The weights that topic neurons hear, [topic, word], from those of all synapses."""
        return np.where(self.private, M__alpha, self.tied)

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
        varphi >= 0, ours: a pass over the training tokens counts each word varphi times more for
        each topic, as a Dirichlet prior on Phi does (`docs/smoothing.md`). 0 is the paper's model,
        which has none.
    local_iterations : int
        T: sweeps of burn-in, then as many that are counted.
    word_step : RobbinsMonro or RMSProp
        Step of M^alpha. RobbinsMonro counts the spikes of each topic neuron and adds up its eta
        over the batch; RMSProp is the paper's.
    doc_step : RobbinsMonro or RMSProp
        Step of M^beta of du-SpikeLDA. RobbinsMonro moves it with each token; eta and n count in
        passes through the document. RMSProp, the paper's, moves it once a local iteration.
    integrator : {"flow", "euler"}
    exclude_own_votes : bool
        semi-SpikeLDA, ours: a token is raced without its own votes of earlier passes
        (`brian_lda.own_votes`). Takes RobbinsMonro as `word_step`, the flow, and a prior of every
        word; without them, and in the paper's network, nothing is taken out.
    """

    n_topics: int
    doc_topic_prior: np.ndarray
    topic_word_prior: float | np.ndarray = 0.0
    local_iterations: int = 5
    word_step: BatchStepRule = field(default_factory=RobbinsMonro)
    doc_step: BatchStepRule = field(default_factory=RobbinsMonro)
    integrator: str = "flow"
    exclude_own_votes: bool = False

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
        _require(
            isinstance(self.exclude_own_votes, (bool, np.bool_)),
            "exclude_own_votes",
            "True or False",
            self.exclude_own_votes,
        )
        check_word_prior(self.topic_word_prior)
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


def check_word_prior(topic_word_prior: float | np.ndarray) -> None:
    varphi = number_array(topic_word_prior, "topic_word_prior")
    _require(
        varphi.ndim <= 1 and bool(np.isfinite(varphi).all() and (varphi >= 0).all()),
        "topic_word_prior",
        "a number or a vector of numbers, at least 0",
        topic_word_prior,
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


def number_array(value: Any, name: str) -> np.ndarray:
    """A parameter that is a number or a vector of numbers, as a float array."""
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{name} must be a number or a vector of numbers; found {value!r}."
        ) from error


def dirichlet_vector(value: float | np.ndarray, size: int, name: str) -> np.ndarray:
    """A Dirichlet parameter as a positive float vector [size]; scalars are symmetric priors."""
    vector = number_array(value, name)
    if vector.ndim == 0:
        vector = np.full(size, float(vector))
    if vector.shape != (size,):
        raise ParameterError(
            f"{name} must be one number or a vector of length {size}; found shape {vector.shape}."
        )
    if not np.all(np.isfinite(vector)) or vector.min() <= 0:
        raise ParameterError(f"{name} must be positive and finite; found {value!r}.")
    return vector.copy()
