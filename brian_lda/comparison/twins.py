"""`compare_twins`: train an algorithm in spikes and at rate level, and say whether they agree."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from tqdm.auto import tqdm

from brian_lda.algorithms import algorithm_of
from brian_lda.comparison.equivalence import Equivalence, compare_perplexities
from brian_lda.comparison.following import follow_network
from brian_lda.comparison.page import draw_page
from brian_lda.comparison.watch import Watch
from brian_lda.comparison.winner_law import SMALLEST_P, WinnerLaw
from brian_lda.corpus import Corpus, HoldoutSplit, holdout_split
from brian_lda.errors import ParameterError
from brian_lda.estimators import TopicModel
from brian_lda.evaluation import TopicMatch, match_topics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PASSES = 10  # where the model has no max_iter
POINTS = 20  # of a curve
KEPT = 2  # models of each twin whose topics are looked at
EQUIVALENT = 0.05  # level of the equivalence test
DIFFERENT = 0.01  # of the test of a difference, where equivalence is not shown
TWINS = {"rate": "rate level", "brian2": "spikes"}  # by backend

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TwinComparison:
    """What became of both twins; `print` it, or look at it with `plot`.

    Attributes
    ----------
    title : str
        Algorithm, corpus, number of topics.
    unit : str
        What an iteration is: pass, sweep or mini-batch.
    iterations : int array [point]
        Where the curves were measured.
    perplexity : dict of str to float array [seed, point]
        Held-out perplexity, by twin ("rate level", "spikes").
    zeta__alpha : dict of str to float array [seed, point]
        Mean over topics of sum_w exp M^alpha_zw, the prior on Phi included; 1 on the manifold.
    zeta__beta : dict of str to float array [seed, point]
        Mean over documents of sum_z exp M^beta_zd, over its value on the manifold; empty where
        documents are dropped after their mini-batch.
    match : TopicMatch
        Topics of the twin (first seed) and their partners in spikes (first seed).
    match_of_twins : TopicMatch
        The same between two seeds of the twin: what chance alone leaves.
    laws : tuple of WinnerLaw
        Of the first tokens and of tokens after training.
    equivalence : Equivalence
        Of the final perplexities.
    """

    title: str
    unit: str
    iterations: np.ndarray
    perplexity: Mapping[str, np.ndarray]
    zeta__alpha: Mapping[str, np.ndarray]
    zeta__beta: Mapping[str, np.ndarray]
    match: TopicMatch
    match_of_twins: TopicMatch
    laws: tuple[WinnerLaw, ...]
    equivalence: Equivalence

    @property
    def winner_p(self) -> float:
        """p-value of "the winners follow the twin's law", over all windows (Bonferroni)."""
        return min(1.0, len(self.laws) * min(law.p for law in self.laws))

    @property
    def law_holds(self) -> bool:
        """The winners follow the twin's law, and the weights its plasticity."""
        return self.winner_p >= SMALLEST_P and all(law.holds for law in self.laws)

    @property
    def verdict(self) -> str:
        """AGREE, DIFFER or UNDECIDED.

        DIFFER: the winners break the twin's law, the weights learn otherwise, or the perplexities
        differ (p < 0.01) without being equivalent. AGREE: the law holds, and the perplexities are
        equivalent (p < 0.05). UNDECIDED: the law holds, and there are too few seeds to say more.
        """
        if not self.law_holds:
            return "DIFFER"
        if self.equivalence.p_equivalent < EQUIVALENT:
            return "AGREE"
        return "DIFFER" if self.equivalence.p_different < DIFFERENT else "UNDECIDED"

    def __str__(self) -> str:
        found, final = self.equivalence, {k: v[:, -1] for k, v in self.perplexity.items()}
        mean = {k: float(np.exp(np.log(v).mean())) for k, v in final.items()}
        laws = ", ".join(f"{law.name} p = {law.p:.2g}" for law in self.laws)
        gap = max(law.weight_gap for law in self.laws)
        zeta = ", ".join(f"{v[:, -1].mean():.3f} ({k})" for k, v in self.zeta__alpha.items())
        return "\n".join(
            [
                f"{self.verdict}: {self.title}",
                f"  winner law   {'holds' if self.law_holds else 'BROKEN'}: {laws}; learnt from "
                f"the same winners, weights differ by {gap:.1g}",
                f"  perplexity   {mean['spikes']:.1f} in spikes ({len(final['spikes'])} seeds), "
                f"{mean['rate level']:.1f} at rate level ({len(final['rate level'])} seeds): "
                f"ratio {found.ratio:.4f}",
                f"  equivalence  p = {found.p_equivalent:.2g} for a margin of "
                f"{100 * found.margin:.1f} %, {found.margin / found.spread:g} x the spread of the "
                f"twin over its seeds ({100 * found.spread:.1f} %)" + self._what_is_missing(),
                f"  topics       mean cosine {self.match.cosine.mean():.3f}, between two seeds of "
                f"the twin {self.match_of_twins.cosine.mean():.3f}",
                f"  zeta         {zeta}",
            ]
        )

    def _what_is_missing(self) -> str:
        if self.verdict != "UNDECIDED":
            return ""
        return "; more seeds in spikes would decide"

    def plot(self) -> Figure:
        """One page: perplexity, zeta, matched topics, winner law, verdict."""
        return draw_page(self)


def compare_twins(
    model: TopicModel,
    corpus: Corpus | HoldoutSplit,
    *,
    seeds: int = 5,
    twin_seeds: int = 20,
    every: int | None = None,
    law_tokens: int = 5000,
    progress: bool = False,
) -> TwinComparison:
    """Train an algorithm in spikes and at rate level, over seeds, and compare.

    Parameters
    ----------
    model : SpikeCGS, EdSpikeLDA, EdSpikePLSI, DuSpikeLDA or SemiSpikeLDA
        Not fitted, and not changed. Its `backend` is not read, its `brian2_options` count in
        spikes, and nothing is recorded. Without `max_iter` it trains for 10 passes. An integer
        `random_state` is the first seed.
    corpus : Corpus or HoldoutSplit
        A corpus is split 9:1 with seed 0.
    seeds : int
        Runs in spikes.
    twin_seeds : int
        Runs at rate level, at least 3. They are cheap, and their spread is the measure.
    every : int, optional
        Iterations between two points of the curves; the default makes 20 points.
    law_tokens : int
        About how many races the winner law is tested on, at the first tokens and again after
        training.
    progress : bool
        Show a bar.

    Returns
    -------
    TwinComparison
    """
    algorithm = algorithm_of(type(model))
    _check(model, seeds, twin_seeds)
    split = corpus if isinstance(corpus, HoldoutSplit) else holdout_split(corpus, seed=0)
    n_iterations = _iterations(model, split.train)
    watch = Watch(split, n_iterations, every or max(1, n_iterations // POINTS))
    first = model.random_state if isinstance(model.random_state, (int, np.integer)) else 0
    fitted: dict[str, list[TopicModel]] = {label: [] for label in TWINS.values()}
    with tqdm(total=seeds + twin_seeds, unit="run", disable=not progress) as bar:
        for (backend, label), n in zip(TWINS.items(), (twin_seeds, seeds), strict=True):
            for seed in range(first, first + n):
                bar.set_description_str(f"{label}, seed {seed}")
                run = clone(model).set_params(
                    backend=backend, max_iter=n_iterations, random_state=seed,
                    callbacks=[watch.of(label, seed)], record=None,
                )  # fmt: skip
                run.fit(split.train)
                if len(fitted[label]) < KEPT:
                    fitted[label].append(run)
                _log.info("%s, seed %d: %s", label, seed, watch.latest)
                bar.update()
    twin, spikes = fitted["rate level"], fitted["spikes"]
    fresh = clone(spikes[0]).set_params(random_state=first, callbacks=None)
    start = fresh._make_trainer(split.train, int(first))
    laws = [
        follow_network(name, algorithm, trainer, split.train, law_tokens, int(first))
        for name, trainer in (("first tokens", start), ("after training", spikes[0].trainer_))
    ]
    curves = watch.curves()
    final = {label: runs[:, -1] for label, runs in curves["perplexity"].items()}
    return TwinComparison(
        title=f"{algorithm.title}, {split.train.name}, K = {model.n_topics}",
        unit=algorithm.iteration,
        iterations=watch.points,
        perplexity=curves["perplexity"],
        zeta__alpha=curves["zeta__alpha"],
        zeta__beta=curves["zeta__beta"],
        match=match_topics(twin[0].components_, spikes[0].components_),
        match_of_twins=match_topics(twin[0].components_, twin[1].components_),
        laws=tuple(laws),
        equivalence=compare_perplexities(final["spikes"], final["rate level"]),
    )


def _check(model: TopicModel, seeds: int, twin_seeds: int) -> None:
    algorithm = algorithm_of(type(model))
    if not algorithm.is_spiking or algorithm.twin is None:
        missing = "spiking network" if not algorithm.is_spiking else "rate-level twin"
        raise ParameterError(f"{algorithm.title} has no {missing}: there is nothing to compare.")
    if getattr(model, "constraints", None) is not None:
        raise ParameterError(
            "compare_twins follows the exact law: pass a model without constraints."
        )
    for name, value, least in (("seeds", seeds, 1), ("twin_seeds", twin_seeds, 3)):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise ParameterError(f"{name} must be an integer of at least {least}; found {value!r}.")


def _iterations(model: Any, train: Corpus) -> int:
    """`max_iter`, or 10 passes."""
    if model.max_iter is not None:
        return int(model.max_iter)
    if not hasattr(model, "documents_per_batch"):
        return PASSES
    return PASSES * -(-train.n_docs // model.documents_per_batch(train))
