"""What a network keeps from token to token, declared: saving, restoring and padding follow from it.

A model lists its variables as `Kept`. Brian orders synapses by source neuron, then by topic neuron;
the arrays that leave the network are [topic, word] and [doc, topic], without the neurons that only
fill up a compiled size. Where a pruned network has no synapse, they hold the value for filling up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brian_lda.circuit.circuit import Sizes
from brian_lda.errors import CopyError, ParameterError

AXES = {  # the axes of an array outside; its sizes in Brian's order
    "topic": ("n_topics",),
    "word": ("n_words",),
    "doc": ("n_docs",),
    "token": ("n_tokens",),
    "topic, word": ("n_words", "n_topics"),
    "doc, topic": ("n_docs", "n_topics"),
    "one": (),
}


@dataclass(frozen=True)
class Kept:
    """One variable of a network.

    Attributes
    ----------
    path : str
        "object.variable" in Brian.
    axes : str
        A key of `AXES`: the axes of the array outside the network.
    fill : float
        Value for neurons that only fill up a compiled size.
    written_by : tuple of str
        For a synaptic weight: the pathways of its synapses that change it. It must stay positive
        and finite, and a chip stores it with its own precision.
    gauge : bool
        The weight is w in exp M = w g, with g in the topic neuron.
    in_logs : bool
        The weight is M itself, not exp M.
    copied : bool
        Every part of a topic keeps its own copy: in Brian there is an axis "block" before the
        topic's. Outside there is one, because all are equal, which is checked.
    """

    path: str
    axes: str
    fill: float = 1.0
    written_by: tuple[str, ...] = ()
    gauge: bool = False
    in_logs: bool = False
    copied: bool = False

    @property
    def name(self) -> str:
        """Its key in the state."""
        return self.path.split(".")[1]

    def into_network(self, array: np.ndarray, own: Sizes, compiled: Sizes) -> np.ndarray:
        """The array as Brian orders it, filled up to the compiled sizes, flat."""
        expected = self._shape(own)
        array = np.asarray(array)
        outside = expected[::-1] if self.axes == "topic, word" else expected
        if array.shape != outside:
            raise ParameterError(
                f"{self.name} must have shape [{self.axes}] = {outside}; found {array.shape}. Was "
                "it trained on another corpus, or with another number of topics?"
            )
        array = array.T if self.axes == "topic, word" else array
        if expected != self._shape(compiled):
            padded = np.full(self._shape(compiled), self.fill, array.dtype)
            padded[tuple(slice(n) for n in expected)] = array
            array = padded
        if self.copied:
            array = np.repeat(array[..., None, :], compiled.n_blocks, axis=-2)
        if (private := self._private(compiled)) is not None:
            return array[private]
        return np.ascontiguousarray(array).ravel()

    def out_of_network(self, values: np.ndarray, own: Sizes, compiled: Sizes) -> np.ndarray:
        """Inverse of `into_network`; a view of the values, which nobody else holds."""
        if self.copied:
            values = self._agreed(np.reshape(values, (-1, compiled.n_blocks, compiled.n_topics)))
        if (private := self._private(compiled)) is not None:
            every = np.full(private.shape, self.fill, values.dtype)
            every[private] = values
            values = every
        array = np.reshape(values, self._shape(compiled))
        array = array[tuple(slice(n) for n in self._shape(own))]
        return array.T if self.axes == "topic, word" else array

    def size(self, sizes: Sizes) -> int:
        """Number of values in the network."""
        if (private := self._private(sizes)) is not None:
            return int(private.sum())
        return int(np.prod(self._shape(sizes))) * (sizes.n_blocks if self.copied else 1)

    def _private(self, sizes: Sizes) -> np.ndarray | None:
        """Where a pruned network has a synapse for it, bool array [word, topic]; None: all."""
        if self.axes != "topic, word" or sizes.pruned is None:
            return None
        return sizes.pruned.private.T

    def _agreed(self, copies: np.ndarray) -> np.ndarray:
        """The first of the copies [..., block, topic], if the others are the same."""
        if not np.array_equal(copies, np.broadcast_to(copies[:, :1], copies.shape), equal_nan=True):
            raise CopyError(
                f"the {copies.shape[1]} parts of a topic must keep the same {self.name}, each from "
                "the spikes that it hears; they do not. This is a fault of the network."
            )
        return copies[:, 0]

    def _shape(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(getattr(sizes, name) for name in AXES[self.axes]) or (1,)
