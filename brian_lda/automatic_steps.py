"""The step rules of a user who sets none, chosen by measuring (docs: README, "Quality").

All are `RobbinsMonro` with power 1 and a floor: eta = 1/(offset + n) averages over all past events
until the average spans a *window*, then goes on averaging over a window of that length.

- The window is counted in passes over the training corpus: N tokens and K topics give
  eta_min = K / (window N) for a topic neuron, which fires N/K times a pass on average.
- The offset says how many spikes the initial weights count for. The paper draws them from N(1, 1),
  so that a topic neuron starts at zeta = V exp(1.5) instead of 1 and they fade after about
  offset * zeta spikes. That fading is what anneals the network: gone within a batch, all topics
  become the same; the longer it lasts, the slower and the better they form. We let it last a
  fixed number of passes.
"""

from __future__ import annotations

import math

from brian_lda.step_rules import RobbinsMonro

EVENT_FADING = 6.0  # passes until the initial weights have faded
EVENT_WORD_WINDOW = 1.0  # passes; a longer window lags behind
# Without smoothing, a synapse that misses a few passes is lost: average over more,
UNSMOOTHED_WORD_WINDOW = 25.0  # events per synapse,
UNSMOOTHED_WORD_PASSES = (0.5, 10.0)  # within these bounds, in passes
EVENT_DOC_WINDOW = 0.1  # passes over the document,
EVENT_DOC_TOKENS = 60.0  # but at least so many tokens
BATCH_FADING = 1.0
BATCH_WORD_WINDOW = 1.0  # passes; a mini-batch averages over its kept sweeps already
STREAM_POWER = 0.9  # with no corpus size to count passes by, forget the early estimates slowly


def event_word_step(n_topics: int, n_words: int, n_tokens: int, *, smoothed: bool) -> RobbinsMonro:
    """Step of M^alpha of ed-SpikeLDA; of ed-SpikePLSI, which has epsilon = 0, not `smoothed`."""
    window = EVENT_WORD_WINDOW
    if not smoothed:
        events_per_pass = n_tokens / (n_topics * n_words)  # of one synapse, on average
        shortest, longest = UNSMOOTHED_WORD_PASSES
        window = min(max(UNSMOOTHED_WORD_WINDOW / events_per_pass, shortest), longest)
    return _windowed(EVENT_FADING, window, n_topics, n_words, n_tokens)


def event_doc_step(mean_doc_length: float) -> RobbinsMonro:
    """Step of M^beta, in relaxation times of the synapse: constant.

    A first step of 1 would commit a document to the winner of its first token, at a time when the
    topics mean nothing yet.
    """
    eta = 1.0 / max(EVENT_DOC_WINDOW * mean_doc_length, EVENT_DOC_TOKENS)
    return RobbinsMonro(scale=eta, power=0.0)


def batch_word_step(n_topics: int, n_words: int, n_tokens: int) -> RobbinsMonro:
    """Step of M^alpha of semi- and du-SpikeLDA."""
    return _windowed(BATCH_FADING, BATCH_WORD_WINDOW, n_topics, n_words, n_tokens)


def stream_word_step(fading: float, n_topics: int, n_words: int, first_tokens: int) -> RobbinsMonro:
    """Step of M^alpha when documents keep arriving (`partial_fit`).

    The initial weights fade within `fading` times the tokens of the first call.
    """
    offset = _offset(fading, n_words, first_tokens / n_topics)
    return RobbinsMonro(scale=1.0 / offset, offset=offset, power=STREAM_POWER)


def delayed_doc_step() -> RobbinsMonro:
    """Step of M^beta of du-SpikeLDA: the first iteration wipes N(1, 1) out, the others average."""
    return RobbinsMonro(scale=10.0, offset=0.1, floor=1.0)


def _windowed(
    fading: float, window: float, n_topics: int, n_words: int, n_tokens: int
) -> RobbinsMonro:
    spikes_per_pass = n_tokens / n_topics
    offset = _offset(fading, n_words, spikes_per_pass)
    floor = 1.0 / (window * spikes_per_pass)
    return RobbinsMonro(scale=1.0 / offset, offset=offset, floor=min(floor, 1.0 / offset))


def _offset(fading: float, n_words: int, spikes_per_pass: float) -> float:
    return fading * spikes_per_pass / (n_words * math.exp(1.5))
