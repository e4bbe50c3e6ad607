r"""Theta of documents from spikes, Phi held fixed: `brian_lda.evaluation.fold_in` by a network.

It is ed-SpikeLDA, whose word synapses hold log Phi and do not learn. New documents get synapses of
their own, which begin at the prior and follow (3b) of `models/ed_spike_lda.py`:

.. math:: M^\beta_{zd} \leftarrow M^\beta_{zd} + \eta\Big[\big(h_z + \tfrac{c_z}{N_d}\big)
          e^{-M^\beta_{zd}} - \tfrac1\kappa - \tfrac1{N_d}\Big]

with c = lambda - 1 the pseudo-counts and kappa their sum. In the mean, with E h_z = sum_w n_dw/N_d
phi_zw theta_dz / sum_z' ..., this is the step of EM, whose fixed point is the MAP solution that
`fold_in` finds. Theta is read from spikes: the winners of a document in the second half of the
passes are counted, C_dz a pass, and

.. math:: \theta_{dz} = \frac{C_{dz} + c_z}{N_d + \kappa}.

The step falls with the tokens of the document as n^-0.6 (sum of eta infinite, sum of eta^2 finite),
so that theta tends to the MAP solution as the passes grow in number. With as many as here it is a
little flatter, on the side of the posterior mean (`docs/results.md`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brian_lda.corpus.corpus import doc_lengths, expand_tokens
from brian_lda.errors import ParameterError
from brian_lda.evaluation.fold_in import checked_arguments
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters
from brian_lda.step_rules import RobbinsMonro

PASSES = 60
# eta of M^beta in relaxation times: over 5 tokens at first, 100 after the 60 passes of 50 tokens
STEP = RobbinsMonro(scale=0.2, offset=20.0, power=0.6)


def fold_in_spikes(
    phi: np.ndarray,
    counts: Any,
    pseudo_count: float | np.ndarray,
    *,
    n_passes: int = PASSES,
    seed: int = 0,
    **options: Any,
) -> np.ndarray:
    """Theta of each document, learned in spikes.

    Parameters
    ----------
    phi : float array [topic, word]
        Rows sum to 1.
    counts : [doc, word]
        Anything that `brian_lda.corpus.as_counts` takes.
    pseudo_count : float or float array [topic]
        c above, more than 0. A document without tokens gets its normalised prior.
    n_passes : int
        How often each token is shown.
    seed : int
        Of the spikes and of the order of the tokens.
    **options
        inhibition, simulator: see `SpikingNetwork`.

    Returns
    -------
    float array [doc, topic]
        Rows sum to 1.
    """
    counts, phi, c = checked_arguments(phi, counts, pseudo_count)
    (n_docs, n_words), K = counts.shape, len(phi)
    if c.min() <= 0:
        raise ParameterError(
            f"pseudo_count must be more than 0 in spikes, so that theta has a prior; found "
            f"{pseudo_count!r}. `brian_lda.evaluation.fold_in` takes 0."
        )
    if n_passes < 1:
        raise ParameterError(f"n_passes must be at least 1; found {n_passes!r}.")
    lengths = doc_lengths(counts)
    parameters = EventDrivenParameters(n_topics=K, doc_topic_prior=1.0 + c, doc_step=STEP)
    first = initial_state(parameters, n_words, lengths, seed)
    with np.errstate(divide="ignore"):  # a word that a topic does not know: as small as can be
        first["M__alpha"] = np.log(phi)
    first["M__beta"] = np.tile(np.log(c), (n_docs, 1))
    from brian_lda.simulation import EventDrivenSpiking  # imports Brian2: seconds

    network = EventDrivenSpiking(parameters, n_words, lengths, seed=seed, initial=first, **options)
    network.network.constants["topics.scale__alpha"] = 0.0  # the step of M^alpha: none
    words, docs = expand_tokens(counts)
    C, n_counted = np.zeros((n_docs, K)), n_passes - n_passes // 2
    for n_pass in range(n_passes):
        order = np.random.default_rng([seed, n_pass]).permutation(len(words))
        winners = network.present(words[order], docs[order])
        if n_pass >= n_passes - n_counted:
            np.add.at(C, (docs[order], winners), 1.0 / n_counted)
    return (C + c) / (C + c).sum(axis=1, keepdims=True)
