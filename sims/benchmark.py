"""Speed beside a peer: every number is a ratio between two things timed in the same run.

    python sims/benchmark.py --data-dir DATA --json speed.json

- time for semi-SpikeLDA to reach the held-out perplexity that tomotopy's collapsed Gibbs sampler
  has after 200 iterations, over tomotopy's time (one thread each; then with all cores);
- a sweep of our CGS over a tomotopy iteration (best of several, taken in turns);
- microseconds a token of the rate-level algorithms;
- microseconds a token of ed-SpikeLDA in spikes (C++ standalone, compilation left out) over its
  rate-level twin, and how that grows with K, V and D (--corpora none for this part alone);
- the same for the four other networks, and their cost over ed-SpikeLDA's;
- with --many-topics 1000: CGS and semi-SpikeLDA on KOS, at so many topics, beside tomotopy
  (--corpora none --spiking-tokens 0 for this part alone).

tomotopy is an optional package: pip install "brian_lda[baselines]". Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from scipy import sparse

from brian_lda import SemiSpikeLDA
from brian_lda.algorithms import SPIKING, find_algorithm
from brian_lda.automatic_steps import (
    WORD_PRIOR,
    batch_word_step,
    delayed_doc_step,
    event_doc_step,
    event_word_step,
)
from brian_lda.corpus import HoldoutSplit, holdout_split, load_corpus
from brian_lda.errors import BrianLDAError
from brian_lda.estimators import StopAt, TrackPerplexity
from brian_lda.evaluation import heldout_perplexity
from brian_lda.files.json_files import write_json
from brian_lda.parameters import BatchParameters, EventDrivenParameters
from brian_lda.reference.collapsed_gibbs import CollapsedGibbs
from brian_lda.reference.du_spike_lda import DuSpikeLDAReference
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.reference.ed_spike_plsi import EdSpikePLSIReference
from brian_lda.reference.semi_spike_lda import SemiSpikeLDAReference
from brian_lda.reference.spike_cgs import SpikeCGSReference
from brian_lda.runs import versions
from study.arguments import positive, whole
from study.many_topics import many_topics_costs, many_topics_line
from study.peer import LAMBDA, VARPHI, tomotopy_model, tomotopy_phi
from study.shapes import corpus_and_topics

CORPORA = ("kos", "nips", "20ng", "gen-8000", "gen-30000")
SPIKING_SHAPES = (  # K, V, D: KOS's sizes, then each of the three made larger
    (50, 6_906, 3_430),
    (200, 6_906, 3_430),
    (50, 69_060, 3_430),
    (50, 6_906, 34_300),
)


def race_to_perplexity(
    split: HoldoutSplit, n_topics: int, iterations: int, seeds: list[int], n_jobs: int
) -> dict[str, Any]:
    """Mean time of both over the seeds, to tomotopy's final perplexity."""
    rows = []
    for seed in seeds:
        peer = tomotopy_model(split.train, n_topics, seed)
        start = time.perf_counter()
        peer.train(iterations, workers=n_jobs, show_progress=False)
        peer_seconds = time.perf_counter() - start
        phi = tomotopy_phi(peer, split.train.n_words)
        del peer  # and its threads, which would compete with ours
        target = heldout_perplexity(phi, split.observed, split.heldout, pseudo_count=LAMBDA)
        ours = SemiSpikeLDA(
            n_topics=n_topics,
            doc_topic_prior=LAMBDA,
            tol=0.0,  # until the peer's perplexity is reached
            n_jobs=n_jobs,
            random_state=seed,
        )
        per_pass = -(-split.train.n_docs // ours.documents_per_batch(split.train))
        ours.callbacks = [
            TrackPerplexity(split.observed, split.heldout, every=max(per_pass // 4, 1)),
            StopAt(target.perplexity),
        ]
        ours.fit(split.train)
        rows.append(
            {
                "seed": seed,
                "peer_seconds": peer_seconds,
                "peer_perplexity": target.perplexity,
                "seconds": ours.history_[-1]["seconds"],
                "perplexity": ours.history_[-1]["perplexity"],
                "passes": ours.n_iter_ / per_pass,
            }
        )
    ratio = sum(row["seconds"] for row in rows) / sum(row["peer_seconds"] for row in rows)
    return {"ratio": ratio, "threads": n_jobs, "runs": rows}


def sweep_ratio(split: HoldoutSplit, n_topics: int, repeats: int) -> dict[str, float]:
    """Our CGS sweep and a tomotopy iteration, one thread, taken in turns; best of `repeats`."""
    corpus = split.train
    peer = tomotopy_model(corpus, n_topics, 0)
    ours = CollapsedGibbs(
        *corpus.tokens(), n_topics=n_topics, n_words=corpus.n_words, n_docs=corpus.n_docs,
        doc_topic_prior=LAMBDA, topic_word_prior=VARPHI, seed=0,
    )  # fmt: skip
    ours.sweep(np.arange(1))  # compile
    best_peer = best_ours = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        peer.train(1, workers=1)
        middle = time.perf_counter()
        ours.sweep()
        best_peer = min(best_peer, middle - start)
        best_ours = min(best_ours, time.perf_counter() - middle)
    return {"ratio": best_ours / best_peer, "seconds": best_ours, "peer_seconds": best_peer}


def microseconds_per_token(split: HoldoutSplit, n_topics: int) -> dict[str, float]:
    """Cost of one shown token (for the mini-batch algorithms: of all its local draws)."""
    costs = {}
    for algorithm in (find_algorithm("cgs"), *SPIKING):
        in_batches = algorithm.iteration == "mini-batch"
        options = {"max_iter": 50, "n_jobs": 1} if in_batches else {"max_iter": 4}
        model = algorithm.load_estimator()(n_topics=n_topics, random_state=0, **options)
        history = model.fit(split.train).history_
        steps = zip(history, history[1:], strict=False)  # leaves the first one out: it compiles
        costs[algorithm.name] = min(
            (b["seconds"] - a["seconds"]) / max(b["tokens"] - a["tokens"], 1) for a, b in steps
        )
    return {name: 1e6 * cost for name, cost in costs.items()}


def best_in_turns(calls: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Seconds of each call, best of `repeats`, taken in turns; the first turn compiles."""
    for call in calls:
        call()
    best = [np.inf] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def generated_tokens(n_tokens: int, V: int, D: int) -> tuple[np.ndarray, np.ndarray]:
    """Tokens with a skewed word distribution."""
    rng = np.random.default_rng(0)
    words = (V * rng.random(n_tokens) ** 3).astype(np.int32)
    return words, rng.integers(0, D, n_tokens).astype(np.int32)


def spiking_costs(n_tokens: int, repeats: int) -> list[dict[str, Any]]:
    """ed-SpikeLDA in spikes and its twin on the same tokens.

    Flow and gauge form; the time of a call includes moving weights in and out. All sizes take
    turns: a machine is not equally fast all the time, and their ratios are what we want.
    """
    from brian_lda.simulation import EventDrivenSpiking  # imports Brian2: seconds

    calls: list[Callable[[], Any]] = []
    for K, V, D in SPIKING_SHAPES:
        words, docs = generated_tokens(n_tokens, V, D)
        parameters = EventDrivenParameters(
            K, 1.1, event_word_step(K, V, n_tokens, smoothed=True),
            event_doc_step(n_tokens / D, smoothed=True),
            topic_word_prior=WORD_PRIOR,
        )  # fmt: skip
        lengths = np.bincount(docs, minlength=D)
        for twin in (EventDrivenSpiking, EdSpikeLDAReference):
            calls.append(partial(twin(parameters, V, lengths, seed=0).present, words, docs))
    best = best_in_turns(calls, repeats)
    return [
        {"network": "ed-SpikeLDA", "K": K, "V": V, "D": D}
        | _per_race(best[2 * i : 2 * i + 2], n_tokens)
        for i, (K, V, D) in enumerate(SPIKING_SHAPES)
    ]


def other_networks(n_tokens: int) -> tuple[dict[str, list[Callable[[], Any]]], dict[str, int]]:
    """SpikeCGS, ed-SpikePLSI, du- and semi-SpikeLDA, in spikes and as twins.

    Mini-batches of 64 documents, T = 5: a token takes part in 10 (du) or 11 (semi) races.

    Returns
    -------
    dict, dict
        What to time, in spikes and at rate level, and how many races that is.
    """
    from brian_lda.simulation import (
        DuSpikeLDASpiking,
        EventDrivenSpiking,
        SemiSpikeLDASpiking,
        SpikeCGSSpiking,
    )

    K, V, D = SPIKING_SHAPES[0]
    words, docs = generated_tokens(n_tokens, V, D)
    calls: dict[str, list[Callable[[], Any]]] = {}
    races: dict[str, int] = {}
    sizes = {"n_topics": K, "n_words": V, "n_docs": D}
    priors = {"doc_topic_prior": LAMBDA, "topic_word_prior": VARPHI}
    pair = [
        kind(words, docs, **sizes, **priors, seed=0)
        for kind in (SpikeCGSSpiking, SpikeCGSReference)
    ]
    calls["SpikeCGS"], races["SpikeCGS"] = [sampler.sweep for sampler in pair], n_tokens
    plsi = EventDrivenParameters(
        K,
        None,
        event_word_step(K, V, n_tokens, smoothed=True),
        event_doc_step(n_tokens / D, smoothed=False),
        topic_word_prior=WORD_PRIOR,
    )
    lengths = np.bincount(docs, minlength=D)
    pair = [twin(plsi, V, lengths, seed=0) for twin in (EventDrivenSpiking, EdSpikePLSIReference)]
    calls["ed-SpikePLSI"] = [partial(twin.present, words, docs) for twin in pair]
    races["ed-SpikePLSI"] = n_tokens
    in_batch = docs < 64
    ones = np.ones(in_batch.sum(), np.int32)
    counts = sparse.csr_array((ones, (docs[in_batch], words[in_batch])), shape=(64, V))
    for name, lamda, sweeps, pair in (
        ("du-SpikeLDA", 1.1, 10, (DuSpikeLDASpiking, DuSpikeLDAReference)),
        ("semi-SpikeLDA", LAMBDA, 11, (SemiSpikeLDASpiking, SemiSpikeLDAReference)),
    ):
        parameters = BatchParameters(
            n_topics=K,
            doc_topic_prior=lamda,
            topic_word_prior=WORD_PRIOR,
            local_iterations=5,
            word_step=batch_word_step(K, V, n_tokens),
            doc_step=delayed_doc_step(n_tokens / D),
            exclude_own_votes=name == "semi-SpikeLDA",
        )
        twins = [kind(parameters, V, seed=0, n_training_tokens=n_tokens) for kind in pair]
        calls[name] = [partial(twin.update, counts) for twin in twins]
        races[name] = sweeps * int(counts.sum())
    return calls, races


def other_networks_costs(n_tokens: int, repeats: int) -> list[dict[str, Any]]:
    """Cost of one race of `other_networks`; the twins run on one thread."""
    calls, races = other_networks(n_tokens)
    K, V, D = SPIKING_SHAPES[0]
    rows, threads = [], numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        for name in calls:
            cost = _per_race(best_in_turns(calls[name], repeats), races[name])
            rows.append({"network": name, "K": K, "V": V, "D": D, **cost})
    finally:
        numba.set_num_threads(threads)
    return rows


def _per_race(best: list[float], n_races: int) -> dict[str, float]:
    spiking, rate = (1e6 * seconds / n_races for seconds in best)
    return {"us": spiking, "us_twin": rate, "ratio": spiking / rate}


def table(results: dict[str, Any]) -> str:
    text = []
    for name, result in results["corpora"].items():
        text.append(f"{name}: {result['tokens']:,} tokens, K = {result['n_topics']}")
        for race in result["races"]:
            runs = race["runs"]
            text.append(
                f"  semi-SpikeLDA to tomotopy's perplexity ({race['threads']} thread(s)): "
                f"{np.mean([r['seconds'] for r in runs]):.2f} s against "
                f"{np.mean([r['peer_seconds'] for r in runs]):.2f} s, ratio {race['ratio']:.2f}"
                f"  (perplexity {np.mean([r['peer_perplexity'] for r in runs]):.0f})"
            )
        sweep = result["cgs_sweep"]
        text.append(
            f"  CGS sweep {1e3 * sweep['seconds']:.0f} ms against "
            f"{1e3 * sweep['peer_seconds']:.0f} ms, ratio {sweep['ratio']:.2f}"
        )
        costs = ", ".join(f"{k} {v:.3f}" for k, v in result["us_per_token"].items())
        text.append(f"  us/token, one thread: {costs}")
    for row in results["spiking"]:
        grown = row["us"] / results["spiking"][0]["us"]
        text.append(
            f"{row['network']} in spikes, K = {row['K']}, V = {row['V']}, D = {row['D']}: "
            f"{row['us']:.2f} us/race, {row['ratio']:.1f} x its twin ({row['us_twin']:.3f} us), "
            f"{grown:.2f} x the first line"
        )
    for row in results["many_topics"]:
        text.append(many_topics_line(row))
    return "\n".join(text)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", default=CORPORA, metavar="NAME|DIR")
    parser.add_argument("--topics", type=positive, default=50, metavar="K")
    parser.add_argument("--iterations", type=positive, default=200, help="of tomotopy")
    parser.add_argument("--seeds", type=positive, default=3, help="how many")
    parser.add_argument("--threads", type=positive, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=positive, default=20, help="of the sweep timing")
    parser.add_argument("--spiking-tokens", type=whole, default=420_000, help="0: leave it out")
    parser.add_argument("--many-topics", type=whole, default=1000, metavar="K", help="0: no")
    parser.add_argument("--data-dir", metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    results: dict[str, Any] = {"n_topics": options.topics, "versions": versions(), "corpora": {}}
    results["spiking"], results["many_topics"] = [], []

    def keep() -> None:
        if options.json:
            write_json(options.json, results)

    try:
        for name in options.corpora if options.corpora != ["none"] else []:
            corpus, n_topics = corpus_and_topics(name, options.topics, options.data_dir)
            split = holdout_split(corpus, seed=0)
            # Compiles everything that is timed below.
            SemiSpikeLDA(n_topics=n_topics, max_iter=2, random_state=0).fit(split.train)
            results["corpora"][name] = {
                "tokens": split.train.n_tokens,
                "n_topics": n_topics,
                "cgs_sweep": sweep_ratio(split, n_topics, options.repeats),
                "us_per_token": microseconds_per_token(split, n_topics),
                "races": [
                    race_to_perplexity(
                        split, n_topics, options.iterations, list(range(options.seeds)), n
                    )
                    for n in options.threads
                ],
            }
            keep()
        if options.spiking_tokens:
            results["spiking"] = spiking_costs(options.spiking_tokens, repeats=8)
            results["spiking"] += other_networks_costs(options.spiking_tokens, repeats=5)
            keep()
        if options.many_topics:
            kos = holdout_split(load_corpus("kos", data_dir=options.data_dir), seed=0).train
            results["many_topics"] = many_topics_costs(
                kos, options.many_topics, sweeps=options.repeats, passes=2
            )
            keep()
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
