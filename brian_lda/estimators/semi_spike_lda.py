"""`SemiSpikeLDA`: semi-collapsed Gibbs sampling, one update per mini-batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brian_lda.automatic_steps import WORD_PRIOR
from brian_lda.estimators.base import Callback
from brian_lda.estimators.mini_batch import MiniBatchModel
from brian_lda.reference.semi_spike_lda import SemiSpikeLDAReference
from brian_lda.step_rules import BatchStepRule

if TYPE_CHECKING:
    from brian_lda.simulation.recording import Recording


class SemiSpikeLDA(MiniBatchModel):
    """semi-SpikeLDA: maximises the semi-collapsed likelihood of LDA (Alg. 4).

    Parameters
    ----------
    n_topics : int
        K.
    doc_topic_prior : float or array [topic]
        lambda > 0.
    topic_word_prior : float or array [word]
        varphi, prior of Phi in counts a pass (ours, see `BatchParameters`); 0 is the paper's model.
    learn_prior : bool
        Learn how lambda is shared out among the topics; `doc_topic_prior` is where it starts, and
        its sum stays (`StreamedPrior` says why). It is learned from the eighth pass on, or from
        the middle of a shorter training; the result is in `doc_topic_prior_`.
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
        T: sweeps of burn-in, then as many that are counted.
    word_step : RobbinsMonro or RMSProp, optional
        Step of M^alpha. The paper's is `RMSProp(eta=0.5)` with integrator="euler"; the default is
        chosen for the corpus (`automatic_steps`).
    integrator : {"flow", "euler"}
    exclude_own_votes : bool
        Race a token without the votes for its last topic that it has left in Phi in earlier passes
        (ours, `brian_lda.own_votes`); False is Alg. 4. Without effect on a stream, without a prior
        on Phi, and with the paper's steps.
    n_jobs : int, optional
        Threads (-1: all cores); the result does not depend on it. Default: numba's setting.
    backend : {"rate", "brian2"}
    brian2_options : dict, optional
        inhibition, rate, dt, simulator, n_circuits: words and numbers
        (`brian_lda.estimators.brian2_options`).
    record : Recording or dict of its fields, optional
        What to record while the network learns in spikes; the windows are in `recorded_`.
    random_state : None, int or generator
    callbacks : sequence of callables
        See `brian_lda.estimators.callbacks`.

    Examples
    --------
    >>> from brian_lda import SemiSpikeLDA
    >>> from brian_lda.corpus import load_corpus
    >>> corpus = load_corpus("bars", grid=3, n_docs=200, doc_length=30, seed=0)
    >>> model = SemiSpikeLDA(n_topics=6, max_iter=20, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape
    (200, 6)
    """

    _twin = SemiSpikeLDAReference
    _spiking_name = "SemiSpikeLDASpiking"
    doc_step = None  # semi-CGS integrates theta out: M^beta has no step

    def __init__(
        self,
        *,
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 0.1,
        topic_word_prior: float | np.ndarray = WORD_PRIOR,
        learn_prior: bool = False,
        max_iter: int | None = None,
        max_passes: int = 100,
        tol: float = 0.012,
        batch_size: int | None = None,
        local_iterations: int = 5,
        word_step: BatchStepRule | None = None,
        integrator: str = "flow",
        exclude_own_votes: bool = True,
        n_jobs: int | None = None,
        backend: str = "rate",
        brian2_options: dict[str, Any] | None = None,
        record: Recording | dict[str, Any] | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learn_prior = learn_prior
        self.max_iter = max_iter
        self.max_passes = max_passes
        self.tol = tol
        self.batch_size = batch_size
        self.local_iterations = local_iterations
        self.word_step = word_step
        self.integrator = integrator
        self.exclude_own_votes = exclude_own_votes
        self.n_jobs = n_jobs
        self.backend = backend
        self.brian2_options = brian2_options
        self.record = record
        self.random_state = random_state
        self.callbacks = callbacks
