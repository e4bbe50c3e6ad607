r"""C_wz of many topics: for each word, the list of the topics that it has tokens in.

With K topics a word of N_w tokens has at most min(N_w, K) of them, after some sweeps far fewer. The
law of collapsed Gibbs sampling falls into a part that only these topics have and a rest:

.. math:: p(z) \propto \frac{C_{wz} + \varphi_w}{C_z + \sum\varphi} (C_{zd} + \lambda_z)
          = \underbrace{C_{wz}\, c_z}_{\text{topics of the word}}
          + \underbrace{\varphi_w\, c_z}_{\text{all topics}},
          \qquad c_z = \frac{C_{zd} + \lambda_z}{C_z + \sum\varphi} .

This is SparseLDA (Yao, Mimno & McCallum 2009) with its first two buckets taken together: c_z is
kept for the current document, all K of it, filled when a document begins and changed in two places
by a token. So the sum of c_z, and with it the weight of the second part, is known before the draw;
the first part is added up over the word's own list. A token costs O(topics of its word), a document
O(K). Nothing is approximated: the winner has exactly the law above.

A list is sorted by topic, so that it follows from the assignments alone, not from how the chain
came there: a resumed chain goes on bit for bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from brian_lda.reference.activation import BLOCK, block_sum, padded, winner_in_block
from brian_lda.reference.random_streams import uniform

# A topic of a word is one number, topic * 2^32 + count: eight of them fill a cache line, and their
# order is that of the topics.
_TOPIC = np.uint64(32)
_COUNT = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_GROUP = 32  # topics whose c_z are also known as a sum: near sqrt(K) for a thousand topics


class WordLists:
    """C_wz of a token list, as one list of topics for each word.

    Parameters
    ----------
    words, z : int array [token]
    n_words, n_topics : int
    """

    def __init__(self, words: np.ndarray, z: np.ndarray, n_words: int, n_topics: int) -> None:
        self._n_topics = n_topics
        self._tokens = np.bincount(words, minlength=n_words)
        pairs, counts = np.unique(words.astype(np.int64) * n_topics + z, return_counts=True)
        word, topic = np.divmod(pairs, n_topics)
        self._length = np.bincount(word, minlength=n_words)
        # Room for every topic that the word can ever have, in whole blocks.
        room = -(-np.minimum(self._tokens, n_topics) // BLOCK) * BLOCK
        self._start = np.concatenate([[0], np.cumsum(room)])
        # The rest of a block belongs to a topic behind the last one, whose c_z is 0.
        self._entries = np.full(self._start[-1], _behind_the_last(n_topics), np.uint64)
        place = np.arange(len(word)) - np.repeat(
            np.cumsum(self._length) - self._length, self._length
        )
        self._entries[self._start[word] + place] = (
            topic.astype(np.uint64) << _TOPIC
        ) | counts.astype(np.uint64)

    @property
    def topics_per_token(self) -> float:
        """Length of a word's list, averaged over the tokens."""
        return float(self._tokens @ self._length / self._tokens.sum())

    @property
    def C_wz(self) -> np.ndarray:
        """Tokens of each word in each topic, [topic, word]."""
        counts = (self._entries & _COUNT).astype(np.int64)
        topic = (self._entries >> _TOPIC).astype(np.int64)
        word = np.repeat(np.arange(len(self._length)), np.diff(self._start))
        table = np.zeros((self._n_topics, len(self._length)), np.int64)
        table[topic[counts > 0], word[counts > 0]] = counts[counts > 0]
        return table

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
        """Resample tokens; arguments as in `WordTable.sweep`."""
        _sweep(
            order, words, docs, z, self._start, self._length, self._entries, C_zd, C_z, lamda,
            varphi.astype(np.float32), varphi.sum(), stream,
        )  # fmt: skip


def _behind_the_last(n_topics: int) -> np.uint64:
    return np.uint64(padded(n_topics)) << _TOPIC


@njit(cache=True, fastmath={"nsz", "arcp", "contract", "reassoc"}, error_model="numpy")
def _sweep(
    order, words, docs, z, start, length, entries, C_zd, C_z, lamda, varphi, varphi_bar, stream
):  # fmt: skip
    K, width = C_z.shape[0], C_zd.shape[1]
    n_groups = -(-width // _GROUP)
    inverse_total = np.zeros(width, np.float32)  # 1 / (C_z + sum varphi)
    for k in range(K):
        inverse_total[k] = np.float32(1.0 / (C_z[k] + varphi_bar))
    c = np.zeros(n_groups * _GROUP + BLOCK, np.float32)  # c_z; 0 behind the last topic
    # Sums of c_z follow its changes in double precision, and are taken anew for each document.
    in_group, in_all = np.zeros(n_groups), 0.0
    blocks = entries.reshape(-1, BLOCK)  # with a fixed number of columns, indices are not checked
    rate = np.zeros((width // BLOCK, BLOCK), np.float32)  # C_wz c_z
    in_block = np.zeros(width // BLOCK, np.float32)
    behind_the_last = np.uint64(width) << _TOPIC
    document = -1
    for t in range(order.shape[0]):
        i = order[t]
        w, d, old = words[i], docs[i], np.uint64(z[i])
        C_d = C_zd[d]
        if d != document:
            document = d
            for k in range(width):
                c[k] = (np.float32(C_d[k]) + lamda[k]) * inverse_total[k]
            in_all = _sum_groups(c, in_group)
        in_all += _recount(
            old, -1, C_d, C_z, lamda, varphi_bar, inverse_total, c, in_group
        )  # negative phase
        n, first_block = length[w], start[w] // BLOCK
        n_blocks = (n + BLOCK - 1) // BLOCK
        before_old, of_word = 0, np.float32(0.0)
        for b in range(n_blocks):
            entry, of_block = blocks[first_block + b], rate[b]
            for j in range(BLOCK):
                topic = entry[j] >> _TOPIC
                count = np.int32(entry[j] & _COUNT) - np.int32(topic == old)  # less this token
                of_block[j] = np.float32(count) * c[topic]
                before_old += topic < old
            in_block[b] = block_sum(of_block, 0)
            of_word += in_block[b]
        target = np.float32(uniform(stream)) * (of_word + varphi[w] * np.float32(in_all))
        if target < of_word:
            b = 0
            while b < n_blocks - 1 and target >= in_block[b]:
                target -= in_block[b]
                b += 1
            at = min(b * BLOCK + winner_in_block(rate[b], 0, target), n - 1)
            new = entries[start[w] + at] >> _TOPIC
        else:
            new = _draw_from_groups(c, in_group, np.float64((target - of_word) / varphi[w]), K)
            at = 0
            for b in range(n_blocks):
                entry = blocks[first_block + b]
                for j in range(BLOCK):
                    at += (entry[j] >> _TOPIC) < new
        if new != old:
            of_w = entries[start[w] : start[w + 1]]
            length[w] = _move(of_w, n, before_old, at, new, behind_the_last)
        in_all += _recount(
            new, 1, C_d, C_z, lamda, varphi_bar, inverse_total, c, in_group
        )  # positive phase
        z[i] = new


@njit(inline="always")
def _sum_groups(c, in_group):
    """Fills `in_group`; returns the sum of all c_z."""
    total = 0.0
    for g in range(in_group.shape[0]):
        of_group = c[g * _GROUP : (g + 1) * _GROUP]  # as a slice the loop is vectorised
        group = np.float32(0.0)
        for k in range(of_group.shape[0]):
            group += of_group[k]
        in_group[g] = group
        total += in_group[g]
    return total


@njit(inline="always")
def _recount(topic, change, C_d, C_z, lamda, varphi_bar, inverse_total, c, in_group):
    """One token more or less in a topic of the current document; returns the change of c_z."""
    C_d[topic] += change
    C_z[topic] += change
    inverse_total[topic] = np.float32(1.0 / (C_z[topic] + varphi_bar))
    after = (np.float32(C_d[topic]) + lamda[topic]) * inverse_total[topic]
    growth = np.float64(after) - np.float64(c[topic])
    c[topic] = after
    in_group[topic // np.uint64(_GROUP)] += growth
    return growth


@njit(inline="always")
def _draw_from_groups(c, in_group, target, n_topics):
    """The topic where the cumulated c_z passes `target`: its group, its block, then the topic."""
    g = 0
    while g < in_group.shape[0] - 1 and target >= in_group[g]:
        target -= in_group[g]
        g += 1
    left, b = np.float32(target), g * _GROUP
    last_block = b + _GROUP - BLOCK
    block = block_sum(c, b)
    while b < last_block and left >= block:
        left -= block
        b += BLOCK
        block = block_sum(c, b)
    return np.uint64(min(winner_in_block(c, b, left), n_topics - 1))


@njit(inline="always")
def _move(entry, n, at_old, at_new, new, behind_the_last):
    """Move one token in a list of n topics; returns the new length.

    `at_new` is where topic `new` stands, or belongs if the word did not have it.
    """
    entry[at_old] -= _ONE
    if entry[at_old] & _COUNT == 0:
        n -= 1
        for j in range(at_old, n):
            entry[j] = entry[j + 1]
        entry[n] = behind_the_last
        at_new -= at_old < at_new
    if at_new < n and entry[at_new] >> _TOPIC == new:
        entry[at_new] += _ONE
    else:
        for j in range(n, at_new, -1):
            entry[j] = entry[j - 1]
        entry[at_new] = (new << _TOPIC) | _ONE
        n += 1
    return n
