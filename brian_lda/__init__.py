"""brian_lda: probabilistic topic models trained by spiking neural networks, on Brian2.

The algorithms are those of Xiao, Chen & Zhu, "Towards Training Probabilistic Topic Models on
Neuromorphic Multi-chip Systems", AAAI 2018. Start with the estimators below (scikit-learn's
conventions), `brian_lda.corpus.load_corpus` and `sims/train.py`. What is meant for users is here
and in `brian_lda.corpus`, `brian_lda.plotting`, `brian_lda.hardware`, `brian_lda.models` (the
networks) and `brian_lda.simulation` (what runs them). Importing brian_lda does not import Brian2.
"""

from importlib.metadata import version

from brian_lda.automatic_steps import event_doc_step, event_word_step
from brian_lda.comparison import compare_twins
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
    fold_in_spikes,
)
from brian_lda.evaluation import heldout_perplexity, match_topics, top_words
from brian_lda.initial_weights import word_smoothing
from brian_lda.parameters import BatchParameters, EventDrivenParameters
from brian_lda.reference.mean_limit import EventDrivenMeanLimit
from brian_lda.reference.mean_limit import solve as solve_mean_limit
from brian_lda.step_rules import FROZEN, AdaGrad, RMSProp, RobbinsMonro, VarianceTracking

__version__ = version("brian_lda")
load_model = TopicModel.load

__all__ = [
    "FROZEN",
    "AdaGrad",
    "BatchParameters",
    "BrianLDAError",
    "CollapsedGibbsLDA",
    "Constraints",
    "DuSpikeLDA",
    "EdSpikeLDA",
    "EdSpikePLSI",
    "EventDrivenMeanLimit",
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
    "compare_twins",
    "event_doc_step",
    "event_word_step",
    "fold_in_spikes",
    "heldout_perplexity",
    "load_model",
    "match_topics",
    "solve_mean_limit",
    "top_words",
    "word_smoothing",
]
