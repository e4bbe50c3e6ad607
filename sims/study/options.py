"""The command-line options that every script with a sweep behind it shares."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from brian_lda.sweeps.engines import Engine, InProcess, LocalProcesses, NoNewRuns
from study.arguments import positive

ENGINES = ("in-process", "processes", "dask", "none")


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """--engine, --workers, --scheduler, --data-dir, --quiet."""
    add = parser.add_argument
    add(
        "--engine",
        choices=ENGINES,
        default="in-process",
        help="where runs take place: one after the other here, in local processes, or on Dask "
        "workers; none: no run is made, only those found count (default: in-process)",
    )
    add(
        "--workers",
        type=positive,
        metavar="N",
        help="processes or local Dask workers; default: cores",
    )
    add("--scheduler", metavar="tcp://HOST:PORT", help="of Dask; none: a cluster on this machine")
    add("--data-dir", metavar="DIR", help="where corpora are looked for first")
    add("--quiet", action="store_true", help="no progress bar")


@contextmanager
def open_engine(options: argparse.Namespace) -> Iterator[Engine]:
    """The engine that the options ask for."""
    if options.engine == "dask" or options.scheduler:
        from brian_lda.sweeps.dask_engine import DaskWorkers, dask_client

        with dask_client(options.scheduler, options.workers) as client:
            yield DaskWorkers(client)
    elif options.engine == "none":
        yield NoNewRuns()
    elif options.engine == "processes":
        yield LocalProcesses(options.workers)
    else:
        yield InProcess()
