"""Runs of the paper's classification tables (`brian_lda.sweeps.experiments.CLASSIFY`)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from brian_lda.runs import RunConfig
from study.priors import prior_of

CLASSIFY_FIELDS = (
    "algorithm", "corpus", "n_topics", "prior", "word_prior", "iterations", "seed", "options"
)  # fmt: skip


def classification_config(
    algorithm: str, corpus: str, K: int, lamda: float, varphi: float, iterations: int, seed: int,
    judged_on: str = "test",
) -> dict[str, Any]:  # fmt: skip
    """Configuration of a run of `CLASSIFY`; lamda is a collapsed sampler's (see `prior_of`)."""
    run = RunConfig(
        algorithm=algorithm, corpus=corpus, n_topics=K, prior=prior_of(algorithm, lamda),
        word_prior=varphi, iterations=iterations, seed=seed,
    )  # fmt: skip
    return {name: value for name, value in asdict(run).items() if name in CLASSIFY_FIELDS} | {
        "judged_on": judged_on
    }
