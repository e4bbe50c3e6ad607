"""Held-out perplexity of every algorithm with its default settings, and with the paper's own rules.

    python sims/table_quality.py --data-dir DATA --corpora kos nips --json quality.json

Same split, same fold-in, mean over seeds, beside collapsed Gibbs sampling after 200 sweeps. The
rows marked "paper" use the step rules of the paper's appendix with its Euler update; in its
event-driven form that costs O(V) a token, so it is asked for by name (--rows paper-ed).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda import (
    CollapsedGibbsLDA,
    DuSpikeLDA,
    EdSpikeLDA,
    EdSpikePLSI,
    SemiSpikeLDA,
    StochasticGradientMCMCLDA,
    StochasticVariationalLDA,
)
from brian_lda.corpus import HoldoutSplit, holdout_split, load_corpus
from brian_lda.errors import BrianLDAError
from brian_lda.estimators import ProgressBar, TopicModel, TrackPerplexity
from brian_lda.estimators.base import WORD_PRIOR
from brian_lda.files.json_files import write_json
from brian_lda.runs import versions
from brian_lda.step_rules import AdaGrad, RMSProp, VarianceTracking
from study.arguments import positive

PAPER = {"integrator": "euler", "topic_word_prior": 0.0}


def models(n_topics: int, paper_passes: int) -> dict[str, TopicModel]:
    """Rows of the table; everything not named here is the estimator's default."""
    return {
        "cgs": CollapsedGibbsLDA(n_topics=n_topics),
        "cgs-smoothed": CollapsedGibbsLDA(n_topics=n_topics, topic_word_prior=WORD_PRIOR),
        "semi-spike-lda": SemiSpikeLDA(n_topics=n_topics),
        "ed-spike-lda": EdSpikeLDA(n_topics=n_topics),
        "du-spike-lda": DuSpikeLDA(n_topics=n_topics),
        "ed-spike-plsi": EdSpikePLSI(n_topics=n_topics),
        "sgmcmc": StochasticGradientMCMCLDA(n_topics=n_topics),
        "svi": StochasticVariationalLDA(n_topics=n_topics),
        "ed-spike-lda-unsmoothed": EdSpikeLDA(n_topics=n_topics, topic_word_prior=0.0),
        "semi-spike-lda-unsmoothed": SemiSpikeLDA(n_topics=n_topics, topic_word_prior=0.0),
        "semi-spike-lda-paper": SemiSpikeLDA(
            n_topics=n_topics, word_step=RMSProp(eta=0.5), **PAPER
        ),
        "du-spike-lda-paper": DuSpikeLDA(
            n_topics=n_topics, local_iterations=15,
            word_step=RMSProp(eta=0.5), doc_step=RMSProp(eta=1.0), **PAPER,
        ),
        "ed-spike-lda-paper": EdSpikeLDA(
            n_topics=n_topics, max_iter=paper_passes,
            word_step=VarianceTracking(), doc_step=AdaGrad(), **PAPER,
        ),
        "ed-spike-plsi-paper": EdSpikePLSI(
            n_topics=n_topics, max_iter=paper_passes, integrator="euler",
            word_step=VarianceTracking(), doc_step=VarianceTracking(),
        ),
    }  # fmt: skip


ON_DEMAND = ("ed-spike-lda-paper", "ed-spike-plsi-paper")


def evaluate(model: TopicModel, split: HoldoutSplit, seeds: int, quiet: bool) -> dict[str, Any]:
    runs = []
    for seed in range(seeds):
        bar = ProgressBar(disable=quiet)
        every = max(model.max_iter // 20, 1)
        track = TrackPerplexity(split.observed, split.heldout, every=every)
        model.set_params(random_state=seed, callbacks=[track, bar]).fit(split.train)
        bar.close()
        score = model.heldout_score(split.observed, split.heldout)
        curve = [(r["tokens"], r["perplexity"]) for r in model.history_ if "perplexity" in r]
        runs.append(
            {
                "seed": seed,
                "perplexity": score.perplexity,
                "floor_tokens": score.floor_tokens,
                "iterations": model.n_iter_,
                "seconds": model.history_[-1]["seconds"],
                "curve": curve,
            }
        )
    values = [run["perplexity"] for run in runs]
    return {"mean": float(np.mean(values)), "spread": float(np.std(values)), "runs": runs}


def main(arguments: list[str] | None = None) -> int:
    known = list(models(2, 1))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", default=["kos", "nips"], metavar="NAME|DIR")
    parser.add_argument("--topics", type=positive, default=50, metavar="K")
    parser.add_argument("--seeds", type=positive, default=3, help="how many")
    parser.add_argument(
        "--rows", nargs="+", choices=known, default=[row for row in known if row not in ON_DEMAND]
    )
    parser.add_argument(
        "--paper-passes", type=positive, default=10, help=f"of {' and '.join(ON_DEMAND)}"
    )
    parser.add_argument("--data-dir", metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(arguments)
    results: dict[str, Any] = {"n_topics": options.topics, "versions": versions(), "corpora": {}}
    try:
        for name in options.corpora:
            split = holdout_split(load_corpus(name, data_dir=options.data_dir), seed=0)
            table = results["corpora"].setdefault(name, {})
            for row in options.rows:
                model = models(options.topics, options.paper_passes)[row]
                result = table[row] = evaluate(model, split, options.seeds, options.quiet)
                ratio = result["mean"] / table["cgs"]["mean"] if "cgs" in table else float("nan")
                floor = max(run["floor_tokens"] for run in result["runs"])
                seconds = np.mean([run["seconds"] for run in result["runs"]])
                print(
                    f"{name:8} {row:25} {result['mean']:8.1f} +- {result['spread']:5.1f}   "
                    f"{ratio:6.3f} x CGS   {seconds:7.1f} s   {floor} tokens at the floor",
                    flush=True,
                )
                if options.json:  # after each row: a killed run keeps what it has
                    write_json(options.json, results)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
