"""Where the runs of a sweep take place: in this process, or in processes of this machine.

A third engine, on Dask workers, is in `brian_lda.sweeps.dask_engine`.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol

from brian_lda.errors import ParameterError
from brian_lda.sweeps.programs import build_programs
from brian_lda.sweeps.task import Outcome, Task, execute

MAX_DEATHS = 3  # of the worker processes that had a run in hand, before the run is given up


class Engine(Protocol):
    """What carries out the runs of a sweep."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Carry out the runs and yield each one when it ends, in any order."""


class InProcess:
    """One run after the other, in this process, with `n_threads` threads (None: all)."""

    def __init__(self, n_threads: int | None = None) -> None:
        self._n_threads = n_threads

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        for task in tasks:
            yield task, execute(task, self._n_threads)


class NoNewRuns:
    """Carries out nothing: a sweep then has what was finished before."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        return iter(())


class LocalProcesses:
    """Several runs at once, each in a process of its own kind, with one thread.

    A worker that dies (out of memory, killed) takes no other run with it: the runs that were under
    way start again, and only a run that was under way in `MAX_DEATHS` deaths is given up. When this
    process dies, the workers end too.

    Parameters
    ----------
    n_workers : int, optional
        Default: the number of cores.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        self.n_workers = n_workers or os.cpu_count() or 1
        if self.n_workers < 1:
            raise ParameterError(f"n_workers must be at least 1; found {n_workers}.")

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        build_programs(tasks)  # once, not in every worker at the same time
        waiting = deque(tasks)
        deaths: Counter[str] = Counter()
        while waiting:
            running: dict[Future[Outcome], Task] = {}
            pool = ProcessPoolExecutor(
                min(self.n_workers, len(waiting)),
                # not "fork": numba's and Brian's threads do not survive it
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_end_with_parent,
            )
            try:
                yield from _drain(pool, self.n_workers, waiting, running)
            except BrokenProcessPool:
                for task in running.values():
                    deaths[task.key] += 1
                    if deaths[task.key] < MAX_DEATHS:
                        waiting.append(task)
                    else:
                        yield task, Outcome(traceback=_died(MAX_DEATHS))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


def _drain(
    pool: ProcessPoolExecutor,
    n_workers: int,
    waiting: deque[Task],
    running: dict[Future[Outcome], Task],
) -> Iterator[tuple[Task, Outcome]]:
    """Keep every worker busy; no run waits inside the pool, so that `running` is the truth."""
    while waiting or running:
        while waiting and len(running) < n_workers:
            task = waiting.popleft()
            try:
                running[pool.submit(execute, task)] = task
            except BrokenProcessPool:
                waiting.appendleft(task)
                raise
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            outcome = future.result()
            yield running.pop(future), outcome


def _died(times: int) -> str:
    return (
        f"The worker process of this run died {times} times (killed, or out of memory); the "
        "run left no traceback. Try it with --engine in-process and watch the memory.\n"
    )


def _end_with_parent() -> None:
    """Runs in each worker: a pool's workers wait for ever when their parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
