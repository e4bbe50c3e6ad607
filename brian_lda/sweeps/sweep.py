"""`run_sweep`: carry out what is not finished yet, keep every result, report every failure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from brian_lda.sweeps.engines import Engine, InProcess
from brian_lda.sweeps.store import RunStore
from brian_lda.sweeps.task import Task
from brian_lda.sweeps.unfinished import forget

logger = logging.getLogger(__name__)


@dataclass
class SweepReport:
    """What a sweep has.

    Attributes
    ----------
    tasks : list of Task
        In the order in which they were asked for, each once.
    results : dict of str to dict
        By key; of the finished runs.
    failures : dict of str to Path
        By key; the file with the traceback.
    n_reused : int
        How many runs were finished before this call.
    """

    tasks: list[Task]
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, Path] = field(default_factory=dict)
    n_reused: int = 0

    def finished(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """(configuration, result) of each finished run."""
        return [(dict(t.config), self.results[t.key]) for t in self.tasks if t.key in self.results]


def run_sweep(
    tasks: Sequence[Task],
    folder: str | Path,
    *,
    engine: Engine | None = None,
    quiet: bool = False,
    each: Callable[[SweepReport], object] | None = None,
) -> SweepReport:
    """Carry out the runs that are not in `folder` yet.

    Parameters
    ----------
    tasks : sequence of Task
    folder : str or Path
        See `brian_lda.sweeps.store`. Kill the sweep at any time and call it again: it goes on with
        the runs that were not finished. A run that failed is tried again in the next call.
    engine : Engine, optional
        Default: in this process.
    quiet : bool
        No progress bar.
    each : callable, optional
        Called with the report as it stands, at first and after each run.
    """
    store = RunStore(folder)
    report = SweepReport(list({task.key: task for task in tasks}.values()))
    for task in report.tasks:
        result = store.result(task)
        if result is not None:
            report.results[task.key] = result
    report.n_reused = len(report.results)
    if each is not None:
        each(report)
    missing = [task for task in report.tasks if task.key not in report.results]
    with tqdm(total=len(report.tasks), initial=report.n_reused, unit="run", disable=quiet) as bar:
        for task, outcome in (engine or InProcess()).run(missing):
            if outcome.result is not None:
                store.save(task, outcome.result)
                if task.unfinished is not None:
                    forget(Path(task.unfinished) / task.key)
                kept = store.result(task)  # another sweep's, if that was first
                report.results[task.key] = outcome.result if kept is None else kept
            else:
                traceback = outcome.traceback or "The run left neither a result nor a traceback.\n"
                file = report.failures[task.key] = store.save_failure(task, traceback)
                last = traceback.strip().splitlines()[-1]
                logger.error("run %s failed: %s (%s)", task.key, last, file)
                bar.set_postfix(failed=len(report.failures), refresh=False)
            bar.update()
            if each is not None:
                each(report)
    return report
