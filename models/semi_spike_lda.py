r"""semi-SpikeLDA: semi-collapsed Gibbs sampling in M^beta, one update of M^alpha per mini-batch.

Xiao, Chen & Zhu (AAAI 2018), Alg. 4. The document synapses are logarithms of counts, the word
synapses of probabilities [Tab. 1(d)]:

.. math:: e^{M^\beta_{zd}} = C_{zd} + \lambda_z, \qquad e^{M^\alpha_{zw}} \propto \phi_{zw}

**semi-CGS**, for each token (w, d) of the mini-batch with last topic z', in 2T sweeps: negative
phase M^beta_z'd <- tau_1; race with u = M^alpha.x + M^beta.x; positive phase M^beta_zd <- tau_2.
In the last T sweeps the global signal `counting` is on and every word synapse counts its winners
into its eligibility N_zw, every topic neuron into N_z.

**Update** at the end of the mini-batch, a global event that every topic neuron emits and that
reaches all its word synapses [Eq. "semi-likelihood discrete dynamics", called (S) in the comments]:

.. math:: M^\alpha_{zw} \leftarrow M^\alpha_{zw} + \frac{\eta}{|D|T}
          \big[N_{zw} e^{-M^\alpha_{zw}} - N_z\big] \quad \forall w, z

Written with a step s_z = eta N_z / (|D|T) this is the rule of ed-SpikeLDA with the batch's average
N_zw / N_z in place of one spike, M <- M + s (N_zw/N_z exp(-M) - 1). The network below keeps
w = exp M, in which it is linear, dw/ds = N_zw/N_z - w, and solved exactly: w goes 1 - exp(-s) of
the way. It keeps p = exp M^beta, the counts themselves: tau_1 takes 1 away, tau_2 adds 1. The
paper's Euler step with RMSProp is `semi_spike_lda_paper`.

The document layer has as many neurons as the mini-batch has documents: their synapses begin at
lambda, and are dropped with the batch.

Deviations from the paper
-------------------------
- Alg. 4 prints phi_z for the prior of M^beta; it is lambda_z.
- The first assignment of a token is drawn by a race without negative phase, given the tokens before
  it (Alg. 4 leaves it open): one sweep more.
- Phi has a prior of varphi_w counts a pass (`topic_word_prior`; 0 is the paper's network): its
  share for a mini-batch is added to N_zw and N_z, as (lambda - 1)/N_d is to the spike in M^beta of
  ed-SpikeLDA. The flow then climbs the likelihood with a Dirichlet prior on Phi
  (`docs/smoothing.md`).
- The race does not see the token's own votes of earlier passes either: of the old topic's w, own_z
  is left out, at most what votes have brought (`brian_lda.own_votes`). Collapsed Gibbs sampling
  [Alg. 2] does so with its counts. `own` and `vote` are told by the host, as the share of the prior
  is; a neuron could find them from its own spikes and the number of passes. With both at 0
  (`exclude_own_votes=False`) it is Alg. 4, and only then is it proven that the flow climbs.
- The step s_z is the sum of the Robbins-Monro steps of the N_z/T spikes: the batch moves as far as
  its spikes one by one would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses

from brian_lda.automatic_steps import WORD_PRIOR, batch_word_step
from brian_lda.circuit.assignments import NEVER_ASSIGNED, RECALL_EVENT, RECALLED, connect_memory
from brian_lda.circuit.circuit import Circuit, Sizes, no_delay
from brian_lda.circuit.inhibition import Inhibition, Race
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.mini_batch import BATCH_EVENT, IN_BATCH, connect_batch
from brian_lda.circuit.start import lengths_of_documents, start
from brian_lda.initial_weights import word_prior_vector
from brian_lda.parameters import BatchParameters
from brian_lda.step_rules import RobbinsMonro

REMEMBERS = True  # the last assignment of every token of the mini-batch
FIRST_SWEEPS = 1  # before the T sweeps of burn-in

STEPS = {"word_step": RobbinsMonro}
INTEGRATOR = "flow"
KEPT = (
    Kept("alpha.w", "topic, word", written_by=("update",)),
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
        vote : 1 (constant)                  # weight in w of one vote a pass
        own : 1 (constant)                   # ... of a token's votes of earlier passes
        own_here : 1                         # own, if this is the token's old topic
        s : 1                                # step of this mini-batch
        left : 1                             # exp(-s): what it leaves of w
        gain : 1                             # (1 - exp(-s))/N_z_batch: what a count adds
        scale__alpha : 1 (shared, constant)
        offset__alpha : 1 (shared, constant)
        power__alpha : 1 (shared, constant)
        floor__alpha : 1 (shared, constant)
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
        """
        h_old = int(i == z_old)*negative     # the old topic neuron fires
        own_here = own*int(i == z_old)       # in all ticks of the token
        """,
        when="recall",
        order=1,
        name=f"{prefix}topics_recall",
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
    connect_memory(net)
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
            # Alg. 1 line 5, without own votes
            "excite": "rate_post = w - clip(w - varphi_pre*vote_post, 0, own_here_post)",
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
    """The network with first values: each call of `present` is one mini-batch, of one sweep.

    Parameters
    ----------
    n_words, n_docs, n_topics : int
        V, D (of a mini-batch), K.
    parameters : BatchParameters, optional
        Prior and step sizes; the default is what `SemiSpikeLDA` would choose.
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
        parameters = BatchParameters(
            n_topics,
            np.full(n_topics, 0.1),
            word_step=batch_word_step(n_topics, n_words, int(N_d.sum())),
            topic_word_prior=WORD_PRIOR,
        )
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
    M__alpha = rng.normal(1.0, 1.0, (n_topics, n_words))  # appendix "Network initialization"
    first = {
        "M__alpha": M__alpha,
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
        "topics.vote": 0.0,  # until `votes` says more
        "topics.own": 0.0,
        "topics.n_kept": float(parameters.local_iterations),
        "topics.prior_share": prior_share,
        "topics.prior_spikes": prior_share * float(varphi.sum()),
        **parameters.word_step.brian_values("topics", "alpha"),
    }


def votes(vote: np.ndarray, own: np.ndarray) -> dict[str, np.ndarray | float]:
    """The same for what a token's own votes weigh, [topic] (`brian_lda.own_votes`)."""
    return {"topics.vote": vote, "topics.own": own}


def fresh_documents(
    parameters: BatchParameters, n_docs: int, n_tokens: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """What is kept of the documents of a mini-batch when it begins: no counts, no assignments."""
    return {
        "p": np.tile(parameters.doc_topic_prior, (n_docs, 1)),
        "z": np.full(n_tokens, NEVER_ASSIGNED, np.int32),
    }


def kept_of_weights(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is kept, from M^alpha and the counter of the rate-level twin, and fresh documents."""
    w = np.maximum(np.exp(state["M__alpha"]), 1e-200)
    words = {"w": w, "N_zw": np.zeros(w.shape, np.int32), "N_z": np.zeros(len(w))}
    fresh = {name: array for name, array in state.items() if name not in ("M__alpha", *words)}
    return {**words, **fresh}


def weights(kept: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """M^alpha [topic, word] and M^beta [doc, topic]."""
    return {"M__alpha": np.log(kept["w"]), "M__beta": np.log(kept["p"])}
