r"""ed-SpikePLSI: online pLSI, ed-SpikeLDA without a prior of theta.

Xiao, Chen & Zhu (AAAI 2018), appendix "Online SNN implementation of pLSI". The rule of M^alpha is
(3a) of Alg. 3 (`ed_spike_lda`); M^beta follows [Eq. "ML discrete dynamics", second line, called (P)
below; kappa = 1]

.. math::
    M^\beta_{zd} \leftarrow M^\beta_{zd} + \eta\,x^\beta_d \big(h_z e^{-M^\beta_{zd}} - 1\big)
    \quad \forall d, z

Rate form, flow and gauge are those of `ed_spike_lda`: the network keeps exp M^alpha = w g and
p = exp M^beta, in which (P) is dp/ds = h - p. The paper's literal form is `ed_spike_plsi_paper`.

Deviations from the paper
-------------------------
- phi_z has the prior of `ed_spike_lda`, (3c) there; varphi = 0 is the paper's maximum likelihood.
  theta has none.
- Documents begin anew every ten passes, at the paper's first weights log(1/K) (`doc_restart` of
  `EdSpikePLSI`; 0: never). Without a prior a p that has lost some races hardly wins again, and a
  document settles on the topics of its first winners. It is no equation: between two runs training
  sets `beta.p`, as a chip would load a document from external memory.
- A p that has lost its last race falls towards 0, and is held at 1e-100, so that the product of two
  rates is a number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses, linked_var
from brian_lda.models.ed_spike_lda import SMALLEST, kept_of_weights, weights

from brian_lda.circuit.circuit import Circuit, Sizes, no_delay
from brian_lda.circuit.inhibition import Inhibition, Race
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.start import event_driven_defaults, lengths_of_documents, start
from brian_lda.initial_weights import initial_state, word_prior_vector
from brian_lda.parameters import EventDrivenParameters
from brian_lda.step_rules import RobbinsMonro

__all__ = ["KEPT", "build", "constants", "kept_of_weights", "weights", "wire"]

STEPS = {"word_step": RobbinsMonro, "doc_step": RobbinsMonro}
INTEGRATOR = "flow"
KEPT = (
    Kept("alpha.w", "topic, word", written_by=("learn",), gauge=True),
    Kept("topics.g", "topic"),
    Kept("beta.p", "doc, topic", written_by=("learn",)),
    Kept("topics.s_alpha", "topic"),
    Kept("topics.Delta_alpha", "topic"),
    Kept("topics.n_alpha", "topic"),
    Kept("documents.n_beta", "doc", fill=0.0),
)


def wire(sizes: Sizes, inhibition: Inhibition | None = None, prefix: str = "") -> Circuit:
    """The network as Brian objects, without values; see `ed_spike_lda.wire`."""
    inhibition = inhibition or Race()
    net = Circuit(sizes, prefix)

    # Layers. `clamped_layer` makes a NeuronGroup of which the token's neuron fires in every tick.
    words = net.clamped_layer("words", sizes.n_words, "varphi : 1")  # pseudo-counts of the prior
    documents = net.clamped_layer(
        "documents",
        sizes.n_docs,
        """
        n_beta : 1                           # own tokens so far
        scale__beta : 1 (shared, constant)
        offset__beta : 1 (shared, constant)
        power__beta : 1 (shared, constant)
        floor__beta : 1 (shared, constant)
        eta = clip(scale__beta*(1 + n_beta/offset__beta)**(-power__beta),
                   floor__beta, scale__beta) : 1
        gain : 1                             # 1 - exp(-eta)
        accepted : integer (linked)          # 1 if the token has found its winner
        """,
        reset="""
        n_beta += accepted
        gain = -expm1(-eta)
        """,
    )
    topics = NeuronGroup(
        sizes.n_topics,
        Equations("""
        rate : 1                             # exp(u): what the neuron fires at, Alg. 1 line 6
        u = log(rate) : 1                    # its input, Alg. 1 line 5
        g : 1                                # exp(-a_z), what all word synapses have lost
        s_alpha : 1                          # what all word synapses hold of a pseudo-count
        Delta_alpha : 1                      # tokens since the own last spike
        Vbar : 1 (shared, constant)          # sum_w varphi_w
        per_token : 1 (shared, constant)     # 1/N
        a = 1 + Vbar*per_token*Delta_alpha : 1 # decay of the next step
        n_alpha : 1                          # own spikes so far
        scale__alpha : 1 (shared, constant)
        offset__alpha : 1 (shared, constant)
        power__alpha : 1 (shared, constant)
        floor__alpha : 1 (shared, constant)
        eta = clip(scale__alpha*(1 + n_alpha/offset__alpha)**(-power__alpha),
                   floor__alpha, scale__alpha) : 1
        step = clip(a*eta, eta, eta + 100) : 1 # exp(-100) of P is lost in rounding, exp(-800) is 0
        gain : 1                             # (exp(a eta) - 1)/a
        grain : 1 (shared, constant)         # a_z is folded back into w in multiples of it
        """)
        + inhibition.equations,
        threshold="h > 0",
        reset="""
        g *= exp(-step)                      # (3a), the -1 of all V synapses, and (3c), the -a
        s_alpha += expm1(-step)*(s_alpha - per_token*Delta_alpha/a)  # (3c), the drive Delta/N
        n_alpha += 1
        Delta_alpha = 0
        """,
        events={"wins": "h > 0", "fold": "g < 1e-60", **inhibition.events},
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
    # Before synapses learn: a neuron hears that the token has its winner, and the winner its step.
    topics.run_regularly(
        "Delta_alpha += accepted", when="learn", order=-4, name=f"{prefix}topics_wait"
    )
    topics.run_on_event("wins", "gain = expm1(step)/a", when="learn", order=-2)
    net.listen(topics)

    # Inhibition: topics -> inhibitory neuron -> topics (`brian_lda/circuit/inhibition.py`).
    inhibition.connect(net)
    documents.accepted = linked_var(net.inhibition, "accepted")

    # Synapses.
    alpha = Synapses(
        words,
        topics,
        """
        w : 1                                # exp(m), M = m - a_z
        M__alpha = log(w*g_post) : 1
        """,
        on_pre={
            "excite": "rate_post = w*g_post + varphi_pre*s_alpha_post",  # Alg. 1 line 5
            "learn": "w += h_post*gain_post/g_post",                     # (3a), x exp(-M)
        },
        on_post={  # before g underflows, w takes over what it stands for, in whole grains of a_z
            "fold": "w = clip(w*exp(-grain_post*floor(-log(g_post)/grain_post)), smallest, inf)"
        },
        on_event={"excite": "spike", "learn": "spike", "fold": "fold"},
        delay=no_delay("excite", "learn", "fold"),
        clock=net.clock,
        namespace={"smallest": SMALLEST},
        name=f"{prefix}alpha",
    )  # fmt: skip
    net.connect_words(alpha)  # all to all, unless words were pruned
    beta = Synapses(
        documents,
        topics,
        """
        p : 1                                # exp M^beta
        M__beta = log(p) : 1
        """,
        on_pre={
            "excite": "rate_post *= p",      # Alg. 1 line 5
            "learn": "p = clip(p + accepted_post*gain_pre*(h_post - p), smallest, inf)",  # (P)
        },
        delay=no_delay("excite", "learn"),
        clock=net.clock,
        namespace={"smallest": SMALLEST},
        name=f"{prefix}beta",
    )  # fmt: skip
    beta.connect()

    # When in a tick; the phases are in `brian_lda/circuit/circuit.py`.
    alpha.excite.when, alpha.excite.order = "excite", 0
    beta.excite.when, beta.excite.order = "excite", 5
    alpha.learn.when = beta.learn.when = "learn"
    topics.set_event_schedule("wins", when="learn", order=-3)
    topics.set_event_schedule("fold", when="end", order=0)
    alpha.fold.when, alpha.fold.order = "end", 1
    topics.run_on_event("fold", "g *= exp(grain*floor(-log(g)/grain))", when="end", order=2)
    net.add(alpha=alpha, beta=beta)
    net.first_values.append(("documents.gain", "-expm1(-eta)"))
    return net


def build(
    n_words: int,
    n_docs: int,
    n_topics: int,
    *,
    parameters: EventDrivenParameters | None = None,
    doc_lengths: Sequence[int] | None = None,
    inhibition: Inhibition | None = None,
    capacity: int = 2**17,
    seed: int = 0,
    prefix: str = "",
) -> Circuit:
    """The network with first values; see `ed_spike_lda.build`."""
    N_d = lengths_of_documents(n_docs, doc_lengths)
    if parameters is None:
        parameters = event_driven_defaults(n_topics, n_words, N_d, None)
    net = wire(Sizes(n_words, n_docs, n_topics, capacity=capacity), inhibition, prefix)
    first = kept_of_weights(initial_state(parameters, n_words, N_d, seed))
    return start(net, KEPT, first, constants(parameters, n_words, N_d), inhibition)


def constants(
    parameters: EventDrivenParameters, n_words: int, doc_lengths: np.ndarray
) -> dict[str, np.ndarray | float]:
    """What the network reads and never writes, by "object.variable"; see `ed_spike_lda`."""
    varphi = word_prior_vector(parameters.topic_word_prior, n_words)
    return {
        "words.varphi": varphi,
        "topics.Vbar": varphi.sum(),
        "topics.per_token": 1.0 / parameters.n_tokens(doc_lengths),
        "topics.grain": 1.0,
        **parameters.word_step.brian_values("topics", "alpha"),
        **parameters.doc_step.brian_values("documents", "beta"),
    }
