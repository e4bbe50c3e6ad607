"""semi- and du-SpikeLDA: the updates of M^alpha and M^beta against the equations as printed."""

from math import exp, log, sqrt

import numba
import numpy as np
import pytest
from scipy import sparse

from brian_lda.errors import ParameterError
from brian_lda.parameters import BatchParameters
from brian_lda.reference.activation import padded
from brian_lda.reference.document_batch import batch_tokens
from brian_lda.reference.du_spike_lda import (
    DuSpikeLDAReference,
    delayed_document_update,
    document_update,
)
from brian_lda.reference.semi_spike_lda import SemiSpikeLDAReference
from brian_lda.reference.word_weights import WordWeights
from brian_lda.step_rules import RMSProp, RobbinsMonro

K, V = 3, 4
SAME_FORMULA = 1e-12  # a few updates of numbers around 1
# Three mini-batches: (words, N_zw [word, topic], |D|, T). Topic 1 stays silent in the second.
BATCHES = [
    ([2, 0], [[3, 0, 1], [2, 5, 0]], 2, 2),
    ([1, 3, 0], [[4, 0, 0], [1, 0, 2], [0, 0, 3]], 1, 3),
    ([3], [[1, 1, 1]], 4, 1),
]


def as_counts(rows):
    N_zw = np.zeros((len(rows), padded(K)), np.int32)
    N_zw[:, :K] = rows
    return N_zw


def word_weights(step, integrator, varphi=0.0, n_training_tokens=100.0):
    parameters = BatchParameters(K, 0.1, varphi, word_step=step, integrator=integrator)
    return WordWeights(parameters, V, 0, n_training_tokens)


def summed_eta(rule, n, delta):
    """Integral of eta_n over delta spikes after the n-th."""
    first, last = 1 + n / rule.offset, 1 + (n + delta) / rule.offset
    if rule.power == 1:
        area = rule.offset * log(last / first)
    else:
        area = (
            rule.offset * (last ** (1 - rule.power) - first ** (1 - rule.power)) / (1 - rule.power)
        )
    return max(rule.scale * area, rule.floor * delta)


@pytest.mark.parametrize("integrator", ("euler", "flow"))
@pytest.mark.parametrize(
    "rule",
    [
        RobbinsMonro(0.1, power=0),
        RobbinsMonro(0.5, 3.0, 1.0),
        RobbinsMonro(0.5, 3.0, 0.7),
        RobbinsMonro(0.5, 3.0, 1.0, floor=0.3),
        RMSProp(0.2, 0.7, 1e-4),
    ],
    ids=("constant", "power 1", "power 0.7", "floor", "rmsprop"),
)
@pytest.mark.parametrize("varphi", (0.0, np.linspace(0.0, 2.0, V)), ids=("paper", "prior"))
def test_eq_semi_likelihood_discrete_dynamics(rule, integrator, varphi):
    """With a prior, varphi_w counts more for every N tokens shown, N = 40."""
    weights = word_weights(rule, integrator, varphi=varphi, n_training_tokens=40.0)
    varphi = np.broadcast_to(varphi, V)
    M = weights.M__alpha.tolist()
    n, v = [0.0] * K, [[0.0] * V for _ in range(K)]
    for words, rows, n_docs, T in BATCHES:
        weights.update(np.array(words, np.int32), as_counts(rows), n_docs, T)
        share = sum(map(sum, rows)) / 40.0
        for z in range(K):
            N_z = sum(row[z] for row in rows) + share * varphi.sum()
            for w in range(V):
                N_zw = (rows[words.index(w)][z] if w in words else 0) + share * varphi[w]
                if isinstance(rule, RMSProp):
                    c, a = N_zw / (n_docs * T), N_z / (n_docs * T)
                    g = c * exp(-M[z][w]) - a
                    v[z][w] = rule.decay * v[z][w] + (1 - rule.decay) * g**2
                    eta = rule.eta / sqrt(v[z][w] + rule.epsilon)
                elif N_z > 0:  # s_z [N_zw/N_z exp(-M) - 1]
                    c, a, eta = N_zw / N_z, 1.0, summed_eta(rule, n[z], N_z / T)
                if N_z > 0 and integrator == "euler":
                    M[z][w] += eta * (c * exp(-M[z][w]) - a)
                elif N_z > 0:
                    fade = exp(-a * eta)
                    M[z][w] = log(fade * exp(M[z][w]) + (1 - fade) * c / a)
            n[z] += N_z / T
        np.testing.assert_allclose(weights.M__alpha, M, rtol=0, atol=SAME_FORMULA)
        np.testing.assert_allclose(weights.n_spikes, n, rtol=1e-15)


def test_constant_step_is_the_printed_equation():
    """RobbinsMonro(eta/|D|, power=0) is M + eta/(|D|T) [N_zw exp(-M) - N_z], term by term."""
    eta, (words, rows, n_docs, T) = 0.3, BATCHES[0]
    weights = word_weights(RobbinsMonro(eta / n_docs, power=0), "euler")
    M = weights.M__alpha
    N_zw = np.zeros((K, V))
    N_zw[:, words] = np.transpose(rows)
    printed = M + eta / (n_docs * T) * (N_zw * np.exp(-M) - N_zw.sum(axis=1, keepdims=True))
    weights.update(np.array(words, np.int32), as_counts(rows), n_docs, T)
    np.testing.assert_allclose(weights.M__alpha, printed, rtol=0, atol=SAME_FORMULA)


@pytest.mark.parametrize("power", (0.0, 0.5, 0.7, 1.0))
def test_accumulated_step_adds_up_eta(power):
    """Within the first eta of the sum over single spikes; additive over batches."""
    rule = RobbinsMonro(0.5, 20.0, power)
    n, delta = np.array([0.0, 7.0]), np.array([100.0, 30.0])
    total = rule.sum_of_steps(n, delta)
    for i in range(2):
        eta = 0.5 * (1 + (n[i] + np.arange(delta[i])) / 20.0) ** -power
        assert eta.sum() - eta[0] <= total[i] + 1e-12
        assert total[i] <= eta.sum() + 1e-12
    half = rule.sum_of_steps(n, delta / 2) + rule.sum_of_steps(n + delta / 2, delta / 2)
    np.testing.assert_allclose(half, total, rtol=1e-12)


@pytest.mark.parametrize("integrator", ("euler", "flow"))
def test_the_fold_of_the_gauge_is_invisible(integrator):
    """Offsets beyond 200 are folded into the weights; the weights are what one sees."""
    weights = word_weights(RobbinsMonro(0.05, power=0), integrator)
    rng, words = np.random.default_rng(0), np.arange(V, dtype=np.int32)
    M, total = weights.M__alpha, np.zeros((K, 1))
    for _ in range(800):
        N_zw = rng.poisson(2.0, (V, K)) + 1
        weights.update(words, as_counts(N_zw), 1, 1)
        N_z = N_zw.sum(axis=0)[:, None]
        share, s = N_zw.T / N_z, 0.05 * N_z
        if integrator == "euler":
            M = M + s * (share * np.exp(-M) - 1)
        else:
            M = np.log(np.exp(-s) * np.exp(M) + (1 - np.exp(-s)) * share)
        total += s
    assert total.min() > 400  # folded twice
    np.testing.assert_allclose(weights.M__alpha, M, rtol=0, atol=1e-10)  # 800 updates


@pytest.mark.parametrize(
    ("rule", "batch_size"), [(RobbinsMonro(power=0), 2000), (RobbinsMonro(floor=0.1), 20_000)]
)
def test_flow_is_stable_for_any_step(rule, batch_size):
    """s_z of 2 000: the weights jump to the batch's own N_zw/N_z, nothing overflows."""
    weights = word_weights(rule, "flow")
    rows = np.outer([1, 2, 3, 4], [1, 1, 1]) * batch_size // 10
    for _ in range(3):
        weights.update(np.arange(V, dtype=np.int32), as_counts(rows), 1, 1)
        np.testing.assert_allclose(weights.phi, np.tile([0.1, 0.2, 0.3, 0.4], (K, 1)), rtol=1e-9)


@pytest.mark.parametrize("integrator", ("euler", "flow"))
@pytest.mark.parametrize("rule", (RobbinsMonro(2e-4, power=0), RMSProp()), ids=("rm", "rmsprop"))
def test_a_synapse_may_sink_for_ever(integrator, rule):
    """A word that never falls to a topic: its weight underflows, the update goes on."""
    weights = word_weights(rule, integrator)
    rows = [[1000, 0, 500], [0, 2000, 500]]
    for _ in range(5000):
        weights.update(np.array([0, 1], np.int32), as_counts(rows), 10, 1)
    assert np.isfinite(weights.M__alpha).all()
    assert weights.M__alpha[0, 1] < -600  # s adds up to 1 000
    np.testing.assert_allclose(
        weights.phi[:, :2], [[1, 0], [0, 1], [0.5, 0.5]], rtol=0, atol=0.3
    )  # RMSProp rattles


def test_rates_are_the_weights_up_to_a_factor_per_word():
    weights = word_weights(RobbinsMonro(), "flow", varphi=0.5, n_training_tokens=30.0)
    weights.update(np.array([2, 0], np.int32), as_counts([[3, 0, 1], [2, 5, 0]]), 2, 2)
    rates = weights.rates(np.array([3, 0], np.int32))
    assert rates.dtype == np.float32 and rates.shape == (2, padded(K))
    expected = np.exp(weights.M__alpha)[:, [3, 0]].T
    np.testing.assert_allclose(
        rates[:, :K],
        expected / expected.max(axis=1, keepdims=True),
        rtol=1e-6,  # float32
    )
    assert not rates[:, K:].any()
    p = np.exp(weights.M__alpha)
    np.testing.assert_allclose(weights.phi, p / p.sum(axis=1, keepdims=True), rtol=1e-13)


def test_rates_of_extreme_weights_stay_finite():
    weights = word_weights(RobbinsMonro(), "flow")
    weights.M__alpha = np.array([[-700.0, 700, 0, -700], [-690, 690, 0, 700], [-700, 0, 0, 0]])
    rates = weights.rates(np.arange(V, dtype=np.int32))
    assert np.isfinite(rates).all()
    np.testing.assert_allclose(rates[0, :K], np.exp([-10.0, 0.0, -10.0]), rtol=1e-5)


def document(n_tokens=6):
    """lambda, a, lambda - 1 and M^beta of a document, and p = exp M^beta with lanes that pad."""
    lamda, M = [1.3, 2.0, 1.1], [0.3, -0.8, 1.4]
    prior, p = np.zeros(padded(K)), np.zeros(padded(K))
    prior[:K], p[:K] = np.array(lamda) - 1, np.exp(M)
    return lamda, 1 / (sum(lamda) - K) + 1 / n_tokens, prior, M, p


@pytest.mark.parametrize("number", (np.float64, np.float32))  # the kernel draws from float32
@pytest.mark.parametrize("integrator", ("euler", "flow"))
def test_update_of_a_document_with_each_token(integrator, number):
    """Eq. (MAP discrete dynamics); steps and n in passes through the N_d tokens of a document."""
    rule, N_d = RobbinsMonro(2.5, 2.0, 0.8, 0.2), 6
    lamda, a, prior, M, p = document(N_d)
    p = p.astype(number)
    for n, winner in enumerate((0, 0, 2, 1, 2, 2, 2, 0)):
        document_update(p, winner, prior, a, N_d, n, rule.kernel_rule, integrator == "flow")
        eta = max(rule.scale * (1 + n / N_d / rule.offset) ** -rule.power, rule.floor) / N_d / a
        for z in range(K):
            c = (z == winner) + (lamda[z] - 1) / N_d
            if integrator == "euler":
                M[z] += eta * (c * exp(-M[z]) - a)
            else:
                M[z] = log(exp(-a * eta) * exp(M[z]) + (1 - exp(-a * eta)) * c / a)
        atol = SAME_FORMULA if number is np.float64 else 1e-5  # 8 roundings of 6e-8, amplified
        np.testing.assert_allclose(np.log(p[:K]), M, rtol=0, atol=atol)
        assert p.dtype == number
        assert not p[K:].any()


@pytest.mark.parametrize("integrator", ("euler", "flow"))
def test_delayed_update_of_a_document(integrator):
    """Eq. (MAP discrete dynamics) averaged over the N_d tokens of a document, with RMSProp."""
    rule, N_d = RMSProp(0.3, 0.6, 1e-3), 6
    lamda, a, prior, M, p = document(N_d)
    v, u = np.zeros(padded(K)), [0.0] * K
    for C in ([4, 1, 1], [2, 0, 4], [0, 6, 0]):
        C_z = np.zeros(padded(K))
        C_z[:K] = C
        delayed_document_update(p, v, C_z, prior, a, N_d, rule.kernel_rule, integrator == "flow")
        for z in range(K):
            c = (C[z] + lamda[z] - 1) / N_d
            g = c * exp(-M[z]) - a
            u[z] = rule.decay * u[z] + (1 - rule.decay) * g**2
            eta = rule.eta / sqrt(u[z] + rule.epsilon)
            if integrator == "euler":
                M[z] += eta * (c * exp(-M[z]) - a)
            else:
                M[z] = log(exp(-a * eta) * exp(M[z]) + (1 - exp(-a * eta)) * c / a)
        np.testing.assert_allclose(np.log(p[:K]), M, rtol=0, atol=SAME_FORMULA)
        assert not p[K:].any()


def corpus(n_docs=40, n_words=30, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.4, (n_docs, n_words)).astype(np.int32)
    counts[3] = 0  # an empty document
    counts[:, 7] = 0  # an unused word
    return sparse.csr_array(counts)


def reference(kind, seed=1, n_words=30, **changes):
    arguments = {"n_topics": 10, "doc_topic_prior": 1.1, "local_iterations": 3} | changes
    return kind(BatchParameters(**arguments), n_words, seed=seed, n_training_tokens=500.0)


KINDS = (SemiSpikeLDAReference, DuSpikeLDAReference)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="numba was given one thread only")
def test_the_number_of_threads_is_no_matter(kind):
    ends, before = [], numba.get_num_threads()
    try:
        for n_threads in (1, 2):
            numba.set_num_threads(n_threads)
            network = reference(kind)
            for _ in range(3):
                network.update(corpus())
            ends.append(network.state())
    finally:
        numba.set_num_threads(before)
    for key in ends[0]:
        np.testing.assert_array_equal(ends[0][key], ends[1][key], err_msg=key)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("T", (1, 4))
def test_every_token_is_counted_once_per_kept_sweep(kind, T):
    counts = corpus()
    network = reference(kind, local_iterations=T)
    for n in (1, 2, 3):
        network.update(counts)
        np.testing.assert_allclose(network.words.n_spikes.sum(), n * counts.sum(), rtol=1e-12)
    assert np.ptp(network.words.n_spikes) > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", (RobbinsMonro(), RMSProp()), ids=("rm", "rmsprop"))
def test_a_restored_state_goes_on_bit_for_bit(kind, rule):
    original, restored = (reference(kind, seed=1, word_step=rule) for _ in range(2))
    original.update(corpus(seed=1))
    state = original.state()
    frozen = {key: value.copy() for key, value in state.items()}
    restored.set_state(state)
    for seed in (2, 3):
        original.update(corpus(seed=seed))
        restored.update(corpus(seed=seed))
    end, restored_end = original.state(), restored.state()
    for key in end:
        np.testing.assert_array_equal(end[key], restored_end[key], err_msg=key)
        np.testing.assert_array_equal(state[key], frozen[key], err_msg=f"{key} is shared")
    assert not np.array_equal(state["M__alpha"], end["M__alpha"])


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_decide_and_updates_differ(kind):
    first, same, other = reference(kind, 1), reference(kind, 1), reference(kind, 2)
    for network in (first, same, other):
        network.update(corpus())
    np.testing.assert_array_equal(first.words.M__alpha, same.words.M__alpha)
    assert not np.array_equal(first.words.M__alpha, other.words.M__alpha)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_without_tokens_changes_nothing(kind):
    network = reference(kind)
    before = network.words.M__alpha
    network.update(sparse.csr_array((3, 30), dtype=np.int32))
    np.testing.assert_array_equal(network.words.M__alpha, before)


@pytest.mark.parametrize("kind", KINDS)
def test_words_outside_the_batch_only_decay(kind):
    """phi of an absent word falls by the common factor of its topic, relative to no other."""
    network = reference(kind)
    before = network.words.M__alpha
    network.update(corpus())
    change = network.words.M__alpha - before
    counts = np.asarray(corpus().sum(axis=0)).ravel()
    assert np.all(change[:, counts == 0] <= 0)
    np.testing.assert_allclose(np.ptp(change[:, counts == 0], axis=1), 0, atol=1e-12)


def test_delayed_needs_a_map_prior_and_semi_does_not():
    with pytest.raises(ParameterError, match="doc_topic_prior"):
        reference(DuSpikeLDAReference, doc_topic_prior=0.1)
    reference(SemiSpikeLDAReference, doc_topic_prior=0.1).update(corpus())


def test_batch_tokens_renumber_words():
    counts = sparse.csr_array(np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 0, 1]], np.int32))
    batch = batch_tokens(counts)
    assert (batch.n_docs, batch.n_tokens) == (3, 7)
    assert batch.words.tolist() == [1, 3, 0]
    assert batch.words[batch.local_word].tolist() == counts.indices.tolist()
    assert batch.count.tolist() == [2, 1, 3, 1]
    assert batch.start.tolist() == [0, 2, 2, 4]
    assert batch.first_token.tolist() == [0, 3, 3, 7]


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_threads_share_documents_by_their_tokens(n_threads):
    lengths = [900, 10, 500, 0, 420, 30, 880]
    batch = batch_tokens(sparse.csr_array(np.array([[n, 0] for n in lengths], np.int32)))
    documents, first = batch.shares(n_threads)
    assert sorted(documents) == list(range(len(lengths)))  # each once
    assert (first[0], first[-1], len(first)) == (0, len(lengths), n_threads + 1)
    of_thread = [documents[a:b] for a, b in zip(first, first[1:], strict=False)]
    loads = [sum(lengths[d] for d in own) for own in of_thread]
    assert max(loads) <= max(900, sum(lengths) / n_threads + 30)
