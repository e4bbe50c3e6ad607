"""brian_lda: probabilistic topic models trained by spiking neural networks, on Brian2.

The algorithms are those of Xiao, Chen & Zhu, "Towards Training Probabilistic Topic Models on
Neuromorphic Multi-chip Systems", AAAI 2018. Start with the estimators below (scikit-learn's
conventions), `brian_lda.corpus.load_corpus` and `sims/train.py`.
"""

from importlib.metadata import version

from brian_lda.errors import BrianLDAError, MissingDependencyError
from brian_lda.estimators import (
    CollapsedGibbsLDA,
    SemiSpikeLDA,
    SpikeCGS,
    SpikeLDA,
    SpikePLSI,
    StochasticGradientMCMCLDA,
    StochasticVariationalLDA,
    TopicModel,
)
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
    "EventDrivenParameters",
    "MissingDependencyError",
    "RMSProp",
    "RobbinsMonro",
    "SemiSpikeLDA",
    "SpikeCGS",
    "SpikeLDA",
    "SpikePLSI",
    "StochasticGradientMCMCLDA",
    "StochasticVariationalLDA",
    "TopicModel",
    "VarianceTracking",
    "load_model",
]
