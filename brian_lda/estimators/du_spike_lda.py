"""`DuSpikeLDA`: online MAP estimation of LDA, one update per mini-batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brian_lda.automatic_steps import DELAYED_FADING, WORD_PRIOR
from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError
from brian_lda.estimators.base import Callback
from brian_lda.estimators.mini_batch import MiniBatchModel
from brian_lda.parameters import dirichlet_vector, require_map_prior
from brian_lda.reference.du_spike_lda import DuSpikeLDAReference
from brian_lda.step_rules import BatchStepRule

if TYPE_CHECKING:
    from brian_lda.simulation.recording import Recording


class DuSpikeLDA(MiniBatchModel):
    """du-SpikeLDA: ed-SpikeLDA with delayed updates, averaged over a mini-batch (Remark 2).

    Parameters
    ----------
    n_topics : int
        K.
    doc_topic_prior : float or array [topic]
        lambda > 1 (kappa = sum(lambda - 1) must be positive).
    topic_word_prior : float or array [word]
        varphi, prior of Phi in counts a pass (ours, see `BatchParameters`); 0 is the paper's model.
    max_iter : int, optional
        Mini-batch updates. Default: train until the training perplexity has converged.
    max_passes : int
        Without `max_iter`: at most so many passes over the corpus.
    tol : float
        Without `max_iter`: smallest fall of the training perplexity that counts
        (`brian_lda.estimators.convergence`).
    batch_size : int, optional
        Documents per mini-batch. Default: a 128th of the corpus.
    local_iterations : int
        T: local iterations of burn-in, then as many that are counted.
    word_step, doc_step : RobbinsMonro or RMSProp, optional
        Step of M^alpha and M^beta. The default is chosen for the corpus (`automatic_steps`).
    integrator : {"flow", "euler"}
    n_jobs : int, optional
        Threads (-1: all cores); the result does not depend on it. Default: numba's setting.
    backend : {"rate", "brian2"}
    brian2_options : dict, optional
        inhibition, rate, dt, simulator, n_circuits: words and numbers
        (`brian_lda.estimators.brian2_options`).
    constraints : Constraints or dict of its fields, optional
        Limits of chips: weight bits, dead synapses (`brian_lda.constraints`). With
        backend="brian2", and without lost packets.
    record : Recording or dict of its fields, optional
        What to record while the network learns in spikes; the windows are in `recorded_`.
    random_state : None, int or generator
    callbacks : sequence of callables
        See `brian_lda.estimators.callbacks`.
    """

    _twin = DuSpikeLDAReference
    _spiking_name = "DuSpikeLDASpiking"
    _fading = DELAYED_FADING

    def __init__(
        self,
        *,
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 1.1,
        topic_word_prior: float | np.ndarray = WORD_PRIOR,
        max_iter: int | None = None,
        max_passes: int = 100,
        tol: float = 0.005,
        batch_size: int | None = None,
        local_iterations: int = 5,
        word_step: BatchStepRule | None = None,
        doc_step: BatchStepRule | None = None,
        integrator: str = "flow",
        n_jobs: int | None = None,
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
        self.batch_size = batch_size
        self.local_iterations = local_iterations
        self.word_step = word_step
        self.doc_step = doc_step
        self.integrator = integrator
        self.n_jobs = n_jobs
        self.backend = backend
        self.brian2_options = brian2_options
        self.constraints = constraints
        self.record = record
        self.random_state = random_state
        self.callbacks = callbacks

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.constraints is not None and self.backend == "rate":
            raise ParameterError(
                "constraints of DuSpikeLDA need backend='brian2': at rate level only EdSpikeLDA "
                "has them."
            )
        require_map_prior(dirichlet_vector(self.doc_topic_prior, self.n_topics, "doc_topic_prior"))

    def _pseudo_count(self) -> float | np.ndarray:
        return np.asarray(self.doc_topic_prior) - 1.0  # the MAP solution counts lambda - 1
