"""brian_lda: probabilistic topic models trained by spiking neural networks, on Brian2.

The algorithms are those of Xiao, Chen & Zhu, "Towards Training Probabilistic Topic Models on
Neuromorphic Multi-chip Systems", AAAI 2018. Start with the estimators below (scikit-learn's
conventions), `brian_lda.corpus.load_corpus` and `sims/train.py`.
"""

from importlib.metadata import version

from brian_lda.estimators import (
    CollapsedGibbsLDA,
    DuSpikeLDA,
    EdSpikeLDA,
    EdSpikePLSI,
    SemiSpikeLDA,
    SpikeCGS,
    StochasticGradientMCMCLDA,
    StochasticVariationalLDA,
    TopicModel,
)

__version__ = version("brian_lda")
load_model = TopicModel.load

__all__ = [
    "CollapsedGibbsLDA",
    "DuSpikeLDA",
    "EdSpikeLDA",
    "EdSpikePLSI",
    "SemiSpikeLDA",
    "SpikeCGS",
    "StochasticGradientMCMCLDA",
    "StochasticVariationalLDA",
    "TopicModel",
    "load_model",
]
