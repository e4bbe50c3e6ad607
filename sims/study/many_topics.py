"""Speed with many topics: our CGS and semi-SpikeLDA beside tomotopy, in the same run.

One thread each, taken in turns. Times are seconds of the processor, which a busy machine changes
less than those of a clock.
"""

from __future__ import annotations

import time
from typing import Any

import numba
import numpy as np

from brian_lda.automatic_steps import WORD_PRIOR, batch_word_step
from brian_lda.corpus import Corpus, document_batches
from brian_lda.parameters import BatchParameters
from brian_lda.reference.collapsed_gibbs import CollapsedGibbs
from brian_lda.reference.document_batch import batch_tokens
from brian_lda.reference.mini_batch import infer_counts
from brian_lda.reference.semi_spike_lda import SemiSpikeLDAReference
from study.peer import LAMBDA, tomotopy_model

WORD_PRIORS = (0.01, 0.05)
BATCH_SIZE, T = 64, 5
DRAWS = 2 * T + 1  # of a token in a mini-batch


def many_topics_costs(
    corpus: Corpus, n_topics: int, sweeps: int, passes: int
) -> list[dict[str, Any]]:
    """Nanoseconds a token: of CGS and tomotopy for each varphi, and of semi-SpikeLDA.

    Parameters
    ----------
    corpus : Corpus
    n_topics : int
    sweeps : int
        Of CGS and of tomotopy, both from random assignments.
    passes : int
        Of semi-SpikeLDA over the corpus, from random weights.
    """
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        rows = [gibbs_costs(corpus, n_topics, sweeps, prior) for prior in WORD_PRIORS]
        peer = np.mean([row["ns_peer"] for row in rows])
        return [*rows, {**semi_costs(corpus, n_topics, passes), "ns_peer": float(peer)}]
    finally:
        numba.set_num_threads(threads)


def gibbs_costs(corpus: Corpus, n_topics: int, sweeps: int, word_prior: float) -> dict[str, Any]:
    peer = tomotopy_model(corpus, n_topics, 0, word_prior)
    ours = CollapsedGibbs(
        *corpus.tokens(), n_topics=n_topics, n_words=corpus.n_words, n_docs=corpus.n_docs,
        doc_topic_prior=LAMBDA, topic_word_prior=word_prior, seed=0,
    )  # fmt: skip
    start = ours.state()
    for _ in range(3):  # compiles both forms of C_wz
        ours.sweep()
    ours.set_state(start)
    seconds = np.empty((sweeps, 2))
    for i in range(sweeps):
        before = time.process_time()
        ours.sweep()
        between = time.process_time()
        peer.train(1, workers=1)
        seconds[i] = between - before, time.process_time() - between
    ns = 1e9 * seconds / corpus.n_tokens
    return {
        "algorithm": "CGS",
        "K": n_topics,
        "varphi": word_prior,
        "sweeps": sweeps,
        "ns": float(ns[:, 0].mean()),
        "ns_first": float(ns[0, 0]),
        "ns_last": float(ns[-1, 0]),
        "ns_peer": float(ns[:, 1].mean()),
    }


def semi_costs(corpus: Corpus, n_topics: int, passes: int) -> dict[str, Any]:
    """A token in a mini-batch: all of it, and one of its draws."""
    parameters = BatchParameters(
        n_topics=n_topics, doc_topic_prior=np.full(n_topics, LAMBDA), topic_word_prior=WORD_PRIOR,
        local_iterations=T, word_step=batch_word_step(n_topics, corpus.n_words, corpus.n_tokens),
        exclude_own_votes=True,
    )  # fmt: skip
    ours = SemiSpikeLDAReference(
        parameters, corpus.n_words, seed=0, n_training_tokens=corpus.n_tokens
    )
    ours.update(next(iter(document_batches(corpus, BATCH_SIZE, 0))).counts)  # compiles
    seconds = drawing = 0.0
    for n in range(passes):
        for documents in document_batches(corpus, BATCH_SIZE, n):
            start = time.process_time()
            batch = batch_tokens(documents.counts)
            seen, key = ours.seen(batch.words), ours.next_key()
            before = time.process_time()
            N_zw = infer_counts(SemiSpikeLDAReference, parameters, batch, seen, key)
            drawing += time.process_time() - before
            ours.learn(batch.words, N_zw, batch.n_docs)
            seconds += time.process_time() - start
    shown = passes * corpus.n_tokens
    return {
        "algorithm": "semi-SpikeLDA", "K": n_topics, "passes": passes, "draws": DRAWS,
        "ns": 1e9 * seconds / shown, "ns_draw": 1e9 * drawing / (shown * DRAWS),
    }  # fmt: skip


def many_topics_line(row: dict[str, Any]) -> str:
    """One of the rows of `many_topics_costs`, to read."""
    if row["algorithm"] == "CGS":
        return (
            f"CGS, K = {row['K']}, varphi = {row['varphi']}, {row['sweeps']} sweeps: "
            f"{row['ns']:.0f} ns/token (first sweep {row['ns_first']:.0f}, last "
            f"{row['ns_last']:.0f}) against {row['ns_peer']:.0f}: "
            f"{row['ns_peer'] / row['ns']:.1f} x tomotopy's tokens a second"
        )
    return (
        f"semi-SpikeLDA, K = {row['K']}, {row['passes']} passes: {row['ns_draw']:.0f} ns/draw, "
        f"{row['ns_peer'] / row['ns_draw']:.1f} x as fast as a draw of tomotopy; "
        f"{row['ns']:.0f} ns/token with its {row['draws']} draws and its share of the update"
    )
