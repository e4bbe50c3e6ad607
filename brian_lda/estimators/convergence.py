"""When a `fit` without `max_iter` ends: once the training documents are explained no better.

The objective is the perplexity of training documents, their theta fitted with Phi held fixed
(`fold_in`): never that of held-out ones. It is looked at after passes that are a fifth apart
(27, 33, 40, 48, ...), because the default steps forget all but a fixed last part of the training:
what lies between two looks is as much for the network, early or late. ed-SpikeLDA begins at 80:
before, its weights average over less than half a pass, and their noise hides that topics still
form. Training has converged when the perplexity fell by less than `tol` of itself from one look to
the next.

Where documents begin anew (`doc_restart` of ed-SpikePLSI), they know little for some passes, and
Phi learns from that: the perplexity goes up and comes down again. So looks are taken just before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brian_lda.corpus import Corpus, TokenStore
from brian_lda.evaluation import heldout_perplexity

FIRST_LOOK = 27  # passes: before, a network may still wander between poor optima
LOOK_RATIO = 1.2
SAMPLE_DOCUMENTS = 500  # a look costs no more than a small part of a pass
SAMPLE_TOKENS = 100_000


class Convergence:
    """Tells after which iteration a fit ends, and why.

    Parameters
    ----------
    source : Corpus or TokenStore
        The training documents; a sample of them is kept.
    tol : float
        Smallest fall of the perplexity, as a fraction, from one look to the next.
    max_passes : int
        The bound.
    iterations_per_pass : int
    seed : int
        Of the sample.
    first_look : int
        After so many passes.
    every : int
        Looks come after multiples of so many passes.
    """

    def __init__(
        self,
        source: Corpus | TokenStore,
        *,
        tol: float,
        max_passes: int,
        iterations_per_pass: int,
        seed: int,
        first_look: int = FIRST_LOOK,
        every: int = 1,
    ) -> None:
        self._tol, self._per_pass = tol, iterations_per_pass
        self.max_iterations = max_passes * iterations_per_pass
        self._looks = look_passes(max_passes, first_look, every) if tol > 0 else ()
        rng = np.random.default_rng(np.random.SeedSequence([seed, 4]))
        doc_ids = rng.permutation(source.n_docs)[:SAMPLE_DOCUMENTS]
        counts = source.rows(doc_ids)
        tokens = np.cumsum(np.asarray(counts.sum(axis=1)))
        self._sample = counts[: max(int(np.searchsorted(tokens, SAMPLE_TOKENS)), 1)]

    def look(self, model: Any, record: dict[str, Any]) -> None:
        """Write "training_perplexity" and, at the end, "stopped" into an iteration's record."""
        passes, rest = divmod(record["iteration"], self._per_pass)
        if rest == 0 and passes in self._looks and self._sample.nnz:
            now = heldout_perplexity(
                model.current_phi(),
                self._sample,
                self._sample,
                pseudo_count=model._pseudo_count(),
            ).perplexity
            before = [r for r in model.history_ if "training_perplexity" in r]
            record["training_perplexity"] = now
            if before:
                fall = 1.0 - now / before[-1]["training_perplexity"]
                if fall < self._tol:
                    record["stopped"] = (
                        f"converged: from pass {before[-1]['iteration'] // self._per_pass} to "
                        f"{passes} the training perplexity fell by {100 * fall:.2g} %"
                    )
        if "stopped" not in record and record["iteration"] >= self.max_iterations:
            record["stopped"] = f"reached the bound of {passes} passes"


def look_passes(max_passes: int, first_look: int = FIRST_LOOK, every: int = 1) -> tuple[int, ...]:
    """After which passes the objective is looked at."""
    looks, passes = [], float(first_look)
    while (look := math.ceil(passes / every) * every) <= max_passes:
        looks.append(look)
        passes = max(LOOK_RATIO * look, look + 1)
    return tuple(looks)
