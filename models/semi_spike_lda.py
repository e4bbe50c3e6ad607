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
N_zw / N_z in place of one spike, M <- M + s (N_zw/N_z exp(-M) - 1), and its exact flow is the same.

The document layer has as many neurons as the mini-batch has documents: their synapses begin at
log lambda, and are dropped with the batch.

Deviations from the paper
-------------------------
- Alg. 4 prints phi_z for the prior of M^beta; it is lambda_z.
- The first assignment of a token is drawn by a race without negative phase, given the tokens before
  it (Alg. 4 leaves it open): one sweep more.
- Topic neurons see J = log(exp M^alpha + epsilon_w), fixed during a mini-batch: with
  `topic_word_prior` = 0, J = M^alpha and this is the paper's network.
- Step sizes: the paper's is `RMSProp`, v kept in each synapse; `RobbinsMonro` sums the steps of the
  N_z/T spikes, kept in the neuron.
"""

from __future__ import annotations

from typing import Any

from brian2 import linked_var
from brian_lda.models.spike_cgs import connect_counting

from brian_lda.constraints import Constraints
from brian_lda.parameters import BatchParameters, RobbinsMonro
from brian_lda.spiking.assignments import (
    RECALL,
    RECALL_EVENT,
    RECALLED_TOPIC,
    add_assignment_memory,
)
from brian_lda.spiking.circuit import Circuit, Shape, build_circuit
from brian_lda.spiking.constrained import NO_CONSTRAINTS
from brian_lda.spiking.inhibition import Inhibition
from brian_lda.spiking.plasticity import synapse_memory

BATCH_PACER = """
first_counted : integer (shared)         # first token of the sweeps that are counted
tokens_to_come : integer (shared)        # of this mini-batch, in later runs
counting : integer (shared)              # the global signal of the T kept sweeps
batch_end : integer                      # number of the topic spike that ends the mini-batch
"""
BATCH_PACE = "counting = int(token >= first_counted)"

BATCH_TOPIC = """
counting : integer (linked)
n_winners : integer (linked)
batch_end : integer (linked)
N_z : 1                                  # own spikes in the kept sweeps of this mini-batch
N_z_batch : 1                            # ... when the mini-batch has ended, for the synapses
n_spikes : 1                             # own spikes per sweep, in all mini-batches
n_kept : 1 (shared, constant)            # T
n_docs : 1 (shared, constant)            # |D|
"""
ROBBINS_MONRO_TOPIC = """
s : 1                                    # step of this mini-batch
scale__alpha : 1 (shared, constant)
offset__alpha : 1 (shared, constant)
power__alpha : 1 (shared, constant)
floor__alpha : 1 (shared, constant)
"""
BATCH_EVENT = {"end_of_batch": "n_winners == batch_end"}

SUM_OF_STEPS = (  # Robbins-Monro: the batch moves as far as its spikes one by one would
    "s = accumulated_step(n_spikes, N_z/n_kept, "
    "scale__alpha, offset__alpha, power__alpha, floor__alpha)\n"
)
CLOSE_BATCH = """
n_spikes += N_z/n_kept
N_z_batch = N_z
N_z = 0
"""

WORD_SYNAPSE = """
M__alpha : 1
J__alpha : 1                             # log(exp M + epsilon_w): what the topic neuron sees
N_zw : 1                                 # eligibility: kept winners of this synapse
"""
STEP = "s__alpha = s_post\n"
RMSPROP_STEP = """
per_doc = 1/(n_docs_post*n_kept_post)
g = (N_zw*exp(-M__alpha) - N_z_batch_post)*per_doc        # (S) without its step size
v__alpha = decay__alpha*v__alpha + (1 - decay__alpha)*g**2
s__alpha = eta_0__alpha/sqrt(v__alpha + epsilon__alpha)*N_z_batch_post*per_doc
"""
SMALLEST = "log(1e-300)"  # a silent synapse sinks without end in the Euler form
UPDATE = {
    "euler": "M__alpha += s__alpha*(mean*exp(-M__alpha) - 1)",  # (S)
    "flow": "M__alpha += log1p(mean*expm1(s__alpha)*exp(-M__alpha)) - s__alpha",
}


def build(
    parameters: BatchParameters,
    shape: Shape,
    inhibition: Inhibition,
    record: tuple[str, ...] = (),
    constraints: Constraints = NO_CONSTRAINTS,
) -> Circuit:
    """The network as Brian objects, without values.

    Parameters
    ----------
    parameters : BatchParameters
        Step rule and integrator choose the equations; the numbers are set at run time.
    shape : Shape
        `n_docs` and `n_tokens` are those of a mini-batch.
    inhibition : Race or Poisson
    record : tuple of str
        Layers to record besides the winners.
    constraints : Constraints
        No packet may be lost: a missed negative phase would leave a count behind.
    """
    circuit = build_batch_circuit(
        parameters,
        shape,
        inhibition,
        record,
        constraints,
        topic_model=RECALLED_TOPIC,
        topic_events=RECALL_EVENT,
        remembers_tokens=True,
    )
    add_assignment_memory(circuit, RECALL)
    connect_counting(circuit, circuit.documents, "beta")
    connect_delayed_words(circuit, parameters)
    return circuit


def build_batch_circuit(
    parameters: BatchParameters,
    shape: Shape,
    inhibition: Inhibition,
    record: tuple[str, ...],
    constraints: Constraints,
    *,
    topic_model: str = "",
    topic_events: dict[str, str] | None = None,
    **arguments: Any,
) -> Circuit:
    """The circuit of the networks that update M^alpha once per mini-batch."""
    topic_model += BATCH_TOPIC
    if isinstance(parameters.word_step, RobbinsMonro):
        topic_model += ROBBINS_MONRO_TOPIC
    circuit = build_circuit(
        shape,
        inhibition,
        topic_model=topic_model,
        topic_events={**(topic_events or {}), **BATCH_EVENT},
        after_spike="N_z += counting",
        pacer_model=BATCH_PACER,
        pace=BATCH_PACE,
        word_state=("epsilon",),
        constraints=constraints,
        record=record,
        **arguments,
    )
    topics, pacer = circuit.topics, circuit.pacer
    topics.counting = linked_var(pacer, "counting")
    topics.batch_end = linked_var(pacer, "batch_end")
    topics.n_winners = linked_var(circuit.winners, "N")
    circuit.first_values.append(
        (pacer, "batch_end", "n_winners_before + n_tokens + tokens_to_come")
    )
    return circuit


def connect_delayed_words(circuit: Circuit, parameters: BatchParameters) -> None:
    """Word synapses with eligibility N_zw and one update (S) at the end of the mini-batch."""
    is_robbins_monro = isinstance(parameters.word_step, RobbinsMonro)
    update = STEP if is_robbins_monro else RMSPROP_STEP
    update += "mean = N_zw/clip(N_z_batch_post, 1, inf)\n" + UPDATE[parameters.integrator]
    update += f"\nM__alpha = clip(M__alpha, {SMALLEST}, inf)\nN_zw = 0"
    synapses = circuit.connect(
        circuit.words,
        name="alpha",
        model=WORD_SYNAPSE + synapse_memory("alpha", parameters.word_step),
        on_pre={"excite": "u_post += J__alpha", "count": "N_zw += h_post*counting_post"},
        on_post={"update": update},
        on_event={"excite": "spike", "count": "spike", "update": "end_of_batch"},
        when={"excite": "excite", "count": "learn", "update": "end"},
        weight="M__alpha",
        written_by=("update",),
    )
    topics = circuit.topics
    topics.set_event_schedule("end_of_batch", when="end", order=-2)
    close = (SUM_OF_STEPS if is_robbins_monro else "") + CLOSE_BATCH
    topics.run_on_event("end_of_batch", close, when="end", order=-1)
    circuit.first_values.append((synapses, "J__alpha", "log(exp(M__alpha) + epsilon_pre)"))
