"""One evaluation for every algorithm: held-out perplexity, theta fold-in, topics, SVM accuracy."""

from brian_lda.evaluation.classification import BINARY_GROUPS, svm_accuracy
from brian_lda.evaluation.fold_in import fold_in, fold_in_gibbs
from brian_lda.evaluation.held_out import FLOOR, HeldOutScore, heldout_perplexity
from brian_lda.evaluation.topics import (
    TopicMatch,
    match_topics,
    npmi_coherence,
    top_word_ids,
    top_words,
)
from brian_lda.evaluation.variational import effective_counts, variational_phi

__all__ = [
    "BINARY_GROUPS",
    "FLOOR",
    "HeldOutScore",
    "TopicMatch",
    "effective_counts",
    "fold_in",
    "fold_in_gibbs",
    "heldout_perplexity",
    "match_topics",
    "npmi_coherence",
    "svm_accuracy",
    "top_word_ids",
    "top_words",
    "variational_phi",
]
