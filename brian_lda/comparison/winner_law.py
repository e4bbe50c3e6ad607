r"""Do the winners of a spiking network follow the law of its rate-level twin?

The twin follows the network: it takes the network's winners one after the other, learns from them
by its own rules, and says before each of them how likely every topic was, p_i = softmax(u_i)
(`follow` of the classes in `brian_lda/reference`). If the network is right in everything, race,
potentials, both phases, plasticity and priors, then its winner z_i is a draw from p_i, and

.. math:: \sum_i f_i(z_i) - \sum_z p_{iz} f_i(z)

is a martingale for any function f_i of what was known before: a normal variable of variance
sum_i Var_{p_i} f_i for many tokens. Three of them are asked:

- how often each topic won: f the indicators of the topics (chi-square, K - 1 degrees);
- how surprising the winners were: f = log p_i. A law that is too sharp or too flat shows here;
- how often a token stayed with its last topic, where it has one: a negative phase that is missing,
  or only half done, shows here.

The p-value is the smallest of the three, times their number (Bonferroni). And since both have
learnt from the same winners, their weights must be the same afterwards, but for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

SMALLEST_P = 1e-3  # below, the winners follow another law
LARGEST_GAP = 1e-4  # of weights; rounding leaves 1e-8
RARE = 1.0  # expected wins below which topics are put together: chi-square needs some


@dataclass(frozen=True)
class WinnerLaw:
    """Answer of `judge_winners`.

    Attributes
    ----------
    name : str
        Which tokens: "first tokens", "after training".
    n_tokens : int
    observed, expected, deviation : float array [topic]
        Wins; what the twin predicts, and the standard deviation around it.
    p_topics, p_surprise : float
    p_stay : float or None
        None where tokens have no last topic.
    weight_gap : float
        Largest relative difference, over all synapses, between what the network has learnt from
        these winners and what the twin has: rounding, if both have the same plasticity.
    """

    name: str
    n_tokens: int
    observed: np.ndarray
    expected: np.ndarray
    deviation: np.ndarray
    p_topics: float
    p_surprise: float
    p_stay: float | None
    weight_gap: float = 0.0

    @property
    def holds(self) -> bool:
        """The winners follow the twin's law, and the weights its plasticity."""
        return self.p >= SMALLEST_P and self.weight_gap <= LARGEST_GAP

    @property
    def p(self) -> float:
        """p-value of "the winners follow the twin's law"."""
        asked = [p for p in (self.p_topics, self.p_surprise, self.p_stay) if p is not None]
        return min(1.0, len(asked) * min(asked))


def weight_gap(network: np.ndarray, twin: np.ndarray) -> float:
    """Largest relative difference of exp M; what is below a millionth does not count."""
    a, b = np.exp(network), np.exp(twin)
    return float((np.abs(a - b) / (a + b + 1e-6)).max())


def judge_winners(
    name: str,
    p: np.ndarray,
    winners: np.ndarray,
    last: np.ndarray | None = None,
    weight_gap: float = 0.0,
) -> WinnerLaw:
    """Test winners against the probabilities that they should have had.

    Parameters
    ----------
    name : str
    p : float array [token, topic]
        Given all winners before; rows sum to 1.
    winners : int array [token]
    last : int array [token], optional
        The topic that each token had before; -1: none.
    weight_gap : float
        Of the two networks after these winners (`weight_gap`).
    """
    n_tokens, K = p.shape
    observed = np.bincount(winners, minlength=K).astype(float)
    expected = p.sum(axis=0)
    variance = (p * (1.0 - p)).sum(axis=0)
    p_stay = None
    if last is not None:
        has = np.flatnonzero(last >= 0)
        stay = p[has, last[has]]
        p_stay = _normal_p((winners[has] == last[has]) - stay, stay * (1.0 - stay))
    with np.errstate(divide="ignore"):
        surprise = np.log(np.maximum(p, np.finfo(float).tiny))
    mean = (p * surprise).sum(axis=1)
    found = surprise[np.arange(n_tokens), winners]
    spread = (p * (surprise - mean[:, None]) ** 2).sum(axis=1)
    return WinnerLaw(
        name=name,
        n_tokens=n_tokens,
        observed=observed,
        expected=expected,
        deviation=np.sqrt(variance),
        p_topics=_topics_p(p, observed, expected),
        p_surprise=_normal_p(found - mean, spread),
        p_stay=p_stay,
        weight_gap=weight_gap,
    )


def _topics_p(p: np.ndarray, observed: np.ndarray, expected: np.ndarray) -> float:
    """Chi-square on the wins of the topics, with covariance sum_i (diag p_i - p_i p_i^T)."""
    common = expected >= RARE
    if common.sum() < 2:
        return 1.0
    q = p[:, common]
    covariance = np.diag(q.sum(axis=0)) - q.T @ q
    difference = (observed - expected)[common]
    if common.all():  # they have a common sum: one of them says nothing new
        covariance, difference = covariance[:-1, :-1], difference[:-1]
    statistic = difference @ np.linalg.lstsq(covariance, difference, rcond=None)[0]
    return float(stats.chi2.sf(statistic, len(difference)))


def _normal_p(excess: np.ndarray, variance: np.ndarray) -> float:
    """Two-sided p-value of a sum with mean zero and this variance."""
    total = float(variance.sum())
    if total < RARE:  # nothing was left to chance, or too little for a normal distribution
        return 1.0 if abs(float(excess.sum())) < 10.0 else 0.0
    return float(2.0 * stats.norm.sf(abs(float(excess.sum())) / np.sqrt(total)))
