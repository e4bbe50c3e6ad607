"""Table 5 of the paper: classification after fan-in pruning, at rate level.

    python sims/table_pruning.py --out results/pruning --scale paper --data-dir DATA

ed-SpikeLDA, the same pruned after 15 and 20 passes of pre-training (p-15, p-20: 200 private words a
topic, one shared synapse, 50 documents on chip) and CGS on 20 Newsgroups (by-date split). A linear
SVM on theta; theta of training and test documents alike is folded in with Phi fixed. Results are
appended to pruning.csv as they come: a killed run goes on where it stopped. --scale tiny runs on
reuters with stand-in labels and shows that the script works, nothing else.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from brian_lda import CollapsedGibbsLDA, SpikeLDA
from brian_lda.corpus import Corpus, load_corpus
from brian_lda.errors import BrianLDAError
from brian_lda.estimators import ProgressBar, TopicModel
from brian_lda.evaluation import BINARY_GROUPS, svm_accuracy
from brian_lda.hardware.pruning import (
    PAPER_DOCS_ON_CHIP,
    PAPER_PRIVATE_WORDS,
    prune_and_continue,
)
from brian_lda.runs import versions, write_json

# Tab. 5: mean accuracy of 3 runs, in per cent (binary, 20 classes). The paper does not say K.
PAPER = {
    "CGS": (72.8, 63.5),
    "ed-SpikeLDA": (72.5, 57.6),
    "p-15": (73.0, 60.0),
    "p-20": (73.8, 62.2),
}
FIELDS = ("row", "K", "seed", "passes", "binary", "multi", "seconds")
COLOURS = {"CGS": "0.6", "ed-SpikeLDA": "#0072B2", "p-15": "#E69F00", "p-20": "#D55E00"}


@dataclass(frozen=True)
class Scale:
    """How large an experiment is."""

    corpus: str
    topics: tuple[int, ...]
    seeds: int
    passes: int  # all passes of ed-SpikeLDA, pre-training included
    pretraining: tuple[int, int]
    n_private: int
    cgs_sweeps: int


SCALES = {
    "tiny": Scale("reuters", (6,), 2, 6, (3, 4), 40, 10),
    "small": Scale("20ng", (50,), 1, 25, (15, 20), PAPER_PRIVATE_WORDS, 50),
    "paper": Scale("20ng", (100, 200), 3, 30, (15, 20), PAPER_PRIVATE_WORDS, 200),
}


@dataclass(frozen=True)
class Task:
    """Training and test documents with labels."""

    train: Corpus
    test: Corpus
    binary_classes: list[int]

    def accuracy(self, model: TopicModel) -> tuple[float, float]:
        """Per cent correct: binary, all classes."""
        theta = model.transform(self.train), model.transform(self.test)
        return tuple(
            100 * svm_accuracy(theta[0], self.train.labels, theta[1], self.test.labels, classes=c)
            for c in (self.binary_classes, None)
        )


def load_task(scale: Scale, data_dir: str | None) -> Task:
    corpus = load_corpus(scale.corpus, data_dir=data_dir)
    if corpus.labels is None:  # reuters: the strongest of three topics stands in for a label
        theta = CollapsedGibbsLDA(n_topics=3, max_iter=50, random_state=0).fit_transform(corpus)
        corpus = Corpus(
            corpus.counts, corpus.vocabulary, corpus.name, theta.argmax(axis=1), ("a", "b", "c"),
            np.where(np.arange(corpus.n_docs) % 3 == 0, "test", "train"),
        )  # fmt: skip
        classes = [0, 1]
    else:
        classes = [corpus.label_names.index(group) for group in BINARY_GROUPS]
    train, test = (corpus.subset(np.flatnonzero(corpus.split == s)) for s in ("train", "test"))
    return Task(train, test, classes)


class Results:
    """Rows of the CSV file; what is there already is not run again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: list[dict[str, str]] = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                self.rows = list(csv.DictReader(file))

    def has(self, row: str, K: int, seed: int) -> bool:
        return any((r["row"], r["K"], r["seed"]) == (row, str(K), str(seed)) for r in self.rows)

    def add(self, row: str, K: int, seed: int, model: TopicModel, task: Task, start: float) -> None:
        binary, multi = task.accuracy(model)
        record = dict(
            zip(
                FIELDS,
                (row, K, seed, model.n_iter_, f"{binary:.2f}", f"{multi:.2f}",
                 f"{time.perf_counter() - start:.1f}"),
                strict=True,
            )
        )  # fmt: skip
        is_new = not self._path.exists()
        with self._path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS)
            if is_new:
                writer.writeheader()
            writer.writerow(record)
        self.rows.append({key: str(value) for key, value in record.items()})
        print(f"K={K:<4} seed {seed}  {row:12} {binary:5.1f} / {multi:5.1f}", flush=True)

    def mean(self, row: str, K: int) -> np.ndarray:
        """[(mean, standard deviation) of binary, of all classes]; empty if there is no run."""
        runs = [r for r in self.rows if r["row"] == row and r["K"] == str(K)]
        values = np.array([[float(r["binary"]), float(r["multi"])] for r in runs])
        return np.array([values.mean(axis=0), values.std(axis=0)]).T if len(runs) else values


def run(scale: Scale, task: Task, results: Results, quiet: bool) -> None:
    """All rows of the table, one (K, seed) after the other."""
    for K in scale.topics:
        for seed in range(scale.seeds):
            start = time.perf_counter()
            if not results.has("CGS", K, seed):
                cgs = CollapsedGibbsLDA(n_topics=K, max_iter=scale.cgs_sweeps, random_state=seed)
                results.add("CGS", K, seed, cgs.fit(task.train), task, start)
            run_event_driven(scale, task, results, K, seed, quiet)


def run_event_driven(
    scale: Scale, task: Task, results: Results, K: int, seed: int, quiet: bool
) -> None:
    """ed-SpikeLDA, from which the pruned networks branch off after their pre-training."""
    names = ("ed-SpikeLDA", "p-15", "p-20")
    if all(results.has(row, K, seed) for row in names):
        return
    start = time.perf_counter()
    bar = ProgressBar(disable=quiet)

    def branch(model: TopicModel, record: dict) -> None:
        for row, passes in zip(names[1:], scale.pretraining, strict=True):
            if record["iteration"] == passes and not results.has(row, K, seed):
                pruned = prune_and_continue(
                    model,
                    task.train,
                    n_passes=scale.passes - passes,
                    n_private=scale.n_private,
                )
                results.add(row, K, seed, pruned, task, start)

    model = SpikeLDA(
        n_topics=K,
        max_iter=scale.passes,
        random_state=seed,
        callbacks=[branch, bar],
    ).fit(task.train)
    bar.close()
    if not results.has("ed-SpikeLDA", K, seed):
        results.add("ed-SpikeLDA", K, seed, model, task, start)


def table(scale: Scale, results: Results) -> str:
    """The table as text, the paper's figures beside ours."""
    lines = [f"{'':14}{'K':>5}  {'binary':>14} {'paper':>7}  {'all classes':>14} {'paper':>7}"]
    for K in scale.topics:
        for row, paper in PAPER.items():
            cells = [
                f"{mean:7.1f} +- {spread:4.1f} {value:7.1f}"
                for (mean, spread), value in zip(results.mean(row, K), paper, strict=True)
            ]
            lines.append(f"{row:14}{K:>5}  {'  '.join(cells)}")
    return "\n".join(lines)


def figure(scale: Scale, results: Results, path: Path) -> None:
    """Mean and spread of both tasks; on the paper's corpus its figures as black lines."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(7.2, 3.0), layout="constrained")
    for ax, task, title in zip(fig.subplots(1, 2), (0, 1), ("binary", "all classes"), strict=True):
        for i, (row, paper) in enumerate(PAPER.items()):
            x = np.arange(len(scale.topics)) + 0.2 * (i - 1.5)
            mean, spread = np.array([results.mean(row, K)[task] for K in scale.topics]).T
            ax.errorbar(x, mean, spread, fmt="o", color=COLOURS[row], label=row, capsize=3)
            if scale.corpus == "20ng":
                ax.hlines([paper[task]] * len(x), x - 0.07, x + 0.07, color="black")
        ax.set_xticks(range(len(scale.topics)), [f"K = {K}" for K in scale.topics])
        ax.set_xlim(-0.5, len(scale.topics) - 0.5)
        ax.set_ylabel("SVM accuracy (%)")
        ax.set_title(title + (", lines: the paper" if scale.corpus == "20ng" else ""), fontsize=9)
    fig.legend(*ax.get_legend_handles_labels(), fontsize=7, loc="outside lower center", ncols=4)
    fig.savefig(path, dpi=150)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--scale", choices=list(SCALES), default="small")
    parser.add_argument("--data-dir", metavar="DIR")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    scale = SCALES[options.scale]
    try:
        task = load_task(scale, options.data_dir)
        options.out.mkdir(parents=True, exist_ok=True)
        metadata = {
            "scale": options.scale, **asdict(scale), "docs_on_chip": PAPER_DOCS_ON_CHIP,
            "doc_topic_prior": SpikeLDA().doc_topic_prior, "paper": PAPER, "versions": versions(),
        }  # fmt: skip
        write_json(options.out / "metadata.json", metadata)
        results = Results(options.out / "pruning.csv")
        run(scale, task, results, options.quiet)
    except (BrianLDAError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(scale, results))
    figure(scale, results, options.out / "pruning.png")
    print(f"results: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
