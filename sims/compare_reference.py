"""Train a spiking network and its rate-level twin side by side and say whether they agree.

    python sims/compare_reference.py --corpus reuters --topics 20 --passes 10 --out comparison

Both start from the same initial weights and see the same tokens in the same order; each draws its
own winners. Writes `comparison.png` (perplexity, zeta, matched topics), `raster.png` (the last
tokens in clocked time) and `comparison.json` into a new folder and prints one verdict line.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import matplotlib
from tqdm import tqdm

from brian_lda.automatic_steps import WORD_PRIOR, event_doc_step, event_word_step
from brian_lda.circuit.inhibition import Poisson
from brian_lda.corpus import Corpus, holdout_split, load_corpus
from brian_lda.errors import BrianLDAError
from brian_lda.estimators.comparison import TwinComparison, train_twins
from brian_lda.parameters import EventDrivenParameters
from brian_lda.plotting import (
    plot_curves,
    plot_matched_topics,
    plot_topic_raster,
    plot_word_raster,
)
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.simulation.recording import Recording
from study.arguments import positive, whole

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402 (the backend comes first)


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="reuters", help="name or path (default: reuters)")
    parser.add_argument("--data-dir", help="folder that holds named corpora")
    parser.add_argument("--model", choices=("lda", "plsi"), default="lda")
    parser.add_argument("--topics", type=positive, default=20, help="K")
    parser.add_argument("--doc-topic-prior", type=float, default=1.1, help="lambda > 1 (LDA only)")
    parser.add_argument("--passes", type=positive, default=10)
    parser.add_argument("--seed", type=whole, default=0)
    parser.add_argument(
        "--simulator", choices=("standalone", "cython", "numpy"), default="standalone"
    )
    parser.add_argument(
        "--tolerance", type=float, default=0.02, help="allowed difference of the perplexities"
    )
    parser.add_argument("--raster-tokens", type=whole, default=30)
    parser.add_argument("--out", type=Path, required=True, help="folder to create")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        options.out.mkdir(parents=True)
    except FileExistsError:
        print(f"error: {options.out} exists; name a new folder with --out.", file=sys.stderr)
        return 2
    try:
        comparison = compare(options)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(comparison.verdict(options.tolerance))
    return 0


def compare(options: argparse.Namespace) -> TwinComparison:
    corpus = load_corpus(options.corpus, data_dir=options.data_dir)
    split = holdout_split(corpus, seed=options.seed)
    train = split.train
    varphi = WORD_PRIOR if options.model == "lda" else 0.0  # pLSI has no prior
    sizes = options.topics, train.n_words, train.n_tokens
    parameters = EventDrivenParameters(
        options.topics,
        options.doc_topic_prior if options.model == "lda" else None,
        event_word_step(*sizes, smoothed=varphi > 0),
        event_doc_step(train.n_tokens / train.n_docs, smoothed=varphi > 0),
        topic_word_prior=varphi,
    )
    with tqdm(total=options.passes, unit="pass") as bar:

        def on_pass(number: int, comparison: TwinComparison) -> None:
            latest = {name: f"{curve[-1]:.0f}" for name, curve in comparison.perplexity.items()}
            bar.set_postfix(latest)
            bar.update()

        comparison, spiking = train_twins(
            split,
            parameters,
            options.passes,
            seed=options.seed,
            simulator=options.simulator,
            on_pass=on_pass,
        )
    save_comparison(comparison, options)
    save_raster(spiking, comparison, train, options)
    return comparison


def save_comparison(comparison: TwinComparison, options: argparse.Namespace) -> None:
    figure, axes = plt.subplots(1, 4, figsize=(16, 3.6), layout="constrained")
    plot_curves(comparison.perplexity, axes[0], ylabel="held-out perplexity")
    plot_curves(comparison.zeta__alpha, axes[1], ylabel=r"mean $\zeta(M^\alpha_z)$", reference=1)
    axes[1].set_yscale("log")
    plot_curves(
        comparison.zeta__beta, axes[2], ylabel=r"mean $\zeta(M^\beta_d)/\kappa$", reference=1
    )
    plot_matched_topics(comparison.match.cosine, axes[3])
    figure.suptitle(f"{options.corpus}, K = {options.topics}, {options.model}")
    figure.savefig(options.out / "comparison.png", dpi=150)
    plt.close(figure)
    record = {
        "options": {key: str(value) for key, value in vars(options).items()},
        "perplexity": comparison.perplexity,
        "zeta__alpha": comparison.zeta__alpha,
        "zeta__beta": comparison.zeta__beta,
        "cosine": comparison.match.cosine.tolist(),
        "winner_p": comparison.winner_p,
        "verdict": comparison.verdict(options.tolerance),
    }
    (options.out / "comparison.json").write_text(json.dumps(record, indent=1))


def save_raster(
    spiking: EventDrivenSpiking,
    comparison: TwinComparison,
    train: Corpus,
    options: argparse.Namespace,
) -> None:
    """The last tokens of the training once more, in clocked time, with the trained weights."""
    last = slice(-options.raster_tokens, None)
    clocked = EventDrivenSpiking(
        spiking.parameters,
        train.n_words,
        train.doc_lengths,
        seed=options.seed,
        initial=spiking.state(),
        inhibition=Poisson(rate=200.0, normalised=True),
        simulator="numpy",
    )
    record = Recording(("word", "attempt"))
    clocked.present(comparison.words[last], comparison.docs[last], record=record)
    figure, axes = plt.subplots(2, 1, figsize=(12, 8), sharex=True, layout="constrained")
    plot_word_raster(clocked.spikes, train.vocabulary, axes[0])
    plot_topic_raster(clocked.spikes, axes[1])
    axes[0].set_xlabel("")
    figure.savefig(options.out / "raster.png", dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
