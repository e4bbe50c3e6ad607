"""Speed-up of data-parallel training: semi-SpikeLDA on Dask workers against one process.

    python sims/benchmark_workers.py --corpus kos --data-dir DATA --workers 2

Every process has one thread. Median time of an update, the first two left out; the two models must
be equal bit for bit. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

from brian_lda import SemiSpikeLDA
from brian_lda.corpus import open_token_store
from brian_lda.errors import BrianLDAError
from brian_lda.estimators import TopicModel
from brian_lda.sweeps.dask_engine import dask_client
from brian_lda.sweeps.distributed import fit_data_parallel
from study.arguments import positive


def seconds_per_update(model: TopicModel) -> float:
    ends = [record["seconds"] for record in model.history_]
    return statistics.median(np.diff(ends)[1:])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--corpus", default="kos", metavar="NAME|DIR", help="in UCI layout")
    add("--data-dir", metavar="DIR")
    add("--workers", type=positive, default=2, metavar="N")
    add("--topics", type=positive, default=50, metavar="K")
    add("--batch", type=positive, default=3430, metavar="DOCS", help="documents of a mini-batch")
    add("--updates", type=positive, default=12, metavar="N")
    options = parser.parse_args(arguments)

    def new_model() -> SemiSpikeLDA:
        return SemiSpikeLDA(
            n_topics=options.topics, max_iter=options.updates, batch_size=options.batch,
            random_state=0, n_jobs=1,
        )  # fmt: skip

    try:
        with tempfile.TemporaryDirectory() as folder:
            store = open_token_store(
                options.corpus, data_dir=options.data_dir, store_dir=Path(folder) / "store"
            )
            single = new_model().fit(store)
            with dask_client(n_workers=options.workers) as client:
                parallel = fit_data_parallel(new_model(), store, client)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    one, many = seconds_per_update(single), seconds_per_update(parallel)
    equal = np.array_equal(single.components_, parallel.components_)
    print(
        f"one process {one:.3f} s an update, {options.workers} workers {many:.3f} s: "
        f"speed-up {one / many:.2f}; models {'equal' if equal else 'DIFFER'}"
    )
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
