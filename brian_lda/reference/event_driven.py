r"""ed-SpikeLDA (Alg. 3) and ed-SpikePLSI (appendix) at rate level.

For each token (w, d): z ~ softmax(M^alpha_zw + M^beta_zd) [Alg. 1], then

.. math::
    M^\alpha_{zw} &\leftarrow M^\alpha_{zw} + \eta\,h_z (x_w e^{-M^\alpha_{zw}} - 1)
    \qquad \forall w \text{ of the winner} \\
    M^\beta_{zd} &\leftarrow M^\beta_{zd} + \eta\,x_d\big[(h_z + \tfrac{\lambda_z-1}{N_d})
    e^{-M^\beta_{zd}} - \tfrac1\kappa - \tfrac1{N_d}\big] \qquad \forall z

(pLSI: the appendix's rule, without prior and with kappa = 1), or their exact flow
(`brian_lda.reference.plasticity`). All right-hand sides use the values before the token.

Two ways of storing what the law only sees as M, both exact:

- gauge: M^alpha_zw = m_zw - a_z. "-eta on all V synapses of the winner" becomes a_z += eta, so a
  token costs O(K) instead of O(V).
- with the flow rule and one eta per document, M^beta is carried as p = exp M^beta, in which the
  rule is p <- e^{-a eta} p + (1 - e^{-a eta}) c/a: no transcendental function per topic.

A pruned network (appendix "Network pruning", `PrunedWords`) reads shared_z in place of M^alpha_zw
where topic z has no synapse of its own for word w. A spike of z caused by such a word strengthens
no synapse, but its -eta still reaches all private ones: in the gauge form, a_z += eta alone.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numba import njit

from brian_lda.errors import ParameterError
from brian_lda.parameters import (
    AdaGrad,
    EventDrivenParameters,
    EventStepRule,
    PrunedWords,
    RobbinsMonro,
    VarianceTracking,
)
from brian_lda.reference.activation import draw_winner, softmax_winner
from brian_lda.reference.plasticity import (
    euler,
    flow,
    log_add,
    robbins_monro,
    variance_tracking_eta,
)
from brian_lda.reference.random_streams import new_stream
from brian_lda.reference.word_weights import word_prior_vector

Order = Literal["C", "F"]  # of the weights in memory
_ROBBINS_MONRO, _VARIANCE_TRACKING, _ADAGRAD = 0, 1, 2
_SMALLEST_RATE = 1e-250  # below this the product of rates is redone in the log domain
_LOG_TINY = float(np.log(np.finfo(np.float64).tiny))


def initial_state(
    parameters: EventDrivenParameters, n_words: int, doc_lengths: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """Initial weights and step-size state, common to both twins.

    Paper's appendix "Network initialization": every synapse ~ N(1, 1), except M^beta = log(1/K)
    in SpikePLSI.

    Returns
    -------
    dict
        "M__alpha" [topic, word], "M__beta" [doc, topic], the counters "n_alpha" [topic] and
        "n_beta" [doc], and what the step rules keep per synapse: "s_1__alpha", "s_2__alpha",
        "G__alpha" and the same for beta (shapes of the weights), "eta_0__alpha", "eta_0__beta"
        (shape [1]; AdaGrad's base step).
    """
    K, n_docs = parameters.n_topics, len(doc_lengths)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
    M__alpha = rng.normal(1.0, 1.0, (K, n_words))
    if parameters.doc_topic_prior is None:
        M__beta = np.full((n_docs, K), -np.log(K))
    else:
        M__beta = rng.normal(1.0, 1.0, (n_docs, K))
    state = {
        "M__alpha": M__alpha,
        "M__beta": M__beta,
        "n_alpha": np.zeros(K),
        "n_beta": np.zeros(n_docs),
    }
    layers = (("alpha", parameters.word_step, M__alpha), ("beta", parameters.doc_step, M__beta))
    for layer, rule, M in layers:
        if isinstance(rule, VarianceTracking):
            state[f"s_1__{layer}"] = M.copy()
            state[f"s_2__{layer}"] = M * M + rule.initial_variance
        elif isinstance(rule, AdaGrad):
            state[f"G__{layer}"] = np.zeros_like(M)
            state[f"eta_0__{layer}"] = np.array([rule.eta])
    return state


class EventDrivenReference:
    """Rate-level twin of the spiking ed-SpikeLDA and ed-SpikePLSI networks.

    Parameters
    ----------
    parameters : EventDrivenParameters
    n_words : int
        V.
    doc_lengths : int array [doc]
        N_d of the training documents.
    seed : int
        Seeds the initial weights and the winners.
    initial : dict, optional
        A state as returned by `initial_state` or `state`; the default is `initial_state(...)`.
    pruned : PrunedWords, optional
        The words with a synapse of their own; the default is all.
    """

    def __init__(
        self,
        parameters: EventDrivenParameters,
        n_words: int,
        doc_lengths: np.ndarray,
        *,
        seed: int,
        initial: dict[str, np.ndarray] | None = None,
        pruned: PrunedWords | None = None,
    ) -> None:
        self.parameters = parameters
        self.pruned = pruned
        self._private, self._shared = np.zeros((0, 0), np.bool_), np.zeros(0)  # all private
        if pruned is not None:
            pruned.require_shape(parameters.n_topics, n_words)
            self._private, self._shared = np.array(pruned.private.T, order="C"), pruned.shared
        epsilon = word_prior_vector(parameters.epsilon, n_words, "epsilon")
        with np.errstate(divide="ignore"):
            self._log_epsilon = np.log(epsilon)  # -inf: the paper's network
        self._a, self._c = parameters.doc_drive(np.asarray(doc_lengths))
        self._stream = new_stream(seed, 1)
        self._flow = parameters.integrator == "flow"
        self._beta_as_rate = self._flow and isinstance(parameters.doc_step, RobbinsMonro)
        self._word_rule = _rule_code_and_values(parameters.word_step)
        self._doc_rule = _rule_code_and_values(parameters.doc_step)
        self.set_state(initial or initial_state(parameters, n_words, doc_lengths, seed))

    def present(
        self, words: np.ndarray, docs: np.ndarray, winners: np.ndarray | None = None
    ) -> np.ndarray:
        """Show a sequence of tokens: infer the topic of each, learn, return the winners.

        Parameters
        ----------
        words, docs : int array [token]
        winners : int array [token], optional
            Force these winners instead of sampling (to follow another network's spikes).

        Returns
        -------
        int32 array [token]
        """
        if len(words) != len(docs):
            raise ParameterError(
                f"words and docs must pair up; found {len(words)} and {len(docs)}."
            )
        _check_range("words", words, len(self._m__alpha))
        _check_range("docs", docs, len(self._beta))
        if winners is not None:
            _check_range("winners", winners, self.parameters.n_topics)
            if len(winners) != len(words):
                raise ParameterError(
                    f"winners must name one topic per token ({len(words)}); found {len(winners)}."
                )
        drawn = np.empty(len(words), np.int32) if winners is None else np.array(winners, np.int32)
        _present(
            np.ascontiguousarray(words, np.int32),
            np.ascontiguousarray(docs, np.int32),
            drawn,
            winners is not None,
            self._m__alpha,
            self._offset__alpha,
            self._n_alpha,
            self._word_memory,
            self._word_rule,
            self.parameters.gauge,
            self._private,
            self._shared,
            self._log_epsilon,
            self._beta,
            self._beta_as_rate,
            self._n_beta,
            self._doc_memory,
            self._doc_rule,
            self._a,
            self._c,
            self._flow,
            self._stream,
        )
        return drawn

    def end_pass(self) -> None:
        """End of a pass over the corpus: AdaGrad amplifies its base step by c."""
        for rule, memory in (
            (self.parameters.word_step, self._word_memory),
            (self.parameters.doc_step, self._doc_memory),
        ):
            if isinstance(rule, AdaGrad):
                base_step = memory[2]
                base_step *= rule.amplification

    @property
    def M__alpha(self) -> np.ndarray:
        """Weights of the word synapses, [topic, word]; where pruned, the shared synapse's."""
        M__alpha = np.ascontiguousarray((self._m__alpha - self._offset__alpha).T)
        if self.pruned is None:
            return M__alpha
        return np.where(self.pruned.private, M__alpha, self.pruned.shared[:, None])

    @property
    def M__beta(self) -> np.ndarray:
        """Weights of the document synapses, [doc, topic]."""
        if not self._beta_as_rate:
            return self._beta.copy()
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(self._beta), _LOG_TINY)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on (keys: see `initial_state`).

        Beside the weights, which either twin can go on from, the arrays in which this one stores
        them ("m__alpha", "a__alpha", "p__beta"): with those it goes on to the last bit.
        """
        state = {
            "M__alpha": self.M__alpha,
            "M__beta": self.M__beta,
            "n_alpha": self._n_alpha.copy(),
            "n_beta": self._n_beta.copy(),
            "stream": self._stream.copy(),
        }
        if self.parameters.gauge:
            state["m__alpha"] = np.array(self._m__alpha.T, order="C")
            state["a__alpha"] = self._offset__alpha.copy()
        if self._beta_as_rate:
            state["p__beta"] = self._beta.copy()
        for layer, rule, memory in (
            ("alpha", self.parameters.word_step, self._word_memory),
            ("beta", self.parameters.doc_step, self._doc_memory),
        ):
            oriented = (lambda x: np.array(x.T, order="C")) if layer == "alpha" else np.copy
            if isinstance(rule, VarianceTracking):
                state[f"s_1__{layer}"] = oriented(memory[0])
                state[f"s_2__{layer}"] = oriented(memory[1])
            elif isinstance(rule, AdaGrad):
                state[f"G__{layer}"] = oriented(memory[0])
                state[f"eta_0__{layer}"] = memory[2].copy()
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` or `initial_state`."""
        # The gauge form reads rows [word, :]; the literal form writes whole columns [:, z] of the
        # winner. The memory order follows, the indexing [word, topic] stays.
        order: Order = "C" if self.parameters.gauge else "F"
        exact = self.parameters.gauge and "m__alpha" in state
        m__alpha = state["m__alpha" if exact else "M__alpha"]
        self._m__alpha = np.array(m__alpha.T, np.float64, order=order)
        self._offset__alpha = np.zeros(self.parameters.n_topics)
        if exact:
            self._offset__alpha += state["a__alpha"]
        M__beta = np.array(state["M__beta"], np.float64, order="C")
        if self._beta_as_rate and "p__beta" in state:
            self._beta = np.array(state["p__beta"], np.float64, order="C")
        else:
            self._beta = np.exp(M__beta) if self._beta_as_rate else M__beta
        self._n_alpha = np.array(state["n_alpha"], np.float64)
        self._n_beta = np.array(state["n_beta"], np.float64)
        if "stream" in state:
            self._stream = np.array(state["stream"], np.uint64)
        self._word_memory = _synapse_memory(self.parameters.word_step, state, "alpha", order)
        self._doc_memory = _synapse_memory(self.parameters.doc_step, state, "beta", "C")


def _check_range(name: str, values: np.ndarray, size: int) -> None:
    """The kernel reads without bounds checks."""
    if len(values) and (np.min(values) < 0 or np.max(values) >= size):
        raise ParameterError(
            f"{name} must lie in 0..{size - 1}; found {np.min(values)}..{np.max(values)}."
        )


def _rule_code_and_values(rule: EventStepRule) -> tuple[int, float, float, float, float]:
    if isinstance(rule, RobbinsMonro):
        return _ROBBINS_MONRO, rule.scale, rule.offset, rule.power, rule.floor
    if isinstance(rule, VarianceTracking):
        return _VARIANCE_TRACKING, 0.0, 0.0, 0.0, 0.0
    return _ADAGRAD, rule.epsilon, 0.0, 0.0, 0.0


def _synapse_memory(
    rule: EventStepRule, state: dict[str, np.ndarray], layer: str, order: Order
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a rule keeps per synapse, as (first, second, base step), indexed like the weights."""

    def oriented(key: str) -> np.ndarray:
        x = state[key].T if layer == "alpha" else state[key]
        return np.array(x, np.float64, order=order)

    empty = np.zeros((0, 0), order=order)
    if isinstance(rule, VarianceTracking):
        return oriented(f"s_1__{layer}"), oriented(f"s_2__{layer}"), np.zeros(1)
    if isinstance(rule, AdaGrad):
        return oriented(f"G__{layer}"), empty, np.array(state[f"eta_0__{layer}"], np.float64)
    return empty, empty.copy(order="K"), np.zeros(1)


@njit(inline="always")
def _update_synapse(M, i, j, c, a, eta_neuron, memory, rule, is_flow):
    """One synapse M[i, j] under its step rule: first eta, then the integrator."""
    code, epsilon = rule[0], rule[1]
    first, second, base = memory
    eta = eta_neuron
    if code == 1:
        eta = variance_tracking_eta(first[i, j], second[i, j])
    elif code == 2:
        g = c * np.exp(-M[i, j]) - a
        first[i, j] += g * g
        eta = base[0] / np.sqrt(first[i, j] + epsilon)
    M[i, j] = flow(M[i, j], c, a, eta) if is_flow else euler(M[i, j], c, a, eta)
    if code == 1:
        first[i, j] += eta * (M[i, j] - first[i, j])
        second[i, j] += eta * (M[i, j] * M[i, j] - second[i, j])


@njit(inline="always")
def _infer(
    m__alpha, offset, private, shared, log_epsilon, beta, beta_as_rate, w, d, u, rate, stream
):
    """Alg. 1 for the token (w, d), with J = log(exp M^alpha + epsilon_w) in place of M^alpha."""
    K = rate.shape[0]
    pruned, smoothed = private.shape[0] > 0, log_epsilon > -np.inf
    for z in range(K):
        u[z] = m__alpha[w, z] - offset[z]
    if pruned:
        for z in range(K):
            if not private[w, z]:
                u[z] = shared[z]
    if beta_as_rate:
        top = log_epsilon
        for z in range(K):
            top = max(top, u[z])
        epsilon = np.exp(log_epsilon - top)
        total = 0.0
        for z in range(K):
            rate[z] = np.exp(u[z] - top)
            if smoothed and not (pruned and not private[w, z]):
                rate[z] += epsilon
            rate[z] *= beta[d, z]
            total += rate[z]
        if total > _SMALLEST_RATE:
            return draw_winner(rate, total, stream)
    for z in range(K):
        if smoothed and not (pruned and not private[w, z]):
            u[z] = log_add(u[z], log_epsilon)
        u[z] += max(np.log(beta[d, z]), _LOG_TINY) if beta_as_rate else beta[d, z]
    return softmax_winner(u, rate, stream)


@njit(cache=True)
def _present(
    words, docs, winners, forced,
    m__alpha, offset, n_alpha, word_memory, word_rule, gauge, private, shared, log_epsilon,
    beta, beta_as_rate, n_beta, doc_memory, doc_rule, a, c, is_flow, stream,
):  # fmt: skip
    V, K = m__alpha.shape
    pruned = private.shape[0] > 0
    u, rate = np.empty(K), np.empty(K)
    for i in range(words.shape[0]):
        w, d = words[i], docs[i]
        if not forced:
            winners[i] = _infer(
                m__alpha, offset, private, shared, log_epsilon[w], beta, beta_as_rate, w, d,
                u, rate, stream,
            )  # fmt: skip
        z = winners[i]

        eta = 0.0
        if word_rule[0] == 0:
            eta = robbins_monro(n_alpha[z], word_rule[1], word_rule[2], word_rule[3], word_rule[4])
        if gauge:  # m_zw - a_z: the active synapse gains, the neuron's offset takes the -eta of all
            m = m__alpha[w, z]
            if pruned and not private[w, z]:
                pass  # the shared synapse is fixed
            elif is_flow:
                m__alpha[w, z] = log_add(m, offset[z] + eta + np.log(-np.expm1(-eta)))
            else:
                m__alpha[w, z] = m + eta * np.exp(offset[z] - m)
            offset[z] += eta
        else:
            for v in range(V):
                if pruned and not private[v, z]:
                    continue
                x = 1.0 if v == w else 0.0
                _update_synapse(m__alpha, v, z, x, 1.0, eta, word_memory, word_rule, is_flow)
        n_alpha[z] += 1.0

        if doc_rule[0] == 0:
            eta = (
                robbins_monro(n_beta[d], doc_rule[1], doc_rule[2], doc_rule[3], doc_rule[4]) / a[d]
            )
        if beta_as_rate:  # flow in p = exp M
            decay = np.exp(-a[d] * eta)
            gain = (1.0 - decay) / a[d]
            for k in range(K):
                beta[d, k] = decay * beta[d, k] + gain * c[d, k]
            beta[d, z] += gain
        else:
            for k in range(K):
                drive = c[d, k] + (1.0 if k == z else 0.0)
                _update_synapse(beta, d, k, drive, a[d], eta, doc_memory, doc_rule, is_flow)
        n_beta[d] += 1.0
