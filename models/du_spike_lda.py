r"""du-SpikeLDA: ed-SpikeLDA with delayed updates of the words, averaged over a mini-batch.

Xiao, Chen & Zhu (AAAI 2018), Remark 2: topics are inferred "like ed-SpikeLDA", and M^alpha waits
for the end of the mini-batch. The tokens of the mini-batch's documents are presented in 2T local
iterations. In each, every token moves the synapses of its document by the rule of Alg. 3 ("MAP
discrete dynamics", called (3b) here and in `ed_spike_lda`):

.. math:: M^\beta_{zd} \leftarrow M^\beta_{zd} + \eta\,x^\beta_d \Big[\big(h_z +
          \tfrac{\lambda_z - 1}{N_d}\big) e^{-M^\beta_{zd}} - \tfrac1\kappa - \tfrac1{N_d}\Big]

The winners of the last T iterations are also counted at the word synapses, which make one averaged
update at the end of the mini-batch: (S) of `semi_spike_lda`.

As there, the network below keeps w = exp M^alpha and p = exp M^beta, in which both rules are linear
and solved exactly over a step.

Deviations from the paper
-------------------------
- Remark 2 leaves open whether M^beta waits as well, for the end of a local iteration. That reading,
  with the paper's Euler steps and RMSProp, is `du_spike_lda_paper`. Here it does not wait: a short
  document that redraws all its topics at once from its last ones drifts to a few of them by chance,
  and topics take long to form (`docs/defaults.md`).
- M^beta starts at N(1, 1) whenever a document enters the network, and is dropped with the batch.
- Phi has a prior of varphi_w counts a pass (`topic_word_prior`; 0 is the paper's network): its
  share for a mini-batch is added to N_zw and N_z, as (lambda - 1)/N_d is to the spike in (3b). The
  flow then climbs the likelihood with a Dirichlet prior on Phi (`docs/smoothing.md`).
- Step sizes are Robbins-Monro. eta of a document counts in relaxation times 1/a of its synapses,
  over one pass through the document: each of its N_d tokens makes the N_d-th part of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses, linked_var
from brian_lda.models.semi_spike_lda import kept_of_weights, weights

from brian_lda.automatic_steps import (
    DELAYED_FADING,
    WORD_PRIOR,
    batch_word_step,
    delayed_doc_step,
)
from brian_lda.circuit.circuit import Circuit, Sizes, no_delay
from brian_lda.circuit.inhibition import Inhibition, Race
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.mini_batch import BATCH_EVENT, IN_BATCH, connect_batch
from brian_lda.circuit.start import lengths_of_documents, start
from brian_lda.initial_weights import word_prior_vector
from brian_lda.parameters import BatchParameters
from brian_lda.step_rules import RobbinsMonro

__all__ = ["KEPT", "build", "constants", "fresh_documents", "kept_of_weights", "weights", "wire"]

REMEMBERS = False
FIRST_SWEEPS = 0

STEPS = {"word_step": RobbinsMonro, "doc_step": RobbinsMonro}
INTEGRATOR = "flow"
KEPT = (
    Kept("alpha.w", "topic, word", written_by=("update",)),
    Kept("alpha.N_zw", "topic, word", fill=0.0),
    Kept("topics.N_z", "topic"),
    Kept("topics.n_spikes", "topic"),
    Kept("beta.p", "doc, topic", written_by=("learn",)),
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
        per_token : 1                        # 1/N_d
        a : 1                                # 1/kappa + 1/N_d
        n_beta : 1                           # own tokens so far in this mini-batch
        passes = n_beta*per_token : 1        # ... in passes through the document
        scale__beta : 1 (shared, constant)
        offset__beta : 1 (shared, constant)
        power__beta : 1 (shared, constant)
        floor__beta : 1 (shared, constant)
        eta = per_token*clip(scale__beta*(1 + passes/offset__beta)**(-power__beta),
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
        lamda : 1
        N_z : 1                              # own spikes in the kept sweeps of this mini-batch
        N_z_batch : 1                        # ... at its end, with those that the prior stands for
        n_spikes : 1                         # N_z_batch per sweep, of all mini-batches
        prior_share : 1 (shared, constant)   # of varphi, for this mini-batch: T n/N
        prior_spikes : 1 (shared, constant)  # ... times the sum of varphi over words
        n_kept : 1 (shared, constant)        # T
        s : 1                                # step of this mini-batch
        left : 1                             # exp(-s): what it leaves of w
        gain : 1                             # (1 - exp(-s))/N_z_batch: what a count adds
        scale__alpha : 1 (shared, constant)
        offset__alpha : 1 (shared, constant)
        power__alpha : 1 (shared, constant)
        floor__alpha : 1 (shared, constant)
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
        first = 1 + n_spikes/offset__alpha   # eta_n from n_spikes to n_spikes + N_z_batch/T, summed
        last = 1 + (n_spikes + N_z_batch/n_kept)/offset__alpha
        is_log = int(power__alpha == 1)
        q = 1 - power__alpha
        integral = is_log*log(last/first) + (1 - is_log)*(last**q - first**q)/(q + is_log)
        s = clip(scale__alpha*offset__alpha*integral, floor__alpha*N_z_batch/n_kept, inf)
        left = exp(-s)
        gain = -expm1(-s)/clip(N_z_batch, 1e-200, inf)
        n_spikes += N_z_batch/n_kept
        N_z = 0
        """,
        when="end",
        order=1,
    )  # fmt: skip
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
        w : 1                                # exp M^alpha
        M__alpha = log(w) : 1
        N_zw : integer                       # eligibility: kept winners of this synapse
        """,
        on_pre={
            "excite": "rate_post = w",        # Alg. 1 line 5
            "count": "N_zw += h_post*counting_post",
        },
        on_post={
            "update": """
                w = left_post*w + gain_post*(N_zw + varphi_pre*prior_share_post)  # (S)
                w = clip(w, 1e-200, inf)
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
        p : 1                                # exp M^beta
        M__beta = log(p) : 1
        """,
        on_pre={
            "excite": "rate_post *= p",      # Alg. 1 line 5
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
    alpha.count.when = beta.learn.when = "learn"
    alpha.update.when, alpha.update.order = "end", 2
    net.add(alpha=alpha, beta=beta)
    net.first_values.append(("documents.gain", "-expm1(-eta)/a"))
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
            word_step=batch_word_step(n_topics, n_words, int(N_d.sum()), DELAYED_FADING),
            topic_word_prior=WORD_PRIOR,
            doc_step=delayed_doc_step(max(float(N_d.mean()), 1.0)),
        )
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
    M__alpha = rng.normal(1.0, 1.0, (n_topics, n_words))  # appendix "Network initialization"
    first = {
        "M__alpha": M__alpha,
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
    N_d = np.maximum(doc_lengths, 1)
    kappa = float((parameters.doc_topic_prior - 1.0).sum())
    return {
        "words.varphi": varphi,
        "documents.per_token": 1.0 / N_d,
        "documents.a": 1.0 / kappa + 1.0 / N_d,
        "topics.lamda": parameters.doc_topic_prior,
        "topics.n_kept": float(parameters.local_iterations),
        "topics.prior_share": prior_share,
        "topics.prior_spikes": prior_share * float(varphi.sum()),
        **parameters.word_step.brian_values("topics", "alpha"),
        **parameters.doc_step.brian_values("documents", "beta"),
    }


def fresh_documents(
    parameters: BatchParameters, n_docs: int, n_tokens: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """What is kept of the documents of a mini-batch when it begins: M^beta ~ N(1, 1)."""
    return {
        "p": np.exp(rng.normal(1.0, 1.0, (n_docs, parameters.n_topics))),
        "n_beta": np.zeros(n_docs),
    }
