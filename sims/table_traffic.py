"""Packets between chips for three ways to place topics: computed, and counted in spikes.

    python sims/table_traffic.py --data-dir DATA --out results

semi-SpikeLDA gives Phi; each topic keeps its 200 most probable words (the paper's pruning) and the
topic neurons are placed on 4, 8 and 16 chips by mtkahypar, in index order and at random. For each
placement: multicast packets per token of the training corpus (`brian_lda.hardware.checker`), and
for a sample of its tokens the packets counted from the spikes of the pruned ed-SpikeLDA network in
Brian2 (`brian_lda.hardware.packets`) beside the checker's figure for the same sample. Each also
with a referee, who tells the winner alone (`brian_lda.hardware.referee`); and in clocked time, for
a tenth of the sample, when chips hear of each other 3 ticks late.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from brian_lda import SemiSpikeLDA
from brian_lda.circuit.latency import Windowed
from brian_lda.corpus import load_corpus
from brian_lda.hardware import (
    count_traffic,
    hypergraph_placement,
    index_placement,
    prune_words,
    random_placement,
)
from brian_lda.hardware.packets import PACKETS, CountedPackets, count_packets
from brian_lda.hardware.referee import ATTEMPTS, RefereedPackets, count_refereed_packets
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking
from study.script import Study, run_study

LATENCY = 3  # ticks


@dataclass(frozen=True)
class Scale:
    corpus: str
    n_topics: int
    updates: int
    n_private: int
    chips: tuple[int, ...]
    sample: int
    simulator: str = "standalone"


SCALES = {
    "tiny": Scale("reuters", 6, 5, 40, (3,), 100, "numpy"),
    "small": Scale("nips", 200, 200, 200, (4, 8, 16), 20_000),
    "paper": Scale("nips", 200, 1000, 200, (4, 8, 16), 200_000),
}


def make(study: Study) -> None:
    scale = SCALES[study.options.scale]
    rows = []
    for name in study.at_hand([scale.corpus]):
        corpus, K = load_corpus(name, data_dir=study.options.data_dir), scale.n_topics
        model = SemiSpikeLDA(n_topics=K, max_iter=scale.updates, batch_size=64, random_state=0).fit(
            corpus
        )
        pruned = prune_words(model.components_, scale.n_private)
        word_counts = np.asarray(corpus.counts.sum(axis=0)).ravel()
        network, clocked = (
            EventDrivenSpiking(
                EventDrivenParameters(K, 1.1), corpus.n_words, corpus.doc_lengths, seed=0,
                pruned=pruned, simulator=scale.simulator, inhibition=inhibition,
            )
            for inhibition in (None, Windowed(latency=LATENCY))
        )  # fmt: skip
        rng = np.random.default_rng(0)
        words, docs = corpus.tokens()
        drawn = rng.permutation(len(words))[: scale.sample]
        words, docs = words[drawn], docs[drawn]
        winners = network.present(words, docs, record=PACKETS)
        tenth = slice(len(words) // 10)
        clocked.present(words[tenth], docs[tenth], record=ATTEMPTS)
        for n_chips in scale.chips:
            placements = {
                "mtkahypar": hypergraph_placement(pruned.private, word_counts, n_chips, seed=0),
                "index order": index_placement(K, n_chips),
                "random": random_placement(K, n_chips, rng),
            }
            for placed_by, chip_of_topic in placements.items():
                topics = np.bincount(winners, minlength=K)
                whole, expected = (
                    count_traffic(
                        chip_of_topic, n_chips, pruned.private, counts, topic_counts=topics
                    )
                    for counts in (word_counts, np.bincount(words, minlength=corpus.n_words))
                )
                where = chip_of_topic, n_chips
                referee = int(np.bincount(chip_of_topic, topics, n_chips).argmax())
                row = {
                    "corpus": name, "K": K, "n_private": scale.n_private, "chips": n_chips,
                    "placed_by": placed_by, "packets": whole.packets, "word_packets": whole.word,
                    "with_referee": whole.with_referee, "sample_tokens": len(words),
                    "sample_checker": expected.packets * len(words),
                    "sample_spikes": _total(count_packets(network.network, *where)),
                    "sample_checker_referee": expected.with_referee * len(words),
                    "sample_spikes_referee": _total(
                        count_refereed_packets(network.network, *where, referee)
                    ),
                }  # fmt: skip
                told_all = count_packets(clocked.network, *where)
                told_winner = count_refereed_packets(clocked.network, *where, referee)
                row["clocked"] = _total(told_all) / told_all.n_tokens
                row["clocked_with_referee"] = _total(told_winner) / told_winner.n_tokens
                rows.append(row)
                print(line(row), flush=True)
    if rows:
        study.write(rows, asdict(scale))


def line(row: dict[str, Any]) -> str:
    """A row as text."""
    return (
        f"{row['corpus']}, {row['chips']:2} chips, {row['placed_by']:11}: {row['packets']:6.2f} "
        f"packets a token (words {row['word_packets']:.3f}), with a referee "
        f"{row['with_referee']:6.2f}; {row['sample_tokens']} tokens: checker "
        f"{row['sample_checker']:.0f} and {row['sample_checker_referee']:.0f}, spikes "
        f"{row['sample_spikes']} and {row['sample_spikes_referee']}; in clocked time "
        f"{row['clocked']:.1f} and {row['clocked_with_referee']:.1f} a token"
    )


def _total(packets: CountedPackets | RefereedPackets) -> int:
    return int(round(packets.matrix.sum() * packets.n_tokens))


def main(arguments: list[str] | None = None) -> int:
    return run_study("table_traffic", __doc__, make, arguments)


if __name__ == "__main__":
    sys.exit(main())
