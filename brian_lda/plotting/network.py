"""A drawing of a network: a box for each layer, an arrow for each kind of synapses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from brian_lda.errors import ParameterError

Place = tuple[float, float]
PLACES: dict[str, Place] = {  # where the layers of the paper's Fig. 1 stand
    "words": (0.0, 2.0),
    "documents": (0.0, 1.0),
    "tokens": (0.0, 0.0),
    "topics": (2.0, 1.5),
    "inhibition": (4.0, 1.5),
}
WIDTH, HEIGHT = 1.1, 0.5


def plot_network(
    layers: Mapping[str, int], connections: Sequence[tuple[str, str, str]], ax: Axes
) -> Axes:
    """Draw layers and what connects them.

    Parameters
    ----------
    layers : mapping of str to int
        Neurons of each layer.
    connections : sequence of (str, str, str)
        Label, layer from, layer to.
    ax : Axes
    """
    if unknown := {end for _, *ends in connections for end in ends} - set(layers):
        raise ParameterError(f"connections name layers that are not there: {sorted(unknown)}.")
    places = places_of(list(layers))
    boxes = {}
    for name, (x, y) in places.items():
        boxes[name] = FancyBboxPatch(
            (x - WIDTH / 2, y - HEIGHT / 2),
            WIDTH,
            HEIGHT,
            boxstyle="round,pad=0.02,rounding_size=0.1",
            facecolor="#eef2f8",
            edgecolor="#34506f",
        )
        ax.add_patch(boxes[name])
        ax.text(x, y, f"{name}\n{layers[name]}", ha="center", va="center", fontsize=9)
    n_between: dict[frozenset[str], int] = {}  # arrows between the same two layers bend apart
    for label, source, target in connections:
        pair = frozenset((source, target))
        n_between[pair] = n_between.get(pair, 0) + 1
        bend = 0.15 * n_between[pair]
        arrow = FancyArrowPatch(
            places[source],
            places[target],
            patchA=boxes[source],
            patchB=boxes[target],
            shrinkA=2,
            shrinkB=2,
            connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>",
            mutation_scale=14,
            color="#a03c2e" if places[source][0] > places[target][0] else "#34506f",
        )
        ax.add_patch(arrow)
        ax.text(
            *_beside(places[source], places[target], bend), label, ha="center", va="center",
            fontsize=8, color="#333",
        )  # fmt: skip
    xs, ys = zip(*places.values(), strict=True)
    ax.set_xlim(min(xs) - 0.8, max(xs) + 0.8)
    ax.set_ylim(min(ys) - 0.6, max(ys) + 0.6)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def places_of(names: Sequence[str]) -> dict[str, Place]:
    """Where each layer is drawn: the paper's where it has them, others in a row beneath."""
    others = [name for name in names if name not in PLACES]
    beneath = {name: (2.0 * i + 2.0, 0.0) for i, name in enumerate(others)}
    return {name: PLACES.get(name) or beneath[name] for name in names}


def _beside(start: Place, end: Place, bend: float) -> Place:
    """A point for a label: outside the middle of an arc, which bends to the right of its way."""
    across, along = end[0] - start[0], end[1] - start[1]
    length = math.hypot(across, along) or 1.0
    right = along / length, -across / length
    away = bend * length / 2 + 0.1 + 0.25 * abs(right[0])  # a label is wider than it is high
    return (start[0] + end[0]) / 2 + away * right[0], (start[1] + end[1]) / 2 + away * right[1]
