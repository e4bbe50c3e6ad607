"""As on the chip, all at once, in spikes: what limits of chips cost beside the ideal network.

    python sims/table_on_chip.py --data-dir DATA --out results

ed-SpikeLDA on 20 Newsgroups (by-date split) and NIPS, K = 50, four lines each, the same passes:

ideal        all words and documents have synapses; one tick a token
split        fan-in 251 without loss: 200 words and 50 documents a part, one from its topic
pruned       fan-in 251 by pruning: 200 private words, one shared synapse, 50 documents on chip
all limits   pruned, and on 4 chips: 8-bit weights, 3 ticks of latency to the inhibition, 1 % of all
             packets lost

Pruned networks make their first passes whole and ideal (p-x of the paper's appendix), and go on by
the rule "unigram". Held-out perplexity, SVM accuracy on theta where there are labels; synapses of a
topic neuron, swaps of documents and packets between chips are counted in the run. A token's word
and document send their packets in every tick until it has a winner. A chip that loses the word's
packet sits the race out, also where the word is not private there.

There is no line "all limits, split": the parts of a topic keep copies of M^beta and of what all
word synapses have lost, which are equal because all of them hear the same spikes and take the same
steps. With random rounding each copy takes a step of its own, and a chip that misses a packet falls
behind for good: the copies part, and with them the law. Pruned networks have no copies.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import Any

from brian_lda.hardware import PAPER_DOCS_ON_CHIP, PAPER_PRIVATE_WORDS
from brian_lda.sweeps import Task
from brian_lda.sweeps.on_chip import ON_CHIP
from brian_lda.sweeps.tables import mean_and_spread
from study.backend import add_simulator_option
from study.classification import classification_config
from study.script import Study, run_study


@dataclass(frozen=True)
class Scale:
    """How large an experiment is; priors: lambda, varphi."""

    corpora: tuple[str, ...]
    n_topics: int
    passes: int  # pre-training included
    pretraining: int
    n_private: int
    docs_on_chip: int
    n_chips: int
    weight_bits: int = 8
    latency: int = 3  # ticks
    packet_loss: float = 0.01
    priors: tuple[float, float] = (0.05, 0.05)

    @property
    def limits(self) -> dict[str, Any]:
        names = ("weight_bits", "packet_loss", "latency", "n_chips")
        return {name: getattr(self, name) for name in names}


FAN_IN = (PAPER_PRIVATE_WORDS, PAPER_DOCS_ON_CHIP)
SCALES = {
    "tiny": Scale(("synthetic",), 6, 3, 2, 40, 50, 2),
    "small": Scale(("20ng", "nips"), 50, 40, 20, *FAN_IN, 4),
    "paper": Scale(("20ng", "nips"), 50, 100, 20, *FAN_IN, 4),
}
NETWORKS = {"ideal": "whole", "split": "split", "pruned": "pruned", "all limits": "pruned"}
SHOWN = {
    "perplexity": "perplexity",
    "accuracy_fold_in": "all classes",
    "binary_accuracy_fold_in": "binary",
    "fan_in": "fan-in",
    "writes": "swaps",
    "planned_writes": "of the plan",
    "packets": "packets a token",
    "ticks": "ticks a token",
}


def make(study: Study) -> None:
    scale = SCALES[study.options.scale]
    places: list[tuple[tuple[str, str], Task]] = []
    for corpus in study.at_hand(scale.corpora):
        for seed in study.seeds:
            for name in NETWORKS:
                places.append(((corpus, name), task(study, scale, corpus, name, seed)))
    if not places:
        return
    report = study.sweep([task for _, task in places])
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for place, planned in places:
        if (result := report.results.get(planned.key)) is not None:
            found.setdefault(place, []).append(result)
    rows = [row(corpus, name, runs) for (corpus, name), runs in found.items()]
    study.write(rows, asdict(scale))
    for line in rows:
        cells = [f"{label} {line[key]:.6g}" for key, label in SHOWN.items() if line[key] != ""]
        print(f"{line['corpus']:10} {line['network']:11} {'   '.join(cells)}")


def task(study: Study, scale: Scale, corpus: str, name: str, seed: int) -> Task:
    """The run of one line."""
    K, passes = scale.n_topics, scale.passes
    config = classification_config("ed_spike_lda", corpus, K, *scale.priors, passes, seed)
    del config["judged_on"]
    config |= {
        "network": NETWORKS[name],
        "n_private": scale.n_private,
        "docs_on_chip": scale.docs_on_chip,
        "pretraining": scale.pretraining,
        "rule": "unigram",
        "limits": scale.limits if name == "all limits" else None,
    }
    return study.task(config, ON_CHIP, backend="brian2")


def row(corpus: str, name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """A line of the table: means over the runs, and the spread of what is random."""
    line: dict[str, Any] = {"corpus": corpus, "network": name, "n_runs": len(runs)}
    for key in SHOWN:
        values = [run[key] for run in runs if key in run]
        line[key], spread = mean_and_spread(values) if values else ("", "")
        if key in ("perplexity", "accuracy_fold_in", "binary_accuracy_fold_in"):
            line[f"{key}_spread"] = spread
    line["seconds"] = mean_and_spread([run["seconds"] for run in runs])[0]
    return line


def main(arguments: list[str] | None = None) -> int:
    return run_study("table_on_chip", __doc__, make, arguments, add_options=add_simulator_option)


if __name__ == "__main__":
    sys.exit(main())
