r"""Fan-in pruning (paper's appendix "Network pruning"), for any limit.

1. Pre-train ed-SpikeLDA for some passes (the paper: 15 or 20, "p-15", "p-20").
2. Keep the n most probable words of each topic as private synapses. All other words of topic z
   share one synapse, fixed to

   .. math:: \log\frac{p_z}{V-n}, \qquad p_z = \sum_{w\ \text{not private}} \phi_{zw}.

   With m document synapses on the chip a topic neuron has n + 1 + m of them; the paper's case is
   200 + 1 + 50 = 251 <= 256.
3. Go on training: private synapses are plastic, the shared one is fixed.

That is the rule "paper". The rule "unigram" is ours, at the same fan-in. A word that
is frequent everywhere need not be private: private are the n words with the largest

.. math:: \phi_{zw} \log\frac{\phi_{zw}}{f_w},

f_w the word's share of the corpus. The others share their mass p_z as the corpus does instead of
evenly, phi_zw = p_z f_w/F_z with F_z the sum of f_w over them. log f_w is common to all topics: a
race does not change if it is left out for the tied words and taken off the private synapses of the
word, which then hold M - log f_w. So it needs no synapse (`PrunedWords.word_bias`).

The shared synapse is driven by every word that is not private, one of which comes with each token
that is not. It may as well be a constant bias of the neuron, present for every token, if a private
synapse carries the difference M^alpha_zw - shared_z. Then a word packet need only reach the chips
with a topic for which it is private: what `brian_lda.hardware.checker` counts.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from brian_lda.corpus import Corpus
from brian_lda.errors import ParameterError
from brian_lda.estimators import TopicModel
from brian_lda.estimators.event_driven import EventDrivenModel
from brian_lda.estimators.trainers import EventDrivenTrainer, softmax_rows
from brian_lda.parameters import PrunedWords

PAPER_PRIVATE_WORDS, PAPER_DOCS_ON_CHIP = 200, 50
RULES = ("paper", "unigram")


def prune_words(
    phi: np.ndarray, n_private: int, word_counts: np.ndarray | None = None
) -> PrunedWords:
    """Keep n words of each topic, tie the others to one synapse.

    Parameters
    ----------
    phi : float array [topic, word]
        Rows sum to 1.
    n_private : int
        n. With n >= V nothing is tied.
    word_counts : array [word], optional
        Tokens of each word, for the rule "unigram"; a word that never came counts as one token.
        The default is the rule "paper": the n most probable words.
    """
    n_topics, n_words = phi.shape
    if n_private < 1:
        raise ParameterError(f"n_private must be at least 1; found {n_private!r}.")
    if n_private >= n_words:
        return PrunedWords(np.ones_like(phi, dtype=bool), np.full(n_topics, -np.inf))
    private = np.zeros_like(phi, dtype=bool)
    share, score = np.ones(n_words), phi
    if word_counts is not None:
        share = np.maximum(word_counts, 1.0) / np.maximum(word_counts, 1.0).sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(phi > 0, phi * np.log(phi / share), 0.0)
    top = np.argpartition(score, n_words - n_private, axis=1)[:, n_words - n_private :]
    np.put_along_axis(private, top, True, axis=1)
    p = np.where(private, 0.0, phi).sum(axis=1)
    if p.min() <= 0.0:
        z = int(np.argmin(p))
        raise ParameterError(
            f"the words of topic {z} beyond its {n_private} private ones have no mass at all, so "
            "log(p/(V - n)) is not a number; pass a smoothed phi (topic_word_prior > 0) or fewer "
            "private words."
        )
    F = np.where(private, 0.0, share).sum(axis=1)  # V - n in the paper's rule
    return PrunedWords(private, np.log(p / F), np.log(share))


def prune_and_continue(
    model: TopicModel,
    corpus: Corpus,
    *,
    n_passes: int,
    n_private: int = PAPER_PRIVATE_WORDS,
    rule: str = "paper",
    callbacks: Any = None,
) -> TopicModel:
    """Prune a pre-trained ed-SpikeLDA or ed-SpikePLSI and train the pruned network further.

    Parameters
    ----------
    model : EdSpikeLDA or EdSpikePLSI
        Fitted on `corpus`; it stays as it is.
    corpus : Corpus
    n_passes : int
        Passes over the corpus in the pruned network, after those that the model has made.
    n_private : int
        n, private words per topic.
    rule : {"paper", "unigram"}
        Which words are private, and what the others weigh.
    callbacks : sequence of callables, optional
        As in the estimators.

    Returns
    -------
    TopicModel
        A model of the same class. Its Phi is exp(M) of private words, of the others what they are
        tied to, normalised; `transform` and `doc_topic` work as before, and
        `trainer_.network.pruned` holds the `PrunedWords`.
    """
    if rule not in RULES:
        raise ParameterError(f"rule must be one of {RULES}; found {rule!r}.")
    trainer = getattr(model, "trainer_", None)
    if not (isinstance(model, EventDrivenModel) and isinstance(trainer, EventDrivenTrainer)):
        raise ParameterError(
            "prune_and_continue needs a fitted event-driven model (EdSpikeLDA or EdSpikePLSI); "
            f"found {type(model).__name__}"
            + (" that is not fitted." if trainer is None else " of another kind.")
        )
    model._check_vocabulary(corpus.counts)
    network = trainer.network
    # Tab. 1(c) without smoothing of the read-out: what the network's own topic neurons see.
    J__alpha = network.J__alpha
    counts = np.asarray(corpus.counts.sum(axis=0)).ravel() if rule == "unigram" else None
    pruned = prune_words(softmax_rows(J__alpha), n_private, counts)
    initial = _on_manifold(network.state(), J__alpha, network.parameters.word_step)
    pruned_network = model._network(network.parameters, corpus, model.seed_, initial, pruned=pruned)
    continued = copy.copy(model)
    continued.history_ = [dict(record) for record in model.history_]
    continued.callbacks = callbacks
    continued.trainer_ = copy.copy(trainer)  # same tokens, same order of the passes to come
    continued.trainer_.network = pruned_network
    continued._train(n_passes)
    return continued


def _on_manifold(
    state: dict[str, np.ndarray], J__alpha: np.ndarray, word_step: Any
) -> dict[str, np.ndarray]:
    """The state with zeta(J_z.) = 1 for each topic, J what its neuron sees: M^alpha and the prior.

    shared_z is the log of a probability, so J_zw beside it must be one as well. Training
    drives zeta to 1 by itself, but a short pre-training may end before: the shift by log zeta is
    ours, and tends to 0 with the length of the pre-training.
    """
    as_stored = ("m__alpha", "a__alpha", "w", "g", "levels")  # of the weights before the shift
    state = {key: value for key, value in state.items() if key not in as_stored}
    log_zeta = np.logaddexp.reduce(J__alpha, axis=1, keepdims=True)
    state["M__alpha"] = state["M__alpha"] - log_zeta
    if "s_alpha" in state:
        state["s_alpha"] = state["s_alpha"] * np.exp(-log_zeta[:, 0])
    return state | word_step.shifted_memory(state, "alpha", log_zeta)
