"""One palette for all figures, and the sizes that keep them legible in a column of a paper."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

# Okabe & Ito's colours, told apart with every common colour blindness; their yellow, which a white
# page swallows, is left out.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
REJECTED = "0.75"  # grey of the topic spikes that inhibition rejects
FAINT = "0.9"  # grey of guides
IMAGE = "cividis"  # colour map of images, the same to a colour-blind eye
COLUMN_WIDTH = 8.5 / 2.54  # inches
COLUMN_STYLE: dict[RcKeyType, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.2,
    "figure.dpi": 150,
    "savefig.dpi": 200,
}


def column_style() -> AbstractContextManager[None]:
    """Context in which figures get sizes for a column of 8.5 cm.

    >>> with column_style():
    ...     figure, ax = plt.subplots(figsize=(COLUMN_WIDTH, 2))  # doctest: +SKIP
    """
    from matplotlib import rc_context

    return rc_context(COLUMN_STYLE)


def topic_colours(topics: np.ndarray) -> np.ndarray:
    """A colour for each spike: that of its topic, the same in all figures; float array [spike, 4].

    There are more topics than hues that every eye tells apart: topics 7 to 13 get the hues again
    and darker, topics 14 to 20 lighter, and topic 21 begins anew.
    """
    from matplotlib.colors import to_rgba_array

    hues = to_rgba_array(PALETTE)
    white = np.ones(4)
    darker, lighter = 0.55 * hues + 0.1 * white, 0.5 * hues + 0.5 * white
    colours = np.concatenate([hues, darker, lighter])
    colours[:, 3] = 1.0
    return colours[np.asarray(topics, np.int64) % len(colours)]
