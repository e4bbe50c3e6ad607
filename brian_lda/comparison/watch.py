"""What is measured while the twins of `compare_twins` train."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brian_lda.corpus import HoldoutSplit
from brian_lda.estimators import TopicModel
from brian_lda.estimators.trainers import EventDrivenTrainer, GibbsTrainer

Measures = dict[str, float]


class Watch:
    """Held-out perplexity and zeta of many runs, at the same iterations.

    Parameters
    ----------
    split : HoldoutSplit
    n_iterations : int
        Of a run; the last is always measured.
    every : int
        The first is measured, and each so many.
    """

    def __init__(self, split: HoldoutSplit, n_iterations: int, every: int) -> None:
        self._split = split
        self.points = np.array(
            sorted({1, n_iterations, *range(every, n_iterations + 1, every)}), np.int64
        )
        self._runs: dict[str, dict[int, list[Measures]]] = {}
        self.latest: Measures = {}

    def of(self, label: str, seed: int) -> Callable[[TopicModel, dict[str, Any]], None]:
        """The callback of one run."""
        run = self._runs.setdefault(label, {}).setdefault(seed, [])

        def measure(model: TopicModel, record: dict[str, Any]) -> None:
            if record["iteration"] in self.points:
                score = model.heldout_score(self._split.observed, self._split.heldout)
                self.latest = {"perplexity": score.perplexity, **normalisations(model.trainer_)}
                run.append(self.latest)

        return measure

    def curves(self) -> dict[str, dict[str, np.ndarray]]:
        """By measure and twin, float array [seed, point]; a measure may be without curves."""
        curves: dict[str, dict[str, np.ndarray]] = {}
        for name in ("perplexity", "zeta__alpha", "zeta__beta"):
            curves[name] = {
                label: np.array([[point[name] for point in run] for run in runs.values()])
                for label, runs in self._runs.items()
                if all(name in point for run in runs.values() for point in run)
            }
        return curves


def normalisations(trainer: Any) -> Measures:
    """zeta of both layers, each over its value on the manifold; the mean over neurons."""
    if isinstance(trainer, EventDrivenTrainer):
        network = trainer.network
        seen = network.state()["n_beta"] > 0
        zeta__beta = np.exp(network.M__beta[seen]).sum(axis=1) / network.parameters.kappa
        return {"zeta__alpha": _zeta(network.J__alpha), "zeta__beta": float(zeta__beta.mean())}
    if isinstance(trainer, GibbsTrainer):  # counts: on the manifold from the first token on
        return {"zeta__alpha": float(trainer.sampler.phi.sum(axis=1).mean())}
    learner = trainer.algorithm
    return {"zeta__alpha": _zeta(getattr(learner, "words", learner).M__alpha)}


def _zeta(M__alpha: np.ndarray) -> float:
    """Mean over topics of sum_w exp M^alpha_zw."""
    with np.errstate(over="ignore"):
        return float(np.exp(M__alpha).sum(axis=1).mean())
