"""Where the topic neurons live, and what the chips send to each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.plotting.palette import IMAGE, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DARK = {PALETTE[i] for i in (0, 1, 2, 6)}  # colours on which white numbers can be read


def plot_chip_placement(
    chip_of_topic: np.ndarray, ax: Axes, *, mesh: tuple[int, int] | None = None
) -> Axes:
    """Topics on a mesh of chips, each a numbered dot in the colour of its chip.

    Parameters
    ----------
    chip_of_topic : int array [topic]
        Chip c sits in row c // columns and column c % columns of the mesh.
    ax : Axes
    mesh : (int, int), optional
        Rows and columns; the default is the smallest square that holds the chips.
    """
    from matplotlib.patches import FancyBboxPatch

    chip_of_topic = np.asarray(chip_of_topic)
    n_chips = int(chip_of_topic.max()) + 1
    rows, columns = mesh or (math.ceil(n_chips / math.ceil(math.sqrt(n_chips))),) + (
        math.ceil(math.sqrt(n_chips)),
    )
    if rows * columns < n_chips:
        raise ParameterError(
            f"a mesh of {rows} x {columns} has no place for {n_chips} chips; pass a larger mesh."
        )
    largest = int(np.bincount(chip_of_topic).max())
    side = max(1, math.ceil(math.sqrt(largest)))  # topics in a row of a chip
    width = ax.get_window_extent().width / ax.figure.dpi * 72  # points
    text_size = min(7.0, 0.3 * width / (side * columns))
    for chip in range(rows * columns):
        row, column = divmod(chip, columns)
        colour = PALETTE[chip % len(PALETTE)]
        box = FancyBboxPatch(
            (column + 0.06, row + 0.06),
            0.88,
            0.88,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=(colour, 0.12) if chip < n_chips else "0.97",
            edgecolor=colour if chip < n_chips else "0.85",
        )
        ax.add_patch(box)
        if chip >= n_chips:
            continue
        ax.text(column + 0.1, row + 0.17, f"chip {chip}", fontsize=7, va="center", color="0.2")
        topics = np.flatnonzero(chip_of_topic == chip)
        place_row, place_column = np.divmod(np.arange(len(topics)), side)
        x = column + 0.12 + 0.76 * (place_column + 0.5) / side
        y = row + 0.26 + 0.64 * (place_row + 0.5) / side
        if text_size < 3:  # too many for numbers
            ax.scatter(x, y, color=colour, s=4)
            continue
        ink = "white" if colour in DARK else "black"
        for z, at_x, at_y in zip(topics, x, y, strict=True):
            label = {"boxstyle": "circle,pad=0.18", "facecolor": colour, "edgecolor": "none"}
            ax.text(
                at_x, at_y, f"{z:2d}", color=ink, fontsize=text_size, ha="center", va="center",
                family="monospace", bbox=label,
            )  # fmt: skip
    ax.set_xlim(0, columns)
    ax.set_ylim(rows, 0)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def plot_traffic(
    traffic: np.ndarray, ax: Axes, *, label: str = "packets a token", colour_bar: bool = True
) -> Axes:
    """What chip sends to which, as a matrix.

    Parameters
    ----------
    traffic : float array [source chip, target chip]
        The diagonal, which crosses no link, is left blank.
    ax : Axes
    label : str
        Of the colour bar, with the unit.
    colour_bar : bool
    """
    traffic = np.array(traffic, np.float64)
    if traffic.ndim != 2 or traffic.shape[0] != traffic.shape[1]:
        raise ParameterError(f"traffic must be a matrix [chip, chip]; found {traffic.shape}.")
    np.fill_diagonal(traffic, np.nan)
    image = ax.imshow(traffic, cmap=IMAGE, vmin=0)
    if len(traffic) <= 8:
        middle = 0.5 * np.nanmax(traffic, initial=0.0)
        for (source, target), value in np.ndenumerate(traffic):
            if np.isfinite(value):
                shade = "black" if value > middle else "white"
                label_of_link = f"{value:.2g}"
                ax.text(
                    target, source, label_of_link, ha="center", va="center", fontsize=6, color=shade
                )
        ax.set_xticks(range(len(traffic)))
        ax.set_yticks(range(len(traffic)))
    ax.set_xlabel("to chip")
    ax.set_ylabel("from chip")
    if colour_bar:
        ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    return ax
