"""What each algorithm must store while it trains, per corpus: the reason for going online.

Beside it, what one race costs in spikes: spikes, synaptic events and plastic writes
(`brian_lda.hardware.account`), and how many races a token takes part in.

    python sims/table_memory.py --data-dir DATA --out results

Bytes on a chip with weights of 32 bits (`brian_lda.hardware.memory`), from K, V, D and N alone:
corpora that are not at hand appear with the sizes that the paper prints. Beside them the memory of
the two chips that the paper names (Sec. 1), TrueNorth 52 MB and SpiNNaker 128 MB. --scale chooses
corpora, K and mini-batch: paper K = 200 for KOS, 20NG, Enron and K = 50 for NIPS, NYTimes, PubMed.

With --count every network is also trained in spikes with its default settings until it stops by
itself (SpikeCGS: 200 sweeps; seed 0), and the table has what was counted in the running network
(`brian_lda.hardware.counted_run`) beside what the sizes predict, packets a race between 4 chips
with the topics in index order, and the dynamic energy of all these events with the figures that are
published for Loihi (none for packets between its chips), for corpora that are at hand.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import Any

import numpy as np

from brian_lda.algorithms import find_algorithm
from brian_lda.corpus import load_corpus
from brian_lda.hardware import Memory, load_chip, memory_table
from brian_lda.hardware.account import race_account
from brian_lda.hardware.energy import TokenEvents, energy_per_token
from brian_lda.plotting import PALETTE
from brian_lda.sweeps import Task
from brian_lda.sweeps.experiments import COUNT
from brian_lda.sweeps.task import RESULT_KEY
from study.arguments import positive
from study.backend import add_simulator_option
from study.script import Study, is_at_hand, run_study

# Appendix, Tab. "Statistics of the datasets", with the vocabulary of KOS corrected: (V, D, N).
PRINTED = {
    "enron": (28_000, 39_000, 6_400_000),
    "nytimes": (102_000, 300_000, 100_000_000),
    "pubmed": (141_000, 8_200_000, 738_000_000),
}
N_CHIPS = 4
ENERGY_CHIP = "loihi1"  # has figures for events, writes and neurons
CHIPS = {"TrueNorth 52 MB": 52e6, "SpiNNaker 128 MB": 128e6}
# corpus: (K, documents of a mini-batch)
SCALES = {
    "tiny": {"reuters": (5, 50)},
    "small": {"kos": (50, 64), "20ng": (50, 64), "nips": (50, 64)},
    "paper": {
        "kos": (200, 64), "20ng": (200, 64), "enron": (200, 64),
        "nips": (50, 64), "nytimes": (50, 1000), "pubmed": (50, 1000),
    },
}  # fmt: skip
PARTS = ("weights", "eligibility", "local_weights", "assignments", "corpus")
LABELS = (r"$M^\alpha$ (and $b$)", r"$N_{zw}$", r"$M^\beta$", "assignments", "tokens")


def sizes(study: Study, name: str) -> tuple[int, int, int, str] | None:
    """V, D, N of a corpus and where they come from."""
    if name in PRINTED and not is_at_hand(name, study.options.data_dir):
        return (*PRINTED[name], "paper")
    if not study.at_hand([name]):
        return None
    corpus = load_corpus(name, data_dir=study.options.data_dir)
    return corpus.n_words, corpus.n_docs, corpus.n_tokens, "measured"


def make(study: Study) -> None:
    scale = SCALES[study.options.scale]
    wanted = study.options.corpora or list(scale)
    study.options.corpora = None  # they are taken one by one below
    rows: list[dict[str, Any]] = []
    for name in wanted:
        n_topics, batch_size = scale.get(name, next(iter(scale.values())))
        found = sizes(study, name)
        if found is None:
            continue
        n_words, n_docs, n_tokens, origin = found
        arguments = {"n_topics": n_topics, "n_words": n_words, "n_docs": n_docs}
        table = memory_table(**arguments, n_tokens=n_tokens, batch_size=batch_size)
        row = {"corpus": name, "K": n_topics, "V": n_words, "D": n_docs, "N": n_tokens}
        for memory in table:
            account = race_account(
                memory.algorithm,
                n_topics=n_topics,
                n_words=n_words,
                doc_length=n_tokens / n_docs,
                batch_size=batch_size,
            )
            line = {**row, "sizes": origin, **_bytes(memory), **asdict(account)}
            if study.options.count and origin == "measured":
                line |= counted(study, name, memory.algorithm, n_topics)
            rows.append(line)
    if rows:
        study.write(rows, {"scale": scale, "weight_bytes": 4}, draw(rows))
    for row in rows:
        megabytes, title = row["total_bytes"] / 1e6, find_algorithm(row["algorithm"]).title
        print(
            f"{row['corpus']:8} K = {row['K']:<4} {title:15} {megabytes:10.1f} MB, "
            f"{row['races_per_token']:2} race(s) a token, each {row['spikes']:.2f} spikes, "
            f"{row['synaptic_events']:.0f} synaptic events, {row['plastic_writes']:.1f} writes"
        )
        if "counted_races" in row:
            print(
                f"{'':8} counted in {row['counted_passes']:.0f} passes, {row['counted_races']} "
                f"races, each {row['counted_spikes']:.2f} spikes, "
                f"{row['counted_synaptic_events']:.0f} synaptic events, "
                f"{row['counted_plastic_writes']:.1f} writes, "
                f"{row['counted_packets']:.2f} packets between {N_CHIPS} chips; "
                f"{row['counted_dynamic_joules']:.3g} J on {ENERGY_CHIP}"
            )


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", action="store_true", help="train in spikes and count")
    parser.add_argument(
        "--passes", type=positive, metavar="N", help="with --count: at most so many"
    )
    add_simulator_option(parser)


def counted(study: Study, corpus: str, algorithm: str, n_topics: int) -> dict[str, Any]:
    """Per race, of a training run in spikes to its end; the run itself is kept in OUT/runs."""
    options: dict[str, Any] = {"brian2_options": {"simulator": study.options.simulator}}
    config = {
        "algorithm": algorithm, "backend": "brian2", "corpus": corpus, "n_topics": n_topics,
        "passes": study.options.passes, "seed": 0, "n_chips": N_CHIPS, "options": options,
    }  # fmt: skip
    task = Task(config, COUNT, study.options.data_dir)
    found = dict(study.sweep([task]).results.get(task.key, {}))
    found.pop(RESULT_KEY, None)
    if found:
        writes = found["plastic_writes"]
        events = TokenEvents(
            found["synaptic_events"], writes, writes, n_topics, found["packets"], found["packets"]
        )
        joules = energy_per_token(events, load_chip(ENERGY_CHIP), N_CHIPS).dynamic_total
        assert joules is not None  # the chip was chosen for what is known of it
        found["dynamic_joules"] = joules * found["races"]
    return {f"counted_{name}": value for name, value in found.items()}


def _bytes(memory: Memory) -> dict[str, Any]:
    parts = {f"{part}_bytes": getattr(memory, part) for part in PARTS}
    return {"algorithm": memory.algorithm, **parts, "total_bytes": memory.total}


def draw(rows: list[dict[str, Any]]):
    """Bars by purpose, one panel per corpus, on a logarithmic axis."""
    from matplotlib import pyplot

    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    largest = max(*CHIPS.values(), *(row["total_bytes"] for row in rows))
    figure, axes = pyplot.subplots(
        len(corpora), 1, figsize=(7.5, 0.9 + 1.45 * len(corpora)), sharex=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for corpus, ax in zip(corpora, axes[:, 0], strict=True):
        chosen = [row for row in rows if row["corpus"] == corpus]
        places = np.arange(len(chosen))
        for i, part in enumerate(PARTS):  # thin bars side by side: stacks mislead on a log axis
            values = np.array([row[f"{part}_bytes"] for row in chosen]) / 1e6
            ax.barh(places + 0.16 * (i - 2), np.maximum(values, 1e-9), 0.15, color=PALETTE[i])
        totals = [row["total_bytes"] / 1e6 for row in chosen]
        ax.plot(totals, places, "k|", ms=9, mew=1.8)
        for (label, size), style in zip(CHIPS.items(), ("--", ":"), strict=True):
            ax.axvline(size / 1e6, color="0.3", ls=style, lw=1, label=label)
        ax.set_xscale("log")
        ax.set_xlim(1e-3, 2e-6 * largest)
        ax.set_yticks(
            places, [find_algorithm(row["algorithm"]).title for row in chosen], fontsize=7
        )
        ax.invert_yaxis()
        ax.set_title(f"{corpus.upper()}, K = {chosen[0]['K']}", fontsize=9, loc="left")
    axes[-1, 0].set_xlabel("MB (black mark: total)")
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=PALETTE[i]) for i in range(len(PARTS))]
    chips, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        [*handles, *chips], [*LABELS, *names], loc="outside lower center", ncols=3,
        frameon=False, fontsize=8,
    )  # fmt: skip
    return figure


def main(arguments: list[str] | None = None) -> int:
    return run_study("table_memory", __doc__, make, arguments, add_options=add_options)


if __name__ == "__main__":
    sys.exit(main())
