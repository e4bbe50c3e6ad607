"""Does a trained network fit a chip, what must be pruned, what crosses chips, what does it cost?

    python sims/hardware_report.py --run runs/kos --chip truenorth_paper --chips 4
    python sims/hardware_report.py --sizes 102660 1000 300000 --chip loihi1 --json report.json

Prints tables and saves a self-contained page, hardware-CHIP.html, in the run's folder. With --sizes
V K D there is no run: rates are synthetic, and the page goes to --html if given. A chip of your own
is the path of its .toml file (see brian_lda/hardware/chips).
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from brian_lda.algorithms import SPIKING
from brian_lda.errors import BrianLDAError
from brian_lda.files.json_files import write_json
from brian_lda.hardware import (
    NetworkPlan,
    as_page,
    as_text,
    available_chips,
    hardware_report,
    load_chip,
    plan_of_run,
    synthetic_workload,
    workload_of_run,
)
from brian_lda.runs import read_finished_run
from study.arguments import algorithm_among, algorithm_names, positive, whole


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--run", type=Path, metavar="DIR", help="folder that sims/train.py wrote")
    what.add_argument("--sizes", type=positive, nargs=3, metavar=("V", "K", "D"))
    add("--chip", required=True, metavar="NAME|FILE", help=", ".join(available_chips()))
    add("--chips", type=positive, metavar="N", help="default: as few as hold the network")
    add("--private", type=positive, metavar="N", help="private words a topic (default: if needed)")
    add("--docs-on-chip", type=whole, metavar="M", help="document synapses on chip")
    add("--tokens", type=positive, metavar="N", help="with --sizes: tokens of the corpus")
    add("--algorithm", type=algorithm_among(SPIKING), default="ed-spike-lda", metavar="NAME",
        help=f"with --sizes: {algorithm_names(SPIKING)}; default: ed-spike-lda")  # fmt: skip
    add("--tokens-per-second", type=float, default=1000.0, metavar="R", help="for static energy")
    add("--seed", type=whole, default=0, metavar="S")
    add("--data-dir", metavar="DIR", help="where the run's corpus is looked for")
    add("--json", type=Path, metavar="FILE", help="every number of the report")
    add("--html", type=Path, metavar="FILE", help="default: in the run's folder")
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        chip = load_chip(options.chip)
        if options.run:
            run = read_finished_run(options.run, data_dir=options.data_dir)
            plan = plan_of_run(run.algorithm, run.model, run.corpus)
            make_workload = partial(workload_of_run, run.model, run.corpus)
        else:
            V, K, D = options.sizes
            plan = NetworkPlan(options.algorithm, K, V, D, n_tokens=options.tokens)
            make_workload = partial(synthetic_workload, seed=options.seed)
        plan = plan.with_(n_private=options.private, docs_on_chip=options.docs_on_chip)
        report = hardware_report(
            plan,
            make_workload,
            chip,
            options.chips,
            tokens_per_second=options.tokens_per_second,
            seed=options.seed,
        )
        print(as_text(report))
        html = options.html or (options.run / f"hardware-{chip.name}.html" if options.run else None)
        if html:
            print(f"page: {as_page(report).save(html)}")
        if options.json:
            write_json(options.json, report.numbers())
            print(f"numbers: {options.json}")
    except (BrianLDAError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
