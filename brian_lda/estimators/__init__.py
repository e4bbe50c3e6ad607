"""Topic models in scikit-learn's conventions."""

from brian_lda.estimators.base import TopicModel
from brian_lda.estimators.baselines import StochasticGradientMCMCLDA, StochasticVariationalLDA
from brian_lda.estimators.callbacks import ProgressBar, StopAt, TrackPerplexity
from brian_lda.estimators.event_driven import SpikePLSI
from brian_lda.estimators.gibbs import CollapsedGibbsLDA, SpikeCGS
from brian_lda.estimators.spike_lda import SemiSpikeLDA, SpikeLDA

__all__ = [
    "CollapsedGibbsLDA",
    "ProgressBar",
    "SemiSpikeLDA",
    "SpikeCGS",
    "SpikeLDA",
    "SpikePLSI",
    "StochasticGradientMCMCLDA",
    "StochasticVariationalLDA",
    "StopAt",
    "TopicModel",
    "TrackPerplexity",
]
