"""Train a topic model and write its run folder.

    python sims/train.py                     (semi-SpikeLDA on reuters, prints the topics)
    python sims/train.py --algorithm ed-spike-lda --backend brian2 --corpus bars --topics 10
    python sims/train.py --corpus kos --data-dir DATA --topics 50 --out runs/kos
    python sims/train.py --algorithm ed-spike-lda --options '{"constraints": {"weight_bits": 8}}'
    python sims/train.py --resume runs/kos   (goes on after Ctrl-C, a crash or a kill)

The folder holds config.json, metrics.json and model.h5 (read it with
`brian_lda.TopicModel.load`), and checkpoint.h5 until the run is finished: a run that is resumed
ends with the same weights, to the last bit, as one that was never interrupted. An iteration is a
pass over the corpus or, for algorithms that work on mini-batches, one update.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

from brian_lda.algorithms import find_algorithm
from brian_lda.corpus import NAMED_CORPORA
from brian_lda.errors import BrianLDAError
from brian_lda.runs import DEFAULT_EVERY, RunConfig, resume_run, train_run
from study.arguments import algorithm_among, algorithm_names, positive, whole

DEFAULT = RunConfig()


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    # No defaults here: with --resume, what is given must agree with the run.
    add(
        "--algorithm",
        type=algorithm_among(),
        metavar="NAME",
        help=f"{algorithm_names()}; default: {find_algorithm(DEFAULT.algorithm).option}",
    )
    add("--backend", choices=["rate", "brian2"], help="brian2: in spikes; default: rate")
    add(
        "--corpus",
        metavar="NAME|DIR",
        help=f"{', '.join(sorted(NAMED_CORPORA))}, or a folder in UCI layout or of .txt files; "
        f"default: {DEFAULT.corpus}",
    )
    add(
        "--topics", type=positive, dest="n_topics", metavar="K", help=f"default: {DEFAULT.n_topics}"
    )
    add("--prior", type=float, metavar="L", help="lambda, of theta (ed- and du-SpikeLDA: > 1)")
    add("--word-prior", type=float, metavar="P", help="varphi, of phi")
    add("--iterations", type=positive, metavar="N")
    add("--seed", type=whole, metavar="S", help="of the model; the test split stays; default: 0")
    add("--data-dir", metavar="DIR", help="where corpora are looked for first")
    add("--evaluate-every", type=positive, metavar="N", help="iterations between two perplexities")
    add(
        "--options",
        type=json_object,
        metavar="JSON",
        help="further arguments of the estimator, such as constraints or brian2_options",
    )
    add("--out", metavar="DIR", help="default: runs/ALGORITHM-CORPUS-TIME")
    add("--overwrite", action="store_true", help="replace the run in --out")
    add("--resume", metavar="DIR", help="go on with the run in this folder")
    add(
        "--checkpoint-every",
        default=DEFAULT_EVERY,
        metavar="Ns|N",
        help=f"seconds (30s) or iterations (1) between checkpoints; default: {DEFAULT_EVERY}",
    )
    add("--words", type=whole, default=8, metavar="N", help="words shown per topic; 0: no topics")
    add("--quiet", action="store_true", help="no progress bar")
    return parser


def json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f'expected {{"name": value, ...}}; found {text!r}')
    return value


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    given = {field.name: getattr(options, field.name, None) for field in fields(RunConfig)}
    given = {name: value for name, value in given.items() if value is not None}
    config = RunConfig(**given)
    if not options.quiet:  # the library logs: among others that it compiles, which takes a minute
        logging.basicConfig(format="%(message)s")
        logging.getLogger("brian_lda").setLevel(logging.INFO)
    corpus_name = Path(config.corpus).name
    stamp = time.strftime("%Y%m%d-%H%M%S")
    out = Path(options.out or Path("runs") / f"{config.algorithm}-{corpus_name}-{stamp}")
    common = {"quiet": options.quiet, "checkpoint_every": options.checkpoint_every}
    try:
        if options.resume:
            out = Path(options.resume)
            model, metrics = resume_run(out, given=given, **common)
        else:
            model, metrics = train_run(config, out, overwrite=options.overwrite, **common)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        message = "interrupted before the first iteration was done"
        if out.exists():
            message = f"interrupted; to go on: python sims/train.py --resume {out}"
        print(message, file=sys.stderr)
        return 130
    if options.words:
        for z, words in enumerate(model.top_words(options.words)):
            print(f"topic {z:3d}  {' '.join(words)}")
    if metrics["interrupted"]:
        print(f"interrupted after {metrics['iterations']} iterations; what was learnt is saved.")
        print(
            f"to go on from iteration {metrics['checkpoint_iteration']}: "
            f"python sims/train.py --resume {out}"
        )
    if metrics["stopped"]:
        print(metrics["stopped"])
    print(
        f"perplexity {metrics['perplexity']:.1f}  ({metrics['floor_tokens']} of "
        f"{metrics['heldout_tokens']} held-out tokens at the floor)  "
        f"{metrics['seconds']:.1f} s  {metrics['tokens_per_second']:,.0f} tokens/s"
    )
    print(f"run folder: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
