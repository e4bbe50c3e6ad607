"""Table 5 of the paper: classification after fan-in pruning, at rate level or in spikes.

    python sims/table_pruning.py --data-dir DATA --out results
    python sims/table_pruning.py --backend brian2 --topics 100 --seeds 1 --data-dir DATA

CGS, ed-SpikeLDA whole and split, and ed-SpikeLDA pruned after 15 and 20 passes of pre-training
(p-15, p-20: 200 private words a topic, one shared synapse), by the paper's rule and by ours
(`brian_lda.hardware.pruning`, "renewed"). Split and pruned networks have a fan-in of 251: 50
documents are on the chip, and tokens come in blocks of 50 documents. All networks make the same
number of passes over 20 Newsgroups, by-date split. In spikes "renewed" wires the network anew, and
compiles it, before each pass. A linear SVM on theta; theta of training and test
documents alike is folded in with Phi fixed. Perplexity is that of held-out halves of the test
documents. lambda and varphi are those that
sims/table_classification.py chose for both on validation documents; its CGS runs are taken over.
--scale tiny uses a generated corpus whose documents belong to their strongest topic.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from brian_lda.hardware import PAPER_PRIVATE_WORDS
from brian_lda.sweeps import Task
from brian_lda.sweeps.experiments import CLASSIFY, PRUNE
from brian_lda.sweeps.tables import mean_and_spread
from brian_lda.sweeps.task import RESULT_KEY
from study.arguments import positive
from study.backend import add_backend_options, backend_label
from study.classification import classification_config
from study.script import Study, run_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASKS = {"binary_accuracy": "binary", "accuracy": "all classes"}
# Tab. 5: mean accuracy of 3 runs, in per cent (binary, 20 classes). The paper does not say K.
PAPER = {
    "CGS": (72.8, 63.5),
    "ed-SpikeLDA": (72.5, 57.6),
    "p-15": (73.0, 60.0),
    "p-20": (73.8, 62.2),
}
COLOURS = ("0.6", "#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7")


@dataclass(frozen=True)
class Scale:
    """How large an experiment is; priors: lambda, varphi."""

    corpus: str
    n_topics: tuple[int, ...]
    passes: int  # of ed-SpikeLDA, pre-training included
    pretraining: tuple[int, int]
    n_private: int
    docs_on_chip: int  # of split and pruned networks
    cgs_sweeps: int
    priors: tuple[float, float] = (0.05, 0.05)


SCALES = {
    "tiny": Scale("synthetic", (10,), 6, (3, 4), 40, 50, 10),
    "small": Scale("20ng", (100, 200), 40, (15, 20), PAPER_PRIVATE_WORDS, 50, 200),
    "paper": Scale("20ng", (100, 200), 100, (15, 20), PAPER_PRIVATE_WORDS, 50, 200),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--topics", nargs="+", type=positive, metavar="K", help="instead of the scale's own"
    )
    add_backend_options(parser)


def make(study: Study) -> None:
    scale = SCALES[study.options.scale]
    scale = replace(scale, n_topics=tuple(study.options.topics or scale.n_topics))
    if not study.at_hand([scale.corpus]):
        return
    places: list[tuple[int, Task]] = []
    for K in scale.n_topics:
        for seed in study.seeds:
            cgs = classification_config(
                "cgs", scale.corpus, K, *scale.priors, scale.cgs_sweeps, seed
            )
            ed = classification_config(
                "ed_spike_lda", scale.corpus, K, *scale.priors, scale.passes, seed
            )
            fan_in = {"word_synapses": scale.n_private, "document_slots": scale.docs_on_chip}
            split = {**ed, "options": {"constraints": fan_in}}
            pruned = {
                **ed,
                "pretraining": list(scale.pretraining),
                "n_private": scale.n_private,
                "docs_on_chip": scale.docs_on_chip,
            }
            for config, function in ((cgs, CLASSIFY), (pruned, PRUNE), (split, CLASSIFY)):
                places.append((K, study.task(config, function)))
    report = study.sweep([task for _, task in places])
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for K, task in places:
        if (result := report.results.get(task.key)) is None:
            continue  # failed, and was reported
        for name, accuracies in networks(task, result):
            found.setdefault((name, K), []).append(accuracies)
    pruned = [f"{who}p-{x}" for who in ("", "ours ") for x in scale.pretraining]
    rows = [
        row(scale, name, K, found[name, K], study.backend)
        for K in scale.n_topics
        for name in ("CGS", "ed-SpikeLDA", "split", *pruned)
        if (name, K) in found
    ]
    study.write(rows, asdict(scale), figure(scale, rows))
    for line in rows:
        cells = [
            f"{label} {line[t]:5.1f} +- {line[f'{t}_spread']:3.1f}" for t, label in TASKS.items()
        ]
        if "perplexity" in line:
            cells.append(f"perplexity {line['perplexity']:.0f} +- {line['perplexity_spread']:.0f}")
        print(f"{line['network']:12} K = {line['n_topics']:<4} {'   '.join(cells)}")


def networks(task: Task, result: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """The lines of the table that a run holds."""
    if task.function == CLASSIFY:
        return [("CGS" if task.config["algorithm"] == "cgs" else "split", result)]
    own = {name: result[name] for name in result if name != RESULT_KEY}
    return [("ed-SpikeLDA", own.pop("whole")), *own.items()]


def row(
    scale: Scale, name: str, K: int, runs: list[dict[str, float]], backend: str | None
) -> dict[str, Any]:
    line: dict[str, Any] = {"network": name, "n_topics": K, "n_runs": len(runs)}
    line["backend"] = backend_label("cgs" if name == "CGS" else "ed_spike_lda", backend)
    paper = PAPER.get(name, (None, None)) if scale.corpus == "20ng" else (None, None)
    for task, value in zip(TASKS, paper, strict=True):
        accuracies = [run[f"{task}_fold_in"] for run in runs]
        line[task], line[f"{task}_spread"] = mean_and_spread(accuracies)
        line[f"paper_{task}"] = value
    perplexities = [run["perplexity"] for run in runs if "perplexity" in run]
    if len(perplexities) == len(runs):  # runs made before it was measured have none
        line["perplexity"], line["perplexity_spread"] = mean_and_spread(perplexities)
    return line


def figure(scale: Scale, rows: list[dict[str, Any]]) -> Figure:
    """Mean and spread of both tasks; on the paper's corpus its figures as black lines."""
    from matplotlib import pyplot

    fig, axes = pyplot.subplots(1, 2, figsize=(7.2, 3.2), layout="constrained")
    names = list(dict.fromkeys(line["network"] for line in rows))
    for ax, (task, label) in zip(axes, TASKS.items(), strict=True):
        for i, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
            lines = [line for line in rows if line["network"] == name]
            x = np.array([scale.n_topics.index(line["n_topics"]) for line in lines])
            x = x + 0.12 * (i - (len(names) - 1) / 2)
            mean = [line[task] for line in lines]
            spread = [line[f"{task}_spread"] for line in lines]
            ax.errorbar(x, mean, spread, fmt="o", color=colour, label=name, capsize=3)
            if scale.corpus == "20ng":
                paper = [line[f"paper_{task}"] or np.nan for line in lines]
                ax.hlines(paper, x - 0.07, x + 0.07, color="black")
        ax.set_xticks(range(len(scale.n_topics)), [f"K = {K}" for K in scale.n_topics])
        ax.set_xlim(-0.5, len(scale.n_topics) - 0.5)
        ax.set_ylabel("SVM accuracy (%)")
        ax.set_title(label + (", lines: the paper" if scale.corpus == "20ng" else ""), fontsize=9)
    fig.legend(
        *axes[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=4
    )
    return fig


def main(arguments: list[str] | None = None) -> int:
    return run_study("table_pruning", __doc__, make, arguments, add_options=add_options)


if __name__ == "__main__":
    sys.exit(main())
