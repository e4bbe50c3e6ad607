"""CGS and semi-SpikeLDA by lists of topics: invariants, the choice between forms, resumed runs."""

import numba
import numpy as np
import pytest
from scipy import sparse

from brian_lda.parameters import BatchParameters
from brian_lda.reference.activation import BLOCK, padded
from brian_lda.reference.assignments import assignment_counts
from brian_lda.reference.collapsed_gibbs import CollapsedGibbs, chosen_word_counts
from brian_lda.reference.document_batch import batch_tokens
from brian_lda.reference.mini_batch import infer_counts
from brian_lda.reference.random_streams import new_stream
from brian_lda.reference.semi_cgs_lists import new_list, prefers_list, sums_of_prior, sweep_list
from brian_lda.reference.semi_spike_lda import (
    NOTHING_TAKEN,
    SemiSpikeLDAReference,
    semi_cgs_counts,
)
from brian_lda.reference.word_lists import WordLists
from brian_lda.reference.word_table import WordTable

V, D, N_TOKENS = 40, 12, 600


def gibbs(K=50, seed=0, word_counts=WordLists, **changes):
    """Word V - 1 and document D - 1 have no token; both priors are uneven."""
    rng = np.random.default_rng(1)
    words = ((V - 1) * rng.random(N_TOKENS) ** 2).astype(int)  # some frequent, some rare
    arguments = {
        "n_topics": K,
        "n_words": V,
        "n_docs": D,
        "doc_topic_prior": np.linspace(0.01, 0.3, K),
        "topic_word_prior": np.linspace(0.002, 0.2, V),
        "seed": seed,
    } | changes
    docs = np.sort(rng.integers(0, D - 1, N_TOKENS))
    return CollapsedGibbs(words, docs, _word_counts=word_counts, **arguments)


def check_lists(chain):
    """The lists hold the nonzero counts of the assignments, sorted by topic, and nothing else."""
    lists, K = chain._word_counts, chain.n_topics
    C_wz, C_zd, C_z = assignment_counts(chain._words, chain._docs, chain.z, V, D, K)
    np.testing.assert_array_equal(lists.C_wz, C_wz)
    np.testing.assert_array_equal(chain.C_zd, C_zd)
    np.testing.assert_array_equal(chain._C_z, C_z)
    for w in range(V):
        entries = lists._entries[lists._start[w] : lists._start[w + 1]]
        topics, counts = (entries >> 32).astype(int), (entries & 0xFFFFFFFF).astype(int)
        n = np.count_nonzero(C_wz[:, w])
        assert lists._length[w] == n and len(entries) % BLOCK == 0
        np.testing.assert_array_equal(topics[:n], np.flatnonzero(C_wz[:, w]))
        np.testing.assert_array_equal(counts[:n], C_wz[topics[:n], w])
        assert (topics[n:] == padded(K)).all() and not counts[n:].any()
    used = np.count_nonzero(C_wz, axis=0)
    assert lists.topics_per_token == pytest.approx(np.mean(used[chain._words]), rel=1e-12)


@pytest.mark.parametrize("K", (2, 8, 11, 33, 50, 300))
def test_lists_are_the_nonzero_counts(K):
    chain = gibbs(K)
    check_lists(chain)
    start = chain.z.copy()
    for _ in range(50):
        chain.sweep()
    check_lists(chain)
    assert (chain.z != start).mean() > 0.2
    chain.sweep(np.random.default_rng(2).integers(0, N_TOKENS, 2000))  # documents in any order
    check_lists(chain)
    np.testing.assert_allclose(chain.phi.sum(axis=1), 1.0, rtol=1e-12)


def test_both_forms_tell_the_same_counts():
    table, lists = (gibbs(word_counts=kind) for kind in (WordTable, WordLists))
    np.testing.assert_array_equal(table.phi, lists.phi)
    np.testing.assert_array_equal(table.theta, lists.theta)
    assert table._word_counts.topics_per_token == lists._word_counts.topics_per_token


@pytest.mark.parametrize("best", (0, 7, 8, 45))
@pytest.mark.parametrize("from_list", (True, False))
def test_a_winner_that_is_certain(best, from_list):
    """The word's own topic, or one that no token has: the prior of the others is all but 0."""
    lamda = np.full(46, 1e-12)
    lamda[best] = 1e6
    chain = CollapsedGibbs(
        np.array([0, 0, 1]), np.array([0, 1, 2]), n_topics=46, n_words=2, n_docs=3,
        doc_topic_prior=lamda, topic_word_prior=0.5, seed=0, _word_counts=WordLists,
        initial_assignments=np.array([best if from_list else 3, 5, 6]),
    )  # fmt: skip
    chain.sweep(np.array([1, 2, 1]))
    assert chain.z.tolist() == [best if from_list else 3, best, best]


@pytest.mark.parametrize("word_counts", (WordLists, None))
def test_a_resumed_chain_goes_on_bit_for_bit(word_counts):
    """Forced to lists, and over the change from a table to lists after some sweeps."""
    arguments = {"K": 100, "word_counts": word_counts}
    original, forms = gibbs(seed=3, **arguments), []
    states = []
    for _ in range(12):
        states.append(original.state())
        original.sweep()
        forms.append(type(original._word_counts))
    if word_counts is None:
        assert set(forms) == {WordTable, WordLists}
    for n in (0, 1, 5, 11):
        resumed = gibbs(seed=8, **arguments)
        resumed.set_state(states[n])
        for form in forms[n:]:
            resumed.sweep()
            assert type(resumed._word_counts) is form
        np.testing.assert_array_equal(resumed.z, original.z)
        np.testing.assert_array_equal(resumed.state()["stream"], original.state()["stream"])


def test_the_form_of_word_counts_follows_topics_and_sparsity():
    assert chosen_word_counts(50, 1.0) is WordTable
    assert chosen_word_counts(1000, 20.0) is WordLists
    assert chosen_word_counts(1000, 900.0) is WordTable
    chain = gibbs(K=200, word_counts=None, initial_assignments=np.zeros(N_TOKENS, int))
    chain.sweep(np.arange(1))
    assert type(chain._word_counts) is WordLists


def documents(n_docs=40, n_words=30, seed=0):
    counts = np.random.default_rng(seed).poisson(0.4, (n_docs, n_words)).astype(np.int32)
    counts[3] = 0  # an empty document
    counts[:, 7] = 0  # a word that no document has
    return sparse.csr_array(counts)


def rates_of(batch, K, seed=0):
    rates, lamda = np.zeros((len(batch.words), padded(K)), np.float32), np.zeros(padded(K))
    rates[:, :K] = np.random.default_rng(seed).random((len(batch.words), K))
    lamda[:K] = np.linspace(0.05, 0.4, K)
    return rates, lamda.astype(np.float32)


@pytest.mark.parametrize("K", (2, 8, 11, 33, 70))
def test_every_token_of_a_document_is_listed(K):
    batch = batch_tokens(documents())
    rates, lamda = rates_of(batch, K)
    stream = new_stream(4)
    for d in range(batch.n_docs):
        entries = slice(batch.start[d], batch.start[d + 1])
        words, count = batch.local_word[entries], batch.count[entries]
        z, topics = np.empty(count.sum(), np.int32), new_list(K, count.sum())
        sums = sums_of_prior(words, rates, lamda)
        np.testing.assert_allclose(sums[:, -1], rates[words] @ lamda, rtol=1e-5)  # float32
        for s in range(5):
            sweep_list(words, count, rates, NOTHING_TAKEN, lamda, sums, s == 0, topics, z, stream)
            n_listed, topic, C_z, place, _, _ = topics
            n, counted = n_listed[0], np.bincount(z, minlength=K)
            np.testing.assert_array_equal(np.sort(topic[:n]), np.flatnonzero(counted))
            np.testing.assert_array_equal(C_z[:n], counted[topic[:n]])
            np.testing.assert_array_equal(place[topic[:n]], np.arange(n))
            assert not C_z[n:].any() and np.count_nonzero(place >= 0) == n


@pytest.mark.parametrize("best", (0, 31, 32, 69))
def test_a_certain_winner_of_a_document(best):
    K = 70
    batch = batch_tokens(documents())
    rates, lamda = rates_of(batch, K)
    rates[:] *= 1e-30
    rates[:, best] = 1.0
    N_zw = semi_cgs_counts(
        batch, rates, lamda, K, burn_in=1, kept=2, key=np.random.SeedSequence(1), _by_list=True
    )
    assert N_zw[:, best].sum() == 2 * batch.n_tokens == N_zw.sum()


@pytest.mark.parametrize("K", (10, 70))
@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="numba was given one thread only")
def test_the_number_of_threads_is_no_matter(K):
    batch = batch_tokens(documents())
    found, before = [], numba.get_num_threads()
    try:
        for n_threads in (1, 2):
            numba.set_num_threads(n_threads)
            found.append(
                semi_cgs_counts(
                    batch, *rates_of(batch, K), K, burn_in=3, kept=3,
                    key=np.random.SeedSequence(2), _by_list=True,
                )
            )  # fmt: skip
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0].sum(axis=1), 3 * documents().sum(axis=0)[batch.words])


def test_shards_of_a_mini_batch_add_up_bit_for_bit():
    """As data-parallel training splits it: some documents by lists, some over all topics."""
    K, counts = 70, documents(n_docs=30).toarray()
    counts[::2] *= 40  # N_d decides
    whole = batch_tokens(sparse.csr_array(counts))
    parameters = BatchParameters(K, 0.5, local_iterations=2)
    by_list = prefers_list(K, np.diff(whole.first_token), np.full(K, 0.5, np.float32))
    assert 0 < by_list.sum() < len(by_list)
    phi = np.random.default_rng(0).random((30, padded(K))).astype(np.float32)
    phi[:, K:] = 0.0
    key = np.random.SeedSequence(6)
    total = np.zeros((30, padded(K)), int)
    for shard in (slice(0, 11), slice(11, 30)):
        held = np.zeros_like(counts)
        held[shard] = counts[shard]
        batch = batch_tokens(sparse.csr_array(held))
        N_zw = infer_counts(
            SemiSpikeLDAReference, parameters, batch, (phi[batch.words], NOTHING_TAKEN), key
        )
        total[batch.words] += N_zw
    N_zw = infer_counts(
        SemiSpikeLDAReference, parameters, whole, (phi[whole.words], NOTHING_TAKEN), key
    )
    np.testing.assert_array_equal(total[whole.words], N_zw)


def test_lists_are_chosen_by_topics_prior_and_length():
    few, many = np.full(50, 0.1, np.float32), np.full(1000, 0.1, np.float32)
    lengths = np.array([0, 1, 100, 600, 10**6])
    assert not prefers_list(50, lengths, few).any()
    assert prefers_list(1000, lengths, many).tolist() == [True, True, True, True, False]
    spread = np.full(1000, 5.0, np.float32)  # a document has as many topics as tokens
    assert prefers_list(1000, np.array([100, 600]), spread).tolist() == [True, False]
