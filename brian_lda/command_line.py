"""What `python -m brian_lda` does: say what is here, report on runs, clear the build cache."""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import sys
from pathlib import Path

from brian_lda.algorithms import ALGORITHMS
from brian_lda.corpus import NAMED_CORPORA
from brian_lda.corpus.locate import cache_dir
from brian_lda.errors import BrianLDAError
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
    cache = commands.add_parser("cache", help="compiled networks: where, how large; clear them")
    cache.add_argument("--clear", action="store_true", help="delete them; they are made again")
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        if options.command == "report":
            print(f"page: {write_report(options.run, options.out, data_dir=options.data_dir)}")
        elif options.command == "cache":
            print(clear_cache() if options.clear else describe_cache())
        else:
            parser().print_help()
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


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
