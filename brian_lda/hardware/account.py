"""What one race costs in each network: spikes, synaptic events, plastic writes.

A *race* is one presentation of a token. SpikeCGS, ed-SpikeLDA and ed-SpikePLSI run one race per
token and pass, du-SpikeLDA 2T and semi-SpikeLDA 2T + 1. What happens once per document or per
mini-batch is shared out among its races.

========================  =========================================================================
spikes                    the word and the document neuron, the winner; in networks that remember
                          assignments also the token's own neuron and the topic neuron of the
                          negative phase
synaptic events           K from the word, K from the document, K - 1 by which the winner silences
                          the others; recall and store of an assignment
plastic writes            numbers that change: weights, offsets, eligibilities, assignments
========================  =========================================================================

Counters of the step rules (one per neuron) are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from brian_lda.algorithms import SPIKING, find_algorithm


@dataclass(frozen=True)
class RaceAccount:
    """Costs of one race.

    Attributes
    ----------
    algorithm : str
    races_per_token : int
        Of one visit of a token (a pass, or a mini-batch).
    spikes, synaptic_events, plastic_writes : float
    """

    algorithm: str
    races_per_token: int
    spikes: float
    synaptic_events: float
    plastic_writes: float


def race_account(
    algorithm: str,
    *,
    n_topics: int,
    n_words: int,
    doc_length: float,
    batch_size: int = 64,
    local_iterations: int = 5,
    gauge: bool = True,
) -> RaceAccount:
    """The account of one network.

    Parameters
    ----------
    algorithm : str
        A spiking one of `brian_lda.algorithms`.
    n_topics, n_words : int
        K, V.
    doc_length : float
        Mean N_d.
    batch_size, local_iterations : int
        |D| and T of the delayed networks.
    gauge : bool
        Event-driven networks: M^alpha = m - a, or the paper's literal form.
    """
    K, V, T = n_topics, n_words, local_iterations
    kind = find_algorithm(algorithm, SPIKING)
    in_batches, remembers = kind.iteration == "mini-batch", kind.remembers_topics
    races = 1
    if in_batches:
        races = 2 * T + (1 if remembers else 0)  # the first race assigns a topic to begin with
    recalled = (races - 1) / races if in_batches else 1.0  # of the races, with a topic to forget
    if remembers:
        counts = 1.0 if in_batches else 2.0  # M^beta; M^alpha only where it is a count itself
        counts += 1.0 if kind.has_biases else 0.0
        writes = counts * (1.0 + recalled) + 1.0  # each one less and one more; z
    elif in_batches:
        writes = float(K)  # M^beta of d
    else:
        of_winner = 3.0  # m, a, and what the prior of Phi brings
        writes = K + (of_winner if gauge else float(V))  # M^beta of d; the winner's, or its M^alpha
    if in_batches:
        races_per_batch = races * batch_size * doc_length
        writes += K * V / races_per_batch + T / races  # the update; N_zw of the kept sweeps
    return RaceAccount(
        algorithm,
        races,
        spikes=3.0 + (1.0 + recalled if remembers else 0.0),
        synaptic_events=3.0 * K - 1.0 + (2.0 if remembers else 0.0),
        plastic_writes=writes,
    )
