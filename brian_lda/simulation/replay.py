"""A few tokens shown to the circuit of Alg. 1 with weights that do not change: for rasters.

Any trained model has Phi and Theta, and with M^alpha = log Phi, M^beta = log Theta the circuit
draws topics from p(z | w, d) ~ phi_zw theta_dz, whatever algorithm trained them. Only the word and
document neurons that the tokens need are built, so that a replay takes seconds at any V and D.
"""

from __future__ import annotations

import numpy as np

from brian_lda.circuit.inhibition import Poisson
from brian_lda.errors import ParameterError
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation.event_driven import EventDrivenSpiking
from brian_lda.simulation.recording import EVERYTHING, Recording, Spikes
from brian_lda.step_rules import FROZEN

SMALLEST = 1e-140  # a probability of 0 gets a weight that is a number, and so is a product


def replay_tokens(
    phi: np.ndarray,
    theta: np.ndarray,
    words: np.ndarray,
    docs: np.ndarray,
    *,
    seed: int,
    rate: float = 200.0,
) -> Spikes:
    """Present tokens in clocked time and record words, documents, winners and rejected ties.

    Parameters
    ----------
    phi : float array [topic, word]
    theta : float array [doc, topic]
    words, docs : int array [token]
    seed : int
    rate : float
        Hz, of the topic layer as a whole: a token takes about 1/rate seconds.

    Returns
    -------
    Spikes
        `index` counts words and documents as `phi` and `theta` do.
    """
    if not len(words):
        raise ParameterError("words must hold at least one token; found none.")
    used_words, own_words = np.unique(words, return_inverse=True)
    used_docs, own_docs = np.unique(docs, return_inverse=True)
    n_topics = len(phi)
    state = {
        "M__alpha": np.log(np.maximum(phi[:, used_words], SMALLEST)),
        "M__beta": np.log(np.maximum(theta[used_docs], SMALLEST)),
        "n_alpha": np.zeros(n_topics),
        "n_beta": np.zeros(len(used_docs)),
    }
    network = EventDrivenSpiking(
        EventDrivenParameters(n_topics, None, FROZEN, FROZEN),
        len(used_words),
        np.bincount(own_docs),
        seed=seed,
        initial=state,
        inhibition=Poisson(rate=rate, normalised=True),
        simulator="numpy",
    )
    network.present(
        own_words, own_docs, record=Recording(("word", "document", "attempt"), windows=EVERYTHING)
    )
    spikes = network.spikes
    assert spikes is not None  # there are tokens, and they were recorded
    spikes.index["word"] = used_words[spikes.index["word"]]
    spikes.index["document"] = used_docs[spikes.index["document"]]
    return spikes
