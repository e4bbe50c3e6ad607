r"""M^alpha of the delayed-update algorithms: shared by all documents, changed once per mini-batch.

Eq. (semi-likelihood discrete dynamics), with N_zw the counts that a mini-batch collected over T
kept sweeps and s_z = eta N_z / (|D|T):

.. math:: M^\alpha_{zw} \leftarrow M^\alpha_{zw} + s_z \big[\tfrac{N_{zw}}{N_z}
          e^{-M^\alpha_{zw}} - 1\big]

or its exact flow p <- e^{-s_z} p + (1 - e^{-s_z}) N_zw/N_z for p = exp M^alpha. With
`RobbinsMonro`, s_z = sum of eta_n over the N_z/T spikes of topic neuron z in the batch, so that
the mini-batch moves as far as its tokens one by one would.

Prior of Phi (ours, `docs/smoothing.md`): a pass over the N training tokens brings each synapse
varphi_w counts that no token caused. A mini-batch is a share of that pass, its T sweeps bring
T n/N varphi_w, n its tokens: they are part of N_zw, and with their sum over words of N_z. The flow
then climbs the likelihood with a Dirichlet prior on Phi, and no synapse falls silent for good.

Stored as p_zw = exp(-a_z) q_zw + varphi_w b_z (the gauge form): decay is one number per topic
neuron, what the prior has brought another, and a batch touches only the words that it contains.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from brian_lda.errors import DivergenceError
from brian_lda.initial_weights import word_prior_vector
from brian_lda.own_votes import excludes_own_votes, own_votes
from brian_lda.parameters import BatchParameters
from brian_lda.reference.activation import padded
from brian_lda.step_rules import RobbinsMonro

_FOLD_AT = 200.0  # fold exp(-a_z) into q before q, which grows as exp(a_z), can overflow
_SMALLEST = 1e-300
_LOG_TINY = float(np.log(np.finfo(np.float64).tiny))


class WordWeights:
    """The word synapses of all topic neurons.

    Parameters
    ----------
    parameters : BatchParameters
    n_words : int
    seed : int
        Seeds the initial weights, N(1, 1) as in the paper.
    n_training_tokens : float
        N, the tokens of a pass: how often the prior of Phi counts.
    """

    def __init__(
        self, parameters: BatchParameters, n_words: int, seed: int, n_training_tokens: float
    ) -> None:
        self.parameters = parameters
        K = parameters.n_topics
        rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
        M__alpha = rng.normal(1.0, 1.0, (K, n_words))
        self._q = np.zeros((n_words, padded(K)))
        self._q[:, :K] = np.exp(M__alpha.T)
        self._a = np.zeros(padded(K))
        self._b = np.zeros(K)  # what the prior has brought, per count of varphi
        self._varphi = word_prior_vector(parameters.topic_word_prior, n_words)
        self._v = None if parameters.word_step.per_neuron else np.zeros_like(self._q)
        self.n_spikes = np.zeros(K)
        self._n_training_tokens = max(n_training_tokens, 1.0)
        self._is_stream = False

    def set_stream_size(self, n_training_tokens: float) -> None:
        """A pass is as long as so many tokens, and no document will come again in another."""
        self._n_training_tokens, self._is_stream = max(n_training_tokens, 1.0), True

    @property
    def M__alpha(self) -> np.ndarray:
        """The weights [topic, word], what the prior has brought included."""
        K = self.parameters.n_topics
        with np.errstate(divide="ignore"):
            M = (np.log(self._q[:, :K]) - self._a[:K]).T
            if self._b.any():
                M = np.logaddexp(M, np.log(np.outer(self._b, self._varphi)))
        return np.maximum(M, _LOG_TINY)

    @M__alpha.setter
    def M__alpha(self, M__alpha: np.ndarray) -> None:
        self._q[:, : self.parameters.n_topics] = np.exp(M__alpha.T)
        self._a[:] = 0.0
        self._b[:] = 0.0

    @property
    def phi(self) -> np.ndarray:
        """Tab. 1(d): exp M^alpha, normalised, [topic, word]."""
        p = np.exp(self.M__alpha)
        return p / p.sum(axis=1, keepdims=True)

    def rates(self, words: np.ndarray) -> np.ndarray:
        """exp M^alpha of these words, float32 [len(words), padded topics].

        Each row is scaled by its largest entry: a race between topics for one word does not see
        a factor common to all topics, and float32 must not underflow.
        """
        return _rates(self._q, self._a, self._b, self._varphi, words)

    def left_of_rates(self, words: np.ndarray) -> np.ndarray:
        """What is left of each of these rates without a token's own votes (`own_votes`), a factor.

        float32 [len(words), padded topics]; [0, 0] where nothing is ever taken out.
        """
        if self._is_stream or not excludes_own_votes(self.parameters):
            return np.zeros((0, 0), np.float32)
        vote, own = own_votes(
            self.parameters, self.n_spikes, self._n_training_tokens, self._varphi.sum()
        )
        return _left_of_rates(self._q, self._a, self._b, self._varphi, words, vote, own)

    def update(self, words: np.ndarray, N_zw: np.ndarray, n_docs: int, n_kept: int) -> None:
        """One update from the counts of a mini-batch.

        Parameters
        ----------
        words : int array [n]
            The distinct words of the mini-batch.
        N_zw : int array [n, padded topics]
            How often each was assigned to each topic in all kept sweeps together.
        n_docs, n_kept : int
            |D| and T of the mini-batch.
        """
        K = self.parameters.n_topics
        of_tokens = N_zw.sum(axis=0)[:K].astype(np.float64)
        share = of_tokens.sum() / self._n_training_tokens  # T n/N
        N_z = of_tokens + share * self._varphi.sum()
        rule = self.parameters.word_step
        if not (isinstance(rule, RobbinsMonro) and self._is_flow) and self._varphi.any():
            words, N_zw = self._with_prior(words, N_zw, share)
        if isinstance(rule, RobbinsMonro):
            s = rule.sum_of_steps(self.n_spikes, N_z / n_kept)
            finite = self._update_per_neuron(words, N_zw, N_z, s, share)
        else:
            everything = np.zeros((self._q.shape[0], K))
            everything[words] = N_zw[:, :K]
            per_doc = 1.0 / (n_docs * n_kept)
            finite = _update_rmsprop(
                self._q, self._v, everything * per_doc, N_z * per_doc,
                rule.eta, rule.decay, rule.epsilon, self._is_flow,
            )  # fmt: skip
        self.n_spikes += N_z / n_kept
        if not finite:
            raise DivergenceError(
                "a word synapse became infinite in this update: the Euler step is too long for the "
                "counts of the mini-batch. Use integrator='flow', which is stable for any step, or "
                "a smaller word_step."
            )

    def _with_prior(
        self, words: np.ndarray, N_zw: np.ndarray, share: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """All words and their counts, those of the prior added: only the flow can keep it apart."""
        counts = np.repeat(share * self._varphi[:, None], N_zw.shape[1], axis=1)
        counts[words] += N_zw
        return np.arange(len(counts), dtype=np.int32), counts

    def _update_per_neuron(
        self, words: np.ndarray, N_zw: np.ndarray, N_z: np.ndarray, s: np.ndarray, share: float
    ) -> bool:
        """Returns whether every weight is still finite."""
        fired = np.flatnonzero(N_z)
        full = fired[self._a[fired] + s[fired] > _FOLD_AT]
        if len(full):
            self._q[:, full] *= np.exp(-self._a[full])
            self._a[full] = 0.0
        if not self._is_flow:
            gain = np.zeros(len(N_z))
            gain[fired] = s[fired] * np.exp(self._a[fired]) / N_z[fired]
            finite = _grow_euler(self._q, words, N_zw, gain) and s.max() < 2 * _FOLD_AT
        else:
            # p <- e^-s p + (1 - e^-s) N_zw/N_z. A step too long for the gauge acts on q itself.
            long = full[s[full] > _FOLD_AT]
            self._q[:, long] *= np.exp(-s[long])
            gain = np.zeros(len(N_z))
            gain[fired] = np.exp(self._a[fired]) * np.expm1(np.minimum(s[fired], _FOLD_AT))
            gain[long] = -np.expm1(-s[long])
            gain[fired] /= N_z[fired]
            _grow_flow(self._q, words, N_zw, gain)
            self._b[fired] *= np.exp(-s[fired])
            self._b[fired] -= np.expm1(-s[fired]) * share / N_z[fired]
            s = s.copy()
            s[long] = 0.0
            finite = True
        self._a[fired] += s[fired]
        if len(full):  # what a synapse forgot entirely must still be a positive number
            np.maximum(self._q[:, : len(N_z)], _SMALLEST, out=self._q[:, : len(N_z)])
        return finite

    @property
    def _is_flow(self) -> bool:
        return self.parameters.integrator == "flow"

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next update depends on.

        "M__alpha" is for the other twin; "q__alpha", "a__alpha" and "b__alpha", in which the
        weights are stored, let this one go on to the last bit.
        """
        K = self.parameters.n_topics
        state = {
            "M__alpha": self.M__alpha,
            "q__alpha": self._q[:, :K].T.copy(),
            "a__alpha": self._a[:K].copy(),
            "b__alpha": self._b.copy(),
            "n_spikes": self.n_spikes.copy(),
        }
        if self._v is not None:
            state["v__alpha"] = self._v[:, :K].T.copy()
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state` of either twin."""
        K = self.parameters.n_topics
        if "q__alpha" in state:
            self._q[:, :K] = state["q__alpha"].T
            self._a[:K] = state["a__alpha"]
            self._b[:] = state["b__alpha"]
        else:
            self.M__alpha = state["M__alpha"]
        self.n_spikes = np.array(state["n_spikes"], np.float64)
        if self._v is not None:
            self._v[:, :K] = state["v__alpha"].T


@njit(cache=True, fastmath={"nsz", "nnan"})  # a maximum that may be taken four at a time
def _rates(q, a, b, varphi, words):
    n_topics = b.shape[0]
    out = np.zeros((words.shape[0], q.shape[1]), np.float32)
    decay = np.exp(-a)
    row = np.empty(n_topics)
    for i in range(words.shape[0]):
        w = words[i]
        top = 0.0
        for z in range(n_topics):
            row[z] = q[w, z] * decay[z] + varphi[w] * b[z]
            top = max(top, row[z])
        if top > 0.0:
            scale = 1.0 / top
            for z in range(n_topics):
                out[i, z] = row[z] * scale
        else:
            out[i, :n_topics] = 1.0
    return out


@njit(cache=True, error_model="numpy")
def _left_of_rates(q, a, b, varphi, words, vote, own):
    left = np.ones((words.shape[0], q.shape[1]), np.float32)
    decay = np.exp(-a)
    for i in range(words.shape[0]):
        w = words[i]
        for z in range(b.shape[0]):
            p = q[w, z] * decay[z] + varphi[w] * b[z]
            taken = min(p - varphi[w] * vote[z], own[z])
            left[i, z] = 1.0 - taken / p if taken > 0.0 else 1.0
    return left


@njit(cache=True)
def _grow_flow(q, words, N_zw, gain):
    for i in range(words.shape[0]):
        row = q[words[i]]
        for z in range(gain.shape[0]):
            row[z] += gain[z] * N_zw[i, z]


@njit(cache=True)
def _grow_euler(q, words, N_zw, gain):
    """Returns whether every weight is still finite."""
    total = 0.0
    for i in range(words.shape[0]):
        row = q[words[i]]
        for z in range(gain.shape[0]):
            if N_zw[i, z] > 0:
                row[z] *= np.exp(gain[z] * N_zw[i, z] / row[z])
                total += row[z]
    return np.isfinite(total)


@njit(cache=True)
def _update_rmsprop(q, v, N_zw, N_z, eta, decay, epsilon, is_flow):
    total = 0.0
    for w in range(N_zw.shape[0]):
        for z in range(N_z.shape[0]):
            p = q[w, z]
            g = N_zw[w, z] / p - N_z[z]  # Eq. (semi-likelihood), before the step size
            v[w, z] = decay * v[w, z] + (1.0 - decay) * g * g
            step = eta / np.sqrt(v[w, z] + epsilon)
            if not is_flow:
                q[w, z] = p * np.exp(step * g)
            elif N_z[z] > 0.0:
                fade = np.exp(-step * N_z[z])
                q[w, z] = fade * p + (1.0 - fade) * N_zw[w, z] / N_z[z]
            q[w, z] = max(
                q[w, z], _SMALLEST
            )  # a silent synapse sinks without end in the Euler form
            total += q[w, z]
    return np.isfinite(total)
