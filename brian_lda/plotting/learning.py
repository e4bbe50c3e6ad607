"""How it was learnt: curves over passes, and the fall of zeta onto the manifold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from brian_lda.plotting.palette import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("o-", "s--", "^:", "v-.", "D-", "P--", "X:")


def plot_curves(
    curves: Mapping[str, Sequence[float]],
    ax: Axes,
    *,
    ylabel: str,
    reference: float | None = None,
    start: int = 1,
) -> Axes:
    """One line per name over the passes.

    Parameters
    ----------
    curves : mapping of str to sequence of float [pass]
    ax : Axes
    ylabel : str
    reference : float, optional
        Where the theory says that the curves end.
    start : int
        Passes before the first value.
    """
    runs = {name: np.asarray(values)[np.newaxis] for name, values in curves.items()}
    x = {name: start + np.arange(len(values)) for name, values in curves.items()}
    plot_learning_curves(runs, ax, x=x, xlabel="pass", ylabel=ylabel)
    if reference is not None:
        ax.axhline(reference, color="0.6", linewidth=0.8)
    return ax


def plot_learning_curves(
    curves: Mapping[str, np.ndarray],
    ax: Axes,
    *,
    x: np.ndarray | Mapping[str, np.ndarray] | None = None,
    xlabel: str = "iteration",
    ylabel: str = "held-out perplexity",
) -> Axes:
    """The mean of several runs, with a band from the lowest to the highest of them.

    Parameters
    ----------
    curves : mapping of str to float array [run, point]
    ax : Axes
    x : float array [point], or one per name, optional
        The default is 1, 2, 3, ...
    xlabel, ylabel : str
    """
    for i, (name, runs) in enumerate(curves.items()):
        runs = np.atleast_2d(runs)
        at = x[name] if isinstance(x, Mapping) else x
        at = np.arange(1, runs.shape[1] + 1) if at is None else np.asarray(at)
        colour = PALETTE[i % len(PALETTE)]
        if len(runs) > 1:
            ax.fill_between(at, runs.min(axis=0), runs.max(axis=0), color=colour, alpha=0.2, lw=0)
        every = max(1, len(at) // 12)
        style = STYLES[i % len(STYLES)]
        ax.plot(at, runs.mean(axis=0), style, color=colour, ms=3.5, markevery=every, label=name)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.legend(frameon=False)
    return ax


def plot_manifold(
    times: np.ndarray,
    zeta__alpha: np.ndarray,
    zeta__beta: np.ndarray,
    kappa: float,
    ax: Axes,
    *,
    xlabel: str = "passes",
) -> Axes:
    r"""Distance from the manifold zeta(M^alpha_z) = 1, zeta(M^beta_d) = kappa over time.

    Parameters
    ----------
    times : float array [time]
    zeta__alpha : float array [time, topic]
        sum_w exp M^alpha_zw.
    zeta__beta : float array [time, doc]
        sum_z exp M^beta_zd.
    kappa : float
    ax : Axes
        Both are divided by their value on the manifold; a line for the median, a band for all.
    xlabel : str
    """
    lines = (
        (zeta__alpha, r"topics: $\zeta(M^\alpha_z)$", PALETTE[0], "-"),
        (zeta__beta / kappa, r"documents: $\zeta(M^\beta_d)/\kappa$", PALETTE[1], "--"),
    )
    for values, label, colour, style in lines:
        if not values.size:  # semi-SpikeLDA has no document weights that learn
            continue
        ax.fill_between(
            times, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.2, lw=0
        )
        ax.plot(times, np.median(values, axis=1), style, color=colour, label=label)
    ax.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="the manifold")
    ax.set_yscale("log")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(r"$\zeta$ / its value on the manifold")
    ax.legend(frameon=False)
    return ax
