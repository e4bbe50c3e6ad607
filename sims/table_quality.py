"""Held-out perplexity of every algorithm with its default settings, beside CGS.

    python sims/table_quality.py --data-dir DATA --json quality.json

Same split, same fold-in, mean over seeds, on real corpora and on generated ones of other shapes
(`study/shapes.py`); ratios to collapsed Gibbs sampling after 200 sweeps with the same smoothing,
varphi = 0.05. "passes" is how often each document was shown until training stopped by itself; the
row semi-spike-lda-1000 is a fixed budget of 1000 mini-batches of 64 documents.

The rows marked "paper" use the step rules of the paper's appendix with its Euler update; in its
event-driven form that costs O(V) a token, so it is asked for by name (--rows ed-spike-lda-paper).
--stream adds one pass over a stream beside scikit-learn and gensim (`table_stream.py`).

With --json a run that was killed goes on where it was. --backend brian2 trains the networks in
spikes, in a file of its own; cgs, sgmcmc and svi have none (`table_spikes.py` has both, with a
test).
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
from brian_lda.automatic_steps import WORD_PRIOR
from brian_lda.corpus import HoldoutSplit, holdout_split, load_corpus
from brian_lda.errors import BrianLDAError, ParameterError
from brian_lda.estimators import ProgressBar, TopicModel
from brian_lda.files.json_files import read_json, write_json
from brian_lda.runs import versions
from study.arguments import positive
from study.backend import add_backend_options
from study.paper_settings import paper_rule
from study.shapes import TABLE, corpus_and_topics
from table_stream import SCALES as STREAM_SCALES
from table_stream import line as stream_line
from table_stream import stream_rows


def models(n_topics: int, paper_passes: int) -> dict[str, TopicModel]:
    """Rows of the table; everything not named here is the estimator's default."""
    return {
        "cgs": CollapsedGibbsLDA(n_topics=n_topics, topic_word_prior=WORD_PRIOR),
        "cgs-0.01": CollapsedGibbsLDA(n_topics=n_topics, topic_word_prior=0.01),
        "semi-spike-lda": SemiSpikeLDA(n_topics=n_topics),
        "ed-spike-lda": EdSpikeLDA(n_topics=n_topics),
        "du-spike-lda": DuSpikeLDA(n_topics=n_topics),
        "ed-spike-plsi": EdSpikePLSI(n_topics=n_topics),
        "semi-spike-lda-1000": SemiSpikeLDA(n_topics=n_topics, max_iter=1000, batch_size=64),
        "semi-spike-lda-learned-prior": SemiSpikeLDA(n_topics=n_topics, learn_prior=True),
        "cgs-learned-prior": CollapsedGibbsLDA(
            n_topics=n_topics, topic_word_prior=WORD_PRIOR, learn_prior=True
        ),
        "sgmcmc": StochasticGradientMCMCLDA(n_topics=n_topics),
        "svi": StochasticVariationalLDA(n_topics=n_topics),
        "ed-spike-lda-unsmoothed": EdSpikeLDA(n_topics=n_topics, topic_word_prior=0.0),
        "semi-spike-lda-own-votes": SemiSpikeLDA(n_topics=n_topics, exclude_own_votes=False),
        "semi-spike-lda-unsmoothed": SemiSpikeLDA(n_topics=n_topics, topic_word_prior=0.0),
        "semi-spike-lda-paper": SemiSpikeLDA(
            n_topics=n_topics, max_iter=1000, batch_size=64, **paper_rule("semi_spike_lda")
        ),
        "du-spike-lda-paper": DuSpikeLDA(
            n_topics=n_topics, max_iter=1000, batch_size=64, **paper_rule("du_spike_lda")
        ),
        "ed-spike-lda-paper": EdSpikeLDA(
            n_topics=n_topics, max_iter=paper_passes, **paper_rule("ed_spike_lda")
        ),
        "ed-spike-plsi-paper": EdSpikePLSI(
            n_topics=n_topics, max_iter=paper_passes, **paper_rule("ed_spike_plsi")
        ),
    }


DEFAULT_ROWS = ("cgs", "semi-spike-lda", "du-spike-lda", "ed-spike-lda", "ed-spike-plsi")
CORPORA = ("reuters", "kos", "nips", "20ng", *TABLE)


def evaluate(
    model: TopicModel, split: HoldoutSplit, seed: int, options: argparse.Namespace
) -> dict[str, Any]:
    """One run of a row; a baseline has no spikes."""
    bar = ProgressBar(disable=options.quiet)
    if options.backend == "brian2" and model.spiking:
        simulator = {"simulator": options.simulator}
        model.set_params(backend=options.backend, brian2_options=simulator)
    model.set_params(random_state=seed, callbacks=[bar]).fit(split.train)
    bar.close()
    score = model.heldout_score(split.observed, split.heldout)
    return {
        "perplexity": score.perplexity,
        "floor_tokens": score.floor_tokens,
        "passes": model.n_iter_ / model.trainer_.iterations_per_pass,
        "seconds": model.history_[-1]["seconds"],
        "stopped": model.history_[-1].get("stopped"),
    }


def line(corpus: str, row: str, table: dict[str, Any]) -> str:
    """A row as text."""
    runs = list(table[row].values())
    values = [run["perplexity"] for run in runs]
    if "cgs" in table:
        ratio = np.mean(values) / np.mean([run["perplexity"] for run in table["cgs"].values()])
    else:
        ratio = float("nan")
    passes, seconds = (np.mean([run[key] for run in runs]) for key in ("passes", "seconds"))
    floor = max(run["floor_tokens"] for run in runs)
    return (
        f"{corpus:10} {row:28} {np.mean(values):8.1f} +- {np.std(values):5.1f}   "
        f"{ratio:6.3f} x CGS   {passes:5.1f} passes   {seconds:7.1f} s"
        + (f"   {floor} tokens at the floor" if floor else "")
    )


def earlier_results(path: Path | None, n_topics: int, backend: str) -> dict[str, Any]:
    """What an earlier run with the same K and backend wrote to `path`; else nothing yet."""
    if path is not None and path.is_file():
        found = read_json(path)
        if found.get("n_topics") != n_topics:
            raise ParameterError(
                f"{path} holds a table for K = {found.get('n_topics')}, not {n_topics}: name "
                "another file with --json."
            )
        if (before := found.get("backend", "rate")) != backend:
            raise ParameterError(
                f"{path} holds a table of backend {before}, not {backend}: name another file with "
                "--json."
            )
        return found
    return {"n_topics": n_topics, "backend": backend, "versions": versions(), "corpora": {}}


def main(arguments: list[str] | None = None) -> int:
    known = list(models(2, 1))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", default=CORPORA, metavar="NAME|DIR")
    parser.add_argument("--topics", type=positive, default=50, metavar="K")
    parser.add_argument("--seeds", type=positive, default=3, help="how many")
    parser.add_argument("--rows", nargs="+", choices=known, default=DEFAULT_ROWS)
    parser.add_argument("--paper-passes", type=positive, default=10, help="of the rows ed-…-paper")
    parser.add_argument("--stream", action="store_true", help="one pass over 20NG as a stream")
    parser.add_argument("--data-dir", metavar="DIR")
    add_backend_options(parser)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(arguments)
    try:
        results = earlier_results(options.json, options.topics, options.backend or "rate")
        for name in options.corpora:
            corpus, n_topics = corpus_and_topics(name, options.topics, options.data_dir)
            split = holdout_split(corpus, seed=0)
            table = results["corpora"].setdefault(name, {})
            for row in options.rows:
                done = table.setdefault(row, {})
                for seed in range(options.seeds):
                    if str(seed) in done:
                        continue
                    model = models(n_topics, options.paper_passes)[row]
                    done[str(seed)] = evaluate(model, split, seed, options)
                    if options.json:
                        write_json(options.json, results)
                print(line(name, row, table), flush=True)
        if options.stream:
            scale = STREAM_SCALES["small"]
            split = holdout_split(load_corpus("20ng", data_dir=options.data_dir), seed=0)
            for found in stream_rows("20ng", split, scale, range(options.seeds)):
                print(stream_line(found), flush=True)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
