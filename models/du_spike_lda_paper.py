r"""du-SpikeLDA as printed: Euler steps with RMSProp for M^alpha and M^beta.

Xiao, Chen & Zhu (AAAI 2018), Remark 2 and appendix "Adaptive step size schedule". The network and
the deviations are those of `du_spike_lda`, but for the two rules. (S) stands here literally, in the
weights M, with v the running mean square of its directions. M^beta waits as M^alpha does: within a
local iteration it holds still, and every document synapse counts the winners into its eligibility
C_zd. With its document's last token, the N_d-th, it moves by the average of (3b), called (D):

.. math:: M^\beta_{zd} \leftarrow M^\beta_{zd} + \eta\Big[\frac{C_{zd} + \lambda_z - 1}{N_d}
          e^{-M^\beta_{zd}} - \frac1\kappa - \frac1{N_d}\Big]

The document neuron counts its own spikes and knows N_d, so the end of an iteration is a local
matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses, linked_var
from brian_lda.models.semi_spike_lda_paper import kept_of_weights

from brian_lda.circuit.circuit import Circuit, Sizes, no_delay
from brian_lda.circuit.inhibition import Inhibition, Race
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.mini_batch import BATCH_EVENT, IN_BATCH, connect_batch
from brian_lda.circuit.start import lengths_of_documents, start
from brian_lda.initial_weights import word_prior_vector
from brian_lda.parameters import BatchParameters
from brian_lda.step_rules import RMSProp

__all__ = ["KEPT", "build", "constants", "fresh_documents", "kept_of_weights", "weights", "wire"]

REMEMBERS = False
FIRST_SWEEPS = 0

STEPS = {"word_step": RMSProp, "doc_step": RMSProp}
INTEGRATOR = "euler"
KEPT = (
    Kept("alpha.M__alpha", "topic, word", written_by=("update",), in_logs=True),
    Kept("alpha.v__alpha", "topic, word", fill=0.0),
    Kept("alpha.N_zw", "topic, word", fill=0.0),
    Kept("topics.N_z", "topic"),
    Kept("topics.n_spikes", "topic"),
    Kept("beta.M__beta", "doc, topic", written_by=("learn",), in_logs=True),
    Kept("beta.v__beta", "doc, topic", fill=0.0),
    Kept("beta.C_zd", "doc, topic", fill=0.0),
    Kept("documents.n_seen", "doc", fill=0.0),
    Kept("documents.n_beta", "doc", fill=0.0),
)


def wire(sizes: Sizes, inhibition: Inhibition | None = None, prefix: str = "") -> Circuit:
    """The network as Brian objects, without values; see `semi_spike_lda.wire`."""
    inhibition = inhibition or Race()
    net = Circuit(sizes, prefix)

    # Layers. `clamped_layer` makes a NeuronGroup of which the token's neuron fires in every tick.
    words = net.clamped_layer("words", sizes.n_words, "varphi : 1")  # prior of Phi
    documents = net.clamped_layer(
        "documents",
        sizes.n_docs,
        """
        N_d : 1
        kappa : 1 (shared, constant)
        n_seen : 1                           # own tokens in this iteration
        n_beta : 1                           # own iterations so far
        accepted : integer (linked)          # 1 if the token has found its winner
        """,
        reset="""
        ends = accepted*int(n_seen + 1 == N_d)
        n_seen = (n_seen + accepted)*(1 - ends)
        n_beta += ends
        """,
    )
    topics = NeuronGroup(
        sizes.n_topics,
        Equations("""
        rate : 1                             # exp(u): what the neuron fires at, Alg. 1 line 6
        u = log(rate) : 1                    # its input, Alg. 1 line 5
        lamda : 1
        N_z : 1                              # own spikes in the kept sweeps of this mini-batch
        N_z_batch : 1                        # ... at its end, with those that the prior stands for
        n_spikes : 1                         # N_z_batch per sweep, of all mini-batches
        prior_share : 1 (shared, constant)   # of varphi, for this mini-batch: T n/N
        prior_spikes : 1 (shared, constant)  # ... times the sum of varphi over words
        n_kept : 1 (shared, constant)        # T
        n_docs : 1 (shared, constant)        # |D|
        """)
        + IN_BATCH
        + inhibition.equations,
        threshold="h > 0",
        reset="N_z += counting",
        events={**BATCH_EVENT, **inhibition.events},
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
    topics.run_on_event(
        "end_of_batch",
        """
        N_z_batch = N_z + prior_spikes
        n_spikes += N_z_batch/n_kept
        N_z = 0
        """,
        when="end",
        order=1,
    )
    net.listen(topics)

    # Inhibition: topics -> inhibitory neuron -> topics (`brian_lda/circuit/inhibition.py`).
    inhibition.connect(net)
    documents.accepted = linked_var(net.inhibition, "accepted")
    connect_batch(net)

    # Synapses.
    alpha = Synapses(
        words,
        topics,
        """
        M__alpha : 1
        N_zw : integer                       # eligibility: kept winners of this synapse
        v__alpha : 1                         # running mean square of the direction
        eta_0__alpha : 1 (shared, constant)
        decay__alpha : 1 (shared, constant)
        epsilon__alpha : 1 (shared, constant)
        """,
        on_pre={
            "excite": "rate_post = exp(M__alpha)",  # Alg. 1 line 5
            "count": "N_zw += h_post*counting_post",
        },
        on_post={
            "update": """
                counted = N_zw + varphi_pre*prior_share_post
                g = (counted*exp(-M__alpha) - N_z_batch_post)/(n_docs_post*n_kept_post)  # (S)
                v__alpha = decay__alpha*v__alpha + (1 - decay__alpha)*g**2
                M__alpha += eta_0__alpha/sqrt(v__alpha + epsilon__alpha)*g
                M__alpha = clip(M__alpha, log(1e-300), inf)  # a silent synapse sinks without end
                N_zw = 0
                """
        },
        on_event={"excite": "spike", "count": "spike", "update": "end_of_batch"},
        delay=no_delay("excite", "count", "update"),
        clock=net.clock,
        namespace={},
        name=f"{prefix}alpha",
    )  # fmt: skip
    alpha.connect()
    beta = Synapses(
        documents,
        topics,
        """
        M__beta : 1
        C_zd : 1                             # eligibility: winners of this iteration
        v__beta : 1                          # running mean square of the direction
        eta_0__beta : 1 (shared, constant)
        decay__beta : 1 (shared, constant)
        epsilon__beta : 1 (shared, constant)
        """,
        on_pre={
            "excite": "rate_post *= exp(M__beta)",  # Alg. 1 line 5
            "learn": """
                C_zd += h_post
                ends = accepted_post*int(n_seen_pre + 1 == N_d_pre)  # the N_d-th token
                g = (C_zd + lamda_post - 1)/N_d_pre*exp(-M__beta) - 1/kappa_pre - 1/N_d_pre  # (D)
                v__beta += ends*(1 - decay__beta)*(g**2 - v__beta)
                M__beta += ends*eta_0__beta/sqrt(v__beta + epsilon__beta)*g
                M__beta = clip(M__beta, -log(1e30), log(1e30))  # only an Euler step gets there
                C_zd *= 1 - ends
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
    alpha.count.when = beta.learn.when = "learn"
    alpha.update.when, alpha.update.order = "end", 2
    net.add(alpha=alpha, beta=beta)
    return net


def build(
    n_words: int,
    n_docs: int,
    n_topics: int,
    *,
    parameters: BatchParameters | None = None,
    doc_lengths: Sequence[int] | None = None,
    inhibition: Inhibition | None = None,
    capacity: int = 2**17,
    seed: int = 0,
    prefix: str = "",
) -> Circuit:
    """The network with first values; see `semi_spike_lda.build`."""
    N_d = lengths_of_documents(n_docs, doc_lengths)
    if parameters is None:
        parameters = BatchParameters(
            n_topics,
            np.full(n_topics, 1.1),
            word_step=RMSProp(),
            doc_step=RMSProp(),
            integrator=INTEGRATOR,
        )
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
    M__alpha = rng.normal(1.0, 1.0, (n_topics, n_words))  # appendix "Network initialization"
    first = {
        "M__alpha": M__alpha,
        "v__alpha": np.zeros_like(M__alpha),
        "n_spikes": np.zeros(n_topics),
        **fresh_documents(parameters, n_docs, 1, rng),
    }
    sizes = Sizes(n_words, n_docs, n_topics, capacity=capacity)
    read = constants(
        parameters, word_prior_vector(parameters.topic_word_prior, n_words), 1.0, N_d, n_docs
    )
    net = wire(sizes, inhibition, prefix)
    return start(net, KEPT, kept_of_weights(first), {**read, "topics.n_kept": 1.0}, inhibition)


def constants(
    parameters: BatchParameters,
    varphi: np.ndarray,
    prior_share: float,
    doc_lengths: np.ndarray,
    n_docs: int,
) -> dict[str, np.ndarray | float]:
    """What the network only reads in a mini-batch; see `semi_spike_lda.constants`."""
    return {
        "words.varphi": varphi,
        "documents.N_d": np.maximum(doc_lengths, 1),
        "documents.kappa": float((parameters.doc_topic_prior - 1.0).sum()),
        "topics.lamda": parameters.doc_topic_prior,
        "topics.n_kept": float(parameters.local_iterations),
        "topics.prior_share": prior_share,
        "topics.prior_spikes": prior_share * float(varphi.sum()),
        "topics.n_docs": float(n_docs),
        **parameters.word_step.brian_values("alpha", "alpha"),
        **parameters.doc_step.brian_values("beta", "beta"),
    }


def fresh_documents(
    parameters: BatchParameters, n_docs: int, n_tokens: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """What is kept of the documents of a mini-batch when it begins: M^beta ~ N(1, 1)."""
    n_topics = parameters.n_topics
    return {
        "M__beta": rng.normal(1.0, 1.0, (n_docs, n_topics)),
        "v__beta": np.zeros((n_docs, n_topics)),
        "C_zd": np.zeros((n_docs, n_topics)),
        "n_seen": np.zeros(n_docs),
        "n_beta": np.zeros(n_docs),
    }


def weights(kept: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """M^alpha [topic, word] and M^beta [doc, topic]."""
    return {"M__alpha": kept["M__alpha"].copy(), "M__beta": kept["M__beta"].copy()}
