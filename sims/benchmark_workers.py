"""Speed-up of data-parallel training: semi-SpikeLDA by several processes against one.

    python sims/benchmark_workers.py --corpus kos --data-dir DATA --workers 2
    python sims/benchmark_workers.py --corpus nips --data-dir DATA --workers 2 --backend brian2

At rate level on Dask workers, with large mini-batches; in spikes as circuits side by side, with the
default ones or those of --batch. Every process has one thread. Both trainings take turns, update by
update, so that a machine whose speed changes changes both: the speed-up is the median over updates,
the first two left out. The two models must be equal bit for bit. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from brian_lda import SemiSpikeLDA
from brian_lda.corpus import TokenStore, open_token_store
from brian_lda.errors import BrianLDAError
from brian_lda.estimators import TopicModel
from brian_lda.sweeps.dask_engine import dask_client
from brian_lda.sweeps.distributed import fit_data_parallel
from study.arguments import positive

RATE_LEVEL_BATCH = 3430  # documents: an update must take longer than telling the workers


class Turns:
    """Lets trainings, each in a thread of its own, update one after the other.

    Attributes
    ----------
    seconds : list of list of float
        Of each training: how long each update took.
    """

    def __init__(self, n_trainings: int) -> None:
        self.seconds: list[list[float]] = [[] for _ in range(n_trainings)]
        self._training = list(range(n_trainings))  # the first has the turn
        self._changed = threading.Condition()
        self._began = 0.0

    def wait(self, who: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._training[0] == who)
        self._began = time.perf_counter()

    def after_update(self, who: int) -> Callable[..., None]:
        """A callback of `fit`."""

        def next_one(model: TopicModel, record: object) -> None:
            self.seconds[who].append(time.perf_counter() - self._began)
            with self._changed:
                self._training.append(self._training.pop(0))
                self._changed.notify_all()
            self.wait(who)

        return next_one

    def leave(self, who: int) -> None:
        with self._changed:
            self._training.remove(who)
            self._changed.notify_all()


def train(
    options: argparse.Namespace, store: TokenStore, n_processes: int, callback: Callable[..., None]
) -> TopicModel:
    """One process, or several."""
    in_spikes = options.backend == "brian2"
    model = SemiSpikeLDA(
        n_topics=options.topics,
        max_iter=options.updates,
        batch_size=options.batch or (None if in_spikes else RATE_LEVEL_BATCH),
        random_state=0,
        n_jobs=1,
        callbacks=[callback],
        backend=options.backend,
        brian2_options={"n_circuits": n_processes} if in_spikes else None,
    )
    if in_spikes or n_processes == 1:
        return model.fit(store)
    with dask_client(n_workers=n_processes) as client:
        return fit_data_parallel(model, store, client)


def trained_in_turns(
    options: argparse.Namespace, store: TokenStore
) -> tuple[list[TopicModel], list[list[float]]]:
    """By one process and by several: the models, and the seconds of their updates."""
    if options.backend == "brian2":
        import brian_lda.simulation  # noqa: F401 (Brian sets a signal: not in a thread)
    sizes = (1, options.workers)
    turns = Turns(len(sizes))

    def training(who: int) -> TopicModel:
        try:
            turns.wait(who)
            return train(options, store, sizes[who], turns.after_update(who))
        finally:
            turns.leave(who)

    with ThreadPoolExecutor(len(sizes)) as threads:
        return list(threads.map(training, range(len(sizes)))), turns.seconds


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--corpus", default="kos", metavar="NAME|DIR", help="in UCI layout")
    add("--data-dir", metavar="DIR")
    add("--backend", choices=("rate", "brian2"), default="rate", help="brian2: in spikes")
    add("--workers", type=positive, default=2, metavar="N")
    add("--topics", type=positive, default=50, metavar="K")
    add("--batch", type=positive, metavar="DOCS", help="documents of a mini-batch")
    add("--updates", type=positive, default=20, metavar="N")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            store = open_token_store(
                options.corpus, data_dir=options.data_dir, store_dir=Path(folder) / "store"
            )
            (single, parallel), seconds = trained_in_turns(options, store)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    one, many = (np.array(updates[2:]) for updates in seconds)
    equal = np.array_equal(single.components_, parallel.components_)
    print(
        f"one process {statistics.median(one):.3f} s an update, {options.workers} "
        f"{statistics.median(many):.3f} s: speed-up {statistics.median(one / many):.2f}; models "
        f"{'equal' if equal else 'DIFFER'}"
    )
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
