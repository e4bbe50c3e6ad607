r"""ed-SpikeLDA with split topic neurons at rate level (`models/ed_spike_lda_split.py`).

Part (z, b) of topic z, for the words of block b = w mod B, keeps its own copies of g, s, the
counters and q; a token's winner z ~ rate of the K parts of its word's block

.. math:: \big(w_{zw}\,g_z^{(b)} + \varphi_w s_z^{(b)}\big)\,
          \big(G_d\,q_{zd}^{(b)} + S_d\,(\lambda_z - 1)\big)

and then all B parts of the winner take their steps, each from what it keeps. A token costs
O(K + B). The random number of a token is the one that the whole network would draw.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from brian_lda.constraints import Constraints, n_blocks_for
from brian_lda.errors import CopyError, ParameterError
from brian_lda.external_memory import DocumentSlots
from brian_lda.initial_weights import initial_state, word_prior_vector
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.reference.activation import draw_winner, softmax_winner
from brian_lda.reference.event_driven import check_range
from brian_lda.reference.event_driven_kernel import LARGEST_DECAY, SMALLEST_RATE
from brian_lda.reference.plasticity import robbins_monro
from brian_lda.reference.random_streams import new_stream
from brian_lda.seen_weights import seen_weights

SMALL = 1e-60  # g and G are folded into w and q below this
SMALLEST = 1e-100  # of exp M; a synapse that has lost that much is silent for good


class EdSpikeLDASplitReference:
    """Rate-level ed-SpikeLDA within a limit of fan-in, with the interface of `EventDrivenTwin`.

    Parameters
    ----------
    parameters : EventDrivenParameters
        With a prior on theta, `RobbinsMonro` steps and the flow.
    n_words, doc_lengths, seed, initial
        As in `EventDrivenTwin`.
    constraints : Constraints
        With `word_synapses` and `document_slots`.

    Attributes
    ----------
    slots : DocumentSlots
        Which documents are on the chip, and the swaps so far.
    n_blocks : int
        B.
    """

    pruned: PrunedWords | None = None

    def __init__(
        self,
        parameters: EventDrivenParameters,
        n_words: int,
        doc_lengths: np.ndarray,
        *,
        seed: int,
        constraints: Constraints,
        initial: dict[str, np.ndarray] | None = None,
    ) -> None:
        parameters.require_split()
        assert parameters.doc_topic_prior is not None
        assert constraints.word_synapses is not None and constraints.document_slots is not None
        self.parameters, self._lamda = parameters, parameters.doc_topic_prior
        doc_lengths = np.asarray(doc_lengths)
        self.n_blocks = n_blocks_for(n_words, constraints.word_synapses)
        self.slots = DocumentSlots(min(constraints.document_slots, len(doc_lengths)))
        self._varphi = word_prior_vector(parameters.topic_word_prior, n_words)
        self._per_token = 1.0 / parameters.n_tokens(doc_lengths)
        self._a, _ = parameters.doc_drive(doc_lengths)
        self._per_doc_token = 1.0 / np.maximum(doc_lengths, 1)
        self._stream = new_stream(seed, 1)
        m = self.slots.n_slots
        self._q = np.ones((m, self.n_blocks, parameters.n_topics))
        self._G, self._S = np.ones(m), np.zeros(m)
        self._n_slot, self._a_slot, self._per_token_slot = np.zeros(m), np.ones(m), np.ones(m)
        self._now = 0.0
        self.set_state(initial or initial_state(parameters, n_words, doc_lengths, seed))

    def present(
        self, words: np.ndarray, docs: np.ndarray, winners: np.ndarray | None = None
    ) -> np.ndarray:
        """Show a sequence of tokens, swapping documents; see `EventDrivenTwin.present`."""
        if len(words) != len(docs):
            raise ParameterError(
                f"words and docs must pair up; found {len(words)} and {len(docs)}."
            )
        check_range("words", words, len(self._w))
        check_range("docs", docs, len(self._p))
        if winners is not None:
            check_range("winners", winners, self.parameters.n_topics)
            if len(winners) != len(words):
                raise ParameterError(
                    f"there must be one winner per token; found {len(winners)} for {len(words)}."
                )
        words = np.ascontiguousarray(words, np.int32)
        drawn = np.empty(len(words), np.int32) if winners is None else np.array(winners, np.int32)
        for run in self.slots.runs(docs, most_tokens=2**31, most_shows=2**31):
            self._read_in(run.read_in)
            part = slice(run.start, run.stop)
            self._now = present_tokens(
                words[part], run.slots, drawn[part], winners is not None, self._w,
                self._g, self._s, self._n, self._last, self._now, self._varphi, self._per_token,
                self.parameters.word_step.kernel_rule, self._q, self._G, self._S,
                self._n_slot, self._a_slot, self._per_token_slot, self._lamda,
                self.parameters.doc_step.kernel_rule, self._stream,
            )  # fmt: skip
            self._write_out()
        self._read_in(self.slots.doc_in_slot)  # with G = 1: a resumed network has the same bits
        self._last -= self._now
        self._now = 0.0
        return drawn

    def _read_in(self, docs: dict[int, int]) -> None:
        """Bring documents onto the chip, by slot."""
        for slot, doc in docs.items():
            self._q[slot] = self._p[doc]  # the copies of all parts
            self._G[slot], self._S[slot], self._n_slot[slot] = 1.0, 0.0, self._n_beta[doc]
            self._a_slot[slot], self._per_token_slot[slot] = self._a[doc], self._per_doc_token[doc]

    def _write_out(self) -> None:
        """The weights of the documents on the chip, into external memory."""
        held = self.slots.doc_in_slot
        slots, docs = list(held.keys()), list(held.values())
        q = self._agreed("q")
        p = self._G[:, None] * q + np.outer(self._S, self._lamda - 1)
        self._p[docs], self._n_beta[docs] = p[slots], self._n_slot[slots]

    def _agreed(self, name: str) -> np.ndarray:
        """One of the copies [..., block, topic] that all parts keep."""
        copies = getattr(self, f"_{name}")
        first = copies[..., :1, :]
        if not np.array_equal(copies, np.broadcast_to(first, copies.shape)):
            raise CopyError(
                f"the {copies.shape[-2]} parts of a topic must keep the same {name}, each from the "
                "spikes that it hears; they do not."
            )
        return first[..., 0, :]

    def end_pass(self) -> None:
        """Steps of Robbins and Monro do not know of passes."""

    @property
    def M__alpha(self) -> np.ndarray:
        """Weights of the word synapses, [topic, word]; the prior on Phi is not part of them."""
        return np.log(self._w * self._agreed("g")).T

    @property
    def J__alpha(self) -> np.ndarray:
        """What parts see of them, [topic, word] (`seen_weights`)."""
        return seen_weights(self.M__alpha, self._agreed("s"), self.parameters)

    @property
    def M__beta(self) -> np.ndarray:
        """Weights of the document synapses, on the chip and beside it, [doc, topic]."""
        return np.log(self._p)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on; with the weights a whole network goes on."""
        return {
            "M__alpha": self.M__alpha,
            "M__beta": self.M__beta,
            "w": np.ascontiguousarray(self._w.T),
            "g": self._agreed("g").copy(),
            "p": self._p.copy(),
            "s_alpha": self._agreed("s").copy(),
            "Delta_alpha": self._now - self._agreed("last"),
            "n_alpha": self._agreed("n").copy(),
            "n_beta": self._n_beta.copy(),
            "stream": self._stream.copy(),
            **self.slots.state(),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` of either twin, split or whole."""
        K, B = self.parameters.n_topics, self.n_blocks
        exact = {"w", "g", "p"} <= set(state)
        w = state["w"] if exact else np.maximum(np.exp(state["M__alpha"]), SMALLEST)
        p = state["p"] if exact else np.maximum(np.exp(state["M__beta"]), SMALLEST)
        self._w, self._p = np.array(w.T, np.float64, order="C"), np.array(p, np.float64)
        nothing, ones = np.zeros(K), np.ones(K)

        def copies(array: np.ndarray) -> np.ndarray:
            return np.repeat(np.asarray(array, np.float64)[None, :], B, axis=0)

        self._g = copies(state["g"] if exact else ones)
        self._s = copies(state.get("s_alpha", nothing))
        self._n = copies(state["n_alpha"])
        self._last, self._now = -copies(state.get("Delta_alpha", nothing)), 0.0
        self._n_beta = np.array(state["n_beta"], np.float64)
        if "stream" in state:
            self._stream = np.array(state["stream"], np.uint64)
        self.slots = DocumentSlots(self.slots.n_slots)
        if "slots" in state:
            self.slots.set_state(state)
            self._read_in(self.slots.doc_in_slot)


@njit(cache=True)
def present_tokens(
    words, docs, winners, forced, w,
    g, s, n, last, now, varphi, per_token, word_rule, q, G, S,
    n_beta, a, per_doc_token, lamda, doc_rule, stream,
):  # fmt: skip
    """The token loop; docs are slots. Returns the number of tokens so far."""
    B, K = g.shape
    Vbar = varphi.sum()
    rate, u = np.empty(K), np.empty(K)
    for i in range(words.shape[0]):
        v, d = words[i], docs[i]
        b = v % B
        if not forced:
            total = 0.0
            for z in range(K):
                p = G[d] * q[d, b, z] + S[d] * (lamda[z] - 1.0)
                rate[z] = (w[v, z] * g[b, z] + varphi[v] * s[b, z]) * p
                total += rate[z]
            if total > SMALLEST_RATE:
                winners[i] = draw_winner(rate, total, stream)
            else:  # too small to tell: in the log domain
                for z in range(K):
                    p = G[d] * q[d, b, z] + S[d] * (lamda[z] - 1.0)
                    u[z] = np.log(w[v, z] * g[b, z] + varphi[v] * s[b, z]) + np.log(p)
                winners[i] = softmax_winner(u, rate, stream)
        z = winners[i]
        now += 1.0

        eta = robbins_monro(n_beta[d], doc_rule[1], doc_rule[2], doc_rule[3], doc_rule[4])
        gain__beta = -np.expm1(-eta) / a[d]
        G[d] *= np.exp(-eta)
        S[d] += gain__beta * (per_doc_token[d] - a[d] * S[d])
        n_beta[d] += 1.0
        heard = before = np.nan
        for part in range(B):  # each from what it keeps and the spikes it hears
            if n[part, z] != heard or last[part, z] != before:  # else: as the part before it
                heard, before = n[part, z], last[part, z]
                eta = robbins_monro(heard, word_rule[1], word_rule[2], word_rule[3], word_rule[4])
                waited = (now - before) * per_token  # Delta/N
                decay = 1.0 + Vbar * waited
                step = min(decay * eta, eta + LARGEST_DECAY)
                gain, fade = np.expm1(step) / decay, np.exp(-step)
                pull = -np.expm1(-step)
            if part == b:
                w[v, z] += gain / g[part, z]
            g[part, z] *= fade
            s[part, z] += pull * (waited / decay - s[part, z])
            n[part, z] += 1.0
            last[part, z] = now
            q[d, part, z] += gain__beta / G[d]
        if g[b, z] < SMALL:
            for word in range(w.shape[0]):
                w[word, z] = max(w[word, z] * g[word % B, z], SMALLEST)
            g[:, z] = 1.0
        if G[d] < SMALL:
            q[d] = G[d] * q[d] + S[d] * (lamda - 1.0)
            G[d], S[d] = 1.0, 0.0
    return now
