"""A sixth network: a mixture of unigrams, one topic a document, learned token by token.
Document synapses gather the evidence for each topic, L_zd = sum of log(V phi_zw) over the tokens of
d, and topic neurons race with u_z = log phi_zw + L_zd. The word rule is (3a) of ed-SpikeLDA.
"""

import numpy as np
from brian2 import Equations, NeuronGroup, Synapses, linked_var

from brian_lda import EdSpikeLDA, RobbinsMonro
from brian_lda.circuit.circuit import Circuit, no_delay
from brian_lda.circuit.kept import Kept

STEPS, INTEGRATOR = {"word_step": RobbinsMonro}, "flow"
KEPT = (
    Kept("alpha.w", "topic, word", written_by=("learn",), gauge=True),
    Kept("topics.g", "topic"),
    Kept("beta.L", "doc, topic"),
    Kept("documents.n_beta", "doc", fill=0.0),
)


class MixtureOfUnigrams(EdSpikeLDA): ...


def wire(sizes, inhibition):
    net = Circuit(sizes)
    words = net.clamped_layer("words", sizes.n_words, "epsilon : 1")
    documents = net.clamped_layer(
        "documents", sizes.n_docs, "n_beta : 1\naccepted : integer (linked)",
        reset="n_beta += accepted",
    )  # fmt: skip
    topics = NeuronGroup(
        sizes.n_topics,
        Equations("rate : 1\nu = log(rate) : 1\nphi : 1\ng : 1\neta : 1 (shared, constant)")
        + inhibition.equations,
        threshold="h > 0", reset="g *= exp(-eta)", events=dict(inhibition.events),
        clock=net.clock, namespace={}, name="topics",
    )  # fmt: skip
    topics.run_regularly("rate = 0\nh = 0\naccepted = 0", when="start", name="topics_forget")
    net.listen(topics)
    inhibition.connect(net)
    documents.accepted = linked_var(net.inhibition, "accepted")
    alpha = Synapses(
        words, topics, "w : 1\nM__alpha = log(w*g_post) : 1",
        on_pre={
            "excite": "phi_post = w*g_post + epsilon_pre\nrate_post = phi_post",
            "learn": "w += h_post*expm1(eta_post)/g_post",
        },
        delay=no_delay("excite", "learn"), clock=net.clock, namespace={}, name="alpha",
    )  # fmt: skip
    alpha.connect()
    beta = Synapses(
        documents, topics, "L : 1",
        on_pre={
            "excite": "rate_post *= exp(L)",
            "learn": "L = clip(L + accepted_post*log(n_words*phi_post), -30, 30)",
        },
        delay=no_delay("excite", "learn"), clock=net.clock,
        namespace={"n_words": float(sizes.n_words)}, name="beta",
    )  # fmt: skip
    beta.connect()
    alpha.excite.when, alpha.excite.order = "excite", 0
    beta.excite.when, beta.excite.order = "excite", 5
    alpha.learn.when = beta.learn.when = "learn"
    net.add(alpha=alpha, beta=beta)
    return net


def constants(parameters, n_words, doc_lengths):
    return {"words.epsilon": np.full(n_words, 0.1 / n_words), "topics.eta": 0.01}


def kept_of_weights(state):
    w = np.exp(0.3 * state["M__alpha"])  # nearly alike, so that no topic takes all documents
    w /= w.sum(axis=1, keepdims=True)
    return {"w": w, "g": np.ones(len(w)), "L": 0 * state["M__beta"], "n_beta": state["n_beta"]}


def weights(kept):
    return {"M__alpha": np.log(kept["w"] * kept["g"][:, None]), "M__beta": kept["L"]}
