"""What `python -m brian_lda` does: show networks, report on runs, compare twins, list the cache."""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import sys
import time
from pathlib import Path

from brian_lda.algorithms import ALGORITHMS, SPIKING, find_algorithm
from brian_lda.corpus import NAMED_CORPORA, load_corpus
from brian_lda.corpus.locate import cache_dir
from brian_lda.errors import BrianLDAError, RunFolderError
from brian_lda.network_page import write_network_page
from brian_lda.runs import versions
from brian_lda.runs.report import write_report
from brian_lda.simulation.standalone import cache_folder, compiler_found, shipped_folder

SCRIPTS = Path(__file__).resolve().parents[1] / "sims"


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m brian_lda",
        description="Probabilistic topic models trained by spiking neural networks.",
        epilog=overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", title="commands", metavar="")
    report = commands.add_parser("report", help="write one HTML page about a run")
    report.add_argument("run", type=Path, metavar="RUNDIR", help="finished or running")
    report.add_argument("--out", type=Path, metavar="FILE", help="default: RUNDIR/report.html")
    report.add_argument("--data-dir", metavar="DIR", help="where the run's corpus is looked for")
    show = commands.add_parser("show", help="a network as it runs: layers, pathways, a tick")
    show.add_argument("algorithm", metavar="NAME", help=", ".join(a.option for a in SPIKING))
    show.add_argument("--inhibition", metavar="race|poisson", help="default: race")
    for option, default in (("--words", 25), ("--documents", 100), ("--topics", 10)):
        show.add_argument(
            option, type=int, default=default, metavar="N", help="default: %(default)s"
        )
    show.add_argument("--html", type=Path, metavar="FILE", help="a page with a drawing instead")
    compare = commands.add_parser("compare", help="train in spikes and at rate level, and compare")
    compare.add_argument("algorithm", metavar="NAME", help=", ".join(a.option for a in SPIKING))
    compare.add_argument("--corpus", default="reuters", metavar="NAME|DIR")
    compare.add_argument("--data-dir", metavar="DIR", help="where corpora are looked for first")
    compare.add_argument("--topics", type=int, default=10, metavar="K", help="default: %(default)s")
    compare.add_argument("--seeds", type=int, default=3, metavar="N", help="runs in spikes")
    compare.add_argument("--simulator", metavar="standalone|cython|numpy", help="default: compiled")
    compare.add_argument("--figure", type=Path, metavar="FILE", help="draw all questions")
    cache = commands.add_parser("cache", help="compiled networks: where, how large; clear them")
    cache.add_argument("--clear", action="store_true", help="delete them; they are made again")
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        if options.command == "report":
            print(f"page: {write_report(options.run, options.out, data_dir=options.data_dir)}")
        elif options.command == "cache":
            print(clear_cache() if options.clear else list_cache())
        elif options.command == "show":
            print(show_network(options))
        elif options.command == "compare":
            print(compare_in_spikes(options))
        else:
            parser().print_help()
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def show_network(options: argparse.Namespace) -> str:
    """A network as text, or where its page is."""
    from brian_lda.simulation.description import describe_algorithm

    network = describe_algorithm(
        options.algorithm.replace("-", "_"),
        options.inhibition,
        n_words=options.words,
        n_docs=options.documents,
        n_topics=options.topics,
    )
    if options.html is None:
        return str(network)
    try:
        return f"page: {write_network_page(network, options.html)}"
    except OSError as error:
        raise RunFolderError(f"cannot write {options.html}: {error}.") from error


def compare_in_spikes(options: argparse.Namespace) -> str:
    """The verdict of `compare_twins`; draws its figure if asked to."""
    from brian_lda.comparison import compare_twins

    algorithm = find_algorithm(options.algorithm.replace("-", "_"), SPIKING)
    corpus = load_corpus(options.corpus, data_dir=options.data_dir)
    model = algorithm.load_estimator()(
        n_topics=options.topics, random_state=0, brian2_options={"simulator": options.simulator}
    )
    comparison = compare_twins(model, corpus, seeds=options.seeds, progress=True)
    if options.figure is not None:
        try:
            comparison.plot().savefig(options.figure)
        except OSError as error:
            raise RunFolderError(f"cannot write {options.figure}: {error}.") from error
    return str(comparison)


def overview() -> str:
    """Corpora, algorithms, scripts, versions, compiler and cache, as text."""
    found = ", ".join(f"{name} {number}" for name, number in versions().items())
    compiler = (
        "found: spiking networks are compiled"
        if compiler_found()
        else "not found: spiking networks run inside Python, slower (install g++ and make)"
    )
    lines = [
        "corpora:",
        "  reuters, bars, synthetic       always at hand",
        f"  {', '.join(sorted(NAMED_CORPORA))}",
        "                                 found in --data-dir, in BRIAN_LDA_DATA, or downloaded",
        "  FOLDER                         in UCI layout, or of .txt files: your own texts",
        "",
        "algorithms:",
        *(
            f"  {algorithm.option:16s} {_first_line(algorithm.load_estimator().__doc__)}"
            for algorithm in ALGORITHMS
        ),
        "",
        "scripts (--help tells their options):",
        *(_scripts() or ["  in the folder sims/ of the source repository"]),
        "",
        f"versions:  {found}",
        f"compiler:  {compiler}",
        f"cache:     {describe_cache()}",
    ]
    return "\n".join(lines)


def describe_cache() -> str:
    """Where the compiled networks are, and how much room they and all else in the cache take."""
    folder = cache_folder()
    programs = [*folder.glob("*"), *shipped_folder().glob("*")]
    networks = sum(1 for path in programs if path.is_dir() and path != shipped_folder())
    return (
        f"{folder} ({networks} compiled networks, {_megabytes(folder)}; "
        f"with downloaded corpora {_megabytes(cache_dir())})"
    )


def list_cache() -> str:
    """`describe_cache`, and a line for each compiled network: name, size, when it was made."""
    rows = [describe_cache()]
    for path in sorted([*cache_folder().glob("*"), *shipped_folder().glob("*")]):
        if path.is_dir() and path != shipped_folder():
            made = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
            rows.append(f"  {path.name:26s} {_megabytes(path):>10s}  {made}")
    return "\n".join(rows)


def clear_cache() -> str:
    """Delete the compiled networks, never a corpus; says what was freed."""
    folder = cache_folder()
    freed = _megabytes(folder)
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return f"nothing to clear: {folder} does not exist"
    except OSError as error:
        return f"cleared in part only: {error}"
    return f"cleared {folder}: {freed}. Networks are compiled again when they are needed."


def _scripts() -> list[str]:
    rows = []
    for path in sorted(SCRIPTS.glob("*.py")):
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        rows.append(f"  {'sims/' + path.name:34s} {_first_line(doc)}")
    return rows


def _first_line(doc: str | None) -> str:
    return (doc or "").strip().split("\n")[0]


def _megabytes(folder: Path) -> str:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except FileNotFoundError:  # another process cleans up at the same time
                continue
    return f"{total / 1e6:.1f} MB"
