"""ed-SpikeLDA and ed-SpikePLSI at rate level under the limits of `brian_lda.constraints`.

The law of the spiking network with the same limits: which neurons hear a token, the race among
them, who learns of the winner, and stochastic rounding of every weight that is written. In the form
that the chips would use: exact flow, gauge, Robbins-Monro steps.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from brian_lda.constraints import Constraints, heard_tokens, spread_winners
from brian_lda.errors import ParameterError
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.reference.activation import draw_winner
from brian_lda.reference.event_driven import EventDrivenTwin
from brian_lda.reference.event_driven_kernel import LARGEST_DECAY
from brian_lda.reference.plasticity import flow, log_add, robbins_monro
from brian_lda.reference.random_streams import uniform


class ConstrainedReference(EventDrivenTwin):
    """Rate-level twin of `EventDrivenSpiking(..., constraints=...)`.

    Parameters
    ----------
    parameters : EventDrivenParameters
        With `RobbinsMonro` steps, integrator="flow" and gauge=True.
    n_words, doc_lengths, seed, initial, pruned
        As in `EventDrivenTwin`.
    constraints : Constraints
    """

    def __init__(
        self,
        parameters: EventDrivenParameters,
        n_words: int,
        doc_lengths: np.ndarray,
        *,
        seed: int,
        constraints: Constraints,
        initial: dict[str, np.ndarray] | None = None,
        pruned: PrunedWords | None = None,
    ) -> None:
        if constraints.document_slots is not None and constraints.dead_synapses > 0:
            raise ParameterError(
                "dead_synapses with document_slots needs backend='brian2', where a document "
                "meets those of its slot; at rate level it has no slot."
            )
        steps = (parameters.word_step, parameters.doc_step)
        if not (
            parameters.gauge
            and parameters.integrator == "flow"
            and all(step.per_neuron for step in steps)
        ):
            raise ParameterError(
                "constraints at rate level need RobbinsMonro steps, integrator='flow' and "
                f"gauge=True; found {steps}, {parameters.integrator!r}, gauge={parameters.gauge}. "
                "In spikes (backend='brian2') any form takes them."
            )
        self.constraints = constraints
        K, n_docs = parameters.n_topics, len(doc_lengths)
        self._chip = constraints.chips(K)
        self._alive__alpha = constraints.living("alpha", n_words, K)
        if pruned is not None:  # the shared synapse lives with its neuron
            pruned.require_shape(K, n_words)
            self._alive__alpha |= ~pruned.private.T
        self._alive__beta = constraints.living("beta", n_docs, K)
        self._rounding_seed = int(seed)
        super().__init__(
            parameters,
            n_words,
            doc_lengths,
            seed=seed,
            initial=initial,
            pruned=pruned,
            document_slots=constraints.document_slots,
        )

    def state(self) -> dict[str, np.ndarray]:
        """As in `EventDrivenTwin`, and "levels" on which the weights are, if they are."""
        state = super().state()
        if self.constraints.weight_bits is not None:
            state["levels"] = self.constraints.levels
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state; weights of other networks are rounded to what the chip can hold."""
        stored = self.constraints.stored(state)
        if not stored:  # m - a, the weight itself, is what the chip is given
            state = {key: x for key, x in state.items() if key not in ("m__alpha", "a__alpha")}
        super().set_state(state)
        if self._beta_as_rate:  # the b bits hold M, not exp M
            self._beta = np.array(state["M__beta"], np.float64, order="C")
            self._beta_as_rate = False
        if not stored:
            rng = np.random.default_rng([self._rounding_seed, 4])
            self._m__alpha = self.constraints.rounded(self._m__alpha, rng)
            self._beta = self.constraints.rounded(self._beta, rng)

    def present(
        self, words: np.ndarray, docs: np.ndarray, winners: np.ndarray | None = None
    ) -> np.ndarray:
        """As in `EventDrivenTwin`; winners cannot be forced, a token may have none (-1)."""
        if winners is not None:
            raise ParameterError("winners cannot be forced in a network with constraints.")
        words, docs = np.asarray(words, np.int32), np.asarray(docs, np.int32)
        if self.slots is not None:
            self.slots.show_all(docs)
        heard = heard_tokens(self._alive__alpha, self._alive__beta, words, docs)
        limits = self.constraints
        low, high = limits.weight_range
        quantum = 0.0 if limits.weight_bits is None else limits.quantum
        drawn = np.empty(heard.sum(), np.int32)
        _present_constrained(
            words[heard],
            docs[heard],
            drawn,
            self._m__alpha,
            self._offset__alpha,
            self._n_alpha,
            self._word_rule,
            self._private,
            self._shared,
            self._varphi,
            self._per_token,
            self._s_alpha,
            self._Delta_alpha,
            self._beta,
            self._n_beta,
            self._doc_rule,
            self._a,
            self._c,
            self._alive__alpha,
            self._alive__beta,
            self._chip,
            limits.n_chips,
            limits.packet_loss,
            (quantum, low, high),
            self._stream,
        )
        return spread_winners(drawn, heard)


@njit(inline="always")
def _round(m, offset, levels, stream):
    """One of the two levels beside m, at random; the range moves with the offset."""
    quantum, low, high = levels
    if quantum == 0.0:
        return m
    shift = quantum * np.floor(offset / quantum)
    m = low + quantum * np.floor((m - low) / quantum + uniform(stream))
    return min(max(m, low + shift), high + shift)


@njit(cache=True)
def _present_constrained(
    words, docs, winners, m__alpha, offset, n_alpha, word_rule, private, shared,
    varphi, per_token, s, Delta,
    beta, n_beta, doc_rule, a, c,
    alive__alpha, alive__beta, chip, n_chips, loss, levels, stream,
):  # fmt: skip
    K, pruned = m__alpha.shape[1], private.shape[0] > 0
    u, rate = np.empty(K), np.empty(K)
    Vbar, log_varphi, log_s = varphi.sum(), np.log(varphi), np.log(s)  # log 0: the paper's network
    word_arrived, doc_arrived = np.ones(n_chips, np.bool_), np.ones(n_chips, np.bool_)
    for i in range(words.shape[0]):
        w, d = words[i], docs[i]
        top = -np.inf
        while top == -np.inf:  # presented again until some neuron has heard word and document
            if loss > 0.0:
                for j in range(n_chips):
                    word_arrived[j] = uniform(stream) >= loss
                    doc_arrived[j] = uniform(stream) >= loss
            for k in range(K):
                hears = alive__alpha[w, k] and alive__beta[d, k]
                hears = hears and word_arrived[chip[k]] and doc_arrived[chip[k]]
                u[k] = -np.inf
                if hears and pruned and not private[w, k]:
                    u[k] = shared[w, k] + beta[d, k]
                elif hears:
                    M = m__alpha[w, k] - offset[k]
                    if log_varphi[w] + log_s[k] > -np.inf:
                        M = log_add(M, log_varphi[w] + log_s[k])  # J, what the topic neuron sees
                    u[k] = M + beta[d, k]
                top = max(top, u[k])
        total = 0.0
        for k in range(K):
            rate[k] = np.exp(u[k] - top)
            total += rate[k]
        z = draw_winner(rate, total, stream)
        winners[i] = z

        eta = robbins_monro(n_alpha[z], word_rule[1], word_rule[2], word_rule[3], word_rule[4])
        waited = (Delta[z] + 1.0) * per_token  # Delta/N
        decay = 1.0 + Vbar * waited
        step = min(decay * eta, eta + LARGEST_DECAY)
        gain = -np.expm1(-step)
        if not (pruned and not private[w, z]):  # the shared synapse is fixed
            m = log_add(m__alpha[w, z], offset[z] + step + np.log(gain / decay))
            m__alpha[w, z] = _round(m, offset[z], levels, stream)
        offset[z] += step
        s[z] += gain * (waited / decay - s[z])
        log_s[z] = np.log(s[z])
        n_alpha[z] += 1.0

        eta = robbins_monro(n_beta[d], doc_rule[1], doc_rule[2], doc_rule[3], doc_rule[4]) / a[d]
        if loss > 0.0:
            for j in range(n_chips):  # the winner's packet; its own chip knows
                heard = uniform(stream) >= loss
                doc_arrived[j] = doc_arrived[j] and heard
        for k in range(K):
            if k == z or doc_arrived[chip[k]]:
                Delta[k] += 1.0  # a token that the chip knows to have found its winner
                drive = c[d, k] + (1.0 if k == z else 0.0)
                M = flow(beta[d, k], drive, a[d], eta)
                beta[d, k] = _round(M, 0.0, levels, stream)
        Delta[z] = 0.0
        n_beta[d] += 1.0
