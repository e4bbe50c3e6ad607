"""Which chip each topic neuron lives on.

The network is cut by topics: a topic neuron takes its synapses along. What then crosses chips is
spikes, and only the words' part of them depends on the placement (`brian_lda.hardware.checker`
says what is counted): word w must reach every chip with a topic for which w is private.

As a hypergraph: one node per topic, one hyperedge per word over the topics that keep a synapse for
it, weighted with how often the word comes. The objective KM1, the sum over hyperedges of
weight x (chips touched - 1), is the number of extra multicast packets.
"""

from __future__ import annotations

import logging
import math
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from brian_lda.errors import MissingDependencyError, PlacementError
from brian_lda.hardware.rules import topics_on_fullest_chip

LARGEST_WEIGHT = 1 << 30  # mtkahypar adds 32-bit weights of single hyperedges into 64 bits
log = logging.getLogger(__name__)


def index_placement(n_topics: int, n_chips: int) -> np.ndarray:
    """Topics in order, as evenly as possible; int array [topic]."""
    topics_on_fullest_chip(n_topics, n_chips)  # refuses more chips than topics
    return (np.arange(n_topics) * n_chips) // n_topics


def random_placement(n_topics: int, n_chips: int, rng: np.random.Generator) -> np.ndarray:
    """Topics at random, as evenly as possible; int array [topic]."""
    return rng.permutation(index_placement(n_topics, n_chips))


def hypergraph_placement(
    private: np.ndarray,
    word_counts: np.ndarray,
    n_chips: int,
    *,
    capacity: int | None = None,
    seed: int = 0,
) -> np.ndarray:
    """Topics placed by mtkahypar so that few word packets cross chips.

    Parameters
    ----------
    private : bool array [topic, word]
        Which word synapses exist.
    word_counts : int array [word]
        How often each word is shown: the rate of its neuron.
    n_chips : int
    capacity : int, optional
        Topics that a chip can hold; the default is ceil(K / chips), that is even chips.
    seed : int

    Returns
    -------
    int array [topic]
    """
    n_topics = len(private)
    even = topics_on_fullest_chip(n_topics, n_chips)
    capacity = even if capacity is None else capacity
    if capacity < even:
        raise PlacementError(
            f"{n_topics} topics do not fit on {n_chips} chips of {capacity} each; use at least "
            f"{math.ceil(n_topics / max(capacity, 1))} chips."
        )
    if n_chips == 1:
        return np.zeros(n_topics, np.int64)
    topics, weights = _hyperedges(private, word_counts)
    if not topics:
        return index_placement(n_topics, n_chips)
    mtkahypar, initializer = _partitioner()
    mtkahypar.set_seed(seed)
    context = initializer.context_from_preset(mtkahypar.PresetType.DETERMINISTIC_QUALITY)
    context.logging = False
    context.set_partitioning_parameters(n_chips, 0.0, mtkahypar.Objective.KM1)
    context.set_individual_target_block_weights([capacity] * n_chips)
    hypergraph = initializer.create_hypergraph(
        context, n_topics, len(topics), topics, [1] * n_topics, weights
    )
    partitioned = hypergraph.partition(context)
    placement = np.array([partitioned.block_id(z) for z in range(n_topics)], np.int64)
    return _mended(placement, n_chips, capacity)


def _hyperedges(private: np.ndarray, word_counts: np.ndarray) -> tuple[list[list[int]], list[int]]:
    """Topics and weight of each word that more than one topic keeps and that occurs."""
    words, topics = np.nonzero(private.T)  # sorted by word
    first = np.searchsorted(words, np.arange(private.shape[1] + 1))
    counts = np.asarray(word_counts, np.float64)
    scale = min(1.0, LARGEST_WEIGHT / max(counts.max(initial=0.0), 1.0))
    kept = np.flatnonzero((np.diff(first) > 1) & (counts > 0))
    edges = [topics[first[w] : first[w + 1]].tolist() for w in kept]
    weights = np.maximum(1, np.rint(counts[kept] * scale)).astype(np.int64).tolist()
    return edges, weights


def _mended(placement: np.ndarray, n_chips: int, capacity: int) -> np.ndarray:
    """No chip empty, none over capacity: the few topics in question move to the emptiest chip."""
    placement = placement.copy()
    load = np.bincount(placement, minlength=n_chips)
    while load.max() > capacity or load.min() == 0:
        source, target = int(load.argmax()), int(load.argmin())
        placement[np.flatnonzero(placement == source)[-1]] = target
        load[source] -= 1
        load[target] += 1
    return placement


@lru_cache(maxsize=1)
def _partitioner() -> tuple[ModuleType, Any]:
    """mtkahypar may be initialised once in a process only."""
    try:
        import mtkahypar
    except ImportError as error:
        raise MissingDependencyError(
            "placing topics by hypergraph partitioning needs mtkahypar: "
            "pip install 'brian_lda[hardware]'. Index order and random need nothing."
        ) from error
    return mtkahypar, mtkahypar.initialize(1)  # one thread: same seed, same placement
