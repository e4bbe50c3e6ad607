"""The settings of the paper's perplexity figures, and what we make of them at smaller scales.

From Sec. 4 and the appendix "Details of the experiments". Where the paper is silent:

- the number of passes on KOS, 20NG and Enron, the lambda grid there (its step sizes name 0.01,
  0.05 and 0.1) and the mini-batch size on NIPS are ours;
- "RMSP" has decay 0.9 and epsilon 1e-8 inside the root (`brian_lda.parameters.RMSProp`);
- "local iterations" are read as T of Alg. 4 ("the number of semi-CGS iterations T"), which makes
  2T sweeps and counts the last T; the same for du-SpikeLDA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brian_lda.automatic_steps import WORD_PRIOR
from brian_lda.step_rules import (
    AdaGrad,
    RMSProp,
    StepRule,
    VarianceTracking,
    step_rule_to_dict,
)
from study.comparison import Setting, Variant

LAMDAS_SMALL = (0.01, 0.05, 0.1, 0.2, 0.5)
LAMDAS_LARGE = (0.01, 0.1, 0.2, 0.5, 0.75, 1.0)  # Tab. nips, nytimes, pubmed


def small_corpora(scale: str) -> Setting:
    """figure_prior.py and figure_convergence.py: CGS, ed-SpikeLDA, ed-SpikePLSI."""
    n_topics, lamdas, corpora, sweeps, passes = {
        "tiny": (5, (0.1, 0.5), ("reuters",), 8, 8),
        "small": (50, (0.01, 0.05, 0.1, 0.5), ("kos", "20ng"), 200, 50),
        "paper": (200, LAMDAS_SMALL, ("kos", "20ng", "enron"), 1000, 200),
    }[scale]
    variants = (
        # the smoothing that SpikeLDA has by default; the paper does not say its varphi
        Variant("cgs", sweeps, WORD_PRIOR),
        Variant("ed_spike_lda", passes),
        Variant("ed_spike_plsi", passes),
    )
    return Setting(n_topics, lamdas, dict.fromkeys(corpora, variants), "passes over the corpus")


@dataclass(frozen=True)
class LargeCorpus:
    """A row of the appendix: global iterations, mini-batch, step sizes, local iterations."""

    iterations: int
    batch_size: int
    svi: tuple[tuple[float, float, float], int]  # (a, b, c), local iterations
    sgmcmc: tuple[tuple[float, float, float], int]
    semi: tuple[float, int]  # eta of RMSProp, local iterations
    du: tuple[float, float, int]  # eta of M^alpha, eta of M^beta, local iterations


NIPS = LargeCorpus(
    iterations=1000, batch_size=50,  # the mini-batch is not stated
    svi=((0.1, 10_000.0, 0.7), 5), sgmcmc=((0.05, 1000.0, 0.7), 10),
    semi=(0.5, 10), du=(0.5, 1.0, 30),
)  # fmt: skip
NYTIMES = LargeCorpus(
    iterations=3000, batch_size=1000,
    svi=((0.01, 10_000.0, 0.6), 30), sgmcmc=((0.005, 1000.0, 0.7), 30),
    semi=(0.1, 30), du=(0.05, 1.0, 30),
)  # fmt: skip
PUBMED = LargeCorpus(
    iterations=5000, batch_size=1000,
    svi=((0.05, 10_000.0, 0.6), 30), sgmcmc=((0.0001, 1000.0, 0.7), 30),
    semi=(0.05, 30), du=(0.05, 1.0, 30),
)  # fmt: skip


def paper_rule(algorithm: str, row: LargeCorpus = NIPS) -> dict[str, Any]:
    """Arguments of the estimator that make it the paper's: rules, Euler step, T, no prior on Phi.

    Parameters
    ----------
    algorithm : str
        A name of `brian_lda.algorithms`.
    row : LargeCorpus
        Of the mini-batch algorithms. The paper has none for KOS and 20NG, which are nearer to NIPS
        than to corpora of 300 000 documents.
    """
    (eta, T), (eta_alpha, eta_beta, T_du) = row.semi, row.du
    rules: dict[str, dict[str, Any]] = {
        "semi_spike_lda": {"word_step": RMSProp(eta=eta), "local_iterations": T},
        "du_spike_lda": {
            "word_step": RMSProp(eta=eta_alpha), "doc_step": RMSProp(eta=eta_beta),
            "local_iterations": T_du,
        },
        # "For all parameter M in SpikePLSI, we use variance tracking. For M^alpha of ed-SpikeLDA,
        # we use variance tracking too; but for its M^beta, we use AdaGrad."
        "ed_spike_lda": {"word_step": VarianceTracking(), "doc_step": AdaGrad()},
        "ed_spike_plsi": {
            "word_step": VarianceTracking(), "doc_step": VarianceTracking(), "doc_restart": 0,
        },
    }  # fmt: skip
    return {**rules[algorithm], "integrator": "euler", "topic_word_prior": 0.0}


def large_corpora(scale: str) -> Setting:
    """figure_prior_large.py and figure_convergence_large.py: the mini-batch algorithms."""
    unit = "mini-batch updates"
    if scale == "paper":
        corpora = {"nips": NIPS, "nytimes": NYTIMES, "pubmed": PUBMED}
        return Setting(50, LAMDAS_LARGE, {name: _rows(row) for name, row in corpora.items()}, unit)
    if scale == "small":
        return Setting(50, (0.01, 0.1, 0.5, 1.0), {"nips": _rows(NIPS, 300, 5)}, unit)
    return Setting(5, (0.1, 0.5), {"reuters": _rows(NIPS, 80, 2)}, unit)


def _rows(
    row: LargeCorpus, iterations: int | None = None, most_local_iterations: int | None = None
) -> tuple[Variant, ...]:
    """The algorithms of a figure, our default steps beside the paper's.

    `most_local_iterations` cuts the paper's local iterations T short, which lines with the paper's
    steps then say; SpikeLDA with our steps has T = 5 or less.
    """
    most = most_local_iterations or 10**9
    n = iterations or row.iterations

    def variant(
        algorithm: str, T: int, word_prior: float | None = None, note: str = "", **options: Any
    ) -> Variant:
        sizes = {"batch_size": row.batch_size, "local_iterations": min(T, most)}
        return Variant(algorithm, n, word_prior, {**sizes, **options}, note)

    def as_in_the_paper(algorithm: str) -> Variant:
        rule = paper_rule(algorithm, row)
        T, word_prior = rule.pop("local_iterations"), rule.pop("topic_word_prior")
        options = {
            name: step_rule_to_dict(value) if isinstance(value, StepRule) else value
            for name, value in rule.items()
        }
        note = "paper's steps" if T <= most else f"paper's steps, T = {most}"
        return variant(algorithm, T, word_prior, note, **options)

    return (
        variant("semi_spike_lda", 5),
        variant("du_spike_lda", 5),
        as_in_the_paper("semi_spike_lda"),
        as_in_the_paper("du_spike_lda"),
        variant("svi", row.svi[1], 0.51, step=list(row.svi[0])),
        variant("sgmcmc", row.sgmcmc[1], 0.01, step=list(row.sgmcmc[0])),
    )
