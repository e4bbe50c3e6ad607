"""Train a topic model in spikes and write its run folder.

    python sims/train.py                     (ed-SpikeLDA in spikes on reuters, about a minute)
    python sims/train.py --backend rate      (its rate-level twin alone, in seconds)
    python sims/train.py --algorithm semi-spike-lda --backend rate --corpus kos --data-dir DATA
    python sims/train.py --record "word document u first last pass10 tokens=300"
    python sims/train.py --options '{"constraints": {"weight_bits": 8}}'
    python sims/train.py --resume runs/kos   (goes on after Ctrl-C, a crash or a kill)

The folder holds config.json, metrics.json and model.h5 (read it with
`brian_lda.TopicModel.load`), and checkpoint.h5 until the run is finished: a run that is resumed
ends with the same weights, to the last bit, as one that was never interrupted. In spikes there are
also recording.h5 (`brian_lda.simulation.read_recording`) and report.html, a page with the rasters.
An iteration is a pass over the corpus or, for algorithms that work on mini-batches, one update.
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

from brian_lda.algorithms import SPIKING, find_algorithm
from brian_lda.corpus import NAMED_CORPORA
from brian_lda.errors import BrianLDAError
from brian_lda.estimators.brian2_options import KNOWN
from brian_lda.runs import (
    DEFAULT_EVERY,
    RunConfig,
    add_twin,
    read_config,
    resume_run,
    train_run,
)
from study.arguments import algorithm_among, algorithm_names, positive, recording, whole

DEFAULT = RunConfig(algorithm="ed_spike_lda")
WINDOWS = {"layers": ["word", "document"], "windows": ["first", "middle", "last"]}
IN_PYTHON = {"documents": 30, "n_topics": 5, "iterations": 5}  # about a minute


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
    add(
        "--backend",
        choices=["rate", "brian2"],
        help="brian2: in spikes, the default where the algorithm has a network; rate: its twin",
    )
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
    add(
        "--iterations",
        type=positive,
        metavar="N",
        help="default: until it has converged",
    )
    add("--seed", type=whole, metavar="S", help="of the model; the test split stays; default: 0")
    add("--data-dir", metavar="DIR", help="where corpora are looked for first")
    add("--documents", type=positive, metavar="N", help="take only so many of the corpus")
    add(
        "--record",
        type=recording,
        metavar="WORDS",
        help='in spikes: layers, windows (first, middle, last, pass3, 500-700), "tokens=N" in '
        'each, "u", weights ("words=oil,gas topics=0,1 documents=5"), or "none"; '
        'default: "word document first middle last"',
    )
    add("--evaluate-every", type=positive, metavar="N", help="iterations between two perplexities")
    add(
        "--options",
        type=json_object,
        metavar="JSON",
        help="further arguments of the estimator, such as constraints or brian2_options",
    )
    spikes = parser.add_argument_group("how the spiking network runs (--backend brian2)")
    spikes.add_argument(
        "--inhibition",
        metavar="race|poisson",
        help="continuous time, a tick a token, or clocked time; default: race",
    )
    spikes.add_argument(
        "--rate", type=float, metavar="HZ", help="of topic neurons in clocked time; default: found"
    )
    spikes.add_argument(
        "--dt", type=float, metavar="S", help="time step in clocked time; default: 0.001"
    )
    spikes.add_argument(
        "--simulator",
        metavar="standalone|cython|numpy",
        help="compiled to C++ once, or inside Python; default: standalone",
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


def with_spiking_options(options: argparse.Namespace) -> dict[str, Any] | None:
    """`--options`, with --inhibition, --rate, --dt and --simulator among its brian2_options."""
    spiking = {name: getattr(options, name) for name in KNOWN}
    spiking = {name: value for name, value in spiking.items() if value is not None}
    given = dict(options.options or {})
    beside = given.get("brian2_options", {})
    if not spiking or not isinstance(beside, dict):  # what is no dict is refused later, by name
        return options.options
    return {**given, "brian2_options": {**beside, **spiking}}


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    options.options = with_spiking_options(options)
    given = {field.name: getattr(options, field.name, None) for field in fields(RunConfig)}
    given = {name: value for name, value in given.items() if value is not None}
    if given.get("record") == {}:
        given["record"] = None
    if not options.quiet:  # the library logs: among others that it compiles, which takes a minute
        logging.basicConfig(format="%(message)s")
        logging.getLogger("brian_lda").setLevel(logging.INFO)
    config = RunConfig(**(given if options.resume else with_defaults(given)))
    corpus_name = Path(config.corpus).name
    stamp = time.strftime("%Y%m%d-%H%M%S")
    out = Path(options.out or Path("runs") / f"{config.algorithm}-{corpus_name}-{stamp}")
    if config.backend == "rate" and not options.resume:
        if flags := [f"--{name}" for name in KNOWN if getattr(options, name) is not None]:
            print(f"error: {', '.join(flags)}: for spikes; add --backend brian2", file=sys.stderr)
            return 2
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
    in_spikes = read_config(out)[0].backend == "brian2"
    if in_spikes and not metrics["interrupted"]:
        metrics = add_twin(read_config(out)[0], out, metrics)
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
    if "twin" in metrics:
        print(
            f"perplexity {metrics['twin']['perplexity']:.1f}  of its rate-level twin, from the "
            f"same start\n{other_starts(metrics)}"
        )
    print(f"run folder: {out}")
    if in_spikes:
        page = write_page(out)
        print(f"report page: {page}\nto open it: python -m webbrowser {page.resolve().as_uri()}")
    return 0


def other_starts(metrics: dict[str, Any]) -> str:
    """A line about how far apart single runs are."""
    reached = []
    for where, run in (("in spikes", metrics), ("at rate level", metrics["twin"])):
        if others := [start["perplexity"] for start in run["other_starts"]]:
            ends = sorted({f"{min(others):.1f}", f"{max(others):.1f}"}, key=float)
            reached.append(f"{' to '.join(ends)} {where} ({len(others)})")
    beside = f"from other starts: {', '.join(reached)}. " if reached else ""
    return (
        f"{beside}Single runs differ by a few percent, of either kind; sims/compare_twins.py "
        "compares both over seeds"
    )


def write_page(out: Path) -> Path:
    from brian_lda.runs.report import write_report  # imports matplotlib and Brian2

    return write_report(out)


def with_defaults(given: dict[str, Any]) -> dict[str, Any]:
    """What a new run has where nothing was given."""
    spiking = [algorithm.name for algorithm in SPIKING]
    algorithm = given.get("algorithm", DEFAULT.algorithm)
    backend = given.get("backend", "brian2" if algorithm in spiking else "rate")
    defaults: dict[str, Any] = {"algorithm": algorithm, "backend": backend}
    if backend == "brian2" and algorithm in spiking:
        from brian_lda.simulation.standalone import compiler_found  # imports Brian2: seconds

        defaults["record"] = WINDOWS
        if not compiler_found():
            defaults |= IN_PYTHON
            print("No C++ compiler: the network runs inside Python, slower, on fewer documents.")
    return {**defaults, **given}


if __name__ == "__main__":
    sys.exit(main())
