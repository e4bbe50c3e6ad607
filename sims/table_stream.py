"""One pass over a stream of documents: perplexity beside online peers, and memory on the way.

    python sims/table_stream.py --data-dir DATA --out results

Documents arrive 64 at a time and are never seen again (`partial_fit`); held-out perplexity when the
last has come. "arrival" is the order of the corpus' file, which for 20NG is no fair mixture:
newsgroup after newsgroup, first those of the training part of its by-date split, then once more
those of the test part. "shuffled" is a random order. "5 times" (tiny: 2) is a longer stream, for
the memory: resident memory of this process after 10 %, 50 % and 100 % of the stream, the corpus and
Python included. All seeds in the order of arrival, one in the others. 20NG, K = 50 (small); K = 200
(paper, which has no such table); reuters, K = 5 (tiny). With --backend brian2 our networks learn in
spikes; the simulator's own memory is not in the figures.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda.algorithms import find_algorithm
from brian_lda.corpus import Corpus, HoldoutSplit, holdout_split, load_corpus
from brian_lda.errors import MissingDependencyError
from brian_lda.estimators import TopicModel
from brian_lda.evaluation import HeldOutScore, effective_counts, heldout_perplexity
from brian_lda.sweeps.tables import mean_and_spread
from study.backend import add_backend_options
from study.online_peers import LAMBDA, PEERS
from study.script import Study, run_study

STREAMING = ("semi_spike_lda", "du_spike_lda", "ed_spike_lda", "ed_spike_plsi")
LONG_STREAM = ("semi_spike_lda", "ed_spike_lda")  # one of each kind
MARKS = (0.1, 0.5, 1.0)


@dataclass(frozen=True)
class Scale:
    """Corpora, K, documents at a time, and how many times the corpus comes in the long stream."""

    corpora: tuple[str, ...]
    n_topics: int
    batch_size: int = 64
    times: int = 5


SCALES = {
    "tiny": Scale(("reuters",), 5, times=2),
    "small": Scale(("20ng",), 50),
    "paper": Scale(("20ng",), 200),
}


def feed(model: TopicModel, corpus: Corpus, batch_size: int, times: int = 1) -> list[float | None]:
    """Stream a corpus through `partial_fit`; resident memory (MiB) at each of the `MARKS`."""
    starts = [*range(0, corpus.n_docs, batch_size)] * times
    marks = {max(round(share * len(starts)), 1) for share in MARKS}
    memory = []
    for i, start in enumerate(starts, 1):
        model.partial_fit(corpus.counts[start : start + batch_size])
        if i in marks:
            memory += [resident_mib()] * sum(max(round(s * len(starts)), 1) == i for s in MARKS)
    return memory


def resident_mib() -> float | None:
    """Memory that this process holds now; None where /proc does not tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else None


def stream_rows(
    corpus: str,
    split: HoldoutSplit,
    scale: Scale,
    seeds: Sequence[int],
    backend: Mapping[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of one corpus, each as soon as it has been measured.

    `backend` holds arguments of the estimators that have a network.
    """
    backend = backend or {}
    shuffled = split.train.subset(np.random.default_rng(0).permutation(split.train.n_docs))
    for order, documents, of_order in (
        ("arrival", split.train, list(seeds)),
        ("shuffled", shuffled, list(seeds[:1])),
    ):
        for name in STREAMING:
            yield {
                "corpus": corpus,
                "order": order,
                **_ours(name, documents, split, scale, of_order, backend),
            }
        for name in PEERS:
            try:
                row = _peer(name, documents, split, scale, of_order)
            except MissingDependencyError as error:
                print(f"skipped: {name}: {error}", file=sys.stderr)
                continue
            yield {"corpus": corpus, "order": order, **row}
    for name in LONG_STREAM:
        row = _ours(name, split.train, split, scale, seeds[:1], backend, scale.times)
        yield {"corpus": corpus, "order": f"arrival, {scale.times} times", **row}


def _ours(
    name: str,
    documents: Corpus,
    split: HoldoutSplit,
    scale: Scale,
    seeds: Sequence[int],
    backend: Mapping[str, Any],
    times: int = 1,
) -> dict[str, Any]:
    algorithm = find_algorithm(name)
    scores, seconds, memory = [], [], []
    for seed in seeds:
        model = algorithm.load_estimator()(n_topics=scale.n_topics, random_state=seed, **backend)
        start = time.perf_counter()
        memory.append(feed(model, documents, scale.batch_size, times))
        seconds.append(time.perf_counter() - start)
        scores.append(model.heldout_score(split.observed, split.heldout))
    return _row(algorithm.title, scores, seconds, memory[0])


def _peer(
    name: str, documents: Corpus, split: HoldoutSplit, scale: Scale, seeds: Sequence[int]
) -> dict[str, Any]:
    scores, seconds = [], []
    for seed in seeds:
        start = time.perf_counter()
        phi = PEERS[name](documents, scale.n_topics, scale.batch_size, seed)
        seconds.append(time.perf_counter() - start)
        prior = effective_counts(LAMBDA)
        score = heldout_perplexity(phi, split.observed, split.heldout, pseudo_count=prior)
        scores.append(score)
    return _row(name, scores, seconds, [None] * len(MARKS))


def _row(
    title: str,
    scores: Sequence[HeldOutScore],
    seconds: Sequence[float],
    memory: Sequence[float | None],
) -> dict[str, Any]:
    mean, spread = mean_and_spread([score.perplexity for score in scores])
    return {
        "algorithm": title,
        "n_runs": len(scores),
        "perplexity": mean,
        "perplexity_spread": spread,
        "floor_tokens": max(score.floor_tokens for score in scores),
        "seconds": float(np.mean(seconds)),
        **{f"mib_at_{share:.0%}": mib for share, mib in zip(MARKS, memory, strict=True)},
    }


def make(study: Study) -> None:
    scale = SCALES[study.options.scale]
    rows: list[dict[str, Any]] = []
    backend: dict[str, Any] = {}
    if study.backend == "brian2":
        backend = {"backend": "brian2"}
        backend["brian2_options"] = {"simulator": study.options.simulator}
    for corpus in study.at_hand(scale.corpora):
        split = holdout_split(load_corpus(corpus, data_dir=study.options.data_dir), seed=0)
        for row in stream_rows(corpus, split, scale, study.seeds, backend):
            rows.append(row)
            print(line(row), flush=True)
            study.write(rows, asdict(scale))  # after each row: a killed run keeps what it has


def line(row: dict[str, Any]) -> str:
    """A row as text."""
    memory = [row[f"mib_at_{share:.0%}"] for share in MARKS]
    resident = "" if None in memory else "  MiB " + " ".join(f"{mib:.0f}" for mib in memory)
    return (
        f"{row['corpus']:8} {row['order']:16} {row['algorithm']:35} {row['perplexity']:7.0f} +- "
        f"{row['perplexity_spread']:4.0f}  {row['floor_tokens']} tokens at the floor  "
        f"{row['seconds']:6.1f} s{resident}"
    )


def main(arguments: list[str] | None = None) -> int:
    return run_study("table_stream", __doc__, make, arguments, add_options=add_backend_options)


if __name__ == "__main__":
    sys.exit(main())
