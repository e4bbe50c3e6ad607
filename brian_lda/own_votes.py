"""What a token's own votes weigh in Phi when its document comes again.

Alg. 4 takes a token's last winner out of its document's counts before the token is raced again, but
not out of Phi. There the token finds the votes of its own past passes, and votes for them again:
where words are rare, each document teaches Phi its own chance topics. Collapsed Gibbs sampling
[Alg. 2] takes both out. With `BatchParameters.exclude_own_votes` semi-SpikeLDA does so, too: the
word synapse w_zw of the token's last topic z is raced with what is left of it,

    w_zw - min(own_z, w_zw - varphi_w vote_z).

vote_z is the weight of one vote a pass. n_z spikes came in `passes` passes, those that the prior
stands for among them, and the weights of a topic neuron sum to 1: vote_z = passes/n_z. Of a token
that votes once a pass, w holds its votes of one pass ago, two passes ago, ..., each faded by the
steps since. Their sum is close to the integral of the fading from half a pass ago backwards, which
is what is left in w of all that is older than half a pass:

    own_z = vote_z exp(-sum of eta over the last half of a pass).

No vote is remembered but the token's last winner, which the negative phase knows already. It stands
for the topics that the token voted for before: the more often it voted for one, the more often it
will be there. What no token voted for, the prior's share, is not taken.

In the first pass no document has voted yet. In a stream none comes again later (`partial_fit`).
"""

from __future__ import annotations

import numpy as np

from brian_lda.parameters import BatchParameters
from brian_lda.step_rules import RobbinsMonro

ROUNDING = 1e-6  # spikes are added up batch by batch: a whole pass may be a little less


def excludes_own_votes(parameters: BatchParameters) -> bool:
    """Whether own votes are taken out: asked for, and known what they weigh.

    That takes one step per neuron, the flow, and a prior of every word: a word without one, that
    only this token has brought, would have no rate left.
    """
    return (
        parameters.exclude_own_votes
        and isinstance(parameters.word_step, RobbinsMonro)
        and parameters.integrator == "flow"
        and bool(np.all(np.asarray(parameters.topic_word_prior) > 0.0))
    )


def own_votes(
    parameters: BatchParameters, n_spikes: np.ndarray, n_training_tokens: float, varphi_sum: float
) -> tuple[np.ndarray, np.ndarray]:
    """vote_z and own_z, [topic], for the next mini-batch; zeros where nothing is taken out.

    Parameters
    ----------
    parameters : BatchParameters
    n_spikes : float array [topic]
        n_z: of each topic neuron so far, with those that the prior stands for.
    n_training_tokens : float
        N, the tokens of a pass.
    varphi_sum : float
        Over words: the counts of the prior in a pass, of each topic.
    """
    nothing = np.zeros(len(n_spikes))
    passes = n_spikes.sum() / (n_training_tokens + len(n_spikes) * varphi_sum)
    if passes < 1.0 - ROUNDING or not excludes_own_votes(parameters):
        return nothing, nothing
    assert isinstance(parameters.word_step, RobbinsMonro)
    vote = np.divide(passes, n_spikes, out=np.zeros(len(n_spikes)), where=n_spikes > 0)
    half_a_pass = n_spikes / (2.0 * passes)
    fading = parameters.word_step.sum_of_steps(n_spikes - half_a_pass, half_a_pass)
    return vote, vote * np.exp(-fading)
