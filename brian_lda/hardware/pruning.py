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

The rule "renewed" is "unigram" with private words chosen anew before each further pass. What a
topic would give the words that are not private is read from the winners of the pass before: each
wins z with the word w are C_zw, and exp M_zw = C_zw/(N_z + Vbar) is what the synapse would hold.
The private synapses keep what they have learnt. A chip is then wired anew once a pass, by what its
own spikes have told.

The shared synapse is driven by every word that is not private, one of which comes with each token
that is not. It may as well be a constant bias of the neuron, present for every token, if a private
synapse carries the difference M^alpha_zw - shared_z. Then a word packet need only reach the chips
with a topic for which it is private: what `brian_lda.hardware.checker` counts.

In spikes the network has these synapses and no others (`brian_lda.circuit.pruned`): Brian's own
count is checked in every run.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from brian_lda.corpus import Corpus
from brian_lda.errors import ParameterError
from brian_lda.estimators import TopicModel
from brian_lda.estimators.event_driven import EventDrivenModel
from brian_lda.estimators.protocols import EventDrivenNetwork
from brian_lda.estimators.trainers import EventDrivenTrainer, softmax_rows
from brian_lda.initial_weights import word_prior_vector
from brian_lda.parameters import PrunedWords
from brian_lda.seen_weights import seen_weights

PAPER_PRIVATE_WORDS, PAPER_DOCS_ON_CHIP = 200, 50
RULES = ("paper", "unigram", "renewed")
LEAST = 1e-100  # of exp M, as in the networks


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
    docs_on_chip: int | None = None,
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
    rule : {"paper", "unigram", "renewed"}
        Which words are private, and what the others weigh.
    docs_on_chip : int, optional
        m, documents with synapses at a time. The others wait in external memory, tokens come in
        blocks of m documents, and `trainer_.network.slots` counts the swaps. The default is what
        the model's `constraints` say, or all.
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
    if rule == "renewed" and not trainer.network.parameters.word_step.per_neuron:
        raise ParameterError(
            "rule='renewed' needs one step for all synapses of a topic neuron, RobbinsMonro; found "
            f"{type(trainer.network.parameters.word_step).__name__}, which a new synapse has no "
            "memory for. Use rule='unigram'."
        )
    network = trainer.network
    # Tab. 1(c) without smoothing of the read-out: what the network's own topic neurons see.
    J__alpha = network.J__alpha
    counts = None if rule == "paper" else np.asarray(corpus.counts.sum(axis=0)).ravel()

    def pruned_network(state: dict[str, np.ndarray], J__alpha: np.ndarray) -> EventDrivenNetwork:
        pruned = prune_words(softmax_rows(J__alpha), n_private, counts)
        initial = _on_manifold(state, J__alpha, network.parameters.word_step)
        return model._network(
            network.parameters, corpus, model.seed_, initial, pruned, document_slots=docs_on_chip
        )

    def renewed(
        before: EventDrivenNetwork, words: np.ndarray, winners: np.ndarray
    ) -> EventDrivenNetwork:
        state = before.state()
        state["M__alpha"], J__alpha = _unpruned(before, state, words, winners)
        return pruned_network(state, J__alpha)

    continued = copy.copy(model)
    continued.history_ = [dict(record) for record in model.history_]
    continued.callbacks = callbacks
    continued.trainer_ = copy.copy(trainer)  # same tokens, same order of the passes to come
    continued.trainer_.network = pruned_network(network.state(), J__alpha)
    continued.trainer_.between_passes = renewed if rule == "renewed" else None
    continued._train(n_passes)
    return continued


def _unpruned(
    network: Any, state: dict[str, np.ndarray], words: np.ndarray, winners: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """M^alpha and J as if all words had a synapse: learnt where private, else from the winners."""
    private, K = network.pruned.private, network.parameters.n_topics
    V = private.shape[1]
    won = winners >= 0  # a token that nobody heard has no winner
    C_zw = np.bincount(winners[won].astype(np.int64) * V + words[won], minlength=K * V)
    C_zw = C_zw.reshape(K, V).astype(np.float64)
    varphi = word_prior_vector(network.parameters.topic_word_prior, V)
    P = C_zw / (C_zw.sum(axis=1, keepdims=True) + max(varphi.sum(), 1.0))
    M__alpha = np.where(private, state["M__alpha"], np.log(np.maximum(P, LEAST)))
    s_alpha = state.get("s_alpha", np.zeros(K))
    return M__alpha, seen_weights(M__alpha, s_alpha, network.parameters)


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
