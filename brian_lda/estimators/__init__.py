"""Topic models in scikit-learn's conventions, one file an algorithm."""

from brian_lda.estimators.base import TopicModel
from brian_lda.estimators.callbacks import ProgressBar, StopAt, TrackPerplexity
from brian_lda.estimators.collapsed_gibbs import CollapsedGibbsLDA
from brian_lda.estimators.du_spike_lda import DuSpikeLDA
from brian_lda.estimators.ed_spike_lda import EdSpikeLDA
from brian_lda.estimators.ed_spike_plsi import EdSpikePLSI
from brian_lda.estimators.semi_spike_lda import SemiSpikeLDA
from brian_lda.estimators.sgmcmc import StochasticGradientMCMCLDA
from brian_lda.estimators.spike_cgs import SpikeCGS
from brian_lda.estimators.svi import StochasticVariationalLDA
from brian_lda.estimators.theta_in_spikes import fold_in_spikes

__all__ = [
    "CollapsedGibbsLDA",
    "DuSpikeLDA",
    "EdSpikeLDA",
    "EdSpikePLSI",
    "ProgressBar",
    "SemiSpikeLDA",
    "SpikeCGS",
    "StochasticGradientMCMCLDA",
    "StochasticVariationalLDA",
    "StopAt",
    "TopicModel",
    "TrackPerplexity",
    "fold_in_spikes",
]
