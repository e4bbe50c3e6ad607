r"""semi-SpikeLDA as printed: Euler steps with RMSProp for M^alpha.

Xiao, Chen & Zhu (AAAI 2018), Alg. 4 and appendix "Adaptive step size schedule". The network, the
equations and the deviations are those of `semi_spike_lda`, but for the update at the end of the
mini-batch, which stands here literally, with v the running mean square of its direction:

.. math:: g = \frac{1}{|D|T}\big[N_{zw} e^{-M^\alpha_{zw}} - N_z\big], \qquad
          M^\alpha_{zw} \leftarrow M^\alpha_{zw} + \frac{\eta_0}{\sqrt{v + \epsilon}}\,g
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses

from brian_lda.circuit.assignments import NEVER_ASSIGNED, RECALL_EVENT, RECALLED, connect_memory
from brian_lda.circuit.circuit import Circuit, Sizes, no_delay
from brian_lda.circuit.inhibition import Inhibition, Race
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.mini_batch import BATCH_EVENT, IN_BATCH, connect_batch
from brian_lda.circuit.start import lengths_of_documents, start
from brian_lda.initial_weights import word_prior_vector
from brian_lda.parameters import BatchParameters
from brian_lda.step_rules import RMSProp

REMEMBERS = True  # the last assignment of every token of the mini-batch
FIRST_SWEEPS = 1  # before the T sweeps of burn-in

STEPS = {"word_step": RMSProp}
INTEGRATOR = "euler"
KEPT = (
    Kept("alpha.M__alpha", "topic, word", written_by=("update",), in_logs=True),
    Kept("alpha.v__alpha", "topic, word", fill=0.0),
    Kept("alpha.N_zw", "topic, word", fill=0.0),
    Kept("topics.N_z", "topic"),
    Kept("topics.n_spikes", "topic"),
    Kept("beta.p", "doc, topic", written_by=("excite", "learn")),
    Kept("memory.z", "token", fill=NEVER_ASSIGNED),
)


def wire(sizes: Sizes, inhibition: Inhibition | None = None, prefix: str = "") -> Circuit:
    """The network as Brian objects, without values.

    Parameters
    ----------
    sizes : Sizes
        `n_docs` and `n_tokens` are those of a mini-batch.
    inhibition : Race or Poisson, optional
        The default is `Race()`.
    prefix : str
        Begins the names of all objects.
    """
    inhibition = inhibition or Race()
    net = Circuit(sizes, prefix)

    # Layers. `clamped_layer` makes a NeuronGroup of which the token's neuron fires in every tick.
    words = net.clamped_layer("words", sizes.n_words, "varphi : 1")  # prior of Phi
    documents = net.clamped_layer("documents", sizes.n_docs)
    topics = NeuronGroup(
        sizes.n_topics,
        Equations("""
        rate : 1                             # exp(u): what the neuron fires at, Alg. 1 line 6
        u = log(rate) : 1                    # its input, Alg. 1 line 5
        N_z : 1                              # own spikes in the kept sweeps of this mini-batch
        N_z_batch : 1                        # ... at its end, with those that the prior stands for
        n_spikes : 1                         # N_z_batch per sweep, of all mini-batches
        prior_share : 1 (shared, constant)   # of varphi, for this mini-batch: T n/N
        prior_spikes : 1 (shared, constant)  # ... times the sum of varphi over words
        n_kept : 1 (shared, constant)        # T
        n_docs : 1 (shared, constant)        # |D|
        """)
        + RECALLED
        + IN_BATCH
        + inhibition.equations,
        threshold="h > 0",
        reset="N_z += counting",
        events={**RECALL_EVENT, **BATCH_EVENT, **inhibition.events},
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
        "h_old = int(i == z_old)*negative",  # the old topic neuron fires
        when="recall",
        order=1,
        name=f"{prefix}topics_recall",
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
    connect_memory(net)
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
        p : 1                                # C_zd + lambda_z
        M__beta = log(p) : 1
        """,
        on_pre={
            "excite": """
                p -= h_old_post              # negative phase: tau_1(M)
                rate_post *= p               # Alg. 1 line 5
                """,
            "learn": "p += h_post",          # positive phase: tau_2(M)
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
            n_topics, np.full(n_topics, 0.1), word_step=RMSProp(), integrator=INTEGRATOR
        )
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
    M__alpha = rng.normal(1.0, 1.0, (n_topics, n_words))  # appendix "Network initialization"
    first = {
        "M__alpha": M__alpha,
        "v__alpha": np.zeros_like(M__alpha),
        "n_spikes": np.zeros(n_topics),
        **fresh_documents(parameters, n_docs, capacity, rng),
    }
    sizes = Sizes(n_words, n_docs, n_topics, capacity, capacity=capacity)
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
    """What the network only reads in a mini-batch, by "object.variable".

    Parameters
    ----------
    parameters : BatchParameters
    varphi : float array [word]
        Prior of Phi, in counts a pass.
    prior_share : float
        T n/N: what of a pass the T kept sweeps over the n tokens of the mini-batch are.
    doc_lengths : int array [doc]
        N_d of the document neurons.
    n_docs : int
        |D|, empty documents included.
    """
    return {
        "words.varphi": varphi,
        "topics.n_kept": float(parameters.local_iterations),
        "topics.prior_share": prior_share,
        "topics.prior_spikes": prior_share * float(varphi.sum()),
        "topics.n_docs": float(n_docs),
        **parameters.word_step.brian_values("alpha", "alpha"),
    }


def fresh_documents(
    parameters: BatchParameters, n_docs: int, n_tokens: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """What is kept of the documents of a mini-batch when it begins: no counts, no assignments."""
    return {
        "p": np.tile(parameters.doc_topic_prior, (n_docs, 1)),
        "z": np.full(n_tokens, NEVER_ASSIGNED, np.int32),
    }


def kept_of_weights(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is kept, from the weights and counters of the rate-level twin, and fresh documents."""
    M__alpha = np.array(state["M__alpha"])
    return {**state, "N_zw": np.zeros(M__alpha.shape, np.int32), "N_z": np.zeros(len(M__alpha))}


def weights(kept: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """M^alpha [topic, word] and M^beta [doc, topic]."""
    return {"M__alpha": kept["M__alpha"].copy(), "M__beta": np.log(kept["p"])}
