r"""ed-SpikeLDA as printed: Euler steps, variance tracking for M^alpha, AdaGrad for M^beta.

Xiao, Chen & Zhu (AAAI 2018), Alg. 3 and appendix "Adaptive step size schedule". The equations (3a)
and (3b) are in the docstring of `ed_spike_lda`; here they stand literally, in the weights M.

- (3a) acts on all V synapses of the winner: a pathway on the topic spike. x^alpha_w is 1 for the
  synapse that has just seen its word.
- Variance tracking (Nessler et al. 2013), per word synapse: eta = (s_2 - s_1^2)/(exp(-s_1) + 1),
  kept within [0, 1] (ours: beyond 1 the running means overshoot); then s_1 and s_2 follow the new
  weight.
- AdaGrad, per document synapse: G <- G + g^2, eta = eta_0/sqrt(G + epsilon); eta_0 is multiplied by
  c after each pass (`end_pass`).

O(V) writes a token: for comparisons, not for speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses, linked_var

from brian_lda.circuit.circuit import Circuit, Sizes, no_delay
from brian_lda.circuit.inhibition import Inhibition, Race
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.start import lengths_of_documents, start
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters
from brian_lda.step_rules import AdaGrad, VarianceTracking

STEPS = {"word_step": VarianceTracking, "doc_step": AdaGrad}
INTEGRATOR = "euler"
KEPT = (
    Kept("alpha.M__alpha", "topic, word", written_by=("learn",), in_logs=True),
    Kept("alpha.s_1__alpha", "topic, word"),
    Kept("alpha.s_2__alpha", "topic, word"),
    Kept("beta.M__beta", "doc, topic", written_by=("learn",), in_logs=True),
    Kept("beta.G__beta", "doc, topic"),
    Kept("beta.eta_0__beta", "one"),
    Kept("topics.n_alpha", "topic"),
    Kept("documents.n_beta", "doc", fill=0.0),
)


def wire(sizes: Sizes, inhibition: Inhibition | None = None, prefix: str = "") -> Circuit:
    """The network as Brian objects, without values; see `ed_spike_lda.wire`."""
    inhibition = inhibition or Race()
    net = Circuit(sizes, prefix)

    # Layers. `clamped_layer` makes a NeuronGroup of which the token's neuron fires in every tick.
    words = net.clamped_layer("words", sizes.n_words)
    documents = net.clamped_layer(
        "documents",
        sizes.n_docs,
        """
        N_d : 1
        kappa : 1 (shared, constant)
        n_beta : 1                           # own tokens so far
        accepted : integer (linked)          # 1 if the token has found its winner
        """,
        reset="n_beta += accepted",
    )
    topics = NeuronGroup(
        sizes.n_topics,
        Equations("""
        u : 1                                # its input, Alg. 1 line 5
        rate : 1                             # exp(u): what the neuron fires at, Alg. 1 line 6
        n_alpha : 1                          # own spikes so far
        lamda : 1
        """)
        + inhibition.equations,
        threshold="h > 0",
        reset="n_alpha += 1",
        events=dict(inhibition.events),
        clock=net.clock,
        namespace={},
        name=f"{prefix}topics",
    )
    topics.run_regularly(
        """
        u = -1e300                           # silent, unless a word comes
        h = 0
        accepted = 0
        """,
        when="start",
        name=f"{prefix}topics_forget",
    )
    topics.run_regularly("rate = exp(u)", when="excite", order=6, name=f"{prefix}topics_rate")
    net.listen(topics)

    # Inhibition: topics -> inhibitory neuron -> topics (`brian_lda/circuit/inhibition.py`).
    inhibition.connect(net)
    documents.accepted = linked_var(net.inhibition, "accepted")

    # Synapses.
    alpha = Synapses(
        words,
        topics,
        """
        M__alpha : 1
        s_1__alpha : 1                           # running mean of M
        s_2__alpha : 1                           # ... of M squared
        t_clamped : second                       # when this synapse last saw its word
        x__alpha = int(t_clamped == t) : integer # the clamp x of Alg. 1, as the synapse sees it
        """,
        on_pre={
            "excite": """
                u_post = M__alpha                # Alg. 1 line 5
                t_clamped = t
                """
        },
        on_post={
            "learn": """
                eta = clip((s_2__alpha - s_1__alpha**2)/(exp(-s_1__alpha) + 1), 0, 1)
                M__alpha += eta*(x__alpha*exp(-M__alpha) - 1)  # (3a)
                s_1__alpha += eta*(M__alpha - s_1__alpha)
                s_2__alpha += eta*(M__alpha**2 - s_2__alpha)
                """
        },
        delay=no_delay("excite", "learn"),
        clock=net.clock,
        namespace={},
        name=f"{prefix}alpha",
    )
    net.connect_words(alpha)  # all to all, unless words were pruned
    beta = Synapses(
        documents,
        topics,
        """
        M__beta : 1
        G__beta : 1                              # sum of squared directions
        eta_0__beta : 1 (shared)
        epsilon__beta : 1 (shared, constant)
        """,
        on_pre={
            "excite": "u_post += M__beta",       # Alg. 1 line 5
            "learn": """
                drive = h_post + (lamda_post - 1)/N_d_pre
                direction = drive*exp(-M__beta) - 1/kappa_pre - 1/N_d_pre  # (3b)
                G__beta += accepted_post*direction**2
                M__beta += accepted_post*eta_0__beta/sqrt(G__beta + epsilon__beta)*direction
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
    net.add(alpha=alpha, beta=beta)
    net.first_values.append(("alpha.t_clamped", "-1*second"))  # no word seen yet
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
        parameters = EventDrivenParameters(
            n_topics,
            np.full(n_topics, 1.1),
            VarianceTracking(),
            AdaGrad(),
            INTEGRATOR,
            gauge=False,
        )
    net = wire(Sizes(n_words, n_docs, n_topics, capacity=capacity), inhibition, prefix)
    first = kept_of_weights(initial_state(parameters, n_words, N_d, seed))
    return start(net, KEPT, first, constants(parameters, n_words, N_d), inhibition)


def constants(
    parameters: EventDrivenParameters, n_words: int, doc_lengths: np.ndarray
) -> dict[str, np.ndarray | float]:
    """What the network reads and never writes, by "object.variable"; see `ed_spike_lda`."""
    assert parameters.doc_topic_prior is not None
    return {
        "documents.N_d": np.maximum(doc_lengths, 1),
        "documents.kappa": parameters.kappa,
        "topics.lamda": parameters.doc_topic_prior,
        **parameters.doc_step.brian_values("beta", "beta"),
    }


def end_pass(
    parameters: EventDrivenParameters, known: Callable[[str], np.ndarray]
) -> dict[str, np.ndarray]:
    """AdaGrad amplifies its base step by c at the end of a pass over the corpus."""
    return {"eta_0__beta": known("eta_0__beta") * parameters.doc_step.amplification}


def kept_of_weights(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is kept, as the rate-level twin has it."""
    return {variable.name: np.array(state[variable.name]) for variable in KEPT}


def weights(kept: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """M^alpha [topic, word] and M^beta [doc, topic]."""
    return {"M__alpha": kept["M__alpha"].copy(), "M__beta": kept["M__beta"].copy()}
