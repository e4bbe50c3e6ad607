"""What chips take away: quality against weight bits, lost packets and dead synapses.

    python sims/figure_constraints.py --data-dir DATA --out results

ed-SpikeLDA in spikes (reuters) and at rate level (KOS): held-out perplexity; at rate level on 20
Newsgroups: accuracy of a linear SVM on theta, 20 classes, by-date split. One row of the figure for
each corpus, one column for each limit; mean and spread over the seeds (three by default), the
dashed line with its band is the network without the limit. Topics sit on 4 chips, in index order,
for the lost packets. What is compared are networks with and without a limit, after the same
training (see SCALES): perplexities have not converged by then, the accuracy has.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.plotting import PALETTE
from brian_lda.runs import RunConfig
from brian_lda.sweeps import Task
from brian_lda.sweeps.experiments import CLASSIFY
from brian_lda.sweeps.tables import mean_and_spread
from study.backend import LABELS, add_backend_options
from study.script import Study, run_study

N_CHIPS = 4
# Without limits (20NG, K = 50, seed 0, test documents) accuracy is 61.4 % after 10 passes, 64.2
# after 20, 66.9 after 30, 68.6 after 40, 69.0 after 60, 68.5 after 80, 69.7 after 100: it has
# settled to about a point.
ACCURATE_PASSES = 40
LIMITS = {  # field of `Constraints`: what the axis says
    "weight_bits": "bits of a weight",
    "packet_loss": "lost packets / %",
    "dead_synapses": "dead synapses / %",
}


@dataclass(frozen=True)
class Panel:
    """One row of the figure."""

    corpus: str
    backend: str
    n_topics: int
    passes: int
    measure: str = "perplexity"


@dataclass(frozen=True)
class Scale:
    panels: tuple[Panel, ...]
    weight_bits: tuple[int, ...] = (4, 5, 6, 8, 10, 12, 16)
    packet_loss: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2)
    dead_synapses: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2)


SCALES = {
    "tiny": Scale(
        (Panel("reuters", "rate", 4, 1), Panel("synthetic", "rate", 10, 2, "accuracy")),
        weight_bits=(4, 16), packet_loss=(0.2,), dead_synapses=(0.2,),
    ),
    "small": Scale(
        (
            Panel("reuters", "brian2", 20, 20),
            Panel("kos", "rate", 50, 30),
            Panel("20ng", "rate", 50, ACCURATE_PASSES, "accuracy"),
        )
    ),
    "paper": Scale(
        (
            Panel("reuters", "brian2", 20, 100),
            Panel("kos", "rate", 50, 100),
            Panel("20ng", "rate", 100, 100, "accuracy"),
        )
    ),
}  # fmt: skip


def task(study: Study, panel: Panel, limits: dict[str, Any], seed: int) -> Task:
    """One network with these limits."""
    if "packet_loss" in limits:
        chips = np.arange(panel.n_topics) * N_CHIPS // panel.n_topics
        limits = {**limits, "chip_of_topic": chips.tolist()}
    # A network without limits runs by the same kernel as one with: exact weights, nobody deaf.
    config = RunConfig(
        algorithm="ed_spike_lda",
        corpus=panel.corpus,
        n_topics=panel.n_topics,
        iterations=panel.passes,
        seed=seed,
        evaluate_every=panel.passes,
        options={"constraints": limits},
    )
    fields = asdict(config)
    del fields["data_dir"]
    if panel.measure == "perplexity":
        return study.task(fields, backend=panel.backend)
    for name in ("split_seed", "evaluate_every", "word_prior"):
        del fields[name]
    return study.task({**fields, "judged_on": "test"}, CLASSIFY, panel.backend)


def measured(panel: Panel, result: dict[str, Any]) -> float:
    if panel.measure == "accuracy":
        return result["accuracy_fold_in"]
    return result["perplexity"]


def make(study: Study) -> None:
    scale = SCALES[study.options.scale]
    at_hand = study.at_hand([panel.corpus for panel in scale.panels])
    panels = [panel for panel in scale.panels if panel.corpus in at_hand]
    if study.backend is not None:
        panels = [replace(panel, backend=study.backend) for panel in panels]
    if not panels:
        raise ParameterError(
            f"no panel is left to make: at scale {study.options.scale} there are "
            f"{', '.join(panel.corpus for panel in scale.panels)}; at hand of those asked for: "
            f"{', '.join(at_hand) or 'none'}."
        )
    places = []
    for panel in panels:
        points: list[tuple[str, float | None]] = [("none", None)]
        points += [(limit, value) for limit in LIMITS for value in getattr(scale, limit)]
        for limit, value in points:
            for seed in study.seeds:
                limits = {} if value is None else {limit: value}
                places.append((panel, limit, value, task(study, panel, limits, seed)))
    report = study.sweep([place[-1] for place in places])
    values: dict[tuple[Panel, str, float | None], list[float]] = {}
    for panel, limit, value, run in places:
        if run.key in report.results:
            found = measured(panel, report.results[run.key])
            values.setdefault((panel, limit, value), []).append(found)
    rows = []
    for (panel, limit, value), found in values.items():
        mean, spread = mean_and_spread(found)
        rows.append(
            {
                "corpus": panel.corpus, "backend": panel.backend, "K": panel.n_topics,
                "passes": panel.passes, "measure": panel.measure, "limit": limit, "value": value,
                "n_runs": len(found), "mean": mean, "spread": spread,
            }
        )  # fmt: skip
        print(
            f"{panel.corpus:10} {panel.backend:7} {limit:14} {value!s:6} {mean:9.2f} ± {spread:.2f}"
            f" ({len(found)} runs)"
        )
    if rows:
        study.write(rows, asdict(scale), draw(rows, panels))


def draw(rows: list[dict[str, Any]], panels: list[Panel]):
    """A row of panels per corpus, a column per limit."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(panels), len(LIMITS), figsize=(7.5, 0.6 + 2.1 * len(panels)), sharey="row",
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for i, panel in enumerate(panels):
        own = [row for row in rows if row["corpus"] == panel.corpus]
        without = next((row for row in own if row["limit"] == "none"), None)
        for j, (limit, label) in enumerate(LIMITS.items()):
            ax = axes[i, j]
            points = [row for row in own if row["limit"] == limit]
            percent = 1.0 if limit == "weight_bits" else 100.0
            x = [percent * row["value"] for row in points]
            means, spreads = [[row[key] for row in points] for key in ("mean", "spread")]
            ax.errorbar(x, means, spreads, color=PALETTE[j], marker="os^"[j], ms=4, capsize=2)
            if without is not None:
                mean, spread = without["mean"], without["spread"]
                ax.axhline(mean, color="0.4", ls="--", lw=1)
                ax.axhspan(mean - spread, mean + spread, color="0.4", alpha=0.15, lw=0)
            ax.set_xlabel(label, fontsize=8)
            ax.tick_params(labelsize=7)
        name = "perplexity" if panel.measure == "perplexity" else "accuracy / %"
        axes[i, 0].set_ylabel(name, fontsize=8)
        where = LABELS[panel.backend]
        title = f"{panel.corpus}, K = {panel.n_topics}, {where}, {panel.passes} passes"
        axes[i, 0].set_title(title, fontsize=8, loc="left")
    return figure


def main(arguments: list[str] | None = None) -> int:
    return run_study(
        "figure_constraints", __doc__, make, arguments, add_options=add_backend_options
    )


if __name__ == "__main__":
    sys.exit(main())
