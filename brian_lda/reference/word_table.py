"""C_wz of few topics: one table [word, topic], read whole for each token.

p(z) ~ (C_wz + varphi_w) / (C_z + sum varphi) * (C_zd + lambda_z) is computed for all K topics at
once, in the blocks that the processor adds and multiplies in one step. Counts of a word in a topic
are exact in float32 up to 2^24.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from brian_lda.reference.activation import draw_from_blocks, padded


class WordTable:
    """C_wz of a token list.

    Parameters
    ----------
    words, z : int array [token]
    n_words, n_topics : int
    """

    def __init__(self, words: np.ndarray, z: np.ndarray, n_words: int, n_topics: int) -> None:
        self._n_topics = n_topics
        self._tokens = np.bincount(words, minlength=n_words)
        width = padded(n_topics)
        counts = np.bincount(words.astype(np.int64) * width + z, minlength=n_words * width)
        self._C_wz = counts.astype(np.int32).reshape(n_words, width)

    @property
    def topics_per_token(self) -> float:
        """Topics that the word of a token has tokens in, averaged over the tokens."""
        return float(self._tokens @ np.count_nonzero(self._C_wz, axis=1) / self._tokens.sum())

    @property
    def C_wz(self) -> np.ndarray:
        """Tokens of each word in each topic, [topic, word]."""
        return self._C_wz[:, : self._n_topics].T

    def sweep(
        self,
        order: np.ndarray,
        words: np.ndarray,
        docs: np.ndarray,
        z: np.ndarray,
        C_zd: np.ndarray,
        C_z: np.ndarray,
        lamda: np.ndarray,
        varphi: np.ndarray,
        stream: np.ndarray,
    ) -> None:
        """Resample tokens; z and all counts are changed in place.

        Parameters
        ----------
        order : int64 array
            Which tokens, one after the other.
        words, docs, z : int32 array [token]
        C_zd : int32 array [doc, padded topic]
        C_z : int64 array [topic]
        lamda : float32 array [padded topic]
        varphi : float64 array [word]
        stream : uint64 array [1]
        """
        _sweep(
            order, words, docs, z, self._C_wz, C_zd, C_z, lamda, varphi.astype(np.float32),
            varphi.sum(), stream,
        )  # fmt: skip


@njit(cache=True, fastmath={"nsz", "arcp", "contract", "reassoc"}, error_model="numpy")
def _sweep(order, words, docs, z, C_wz, C_zd, C_z, lamda, varphi, varphi_bar, stream):
    K = C_z.shape[0]
    width = C_wz.shape[1]
    inverse_total = np.zeros(width, np.float32)  # 1 / (C_z + sum varphi); 0 in the padding
    for k in range(K):
        inverse_total[k] = np.float32(1.0 / (C_z[k] + varphi_bar))
    rate = np.empty(width, np.float32)
    for t in range(order.shape[0]):
        i = order[t]
        w, d, old = words[i], docs[i], z[i]
        C_w, C_d, prior_w = C_wz[w], C_zd[d], varphi[w]
        C_w[old] -= 1
        C_d[old] -= 1
        C_z[old] -= 1
        inverse_total[old] = np.float32(1.0 / (C_z[old] + varphi_bar))
        total = np.float32(0.0)
        for k in range(width):
            r = (np.float32(C_w[k]) + prior_w) * (np.float32(C_d[k]) + lamda[k]) * inverse_total[k]
            rate[k] = r
            total += r
        new = draw_from_blocks(rate, total, K, stream)
        C_w[new] += 1
        C_d[new] += 1
        C_z[new] += 1
        inverse_total[new] = np.float32(1.0 / (C_z[new] + varphi_bar))
        z[i] = new
