"""A network in spikes beside its rate-level twin: do they agree?

    python sims/compare_twins.py --algorithm ed-spike-lda --topics 20 --iterations 10 --out ed
    python sims/compare_twins.py --algorithm spike-cgs --topics 20 --iterations 100 --out cgs
    python sims/compare_twins.py --algorithm semi-spike-lda --corpus kos --data-dir DATA \
        --topics 50 --iterations 100 --seeds 1 --out semi

`brian_lda.compare_twins` from the command line. SpikeCGS is also compared with the sampler of the
package `lda`, an independent implementation of collapsed Gibbs sampling. Writes `comparison.png`
(perplexity, zeta, matched topics, winner law), `perplexity.csv` and `comparison.json` into a new
folder, and prints the verdict with what it rests on.
"""

from __future__ import annotations

import argparse
import csv
import logging
import sys
from pathlib import Path
from typing import Any

import lda
import matplotlib
import numpy as np

from brian_lda import TopicModel, compare_twins, heldout_perplexity
from brian_lda.algorithms import SPIKING, find_algorithm
from brian_lda.comparison import TwinComparison
from brian_lda.corpus import HoldoutSplit, holdout_split, load_corpus
from brian_lda.errors import BrianLDAError
from brian_lda.files.json_files import write_json
from brian_lda.runs import RunConfig, make_model, new_run_folder, versions
from study.arguments import algorithm_among, algorithm_names, positive, whole
from study.backend import add_simulator_option

matplotlib.use("Agg")


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--algorithm",
        type=algorithm_among(SPIKING),
        default="ed-spike-lda",
        metavar="NAME",
        help=f"{algorithm_names(SPIKING)}; default: ed-spike-lda",
    )
    parser.add_argument("--corpus", default="reuters", help="name or path (default: reuters)")
    parser.add_argument("--data-dir", help="folder that holds named corpora")
    parser.add_argument("--topics", type=positive, default=20, help="K")
    parser.add_argument("--prior", type=float, help="lambda; default: the estimator's")
    parser.add_argument(
        "--iterations", type=positive, default=10, help="passes, sweeps or mini-batch updates"
    )
    parser.add_argument("--seeds", type=positive, default=5, help="runs in spikes")
    parser.add_argument("--twin-seeds", type=positive, default=20, help="runs at rate level")
    parser.add_argument("--first-seed", type=whole, default=0)
    parser.add_argument("--every", type=positive, help="iterations between two evaluations")
    parser.add_argument("--law-tokens", type=positive, default=5000, help="races of the winner law")
    add_simulator_option(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder to create")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    logging.getLogger("lda").setLevel(logging.WARNING)  # it reports every tenth sweep
    try:
        print("\n".join(compare(options)))
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def compare(options: argparse.Namespace) -> list[str]:
    """Train everything, write the folder, return the lines to print."""
    model = model_of(options)
    model._check_parameters()  # before a folder is made
    split = holdout_split(load_corpus(options.corpus, data_dir=options.data_dir), seed=0)
    out = new_run_folder(options.out)
    comparison = compare_twins(
        model,
        split,
        seeds=options.seeds,
        twin_seeds=options.twin_seeds,
        every=options.every,
        law_tokens=options.law_tokens,
        progress=not options.quiet,
    )
    lines = [str(comparison)]
    others: dict[str, list[float]] = {}
    if options.algorithm == "spike_cgs":  # the same sampler, by others
        seeds = range(options.first_seed, options.first_seed + options.seeds)
        others["package lda"] = [independent_sampler(options, split, model, s) for s in seeds]
        ratio = mean(comparison.perplexity["spikes"][:, -1]) / mean(others["package lda"])
        lines.append(
            f"  package lda  perplexity {mean(others['package lda']):.1f}: spikes / package lda = "
            f"{ratio:.4f}"
        )
    write(out, options, comparison, others)
    return [*lines, f"The figure is {out / 'comparison.png'}"]


def model_of(options: argparse.Namespace) -> TopicModel:
    """The estimator, not yet fitted."""
    config = RunConfig(
        algorithm=options.algorithm,
        backend="brian2",
        n_topics=options.topics,
        prior=options.prior,
        iterations=options.iterations,
        seed=options.first_seed,
        options={"brian2_options": {"simulator": options.simulator}},
    )
    return make_model(config)


def independent_sampler(
    options: argparse.Namespace, split: HoldoutSplit, model: Any, seed: int
) -> float:
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


def write(
    out: Path,
    options: argparse.Namespace,
    comparison: TwinComparison,
    others: dict[str, list[float]],
) -> None:
    """The figure, the curves as a table, and every number."""
    comparison.plot().savefig(out / "comparison.png", dpi=150)
    unit = find_algorithm(options.algorithm).iteration
    with (out / "perplexity.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["twin", "seed", unit, "perplexity"])
        for label, runs in comparison.perplexity.items():
            for seed, run in enumerate(runs, start=options.first_seed):
                points = zip(comparison.iterations, run, strict=True)
                writer.writerows([label, seed, *point] for point in points)
    final = {label: runs[:, -1].tolist() for label, runs in comparison.perplexity.items()}
    write_json(
        out / "comparison.json",
        {
            "options": {key: str(value) for key, value in vars(options).items()},
            "verdict": comparison.verdict,
            "final_perplexity": {**final, **others},
            "equivalence": vars(comparison.equivalence),
            "winner_p": comparison.winner_p,
            "winner_law": [
                {"name": law.name, "races": law.n_tokens, "p": law.p, "topics": law.p_topics,
                 "surprise": law.p_surprise, "stay": law.p_stay}
                for law in comparison.laws
            ],
            "zeta__alpha": {k: v[:, -1].tolist() for k, v in comparison.zeta__alpha.items()},
            "zeta__beta": {k: v[:, -1].tolist() for k, v in comparison.zeta__beta.items()},
            "cosine": comparison.match.cosine.tolist(),
            "cosine_of_twins": comparison.match_of_twins.cosine.tolist(),
            "versions": versions(),
        },
    )  # fmt: skip


def mean(values: Any) -> float:
    """Geometric: perplexities are exponentials."""
    return float(np.exp(np.mean(np.log(values))))


if __name__ == "__main__":
    sys.exit(main())
