"""Speed-up of data-parallel training: semi-SpikeLDA by several processes against one.

    python sims/benchmark_workers.py --corpus kos --data-dir DATA --workers 2
    python sims/benchmark_workers.py --corpus nips --data-dir DATA --workers 2 --backend brian2

At rate level on Dask workers, with large mini-batches; in spikes as circuits side by side, with the
default ones. Every process has one thread. Median time of an update, the first two left out; the
two models must be equal bit for bit. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
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


def seconds_per_update(model: TopicModel) -> float:
    ends = [record["seconds"] for record in model.history_]
    return statistics.median(np.diff(ends)[1:])


def train(options: argparse.Namespace, store: TokenStore, n_processes: int) -> TopicModel:
    """One process, or several."""
    in_spikes = options.backend == "brian2"
    model = SemiSpikeLDA(
        n_topics=options.topics,
        max_iter=options.updates,
        batch_size=options.batch or (None if in_spikes else RATE_LEVEL_BATCH),
        random_state=0,
        n_jobs=1,
        backend=options.backend,
        brian2_options={"n_circuits": n_processes} if in_spikes else None,
    )
    if in_spikes or n_processes == 1:
        return model.fit(store)
    with dask_client(n_workers=n_processes) as client:
        return fit_data_parallel(model, store, client)


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
    add("--updates", type=positive, default=12, metavar="N")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            store = open_token_store(
                options.corpus, data_dir=options.data_dir, store_dir=Path(folder) / "store"
            )
            single, parallel = (train(options, store, n) for n in (1, options.workers))
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    one, many = seconds_per_update(single), seconds_per_update(parallel)
    equal = np.array_equal(single.components_, parallel.components_)
    print(
        f"one process {one:.3f} s an update, {options.workers} {many:.3f} s: "
        f"speed-up {one / many:.2f}; models {'equal' if equal else 'DIFFER'}"
    )
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
