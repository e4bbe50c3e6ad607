"""Algorithms side by side: final perplexity against lambda, perplexity against iterations.

The two kinds of perplexity figure in the paper (Sec. 4), for any corpora and algorithms. Both take
the same runs, so that scripts which share a folder do not repeat them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from brian_lda.algorithms import find_algorithm
from brian_lda.plotting import PALETTE, plot_learning_curves
from brian_lda.sweeps.tables import mean_and_spread
from brian_lda.sweeps.task import Task
from study.backend import LABELS, backend_label
from study.priors import prior_of
from study.script import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PERPLEXITY = "held-out perplexity"
MARKERS = "os^vDPX"


@dataclass(frozen=True)
class Variant:
    """A line of a figure: an algorithm with everything but lambda and the seed.

    Attributes
    ----------
    algorithm : str
        A name of `brian_lda.algorithms`.
    iterations : int
    word_prior : float, optional
    options : dict
        Further arguments of the estimator, see `RunConfig`.
    note : str
        Tells this line from another of the same algorithm.
    """

    algorithm: str
    iterations: int
    word_prior: float | None = None
    options: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def label(self) -> str:
        """In the legend and in the table."""
        title = find_algorithm(self.algorithm).title
        return f"{title}, {self.note}" if self.note else title

    @property
    def has_prior(self) -> bool:
        """Whether there is a lambda to vary."""
        return prior_of(self.algorithm, 0.1) is not None


@dataclass(frozen=True)
class Setting:
    """What a figure shows at one scale.

    Attributes
    ----------
    n_topics : int
    lamdas : tuple of float
        As for a collapsed sampler; MAP algorithms get 1 + lambda, VI 0.5 + lambda.
    variants : mapping of str to tuple of Variant
        By corpus.
    iteration : str
        What an iteration is, for the axis.
    convergence_lamda : float
        The one lambda of the convergence figure; not chosen by its result.
    """

    n_topics: int
    lamdas: tuple[float, ...]
    variants: Mapping[str, tuple[Variant, ...]]
    iteration: str
    convergence_lamda: float = 0.1

    def variants_of(self, corpus: str) -> tuple[Variant, ...]:
        """A corpus of the user's own (--corpora) is treated like the first one of the scale."""
        return self.variants.get(corpus, next(iter(self.variants.values())))


Runs = dict[tuple[str, str, float | None], list[dict[str, Any]]]  # by corpus, label, lambda


def prior_figure(study: Study, setting: Setting) -> None:
    """Final perplexity against lambda, one panel per corpus; error bars span mean +- spread."""
    corpora, runs = _runs(study, setting, setting.lamdas)
    if not corpora:
        return
    rows = _rows(runs)
    figure, panels = _panels(corpora)
    for corpus, ax in zip(corpora, panels, strict=True):
        _plot_priors([row for row in rows if row["corpus"] == corpus], ax)
        _label(ax, study, corpus, setting, "final perplexity")
        ax.set_xlabel(_lambda_label(setting.variants_of(corpus)), fontsize=7)
    _legend(figure, panels)
    study.write(rows, asdict(setting), figure)
    _print(rows)


def _lambda_label(variants: Sequence[Variant]) -> str:
    """The axis, with what each algorithm makes of lambda."""
    titles: dict[float, dict[str, None]] = {}
    for variant in variants:
        algorithm = find_algorithm(variant.algorithm)
        if algorithm.prior_offset is not None:
            titles.setdefault(algorithm.prior_offset, {})[algorithm.title] = None
    rules = [
        f"{', '.join(names)}: {f'{offset:g} + ' if offset else ''}λ"
        for offset, names in sorted(titles.items())
    ]
    return f"λ  ({'; '.join(rules)})"


def convergence_figure(study: Study, setting: Setting) -> None:
    """Perplexity against iterations at one lambda; bands from the lowest to the highest run."""
    corpora, runs = _runs(study, setting, (setting.convergence_lamda,))
    if not corpora:
        return
    figure, panels = _panels(corpora)
    rows = []
    for corpus, ax in zip(corpora, panels, strict=True):
        curves, at = {}, {}
        for (name, label, lamda), results in runs.items():
            if name != corpus:
                continue
            curves[label] = np.array([[r["perplexity"] for r in run["history"]] for run in results])
            at[label] = np.array([r["iteration"] for r in results[0]["history"]])
            for i, iteration in enumerate(at[label]):
                mean, spread = mean_and_spread(curves[label][:, i])
                rows.append(
                    {
                        "corpus": corpus, "variant": label, "backend": _backend(results),
                        "lamda": lamda, "iteration": int(iteration), "n_runs": len(results),
                        "perplexity": mean, "perplexity_spread": spread,
                    }
                )  # fmt: skip
        plot_learning_curves(curves, ax, x=at, xlabel=setting.iteration, ylabel=PERPLEXITY)
        _label(ax, study, corpus, setting, f"λ = {setting.convergence_lamda:g}")
        _log_axis(ax, "x")
    _legend(figure, panels)
    study.write(rows, asdict(setting), figure)
    _print(_rows(runs))


def _runs(study: Study, setting: Setting, lamdas: Sequence[float]) -> tuple[list[str], Runs]:
    """All runs of the figure, by what distinguishes them but the seed."""
    corpora = study.at_hand(setting.variants)
    places: list[tuple[tuple[str, str, float | None], Task]] = []
    for corpus in corpora:
        for variant in setting.variants_of(corpus):
            for lamda in lamdas if variant.has_prior else (None,):
                for seed in study.seeds:
                    task = study.task(_config(setting, variant, corpus, lamda, seed))
                    places.append(((corpus, variant.label, lamda), task))
    report = study.sweep([task for _, task in places])
    runs: Runs = {}
    for place, task in places:
        if task.key in report.results:
            runs.setdefault(place, []).append(report.results[task.key])
    return corpora, runs


def _config(
    setting: Setting, variant: Variant, corpus: str, lamda: float | None, seed: int
) -> dict[str, Any]:
    return {
        "algorithm": variant.algorithm,
        "corpus": corpus,
        "n_topics": setting.n_topics,
        "prior": prior_of(variant.algorithm, lamda),
        "word_prior": variant.word_prior,
        "iterations": variant.iterations,
        "evaluate_every": max(variant.iterations // 20, 1),
        "seed": seed,
        "options": variant.options,
    }


def _rows(runs: Runs) -> list[dict[str, Any]]:
    rows = []
    for (corpus, label, lamda), results in runs.items():
        row: dict[str, Any] = {
            "corpus": corpus, "variant": label, "backend": _backend(results), "lamda": lamda,
            "n_runs": len(results),
        }  # fmt: skip
        for name in ("perplexity", "perplexity_one_sample", "seconds"):
            row[name], row[f"{name}_spread"] = mean_and_spread([run[name] for run in results])
        row["floor_tokens"] = max(run["floor_tokens"] for run in results)
        row["iterations"] = results[0]["iterations"]
        rows.append(row)
    return rows


def _backend(results: Sequence[Mapping[str, Any]]) -> str:
    return backend_label(results[0]["algorithm"], results[0]["backend"])


def _plot_priors(rows: Sequence[Mapping[str, Any]], ax: Axes) -> None:
    for i, label in enumerate(dict.fromkeys(row["variant"] for row in rows)):
        line = [row for row in rows if row["variant"] == label]
        y = np.array([row["perplexity"] for row in line])
        spread = np.array([row["perplexity_spread"] for row in line])
        style = {"color": PALETTE[i % len(PALETTE)], "label": label}
        if line[0]["lamda"] is None:  # ed-SpikePLSI has no lambda to tune
            ax.axhline(y[0], linestyle="--", linewidth=1.2, **style)
            ax.axhspan(y[0] - spread[0], y[0] + spread[0], color=style["color"], alpha=0.15, lw=0)
        else:
            marker = MARKERS[i % len(MARKERS)]
            x = [row["lamda"] for row in line]
            ax.errorbar(x, y, spread, marker=marker, ms=4, lw=1.2, capsize=3, **style)
    ax.set_xscale("log")
    lamdas = sorted({row["lamda"] for row in rows if row["lamda"] is not None})
    ax.set_xticks(lamdas, [f"{lamda:g}" for lamda in lamdas])
    ax.minorticks_off()
    ax.set_ylabel(PERPLEXITY)


def _panels(corpora: Sequence[str]) -> tuple[Figure, list[Axes]]:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(corpora), figsize=(1.2 + 3.6 * len(corpora), 3.9), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    return figure, list(axes[0])


def _label(ax: Axes, study: Study, corpus: str, setting: Setting, what: str) -> None:
    n = len(study.seeds)
    where = "" if study.backend is None else f", {LABELS[study.backend]}"
    title = f"{corpus.upper()}, K = {setting.n_topics}, {what}, {n} runs{where}"
    ax.set_title(title, fontsize=9)
    _log_axis(ax, "y")
    ax.tick_params(which="both", labelsize=7)
    ax.grid(True, which="major", color="0.92")
    if (legend := ax.get_legend()) is not None:
        legend.remove()


def _log_axis(ax: Axes, which: str) -> None:
    """Make the "x" or "y" axis logarithmic, with plain numbers beside its ticks."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    getattr(ax, f"set_{which}scale")("log")
    axis = getattr(ax, f"{which}axis")
    low, high = axis.get_view_interval()
    subs = (1, 2, 5) if high > 20 * low else (1, 1.5, 2, 3, 4, 5, 7)
    axis.set_major_locator(LogLocator(subs=subs) if high > 3 * low else MaxNLocator(7))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(NullLocator())


def _legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """One for all panels, beside them: lines of different corpora have the same colours."""
    handles, labels = panels[0].get_legend_handles_labels()
    columns = min(len(labels), 3 * len(panels), 4)
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8
    )


def _print(rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        lamda = "-" if row["lamda"] is None else f"{row['lamda']:g}"
        print(
            f"{row['corpus']:8} {row['variant']:32} lambda {lamda:>5}  perplexity "
            f"{row['perplexity']:8.1f} +- {row['perplexity_spread']:6.1f}  "
            f"{row['floor_tokens']} tokens at the floor  {row['seconds']:7.1f} s a run"
        )
