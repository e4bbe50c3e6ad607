"""One token under the microscope: the inputs u of the topic neurons and their race (Alg. 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brian_lda.plotting.palette import REJECTED, topic_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_potentials(u__alpha: np.ndarray, u__beta: np.ndarray, winner: int, ax: Axes) -> Axes:
    """Membrane potential u_z of every topic neuron, as the sum that Alg. 1 line 5 makes it.

    Parameters
    ----------
    u__alpha, u__beta : float array [topic]
        M^alpha_zw of the token's word, and M^beta_zd of its document.
    winner : int
        Its u is marked.
    ax : Axes
    """
    topics = np.arange(len(u__alpha))
    u = u__alpha + u__beta
    ax.plot(topics, u__alpha, "v", color="0.45", ms=4, label=r"$M^\alpha_{zw}$ (word)")
    ax.plot(topics, u__beta, "^", color="0.7", ms=4, label=r"$M^\beta_{zd}$ (document)")
    ax.scatter(topics, u, c=topic_colours(topics), s=30, zorder=3)
    ax.plot(topics[winner], u[winner], "o", mfc="none", mec="black", ms=10, label="$u_z$, winner")
    ax.vlines(topics, np.minimum(u, u.min()), u, color=topic_colours(topics), alpha=0.4)
    ax.set_xticks(topics)
    ax.set_xlabel("topic neuron z")
    ax.set_ylabel("membrane potential")
    ax.legend(
        frameon=False,
        columnspacing=1,
        handletextpad=0.3,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3,
    )
    return ax


def plot_race(latency: np.ndarray, winner: int, ax: Axes) -> Axes:
    """First-spike latencies of one token: the earliest silences the others.

    Parameters
    ----------
    latency : float array [topic]
        Seconds from the clamp to the spike that each neuron would have fired.
    winner : int
    ax : Axes
        Time is logarithmic: rates exp(u) span orders of magnitude.
    """
    topics = np.arange(len(latency))
    start = 0.5 * latency.min()
    silenced = topics != winner
    ax.hlines(topics, start, latency, color=REJECTED, linewidth=1)
    ax.plot(latency[silenced], topics[silenced], "|", color=REJECTED, ms=8, mew=1.5)
    colour = topic_colours(np.array([winner]))[0]
    ax.hlines(winner, start, latency[winner], color=colour, linewidth=2.5)
    ax.plot(latency[winner], winner, "o", color=colour, ms=6, zorder=3)
    ax.axvline(latency[winner], color=colour, linewidth=0.8, linestyle=":")
    ax.annotate(
        "the winner inhibits the others",
        (latency[winner], winner),
        xytext=(6, 4),
        textcoords="offset points",
        fontsize="small",
    )
    ax.set_xscale("log")
    ax.set_xlim(start, None)
    ax.set_yticks(topics)
    ax.set_ylim(len(topics) - 0.5, -0.8)
    ax.set_xlabel("time to the first spike (s)")
    ax.set_ylabel("topic neuron z")
    return ax
