"""Any of the five networks in spikes beside its rate-level twin, over several seeds.

    python sims/compare_networks.py --algorithm spike-cgs --topics 20 --iterations 100 --out cgs
    python sims/compare_networks.py --algorithm semi-spike-lda --corpus kos --data-dir DATA \
        --topics 50 --iterations 100 --seeds 1 --out semi

Both backends of the estimator, the same corpus, parameters and seeds. SpikeCGS is also compared
with the sampler of the package `lda`, an independent implementation of collapsed Gibbs sampling.
Writes `perplexity.png` (mean and range over seeds), `perplexity.csv` and `comparison.json` into a
new folder and prints one line for each twin. (`compare_reference.py` looks deeper into one pair of
event-driven twins: initial weights, zeta, law of the winners, raster.)
"""

from __future__ import annotations

import argparse
import csv
import logging
import sys
from pathlib import Path

import lda
import matplotlib
import numpy as np

from brian_lda.algorithms import SPIKING, find_algorithm
from brian_lda.corpus import HoldoutSplit, holdout_split, load_corpus
from brian_lda.errors import BrianLDAError
from brian_lda.estimators import ProgressBar, TopicModel, TrackPerplexity
from brian_lda.evaluation import heldout_perplexity
from brian_lda.files.json_files import write_json
from brian_lda.plotting import plot_learning_curves
from brian_lda.runs import RunConfig, make_model, new_run_folder, versions
from study.arguments import algorithm_among, algorithm_names, positive

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402 (the backend comes first)

TWINS = {"rate": "rate level", "brian2": "spikes"}


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--algorithm",
        type=algorithm_among(SPIKING),
        default="semi-spike-lda",
        metavar="NAME",
        help=f"{algorithm_names(SPIKING)}; default: semi-spike-lda",
    )
    parser.add_argument("--corpus", default="reuters", help="name or path (default: reuters)")
    parser.add_argument("--data-dir", help="folder that holds named corpora")
    parser.add_argument("--topics", type=positive, default=20, help="K")
    parser.add_argument(
        "--iterations", type=positive, default=100, help="passes or mini-batch updates"
    )
    parser.add_argument("--seeds", type=positive, default=3, help="how many")
    parser.add_argument(
        "--every", type=positive, default=5, help="iterations between two evaluations"
    )
    parser.add_argument(
        "--simulator", choices=("standalone", "cython", "numpy"), default="standalone"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to create")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    return parser.parse_args(argv)


def model_of(options: argparse.Namespace, backend: str, seed: int) -> TopicModel:
    """The estimator, not yet fitted."""
    extra = {"brian2_options": {"simulator": options.simulator}} if backend == "brian2" else {}
    config = RunConfig(
        algorithm=options.algorithm,
        backend=backend,
        n_topics=options.topics,
        iterations=options.iterations,
        seed=seed,
        options=extra,
    )
    return make_model(config)


def train(options: argparse.Namespace, split: HoldoutSplit, backend: str, seed: int):
    """A fitted model with the perplexity in its history."""
    model = model_of(options, backend, seed)
    bar = ProgressBar(disable=options.quiet)
    model.callbacks = [TrackPerplexity(split.observed, split.heldout, every=options.every), bar]
    try:
        return model.fit(split.train)
    finally:
        bar.close()


def independent_sampler(options: argparse.Namespace, split: HoldoutSplit, model, seed: int):
    """Perplexity of the package `lda` after as many sweeps, with the model's priors."""
    words = split.train.counts.sum(axis=0) > 0  # lda refuses words and documents without tokens
    docs = split.train.doc_lengths > 0
    peer = lda.LDA(
        n_topics=options.topics,
        n_iter=options.iterations,
        alpha=model.doc_topic_prior,
        eta=model.topic_word_prior,
        random_state=seed,
    )
    counts = split.train.counts[docs][:, words]
    peer.fit(np.asarray(counts.todense(), np.int64))
    phi = np.full((options.topics, split.train.n_words), float(model.topic_word_prior))
    phi[:, words] += peer.nzw_
    phi /= phi.sum(axis=1, keepdims=True)
    return heldout_perplexity(
        phi, split.observed.counts, split.heldout.counts, pseudo_count=model.doc_topic_prior
    ).perplexity


def compare(options: argparse.Namespace) -> list[str]:
    """Train everything, write the folder, return the lines to print."""
    model_of(options, "brian2", 0)._check_parameters()  # before a folder is made
    algorithm = find_algorithm(options.algorithm)
    corpus = load_corpus(options.corpus, data_dir=options.data_dir)
    split = holdout_split(corpus, seed=0)
    out = new_run_folder(options.out)
    curves: dict[str, list[list[float]]] = {label: [] for label in TWINS.values()}
    final: dict[str, list[float]] = {label: [] for label in TWINS.values()}
    seconds: dict[str, list[float]] = {label: [] for label in TWINS.values()}
    iterations: list[int] = []
    for seed in range(options.seeds):
        for backend, label in TWINS.items():
            model = train(options, split, backend, seed)
            evaluated = [record for record in model.history_ if "perplexity" in record]
            iterations = [record["iteration"] for record in evaluated]
            curves[label].append([record["perplexity"] for record in evaluated])
            score = model.heldout_score(split.observed, split.heldout)
            final[label].append(score.perplexity)
            seconds[label].append(model.history_[-1]["seconds"])
        if algorithm.iteration == "sweep":  # the same sampler, by others
            final.setdefault("package lda", []).append(
                independent_sampler(options, split, model, seed)
            )
    figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
    plot_learning_curves(
        {label: np.array(runs) for label, runs in curves.items()},
        ax,
        x=np.array(iterations),
        xlabel=algorithm.iteration,
    )
    ax.set_title(f"{algorithm.title}, {corpus.name}, K = {options.topics}")
    figure.savefig(out / "perplexity.png", dpi=150)
    plt.close(figure)
    with (out / "perplexity.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["twin", "seed", algorithm.iteration, "perplexity"])
        for label, runs in curves.items():
            for seed, run in enumerate(runs):
                writer.writerows(
                    [label, seed, *point] for point in zip(iterations, run, strict=True)
                )
    means = {label: float(np.mean(values)) for label, values in final.items()}
    write_json(
        out / "comparison.json",
        {
            "options": {key: str(value) for key, value in vars(options).items()},
            "final_perplexity": final,
            "spikes_over": {k: means["spikes"] / v for k, v in means.items() if k != "spikes"},
            "training_seconds": seconds,
            "versions": versions(),
        },
    )
    return [
        f"{label:>12}: perplexity {means[label]:8.1f} (seeds "
        + ", ".join(f"{value:.1f}" for value in values)
        + f"), spikes / {label} = {means['spikes'] / means[label]:.4f}"
        for label, values in final.items()
    ]


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    logging.getLogger("lda").setLevel(logging.WARNING)  # it reports every tenth sweep
    try:
        lines = compare(options)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
