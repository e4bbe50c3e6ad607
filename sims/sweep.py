"""Train a grid of models: every combination of the values given, each in a folder of its own.

    python sims/sweep.py --algorithm cgs ed-spike-lda --prior 0.1 0.5 --seeds 3 --out runs/priors
    python sims/sweep.py --algorithm semi-spike-lda --topics 20 50 --engine dask --out runs/topics

Kill it and start it again with the same --out: finished runs are not repeated. A run that fails is
reported, its traceback kept in OUT/failed, and the others go on. lambda is given as for the
collapsed samplers; the MAP algorithms (ed-spike-lda, du-spike-lda) get 1 + lambda, as in the paper.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from brian_lda.errors import BrianLDAError
from brian_lda.sweeps import expand_grid, run_sweep, train_tasks
from brian_lda.sweeps.tables import summary, write_csv
from study.arguments import algorithm_among, algorithm_names, positive
from study.options import add_engine_options, open_engine
from study.priors import prior_of


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "--algorithm",
        nargs="+",
        type=algorithm_among(),
        default=["semi_spike_lda"],
        metavar="NAME",
        help=f"{algorithm_names()}; default: semi-spike-lda",
    )
    add("--backend", choices=["rate", "brian2"], default="rate", help="brian2: in spikes")
    add("--corpus", nargs="+", default=["reuters"], metavar="NAME|DIR")
    add("--topics", nargs="+", type=positive, default=[20], metavar="K")
    add("--prior", nargs="+", type=float, default=[0.1], metavar="L", help="lambda")
    add("--iterations", type=positive, metavar="N")
    add("--evaluate-every", type=positive, metavar="N", help="iterations between two perplexities")
    add("--seeds", type=positive, default=3, metavar="S", help="how many: 0 .. S-1")
    add("--out", type=Path, default=Path("runs/sweep"), metavar="DIR")
    add_engine_options(parser)
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    grid = expand_grid(
        algorithm=options.algorithm,
        backend=options.backend,
        corpus=options.corpus,
        n_topics=options.topics,
        prior=options.prior,
        iterations=options.iterations,
        evaluate_every=options.evaluate_every,
        seed=list(range(options.seeds)),
    )
    for config in grid:
        config["prior"] = prior_of(config["algorithm"], config["prior"])
    try:
        tasks = train_tasks(grid, options.data_dir)
        with open_engine(options) as engine:
            report = run_sweep(tasks, options.out, engine=engine, quiet=options.quiet)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    by = ("corpus", "algorithm", "n_topics", "prior")
    rows = summary(report.finished(), by=by, values=("perplexity", "seconds"))
    for row in rows:
        print(
            f"{row['corpus']:10} {row['algorithm']:16} K = {row['n_topics']:<4} "
            f"lambda = {row['prior']!s:<6} perplexity {row['perplexity']:8.1f} "
            f"+- {row['perplexity_spread']:6.1f}   {row['n_runs']} runs"
        )
    write_csv(options.out / "sweep.csv", rows)
    print(
        f"{len(report.results)} of {len(report.tasks)} runs finished ({report.n_reused} earlier), "
        f"{len(report.failures)} failed: {options.out}"
    )
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
