"""brian_lda: probabilistic topic models trained by spiking neural networks, on Brian2.

The algorithms are those of Xiao, Chen & Zhu, "Towards Training Probabilistic Topic Models on
Neuromorphic Multi-chip Systems", AAAI 2018. Start with the estimators below (scikit-learn's
conventions), `brian_lda.corpus.load_corpus` and `sims/train.py`. What is meant for users is here
and in `brian_lda.corpus`, `brian_lda.plotting`, `brian_lda.hardware` and `brian_lda.models`.
"""

from importlib.metadata import version

from brian_lda.constraints import Constraints
from brian_lda.errors import BrianLDAError, MissingDependencyError
from brian_lda.estimators import (
    CollapsedGibbsLDA,
    DuSpikeLDA,
    EdSpikeLDA,
    EdSpikePLSI,
    ProgressBar,
    SemiSpikeLDA,
    SpikeCGS,
    StochasticGradientMCMCLDA,
    StochasticVariationalLDA,
    StopAt,
    TopicModel,
    TrackPerplexity,
)
from brian_lda.evaluation import heldout_perplexity, match_topics, top_words
from brian_lda.parameters import (
    AdaGrad,
    BatchParameters,
    EventDrivenParameters,
    RMSProp,
    RobbinsMonro,
    VarianceTracking,
)

__version__ = version("brian_lda")
load_model = TopicModel.load

__all__ = [
    "AdaGrad",
    "BatchParameters",
    "BrianLDAError",
    "CollapsedGibbsLDA",
    "Constraints",
    "DuSpikeLDA",
    "EdSpikeLDA",
    "EdSpikePLSI",
    "EventDrivenParameters",
    "MissingDependencyError",
    "ProgressBar",
    "RMSProp",
    "RobbinsMonro",
    "SemiSpikeLDA",
    "SpikeCGS",
    "StochasticGradientMCMCLDA",
    "StochasticVariationalLDA",
    "StopAt",
    "TopicModel",
    "TrackPerplexity",
    "VarianceTracking",
    "heldout_perplexity",
    "load_model",
    "match_topics",
    "top_words",
]
