"""Runs on Dask workers: a scheduler of your own, or a cluster of processes on this machine.

Results come back through the scheduler as plain data, so that workers need no common disk; corpora
are looked up on the worker (`--data-dir`, BRIAN_LDA_DATA there, the worker's cache). A worker that
dies in mid-run costs that run's time only: Dask gives it to another worker. Spiking networks are
compiled on the submitting side and travel along (`brian_lda.sweeps.programs`).
"""

from __future__ import annotations

import traceback
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from brian_lda.errors import MissingDependencyError, SchedulerError
from brian_lda.sweeps.programs import build_programs, install_programs, pack_programs
from brian_lda.sweeps.task import Outcome, Task, execute

if TYPE_CHECKING:
    from distributed import Client

CONNECT_TIMEOUT = "20s"


@contextmanager
def dask_client(scheduler: str | None = None, n_workers: int | None = None) -> Iterator[Client]:
    """A connection to a scheduler, closed at the end.

    Parameters
    ----------
    scheduler : str, optional
        "tcp://host:port". None starts a cluster of one-thread processes here, and ends it.
    n_workers : int, optional
        Of that cluster; default: the number of cores.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingDependencyError(
            "Dask workers need dask.distributed: pip install 'brian_lda[sweep]'"
        ) from error
    if scheduler is None:
        with LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster:
            with Client(cluster) as client:
                yield client
        return
    try:
        client = Client(scheduler, timeout=CONNECT_TIMEOUT)
    except (OSError, ValueError) as error:
        raise SchedulerError(
            f"no Dask scheduler answers at {scheduler} ({error}). Start one with "
            "`dask scheduler`, workers with `dask worker tcp://HOST:8786 --nthreads 1`, or leave "
            "--scheduler out for workers on this machine."
        ) from error
    with client:
        yield client


class DaskWorkers:
    """Engine of a sweep on the workers of a Dask client (see `dask_client`)."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        from distributed import as_completed

        built = build_programs(tasks)
        if any(task.config.get("backend") == "brian2" for task in tasks):
            import_brian_on_workers(self._client)
        packed = pack_programs(built)
        programs = self._client.scatter(packed, broadcast=True, hash=False)
        # The key is new in each call: a scheduler must not hand out the failure it remembers.
        call = uuid.uuid4().hex
        futures = {
            self._client.submit(
                _execute, task, programs, pure=False, key=f"{task.key}-{call}"
            ): task
            for task in tasks
        }
        for future in as_completed(list(futures)):
            error = future.exception()  # not the run's own: `execute` catches those
            outcome = Outcome(traceback=f"{error!r}\n") if error else future.result()
            yield futures.pop(future), outcome


def import_brian_on_workers(client: Client) -> None:
    """Brian 2 sets a signal handler when it is imported, which a worker's task threads may not."""
    from distributed import WorkerPlugin

    class ImportBrian(WorkerPlugin):
        name = "brian_lda-import-brian2"

        def setup(self, worker: Any) -> None:  # in the main thread, of later workers too
            import brian2  # noqa: F401

    client.register_plugin(ImportBrian())


def _execute(task: Task, programs: Mapping[str, Any]) -> Outcome:
    """On the worker."""
    try:
        install_programs(programs)
    except Exception:  # noqa: BLE001 - reported by the sweep, which goes on
        return Outcome(traceback=traceback.format_exc())
    return execute(task)
