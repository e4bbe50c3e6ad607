"""The two twins side by side: same initial weights, same tokens, their own random winners.

`train_twins` trains both and follows perplexity and the normalisation zeta; `winner_frequency_p`
asks with frozen weights whether the winners of both follow one law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import stats

from brian_lda.corpus import Corpus, HoldoutSplit, shuffled_passes
from brian_lda.errors import ParameterError
from brian_lda.estimators.protocols import EventDrivenNetwork
from brian_lda.estimators.trainers import read_out_phi, softmax_rows
from brian_lda.evaluation import TopicMatch, heldout_perplexity, match_topics
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.event_driven import EventDrivenTwin
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.step_rules import FROZEN

TWINS = ("rate", "spiking")


@dataclass
class TwinComparison:
    """What became of both twins.

    Attributes
    ----------
    perplexity : dict of str to list of float
        Held-out perplexity after each pass, by twin ("rate", "spiking").
    zeta__alpha : dict of str to list of float
        Mean over topics of sum_w exp J_zw after each pass, J = M^alpha and the prior on Phi; 1 on
        the manifold.
    zeta__beta : dict of str to list of float
        Mean over documents of sum_z exp M^beta_zd / kappa after each pass; 1 on the manifold.
    phi : dict of str to float array [topic, word]
    match : TopicMatch
        Rate-level topics and their partners in the spiking network.
    winner_p : float
        p-value of "the winners of both follow the same law".
    words, docs : int array [token]
        The tokens of the last pass, as both saw them.
    """

    perplexity: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TWINS})
    zeta__alpha: dict[str, list[float]] = field(default_factory=lambda: {n: [] for n in TWINS})
    zeta__beta: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TWINS})
    phi: dict[str, np.ndarray] = field(default_factory=dict)
    match: TopicMatch | None = None
    winner_p: float = float("nan")
    words: np.ndarray | None = None
    docs: np.ndarray | None = None

    @property
    def perplexity_ratio(self) -> float:
        """Spiking over rate-level, after the last pass."""
        return self.perplexity["spiking"][-1] / self.perplexity["rate"][-1]

    def verdict(self, tolerance: float = 0.02) -> str:
        """One line: do the twins agree?

        Parameters
        ----------
        tolerance : float
            Allowed difference of the perplexities. One run of a small corpus (reuters) varies by a
            few percent between seeds; only the p-value is a test of the law.
        """
        if self.match is None:
            raise ParameterError(
                "the twins have not been matched yet: there is a verdict when train_twins returns."
            )
        cosine = float(self.match.cosine.mean())
        agree = abs(self.perplexity_ratio - 1) <= tolerance and self.winner_p >= 1e-3
        return (
            f"{'AGREE' if agree else 'DIFFER'}: perplexity spiking/rate = "
            f"{self.perplexity['spiking'][-1]:.1f}/{self.perplexity['rate'][-1]:.1f} = "
            f"{self.perplexity_ratio:.4f}, mean matched-topic cosine = {cosine:.3f}, "
            f"winner-frequency p = {self.winner_p:.3f}"
        )


def train_twins(
    split: HoldoutSplit,
    parameters: EventDrivenParameters,
    n_passes: int,
    *,
    seed: int,
    simulator: str = "standalone",
    on_pass: Callable[[int, TwinComparison], None] | None = None,
) -> tuple[TwinComparison, EventDrivenSpiking]:
    """Train both twins and compare them.

    Parameters
    ----------
    split : HoldoutSplit
        Training corpus, observed and held-out halves of the test documents.
    parameters : EventDrivenParameters
    n_passes : int
    seed : int
        Of the initial weights and of the order of the tokens, common to both, and of the winners.
    simulator : {"standalone", "cython", "numpy"}
    on_pass : callable, optional
        Called with the number of the pass and the comparison so far.

    Returns
    -------
    comparison : TwinComparison
    spiking : EventDrivenSpiking
        The trained spiking network.
    """
    train = split.train
    sizes = (parameters, train.n_words, train.doc_lengths)
    initial = initial_state(*sizes, seed)
    spiking = EventDrivenSpiking(*sizes, seed=seed, initial=initial, simulator=simulator)
    networks: dict[str, EventDrivenNetwork] = {
        "rate": EventDrivenTwin(*sizes, seed=seed, initial=initial),
        "spiking": spiking,
    }
    comparison = TwinComparison()
    for number, (words, docs) in enumerate(shuffled_passes(train, n_passes, seed), start=1):
        for name, network in networks.items():
            network.present(words, docs)
            network.end_pass()
            _measure(comparison, name, network, split)
        if on_pass:
            on_pass(number, comparison)
    comparison.words, comparison.docs = words, docs
    comparison.match = match_topics(comparison.phi["rate"], comparison.phi["spiking"])
    comparison.winner_p = winner_frequency_p(
        parameters, train, spiking.state(), seed=seed, simulator=simulator
    )
    return comparison, spiking


def winner_frequency_p(
    parameters: EventDrivenParameters,
    corpus: Corpus,
    state: dict[str, np.ndarray],
    *,
    seed: int,
    n_tokens: int | None = None,
    simulator: str = "standalone",
) -> float:
    """p-value of "spiking and rate-level winners of the same tokens follow softmax(u)".

    The weights are frozen, so that the winners of different tokens are independent and the
    difference of the two topic histograms has mean zero and a known covariance,
    2 sum_i (diag p_i - p_i p_i^T) with p_i the softmax of token i: a chi-square test.

    Parameters
    ----------
    parameters : EventDrivenParameters
    corpus : Corpus
        Its tokens are drawn with replacement.
    state : dict
        Weights, as returned by `state` of either twin.
    seed : int
    n_tokens : int, optional
        The default is the size of the corpus, at most 20 000.
    simulator : {"standalone", "cython", "numpy"}
    """
    frozen = replace(parameters, word_step=FROZEN, doc_step=FROZEN, integrator="flow", gauge=True)
    kept = ("M__alpha", "M__beta", "n_alpha", "n_beta", "s_alpha", "Delta_alpha")
    state = {key: state[key] for key in kept if key in state}
    sizes = (frozen, corpus.n_words, corpus.doc_lengths)
    words, docs = corpus.tokens()
    n_tokens = n_tokens or min(len(words), 20_000)
    drawn = np.random.default_rng(seed).integers(0, len(words), n_tokens)
    words, docs = words[drawn], docs[drawn]
    twin = EventDrivenTwin(*sizes, seed=seed, initial=state)
    p = softmax_rows(twin.J__alpha.T[words] + state["M__beta"][docs])
    rate = twin.present(words, docs)
    spiking = EventDrivenSpiking(*sizes, seed=seed, initial=state, simulator=simulator)
    K = parameters.n_topics
    counts = [np.bincount(z, minlength=K) for z in (spiking.present(words, docs), rate)]
    covariance = 2.0 * (np.diag(p.sum(axis=0)) - p.T @ p)
    difference = (counts[0] - counts[1])[:-1].astype(float)  # the counts have a common sum
    statistic = difference @ np.linalg.lstsq(covariance[:-1, :-1], difference, rcond=None)[0]
    return float(stats.chi2.sf(statistic, K - 1))


def _measure(
    comparison: TwinComparison, name: str, network: EventDrivenNetwork, split: HoldoutSplit
) -> None:
    J__alpha, M__beta = network.J__alpha, network.M__beta
    lamda = network.parameters.doc_topic_prior
    phi = comparison.phi[name] = read_out_phi(J__alpha)
    score = heldout_perplexity(
        phi,
        split.observed.counts,
        split.heldout.counts,
        pseudo_count=0.1 if lamda is None else lamda - 1.0,
    )
    comparison.perplexity[name].append(score.perplexity)
    with np.errstate(over="ignore"):
        comparison.zeta__alpha[name].append(float(np.exp(J__alpha).sum(axis=1).mean()))
        seen = network.state()["n_beta"] > 0
        zeta__beta = np.exp(M__beta[seen]).sum(axis=1) / network.parameters.kappa
        comparison.zeta__beta[name].append(float(zeta__beta.mean()))
