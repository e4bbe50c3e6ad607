"""What both twins start from: initial weights, smoothing, the memory of the step rules."""

from __future__ import annotations

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.parameters import EventDrivenParameters


def initial_state(
    parameters: EventDrivenParameters, n_words: int, doc_lengths: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """Initial weights and step-size state, common to both twins.

    Paper's appendix "Network initialization": every synapse ~ N(1, 1), except M^beta = log(1/K)
    in ed-SpikePLSI.

    Returns
    -------
    dict
        "M__alpha" [topic, word], "M__beta" [doc, topic], the counters "n_alpha" [topic] and
        "n_beta" [doc], and what the step rules keep per synapse: "s_1__alpha", "s_2__alpha",
        "G__alpha" and the same for beta (shapes of the weights), "eta_0__alpha", "eta_0__beta"
        (shape [1]; AdaGrad's base step). With a prior on Phi also "s_alpha" and "Delta_alpha"
        [topic]: what has come in of it, and the tokens since the neuron's last spike.
    """
    K, n_docs = parameters.n_topics, len(doc_lengths)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
    M__alpha = rng.normal(1.0, 1.0, (K, n_words))
    if parameters.doc_topic_prior is None:
        M__beta = np.full((n_docs, K), -np.log(K))
    else:
        M__beta = rng.normal(1.0, 1.0, (n_docs, K))
    state = {
        "M__alpha": M__alpha,
        "M__beta": M__beta,
        "n_alpha": np.zeros(K),
        "n_beta": np.zeros(n_docs),
    }
    if parameters.smoothed:
        state |= {"s_alpha": np.zeros(K), "Delta_alpha": np.zeros(K)}
    layers = (("alpha", parameters.word_step, M__alpha), ("beta", parameters.doc_step, M__beta))
    for layer, rule, M in layers:
        state |= rule.first_memory(M, layer)
    return state


def with_documents_anew(
    state: dict[str, np.ndarray], parameters: EventDrivenParameters, seed: int
) -> dict[str, np.ndarray]:
    """The state of either twin in which documents have their first weights again; words go on.

    How the twins store M^beta is left out, so that they take M^beta itself; documents keep their
    counters of tokens, by which random numbers are drawn.
    """
    n_docs, n_words = len(state["M__beta"]), state["M__alpha"].shape[1]
    first = initial_state(parameters, n_words, np.zeros(n_docs), seed)
    anew = {key: x for key, x in first.items() if x.shape == state["M__beta"].shape}
    anew = {key: x for key, x in anew.items() if key.endswith("__beta")}
    as_stored = ("p", "p__beta", "levels")
    return {key: x for key, x in state.items() if key not in as_stored} | anew


def word_prior_vector(
    varphi: float | np.ndarray, n_words: int, argument: str = "topic_word_prior"
) -> np.ndarray:
    """The smoothing of Phi as one number per word."""
    varphi = np.asarray(varphi, np.float64)
    if varphi.shape not in ((), (n_words,)):
        raise ParameterError(
            f"{argument} must be one number or one per word ({n_words}); found shape "
            f"{varphi.shape}."
        )
    return np.broadcast_to(varphi, (n_words,)).copy()


def word_smoothing(
    varphi: float | np.ndarray, n_topics: int, n_words: int, n_training_tokens: float
) -> np.ndarray:
    """epsilon = varphi K / N, [word]: varphi counts of each word among N/K tokens a topic."""
    return word_prior_vector(varphi, n_words) * n_topics / max(n_training_tokens, 1.0)
