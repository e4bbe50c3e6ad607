"""The step rules of a user who sets none, chosen by measuring (docs: README, "Quality").

All are `RobbinsMonro` with power 1 and a floor: eta = 1/n averages over all past events until the
average spans a *window*, then goes on averaging over a window of that length. The offset below 1
lets the paper's initial weights, whose sum is thousands of times too large, fade sooner.

A window is counted in passes over the training corpus, so that N tokens and K topics give
eta_min = K / (window N) for a topic neuron, which fires N/K times a pass on average.
"""

from __future__ import annotations

from brian_lda.parameters import RobbinsMonro

OFFSET = 0.4
EVENT_WORD_WINDOW = 10.0  # passes; ed-SpikeLDA and ed-SpikePLSI, one noisy spike an update
EVENT_DOC_WINDOW = 0.1  # passes over the document
BATCH_WORD_WINDOW = 1.0  # passes; a mini-batch averages over its kept sweeps already
STREAM_POWER = 0.9  # with no corpus size to count passes by, forget the early estimates slowly


def event_word_step(n_topics: int, n_tokens: int) -> RobbinsMonro:
    """Step of M^alpha for one pass-counted corpus of n_tokens."""
    return _windowed(n_topics / (EVENT_WORD_WINDOW * n_tokens))


def event_doc_step(mean_doc_length: float) -> RobbinsMonro:
    """Step of M^beta, in relaxation times of the synapse."""
    return RobbinsMonro(floor=min(1.0, 1.0 / (EVENT_DOC_WINDOW * mean_doc_length)))


def batch_word_step(n_topics: int, n_tokens: int) -> RobbinsMonro:
    """Step of M^alpha of semi- and du-SpikeLDA."""
    return _windowed(n_topics / (BATCH_WORD_WINDOW * n_tokens))


def stream_word_step() -> RobbinsMonro:
    """Step of M^alpha when documents keep arriving (`partial_fit`)."""
    return RobbinsMonro(scale=1.0 / OFFSET, offset=OFFSET, power=STREAM_POWER)


def delayed_doc_step() -> RobbinsMonro:
    """Step of M^beta of du-SpikeLDA: the first iteration wipes N(1, 1) out, the others average."""
    return RobbinsMonro(scale=10.0, offset=0.1, floor=1.0)


def _windowed(floor: float) -> RobbinsMonro:
    return RobbinsMonro(scale=1.0 / OFFSET, offset=OFFSET, floor=min(floor, 1.0))
