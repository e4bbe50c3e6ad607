"""Classification accuracy on 20 Newsgroups (Tab. 2): binary and 20-class, a linear SVM on theta.

    python sims/table_classification.py --data-dir DATA --out results

CGS, ed-, du- and semi-SpikeLDA are trained on the training documents of the by-date split; theta of
the test documents is folded in. lambda, the prior varphi of Phi, and whether the SVM learns from
folded-in theta or from the theta that training left behind, are chosen for each algorithm alike on
a fifth of the training documents, at the first K and with seed 0; the test documents judge once.
(At --scale paper lambda is the paper's: 0.05, and 1.05 for SpikeLDA.) tiny uses a generated corpus,
whose documents belong to their strongest topic. With --backend brian2 the networks are trained in
spikes, and every theta is from spikes (`brian_lda.fold_in_spikes`); settings are those
that the rate level chose, because twins draw from one law.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from brian_lda.algorithms import ALGORITHMS, find_algorithm
from brian_lda.sweeps import Task, expand_grid
from brian_lda.sweeps.experiments import CLASSIFY
from brian_lda.sweeps.tables import summary
from study.arguments import algorithm_among, algorithm_names, positive
from study.backend import add_backend_options, backend_label
from study.classification import classification_config
from study.priors import lambda_of
from study.script import Study, run_study

ROWS = ("cgs", "semi_spike_lda", "du_spike_lda", "ed_spike_lda")
PAPER = {  # Tab. 2, 20NG: mean and spread of binary and 20-class accuracy
    "cgs": {"binary_accuracy": (72.8, 3.8), "accuracy": (63.5, 0.2)},
    "ed_spike_lda": {"binary_accuracy": (72.5, 2.4), "accuracy": (57.6, 3.3)},
}
TASKS = ("binary_accuracy", "accuracy")


@dataclass(frozen=True)
class Scale:
    """Sizes at one scale; iterations are sweeps, passes or mini-batch updates.

    `choice_iterations` are those of the runs that choose, where they are fewer.
    """

    corpus: str
    n_topics: tuple[int, ...]
    lamdas: tuple[float, ...]
    varphis: tuple[float, ...]
    iterations: dict[str, int]
    choice_iterations: dict[str, int] = field(default_factory=dict)


SCALES = {
    "tiny": Scale("synthetic", (10,), (0.05, 0.1), (0.05,), dict.fromkeys(ROWS, 20)),
    "small": Scale(
        "20ng", (100, 200), (0.05, 0.1), (0.01, 0.05, 0.2),
        {"cgs": 200, "semi_spike_lda": 3000, "du_spike_lda": 3000, "ed_spike_lda": 200},
        {"ed_spike_lda": 60},
    ),
    "paper": Scale(
        "20ng", (100, 200), (0.05,), (0.01, 0.05, 0.2),
        {"cgs": 1000, "semi_spike_lda": 10_000, "du_spike_lda": 10_000, "ed_spike_lda": 400},
    ),
}  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    known = [algorithm for algorithm in ALGORITHMS if algorithm.name in ROWS]
    add = parser.add_argument
    add(
        "--rows", nargs="+", type=algorithm_among(known), metavar="NAME",
        help=f"some of {algorithm_names(known)} (default: all)",
    )  # fmt: skip
    add("--topics", nargs="+", type=positive, metavar="K", help="instead of the scale's own")
    add_backend_options(parser)


def task(
    study: Study, scale: Scale, judged_on: str, algorithm: str, config: dict[str, Any]
) -> Task:
    iterations = scale.iterations[algorithm]
    if judged_on == "validation":
        iterations = scale.choice_iterations.get(algorithm, iterations)
    sizes = (algorithm, scale.corpus, config["n_topics"], config["lamda"], config["varphi"])
    fields = classification_config(*sizes, iterations, config["seed"], judged_on)
    if judged_on == "validation":  # at rate level, whatever --backend says
        return Task(fields, CLASSIFY, study.options.data_dir)
    if judged_in_spikes(study, algorithm):
        fields["theta_in_spikes"] = True
    return study.task(fields, CLASSIFY)


def judged_in_spikes(study: Study, algorithm: str) -> bool:
    """Whether every theta comes from spikes, too."""
    return study.backend == "brian2" and find_algorithm(algorithm).is_spiking


def choose(study: Study, scale: Scale, algorithm: str) -> tuple[float, float, str] | None:
    """lambda, varphi and the kind of theta, by accuracy over all classes, validation documents."""
    grid = expand_grid(n_topics=scale.n_topics[0], lamda=scale.lamdas, varphi=scale.varphis, seed=0)
    report = study.sweep([task(study, scale, "validation", algorithm, c) for c in grid])
    candidates = [
        (
            accuracy,
            lambda_of(algorithm, config["prior"]),
            config["word_prior"],
            key.removeprefix("accuracy_"),
        )
        for config, result in report.finished()
        for key, accuracy in result.items()
        if key.startswith("accuracy_")
    ]
    return max(candidates)[1:] if candidates else None


def rows_of(
    study: Study, scale: Scale, algorithm: str, lamda: float, varphi: float, theta: str
) -> list[dict[str, Any]]:
    """The algorithm's lines of the table, judged on the test documents."""
    grid = expand_grid(n_topics=scale.n_topics, lamda=lamda, varphi=varphi, seed=study.seeds)
    report = study.sweep([task(study, scale, "test", algorithm, c) for c in grid])
    kind = f"{theta}_in_spikes" if judged_in_spikes(study, algorithm) else theta
    values = tuple(f"{name}_{kind}" for name in TASKS)
    rows = []
    for row in summary(
        report.finished(), by=("algorithm", "n_topics"), values=(*values, "seconds")
    ):
        row = {key.replace(f"_{kind}", ""): value for key, value in row.items()}
        row |= {"backend": backend_label(algorithm, study.backend)}
        row |= {"lamda": lamda, "varphi": varphi, "theta": theta}
        row |= {"iterations": scale.iterations[algorithm]}
        for name in TASKS:
            paper = PAPER.get(algorithm, {}) if scale.corpus == "20ng" else {}
            row[f"paper_{name}"], row[f"paper_{name}_spread"] = paper.get(name, (None, None))
        rows.append(row)
    return rows


def make(study: Study) -> None:
    scale = SCALES[study.options.scale]
    if not study.at_hand([scale.corpus]):
        return
    judged = replace(scale, n_topics=tuple(study.options.topics or scale.n_topics))
    rows: list[dict[str, Any]] = []
    chosen = {}
    for algorithm in study.options.rows or ROWS:
        found = choose(study, scale, algorithm)
        if found is None:
            continue  # every run failed, and was reported
        chosen[algorithm] = found
        rows += rows_of(study, judged, algorithm, *found)
        # after each algorithm: the table is there long before its slowest line
        study.write(rows, {**asdict(judged), "chosen": chosen})
    for row in rows:
        print(line(row))


def line(row: dict[str, Any]) -> str:
    cells = []
    for name, label in zip(TASKS, ("binary", "all classes"), strict=True):
        cell = f"{label} {row[name]:5.1f} +- {row[f'{name}_spread']:3.1f}"
        if row[f"paper_{name}"] is not None:
            cell += f" (paper {row[f'paper_{name}']} +- {row[f'paper_{name}_spread']})"
        cells.append(cell)
    title = find_algorithm(row["algorithm"]).title
    return (
        f"{title:15} K = {row['n_topics']:<4} lambda = {row['lamda']:<5} "
        f"varphi = {row['varphi']:<5} "
        f"{'   '.join(cells)}   {row['n_runs']} runs, {row['backend']}"
    )


def main(arguments: list[str] | None = None) -> int:
    return run_study("table_classification", __doc__, make, arguments, add_options=add_options)


if __name__ == "__main__":
    sys.exit(main())
