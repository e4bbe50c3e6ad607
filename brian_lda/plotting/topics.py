"""What was learnt: topics as images and as words, documents as mixtures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.plotting.palette import FAINT, IMAGE, PALETTE, topic_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_topic_images(
    phi: np.ndarray, ax: Axes, *, shape: tuple[int, int] | None = None, n_columns: int | None = None
) -> Axes:
    """Word distributions as images, one tile per topic: the receptive fields of the topic neurons.

    Parameters
    ----------
    phi : float array [topic, word]
        Each tile is scaled to its own largest value.
    ax : Axes
    shape : (int, int), optional
        Height and width of an image, height * width = V; the default is a square.
    n_columns : int, optional
        Tiles in a row; the default is about as wide as high.
    """
    n_topics, n_words = phi.shape
    height, width = shape or (math.isqrt(n_words),) * 2
    if height * width != n_words:
        raise ParameterError(
            f"an image of {height} x {width} pixels does not hold {n_words} words; pass "
            "shape=(height, width) whose product is the number of words."
        )
    n_columns = n_columns or math.ceil(math.sqrt(n_topics))
    n_rows = -(-n_topics // n_columns)
    mosaic = np.full((n_rows * (height + 1) + 1, n_columns * (width + 1) + 1), np.nan)
    for z, topic in enumerate(phi):
        row, column = divmod(z, n_columns)
        top, left = row * (height + 1) + 1, column * (width + 1) + 1
        mosaic[top : top + height, left : left + width] = (topic / topic.max()).reshape(
            height, width
        )
    ax.imshow(mosaic, cmap=IMAGE, vmin=0, vmax=1, interpolation="nearest")
    ax.set_axis_off()
    return ax


def plot_topic_words(
    phi_z: np.ndarray, vocabulary: Sequence[str], ax: Axes, *, n: int = 10, colour: str = PALETTE[0]
) -> Axes:
    """Bars of the most probable words of one topic.

    Parameters
    ----------
    phi_z : float array [word]
    vocabulary : sequence of str [word]
    ax : Axes
    n : int
        Words shown, the most probable on top.
    colour : colour
    """
    best = np.argsort(-phi_z, kind="stable")[:n]
    ax.barh(range(len(best)), phi_z[best], color=colour, height=0.75)
    ax.set_yticks(range(len(best)), [vocabulary[w] for w in best])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(best) - 0.5, -0.5)
    ax.set_xlabel(r"$\phi_{zw}$")
    return ax


def plot_document_mixtures(
    theta: np.ndarray,
    ax: Axes,
    *,
    names: Sequence[str] | None = None,
    topic_names: Sequence[str] | None = None,
    smallest: float = 0.05,
) -> Axes:
    """Topic proportions of documents, as stacked bars.

    Parameters
    ----------
    theta : float array [doc, topic]
        Rows sum to 1.
    ax : Axes
    names : sequence of str [doc], optional
    topic_names : sequence of str [topic], optional
        Written into the bars; the default is the topic's number.
    smallest : float
        Shares below are gathered in one grey end of the bar.
    """
    rows = np.arange(len(theta))
    shown = theta >= smallest
    left = np.zeros(len(theta))
    for z in np.flatnonzero(shown.any(axis=0)):
        share = np.where(shown[:, z], theta[:, z], 0.0)
        colour = topic_colours(np.array([z]))[0]
        ax.barh(rows, share, left=left, color=colour, height=0.8, edgecolor="white", linewidth=0.5)
        dark = colour[:3] @ [0.3, 0.6, 0.1] < 0.55
        for d in np.flatnonzero(share):
            text = topic_names[z] if topic_names else str(z)
            if share[d] > 0.02 * len(text):  # else it would not fit into its part of the bar
                middle = left[d] + share[d] / 2
                ax.text(
                    middle,
                    d,
                    text,
                    ha="center",
                    va="center",
                    fontsize="small",
                    color="white" if dark else "black",
                )
        left += share
    ax.barh(rows, 1 - left, left=left, color=FAINT, height=0.8)
    ax.set_yticks(rows, names or [str(d) for d in rows])
    ax.set_ylim(len(theta) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xlabel(r"$\theta_{dz}$")
    ax.set_ylabel("" if names else "document")
    return ax


def plot_matched_topics(cosine: np.ndarray, ax: Axes) -> Axes:
    """Similarity of matched topics, best first.

    Parameters
    ----------
    cosine : float array [topic]
    ax : Axes
    """
    mean = float(np.mean(cosine))
    ax.bar(range(len(cosine)), np.sort(cosine)[::-1], width=0.9, color=PALETTE[0])
    ax.axhline(mean, color="black", linewidth=0.8)
    ax.text(len(cosine) - 1, mean, f"mean {mean:.2f}", ha="right", va="bottom")
    ax.set_ylim(0, 1)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("matched topics, best first")
    ax.set_ylabel("cosine")
    return ax
