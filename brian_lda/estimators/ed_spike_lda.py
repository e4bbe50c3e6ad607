"""`EdSpikeLDA`: online MAP estimation of LDA, one update per topic spike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brian_lda.automatic_steps import WORD_PRIOR
from brian_lda.constraints import Constraints
from brian_lda.estimators.base import Callback
from brian_lda.estimators.event_driven import EventDrivenModel
from brian_lda.parameters import dirichlet_vector, require_map_prior
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.step_rules import EventStepRule

if TYPE_CHECKING:
    from brian_lda.simulation.recording import Recording


class EdSpikeLDA(EventDrivenModel):
    """ed-SpikeLDA: online MAP estimation of LDA, every topic spike updates the weights (Alg. 3).

    Parameters
    ----------
    n_topics : int
        K.
    doc_topic_prior : float or array [topic]
        lambda > 1 (kappa = sum(lambda - 1) must be positive).
    topic_word_prior : float or array [word]
        varphi, pseudo-counts of each word in each topic: the prior Dirichlet(varphi + 1) on phi_z
        (ours; 0 is the paper's model, without prior on Phi). The network finds the MAP under it
        (`docs/smoothing.md`). With integrator="euler", or a word_step that is not RobbinsMonro,
        the network is the paper's, and varphi K/N smooths Phi only where it is read out.
    max_iter : int, optional
        Passes over the corpus. Default: train until the training perplexity has converged.
    max_passes : int
        Without `max_iter`: at most so many passes.
    tol : float
        Without `max_iter`: smallest fall of the training perplexity that counts
        (`brian_lda.estimators.convergence`).
    word_step, doc_step : RobbinsMonro, VarianceTracking or AdaGrad, optional
        Step of M^alpha and M^beta. The paper's are `VarianceTracking()` and `AdaGrad(...)` with
        integrator="euler"; the default is chosen for the corpus (`automatic_steps`).
    integrator : {"flow", "euler"}
    gauge : bool, optional
        Default: whenever the word step allows it.
    backend : {"rate", "brian2"}
    brian2_options : dict, optional
        inhibition, rate, dt, simulator: words and numbers
        (`brian_lda.estimators.brian2_options`).
    constraints : Constraints or dict of its fields, optional
        Limits of chips: weight bits, lost packets, dead synapses (`brian_lda.constraints`).
    record : Recording or dict of its fields, optional
        What to record while the network learns in spikes; the windows are in `recorded_`.
    random_state : None, int or generator
    callbacks : sequence of callables
        See `brian_lda.estimators.callbacks`.
    """

    _twin = EdSpikeLDAReference

    def __init__(
        self,
        *,
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 1.1,
        topic_word_prior: float | np.ndarray = WORD_PRIOR,
        max_iter: int | None = None,
        max_passes: int = 200,
        tol: float = 0.002,
        word_step: EventStepRule | None = None,
        doc_step: EventStepRule | None = None,
        integrator: str = "flow",
        gauge: bool | None = None,
        backend: str = "rate",
        brian2_options: dict[str, Any] | None = None,
        constraints: Constraints | dict[str, Any] | None = None,
        record: Recording | dict[str, Any] | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.max_passes = max_passes
        self.tol = tol
        self.word_step = word_step
        self.doc_step = doc_step
        self.integrator = integrator
        self.gauge = gauge
        self.backend = backend
        self.brian2_options = brian2_options
        self.constraints = constraints
        self.record = record
        self.random_state = random_state
        self.callbacks = callbacks

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_map_prior(self._lamda())

    def _lamda(self) -> np.ndarray:
        return dirichlet_vector(self.doc_topic_prior, self.n_topics, "doc_topic_prior")

    def _pseudo_count(self) -> float | np.ndarray:
        return np.asarray(self.doc_topic_prior) - 1.0  # the MAP solution counts lambda - 1
