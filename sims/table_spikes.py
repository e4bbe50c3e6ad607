"""The networks in spikes beside their rate-level twins and CGS, trained to convergence.

    python sims/table_spikes.py --corpora kos --networks all --seeds 3 --data-dir DATA --out results

Each network is trained with its default settings until it stops by itself (SpikeCGS: 200 sweeps),
in spikes and at rate level, over the same seeds; CGS for 200 sweeps with the smoothing of that
network. For each: held-out perplexity, passes,
seconds and CPU seconds of training, the simulator's included. "p equivalent" is the p-value of two
one-sided tests (`brian_lda.comparison.compare_perplexities`): small, the perplexities in spikes and
at rate level lie within the margin of each other, 1 % by default; "p different" small: they are not
the same. Three seeds of each are the least.

The numbers are written anew after every run, the figure at the end. A killed script goes on where
it was when it is started again: runs that are finished are not repeated, the one under way loses
some seconds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from brian_lda.algorithms import SPIKING, find_algorithm
from brian_lda.comparison import compare_perplexities
from brian_lda.plotting import PALETTE
from brian_lda.sweeps import SweepReport, Task, train_tasks
from brian_lda.sweeps.tables import mean_and_spread
from study.arguments import algorithm_among, algorithm_names, positive
from study.backend import add_simulator_option, in_backend
from study.script import Study, run_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALES = {  # corpora, K
    "tiny": (("reuters",), 5),
    "small": (("kos", "nips", "20ng"), 50),
    "paper": (("kos", "nips", "20ng"), 200),
}
ALL = "all"
ONLY_FINAL = 10**9  # iterations between two evaluations: no learning curve is drawn
FEWEST_RUNS = 3  # of the equivalence test
KINDS = ("spikes", "twin", "cgs")


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    known = algorithm_among(SPIKING)
    add(
        "--networks", nargs="+", default=[ALL], metavar="NAME",
        type=lambda text: text if text == ALL else known(text),
        help=f"all, or some of {algorithm_names(SPIKING)} (default: all)",
    )  # fmt: skip
    add("--topics", type=positive, metavar="K", help="instead of the scale's own")
    add("--twin-seeds", type=positive, metavar="N", help="runs at rate level; default: --seeds")
    add("--passes", type=positive, metavar="N", help="at most so many, converged or not")
    add(
        "--margin", type=float, default=0.01, metavar="SHARE",
        help="of the twin's perplexity, within which spikes count as equal (default: 0.01)",
    )  # fmt: skip
    add_simulator_option(parser)


def make(study: Study) -> None:
    options = study.options
    corpora, n_topics = SCALES[options.scale]
    n_topics = options.topics or n_topics
    chosen = [a.name for a in SPIKING if ALL in options.networks or a.name in options.networks]
    compare_perplexities([1.0], [1.0] * FEWEST_RUNS, relative_margin=options.margin)  # or refuse it
    places: dict[str, tuple[str, str, str]] = {}  # corpus, network, kind; by key of the run
    tasks: list[Task] = []
    for corpus in study.at_hand(corpora):
        for network in chosen:
            for kind, config in configs(options, corpus, network, n_topics, study.seeds):
                (task,) = train_tasks([config], options.data_dir, study.unfinished)
                places.setdefault(f"{task.key} {network}", (corpus, network, kind))
                tasks.append(task)
    parameters = {"n_topics": n_topics, "margin": options.margin, "passes": options.passes}

    def rows_of(report: SweepReport) -> list[dict[str, Any]]:
        return table(report, places, n_topics, options.margin)

    report = study.sweep(tasks, lambda report: study.write(rows_of(report), parameters))
    rows = rows_of(report)
    if rows:
        study.write(rows, parameters, draw(rows, options.margin))
    for row in rows:
        print(line(row))


def configs(
    options: argparse.Namespace, corpus: str, network: str, n_topics: int, seeds: Sequence[int]
) -> list[tuple[str, dict[str, Any]]]:
    """The runs of one line of the table, those that cost least first."""
    estimator = find_algorithm(network).load_estimator()()
    base = {"corpus": corpus, "n_topics": n_topics, "evaluate_every": ONLY_FINAL}
    word_prior = estimator.topic_word_prior
    cgs = {**base, "algorithm": "cgs", "word_prior": word_prior, "iterations": options.passes}
    own: dict[str, Any] = {**base, "algorithm": network, "options": {}}
    if options.passes is not None and hasattr(estimator, "max_passes"):
        own["options"] = {"max_passes": options.passes}
    elif options.passes is not None:
        own["iterations"] = options.passes  # of SpikeCGS, a sweep is a pass
    spikes = in_backend(own, "brian2", options.simulator)
    twin_seeds = range(options.twin_seeds or len(seeds))
    return [
        *(("cgs", {**cgs, "seed": seed}) for seed in seeds),
        *(("twin", {**own, "seed": seed}) for seed in twin_seeds),
        *(("spikes", {**spikes, "seed": seed}) for seed in seeds),
    ]


def table(
    report: SweepReport, places: dict[str, tuple[str, str, str]], n_topics: int, margin: float
) -> list[dict[str, Any]]:
    """The lines of which there is something to say by now."""
    found: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for place, (corpus, network, kind) in places.items():
        result = report.results.get(place.split()[0])
        if result is not None:
            runs = found.setdefault((corpus, network), {kind: [] for kind in KINDS})
            runs[kind].append(result)
    return [
        row(corpus, network, n_topics, runs, margin)
        for (corpus, network), runs in found.items()
        if runs["spikes"]
    ]


def row(
    corpus: str,
    network: str,
    n_topics: int,
    runs: dict[str, list[dict[str, Any]]],
    margin: float,
) -> dict[str, Any]:
    """One network on one corpus."""
    line: dict[str, Any] = {"corpus": corpus, "network": network, "K": n_topics, "margin": margin}
    for kind in KINDS:
        of_kind = runs[kind]
        line[f"{kind}_runs"] = len(of_kind)
        if not of_kind:
            continue
        perplexities = [run["perplexity"] for run in of_kind]
        line[f"{kind}_perplexity"], line[f"{kind}_perplexity_spread"] = mean_and_spread(
            perplexities
        )
        for name in ("passes", "seconds", "cpu_seconds"):
            line[f"{kind}_{name}"], _ = mean_and_spread([run[name] for run in of_kind])
        line[f"{kind}_converged"] = sum(
            (run["stopped"] or "").startswith("converged") for run in of_kind
        )
    spikes, twin = ([run["perplexity"] for run in runs[kind]] for kind in ("spikes", "twin"))
    if len(twin) >= FEWEST_RUNS:
        test = compare_perplexities(spikes, twin, relative_margin=margin)
        line |= {"ratio": test.ratio, "spread": test.spread}
        if len(spikes) >= FEWEST_RUNS:
            line |= {"p_equivalent": test.p_equivalent, "p_different": test.p_different}
    if runs["cgs"]:
        line["ratio_to_cgs"] = line["spikes_perplexity"] / line["cgs_perplexity"]
    return line


def line(row: dict[str, Any]) -> str:
    """A row as text."""
    cells = []
    for kind in KINDS:
        if row[f"{kind}_runs"]:
            cells.append(
                f"{kind} {row[f'{kind}_perplexity']:.1f} +- "
                f"{row[f'{kind}_perplexity_spread']:.1f} ({row[f'{kind}_runs']} runs, "
                f"{row[f'{kind}_passes']:.0f} passes, {row[f'{kind}_seconds']:.0f} s, "
                f"{row[f'{kind}_cpu_seconds']:.0f} s CPU)"
            )
    title = find_algorithm(row["network"]).title
    test = "too few runs for the test"
    if "p_equivalent" in row:
        test = (
            f"spikes / twin {row['ratio']:.4f}, p equivalent {row['p_equivalent']:.2g} "
            f"({100 * row['margin']:g} %), p different {row['p_different']:.2g}"
        )
    return f"{row['corpus']:8} {title:14} K = {row['K']:<4} {'; '.join(cells)}; {test}"


def draw(rows: list[dict[str, Any]], margin: float) -> Figure:
    """Perplexity over the twin's mean, mean and spread over seeds; the band is the margin."""
    from matplotlib import pyplot

    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    figure, axes = pyplot.subplots(
        1, len(corpora), figsize=(1.6 + 3.0 * len(corpora), 3.0), squeeze=False,
        layout="constrained", sharey=True,
    )  # fmt: skip
    networks = list(dict.fromkeys(row["network"] for row in rows))
    for corpus, ax in zip(corpora, axes[0], strict=True):
        ax.axvspan(1 / (1 + margin), 1 + margin, color="0.9", lw=0)
        ax.axvline(1.0, color="0.6", lw=0.8)
        for i, (kind, marker) in enumerate(zip(KINDS, "os^", strict=True)):
            shown = [r for r in rows if r["corpus"] == corpus and r["twin_runs"]]
            shown = [r for r in shown if r[f"{kind}_runs"]]
            twin = [r["twin_perplexity"] for r in shown]
            x = [r[f"{kind}_perplexity"] / t for r, t in zip(shown, twin, strict=True)]
            error = [r[f"{kind}_perplexity_spread"] / t for r, t in zip(shown, twin, strict=True)]
            y = [networks.index(r["network"]) + 0.2 * (i - 1) for r in shown]
            label = {"spikes": "in spikes", "twin": "rate level", "cgs": "CGS"}[kind]
            ax.errorbar(
                x, y, xerr=error, fmt=marker, ms=5, capsize=3, color=PALETTE[i], label=label
            )
        ax.set_yticks(range(len(networks)), [find_algorithm(name).title for name in networks])
        ax.set_title(f"{corpus.upper()}, K = {rows[0]['K']}", fontsize=9)
        ax.set_xlabel("perplexity / rate level", fontsize=8)
        ax.locator_params(axis="x", nbins=5)  # more would run into each other
        ax.tick_params(labelsize=7)
    axes[0, 0].invert_yaxis()
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
        frameon=False, fontsize=8,
    )  # fmt: skip
    return figure


def main(arguments: list[str] | None = None) -> int:
    return run_study("table_spikes", __doc__, make, arguments, add_options=add_options)


if __name__ == "__main__":
    sys.exit(main())
