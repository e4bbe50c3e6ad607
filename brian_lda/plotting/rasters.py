"""Rasters: who fired when, word and document neurons above the topic neurons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brian_lda.plotting.palette import FAINT, REJECTED, topic_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from brian_lda.simulation.recording import Spikes


def plot_raster(
    spikes: Spikes,
    vocabulary: Sequence[str],
    ax: Axes,
    *,
    document_names: Sequence[str] | None = None,
) -> Axes:
    """All layers in one picture: words on top, then documents, then topics.

    Every token has the colour of the topic that won it, and a thin line from its word down to its
    winner.

    Parameters
    ----------
    spikes : Spikes
        With the layer "word"; "document" and "attempt" are drawn if recorded.
    vocabulary : sequence of str [word]
    ax : Axes
        One row per neuron that fired, in the order of its first spike.
    document_names : sequence of str [doc], optional
    """
    ends, winners = spikes.time["topic"], spikes.index["topic"]
    labels: list[str] = []
    borders = []
    first_row: np.ndarray | None = None  # of the word of each token
    for layer in ("word", "document"):
        if layer not in spikes.index:
            continue
        neurons = _by_first_spike(spikes.index[layer])
        rows = len(labels) + _positions(spikes.index[layer], neurons)
        token = _token_of(spikes.time[layer], ends)
        ax.scatter(
            1e3 * spikes.time[layer], rows, c=topic_colours(winners)[token], s=16, marker="|"
        )
        if layer == "word":
            first_row = np.zeros(len(ends), np.int64)
            first_row[token] = rows
            labels += [vocabulary[w] for w in neurons]
        else:
            names = document_names or [f"document {d}" for d in range(neurons.max() + 1)]
            labels += [names[d] for d in neurons]
        borders.append(len(labels) - 0.5)
    topics, rows = _draw_topics(spikes, ax, len(labels))
    labels += [f"topic {z}" for z in topics]
    if first_row is not None:
        ax.vlines(1e3 * ends, first_row, rows, color=topic_colours(winners), lw=0.5, alpha=0.4)
    for border in borders:
        ax.axhline(border, color="0.4", linewidth=0.6)
    _label_rows(labels, ax)
    ax.set_xlabel("time (ms)")
    return ax


def plot_word_raster(spikes: Spikes, vocabulary: Sequence[str], ax: Axes) -> Axes:
    """Clamped words over time, coloured by the topic that won.

    Parameters
    ----------
    spikes : Spikes
        With the layer "word".
    vocabulary : sequence of str [word]
    ax : Axes
        One row per distinct word, in the order of their first appearance from top to bottom.
    """
    times, ends = spikes.time["word"], spikes.time["topic"]
    words = _by_first_spike(spikes.index["word"])
    colours = topic_colours(spikes.index["topic"])[_token_of(times, ends)]
    rows = _positions(spikes.index["word"], words)
    ax.scatter(1e3 * times, rows, c=colours, s=16, marker="|", linewidths=1.2)
    _label_rows([vocabulary[word] for word in words], ax)
    ax.set_ylabel("word neuron")
    return _token_boundaries(ends, ax)


def plot_topic_raster(spikes: Spikes, ax: Axes) -> Axes:
    """Topic spikes over time: the winners marked, rejected ties grey.

    Parameters
    ----------
    spikes : Spikes
        With the layer "attempt", if there is one.
    ax : Axes
        One row per topic that fired.
    """
    topics, _ = _draw_topics(spikes, ax, 0)
    _label_rows([f"topic {z}" for z in topics], ax)
    if "attempt" in spikes.index:
        ax.legend(loc="upper right", fontsize=7, framealpha=0.9)
    ax.set_ylabel("topic neuron")
    return _token_boundaries(spikes.time["topic"], ax)


def _draw_topics(spikes: Spikes, ax: Axes, top: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the topic layer from row `top` on; returns its topics and the row of each winner."""
    winners = spikes.index["topic"]
    attempts = spikes.index.get("attempt", winners)
    topics = np.unique(np.concatenate([attempts, winners]))
    if "attempt" in spikes.index:
        rejected = ~np.isin(spikes.time["attempt"], spikes.time["topic"])
        ax.scatter(
            1e3 * spikes.time["attempt"][rejected],
            top + np.searchsorted(topics, attempts[rejected]),
            color=REJECTED,
            s=24,
            marker="|",
            label="tie, rejected" if rejected.any() else None,
        )
    rows = top + np.searchsorted(topics, winners)
    times = 1e3 * spikes.time["topic"]
    ax.scatter(times, rows, c=topic_colours(winners), s=18, zorder=3, label="winner")
    return topics, rows


def _token_of(times: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The token during which each spike fell: a token ends with its winner's spike."""
    return np.minimum(np.searchsorted(ends, times), len(ends) - 1)


def _by_first_spike(index: np.ndarray) -> np.ndarray:
    return index[np.sort(np.unique(index, return_index=True)[1])]


def _positions(index: np.ndarray, neurons: np.ndarray) -> np.ndarray:
    """Where each spike's neuron stands in `neurons`."""
    order = np.argsort(neurons)
    return order[np.searchsorted(neurons, index, sorter=order)]


def _label_rows(labels: Sequence[str], ax: Axes) -> None:
    height = ax.get_window_extent().height / ax.figure.dpi * 72  # points
    size = min(8.0, max(3.0, 0.9 * height / max(len(labels), 1)))
    ax.set_yticks(range(len(labels)), labels, fontsize=size)
    ax.set_ylim(len(labels) - 0.5, -0.5)


def _token_boundaries(ends: np.ndarray, ax: Axes) -> Axes:
    """A thin line where a token ends and the next is clamped."""
    for end in 1e3 * ends:
        ax.axvline(end, color=FAINT, linewidth=0.6, zorder=0)
    ax.set_xlabel("time (ms)")
    return ax
