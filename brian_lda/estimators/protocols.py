"""What trainers drive: three kinds of algorithm, each offered by both twins."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy import sparse

from brian_lda.parameters import EventDrivenParameters


class Resumable(Protocol):
    """Hands out everything that its next step depends on, and goes on from there."""

    def state(self) -> dict[str, np.ndarray]: ...

    def set_state(self, state: dict[str, np.ndarray]) -> None: ...


class EventDrivenNetwork(Resumable, Protocol):
    """ed-SpikeLDA and ed-SpikePLSI: learn token by token."""

    parameters: EventDrivenParameters

    @property
    def M__alpha(self) -> np.ndarray: ...

    @property
    def J__alpha(self) -> np.ndarray: ...

    @property
    def M__beta(self) -> np.ndarray: ...

    def present(self, words: np.ndarray, docs: np.ndarray) -> np.ndarray: ...

    def end_pass(self) -> None: ...


class CountsTopics(Protocol):
    """Knows how often each document has used each topic, and takes another lambda."""

    @property
    def lamda(self) -> np.ndarray: ...

    @property
    def C_zd(self) -> np.ndarray: ...

    def set_prior(self, lamda: np.ndarray) -> None: ...


class Sampler(CountsTopics, Resumable, Protocol):
    """SpikeCGS and CGS: resample the topic of each token.

    `exact_counts`: kept as integers, which no rounding can lose.
    """

    z: np.ndarray
    exact_counts: bool

    @property
    def phi(self) -> np.ndarray: ...

    @property
    def theta(self) -> np.ndarray: ...

    def sweep(self) -> object: ...


class BatchUpdates(Resumable, Protocol):
    """semi- and du-SpikeLDA, variational inference, SGMCMC: one update per mini-batch."""

    @property
    def phi(self) -> np.ndarray: ...

    def update(self, counts: sparse.csr_array) -> object: ...
