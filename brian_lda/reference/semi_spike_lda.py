r"""semi-SpikeLDA (Alg. 4) at rate level.

For each document of a mini-batch, semi-CGS with Phi fixed: exp M^beta_zd = C_zd + lambda_z
[Tab. 1(d); Alg. 4 prints phi_z for the prior, it is lambda_z], 2T sweeps of

- negative phase: M^beta_z'd <- tau_1(M^beta_z'd), that is one count less;
- resample: z ~ exp(M^alpha_zw + M^beta_zd)   [Eq. (semi-CGS)];
- positive phase: M^beta_zd <- tau_2(M^beta_zd), one count more;

of which the last T are counted into N_zw. Then M^alpha is updated (`word_weights`).

With `exclude_own_votes` the negative phase also takes the token's own votes out of exp M^alpha_z'w,
as far as that race sees it: `left` says what is left of it (`brian_lda.own_votes`).

With many topics a document is swept over the list of its own topics (`semi_cgs_lists`): the same
law, with other random numbers.

The kernel carries exp M^beta, in which tau_1 and tau_2 are exactly -1 and +1. The first assignment
of each token is drawn from the same law given the tokens before it (Alg. 4 leaves it open): closer
to the posterior than a uniform draw, at the price of one sweep.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import get_num_threads, njit, prange

from brian_lda.reference.activation import draw_from_blocks, padded
from brian_lda.reference.document_batch import BatchTokens
from brian_lda.reference.mini_batch import MiniBatchReference
from brian_lda.reference.random_streams import substream_state
from brian_lda.reference.semi_cgs_lists import new_list, prefers_list, sums_of_prior, sweep_list

NOTHING_TAKEN = np.zeros((0, 0), np.float32)


class SemiSpikeLDAReference(MiniBatchReference):
    """Rate-level twin of the semi-SpikeLDA network; parameters as in `MiniBatchReference`.

    Attributes
    ----------
    C_zd : int32 array [doc, topic]
        Of the documents of the latest mini-batch that held any token, after their last sweep.
    """

    C_zd: np.ndarray

    def seen(self, words: np.ndarray) -> tuple[np.ndarray, ...]:
        """The rates, and what is left of each without a token's own votes."""
        return *super().seen(words), self.words.left_of_rates(words)

    def _infer(
        self, batch: BatchTokens, seen: tuple[np.ndarray, ...], key: np.random.SeedSequence
    ) -> np.ndarray:
        K, T = self.parameters.n_topics, self.parameters.local_iterations
        lamda = np.zeros(padded(K), np.float32)
        lamda[:K] = self.parameters.doc_topic_prior
        C_zd = np.empty((batch.n_docs, padded(K)), np.int32)
        rates, left = seen
        N_zw = semi_cgs_counts(
            batch, rates, lamda, K, left=left, burn_in=T, kept=T, key=key, C_zd=C_zd
        )
        self.C_zd = C_zd[:, :K]
        return N_zw

    def _follow(
        self,
        seen: tuple[np.ndarray, ...],
        doc: np.ndarray,
        winners: np.ndarray,
        M__beta: np.ndarray,
    ) -> np.ndarray:
        """exp M^beta = C_zd + lambda starts at lambda, whatever the other network began with."""
        rates, left = seen if len(seen) == 2 else (*seen, np.ones(seen[0].shape))
        p = np.empty((*winners.shape, rates.shape[1]))
        exp_beta = np.tile(self.parameters.doc_topic_prior, (doc.max() + 1, 1))
        for s, row in enumerate(winners):
            for i, z in enumerate(row):
                old = winners[s - 1, i]
                if s > 0:
                    exp_beta[doc[i], old] -= 1.0  # tau_1: negative phase
                p[s, i] = rates[i] * exp_beta[doc[i]]
                if s > 0:
                    p[s, i, old] *= left[i, old]  # without its own votes
                exp_beta[doc[i], z] += 1.0  # tau_2: positive phase
        return p

    @property
    def lamda(self) -> np.ndarray:
        """lambda [topic] as of now."""
        return self.parameters.doc_topic_prior

    def set_prior(self, lamda: np.ndarray) -> None:
        """Go on with another lambda [topic], from the next mini-batch on."""
        self.parameters = replace(self.parameters, doc_topic_prior=lamda)


def semi_cgs_counts(
    batch: BatchTokens,
    rates: np.ndarray,
    lamda: np.ndarray,
    n_topics: int,
    *,
    burn_in: int,
    kept: int,
    key: np.random.SeedSequence,
    left: np.ndarray = NOTHING_TAKEN,
    C_zd: np.ndarray | None = None,
    _by_list: bool | None = None,
) -> np.ndarray:
    """Semi-CGS on each document of a mini-batch, in parallel.

    Parameters
    ----------
    batch : BatchTokens
    rates : float32 array [batch word, padded topic]
        phi_zw of the batch's words, up to a factor per word.
    lamda : float32 array [padded topic]
    n_topics, burn_in, kept : int
    key : SeedSequence
        Fixes the draws of every document.
    left : float32 array [batch word, padded topic], optional
        What is left of each rate without a token's own votes, a factor; default: all of it.
    C_zd : int32 array [doc, padded topic], optional
        Takes the counts of each document after its last sweep.
    _by_list : bool, optional
        For tests: all documents by lists of topics, or none; default: each as `prefers_list` says.

    Returns
    -------
    int32 array [batch word, padded topic]
        N_zw, summed over the kept sweeps.
    """
    by_list = prefers_list(n_topics, np.diff(batch.first_token), lamda)
    if _by_list is not None:
        by_list[:] = _by_list
    z = np.empty(batch.n_tokens, np.int32)
    per_thread = np.zeros((get_num_threads(), *rates.shape), np.int32)
    C_zd = np.empty((batch.n_docs, rates.shape[1]), np.int32) if C_zd is None else C_zd
    _semi_cgs(
        batch.start, batch.local_word, batch.count, batch.first_token,
        *batch.shares(len(per_thread)), by_list, rates, left, lamda, n_topics, burn_in, kept,
        key.generate_state(1, np.uint64)[0], z, per_thread, C_zd,
    )  # fmt: skip
    if len(per_thread) == 1:
        return per_thread[0]
    return per_thread.sum(axis=0, dtype=np.int32)  # integers: the order of threads is no matter


@njit(cache=True, fastmath={"nsz", "arcp", "contract", "reassoc"})
def sweep_document(local_word, count, rates, left, lamda, n_topics, is_first, C_z, z, rate, stream):
    """One sweep of semi-CGS over a document; exp M^beta = C_z + lamda.

    `C_z` [padded topics] float32 and `z` [token] are updated; `rate` [padded topics] is scratch.
    `left` may be empty: nothing is taken out.
    """
    one = np.float32(1.0)
    is_left = left.shape[0] > 0 and not is_first
    i = 0
    for j in range(local_word.shape[0]):
        word_rate = rates[local_word[j]]
        for _ in range(count[j]):
            if not is_first:
                C_z[z[i]] -= one  # tau_1: negative phase
            if is_left:  # a product: it does not matter which factor is smaller
                others = C_z[z[i]]
                C_z[z[i]] = left[local_word[j], z[i]] * (others + lamda[z[i]]) - lamda[z[i]]
            total = np.float32(0.0)
            for k in range(rate.shape[0]):
                r = word_rate[k] * (C_z[k] + lamda[k])
                rate[k] = r
                total += r
            new = draw_from_blocks(rate, total, n_topics, stream)
            if is_left:
                C_z[z[i]] = others
            C_z[new] += one  # tau_2: positive phase
            z[i] = new
            i += 1


@njit(cache=True)
def count_winners(local_word, count, z, N_zw):
    """Add the assignments of a document to N_zw [word, padded topics].

    Apart from the sweep, whose draws would each wait for a counter far away in memory.
    """
    i = 0
    for j in range(local_word.shape[0]):
        N_z = N_zw[local_word[j]]
        for _ in range(count[j]):
            N_z[z[i]] += 1
            i += 1


@njit(cache=True)
def _infer_over_all_topics(
    local_word, count, rates, left, lamda, n_topics, burn_in, kept, z, N_zw, stream
):
    """All sweeps over a document, which cost O(K) a token."""
    C_z = np.zeros(rates.shape[1], np.float32)
    rate = np.empty(rates.shape[1], np.float32)
    for s in range(burn_in + kept + 1):  # sweep 0 draws the first assignments
        sweep_document(
            local_word, count, rates, left, lamda, n_topics, s == 0, C_z, z, rate, stream
        )
        if s > burn_in:
            count_winners(local_word, count, z, N_zw)


@njit(cache=True)
def _infer_by_list(local_word, count, rates, left, lamda, n_topics, burn_in, kept, z, N_zw, stream):
    """All sweeps over a document, which cost O(topics of the document) a token."""
    topic_list = new_list(n_topics, z.shape[0])
    prior_sums = sums_of_prior(local_word, rates, lamda)
    for s in range(burn_in + kept + 1):
        sweep_list(local_word, count, rates, left, lamda, prior_sums, s == 0, topic_list, z, stream)
        if s > burn_in:
            count_winners(local_word, count, z, N_zw)


@njit(cache=True, parallel=True)
def _semi_cgs(
    start, local_word, count, first_token, documents, first, by_list, rates, left, lamda,
    n_topics, burn_in, kept, seed, z, N_zw, C_zd,
):  # fmt: skip
    for thread in prange(first.shape[0] - 1):
        for d in documents[first[thread] : first[thread + 1]]:
            stream = np.empty(1, np.uint64)
            stream[0] = substream_state(seed, d)
            entries = slice(start[d], start[d + 1])
            tokens = slice(first_token[d], first_token[d + 1])
            document = (local_word[entries], count[entries], rates, left, lamda, n_topics)
            sweeps = (burn_in, kept, z[tokens], N_zw[thread], stream)
            if by_list[d]:
                _infer_by_list(*document, *sweeps)
            else:
                _infer_over_all_topics(*document, *sweeps)
            C_zd[d] = 0
            for topic in z[tokens]:
                C_zd[d, topic] += 1
