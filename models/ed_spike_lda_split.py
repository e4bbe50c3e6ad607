r"""ed-SpikeLDA within a limit of fan-in, without dropping a word: topic neurons are split.

A topic neuron of `ed_spike_lda` has V word and D document synapses; a neuron of a chip has 256. The
paper prunes (appendix "Network pruning"), which changes the model. Here nothing is lost. The words
are dealt out to B blocks of at most n, and topic neuron z becomes B neurons (z, b), its *parts*,
one a block:

============  ====================================================================================
part (z, b)   n word synapses, those of its block; m document synapses, one a document on the chip;
              one from its topic: n + m + 1 (the paper's 200 + 50 + 1), and the inhibition
topic z       hears its B parts, the documents and the inhibition: B + m + 1, hence V <= n^2; its
              spike tells all of its parts that z has won, and on which document
============  ====================================================================================

Same law
--------
A token (w, d) excites the parts of *one* block, that of w: b = w mod B. Only a neuron that has
heard both word and document takes part in a race, so K parts race, one for each topic, and topic z
repeats the first spike of its part. Part (z, b) fires at the rate

.. math:: \big(w_{zw}\,g_z^{(b)} + \varphi_w s_z^{(b)}\big)\,p_{zd}^{(b)}

where (b) marks its own copy of what `ed_spike_lda` keeps once a topic: g, s, the time of the last
spike, the number of spikes, and p = exp M^beta. If all copies of a topic are equal, these are the
rates of the whole network, and so is the law of the winner [Alg. 1]. They stay equal: (3a) and (3c)
change g, s and the counters by the winner's spike and the count of tokens alone, (3b) changes p by
the winner's spike, the document's spikes and N_d alone. Every part hears those spikes, its own copy
takes the same step, and no number travels. By induction the network is the whole one, token by
token. w_zw exists once: only part (z, b) of the word's own block has that synapse, and learns.

What a token costs
------------------
(3b) lets all K weights of a document decay: K B writes, if each copy did so. It gets a gauge, like
(3a): the decay and the drive of the prior depend on the document alone, so that

.. math:: p_{zd} = G_d\,q_{zd} + S_d\,(\lambda_z - 1)

    G_d \leftarrow e^{-\eta} G_d, \quad S_d \leftarrow e^{-\eta} S_d + \tfrac{gain}{N_d}, \quad
    q_{zd} \leftarrow q_{zd} + h_z\,\tfrac{gain}{G_d} \qquad \text{(3b')}

with G_d after its step. G_d and S_d follow from the number of the document's own tokens. A token
then writes B copies of one q, of the winner's, and excites 2 K synapses: those of the word, and of
the axon (d, b) with which the document enters the block of the word. O(K + B), at rate level and on
a chip. Brian, whose thresholds are tested in every tick, compares the rate of each of the K B parts
with 0 to find those that listen; nothing else runs over all of them.

Deviations from the paper are those of `ed_spike_lda`. The race is a `Race`. g and G_d are folded
into w and q between runs (`brian_lda.simulation.split`), before they are too small for a float.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from brian2 import NeuronGroup, Synapses, linked_var
from brian_lda.models import ed_spike_lda
from brian_lda.models.ed_spike_lda import INTEGRATOR, SMALLEST, STEPS

from brian_lda.circuit.circuit import Sizes, no_delay
from brian_lda.circuit.inhibition import Inhibition, Race
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.split import SplitCircuit, check_fan_in
from brian_lda.circuit.start import event_driven_defaults, lengths_of_documents, start
from brian_lda.constraints import n_blocks_for
from brian_lda.errors import ParameterError
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters

__all__ = [
    "INTEGRATOR",
    "KEPT",
    "STEPS",
    "build",
    "constants",
    "kept_of_weights",
    "weights",
    "wire",
]

KEPT = (
    Kept("alpha.w", "topic, word", written_by=("learn",), gauge=True),
    Kept("parts.g", "topic", copied=True),
    Kept("beta.q", "doc, topic", written_by=("learn",), copied=True),
    Kept("documents.G", "doc"),
    Kept("documents.S", "doc"),
    Kept("parts.lamda", "topic", copied=True),
    Kept("parts.s_alpha", "topic", copied=True),
    Kept("parts.last", "topic", copied=True),
    Kept("topics.now", "topic"),
    Kept("parts.n_alpha", "topic", copied=True),
    Kept("documents.n_beta", "doc", fill=0.0),
)


def wire(sizes: Sizes, inhibition: Inhibition | None = None, prefix: str = "") -> SplitCircuit:
    """The network as Brian objects, without values.

    Parameters
    ----------
    sizes : Sizes
        n_docs: m, the documents on the chip; n_blocks: B.
    inhibition : Race, optional
    prefix : str
        Begins the names of all objects.
    """
    inhibition = inhibition or Race()
    if not isinstance(inhibition, Race):
        raise ParameterError(
            f"a split network races in continuous time, Race(); found {inhibition!r}."
        )
    net = SplitCircuit(sizes, prefix)
    K, B, m = sizes.n_topics, sizes.n_blocks, sizes.n_docs
    wiring = {"K": K, "B": B}

    # Layers. `clamped_layer` makes a NeuronGroup of which the token's neuron fires in every tick.
    words = net.clamped_layer("words", sizes.n_words, "varphi : 1")  # pseudo-counts of the prior
    documents = net.clamped_layer(
        "documents",
        m,
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
        G : 1                                # what all its q have lost
        S : 1                                # what has come in of the prior
        accepted : integer (linked)          # 1 if the token has found its winner
        """,
        reset="""
        S += accepted*gain*(per_token - a*S) # (3b')
        G *= 1 - accepted*gain*a             # (3b'), exp(-eta) = 1 - a gain
        n_beta += accepted
        gain = -expm1(-eta)/a
        """,
    )
    # Axon d B + b: the input with which document d enters block b.
    axons = net.clamped_layer("axons", m * B)
    parts = NeuronGroup(
        K * B,  # b K + z
        """
        rate : 1                             # exp(u): what the neuron fires at, Alg. 1 line 6
        chance : 1                           # this tick's random number, uniform in [0, 1)
        latency : 1                          # time to the own first spike, Alg. 1 line 6
        h : integer                          # 1: its topic has won
        g : 1                                # exp(-a_z), what all word synapses have lost
        s_alpha : 1                          # what all word synapses hold of a pseudo-count
        last : 1                             # tokens before its topic's last spike, and that one
        Delta_alpha : 1                      # tokens from there to the spike that it hears of
        Vbar : 1 (shared, constant)          # sum_w varphi_w
        per_token : 1 (shared, constant)     # 1/N
        a = 1 + Vbar*per_token*Delta_alpha : 1 # decay of this step
        n_alpha : 1                          # own spikes so far
        scale__alpha : 1 (shared, constant)
        offset__alpha : 1 (shared, constant)
        power__alpha : 1 (shared, constant)
        floor__alpha : 1 (shared, constant)
        eta = clip(scale__alpha*(1 + n_alpha/offset__alpha)**(-power__alpha),
                   floor__alpha, scale__alpha) : 1
        step = clip(a*eta, eta, eta + 100) : 1 # exp(-100) of P is lost in rounding, exp(-800) is 0
        gain : 1                             # (exp(a eta) - 1)/a
        lamda : 1
        """,
        events={"listens": "rate > 0"},      # has heard word and document
        clock=net.clock,
        namespace={},
        name=f"{prefix}parts",
    )  # fmt: skip
    topics = NeuronGroup(
        K,
        """
        latency : 1                          # of its part that listens; 1e300: none
        h : integer                          # one-hot topic, Table 1(a)
        accepted : integer                   # 1 if the token has found its winner
        slot : integer                       # which document is on show
        push : 1                             # what a spike adds to its q
        now : 1                              # tokens so far: inhibitory spikes, which all hear
        """,
        threshold="h > 0",
        reset="",
        events={"wins": "h > 0", "first_spike": "latency < 1e300"},
        clock=net.clock,
        namespace={},
        name=f"{prefix}topics",
    )
    topics.run_regularly(
        """
        latency = 1e300
        h = 0
        accepted = 0
        """,
        when="start",
        name=f"{prefix}topics_forget",
    )
    topics.run_regularly("now += accepted", when="learn", order=-4, name=f"{prefix}topics_count")
    net.add(parts=parts)
    net.listen(topics)

    # Inhibition: topics -> inhibitory neuron -> topics (`brian_lda/circuit/inhibition.py`).
    inhibition.connect(net)
    documents.accepted = linked_var(net.inhibition, "accepted")

    # Synapses.
    alpha = Synapses(
        words,
        parts,
        """
        w : 1                                # exp(m), M = m - a_z
        M__alpha = log(w*g_post) : 1
        """,
        on_pre={
            "excite": "rate_post = w*g_post + varphi_pre*s_alpha_post",  # Alg. 1 line 5
            "learn": "w += h_post*gain_post/g_post",                     # (3a), x exp(-M)
        },
        delay=no_delay("excite", "learn"),
        clock=net.clock,
        namespace={},
        name=f"{prefix}alpha",
    )  # fmt: skip
    alpha.connect(j="k for k in range((i % B)*K, (i % B)*K + K)", namespace=wiring)
    beta = Synapses(
        axons,
        parts,
        """
        q : 1                                # exp M^beta = G q + S (lamda - 1)
        document : integer (constant)        # whose G and S
        """,
        on_pre={"excite": "rate_post *= G*q + S*(lamda_post - 1)"},  # Alg. 1 line 5
        delay=no_delay("excite"),
        clock=net.clock,
        namespace={},
        name=f"{prefix}beta",
    )
    beta.connect(j="k for k in range((i % B)*K, (i % B)*K + K)", namespace=wiring)
    beta.document = f"i // {B}"
    for name in ("G", "S"):
        beta.variables.add_reference(name, documents, name, index="document")
    relaying = Synapses(
        parts,
        topics,
        on_pre={"relay": "latency_post = latency_pre"},
        on_event={"relay": "listens"},
        delay=no_delay("relay"),
        clock=net.clock,
        namespace={},
        name=f"{prefix}relaying",
    )
    relaying.connect(j="i % K", namespace=wiring)
    showing = Synapses(
        documents,
        topics,
        on_pre={
            "show": """
                slot_post = i
                push_post = gain_pre/(G_pre*(1 - gain_pre*a_pre))
                """
        },
        delay=no_delay("show"),
        clock=net.clock,
        namespace={},
        name=f"{prefix}showing",
    )
    showing.connect()
    telling = Synapses(
        topics,
        parts,
        "copy : integer                      # of the part's synapses that of the document on show",
        on_pre={
            "tell": """
                h_post = 1
                waited = now_pre - last_post
                decay = 1 + Vbar_post*per_token_post*waited
                gain_post = expm1(clip(decay*eta_post, eta_post, eta_post + 100))/decay
                Delta_alpha_post = waited
                copy = slot_pre*n_parts + j
                """,
            "learn": "q += push_pre",        # (3b')
            "advance": """
                g_post *= exp(-step_post)    # (3a), the -1 of all V synapses, and (3c), the -a
                drive = per_token_post*Delta_alpha_post/a_post
                s_alpha_post += expm1(-step_post)*(s_alpha_post - drive)  # (3c), the drive Delta/N
                n_alpha_post += 1
                last_post = now_pre
                h_post = 0
                """,
        },
        on_event={"tell": "wins", "learn": "wins", "advance": "wins"},
        delay=no_delay("tell", "learn", "advance"),
        clock=net.clock,
        namespace={"n_parts": K * B},
        name=f"{prefix}telling",
    )  # fmt: skip
    telling.connect(j="k*K + i for k in range(B)", namespace=wiring)
    telling.copy = "j"
    telling.variables.add_reference("q", beta, "q", index="copy")

    # When in a tick; the phases are in `brian_lda/circuit/circuit.py`.
    alpha.excite.when, alpha.excite.order = "excite", 0
    beta.excite.when, beta.excite.order = "excite", 5
    showing.show.when, showing.show.order = "excite", 5
    parts.set_event_schedule("listens", when="excite", order=6)
    relaying.relay.when, relaying.relay.order = "groups", 2
    topics.set_event_schedule("wins", when="learn", order=-3)
    telling.tell.when, telling.tell.order = "learn", -2
    alpha.learn.when = telling.learn.when = "learn"
    telling.advance.when = "resets"
    net.add(alpha=alpha, beta=beta, relaying=relaying, showing=showing, telling=telling)
    net.sparse |= {"alpha": sizes.n_words * K, "beta": m * B * K, "relaying": K * B}
    net.sparse |= {"telling": K * B}
    net.first_values.append(("documents.gain", "-expm1(-eta)/a"))
    return net


def build(
    n_words: int,
    n_docs: int,
    n_topics: int,
    *,
    word_synapses: int = 200,
    parameters: EventDrivenParameters | None = None,
    doc_lengths: Sequence[int] | None = None,
    capacity: int = 2**17,
    seed: int = 0,
    prefix: str = "",
) -> SplitCircuit:
    """The network with first values, ready for `present`.

    Parameters
    ----------
    n_words, n_docs, n_topics : int
        V, the documents on the chip m, K.
    word_synapses : int
        n, most word synapses of a neuron.
    parameters, doc_lengths, capacity, seed, prefix
        As in `ed_spike_lda.build`.
    """
    N_d = lengths_of_documents(n_docs, doc_lengths)
    if parameters is None:
        parameters = event_driven_defaults(n_topics, n_words, N_d)
    B = n_blocks_for(n_words, word_synapses)
    net = wire(Sizes(n_words, n_docs, n_topics, capacity=capacity, n_blocks=B), None, prefix)
    first = initial_state(parameters, n_words, N_d, seed)
    assert parameters.doc_topic_prior is not None
    known = kept_of_weights({**first, "lamda": parameters.doc_topic_prior})
    start(net, KEPT, known, constants(parameters, n_words, N_d), None)
    check_fan_in(net, word_synapses, n_docs)
    return net


def constants(
    parameters: EventDrivenParameters, n_words: int, doc_lengths: np.ndarray
) -> dict[str, np.ndarray | float]:
    """What the network reads and never writes, by "object.variable".

    Parameters
    ----------
    parameters : EventDrivenParameters
    n_words : int
    doc_lengths : int array [doc]
        N_d of the documents on the chip.
    """
    whole = ed_spike_lda.constants(parameters, n_words, doc_lengths)
    own = {path.replace("topics.", "parts."): value for path, value in whole.items()}
    return {path: v for path, v in own.items() if path not in ("parts.lamda", "parts.grain")}


def kept_of_weights(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is kept, from M^alpha, M^beta, lambda and the counters."""
    whole = ed_spike_lda.kept_of_weights(state)
    n_docs = len(whole["p"])
    return {
        **{name: whole[name] for name in ("w", "g", "s_alpha", "n_alpha", "n_beta")},
        "q": whole["p"],
        "G": np.ones(n_docs),
        "S": np.zeros(n_docs),
        "lamda": np.array(state["lamda"], np.float64),
        "last": -whole["Delta_alpha"],
        "now": np.zeros(len(whole["g"])),
    }


def weights(kept: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """M^alpha [topic, word], M^beta [doc, topic], and the tokens since a topic's last spike."""
    p = kept["G"][:, None] * kept["q"] + np.outer(kept["S"], kept["lamda"] - 1)
    return {
        "M__alpha": np.log(kept["w"] * kept["g"][:, None]),
        "M__beta": np.log(np.maximum(p, SMALLEST)),
        "Delta_alpha": kept["now"] - kept["last"],
    }
