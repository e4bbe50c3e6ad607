r"""semi-CGS of a document over the list of the topics that it has tokens in.

With Phi fixed, the law of a token falls into a part that only the document's own topics have, and
a rest that does not change while Phi is held:

.. math:: p(z) \propto \phi_{zw} (C_{zd} + \lambda_z)
          = \underbrace{\phi_{zw} C_{zd}}_{\text{topics of the document}}
          + \underbrace{\phi_{zw} \lambda_z}_{\text{all topics}} .

A document of N_d tokens has at most min(N_d, K) topics: the first part is added up over their list.
Of the second part, sums over groups of topics are taken once per word of the document, before its
2T + 1 sweeps; a winner is then found by its group, its block, and its place there. Nothing is
approximated: the winner has exactly the law above.

A list is built anew for each document and mini-batch, in an order that the document's own random
stream decides: neither threads nor workers have a part in it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from brian_lda.reference.activation import BLOCK, block_sum, winner_in_block
from brian_lda.reference.random_streams import uniform

GROUP = 32  # near sqrt(K) for a thousand topics
FEWEST_TOPICS = 64  # below, all topics are added up as fast as a list


def prefers_list(n_topics: int, n_tokens: np.ndarray, lamda: np.ndarray) -> np.ndarray:
    """Whether documents of n_tokens [doc] are swept faster by lists than over all topics.

    Under the prior a document of N_d tokens has at most L log(1 + N_d/L) topics on average,
    L = sum lambda (as the tables of a Chinese restaurant). Measured: lists win up to half of all
    topics, from some hundred topics on. A rule of K, lambda and N_d alone: a document is treated
    alike on every thread and on every worker.
    """
    concentration = float(lamda.sum(dtype=np.float64))
    expected = concentration * np.log1p(n_tokens / concentration)
    return (expected < 0.5 * n_topics) & (n_topics >= FEWEST_TOPICS)


@njit(cache=True, fastmath={"nsz", "arcp", "contract", "reassoc"})
def sums_of_prior(local_word, rates, lamda):
    """phi_zw lambda_z of each word of a document, cumulated over groups of topics [word, group]."""
    width = rates.shape[1]
    n_groups = -(-width // GROUP)
    cumulated = np.empty((local_word.shape[0], n_groups), np.float32)
    for j in range(local_word.shape[0]):
        of_word, sums = rates[local_word[j]], cumulated[j]
        for g in range(n_groups):
            topics = slice(g * GROUP, min((g + 1) * GROUP, width))
            phi, prior = of_word[topics], lamda[topics]  # as slices the loop is vectorised
            group = np.float32(0.0)
            for k in range(phi.shape[0]):
                group += phi[k] * prior[k]
            sums[g] = group
        for g in range(1, n_groups):
            sums[g] += sums[g - 1]
    return cumulated


@njit(cache=True)
def new_list(n_topics, n_tokens):
    """An empty list with room for the topics of a document: its arrays, see `sweep_list`."""
    room = max(-(-min(n_topics, n_tokens) // BLOCK), 1) * BLOCK
    n_listed = np.zeros(1, np.int64)
    topic, C_z = np.zeros(room, np.uint32), np.zeros(room, np.float32)
    place = np.full(n_topics, -1, np.int32)
    rate, in_block = np.zeros(room, np.float32), np.zeros(room // BLOCK, np.float32)
    return n_listed, topic, C_z, place, rate, in_block


@njit(cache=True, fastmath={"nsz", "arcp", "contract", "reassoc"})
def sweep_list(local_word, count, rates, left, lamda, prior_sums, is_first, topic_list, z, stream):
    """One sweep of semi-CGS over a document, as `semi_spike_lda.sweep_document` does.

    What the token's own votes take from its last topic is taken by rejection: where that topic
    wins, it wins with the probability `left` only; else the token is raced again.

    `topic_list` is that of `new_list`: how many topics are listed, which, how many tokens each has
    (0 in the rest of the last block), where a topic stands (-1: nowhere), and two scratch arrays.
    """
    n_listed, topic, C_z, place, rate, in_block = topic_list
    one, none = np.float32(1.0), np.float32(0.0)
    is_left = left.shape[0] > 0 and not is_first
    scratch = np.empty(BLOCK, np.float32)
    n, i = n_listed[0], 0
    for j in range(local_word.shape[0]):
        phi, of_prior = rates[local_word[j]], prior_sums[j]
        prior_total = of_prior[of_prior.shape[0] - 1]
        for _ in range(count[j]):
            if not is_first:  # tau_1: negative phase
                at = place[z[i]]
                C_z[at] -= one
                if C_z[at] == none:  # the last topic takes its place
                    n -= 1
                    topic[at], C_z[at] = topic[n], C_z[n]
                    C_z[n] = none
                    place[topic[at]] = at
                    place[z[i]] = -1
            n_blocks = (n + BLOCK - 1) // BLOCK
            listed_total = none
            for b in range(n_blocks):
                for k in range(b * BLOCK, (b + 1) * BLOCK):
                    rate[k] = phi[topic[k]] * C_z[k]
                in_block[b] = block_sum(rate, b * BLOCK)
                listed_total += in_block[b]
            while True:
                target = np.float32(uniform(stream)) * (listed_total + prior_total)
                if target < listed_total:
                    b = 0
                    while b < n_blocks - 1 and target >= in_block[b]:
                        target -= in_block[b]
                        b += 1
                    new = topic[min(winner_in_block(rate, b * BLOCK, target), n - 1)]
                else:
                    target -= listed_total
                    new = _draw_from_prior(phi, lamda, of_prior, target, place.shape[0], scratch)
                if not (is_left and new == z[i]) or uniform(stream) < left[local_word[j], new]:
                    break
            at = place[new]
            if at < 0:
                at = n
                topic[at], place[new] = new, at
                n += 1
            C_z[at] += one  # tau_2: positive phase
            z[i] = new
            i += 1
    n_listed[0] = n


@njit(inline="always")
def _draw_from_prior(phi, lamda, sums, target, n_topics, rate):
    """The topic where the cumulated phi_zw lambda_z passes `target`; `rate` is scratch."""
    g = 0
    for other in range(sums.shape[0] - 1):
        g += target >= sums[other]
    if g > 0:
        target -= sums[g - 1]
    b = g * GROUP
    last_block = min(b + GROUP, phi.shape[0]) - BLOCK
    block = _prior_block(phi, lamda, b, rate)
    while b < last_block and target >= block:
        target -= block
        b += BLOCK
        block = _prior_block(phi, lamda, b, rate)
    return np.uint32(min(b + winner_in_block(rate, 0, target), n_topics - 1))


@njit(inline="always")
def _prior_block(phi, lamda, b, rate):
    """Fills the first block of `rate` with phi_zw lambda_z of the block at b; returns its sum."""
    for k in range(BLOCK):
        rate[k] = phi[b + k] * lamda[b + k]
    return block_sum(rate, 0)
