"""Documents of a mini-batch dealt out to threads or circuits, of which all wait for the last."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def deal_out(n_tokens, n_parts):
    """Documents to parts with about as many tokens each, int array [doc].

    The longest documents are dealt out first, each to the part that has the fewest tokens. Of
    eleven documents for two parts one still gets six. So then, as long as it helps, the fullest
    and the emptiest part swap two documents, or one is handed over: what brings them closest
    together. A few percent are won so where documents are few.

    Parameters
    ----------
    n_tokens : int array [doc]
    n_parts : int
    """
    n_docs = n_tokens.shape[0]
    part, load = np.empty(n_docs, np.int64), np.zeros(n_parts, np.int64)
    for d in np.argsort(-n_tokens, kind="mergesort"):
        part[d] = np.argmin(load)
        load[part[d]] += n_tokens[d]
    while True:
        full, empty = np.argmax(load), np.argmin(load)
        gap = closest = load[full] - load[empty]
        given = taken = -1  # documents; -1: none
        for d in range(n_docs):
            if part[d] != full:
                continue
            for other in range(-1, n_docs):
                if other >= 0 and part[other] != empty:
                    continue
                moved = n_tokens[d] - (n_tokens[other] if other >= 0 else 0)
                if abs(gap - 2 * moved) < closest:
                    closest, given, taken = abs(gap - 2 * moved), d, other
        if given < 0:
            return part
        part[given] = empty
        load[full] -= n_tokens[given]
        load[empty] += n_tokens[given]
        if taken >= 0:
            part[taken] = full
            load[full] += n_tokens[taken]
            load[empty] -= n_tokens[taken]
