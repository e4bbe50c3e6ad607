"""Let the rate-level twin follow a spiking network, whatever its iterations are."""

from __future__ import annotations

from typing import Any

import numpy as np

from brian_lda.algorithms import Algorithm
from brian_lda.comparison.winner_law import WinnerLaw, judge_winners, weight_gap
from brian_lda.corpus import Corpus
from brian_lda.reference.event_driven import EventDrivenTwin
from brian_lda.reference.spike_cgs import SpikeCGSReference

BATCHES = 3  # mini-batches that are followed: the weights of words move between them


def follow_network(
    name: str, algorithm: Algorithm, trainer: Any, train: Corpus, n_tokens: int, seed: int
) -> WinnerLaw:
    """Show a spiking network some more tokens, and judge its winners by the twin's law.

    Parameters
    ----------
    name : str
        Of the answer.
    algorithm : Algorithm
    trainer : EventDrivenTrainer, GibbsTrainer or MiniBatchTrainer
        Of the spiking network, which goes on from where it is.
    train : Corpus
    n_tokens : int
        About how many races.
    seed : int
        Of the choice of tokens.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, 4]))
    follow = {"pass": _stream, "sweep": _sweep, "mini-batch": _mini_batches}[algorithm.iteration]
    return judge_winners(name, *follow(algorithm, trainer, train, n_tokens, rng))


Followed = tuple[np.ndarray, np.ndarray, np.ndarray | None, float]  # p, winners, last topics, gap


def _stream(
    algorithm: Algorithm, trainer: Any, train: Corpus, n_tokens: int, rng: np.random.Generator
) -> Followed:
    """Tokens in random order, some of them twice if the corpus is small."""
    network = trainer.network
    words, docs = train.tokens()
    chosen = rng.integers(0, len(words), n_tokens)
    words, docs = words[chosen], docs[chosen]
    sizes = (network.parameters, train.n_words, train.doc_lengths)
    twin = EventDrivenTwin(*sizes, seed=0, initial=network.state())
    winners = network.present(words, docs)
    p = twin.follow(words, docs, winners)
    return p, winners, None, _gap(network, twin)


def _sweep(
    algorithm: Algorithm, trainer: Any, train: Corpus, n_tokens: int, rng: np.random.Generator
) -> Followed:
    """Tokens in random order, as in Alg. 2."""
    network = trainer.sampler
    words, docs = train.tokens()
    order = rng.integers(0, len(words), n_tokens)
    twin = SpikeCGSReference(
        words,
        docs,
        n_topics=network.n_topics,
        n_words=train.n_words,
        n_docs=train.n_docs,
        doc_topic_prior=network.lamda,
        topic_word_prior=network.varphi,
        seed=0,
    )
    twin.set_state(network.state())
    before = twin.z.copy()
    winners = network.sweep(order)
    last = np.empty_like(winners)
    for t, i in enumerate(order):
        last[t], before[i] = before[i], winners[t]
    p = twin.follow(order, winners)
    return p, winners, last, _gap(network, twin)


def _mini_batches(
    algorithm: Algorithm, trainer: Any, train: Corpus, n_tokens: int, rng: np.random.Generator
) -> Followed:
    """A few mini-batches of some documents each."""
    network = trainer.algorithm
    twin_class = algorithm.load_twin()
    assert twin_class is not None  # `compare_twins` has looked
    sizes = (network.parameters, train.n_words)
    twin = twin_class(*sizes, seed=0, n_training_tokens=train.n_tokens)
    twin.set_state(network.state())
    p, won, last = [], [], []
    with_tokens = rng.permutation(np.flatnonzero(train.doc_lengths))
    n_sweeps = 2 * network.parameters.local_iterations
    per_batch = max(n_tokens / (n_sweeps * BATCHES * train.doc_lengths[with_tokens].mean()), 1.0)
    for docs in np.array_split(with_tokens, max(len(with_tokens) // int(per_batch), 1))[:BATCHES]:
        counts = train.counts[docs]
        network.prepare(counts)  # the documents enter: where their synapses start
        M__beta = network.M__beta
        winners = network.update(counts)
        p.append(twin.follow(counts, winners, M__beta).reshape(-1, network.parameters.n_topics))
        won.append(winners.ravel())
        last.append(np.concatenate([np.full(winners.shape[1], -1), winners[:-1].ravel()]))
    remembered = np.concatenate(last) if algorithm.remembers_topics else None
    gap = weight_gap(network.M__alpha, twin.words.M__alpha)
    return np.concatenate(p), np.concatenate(won), remembered, gap


def _gap(network: Any, twin: EventDrivenTwin | SpikeCGSReference) -> float:
    return max(
        weight_gap(network.M__alpha, twin.M__alpha), weight_gap(network.M__beta, twin.M__beta)
    )
