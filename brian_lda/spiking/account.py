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

from brian_lda.errors import ParameterError


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
        "spike-cgs", "ed-spike-lda", "ed-spike-plsi", "du-spike-lda" or "semi-spike-lda".
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
    remembers = algorithm in ("spike-cgs", "semi-spike-lda")
    races = {"du-spike-lda": 2 * T, "semi-spike-lda": 2 * T + 1}.get(algorithm, 1)
    if algorithm == "spike-cgs":
        writes = 6.0 + 1.0  # M^alpha, M^beta, b: each one less and one more; z
    elif algorithm in ("ed-spike-lda", "ed-spike-plsi"):
        writes = K + (2.0 if gauge else float(V))  # M^beta of d; m and a, or M^alpha of the winner
    elif algorithm in ("du-spike-lda", "semi-spike-lda"):
        races_per_batch = races * batch_size * doc_length
        writes = K * V / races_per_batch + T / races  # the update; N_zw of the kept sweeps
        if algorithm == "du-spike-lda":
            writes += 1.0 + K / doc_length  # C_zd; M^beta at the end of a local iteration
        else:
            writes += (2.0 * races - 1.0) / races + 1.0  # M^beta less and more (first: more); z
    else:
        raise ParameterError(
            "algorithm must be spike-cgs, ed-spike-lda, ed-spike-plsi, du-spike-lda or "
            f"semi-spike-lda; found {algorithm!r}."
        )
    recalled = (races - 1) / races if algorithm == "semi-spike-lda" else 1.0
    return RaceAccount(
        algorithm,
        races,
        spikes=3.0 + (1.0 + recalled if remembers else 0.0),
        synaptic_events=3.0 * K - 1.0 + (2.0 if remembers else 0.0),
        plastic_writes=writes,
    )
