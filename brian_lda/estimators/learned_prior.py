"""When lambda is learned, and from which documents (`learn_prior=True`).

The fixed point itself is in `brian_lda.reference.dirichlet`. It reads the counts C_zd of either
twin and hands the twin its new lambda, between two sweeps or mini-batches: both twins learn the
same lambda from the same counts, and the spiking networks need no equation for it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from brian_lda.estimators.protocols import CountsTopics, Resumable
from brian_lda.reference.dirichlet import CountHistogram, most_probable_lambda, proportions_step

# In sweeps. The first assignments are drawn uniformly, and would make lambda large. Every sweep
# would be too often, because assignments change little in one; tomotopy learns lambda every 10
# sweeps, and MALLET's manual calls that reasonable.
BURN_IN, INTERVAL = 20, 10
FORGETTING = 0.6  # mini-batch n after the burn-in replaces n^-0.6 of what the earlier ones said


class LearnedPrior(Resumable, Protocol):
    """What a trainer tells of the end of every iteration."""

    @property
    def lamda(self) -> np.ndarray: ...

    def after_iteration(self) -> None: ...


class SweptPrior:
    """Lambda of a sampler that keeps all documents (SpikeCGS, CGS): the most probable one.

    Parameters
    ----------
    sampler : CountsTopics
    """

    def __init__(self, sampler: CountsTopics) -> None:
        self._sampler = sampler
        self._n_sweeps = 0

    @property
    def lamda(self) -> np.ndarray:
        """lambda [topic] as of now."""
        return self._sampler.lamda

    def after_iteration(self) -> None:
        """Learn lambda from all documents, if it is time."""
        self._n_sweeps += 1
        if self._n_sweeps >= BURN_IN and self._n_sweeps % INTERVAL == 0:
            histogram = CountHistogram.of(self._sampler.C_zd)
            self._sampler.set_prior(most_probable_lambda(histogram, self.lamda))

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next lambda depends on, beside the sampler's state."""
        return {"doc_topic_prior": self.lamda.copy(), "n_sweeps": np.array([self._n_sweeps])}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state; to be followed by the sampler's, whose weights hold lambda."""
        self._sampler.set_prior(state["doc_topic_prior"])
        self._n_sweeps = int(state["n_sweeps"][0])


class StreamedPrior:
    """Lambda of semi-SpikeLDA, from documents that come and go in mini-batches.

    The proportions lambda_z / Lambda are learned, the sum Lambda stays as given. semi-SpikeLDA fits
    Phi to the very documents that it counts, where collapsed samplers leave the token out that they
    resample: its documents seem to use fewer topics than new ones do, the more so the smaller
    lambda is. On KOS (K = 50, 20 passes) Lambda falls to 0.9 if it is learned, to 2.0 if it is
    learned from test documents, and to 3.0 in collapsed Gibbs sampling; the first raises held-out
    perplexity from 1 520 to 1 577. `dirichlet.proportions_step` keeps every lambda_z positive.

    Counts are dropped with their mini-batch; what stays of them is S_z of `dirichlet`, K numbers.
    Each mini-batch adds its own, taken at the lambda that it was sampled with, and makes the
    earlier ones fade: an average over about n^0.6 mini-batches, which is a pass or so when training
    ends, and follows Phi while it still moves (online EM, Cappe & Moulines 2009). Then lambda makes
    one step.

    Parameters
    ----------
    algorithm : CountsTopics
    burn_in : int
        Mini-batches before the first step. A topic that is large by chance in the beginning
        would win all the more.
    """

    def __init__(self, algorithm: CountsTopics, burn_in: int) -> None:
        self._algorithm, self._burn_in = algorithm, burn_in
        self._n_batches = 0
        self._total = float(algorithm.lamda.sum())
        self._tables = np.zeros_like(algorithm.lamda)

    @property
    def lamda(self) -> np.ndarray:
        """lambda [topic] as of now."""
        return self._algorithm.lamda

    def after_iteration(self) -> None:
        """Learn lambda from the documents of the latest mini-batch."""
        self._n_batches += 1
        if (n := self._n_batches - self._burn_in) < 1:
            return
        tables = CountHistogram.of(self._algorithm.C_zd).tables(self.lamda)
        self._tables = (1.0 - n**-FORGETTING) * self._tables + tables
        self._algorithm.set_prior(proportions_step(self._tables, self._total))

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next lambda depends on."""
        return {
            "doc_topic_prior": self.lamda.copy(),
            "prior_tables": self._tables.copy(),
            "n_prior_batches": np.array([self._n_batches]),
            "prior_burn_in": np.array([self._burn_in]),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state."""
        self._algorithm.set_prior(state["doc_topic_prior"])
        self._tables = np.array(state["prior_tables"], np.float64)
        self._n_batches = int(state["n_prior_batches"][0])
        self._burn_in = int(state["prior_burn_in"][0])
