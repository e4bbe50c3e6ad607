r"""semi-SpikeLDA (Alg. 4) at rate level.

For each document of a mini-batch, semi-CGS with Phi fixed: exp M^beta_zd = C_zd + lambda_z
[Tab. 1(d); Alg. 4 prints phi_z for the prior, it is lambda_z], 2T sweeps of

- negative phase: M^beta_z'd <- tau_1(M^beta_z'd), that is one count less;
- resample: z ~ exp(M^alpha_zw + M^beta_zd)   [Eq. (semi-CGS)];
- positive phase: M^beta_zd <- tau_2(M^beta_zd), one count more;

of which the last T are counted into N_zw. Then M^alpha is updated (`word_weights`).

The kernel carries exp M^beta, in which tau_1 and tau_2 are exactly -1 and +1. The first assignment
of each token is drawn from the same law given the tokens before it (Alg. 4 leaves it open): closer
to the posterior than a uniform draw, at the price of one sweep.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, get_thread_id, njit, prange

from brian_lda.reference.activation import draw_from_blocks, padded
from brian_lda.reference.document_batch import BatchTokens
from brian_lda.reference.mini_batch import MiniBatchReference
from brian_lda.reference.random_streams import substream_state


class SemiSpikeLDAReference(MiniBatchReference):
    """Rate-level twin of the semi-SpikeLDA network; parameters as in `MiniBatchReference`."""

    def _infer(
        self, batch: BatchTokens, rates: np.ndarray, key: np.random.SeedSequence
    ) -> np.ndarray:
        K, T = self.parameters.n_topics, self.parameters.local_iterations
        lamda = np.zeros(padded(K), np.float32)
        lamda[:K] = self.parameters.doc_topic_prior
        return semi_cgs_counts(batch, rates, lamda, K, burn_in=T, kept=T, key=key)


def semi_cgs_counts(
    batch: BatchTokens,
    rates: np.ndarray,
    lamda: np.ndarray,
    n_topics: int,
    *,
    burn_in: int,
    kept: int,
    key: np.random.SeedSequence,
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

    Returns
    -------
    int32 array [batch word, padded topic]
        N_zw, summed over the kept sweeps.
    """
    z = np.empty(batch.n_tokens, np.int32)
    per_thread = np.zeros((get_num_threads(), *rates.shape), np.int32)
    _semi_cgs(
        batch.start, batch.local_word, batch.count, batch.first_token, rates, lamda,
        n_topics, burn_in, kept, key.generate_state(1, np.uint64)[0], z, per_thread,
    )  # fmt: skip
    return per_thread.sum(axis=0, dtype=np.int32)  # integers: the order of threads is no matter


@njit(cache=True, fastmath={"nsz", "arcp", "contract", "reassoc"})
def sweep_document(
    local_word, count, rates, lamda, n_topics, is_first, C_z, z, N_zw, is_kept, rate, stream
):
    """One sweep of semi-CGS over a document; exp M^beta = C_z + lamda.

    `C_z` [padded topics] float32, `z` [token] and `N_zw` [word, padded topics] are updated.
    """
    one = np.float32(1.0)
    i = 0
    for j in range(local_word.shape[0]):
        word_rate = rates[local_word[j]]
        kept_counts = N_zw[local_word[j]]
        for _ in range(count[j]):
            if not is_first:
                C_z[z[i]] -= one  # tau_1: negative phase
            total = np.float32(0.0)
            for k in range(rate.shape[0]):
                r = word_rate[k] * (C_z[k] + lamda[k])
                rate[k] = r
                total += r
            new = draw_from_blocks(rate, total, n_topics, stream)
            C_z[new] += one  # tau_2: positive phase
            z[i] = new
            if is_kept:
                kept_counts[new] += 1
            i += 1


@njit(cache=True, parallel=True)
def _semi_cgs(
    start, local_word, count, first_token, rates, lamda, n_topics, burn_in, kept, seed, z, N_zw
):
    width = rates.shape[1]
    for d in prange(start.shape[0] - 1):
        stream = np.empty(1, np.uint64)
        stream[0] = substream_state(seed, d)
        C_z = np.zeros(width, np.float32)
        rate = np.empty(width, np.float32)
        entries = slice(start[d], start[d + 1])
        z_d = z[first_token[d] : first_token[d + 1]]
        counted = N_zw[get_thread_id()]
        for s in range(burn_in + kept + 1):  # sweep 0 draws the first assignments
            sweep_document(
                local_word[entries], count[entries], rates, lamda, n_topics, s == 0,
                C_z, z_d, counted, s > burn_in, rate, stream,
            )  # fmt: skip
