"""SpikeCGS, semi- and du-SpikeLDA in spikes: golden traces against the rate-level twins."""

import numpy as np
import pytest
from scipy import sparse

from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.constraints import NO_WINNER, Constraints
from brian_lda.errors import ParameterError, WeightOverflowError
from brian_lda.parameters import BatchParameters, RMSProp, RobbinsMonro
from brian_lda.reference.activation import padded
from brian_lda.reference.assignments import assignment_counts
from brian_lda.reference.du_spike_lda import _doc_rule, delayed_document_update
from brian_lda.reference.spike_cgs import SpikeCGSReference
from brian_lda.reference.word_weights import WordWeights
from brian_lda.simulation.recording import Recording
from brian_lda.simulation.twins import DuSpikeLDASpiking, SemiSpikeLDASpiking, SpikeCGSSpiking

V, D, K, N_TOKENS, T = 7, 4, 3, 25, 2
ATOL = 1e-12  # a few dozen updates of numbers of order 1, in another order of operations
LAMDA = np.array([0.2, 0.5, 0.3])
VARPHI = np.linspace(0.05, 0.3, V)
INHIBITIONS = {"race": Race(), "poisson": Poisson(rate=300.0)}


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
    winners = spiking.sweep(record=Recording(("recalled", "token")))
    np.testing.assert_array_equal(spiking.spikes.index["recalled"], before)
    assert len(spiking.spikes.index["token"]) > N_TOKENS  # clamped for several ticks
    spiking.sweep(record=Recording(("recalled",)))
    np.testing.assert_array_equal(spiking.spikes.index["recalled"], winners)


def test_spike_cgs_goes_on_bit_for_bit_from_its_state():
    uninterrupted, _, _, _ = cgs_pair()
    stopped, _, _, _ = cgs_pair()
    for _ in range(2):
        uninterrupted.sweep()
    stopped.sweep()
    resumed, _, _, _ = cgs_pair(seed=1)
    resumed.set_state(stopped.state())
    resumed.sweep()
    for name, value in uninterrupted.state().items():
        np.testing.assert_array_equal(resumed.state()[name], value, err_msg=name)


def test_tokens_out_of_range_are_refused():
    spiking, _, _, _ = cgs_pair()
    with pytest.raises(ParameterError, match=r"order must be a vector of indices in \[0, 25\)"):
        spiking.sweep([N_TOKENS])


STEPS = {
    "robbins_monro": (
        RobbinsMonro(0.02, offset=5.0, power=0.7, floor=0.001),
        RobbinsMonro(0.5, offset=3.0, power=0.6),
    ),
    "robbins_monro_1": (RobbinsMonro(0.02, offset=5.0, power=1.0), RobbinsMonro(0.5, power=0.0)),
    "rmsprop": (RMSProp(eta=0.5), RMSProp(eta=0.1)),  # the paper's
}
NETWORKS = {"semi": SemiSpikeLDASpiking, "du": DuSpikeLDASpiking}


def batch_network(network, steps="robbins_monro", integrator="flow", inhibition="race", **options):
    parameters = BatchParameters(
        n_topics=K,
        doc_topic_prior=LAMDA + (network == "du"),
        topic_word_prior=0.05,
        local_iterations=T,
        word_step=STEPS[steps][0],
        doc_step=STEPS[steps][1],
        integrator=integrator,
    )
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
    (network, steps, integrator, inhibition)
    for network in NETWORKS
    for steps in STEPS
    for integrator in ("flow", "euler")
    for inhibition in (INHIBITIONS if steps != "robbins_monro_1" else ("race",))
]


@pytest.mark.parametrize(("network", "steps", "integrator", "inhibition"), CASES)
def test_mini_batch_traces_equal_the_reference(network, steps, integrator, inhibition):
    spiking = batch_network(network, steps, integrator, inhibition)
    parameters = spiking.parameters
    reference = WordWeights(parameters, V, seed=3, n_training_tokens=100)
    for number, counts in enumerate(mini_batches(3)):
        winners = spiking.update(counts)
        words, docs = tokens_of(counts)
        assert winners.shape == (2 * T + (network == "semi"), len(words))
        reference.update(np.arange(V), kept_counts(words, winners), counts.shape[0], T)
        state = reference.state()
        for name in set(state) - {"q__alpha", "a__alpha"}:
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
    """M^beta after 2T averaged updates, by the reference's rule; N(1, 1) before the first."""
    rng = np.random.default_rng(np.random.SeedSequence([3, 3, number]))
    M__beta = rng.normal(1.0, 1.0, (counts.shape[0], K))
    prior = parameters.doc_topic_prior - 1.0
    for d, n_tokens in enumerate(counts.sum(axis=1)):
        p, v = np.exp(M__beta[d]), np.zeros(K)
        for n in range(2 * T * (n_tokens > 0)):
            C_z = np.bincount(winners[n][docs == d], minlength=K).astype(float)
            delayed_document_update(
                p, v, C_z, prior, 1 / prior.sum() + 1 / n_tokens, n_tokens, n, K,
                _doc_rule(parameters.doc_step), parameters.integrator == "flow",
            )  # fmt: skip
        M__beta[d] = np.log(p)
    return M__beta


@pytest.mark.parametrize("network", NETWORKS)
def test_a_mini_batch_longer_than_one_run_is_the_same_mini_batch(network):
    """The eligibility of the synapses is carried over, the update waits for the last run."""
    (counts,) = mini_batches(1)
    words, _ = tokens_of(counts)
    window = Recording(("word",), start=len(words) + 3, stop=2 * len(words))  # three runs
    spiking = batch_network(network)
    reference = WordWeights(spiking.parameters, V, seed=3, n_training_tokens=100)
    winners = spiking.update(counts, record=window)
    reference.update(np.arange(V), kept_counts(words, winners), counts.shape[0], T)
    np.testing.assert_allclose(spiking.words.M__alpha, reference.M__alpha, rtol=0, atol=ATOL)
    np.testing.assert_array_equal(spiking.spikes.index["word"], words[3:])


@pytest.mark.parametrize("network", NETWORKS)
def test_the_network_itself_forgets_a_mini_batch_that_has_ended(network, monkeypatch):
    """No eligibility is left in neurons and synapses, whatever they are given for the next."""
    left = {}
    monkeypatch.setattr(
        NETWORKS[network], "_keep_word_synapses", lambda _, values: left.update(values)
    )
    (counts,) = mini_batches(1)
    batch_network(network).update(counts)
    assert left["topics.n_spikes"].sum() == counts.sum()
    for eligibility in ("topics.N_z", "alpha.N_zw", *(["beta.C_zd"] if network == "du" else [])):
        np.testing.assert_array_equal(left[eligibility], 0.0)


@pytest.mark.parametrize("network", NETWORKS)
def test_mini_batches_go_on_bit_for_bit_from_a_state(network):
    uninterrupted, stopped = batch_network(network), batch_network(network)
    first, second = mini_batches(2)
    uninterrupted.update(first), uninterrupted.update(second)
    stopped.update(first)
    resumed = batch_network(network)
    resumed.set_state(stopped.state())
    resumed.update(second)
    for name, value in uninterrupted.state().items():
        np.testing.assert_array_equal(resumed.state()[name], value, err_msg=name)


def test_an_empty_mini_batch_changes_nothing_but_the_counter():
    spiking = batch_network("semi")
    before = spiking.words.M__alpha
    assert spiking.update(sparse.csr_array(np.zeros((2, V), np.int32))).shape == (5, 0)
    np.testing.assert_array_equal(spiking.words.M__alpha, before)
    assert spiking.n_updates == 1 and spiking.documents_swapped == 2


def test_too_long_an_euler_step_is_named():
    spiking = batch_network("semi", integrator="euler")
    spiking.words.M__alpha = np.full((K, V), -20.0)
    before = spiking.words.M__alpha
    (counts,) = mini_batches(1)
    with pytest.raises(WeightOverflowError, match="integrator='flow'"):
        spiking.update(counts)
    np.testing.assert_array_equal(spiking.words.M__alpha, before)


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
        np.testing.assert_array_equal(spiking.words.M__alpha, expected.words.M__alpha)
        np.testing.assert_array_equal(spiking.M__beta, expected.M__beta)


def test_spike_cgs_leaves_a_token_that_nobody_hears_with_its_topic():
    spiking, _, words, docs = cgs_pair(constraints=DEAD)
    heard = (DEAD.living("alpha", V, K)[words] & DEAD.living("beta", D, K)[docs]).any(axis=1)
    before, winners = spiking.z, spiking.sweep()
    assert 0 < heard.sum() < N_TOKENS
    np.testing.assert_array_equal(winners == NO_WINNER, ~heard)
    np.testing.assert_array_equal(spiking.z, np.where(heard, winners, before))
