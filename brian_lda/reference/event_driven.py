r"""What ed-SpikeLDA and ed-SpikePLSI share at rate level: one token after the other.

For each token (w, d): z ~ softmax(M^alpha_zw + M^beta_zd) [Alg. 1], then

.. math::
    M^\alpha_{zw} \leftarrow M^\alpha_{zw} + \eta\,h_z (x_w e^{-M^\alpha_{zw}} - 1)
    \qquad \forall w \text{ of the winner}

and the rule of M^beta in `ed_spike_lda` or `ed_spike_plsi`, or their exact flow
(`brian_lda.reference.plasticity`). All right-hand sides use the values before the token. What a
prior on Phi adds is in `event_driven_kernel`.

Two ways of storing what the law only sees as M, both exact:

- gauge: M^alpha_zw = m_zw - a_z. "-eta on all V synapses of the winner" becomes a_z += eta, so a
  token costs O(K) instead of O(V).
- with the flow rule and one eta per document, M^beta is carried as p = exp M^beta, in which the
  rule is p <- e^{-a eta} p + (1 - e^{-a eta}) c/a: no transcendental function per topic.

A pruned network (appendix "Network pruning", `PrunedWords`) reads `tied` in place of M^alpha_zw
where topic z has no synapse of its own for word w. A spike of z caused by such a word strengthens
no synapse, but its -eta still reaches all private ones: in the gauge form, a_z += eta alone.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.external_memory import DocumentSlots
from brian_lda.initial_weights import initial_state, word_prior_vector
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.reference.event_driven_kernel import LOG_TINY, present_tokens, word_rates
from brian_lda.reference.random_streams import new_stream
from brian_lda.seen_weights import seen_weights
from brian_lda.step_rules import EventStepRule

Order = Literal["C", "F"]  # of the weights in memory


class EventDrivenTwin:
    """Rate-level ed-SpikeLDA or ed-SpikePLSI: `parameters.doc_topic_prior` tells which.

    Code that is about one of them takes `EdSpikeLDAReference` or `EdSpikePLSIReference`.

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
    document_slots : int, optional
        m, documents on the chip at a time; the default is all.

    Attributes
    ----------
    slots : DocumentSlots or None
        With `document_slots`: which documents are on the chip, and the swaps so far. The law does
        not depend on them, the order of the tokens may.
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
        document_slots: int | None = None,
    ) -> None:
        self._check_prior(parameters)
        self.slots: DocumentSlots | None = None
        if document_slots is not None:
            self.slots = DocumentSlots(min(document_slots, len(doc_lengths)))
        self.parameters = parameters
        self.pruned = pruned
        self._private, self._shared = np.zeros((0, 0), np.bool_), np.zeros((0, 0))  # all private
        if pruned is not None:
            pruned.require_shape(parameters.n_topics, n_words)
            self._private = np.array(pruned.private.T, order="C")
            self._shared = np.array(pruned.tied.T, order="C")
        self._varphi = word_prior_vector(parameters.topic_word_prior, n_words)
        self._per_token = 1.0 / parameters.n_tokens(doc_lengths)
        self._rates: tuple[np.ndarray, np.ndarray] | None = None
        self._a, self._c = parameters.doc_drive(np.asarray(doc_lengths))
        self._stream = new_stream(seed, 1)
        self._flow = parameters.integrator == "flow"
        self._beta_as_rate = self._flow and parameters.doc_step.per_neuron
        self._word_rule = parameters.word_step.kernel_rule
        self._doc_rule = parameters.doc_step.kernel_rule
        self.set_state(initial or initial_state(parameters, n_words, doc_lengths, seed))

    @staticmethod
    def _check_prior(parameters: EventDrivenParameters) -> None:
        """Refuse the parameters of the other algorithm; here both are welcome."""

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
        check_range("words", words, len(self._m__alpha))
        check_range("docs", docs, len(self._beta))
        if winners is not None:
            check_range("winners", winners, self.parameters.n_topics)
            if len(winners) != len(words):
                raise ParameterError(
                    f"winners must name one topic per token ({len(words)}); found {len(winners)}."
                )
        drawn = np.empty(len(words), np.int32) if winners is None else np.array(winners, np.int32)
        if self.slots is not None:
            self.slots.show_all(docs)
        if self._rates is None:
            self._rates = self._word_rates()
        present_tokens(
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
            self._varphi,
            self._per_token,
            self._s_alpha,
            self._Delta_alpha,
            *self._rates,
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

    def follow(self, words: np.ndarray, docs: np.ndarray, winners: np.ndarray) -> np.ndarray:
        """Learn from another network's winners, and say before each how likely every topic was.

        Parameters
        ----------
        words, docs, winners : int array [token]

        Returns
        -------
        float array [token, topic]
            softmax(u) before each token, given all winners before it.
        """
        p = np.empty((len(words), self.parameters.n_topics))
        for i in range(len(words)):
            u = self._potentials(words[i], docs[i])
            p[i] = np.exp(u - u.max())
            one = slice(i, i + 1)
            self.present(words[one], docs[one], winners[one])
        return p / p.sum(axis=1, keepdims=True)

    def _potentials(self, word: int, doc: int) -> np.ndarray:
        """u = J^alpha.x + M^beta.x [topic] of the token (word, doc), Alg. 1 line 5."""
        M__alpha = self._m__alpha[word] - self._offset__alpha
        with np.errstate(divide="ignore"):  # without a prior on Phi, and of a silent synapse
            J__alpha = np.logaddexp(M__alpha, np.log(self._varphi[word] * self._s_alpha))
            M__beta = np.log(self._beta[doc]) if self._beta_as_rate else self._beta[doc]
        if self.pruned is not None:
            J__alpha = np.where(self._private[word], J__alpha, self._shared[word])
        return J__alpha + np.maximum(M__beta, LOG_TINY)

    def _word_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """What `word_rates` of the kernel returns; empty where it does not serve."""
        if self.parameters.gauge and self._beta_as_rate and self.pruned is None:
            return word_rates(self._m__alpha, self._offset__alpha)
        return np.zeros((0, 0)), np.zeros(0)

    def end_pass(self) -> None:
        """End of a pass over the corpus: AdaGrad amplifies its base step by c."""
        for rule, memory in (
            (self.parameters.word_step, self._word_memory),
            (self.parameters.doc_step, self._doc_memory),
        ):
            base_step = memory[2]
            base_step *= rule.amplification

    @property
    def M__alpha(self) -> np.ndarray:
        """Weights of the word synapses, [topic, word]; where pruned, the shared synapse's.

        The prior on Phi is not part of them.
        """
        M__alpha = np.ascontiguousarray((self._m__alpha - self._offset__alpha).T)
        if self.pruned is None:
            return M__alpha
        return self.pruned.seen(M__alpha)

    @property
    def J__alpha(self) -> np.ndarray:
        """What topic neurons see of them, [topic, word] (`seen_weights`)."""
        return seen_weights(self.M__alpha, self._s_alpha, self.parameters, self.pruned)

    @property
    def M__beta(self) -> np.ndarray:
        """Weights of the document synapses, [doc, topic]."""
        if not self._beta_as_rate:
            return self._beta.copy()
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(self._beta), LOG_TINY)

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
        if self.parameters.smoothed:
            state["s_alpha"] = self._s_alpha.copy()
            state["Delta_alpha"] = self._Delta_alpha.copy()
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
            for name, array in zip(rule.synapse_memory, memory, strict=False):
                state[f"{name}__{layer}"] = oriented(array)
            if memory[2][0] > 0:
                state[f"eta_0__{layer}"] = memory[2].copy()
        return state if self.slots is None else {**state, **self.slots.state()}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` or `initial_state`."""
        # The gauge form reads rows [word, :]; the literal form writes whole columns [:, z] of the
        # winner. The memory order follows, the indexing [word, topic] stays.
        order: Order = "C" if self.parameters.gauge else "F"
        exact = self.parameters.gauge and "m__alpha" in state
        m__alpha = state["m__alpha" if exact else "M__alpha"]
        self._rates = None  # made when they are needed
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
        nothing = np.zeros(self.parameters.n_topics)
        self._s_alpha = np.array(state.get("s_alpha", nothing), np.float64)
        self._Delta_alpha = np.array(state.get("Delta_alpha", nothing), np.float64)
        if "stream" in state:
            self._stream = np.array(state["stream"], np.uint64)
        if self.slots is not None:
            self.slots = DocumentSlots(self.slots.n_slots)
            if "slots" in state:
                self.slots.set_state(state)
        self._word_memory = _synapse_memory(self.parameters.word_step, state, "alpha", order)
        self._doc_memory = _synapse_memory(self.parameters.doc_step, state, "beta", "C")


def check_range(name: str, values: np.ndarray, size: int) -> None:
    """The kernel reads without bounds checks."""
    if len(values) and (np.min(values) < 0 or np.max(values) >= size):
        raise ParameterError(
            f"{name} must lie in 0..{size - 1}; found {np.min(values)}..{np.max(values)}."
        )


def _synapse_memory(
    rule: EventStepRule, state: dict[str, np.ndarray], layer: str, order: Order
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a rule keeps per synapse, as (first, second, base step), indexed like the weights."""

    def oriented(key: str) -> np.ndarray:
        x = state[key].T if layer == "alpha" else state[key]
        return np.array(x, np.float64, order=order)

    arrays = [oriented(f"{name}__{layer}") for name in rule.synapse_memory]
    first, second = (*arrays, *(np.zeros((0, 0), order=order) for _ in range(2)))[:2]
    return first, second, np.array(state.get(f"eta_0__{layer}", [0.0]), np.float64)
