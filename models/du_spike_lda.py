r"""du-SpikeLDA: ed-SpikeLDA with delayed updates, averaged over a mini-batch.

Xiao, Chen & Zhu (AAAI 2018), Remark 2: the rule of Alg. 3 ("MAP discrete dynamics", called (3) in
`ed_spike_lda`) with averages over tokens in place of single spikes. The tokens of the mini-batch's
documents are presented in 2T local iterations. Within one the weights hold still, and every
document synapse counts the winners into its eligibility C_zd. With its document's last token, the
N_d-th, it moves by the average of (3b) [called (D) in the comments]:

.. math:: M^\beta_{zd} \leftarrow M^\beta_{zd} + \eta\Big[\frac{C_{zd} + \lambda_z - 1}{N_d}
          e^{-M^\beta_{zd}} - \frac1\kappa - \frac1{N_d}\Big]

The document neuron counts its own spikes and knows N_d, so the end of an iteration is a local
matter. The winners of the last T iterations are also counted at the word synapses, which make one
averaged update at the end of the mini-batch: (S) of `semi_spike_lda`.

Deviations from the paper
-------------------------
- Remark 2 leaves open how local iterations and averages interleave; the above is our reading.
- M^beta starts at N(1, 1) whenever a document enters the network, and is dropped with the batch.
- Step sizes: the paper's is `RMSProp` (v kept in each synapse), the default `RobbinsMonro`.
"""

from __future__ import annotations

from brian_lda.models.semi_spike_lda import build_batch_circuit, connect_delayed_words

from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError
from brian_lda.parameters import BatchParameters
from brian_lda.spiking.circuit import Circuit, Shape
from brian_lda.spiking.constrained import NO_CONSTRAINTS
from brian_lda.spiking.inhibition import Inhibition, accepted_signal
from brian_lda.spiking.plasticity import (
    WeightRule,
    count_statements,
    counter_variables,
    learn_statements,
    step_of_counter,
    synapse_memory,
)

DOCUMENT_RULE = WeightRule(
    layer="beta",
    direction="(C_zd + lamda_post - 1)/N_d_pre*exp(-M__beta) - 1/kappa_pre - 1/N_d_pre",  # (D)
    flow="log1p((C_zd + lamda_post - 1)/N_d_pre*gain__beta*exp(-M__beta))"
    " - (1/kappa_pre + 1/N_d_pre)*eta__beta",
    decay="1/kappa_pre + 1/N_d_pre",
    paced_by="_pre",
)
END_OF_ITERATION = "ends = accepted_post*int(n_seen_pre + 1 == N_d_pre)"  # the N_d-th token
LARGEST = "log(1e30)"  # only an Euler step gets there


def build(
    parameters: BatchParameters,
    shape: Shape,
    inhibition: Inhibition,
    record: tuple[str, ...] = (),
    constraints: Constraints = NO_CONSTRAINTS,
) -> Circuit:
    """The network as Brian objects, without values; see `semi_spike_lda.build`."""
    if constraints.packet_loss > 0:
        raise ParameterError(
            "packet_loss must be 0 in a network with delayed updates: a chip that misses the last "
            "token of a document counts on into its next iteration. Use EdSpikeLDA "
            "or EdSpikePLSI."
        )
    step = parameters.doc_step
    own, shared = counter_variables(DOCUMENT_RULE, step)
    accepted = accepted_signal(inhibition, constraints.gates)
    after_token = (
        f"ends = {accepted}*int(n_seen + 1 == N_d)\nn_seen = (n_seen + {accepted})*(1 - ends)\n"
    )
    circuit = build_batch_circuit(
        parameters,
        shape,
        inhibition,
        record,
        constraints,
        topic_model="lamda : 1\n",
        document_state=("N_d", "n_seen", *own),
        document_shared=("kappa", *shared),
        after_token=after_token + count_statements(DOCUMENT_RULE, step, event="ends"),
    )
    connect_delayed_words(circuit, parameters)
    learn = learn_statements(DOCUMENT_RULE, step, parameters.integrator, switch="ends")
    circuit.connect(
        circuit.documents,
        name="beta",
        model="M__beta : 1\nC_zd : 1\n" + synapse_memory("beta", step),
        on_pre={
            "excite": "u_post += M__beta",  # Alg. 1 line 5
            "learn": f"C_zd += h_post\n{END_OF_ITERATION}\n{learn}\n"
            f"M__beta = clip(M__beta, -{LARGEST}, {LARGEST})\nC_zd *= 1 - ends",
        },
        when={"excite": "excite", "learn": "learn"},
        weight="M__beta",
        written_by=("learn",),
    )
    circuit.first_values += [
        (circuit.documents, *item) for item in step_of_counter(DOCUMENT_RULE, step).items()
    ]
    return circuit
