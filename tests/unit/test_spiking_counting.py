"""SpikeCGS, semi- and du-SpikeLDA in spikes: golden traces against the rate-level twins."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.latency import Windowed
from brian_lda.constraints import NO_WINNER, Constraints
from brian_lda.errors import ParameterError, WeightOverflowError
from brian_lda.parameters import BatchParameters
from brian_lda.reference.activation import padded
from brian_lda.reference.assignments import assignment_counts
from brian_lda.reference.du_spike_lda import (
    DuSpikeLDAReference,
    delayed_document_update,
    document_update,
)
from brian_lda.reference.semi_spike_lda import SemiSpikeLDAReference
from brian_lda.reference.spike_cgs import SpikeCGSReference
from brian_lda.reference.word_weights import WordWeights
from brian_lda.simulation import DuSpikeLDASpiking, SemiSpikeLDASpiking, SpikeCGSSpiking
from brian_lda.simulation.recording import EVERYTHING, Recording
from brian_lda.step_rules import RMSProp, RobbinsMonro

V, D, K, N_TOKENS, T = 7, 4, 3, 25, 2
ATOL = 1e-12  # a few dozen updates of numbers of order 1, in another order of operations
LAMDA = np.array([0.2, 0.5, 0.3])
VARPHI = np.linspace(0.05, 0.3, V)
INHIBITIONS = {
    "race": Race(),
    "poisson": Poisson(),
    "nessler": Poisson(rate=300.0, normalised=True),  # about three ticks a token
    "windowed": Windowed(latency=(1, 0, 2), window=2),
}


def cgs_pair(inhibition="race", constraints=None, **arguments):
    rng = np.random.default_rng(0)
    words, docs = rng.integers(0, V, N_TOKENS), rng.integers(0, D, N_TOKENS)
    arguments = {
        "n_topics": K, "n_words": V, "n_docs": D, "doc_topic_prior": LAMDA,
        "topic_word_prior": VARPHI, "seed": 1, **arguments,
    }  # fmt: skip
    spiking = SpikeCGSSpiking(
        words, docs, simulator="numpy", inhibition=INHIBITIONS[inhibition],
        constraints=constraints, **arguments,
    )  # fmt: skip
    return spiking, SpikeCGSReference(words, docs, **arguments), words, docs


@pytest.mark.parametrize("inhibition", INHIBITIONS)
def test_spike_cgs_trace_equals_the_reference(inhibition):
    spiking, reference, words, docs = cgs_pair(inhibition)
    rng = np.random.default_rng(2)
    for order in (None, rng.permutation(N_TOKENS), rng.integers(0, N_TOKENS, 17)):
        winners = spiking.sweep(order)
        reference.sweep(order, winners=winners)
        for name in ("M__alpha", "M__beta", "b", "phi", "theta"):
            np.testing.assert_allclose(
                getattr(spiking, name), getattr(reference, name), rtol=0, atol=ATOL, err_msg=name
            )
        np.testing.assert_array_equal(spiking.z, reference.z)
    C_wz, C_zd, C_z = assignment_counts(words, docs, spiking.z, V, D, K)
    np.testing.assert_allclose(np.exp(spiking.M__alpha) - VARPHI, C_wz, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.exp(spiking.M__beta) - LAMDA, C_zd, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.exp(spiking.b) - VARPHI.sum(), C_z, rtol=0, atol=1e-12)


def test_one_token_of_alg_2_by_hand():
    """Exactly three weights lose a count and three gain one."""
    spiking, _, words, docs = cgs_pair()
    token = 11
    w, d, old = words[token], docs[token], spiking.z[token]
    before = spiking.state()
    (new,) = spiking.sweep([token])
    after = spiking.state()
    for name, index in (("M__alpha", (slice(None), w)), ("M__beta", d), ("b", slice(None))):
        expected = np.exp(before[name])
        expected[index] += np.eye(K)[new] - np.eye(K)[old]
        np.testing.assert_allclose(np.exp(after[name]), expected, rtol=0, atol=ATOL)
        untouched = np.isclose(expected, np.exp(before[name]), rtol=0, atol=0.5)
        np.testing.assert_array_equal(after[name][untouched], before[name][untouched])
    assert np.flatnonzero(before["z"] != after["z"]).tolist() == ([] if new == old else [token])


def test_the_old_topic_neuron_fires_in_the_negative_phase():
    """Recorded: one spike a token in the slot "recall", of the neuron that won last time."""
    spiking, _, _, _ = cgs_pair("poisson")
    before = spiking.z.copy()
    winners = spiking.sweep(record=Recording(("recalled", "token"), EVERYTHING))
    np.testing.assert_array_equal(spiking.spikes.index["recalled"], before)
    assert len(spiking.spikes.index["token"]) > N_TOKENS  # clamped for several ticks
    spiking.sweep(record=Recording(("recalled",), EVERYTHING))
    np.testing.assert_array_equal(spiking.spikes.index["recalled"], winners)


@pytest.mark.complete(but=["race", "nessler"])
@pytest.mark.parametrize("inhibition", INHIBITIONS)
def test_spike_cgs_goes_on_bit_for_bit_from_its_state(inhibition):
    uninterrupted, stopped, resumed = (cgs_pair(inhibition)[0] for _ in range(3))
    for _ in range(2):
        uninterrupted.sweep()
    stopped.sweep()
    resumed.set_state(stopped.state())
    resumed.sweep()
    assert_same_bits(resumed.state(), uninterrupted.state())
    kept = {"w", "p", "c", "z", "M__alpha", "M__beta", "b", "n_presented"}
    excitable = inhibition in ("poisson", "windowed")
    assert set(resumed.state()) == kept | ({"excitability"} if excitable else set())


def assert_same_bits(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_states_of_spike_cgs_are_exchanged_between_the_twins():
    spiking, reference, _, _ = cgs_pair()
    reference.sweep()
    spiking.set_state(reference.state())
    reference.sweep(winners=spiking.sweep())
    other = cgs_pair()[1]
    other.set_state(spiking.state())
    for twin in (reference, other):
        for name in ("M__alpha", "M__beta", "b"):
            np.testing.assert_allclose(
                getattr(spiking, name), getattr(twin, name), rtol=0, atol=ATOL, err_msg=name
            )
        np.testing.assert_array_equal(spiking.z, twin.z)
    other.sweep(winners=spiking.sweep())
    np.testing.assert_allclose(spiking.M__alpha, other.M__alpha, rtol=0, atol=ATOL)


def test_tokens_out_of_range_are_refused():
    spiking, _, _, _ = cgs_pair()
    for order in ([N_TOKENS], [-1, 3]):
        with pytest.raises(ParameterError, match=r"order must be indices in \[0, 25\)"):
            spiking.sweep(order)


STEPS = {
    "robbins_monro": (
        RobbinsMonro(0.02, offset=5.0, power=0.7, floor=0.001),
        RobbinsMonro(0.5, offset=3.0, power=0.6),
    ),
    "robbins_monro_1": (RobbinsMonro(0.02, offset=5.0, power=1.0), RobbinsMonro(0.5, power=0.0)),
    "paper": (RMSProp(eta=0.5), RMSProp(eta=0.1)),
}
NETWORKS = {"semi": SemiSpikeLDASpiking, "du": DuSpikeLDASpiking}
RATE_TWINS = {"semi": SemiSpikeLDAReference, "du": DuSpikeLDAReference}


def batch_parameters(network, steps="robbins_monro", **changes):
    return BatchParameters(
        **{
            "n_topics": K,
            "doc_topic_prior": LAMDA + (network == "du"),
            "topic_word_prior": 0.05,
            "local_iterations": T,
            "word_step": STEPS[steps][0],
            "doc_step": STEPS[steps][1],
            "integrator": "euler" if steps == "paper" else "flow",
        }
        | changes
    )


def batch_network(network, steps="robbins_monro", inhibition="race", **options):
    parameters = batch_parameters(network, steps)
    options = {"simulator": "numpy", "inhibition": INHIBITIONS[inhibition], **options}
    return NETWORKS[network](parameters, V, seed=3, n_training_tokens=100, **options)


def mini_batches(n, seed=0):
    """Of 4, 3, 4, ... documents, the second of them empty in the first."""
    rng = np.random.default_rng(seed)
    for number in range(n):
        counts = rng.integers(0, 3, (4 - number % 2, V)).astype(np.int32)
        counts[1] *= number > 0
        yield sparse.csr_array(counts)


def tokens_of(counts):
    docs = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return np.repeat(counts.indices, counts.data), np.repeat(docs, counts.data)


def kept_counts(words, winners):
    N_zw = np.zeros((V, padded(K)), np.int64)
    for sweep in winners[-T:]:
        np.add.at(N_zw, (words, sweep), 1)
    return N_zw


CASES = [
    (network, steps, inhibition)
    for network in NETWORKS
    for steps in STEPS
    for inhibition in (INHIBITIONS if steps == "robbins_monro" else ("race", "poisson"))
]


@pytest.mark.complete(
    but=[
        "semi-robbins_monro-race",
        "semi-robbins_monro-poisson",
        "semi-robbins_monro_1-race",
        "semi-paper-race",
        "du-robbins_monro-race",
        "du-robbins_monro-nessler",
        "du-robbins_monro_1-race",
        "du-paper-poisson",
    ]
)
@pytest.mark.parametrize(("network", "steps", "inhibition"), CASES)
def test_mini_batch_traces_equal_the_reference(network, steps, inhibition):
    spiking = batch_network(network, steps, inhibition)
    parameters = spiking.parameters
    reference = WordWeights(parameters, V, seed=3, n_training_tokens=100)
    for number, counts in enumerate(mini_batches(3)):
        winners = spiking.update(counts)
        words, docs = tokens_of(counts)
        assert winners.shape == (2 * T + (network == "semi"), len(words))
        reference.update(np.arange(V), kept_counts(words, winners), counts.shape[0], T)
        state = reference.state()
        for name in set(state) - {"q__alpha", "a__alpha", "b__alpha"}:
            np.testing.assert_allclose(
                spiking.state()[name], state[name], rtol=0, atol=ATOL, err_msg=name
            )
        if network == "semi":
            _, C_zd, _ = assignment_counts(words, docs, winners[-1], V, counts.shape[0], K)
            expected = np.log(C_zd + LAMDA)
        else:
            expected = delayed_document_weights(parameters, counts, docs, winners, number)
        np.testing.assert_allclose(spiking.M__beta, expected, rtol=0, atol=ATOL)


def delayed_document_weights(parameters, counts, docs, winners, number):
    """M^beta after 2T local iterations, by the reference's rules; N(1, 1) before the first."""
    rng = np.random.default_rng(np.random.SeedSequence([3, 3, number]))
    M__beta = rng.normal(1.0, 1.0, (counts.shape[0], K))
    prior = parameters.doc_topic_prior - 1.0
    rule, is_flow = parameters.doc_step.kernel_rule, parameters.integrator == "flow"
    for d, n_tokens in enumerate(counts.sum(axis=1)):
        p, v, own = np.exp(M__beta[d]), np.zeros(K), winners[:, docs == d]
        a = 1 / prior.sum() + 1 / max(n_tokens, 1)
        if isinstance(parameters.doc_step, RMSProp):
            for iteration in own[: 2 * T * (n_tokens > 0)]:
                C_z = np.bincount(iteration, minlength=K).astype(float)
                delayed_document_update(p, v, C_z, prior, a, n_tokens, rule, is_flow)
        else:
            for n, z in enumerate(own.ravel()):
                document_update(p, z, prior, a, n_tokens, n, rule, is_flow)
        M__beta[d] = np.log(p)
    return M__beta


@pytest.mark.parametrize("network", NETWORKS)
def test_a_mini_batch_longer_than_one_run_is_the_same_mini_batch(network):
    """The eligibility of the synapses is carried over, the update waits for the last run."""
    (counts,) = mini_batches(1)
    words, _ = tokens_of(counts)
    window = Recording(("word",), windows=[(len(words) + 1, 2 * len(words))])  # in two runs
    spiking = batch_network(network)
    short = replace(spiking.network.sizes, capacity=len(words) + 3)
    spiking.network.resize(short)
    reference = WordWeights(spiking.parameters, V, seed=3, n_training_tokens=100)
    winners = spiking.update(counts, record=window)
    reference.update(np.arange(V), kept_counts(words, winners), counts.shape[0], T)
    np.testing.assert_allclose(spiking.M__alpha, reference.M__alpha, rtol=0, atol=ATOL)
    np.testing.assert_array_equal(spiking.spikes.index["word"], words[1:])
    np.testing.assert_array_equal(spiking.spikes.index["topic"], winners[1][1:])
    ticks = np.arange(len(words) - 1) * spiking.spikes.tick
    np.testing.assert_allclose(spiking.spikes.time["word"], ticks, rtol=0, atol=1e-9)


@pytest.mark.parametrize("steps", ["robbins_monro", "paper"])
@pytest.mark.parametrize("network", NETWORKS)
def test_the_network_itself_forgets_a_mini_batch_that_has_ended(network, steps):
    """No eligibility is left in neurons and synapses, whatever they are given for the next."""
    (counts,) = mini_batches(1)
    spiking = batch_network(network, steps)
    spiking.update(counts)
    known = spiking.network.known
    of_prior = K * V * 0.05 * counts.sum() / 100  # varphi of all synapses, for a share of a pass
    assert known("n_spikes").sum() == pytest.approx(counts.sum() + of_prior, rel=1e-12)
    of_document = (network, steps) == ("du", "paper")  # which averages over a local iteration
    eligibilities = {"N_z", "N_zw"} | ({"C_zd", "n_seen"} if of_document else set())
    for eligibility in eligibilities:
        np.testing.assert_array_equal(known(eligibility), 0.0, err_msg=eligibility)


RESUMED = [
    (network, steps, inhibition)
    for network in NETWORKS
    for steps in ("robbins_monro", "paper")
    for inhibition in ("race", "poisson")
]


@pytest.mark.complete(
    but=["semi-robbins_monro-race", "semi-paper-race", "du-robbins_monro-poisson", "du-paper-race"]
)
@pytest.mark.parametrize(("network", "steps", "inhibition"), RESUMED)
def test_mini_batches_go_on_bit_for_bit_from_a_state(network, steps, inhibition):
    """The excitability of Poisson() goes from batch to batch: it is part of the state."""
    uninterrupted, stopped, resumed = (batch_network(network, steps, inhibition) for _ in range(3))
    first, second = mini_batches(2)
    uninterrupted.update(first)
    winners = uninterrupted.update(second)
    stopped.update(first)
    resumed.set_state(stopped.state())
    np.testing.assert_array_equal(resumed.update(second), winners)
    assert_same_bits(resumed.state(), uninterrupted.state())
    assert ("excitability" in resumed.state()) == (inhibition in ("poisson", "windowed"))


@pytest.mark.parametrize("network", NETWORKS)
def test_mini_batches_with_few_bits_go_on_bit_for_bit_from_a_state(network):
    limits = Constraints(weight_bits=6, weight_range=(-5.0, 4.1))
    uninterrupted, stopped, resumed = (batch_network(network, constraints=limits) for _ in range(3))
    first, second = mini_batches(2)
    uninterrupted.update(first)
    winners = uninterrupted.update(second)
    stopped.update(first)
    resumed.set_state(stopped.state())
    np.testing.assert_array_equal(resumed.update(second), winners)
    assert_same_bits(resumed.state(), uninterrupted.state())


@pytest.mark.parametrize("steps", ["robbins_monro", "paper"])
@pytest.mark.parametrize("network", NETWORKS)
def test_states_of_mini_batches_are_exchanged_between_the_twins(network, steps):
    first, second = mini_batches(2)
    spiking = batch_network(network, steps)
    reference, other = (
        RATE_TWINS[network](spiking.parameters, V, seed=3, n_training_tokens=100) for _ in range(2)
    )
    reference.update(first)
    spiking.set_state(reference.state())
    assert_same_words(spiking, reference.words)
    winners = spiking.update(second)
    words, _ = tokens_of(second)
    reference.words.update(np.arange(V), kept_counts(words, winners), second.shape[0], T)
    assert_same_words(spiking, reference.words)
    other.set_state(spiking.state())
    assert_same_words(spiking, other.words)
    assert other.n_updates == 2


def assert_same_words(spiking, words):
    found, expected = spiking.state(), words.state()
    for name in expected.keys() - {"q__alpha", "a__alpha", "b__alpha"}:
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=ATOL, err_msg=name)


def test_an_empty_mini_batch_changes_nothing_but_the_counter():
    spiking = batch_network("semi")
    before = spiking.M__alpha
    assert spiking.update(sparse.csr_array(np.zeros((2, V), np.int32))).shape == (5, 0)
    np.testing.assert_array_equal(spiking.M__alpha, before)
    assert spiking.n_updates == 1 and spiking.documents_swapped == 2


def test_mini_batches_that_outgrow_the_network_are_learned_as_any_other():
    """Documents and remembered tokens grow; what the word synapses know is kept."""
    rng = np.random.default_rng(4)
    batches = [sparse.csr_array(rng.integers(0, 3, (n, V)).astype(np.int32)) for n in (2, 5, 1)]
    for network in NETWORKS:
        spiking = batch_network(network)
        reference = WordWeights(spiking.parameters, V, seed=3, n_training_tokens=100)
        for counts in batches:
            winners = spiking.update(counts)
            words, _ = tokens_of(counts)
            reference.update(np.arange(V), kept_counts(words, winners), counts.shape[0], T)
            assert_same_words(spiking, reference)
        assert spiking.documents_swapped == 8


@pytest.mark.parametrize("network", NETWORKS)
def test_too_long_an_euler_step_is_named_and_changes_nothing(network):
    parameters = batch_parameters(network, "paper", word_step=RMSProp(eta=1e4))
    spiking = NETWORKS[network](parameters, V, seed=3, n_training_tokens=100, simulator="numpy")
    spiking.set_state(spiking.state() | {"M__alpha": np.full((K, V), -5.0)})
    before = spiking.state()
    (counts,) = mini_batches(1)
    with pytest.raises(
        WeightOverflowError, match="M__alpha must stand for weights.*integrator='flow'"
    ):
        spiking.update(counts)
    assert_same_bits(spiking.state(), before)


DEAD = Constraints(dead_synapses=0.6, seed=2)


def test_mini_batches_are_learned_without_the_words_that_nobody_hears():
    """Presented, such a token would wait for ever; the others learn as if it were not there."""
    for network in NETWORKS:
        spiking, expected = (batch_network(network, constraints=DEAD) for _ in range(2))
        (counts,) = mini_batches(1)
        living = [DEAD.living(*sizes) for sizes in (("alpha", V, K), ("beta", counts.shape[0], K))]
        words, docs = tokens_of(counts)
        heard = (living[0][words] & living[1][docs]).any(axis=1)
        assert 0 < heard.sum() < len(words)
        left = np.zeros(counts.shape, np.int32)
        np.add.at(left, (docs[heard], words[heard]), 1)
        winners = spiking.update(counts)
        assert (winners[:, ~heard] == NO_WINNER).all()
        np.testing.assert_array_equal(winners[:, heard], expected.update(sparse.csr_array(left)))
        np.testing.assert_array_equal(spiking.M__alpha, expected.M__alpha)
        np.testing.assert_array_equal(spiking.M__beta, expected.M__beta)


def test_spike_cgs_leaves_a_token_that_nobody_hears_with_its_topic():
    spiking, _, words, docs = cgs_pair(constraints=DEAD)
    heard = (DEAD.living("alpha", V, K)[words] & DEAD.living("beta", D, K)[docs]).any(axis=1)
    before, winners = spiking.z, spiking.sweep()
    assert 0 < heard.sum() < N_TOKENS
    np.testing.assert_array_equal(winners == NO_WINNER, ~heard)
    np.testing.assert_array_equal(spiking.z, np.where(heard, winners, before))
