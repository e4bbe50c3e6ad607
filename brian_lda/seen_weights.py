"""What topic neurons see of the word synapses when Phi has a prior (`docs/smoothing.md`)."""

from __future__ import annotations

import numpy as np

from brian_lda.initial_weights import word_prior_vector
from brian_lda.parameters import EventDrivenParameters, PrunedWords


def seen_weights(
    M__alpha: np.ndarray,
    s_alpha: np.ndarray,
    parameters: EventDrivenParameters,
    pruned: PrunedWords | None = None,
) -> np.ndarray:
    """J = log(exp M^alpha_zw + varphi_w s_z), [topic, word]; exp J is what Phi is read from.

    Parameters
    ----------
    M__alpha : float array [topic, word]
        Where pruned, the shared synapse's weight, which holds the prior already.
    s_alpha : float array [topic]
        s_z.
    parameters : EventDrivenParameters
        varphi.
    pruned : PrunedWords, optional
    """
    if not parameters.smoothed:
        return M__alpha
    varphi = word_prior_vector(parameters.topic_word_prior, M__alpha.shape[1])
    with np.errstate(divide="ignore"):  # log 0: nothing has come in yet
        J = np.logaddexp(M__alpha, np.log(np.outer(s_alpha, varphi)))
    return J if pruned is None else np.where(pruned.private, J, M__alpha)
