"""The figure of a `TwinComparison`: everything that the verdict rests on, on one page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from brian_lda.plotting import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from brian_lda.comparison.twins import TwinComparison

TWIN, SPIKES = PALETTE[0], PALETTE[1]
COLOURS = {"rate level": TWIN, "spikes": SPIKES}


def draw_page(comparison: TwinComparison) -> Figure:
    """Perplexity, zeta, matched topics, winner law; the verdict above."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(12, 6.6), layout="constrained")
    curves(comparison, comparison.perplexity, axes[0, 0], "held-out perplexity")
    curves(comparison, comparison.zeta__alpha, axes[0, 1], r"mean $\zeta(M^\alpha_z)$", 1.0)
    final_perplexities(comparison, axes[0, 2])
    matched_topics(comparison, axes[1, 0])
    winner_law(comparison, axes[1, 1])
    words(comparison, axes[1, 2])
    figure.suptitle(f"{comparison.title}: {comparison.verdict}", fontweight="bold")
    return figure


def curves(
    comparison: TwinComparison,
    measured: Mapping[str, np.ndarray],
    ax: Axes,
    ylabel: str,
    goal: float | None = None,
) -> None:
    """The twin's seeds as a band, every run in spikes as a line."""
    x = comparison.iterations
    twin, spikes = measured["rate level"], measured["spikes"]
    band = f"rate level, {len(twin)} seeds"
    ax.fill_between(x, twin.min(axis=0), twin.max(axis=0), color=TWIN, alpha=0.25, lw=0, label=band)
    ax.plot(x, np.median(twin, axis=0), color=TWIN, lw=1, label="their median")
    for i, run in enumerate(spikes):
        ax.plot(x, run, color=SPIKES, lw=0.9, label=f"spikes, {len(spikes)} runs" if i == 0 else "")
    if goal is not None:
        ax.axhline(goal, color="0.5", lw=0.8, ls=":", label="the manifold")
    if max(twin.max(), spikes.max()) > 10 * min(twin.min(), spikes.min()):
        ax.set_yscale("log")
    elif goal is not None and max(twin.max(), spikes.max()) < 1.001 * goal:
        ax.set_ylim(0.9 * goal, 1.1 * goal)
    ax.set(xlabel=comparison.unit, ylabel=ylabel)
    ax.locator_params(axis="x", integer=True)
    ax.legend(frameon=False, fontsize="small")


def final_perplexities(comparison: TwinComparison, ax: Axes) -> None:
    """Every run as a point, and the margin around the twin's mean."""
    found = comparison.equivalence
    twin = comparison.perplexity["rate level"][:, -1]
    mean = float(np.exp(np.log(twin).mean()))
    low, high = mean * np.exp([-found.margin, found.margin])
    ax.axhspan(low, high, color=TWIN, alpha=0.12, lw=0)
    ax.axhline(mean, color=TWIN, lw=1)
    for place, (label, colour) in enumerate(COLOURS.items()):
        final = comparison.perplexity[label][:, -1]
        across = place + np.linspace(-0.2, 0.2, len(final)) * (len(final) > 1)
        ax.plot(across, final, "o", ms=4, color=colour, alpha=0.8)
    spikes = comparison.perplexity["spikes"][:, -1]
    ax.hlines(float(np.exp(np.log(spikes).mean())), 0.7, 1.3, color=SPIKES)
    ax.set_xticks(range(len(COLOURS)), list(COLOURS))
    ax.set_xlim(-0.6, 1.6)
    ax.set_ylabel("final perplexity")
    ax.set_title(
        f"shaded: margin of {100 * found.margin:.1f} %, equivalence p = {found.p_equivalent:.2g}",
        fontsize="small",
    )


def matched_topics(comparison: TwinComparison, ax: Axes) -> None:
    """Cosines of matched topics, best first, beside those of two seeds of the twin."""
    for match, colour, label in (
        (comparison.match_of_twins, TWIN, "two seeds of the rate level"),
        (comparison.match, SPIKES, "rate level and spikes"),
    ):
        cosine = np.sort(match.cosine)[::-1]
        mean = f"{label}, mean {cosine.mean():.2f}"
        ax.plot(np.arange(1, len(cosine) + 1), cosine, "o-", ms=3, lw=1, color=colour, label=mean)
    ax.set(xlabel="matched topics, best first", ylabel="cosine", ylim=(0, 1.03))
    ax.locator_params(axis="x", integer=True)
    ax.legend(frameon=False, fontsize="small", loc="lower left")


def winner_law(comparison: TwinComparison, ax: Axes) -> None:
    """Wins of each topic, in standard deviations from what the twin predicts."""
    ax.axhspan(-2, 2, color="0.92", lw=0)
    ax.axhline(0, color="0.5", lw=0.8)
    for law, colour, marker in zip(comparison.laws, (PALETTE[2], PALETTE[3]), "os", strict=True):
        z = (law.observed - law.expected) / np.maximum(law.deviation, 1e-12)
        label = f"{law.name}: {law.n_tokens} races, p = {law.p:.2g}"
        ax.plot(np.arange(len(z)), z, marker, ms=4, color=colour, label=label)
    low, high = ax.get_ylim()
    reach = max(4.0, -low, high)
    ax.set_ylim(-reach, 1.35 * reach)
    ax.set(xlabel="topic", ylabel="wins: (found - expected) / s.d.")
    ax.locator_params(axis="x", integer=True)
    ax.legend(frameon=False, fontsize="small", loc="upper left")


def words(comparison: TwinComparison, ax: Axes) -> None:
    """What `print` says, line by line."""
    lines = [
        part
        for line in str(comparison).splitlines()
        for part in textwrap.wrap(line.strip(), 52, subsequent_indent="      ")
    ]
    ax.text(0, 1, "\n".join(lines), va="top", family="monospace", fontsize=7.5)
    ax.set_axis_off()
