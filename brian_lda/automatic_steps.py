r"""The step rules of a user who sets none: free of constants of one corpus.

M^alpha: eta_n = c/(n_0 + n), n the spikes of the topic neuron so far. The weights then average
over the last (n_0 + n)/c spikes: over the last c-th part of what the neuron has lived through,
however long that was. Early estimates, made when topics meant nothing, are forgotten as (n_0/n)^c;
late ones are averaged over ever longer windows, so that the weights converge [sum of eta infinite,
sum of eta^2 finite: the condition of the paper's theorems]. Nothing here knows when training ends.

c = 1 would be the plain average of all that was seen, c = infinity no average at all. A large c
explores longer, a small one settles sooner, in a worse optimum (`docs/defaults.md`).

n_0 says how fast the initial weights fade. The paper draws them from N(1, 1), so that a topic
neuron starts at zeta = V exp(1.5) instead of 1, and they weigh zeta (1 + n/n_0)^-c beside what is
learnt: n_0 = n/(zeta^(1/c) - 1) if that shall be 1 after n spikes. That fading is what anneals the
network: gone within a mini-batch, all topics become the same.

A stream (`partial_fit`) has no passes to count by and sees a document once: c is smaller, and n_0
a number of events.

M^beta of ed- and du-SpikeLDA has a constant step: a document follows its topics wherever they
move. It does not anneal, so that the theorems' sum of eta^2 < infinity holds for words alone.
"""

from __future__ import annotations

import math

from brian_lda.step_rules import RobbinsMonro

WORD_PRIOR = 0.05  # varphi of the SpikeLDA estimators, chosen by measuring (docs/defaults.md)
FORGETTING = 20.0  # c: weights average over the last twentieth
BATCH_FADING = 0.2  # passes until the initial weights weigh as much as what is learnt
DELAYED_FADING = 1.0  # ... of du-SpikeLDA, whose documents hold on to their first winners
DELAYED_DOC_WINDOW = 0.5  # passes through the document, fewer through a very short one:
# What a token's last vote may weigh in its document when the token is raced again. Where it weighs
# more, tokens vote for themselves, and documents stay with the topics that they drew by chance.
OWN_VOTE = 1.0 / 70.0
# Token by token, where a pass is one draw a token instead of 2T, topics need more passes to form,
# and short windows while they do:
EVENT_FORGETTING = 160.0
EVENT_FADING = 1.6
# Without a prior a synapse that misses a window is lost: forget less where its events are rare (c
# is the number of its events in two passes, 2N/(K V), between this and FORGETTING), start slowly.
UNSMOOTHED_FORGETTING = 2.0
UNSMOOTHED_EVENTS = 2.0
UNSMOOTHED_FADING = 12.0
EVENT_DOC_WINDOW = 0.2  # passes over the document,
EVENT_DOC_TOKENS = 25.0  # but at least so many tokens,
EVENT_DOC_MOST = 0.5  # or half the document if it is short; less if very short (OWN_VOTE)
# Where theta has no prior to fall back on, short windows fit it to chance: half of the document, at
# least so many tokens, or the whole one if it is short. And a topic that a document has lost would
# never come back: after so many passes documents begin anew, at the paper's first weights.
UNSMOOTHED_DOC_WINDOW, UNSMOOTHED_DOC_TOKENS, UNSMOOTHED_DOC_MOST = 0.5, 50.0, 1.0
UNSMOOTHED_DOC_RESTART = 10
# A stream has no passes to count by: its constants are in events, and no size enters. Beside each,
# what other values did to perplexity on held-back documents (docs/results.md, "One pass").
STREAM_EVENTS = 3.0  # of each synapse, for which the initial weights count (1, 10: up to 4 % worse)
# Weigh event n by n: in a plain average (1), what was learnt while topics meant nothing, and the
# initial weights, are never outweighed (1: 5 to 8 % worse; 3: 2 to 9 % worse). Without a prior the
# initial weights are all the smoothing there is, and the average stays plain.
STREAM_FORGETTING = 2.0
# What a first visit draws knows nothing of the document yet. One visit of an event-driven network
# is one draw a token, of the others 2T. (5: 3 % worse; event-driven, 10: 7 % worse)
STREAM_BATCH_VISITS = 10
STREAM_EVENT_VISITS = 20
# Counts that the prior of Phi brings for each token, at the most. The first documents of a stream
# are few beside K V synapses: without a bound the prior outweighs them, and the initial weights,
# from which topics form, fade into a flat distribution (20NG, shuffled: 20 % worse).
STREAM_PRIOR_SHARE = 0.5


def event_word_step(n_topics: int, n_words: int, n_tokens: int, *, smoothed: bool) -> RobbinsMonro:
    """Step of M^alpha of ed-SpikeLDA and ed-SpikePLSI; `smoothed`: Phi has a prior."""
    if not smoothed:
        spikes = UNSMOOTHED_FADING * n_tokens / n_topics
        events = UNSMOOTHED_EVENTS * n_tokens / (n_topics * n_words)
        c = min(max(events, UNSMOOTHED_FORGETTING), FORGETTING)
        return forgetting_step(spikes, n_words, c)
    return forgetting_step(EVENT_FADING * n_tokens / n_topics, n_words, EVENT_FORGETTING)


def event_doc_step(mean_doc_length: float, *, smoothed: bool) -> RobbinsMonro:
    """Step of M^beta, in relaxation times of the synapse: constant.

    `smoothed`: theta has a prior, as in ed-SpikeLDA and not in ed-SpikePLSI.

    A first step of 1 would commit a document to the winner of its first token, at a time when the
    topics mean nothing yet.
    """
    window, least = EVENT_DOC_WINDOW * mean_doc_length, EVENT_DOC_TOKENS
    most = short_window(mean_doc_length, EVENT_DOC_MOST) * mean_doc_length
    if not smoothed:  # there documents begin anew instead (`doc_restart`)
        window, least = UNSMOOTHED_DOC_WINDOW * mean_doc_length, UNSMOOTHED_DOC_TOKENS
        most = UNSMOOTHED_DOC_MOST * mean_doc_length
    return RobbinsMonro(scale=1.0 / min(max(window, least), most), power=0.0)


def short_window(mean_doc_length: float, most: float) -> float:
    """Passes through a document that M^beta may average over: at most `most`.

    A vote weighs 1/W in a window of W tokens, and exp(-N_d/W)/W when its token comes again after
    the N_d tokens of the document. With W = N_d/x the window is the longest with
    x exp(-x) <= N_d `OWN_VOTE`: a half from 19 tokens on, 0.28 for 7 tokens, 0.24 for 4.
    """
    x = 1.0 / most
    for _ in range(100):  # x = log(x/(N_d OWN_VOTE)), from below
        x = max(x, math.log(x / (mean_doc_length * OWN_VOTE)))
    return 1.0 / x


def batch_word_step(
    n_topics: int, n_words: int, n_tokens: int, fading: float = BATCH_FADING
) -> RobbinsMonro:
    """Step of M^alpha of semi-SpikeLDA; with `DELAYED_FADING` of du-SpikeLDA."""
    return forgetting_step(fading * n_tokens / n_topics, n_words)


def stream_word_step(*, smoothed: bool) -> RobbinsMonro:
    """Step of M^alpha when documents keep arriving (`partial_fit`): eta = gain / (offset + n).

    It knows neither how many will come nor how many come at a time. Each topic neuron counts its
    own spikes, so that one whose documents have become rare keeps what it learnt from them.
    """
    offset = STREAM_EVENTS / math.exp(1.5)  # exp(1.5) is the mean of exp M under N(1, 1)
    forgetting = STREAM_FORGETTING if smoothed else 1.0
    return RobbinsMonro(scale=forgetting / offset, offset=offset)


def stream_corpus_size(n_tokens: float, n_topics: int, varphi_sum: float) -> float:
    """N, the tokens of a pass, by which the prior of Phi counts in semi- and du-SpikeLDA.

    All tokens that have come so far are one pass, K times `varphi_sum` (over words) the counts of
    the prior in it; early in the stream N is larger, so that they are at most
    `STREAM_PRIOR_SHARE` of the tokens.
    """
    return max(n_tokens, n_topics * varphi_sum / STREAM_PRIOR_SHARE)


def delayed_doc_step(mean_doc_length: float) -> RobbinsMonro:
    """Step of M^beta of du-SpikeLDA, in passes through the document: average over half of it.

    Constant, as in ed-SpikeLDA. Longer windows smooth away what tells topics apart while they form
    (20 tokens a document, a whole pass: 10 % worse), a fifth is 1 % worse; for documents of 7
    tokens a half is 18 % worse than `short_window`.
    """
    return RobbinsMonro(scale=1.0 / short_window(mean_doc_length, DELAYED_DOC_WINDOW), power=0.0)


def forgetting_step(fading_spikes: float, n_words: int, c: float = FORGETTING) -> RobbinsMonro:
    """eta_n = c/(n_0 + n), with n_0 such that N(1, 1) fades.

    Parameters
    ----------
    fading_spikes : float
        Of a topic neuron, after which its initial weights weigh as much as what it has learnt.
    n_words : int
        V.
    c : float
    """
    zeta = n_words * math.exp(1.5)  # mean of sum_w exp M^alpha_zw under N(1, 1)
    offset = fading_spikes / (zeta ** (1.0 / c) - 1.0)
    return RobbinsMonro(scale=c / offset, offset=offset)


# By what begins the name of a constant: who trains by it. The others are for all networks; those of
# a stream are for no run that knows its corpus.
FAMILIES: dict[str, tuple[str, ...]] = {
    "pass": ("EVENT_", "UNSMOOTHED_"),
    "mini-batch": ("BATCH_", "DELAYED_"),
}


def constants_of(iteration: str) -> dict[str, float]:
    """The constants above that a network trains by, by the unit of its iterations.

    When one changes, runs of these networks are other runs (`brian_lda.sweeps.task`).
    """
    own = FAMILIES.get(iteration)
    if own is None:  # its law has no steps
        return {}
    of_all = ("WORD_PRIOR", "FORGETTING", "OWN_VOTE")
    values = {name: value for name, value in globals().items() if isinstance(value, (int, float))}
    return {n: value for n, value in values.items() if n in of_all or n.startswith(own)}
