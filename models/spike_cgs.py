r"""SpikeCGS: collapsed Gibbs sampling of smoothed LDA, a negative and a positive phase per token.

Xiao, Chen & Zhu (AAAI 2018), Alg. 2. The weights are logarithms of counts [Tab. 1(b)]:

.. math::
    e^{M^\alpha_{zw}} = C_{wz} + \varphi_w, \qquad e^{M^\beta_{zd}} = C_{zd} + \lambda_z, \qquad
    e^{b_z} = C_{\cdot z} + \bar\varphi

For a token (w, d) whose last topic was z':

=========  =============================================================================  ========
negative   word w, document d and topic z' fire; M^alpha_z'w, M^beta_z'd, b_z' <- tau_1   [line 4]
resample   race of the topic neurons [Alg. 1] with u = M^alpha.x + M^beta.x - b           [line 5]
positive   the winner z and its synapses: M^alpha_zw, M^beta_zd, b_z <- tau_2             [line 6]
=========  =============================================================================  ========

with tau_1(x) = log(exp x - 1) and tau_2(x) = log(exp x + 1).

The network below keeps exp M and exp b, the counts themselves: tau_1 takes 1 away, tau_2 adds 1,
and the rate exp(u) of a topic neuron is a product. Nothing drifts, however long it runs.

A synapse knows that it takes part by coincidence alone: its word (document) neuron has just fired,
and so has its topic neuron; which of the two rules acts is told by the global phase signal
(`brian_lda.circuit.assignments`).

Deviation: line 1 of Alg. 2 prints lambda and varphi in each other's place; Tab. 1(b) is right.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses

from brian_lda.circuit.assignments import NEVER_ASSIGNED, RECALL_EVENT, RECALLED, connect_memory
from brian_lda.circuit.circuit import Circuit, Sizes, no_delay
from brian_lda.circuit.inhibition import Inhibition, Race
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.start import start

KEPT = (
    Kept("alpha.w", "topic, word", written_by=("excite", "learn")),
    Kept("beta.p", "doc, topic", written_by=("excite", "learn")),
    Kept("topics.c", "topic"),
    Kept("memory.z", "token", fill=NEVER_ASSIGNED),
)


def wire(sizes: Sizes, inhibition: Inhibition | None = None, prefix: str = "") -> Circuit:
    """The network as Brian objects, without values.

    Parameters
    ----------
    sizes : Sizes
        `n_tokens` is the size of the corpus, whose assignments are remembered.
    inhibition : Race or Poisson, optional
        The default is `Race()`.
    prefix : str
        Begins the names of all objects.
    """
    inhibition = inhibition or Race()
    net = Circuit(sizes, prefix)

    # Layers. `clamped_layer` makes a NeuronGroup of which the token's neuron fires in every tick.
    words = net.clamped_layer("words", sizes.n_words)
    documents = net.clamped_layer("documents", sizes.n_docs)
    topics = NeuronGroup(
        sizes.n_topics,
        Equations("""
        rate : 1                             # exp(u): what the neuron fires at, Alg. 1 line 6
        u = log(rate) : 1                    # M^alpha.x + M^beta.x - b, footnote to Alg. 1
        c : 1                                # C_z + sum varphi
        b = log(c) : 1
        """)
        + RECALLED
        + inhibition.equations,
        threshold="h > 0",
        reset="c += 1",                      # line 6: tau_2(b)
        events={**RECALL_EVENT, **inhibition.events},
        clock=net.clock,
        namespace={},
        name=f"{prefix}topics",
    )  # fmt: skip
    topics.run_regularly(
        """
        rate = 0
        h = 0
        accepted = 0
        """,
        when="start",
        name=f"{prefix}topics_forget",
    )
    topics.run_regularly(
        """
        h_old = int(i == z_old)*negative     # line 4: the old topic neuron fires
        c -= h_old                           # line 4: tau_1(b)
        """,
        when="recall",
        order=1,
        name=f"{prefix}topics_recall",
    )
    net.listen(topics)

    # Inhibition: topics -> inhibitory neuron -> topics (`brian_lda/circuit/inhibition.py`).
    inhibition.connect(net)
    connect_memory(net)

    # Synapses.
    alpha = Synapses(
        words,
        topics,
        """
        w : 1                                # C_wz + varphi_w
        M__alpha = log(w) : 1
        """,
        on_pre={
            "excite": """
                w -= h_old_post              # line 4: tau_1(M)
                rate_post = w/c_post         # line 5
                """,
            "learn": "w += h_post",          # line 6: tau_2(M)
        },
        delay=no_delay("excite", "learn"),
        clock=net.clock,
        namespace={},
        name=f"{prefix}alpha",
    )  # fmt: skip
    alpha.connect()
    beta = Synapses(
        documents,
        topics,
        """
        p : 1                                # C_zd + lambda_z
        M__beta = log(p) : 1
        """,
        on_pre={
            "excite": """
                p -= h_old_post              # line 4: tau_1(M)
                rate_post *= p               # line 5
                """,
            "learn": "p += h_post",          # line 6: tau_2(M)
        },
        delay=no_delay("excite", "learn"),
        clock=net.clock,
        namespace={},
        name=f"{prefix}beta",
    )  # fmt: skip
    beta.connect()

    # When in a tick; the phases are in `brian_lda/circuit/circuit.py`.
    alpha.excite.when, alpha.excite.order = "excite", 0
    beta.excite.when, beta.excite.order = "excite", 5
    alpha.learn.when = beta.learn.when = "learn"
    net.add(alpha=alpha, beta=beta)
    return net


def build(
    n_words: int,
    n_docs: int,
    n_topics: int,
    *,
    n_tokens: int = 2**17,
    doc_topic_prior: float = 0.1,
    topic_word_prior: float = 0.01,
    inhibition: Inhibition | None = None,
    prefix: str = "",
) -> Circuit:
    """The network with first values, ready for `present`: no token has a topic yet.

    Parameters
    ----------
    n_words, n_docs, n_topics : int
        V, D, K.
    n_tokens : int
        Tokens that it can remember; `present` shows at most so many at a time.
    doc_topic_prior, topic_word_prior : float
        lambda and varphi.
    inhibition : Race or Poisson, optional
        The default is `Race()`.
    prefix : str
        Begins the names of all objects.
    """
    sizes = Sizes(n_words, n_docs, n_topics, n_tokens, capacity=n_tokens)
    first = {  # Tab. 1(b), all counts 0
        "w": np.full((n_topics, n_words), topic_word_prior),
        "p": np.full((n_docs, n_topics), doc_topic_prior),
        "c": np.full(n_topics, n_words * topic_word_prior),
        "z": np.full(n_tokens, NEVER_ASSIGNED, np.int32),
    }
    return start(wire(sizes, inhibition, prefix), KEPT, first, {}, inhibition)


def kept_of_weights(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is kept, from M^alpha, M^beta, b and the assignments of the rate-level twin."""
    return {
        "w": np.exp(state["M__alpha"]),
        "p": np.exp(state["M__beta"]),
        "c": np.exp(state["b"]),
        "z": np.asarray(state["z"], np.int32),
    }


def weights(kept: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """M^alpha [topic, word], M^beta [doc, topic] and b [topic]."""
    return {
        "M__alpha": np.log(kept["w"]),
        "M__beta": np.log(kept["p"]),
        "b": np.log(kept["c"]),
    }
