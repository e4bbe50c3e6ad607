"""A first look, in about a minute and offline: a spiking network learns topics.

    python sims/quickstart.py                       (figures go to quickstart/)
    python sims/quickstart.py --simulator numpy     (no compiler needed; a smaller corpus)

First ed-SpikeLDA in spikes on `bars`, a corpus of images whose topics are known, beside its
rate-level twin; then semi-SpikeLDA at rate level on the news stories of `reuters`.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from tqdm import tqdm

from brian_lda import SemiSpikeLDA
from brian_lda.corpus import HoldoutSplit, holdout_split, load_corpus
from brian_lda.errors import BrianLDAError
from brian_lda.estimators import ProgressBar, TrackPerplexity
from brian_lda.estimators.comparison import TwinComparison, train_twins
from brian_lda.estimators.trainers import softmax_rows
from brian_lda.evaluation import match_topics
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters
from brian_lda.plotting import (
    PALETTE,
    column_style,
    plot_curves,
    plot_raster,
    plot_topic_images,
    plot_topic_words,
)
from brian_lda.reference.mean_limit import zeta
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.simulation.replay import replay_tokens
from brian_lda.simulation.standalone import compiler_found
from brian_lda.step_rules import RobbinsMonro
from study.arguments import whole

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402 (the backend comes first)


@dataclass(frozen=True)
class Task:
    """Bars that a network learns within a minute; the steps were found by trying."""

    grid: int
    n_docs: int
    doc_length: int
    n_passes: int
    alpha: float
    word_step: float
    doc_step: float
    snapshots: tuple[int, ...]  # passes


COMPILED = Task(5, 1000, 60, 60, 0.3, 0.0003, 0.02, (1, 5, 10, 20, 60))
IN_PYTHON = Task(3, 100, 40, 8, 0.2, 0.01, 0.06, (1, 2, 4, 6, 8))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--out", type=Path, default=Path("quickstart"), help="folder of the figures")
    add("--simulator", choices=("standalone", "cython", "numpy"), default="standalone")
    add("--seed", type=whole, default=0)
    add("--quiet", action="store_true", help="only the last lines")
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    logging.basicConfig(format="%(message)s")
    if not options.quiet:  # the library says when it compiles, which takes a while
        logging.getLogger("brian_lda").setLevel(logging.INFO)
    if options.simulator == "standalone" and not compiler_found():
        print("No C++ compiler found: the network runs inside Python, slower, on smaller images.")
        options.simulator = "numpy"
    say = (lambda text: None) if options.quiet else print
    started = time.perf_counter()
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        with column_style():
            bars_in_spikes(options, say)
            topics_of_reuters(options, say)
    except (BrianLDAError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\ninterrupted; figures made so far are in {options.out}", file=sys.stderr)
        return 130
    print(f"\nThe figures are in {options.out} ({time.perf_counter() - started:.0f} s):")
    for name, meaning in FIGURES.items():
        print(f"  {name:22s} {meaning}")
    print(NEXT)
    return 0


FIGURES = {
    "receptive_fields.png": "what each topic neuron listens to, as it learns",
    "raster.png": "the last tokens: words, documents and the topics that won",
    "manifold.png": "zeta of both layers falling onto the manifold of the theorem",
    "perplexity.png": "the spiking network beside its rate-level twin",
    "reuters_topics.png": "topics of the news stories",
}
NEXT = """
What to try next:
  python sims/train.py --corpus FOLDER_OF_TXT_FILES        topics of your own texts
  python sims/train.py --algorithm ed-spike-lda --backend brian2 --corpus bars --topics 10
  python -m brian_lda report RUNDIR                        a page about that run
  python -m brian_lda                                      corpora, algorithms, scripts"""


def bars_in_spikes(options: argparse.Namespace, say) -> None:
    task = IN_PYTHON if options.simulator == "numpy" else COMPILED
    corpus = load_corpus(
        "bars", grid=task.grid, n_docs=task.n_docs, doc_length=task.doc_length, alpha=task.alpha
    )
    split = holdout_split(corpus, seed=0)
    n_topics = 2 * task.grid
    parameters = EventDrivenParameters(
        n_topics,
        1.1,
        RobbinsMonro(task.word_step, power=0.0),
        RobbinsMonro(task.doc_step, power=0.0),
    )
    say(
        f"1. Bars: {task.n_docs} images of {task.grid} x {task.grid} pixels, each a mixture of "
        f"some of {n_topics} rows and columns.\n   ed-SpikeLDA sees one pixel at a time and learns "
        f"from spikes alone ({options.simulator})."
    )
    sizes = (parameters, split.train.n_words, split.train.doc_lengths)
    start = initial_state(*sizes, options.seed)
    snapshots = {0: softmax_rows(start["M__alpha"])}
    if options.simulator == "standalone":  # compile before the bar starts to count time
        EventDrivenSpiking(*sizes, seed=options.seed).prepare()
    with tqdm(total=task.n_passes, unit="pass", disable=options.quiet) as bar:

        def on_pass(number: int, comparison: TwinComparison) -> None:
            if number in task.snapshots:
                snapshots[number] = comparison.phi["spiking"]
            bar.set_postfix(perplexity=f"{comparison.perplexity['spiking'][-1]:.2f}")
            bar.update()

        comparison, network = train_twins(
            split,
            parameters,
            task.n_passes,
            seed=options.seed,
            simulator=options.simulator,
            on_pass=on_pass,
        )
    match = match_topics(corpus.true_phi, comparison.phi["spiking"])
    say(
        f"   topics against the true bars: cosine {match.cosine.mean():.3f} on average\n"
        f"   perplexity {comparison.perplexity['spiking'][-1]:.2f} in spikes, "
        f"{comparison.perplexity['rate'][-1]:.2f} at rate level; winners follow one law: "
        f"p = {comparison.winner_p:.2f}"
    )
    draw_receptive_fields(snapshots, match.other, options.out)
    draw_curves(comparison, start, parameters.kappa, options.out)
    draw_raster(network, split, comparison, options)


def draw_receptive_fields(snapshots: dict[int, np.ndarray], order: np.ndarray, out: Path) -> None:
    """A row per snapshot; a column is one neuron, sorted by the bar that it will find."""
    figure, axes = plt.subplots(len(snapshots), 1, figsize=(3.3, 2.4), layout="constrained")
    for ax, (number, phi) in zip(axes, snapshots.items(), strict=True):
        plot_topic_images(phi[order], ax, n_columns=len(order))
        text = "start" if number == 0 else f"pass {number}"
        ax.text(-0.02, 0.5, text, transform=ax.transAxes, ha="right", va="center")
    save(figure, out / "receptive_fields.png")


def draw_curves(comparison: TwinComparison, start: dict, kappa: float, out: Path) -> None:
    figure, ax = plt.subplots(figsize=(3.3, 2.4), layout="constrained")
    plot_curves(comparison.perplexity, ax, ylabel="held-out perplexity")
    save(figure, out / "perplexity.png")
    figure, ax = plt.subplots(figsize=(3.3, 2.4), layout="constrained")
    curves = {
        r"topics: $\zeta(M^\alpha_z)$": [
            zeta(start["M__alpha"]).mean(),
            *comparison.zeta__alpha["spiking"],
        ],
        r"documents: $\zeta(M^\beta_d)/\kappa$": [
            zeta(start["M__beta"]).mean() / kappa,
            *comparison.zeta__beta["spiking"],
        ],
    }
    shown = {name: values[:13] for name, values in curves.items()}  # it is over soon
    plot_curves(shown, ax, ylabel=r"$\zeta$ / its value on the manifold", reference=1, start=0)
    ax.set_yscale("log")
    save(figure, out / "manifold.png")


def draw_raster(
    network: EventDrivenSpiking,
    split: HoldoutSplit,
    comparison: TwinComparison,
    options: argparse.Namespace,
) -> None:
    """The last 24 tokens once more, in clocked time, with the trained weights."""
    phi, theta = softmax_rows(network.M__alpha), softmax_rows(network.M__beta)
    words, docs = comparison.words[-24:], comparison.docs[-24:]
    spikes = replay_tokens(phi, theta, words, docs, seed=options.seed)
    for layer in (spikes.index, spikes.time):
        del layer["document"]  # almost every token has another one
    figure, ax = plt.subplots(figsize=(3.3, 3.6), layout="constrained")
    plot_raster(spikes, split.train.vocabulary, ax)
    save(figure, options.out / "raster.png")


def topics_of_reuters(options: argparse.Namespace, say) -> None:
    say("2. Reuters: 395 news stories, semi-SpikeLDA at rate level.")
    train, observed, heldout = holdout_split(load_corpus("reuters"), seed=0)
    bar = ProgressBar(disable=options.quiet)
    model = SemiSpikeLDA(
        n_topics=20,
        max_iter=200,
        random_state=options.seed,
        callbacks=[TrackPerplexity(observed, heldout, every=50), bar],
    )
    model.fit(train)
    bar.close()
    for z, words in enumerate(model.top_words(8)):
        say(f"   topic {z:2d}  {' '.join(words)}")
    say(f"   held-out perplexity {model.perplexity(observed, heldout):.0f}")
    figure, axes = plt.subplots(3, 2, figsize=(3.3, 4.6), layout="constrained")
    largest = np.argsort(-model.transform(train).sum(axis=0))[: axes.size]
    for ax, z, colour in zip(axes.flat, largest, PALETTE, strict=False):
        plot_topic_words(model.components_[z], model.vocabulary_, ax, n=7, colour=colour)
        ax.set_title(f"topic {z}")
        if ax not in axes[-1]:
            ax.set_xlabel("")
    save(figure, options.out / "reuters_topics.png")


def save(figure: plt.Figure, path: Path) -> None:
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
