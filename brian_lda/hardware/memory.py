"""What each algorithm keeps in memory while it trains (bytes), for any corpus size.

======================  ==================================================================
corpus                  the tokens or counts that must stay: batch algorithms need the whole
                        corpus, online ones see it as a stream and need a mini-batch at most
assignments             the topic of every token (SpikeCGS), or of a mini-batch's (semi)
weights                 M^alpha, K V, with what the step rule keeps per synapse; b in SpikeCGS
eligibility             what du- and semi-SpikeLDA count until the mini-batch ends: N_zw, a counter
                        for each word synapse
local weights           M^beta: K D (SpikeCGS, ed-SpikeLDA, ed-SpikePLSI) or K times the
                        mini-batch (du-, semi-SpikeLDA)
======================  ==================================================================

ed-SpikeLDA and ed-SpikePLSI shuffle single tokens in our experiments, but the algorithm asks for a
stream only: its corpus entry is one token. The figures are those of the algorithm on a chip with
weights of `weight_bytes`, not of this Python package.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from brian_lda.algorithms import SPIKING, find_algorithm

TOKEN_BYTES = 8  # a word and a document number of 32 bits each
COUNTER_BYTES = 2  # spikes of one synapse in one mini-batch


@dataclass(frozen=True)
class Memory:
    """Bytes by purpose."""

    algorithm: str
    corpus: float
    assignments: float
    weights: float
    eligibility: float
    local_weights: float

    @property
    def title(self) -> str:
        """The algorithm's name for people."""
        return find_algorithm(self.algorithm).title

    @property
    def total(self) -> float:
        return self.corpus + self.assignments + self.weights + self.eligibility + self.local_weights


def algorithm_memory(
    algorithm: str,
    *,
    n_topics: int,
    n_words: int,
    n_docs: int,
    n_tokens: int,
    batch_size: int = 64,
    weight_bytes: float = 4.0,
    word_state_values: int = 0,
    doc_state_values: int = 0,
) -> Memory:
    """Bytes that an algorithm keeps.

    Parameters
    ----------
    algorithm : str
        A spiking one of `brian_lda.algorithms`.
    n_topics, n_words, n_docs, n_tokens : int
        K, V, D, N.
    batch_size : int
        Documents of a mini-batch (du-, semi-SpikeLDA).
    weight_bytes : float
        Of one number on the chip.
    word_state_values, doc_state_values : int
        Numbers that the step rule keeps beside each M^alpha and M^beta: 0 RobbinsMonro (one
        counter per neuron), 1 AdaGrad and RMSProp, 2 variance tracking. The paper's rules:
        ed-SpikeLDA (2, 1), ed-SpikePLSI (2, 2), du-SpikeLDA (1, 1), semi-SpikeLDA (1, 0).
    """
    kind = find_algorithm(algorithm, SPIKING)
    batch_docs = min(batch_size, n_docs)
    batch_tokens = n_tokens * batch_docs / max(n_docs, 1)
    # "pass" takes the tokens as a stream, one at a time.
    tokens = {"sweep": n_tokens, "pass": 1, "mini-batch": batch_tokens}[kind.iteration]
    docs = n_docs if kind.keeps_all_documents else batch_docs
    topic_bytes = math.ceil(math.log2(max(n_topics, 2)) / 8)  # whole bytes for a topic's number
    corpus = tokens * TOKEN_BYTES
    assignments = tokens * topic_bytes if kind.remembers_topics else 0.0
    biases = n_topics if kind.has_biases else 0  # b_z [Tab. 1(b)]
    weights = (n_topics * n_words * (1 + word_state_values) + biases) * weight_bytes
    local = n_topics * docs * (1 + doc_state_values) * weight_bytes
    eligibility = n_topics * n_words * COUNTER_BYTES if kind.iteration == "mini-batch" else 0
    return Memory(
        algorithm,
        float(corpus),
        float(assignments),
        float(weights),
        float(eligibility),
        float(local),
    )


def memory_table(**sizes: Any) -> list[Memory]:
    """`algorithm_memory` of every spiking algorithm; arguments as there."""
    return [algorithm_memory(algorithm.name, **sizes) for algorithm in SPIKING]
