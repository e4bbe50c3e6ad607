"""`SpikeCGS`: collapsed Gibbs sampling of smoothed LDA by spikes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brian_lda.estimators.base import Callback
from brian_lda.estimators.gibbs import GibbsModel
from brian_lda.estimators.protocols import Sampler
from brian_lda.estimators.spiking_options import spiking_options
from brian_lda.reference.spike_cgs import SpikeCGSReference

if TYPE_CHECKING:
    from brian_lda.simulation.recording import Recording


class SpikeCGS(GibbsModel):
    """SpikeCGS: collapsed Gibbs sampling carried out by spikes (Alg. 2).

    Parameters
    ----------
    n_topics : int
        K.
    doc_topic_prior : float or array [topic]
        lambda > 0.
    topic_word_prior : float or array [word]
        varphi > 0.
    learn_prior : bool
        Learn lambda, one for each topic; `doc_topic_prior` is where it starts. First after 20
        sweeps, then every 10; the result is in `doc_topic_prior_`.
    max_iter : int
        Sweeps over the corpus.
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

    def __init__(
        self,
        *,
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 0.1,
        topic_word_prior: float | np.ndarray = 0.01,
        learn_prior: bool = False,
        max_iter: int = 200,
        backend: str = "rate",
        brian2_options: dict[str, Any] | None = None,
        record: Recording | dict[str, Any] | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        super().__init__(
            n_topics=n_topics,
            doc_topic_prior=doc_topic_prior,
            topic_word_prior=topic_word_prior,
            learn_prior=learn_prior,
            max_iter=max_iter,
            backend=backend,
            random_state=random_state,
            callbacks=callbacks,
        )
        self.brian2_options = brian2_options
        self.record = record

    def _sampler(self, words: np.ndarray, docs: np.ndarray, **arguments: Any) -> Sampler:
        if self.backend == "rate":
            return SpikeCGSReference(words, docs, **arguments)
        from brian_lda.simulation import SpikeCGSSpiking  # imports Brian2: seconds

        sampler = SpikeCGSSpiking(words, docs, **arguments, **spiking_options(self))
        sampler.prepare()  # compiling is not training: `history_` times the iterations
        return sampler
