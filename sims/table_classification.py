"""Classification accuracy on 20 Newsgroups (Tab. 2): binary and 20-class, a linear SVM on theta.

    python sims/table_classification.py --data-dir DATA --out results

CGS, ed-, du- and semi-SpikeLDA are trained on the training documents of the by-date split; theta of
the test documents is folded in. lambda, and whether the SVM learns from folded-in theta or from the
theta that training left behind, are chosen for each algorithm alike on a fifth of the training
documents, at the first K and with seed 0; the test documents judge once. (At --scale paper lambda
is the paper's: 0.05, and 1.05 for SpikeLDA.) tiny uses a generated corpus, whose documents belong
to their strongest topic.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import Any

from brian_lda.runs import RunConfig
from brian_lda.sweeps import Task, expand_grid
from brian_lda.sweeps.experiments import CLASSIFY
from brian_lda.sweeps.priors import lambda_of, prior_of
from brian_lda.sweeps.study import Study, run_study
from brian_lda.sweeps.tables import summary

ALGORITHMS = ("cgs", "ed-spike-lda", "semi-spike-lda", "du-spike-lda")
PAPER = {  # Tab. 2, 20NG: mean and spread of binary and 20-class accuracy
    "cgs": {"binary_accuracy": (72.8, 3.8), "accuracy": (63.5, 0.2)},
    "ed-spike-lda": {"binary_accuracy": (72.5, 2.4), "accuracy": (57.6, 3.3)},
}
TASKS = ("binary_accuracy", "accuracy")


@dataclass(frozen=True)
class Scale:
    """Sizes at one scale; iterations are sweeps, passes or mini-batch updates."""

    corpus: str
    n_topics: tuple[int, ...]
    lamdas: tuple[float, ...]
    iterations: dict[str, int]


SCALES = {
    "tiny": Scale("synthetic", (10,), (0.05, 0.1), dict.fromkeys(ALGORITHMS, 20)),
    "small": Scale(
        "20ng", (100, 200), (0.01, 0.05, 0.1),
        {"cgs": 200, "ed-spike-lda": 60, "semi-spike-lda": 3000, "du-spike-lda": 3000},
    ),
    "paper": Scale(
        "20ng", (100, 200), (0.05,),
        {"cgs": 1000, "ed-spike-lda": 200, "semi-spike-lda": 10_000, "du-spike-lda": 10_000},
    ),
}  # fmt: skip


def task(study: Study, scale: Scale, judged_on: str, config: dict[str, Any]) -> Task:
    algorithm = config["algorithm"]
    complete = asdict(
        RunConfig(
            algorithm=algorithm,
            corpus=scale.corpus,
            n_topics=config["n_topics"],
            prior=prior_of(algorithm, config["lamda"]),
            iterations=scale.iterations[algorithm],
            seed=config["seed"],
        )
    )
    del complete["data_dir"], complete["evaluate_every"]
    return Task({**complete, "judged_on": judged_on}, CLASSIFY, study.options.data_dir)


def choose(study: Study, scale: Scale) -> dict[str, tuple[float, str]]:
    """lambda and the kind of theta of each algorithm, by 20-class accuracy on validation."""
    grid = expand_grid(algorithm=ALGORITHMS, n_topics=scale.n_topics[0], lamda=scale.lamdas, seed=0)
    report = study.sweep([task(study, scale, "validation", config) for config in grid])
    best: dict[str, tuple[float, float, str]] = {}
    for config, result in report.finished():
        algorithm, lamda = config["algorithm"], lambda_of(config["algorithm"], config["prior"])
        for key, accuracy in result.items():
            if key.startswith("accuracy_"):
                candidate = (accuracy, lamda, key.removeprefix("accuracy_"))
                best[algorithm] = max(best.get(algorithm, candidate), candidate)
    return {algorithm: found[1:] for algorithm, found in best.items()}


def make(study: Study) -> None:
    scale = SCALES[study.options.scale]
    if not study.at_hand([scale.corpus]):
        return
    chosen = choose(study, scale)
    grid = expand_grid(algorithm=list(chosen), n_topics=scale.n_topics, seed=study.seeds)
    report = study.sweep(
        [
            task(study, scale, "test", {**config, "lamda": chosen[config["algorithm"]][0]})
            for config in grid
        ]
    )
    rows = []
    for algorithm, (lamda, theta) in chosen.items():
        runs = [pair for pair in report.finished() if pair[0]["algorithm"] == algorithm]
        values = tuple(f"{name}_{theta}" for name in TASKS)
        for row in summary(runs, by=("algorithm", "n_topics"), values=(*values, "seconds")):
            row = {key.replace(f"_{theta}", ""): value for key, value in row.items()}
            row |= {"lamda": lamda, "theta": theta, "iterations": scale.iterations[algorithm]}
            for name in TASKS:
                paper = PAPER.get(algorithm, {}) if scale.corpus == "20ng" else {}
                mean, spread = paper.get(name, (None, None))
                row |= {f"paper_{name}": mean, f"paper_{name}_spread": spread}
            rows.append(row)
            print(line(row))
    study.write(rows, {**asdict(scale), "chosen": chosen})


def line(row: dict[str, Any]) -> str:
    cells = []
    for name, label in zip(TASKS, ("binary", "all classes"), strict=True):
        cell = f"{label} {row[name]:5.1f} +- {row[f'{name}_spread']:3.1f}"
        if row[f"paper_{name}"] is not None:
            cell += f" (paper {row[f'paper_{name}']} +- {row[f'paper_{name}_spread']})"
        cells.append(cell)
    return (
        f"{row['algorithm']:15} K = {row['n_topics']:<4} lambda = {row['lamda']:<5} "
        f"{'   '.join(cells)}   {row['n_runs']} runs"
    )


def main(arguments: list[str] | None = None) -> int:
    return run_study("table_classification", __doc__, make, arguments)


if __name__ == "__main__":
    sys.exit(main())
