r"""ed-SpikeLDA: online maximum-a-posteriori LDA, one update per topic spike.

Xiao, Chen & Zhu, "Towards Training Probabilistic Topic Models on Neuromorphic Multi-Chip Systems",
AAAI 2018, Alg. 3. For a token (w, d) the topic neurons race [Alg. 1] with

.. math:: u_z = M^\alpha_{z\cdot} \cdot x^\alpha + M^\beta_{z\cdot} \cdot x^\beta

and the winner's spike h changes the weights [Eq. "MAP discrete dynamics" of Alg. 3, called (3) in
the comments: (3a) its first line, (3b) its second]:

.. math::
    M^\alpha_{zw} &\leftarrow M^\alpha_{zw} + \eta\,h_z \big(x^\alpha_w e^{-M^\alpha_{zw}} - 1\big)
    \quad \forall w, z \\
    M^\beta_{zd} &\leftarrow M^\beta_{zd} + \eta\,x^\beta_d \Big[\big(h_z +
    \tfrac{\lambda_z - 1}{N_d}\big) e^{-M^\beta_{zd}} - \tfrac{1}{\kappa} - \tfrac{1}{N_d}\Big]
    \quad \forall d, z

with :math:`\kappa = \sum_z (\lambda_z - 1)`.

The network below is these equations written for exp M instead of M:

Rate form   A topic neuron fires at the rate exp(u), a product: exp M^alpha times exp M^beta. The
            synapses keep the factors, so that nothing has to be exponentiated in a race.
Flow        For P = exp M both lines are linear, dP/ds = c - a P, and solved exactly over a step:
            P <- P + gain (c - a P), gain = (1 - exp(-a eta))/a. Same fixed points as (3), stable
            for any eta, where the paper's Euler step overshoots by eta exp(-M). The Euler form,
            literally, is `ed_spike_lda_paper`.
Gauge       exp M^alpha_zw = w_zw g_z: the "-eta" of (3a), the same for all V synapses of the
            winner, is kept in the neuron as g_z = exp(-a_z), a_z the sum of its eta. A spike then
            writes one word synapse and one number of the neuron. The same numbers, and O(K) a
            token instead of O(V).

Deviations from the paper
-------------------------
- N_d of an empty document is taken as 1; it is never presented.
- phi_z has a prior, Dirichlet(varphi + 1), the same kind of term as (lambda - 1)/N_d in (3b). A
  topic neuron sees P = exp M^alpha + varphi_w s_z. It spikes Delta tokens after its own last spike,
  and with N tokens a pass and Vbar = sum_w varphi_w its step is that of the flow

  .. math:: \tfrac{d}{ds} P_{zw} = x_w + \varphi_w \tfrac{\Delta}{N}
            - \big(1 + \bar V \tfrac{\Delta}{N}\big) P_{zw} \qquad \text{(3c)}

  Its mean climbs the posterior of Phi and M^beta (`docs/smoothing.md`). exp M^alpha takes the drive
  x_w, s_z the drive Delta/N, so that a spike still writes one word synapse. Delta is counted in
  inhibitory spikes, which the neuron hears anyway. varphi = 0 is the paper's network: there a
  synapse that has lost a few races falls silent for good.
- Step sizes are Robbins-Monro, one counter per neuron, as the gauge needs; eta of a document counts
  in relaxation times 1/a of its synapses. Variance tracking and AdaGrad: `ed_spike_lda_paper`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses, linked_var

from brian_lda.circuit.circuit import Circuit, Sizes, no_delay
from brian_lda.circuit.inhibition import Inhibition, Race
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.start import event_driven_defaults, lengths_of_documents, start
from brian_lda.initial_weights import initial_state, word_prior_vector
from brian_lda.parameters import EventDrivenParameters
from brian_lda.step_rules import RobbinsMonro

SMALLEST = 1e-100  # of exp M; a synapse that has lost that much is silent for good

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
    """The network as Brian objects, without values.

    Parameters
    ----------
    sizes : Sizes
    inhibition : Race or Poisson, optional
        The default is `Race()`.
    prefix : str
        Begins the names of all objects.
    """
    inhibition = inhibition or Race()
    net = Circuit(sizes, prefix)

    # Layers. `clamped_layer` makes a NeuronGroup of which the token's neuron fires in every tick.
    words = net.clamped_layer("words", sizes.n_words, "varphi : 1")  # pseudo-counts of the prior
    documents = net.clamped_layer(
        "documents",
        sizes.n_docs,
        """
        per_token : 1                        # 1/N_d
        a : 1                                # 1/kappa + 1/N_d
        n_beta : 1                           # own tokens so far
        scale__beta : 1 (shared, constant)
        offset__beta : 1 (shared, constant)
        power__beta : 1 (shared, constant)
        floor__beta : 1 (shared, constant)
        eta = clip(scale__beta*(1 + n_beta/offset__beta)**(-power__beta),
                   floor__beta, scale__beta) : 1
        gain : 1                             # (1 - exp(-a eta))/a, eta in units of 1/a
        accepted : integer (linked)          # 1 if the token has found its winner
        """,
        reset="""
        n_beta += accepted
        gain = -expm1(-eta)/a
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
        lamda : 1
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
            "excite": "rate_post *= p",  # Alg. 1 line 5
            "learn": """
                drive = h_post + (lamda_post - 1)*per_token_pre
                p += accepted_post*gain_pre*(drive - a_pre*p)  # (3b)
                """,
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
    topics.set_event_schedule("wins", when="learn", order=-3)
    topics.set_event_schedule("fold", when="end", order=0)
    alpha.fold.when, alpha.fold.order = "end", 1
    topics.run_on_event("fold", "g *= exp(grain*floor(-log(g)/grain))", when="end", order=2)
    net.add(alpha=alpha, beta=beta)
    net.first_values.append(("documents.gain", "-expm1(-eta)/a"))
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
    """The network with first values, ready for `present`.

    Parameters
    ----------
    n_words, n_docs, n_topics : int
        V, D, K.
    parameters : EventDrivenParameters, optional
        Priors and step sizes; the default is what `EdSpikeLDA` would choose.
    doc_lengths : sequence of int [doc], optional
        N_d; the default is 100 each.
    inhibition : Race or Poisson, optional
        The default is `Race()`.
    capacity : int
        Most tokens of one call of `present`.
    seed : int
        Of the initial weights.
    prefix : str
        Begins the names of all objects.
    """
    N_d = lengths_of_documents(n_docs, doc_lengths)
    if parameters is None:
        parameters = event_driven_defaults(n_topics, n_words, N_d)
    net = wire(Sizes(n_words, n_docs, n_topics, capacity=capacity), inhibition, prefix)
    first = kept_of_weights(initial_state(parameters, n_words, N_d, seed))
    return start(net, KEPT, first, constants(parameters, n_words, N_d), inhibition)


def constants(
    parameters: EventDrivenParameters, n_words: int, doc_lengths: np.ndarray
) -> dict[str, np.ndarray | float]:
    """What the network reads and never writes, by "object.variable".

    Parameters
    ----------
    parameters : EventDrivenParameters
    n_words : int
    doc_lengths : int array [doc]
        N_d.
    """
    per_token = 1.0 / np.maximum(doc_lengths, 1)
    varphi = word_prior_vector(parameters.topic_word_prior, n_words)
    assert parameters.doc_topic_prior is not None
    return {
        "words.varphi": varphi,
        "topics.Vbar": varphi.sum(),
        "topics.per_token": 1.0 / parameters.n_tokens(doc_lengths),
        "documents.per_token": per_token,
        "documents.a": 1.0 / parameters.kappa + per_token,
        "topics.lamda": parameters.doc_topic_prior,
        "topics.grain": 1.0,
        **parameters.word_step.brian_values("topics", "alpha"),
        **parameters.doc_step.brian_values("documents", "beta"),
    }


def kept_of_weights(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is kept, from M^alpha, M^beta and the counters, as the rate-level twin has them."""
    return {
        "w": np.maximum(np.exp(state["M__alpha"]), SMALLEST),
        "g": np.ones(len(state["M__alpha"])),
        "p": np.maximum(np.exp(state["M__beta"]), SMALLEST),
        "s_alpha": state.get("s_alpha", np.zeros(len(state["M__alpha"]))),
        "Delta_alpha": state.get("Delta_alpha", np.zeros(len(state["M__alpha"]))),
        "n_alpha": state["n_alpha"],
        "n_beta": state["n_beta"],
    }


def weights(kept: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """M^alpha [topic, word] and M^beta [doc, topic]."""
    return {"M__alpha": np.log(kept["w"] * kept["g"][:, None]), "M__beta": np.log(kept["p"])}
