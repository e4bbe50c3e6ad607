"""What a network is shown and which word synapses it keeps: the input of placement and traffic."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from brian_lda.corpus import Corpus
from brian_lda.estimators import TopicModel
from brian_lda.hardware.plan import NetworkPlan
from brian_lda.hardware.pruning import prune_words

ZIPF_OFFSET = 2.7  # Mandelbrot's, for English text
TOPIC_SPREAD = 2.0  # standard deviation of log phi_zw around the word's frequency
DOC_LENGTH = 300  # tokens of a document of which nothing is known
SHOWN_TOKENS = 200_000  # of a sample for counting swaps


@dataclass(frozen=True)
class Workload:
    """A corpus as rates, and the word synapses.

    Attributes
    ----------
    origin : str
        Where the numbers come from; printed in every report.
    private : bool array [topic, word]
    word_counts : array [word]
        Tokens of each word.
    doc_lengths : int array [doc]
    topic_counts : array [topic] or None
        Spikes of each topic neuron, where measured.
    """

    origin: str
    private: np.ndarray
    word_counts: np.ndarray
    doc_lengths: np.ndarray
    topic_counts: np.ndarray | None = None

    def unpruned(self) -> Workload:
        """The same with all word synapses."""
        return replace(self, private=np.ones_like(self.private))


def workload_of_run(model: TopicModel, corpus: Corpus, plan: NetworkPlan) -> Workload:
    """Rates of the training documents, private words from the run's Phi."""
    private = np.ones((plan.n_topics, plan.n_words), bool)
    if plan.is_pruned:
        private = prune_words(model.components_, plan.n).private
    state = getattr(model, "state_", {})
    spikes = state.get("n_alpha", state.get("n_spikes"))
    return Workload(
        origin=f"measured: {corpus.n_docs} training documents of {corpus.name}",
        private=private,
        word_counts=np.asarray(corpus.counts.sum(axis=0)).ravel(),
        doc_lengths=corpus.doc_lengths,
        topic_counts=spikes,
    )


def synthetic_workload(plan: NetworkPlan, seed: int = 0) -> Workload:
    """A stand-in where there is no run: Zipf words, topics that prefer words at random.

    log phi_zw is the log frequency of the word plus normal noise. Topics share frequent words but
    are not related to each other, so a partitioner finds less to gain than in a real model.
    """
    rng = np.random.default_rng(seed)
    frequency = 1.0 / (np.arange(plan.n_words) + ZIPF_OFFSET)
    log_frequency = np.log(frequency).astype(np.float32)
    private = np.ones((plan.n_topics, plan.n_words), bool)
    if plan.is_pruned:
        private[:] = False
        for z in range(plan.n_topics):  # row by row: [topic, word] as floats would fill the memory
            score = log_frequency + TOPIC_SPREAD * rng.standard_normal(plan.n_words, np.float32)
            private[z, np.argpartition(score, -plan.n)[-plan.n :]] = True
    n_tokens = plan.n_tokens or DOC_LENGTH * plan.n_docs
    return Workload(
        origin=f"synthetic (no run given): Zipf words, unrelated topics, {n_tokens:,} tokens",
        private=private,
        word_counts=np.maximum(1, np.rint(n_tokens * frequency / frequency.sum())),
        doc_lengths=np.full(plan.n_docs, max(n_tokens // plan.n_docs, 1)),
    )


def sample_documents(doc_lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Document of each token, for whole documents drawn at random up to `SHOWN_TOKENS` tokens."""
    doc_lengths = np.asarray(doc_lengths)
    chosen = rng.permutation(np.flatnonzero(doc_lengths > 0))
    enough = np.searchsorted(np.cumsum(doc_lengths[chosen]), SHOWN_TOKENS) + 1
    chosen = chosen[:enough]
    return np.repeat(np.arange(len(chosen)), doc_lengths[chosen])
