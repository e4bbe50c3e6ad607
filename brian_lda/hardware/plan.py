"""A network as plain numbers, before anything is simulated.

What counts as what, on a chip:

- a *neuron* is a topic neuron; each chip has one more, which inhibits. Words and documents are
  sources of packets (address events), not neurons of a core.
- a *synapse* is a word or document synapse of a topic neuron that stands on the chip. A topic
  neuron takes all of its synapses along: the network is cut by topics.
- ed-SpikeLDA, ed-SpikePLSI and SpikeCGS keep the synapses of all D documents; those beyond
  `docs_on_chip` wait in external memory. du- and semi-SpikeLDA keep those of a mini-batch only and
  drop them after its update.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from brian_lda.algorithms import SPIKING, find_algorithm
from brian_lda.corpus import Corpus
from brian_lda.errors import ParameterError
from brian_lda.estimators import TopicModel

FLOAT_BYTES = 4  # a weight of 32 bits, the paper's "float"
NEURON_STATE_BYTES = 48  # u_z, a_z, s_z, Delta_z, n_alpha, latency: six numbers of 64 bits


@dataclass(frozen=True)
class NetworkPlan:
    """Sizes of a network; see the head of this file for what counts as what.

    Attributes
    ----------
    algorithm : str
        A spiking one of `brian_lda.algorithms`.
    n_topics, n_words, n_docs : int
        K, V, D. For du- and semi-SpikeLDA D is the mini-batch.
    n_tokens : int, optional
        N, for what SpikeCGS keeps per token.
    docs_on_chip : int, optional
        m; the default is all D.
    n_private : int, optional
        n, private words per topic; the default is all V (not pruned).
    weight_bytes : float
        Of one weight on the chip.
    state_values_per_synapse : int
        What the step rule keeps beside each weight: 0 RobbinsMonro, 1 AdaGrad and RMSProp,
        2 variance tracking.
    weight_bits : int
        Precision that the weights need. The default is an assumption, not a measurement.
    """

    algorithm: str
    n_topics: int
    n_words: int
    n_docs: int
    n_tokens: int | None = None
    docs_on_chip: int | None = None
    n_private: int | None = None
    weight_bytes: float = FLOAT_BYTES
    state_values_per_synapse: int = 0
    weight_bits: int = 8

    def __post_init__(self) -> None:
        find_algorithm(self.algorithm, SPIKING)  # baselines are not networks
        for name in ("n_topics", "n_words", "n_docs", "docs_on_chip", "n_private", "weight_bits"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(f"{name} must be at least 1; found {value!r}.")
        if self.docs_on_chip is not None and self.docs_on_chip > self.n_docs:
            raise ParameterError(
                f"docs_on_chip must not exceed n_docs = {self.n_docs}; found {self.docs_on_chip}."
            )

    @property
    def title(self) -> str:
        """The algorithm's name for people."""
        return find_algorithm(self.algorithm).title

    @property
    def keeps_all_documents(self) -> bool:
        """Whether the synapses of every document stay, or only those of a mini-batch."""
        return find_algorithm(self.algorithm).keeps_all_documents

    @property
    def m(self) -> int:
        """Document synapses of a topic neuron on the chip."""
        return self.n_docs if self.docs_on_chip is None else self.docs_on_chip

    @property
    def n(self) -> int:
        """Private words of a topic neuron."""
        return self.n_words if self.n_private is None else min(self.n_private, self.n_words)

    @property
    def is_pruned(self) -> bool:
        return self.n < self.n_words

    @property
    def fan_in(self) -> int:
        """Synapses of a topic neuron: n + 1 + m, or V + m where no word is tied."""
        return self.n + (1 if self.is_pruned else 0) + self.m

    @property
    def fan_out(self) -> int:
        """Topic neurons that a document reaches: all K (a word at most as many)."""
        return self.n_topics

    @property
    def synapse_bytes(self) -> float:
        """Of one synapse with its plasticity state."""
        return self.weight_bytes * (1 + self.state_values_per_synapse)

    @property
    def neuron_bytes(self) -> float:
        """Of one topic neuron with all its synapses on the chip."""
        return self.fan_in * self.synapse_bytes + NEURON_STATE_BYTES

    @property
    def external_bytes(self) -> float:
        """Document synapses that wait in external memory."""
        return (self.n_docs - self.m) * self.n_topics * self.synapse_bytes

    def with_(self, **changes: Any) -> NetworkPlan:
        """The same plan with other numbers."""
        return replace(self, **changes)


def plan_of_run(algorithm: str, model: TopicModel, corpus: Corpus) -> NetworkPlan:
    """The network of a finished run (`brian_lda.runs.read_finished_run`).

    Parameters
    ----------
    algorithm : str
        A spiking one of `brian_lda.algorithms`.
    model : TopicModel
        Fitted.
    corpus : Corpus
        What it was fitted to.
    """
    n_docs = corpus.n_docs
    if not find_algorithm(algorithm, SPIKING).keeps_all_documents:
        n_docs = min(model.documents_per_batch(corpus), n_docs)
    rule = type(getattr(model, "word_step", None)).__name__
    return NetworkPlan(
        algorithm=algorithm,
        n_topics=model.n_topics,
        n_words=corpus.n_words,
        n_docs=n_docs,
        n_tokens=corpus.n_tokens,
        state_values_per_synapse={"VarianceTracking": 2, "AdaGrad": 1, "RMSProp": 1}.get(rule, 0),
    )
