"""`EdSpikePLSI`: pLSI, one update per topic spike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brian_lda.automatic_steps import UNSMOOTHED_DOC_RESTART, WORD_PRIOR
from brian_lda.estimators.base import Callback
from brian_lda.estimators.event_driven import EventDrivenModel
from brian_lda.reference.ed_spike_plsi import EdSpikePLSIReference
from brian_lda.step_rules import EventStepRule

if TYPE_CHECKING:
    from brian_lda.simulation.recording import Recording


class EdSpikePLSI(EventDrivenModel):
    """ed-SpikePLSI: pLSI by spikes, a theta without prior (paper's appendix).

    Parameters
    ----------
    n_topics : int
        K.
    topic_word_prior : float or array [word]
        varphi, pseudo-counts of each word in each topic, as in `EdSpikeLDA` (ours; 0 is the paper's
        maximum likelihood).
    max_iter : int, optional
        Passes over the corpus. Default: train until the training perplexity has converged.
    max_passes : int
        Without `max_iter`: at most so many passes.
    tol : float
        Without `max_iter`: smallest fall of the training perplexity that counts
        (`brian_lda.estimators.convergence`).
    word_step, doc_step : RobbinsMonro, VarianceTracking or AdaGrad, optional
        Step of M^alpha and M^beta. The paper's is `VarianceTracking()` for both, with
        integrator="euler"; the default is chosen for the corpus (`automatic_steps`).
    integrator : {"flow", "euler"}
    gauge : bool, optional
        Default: whenever the word step allows it.
    doc_restart : int
        After so many passes documents begin anew, with M^beta = log(1/K) (ours; 0: never). A topic
        that a document has lost, by chance or while the topics meant nothing yet, has no prior of
        theta to come back by (`docs/defaults.md`).
    fold_in_prior : float
        pLSI has no prior on theta; folding a new document in needs one. Pseudo-counts.
    backend : {"rate", "brian2"}
    brian2_options : dict, optional
        inhibition, rate, dt, simulator: words and numbers
        (`brian_lda.estimators.brian2_options`).
    record : Recording or dict of its fields, optional
        What to record while the network learns in spikes; the windows are in `recorded_`.
    random_state : None, int or generator
    callbacks : sequence of callables
        See `brian_lda.estimators.callbacks`.
    """

    _twin = EdSpikePLSIReference

    def __init__(
        self,
        *,
        n_topics: int = 10,
        topic_word_prior: float | np.ndarray = WORD_PRIOR,
        max_iter: int | None = None,
        max_passes: int = 200,
        tol: float = 0.002,
        word_step: EventStepRule | None = None,
        doc_step: EventStepRule | None = None,
        integrator: str = "flow",
        gauge: bool | None = None,
        doc_restart: int = UNSMOOTHED_DOC_RESTART,
        fold_in_prior: float = 0.1,
        backend: str = "rate",
        brian2_options: dict[str, Any] | None = None,
        record: Recording | dict[str, Any] | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.max_passes = max_passes
        self.tol = tol
        self.word_step = word_step
        self.doc_step = doc_step
        self.integrator = integrator
        self.gauge = gauge
        self.doc_restart = doc_restart
        self.fold_in_prior = fold_in_prior
        self.backend = backend
        self.brian2_options = brian2_options
        self.record = record
        self.random_state = random_state
        self.callbacks = callbacks

    def _lamda(self) -> None:
        return None

    def _pseudo_count(self) -> float:
        return self.fold_in_prior
