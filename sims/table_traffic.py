"""Packets between chips for three ways to place topics: computed, and counted in spikes.

    python sims/table_traffic.py --data-dir DATA --out results

semi-SpikeLDA gives Phi; each topic keeps its 200 most probable words (the paper's pruning) and the
topic neurons are placed on 4, 8 and 16 chips by mtkahypar, in index order and at random. For each
placement: multicast packets per token of the training corpus (`brian_lda.hardware.checker`), and
for a sample of its tokens the packets counted from the spikes of the pruned ed-SpikeLDA network in
Brian2 (`brian_lda.hardware.packets`) beside the checker's figure for the same sample.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass

import numpy as np

from brian_lda import SemiSpikeLDA
from brian_lda.corpus import load_corpus
from brian_lda.hardware import (
    count_traffic,
    hypergraph_placement,
    index_placement,
    prune_words,
    random_placement,
)
from brian_lda.hardware.packets import PACKETS, count_packets
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking
from study.script import Study, run_study


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
        network = EventDrivenSpiking(
            EventDrivenParameters(K, 1.1), corpus.n_words, corpus.doc_lengths, seed=0,
            pruned=pruned, simulator=scale.simulator,
        )  # fmt: skip
        rng = np.random.default_rng(0)
        words, docs = corpus.tokens()
        drawn = rng.permutation(len(words))[: scale.sample]
        words, docs = words[drawn], docs[drawn]
        network.present(words, docs, record=PACKETS)
        for n_chips in scale.chips:
            placements = {
                "mtkahypar": hypergraph_placement(pruned.private, word_counts, n_chips, seed=0),
                "index order": index_placement(K, n_chips),
                "random": random_placement(K, n_chips, rng),
            }
            for placed_by, chip_of_topic in placements.items():
                whole = count_traffic(chip_of_topic, n_chips, pruned.private, word_counts)
                sample = np.bincount(words, minlength=corpus.n_words)
                expected = count_traffic(chip_of_topic, n_chips, pruned.private, sample)
                counted = count_packets(network.network, chip_of_topic, n_chips)
                rows.append(
                    {
                        "corpus": name, "K": K, "n_private": scale.n_private, "chips": n_chips,
                        "placed_by": placed_by, "packets": whole.packets,
                        "word_packets": whole.word, "sample_tokens": len(words),
                        "sample_checker": expected.packets * len(words),
                        "sample_spikes": int(round(counted.matrix.sum() * len(words))),
                    }
                )  # fmt: skip
                print(
                    f"{name}, {n_chips:2} chips, {placed_by:11}: {whole.packets:6.2f} packets a "
                    f"token (words {whole.word:.3f}); {len(words)} tokens: checker "
                    f"{rows[-1]['sample_checker']:.0f}, spikes {rows[-1]['sample_spikes']}",
                    flush=True,
                )
    if rows:
        study.write(rows, asdict(scale))


def main(arguments: list[str] | None = None) -> int:
    return run_study("table_traffic", __doc__, make, arguments)


if __name__ == "__main__":
    sys.exit(main())
