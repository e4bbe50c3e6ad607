"""First values for a network that is used by itself, in a script or a notebook.

Training sets values of its own (`brian_lda.simulation`); `build` of a model sets these, so that the
network can be shown tokens at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from brian2 import second

from brian_lda.automatic_steps import WORD_PRIOR, event_doc_step, event_word_step
from brian_lda.circuit.circuit import Circuit, Values
from brian_lda.circuit.inhibition import Inhibition, Race
from brian_lda.circuit.kept import Kept
from brian_lda.errors import ParameterError
from brian_lda.parameters import EventDrivenParameters

MEAN_LENGTH = 100  # of documents that nothing is known about


def start(
    net: Circuit,
    kept: Sequence[Kept],
    known: Mapping[str, np.ndarray],
    constants: Values,
    inhibition: Inhibition | None,
) -> Circuit:
    """Set what a network keeps and what it only reads; returns the network."""
    inhibition = inhibition or Race()
    net.clock.dt = inhibition.dt * second
    net.set(inhibition.values)
    net.set(constants)
    for variable in kept:
        array = variable.into_network(known[variable.name], net.sizes, net.sizes)
        net.set({variable.path: array if variable.axes != "one" else float(array[0])})
    return net


def lengths_of_documents(n_docs: int, doc_lengths: Sequence[int] | None) -> np.ndarray:
    """N_d [doc], as given or a guess."""
    if doc_lengths is None:
        return np.full(n_docs, MEAN_LENGTH)
    if len(doc_lengths) != n_docs:
        raise ParameterError(
            f"doc_lengths must hold one length per document ({n_docs}); found {len(doc_lengths)}."
        )
    return np.asarray(doc_lengths)


def event_driven_defaults(
    n_topics: int,
    n_words: int,
    doc_lengths: np.ndarray,
    doc_topic_prior: float | None = 1.1,
    topic_word_prior: float = WORD_PRIOR,
) -> EventDrivenParameters:
    """The parameters that an estimator without settings would choose for such documents."""
    n_tokens = int(doc_lengths.sum())
    mean_length = max(n_tokens / max(int((doc_lengths > 0).sum()), 1), 1.0)
    lamda = None if doc_topic_prior is None else np.full(n_topics, doc_topic_prior)
    return EventDrivenParameters(
        n_topics,
        lamda,
        event_word_step(n_topics, n_words, n_tokens, smoothed=topic_word_prior > 0),
        event_doc_step(mean_length, smoothed=lamda is not None),
        topic_word_prior=topic_word_prior,
    )
