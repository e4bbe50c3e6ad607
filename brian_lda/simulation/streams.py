"""Streams of random numbers: which tokens begin a new one, and from which seed.

In a mini-batch every document has streams of its own, one for each sweep. What it draws then
depends on the document alone, not on which circuit it is shown to, nor on what was shown before.
Brian's generator is seeded once a document and sweep for that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Streams = tuple[np.ndarray, np.ndarray]  # positions of first tokens, the first of them 0; seeds


def seeds_of(key: Sequence[int], n: int) -> np.ndarray:
    """The first `n` seeds that belong to a key, each in [0, 2**31 - 1)."""
    return (np.random.SeedSequence(list(key)).generate_state(n) >> 1).astype(np.int64)


def document_streams(docs: np.ndarray, n_sweeps: int, key: Sequence[int]) -> Streams:
    """Streams of a sequence that shows the tokens of whole documents in `n_sweeps` sweeps.

    Parameters
    ----------
    docs : int array [token]
        Document of each token, sorted; its place in the mini-batch.
    n_sweeps : int
    key : sequence of int
        Of the mini-batch.
    """
    begins = np.flatnonzero(np.append(True, docs[1:] != docs[:-1]))
    places = docs[begins]
    starts = np.arange(n_sweeps)[:, None] * len(docs) + begins
    seeds = np.stack([seeds_of([*key, int(place)], n_sweeps) for place in places], axis=1)
    return starts.ravel(), seeds.ravel()


def streams_of_run(streams: Streams, start: int, stop: int) -> Streams:
    """Of the streams of a sequence, those of the run that shows tokens start .. stop."""
    begins, seeds = streams
    inside = (start <= begins) & (begins < stop)
    first, own = begins[inside] - start, seeds[inside]
    if not first.size or first[0]:  # a stream longer than a run
        last = int(np.searchsorted(begins, start, side="right")) - 1
        cut = seeds_of([int(seeds[last]), start - int(begins[last])], 1)
        first, own = np.append(0, first), np.append(cut, own)
    return first, own
