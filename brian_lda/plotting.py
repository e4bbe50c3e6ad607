"""Figures: functions that take data and an Axes, draw, and return the Axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from brian_lda.spiking.recording import Spikes

REJECTED = "0.75"  # grey of the topic spikes that inhibition rejects


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
    times, words = spikes.time["word"], spikes.index["word"]
    ends = spikes.time["topic"]
    token = np.minimum(np.searchsorted(ends, times), len(ends) - 1)
    first_seen = words[np.sort(np.unique(words, return_index=True)[1])]
    row = {word: i for i, word in enumerate(first_seen)}
    rows = np.array([row[word] for word in words])
    colours = topic_colours(spikes.index["topic"])
    ax.scatter(1e3 * times, rows, c=colours[token], s=16, marker="|", linewidths=1.2)
    ax.set_yticks(range(len(first_seen)), [vocabulary[word] for word in first_seen], fontsize=7)
    ax.set_ylim(len(first_seen) - 0.5, -0.5)
    ax.set_ylabel("word neuron")
    return _token_boundaries(ends, ax)


def plot_topic_raster(spikes: Spikes, ax: Axes) -> Axes:
    """Topic spikes over time: the winners marked and numbered, rejected attempts grey.

    Parameters
    ----------
    spikes : Spikes
        With the layer "attempt", if there is one.
    ax : Axes
        One row per topic that fired.
    """
    ends, winners = spikes.time["topic"], spikes.index["topic"]
    attempts = spikes.index.get("attempt", winners)
    topics = np.unique(np.concatenate([attempts, winners]))
    if "attempt" in spikes.index:
        rows = np.searchsorted(topics, attempts)
        times = 1e3 * spikes.time["attempt"]
        ax.scatter(times, rows, color=REJECTED, s=24, marker="|", label="tie, rejected")
    rows = np.searchsorted(topics, winners)
    ax.scatter(1e3 * ends, rows, c=topic_colours(winners), s=34, zorder=3, label="winner")
    ax.legend(loc="upper right", fontsize=7, framealpha=0.9)
    ax.set_yticks(range(len(topics)), [f"topic {z}" for z in topics], fontsize=7)
    ax.set_ylim(len(topics) - 0.5, -0.5)
    ax.set_ylabel("topic neuron")
    return _token_boundaries(ends, ax)


def topic_colours(topics: np.ndarray) -> np.ndarray:
    """A colour for each spike, the same for the same topic; float array [spike, 4]."""
    from matplotlib import colormaps

    palette = np.asarray(colormaps["tab20"].colors)
    palette = np.concatenate([palette[::2], palette[1::2]])  # strong colours first
    _, number = np.unique(topics, return_inverse=True)
    return np.column_stack([palette[number % len(palette)], np.ones(len(number))])


def plot_curves(
    curves: Mapping[str, Sequence[float]], ax: Axes, *, ylabel: str, reference: float | None = None
) -> Axes:
    """One line per name over the passes.

    Parameters
    ----------
    curves : mapping of str to sequence of float [pass]
    ax : Axes
    ylabel : str
    reference : float, optional
        Where the theory says that the curves end.
    """
    for (name, values), style in zip(curves.items(), ("o-", "s--", "^:", "v-."), strict=False):
        ax.plot(range(1, len(values) + 1), values, style, label=name, markersize=4, alpha=0.8)
    if reference is not None:
        ax.axhline(reference, color="0.6", linewidth=0.8)
    ax.set_xlabel("pass")
    ax.set_ylabel(ylabel)
    ax.legend(frameon=False)
    return ax


def plot_matched_topics(cosine: np.ndarray, ax: Axes) -> Axes:
    """Similarity of matched topics, best first.

    Parameters
    ----------
    cosine : float array [topic]
    ax : Axes
    """
    ax.bar(range(len(cosine)), np.sort(cosine)[::-1], width=0.9)
    ax.axhline(float(np.mean(cosine)), color="black", linewidth=0.8)
    ax.text(
        len(cosine) - 1,
        float(np.mean(cosine)),
        f"mean {np.mean(cosine):.2f}",
        ha="right",
        va="bottom",
    )
    ax.set_ylim(0, 1)
    ax.set_xlabel("matched topics, best first")
    ax.set_ylabel("cosine")
    return ax


def _token_boundaries(ends: np.ndarray, ax: Axes) -> Axes:
    """A thin line where a token ends and the next is clamped."""
    for end in 1e3 * ends:
        ax.axvline(end, color="0.9", linewidth=0.6, zorder=0)
    ax.set_xlabel("time (ms)")
    return ax
