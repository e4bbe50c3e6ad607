"""`CollapsedGibbsLDA`: the paper's batch baseline on smoothed LDA."""

from __future__ import annotations

from typing import Any

import numpy as np

from brian_lda.estimators.gibbs import GibbsModel
from brian_lda.estimators.protocols import Sampler
from brian_lda.reference.collapsed_gibbs import CollapsedGibbs


class CollapsedGibbsLDA(GibbsModel):
    """Baseline CGS (Griffiths & Steyvers 2004) on counts; parameters as in `SpikeCGS`."""

    spiking = False

    def _sampler(self, words: np.ndarray, docs: np.ndarray, **arguments: Any) -> Sampler:
        return CollapsedGibbs(words, docs, **arguments)
