"""What a token's own votes weigh, what is left of a rate without them, and who takes them out."""

import numpy as np
import pytest
from scipy import sparse

from brian_lda import SemiSpikeLDA
from brian_lda.automatic_steps import forgetting_step
from brian_lda.corpus import load_corpus
from brian_lda.errors import ParameterError
from brian_lda.own_votes import own_votes
from brian_lda.parameters import BatchParameters
from brian_lda.reference.semi_spike_lda import SemiSpikeLDAReference
from brian_lda.reference.word_weights import WordWeights
from brian_lda.simulation import SemiSpikeLDASpiking
from brian_lda.step_rules import RMSProp, RobbinsMonro

K, V, N = 3, 5, 600.0
VARPHI = 0.05


def parameters(word_step=None, **changes):
    step = word_step or forgetting_step(0.2 * N / K, V)
    arguments = {"topic_word_prior": VARPHI, "exclude_own_votes": True, **changes}
    return BatchParameters(K, 0.1, local_iterations=2, word_step=step, **arguments)


def after(passes):
    """n_z of topics of different size after some passes, the prior's spikes among them."""
    return passes * (N + K * V * VARPHI) * np.array([0.5, 0.3, 0.2])


@pytest.mark.parametrize("passes", [10, 20, 40])
@pytest.mark.parametrize("step", [forgetting_step(0.2 * N / K, V), RobbinsMonro(0.004, power=0.0)])
def test_own_votes_are_what_the_weight_holds_of_a_token_that_votes_once_a_pass(step, passes):
    """Spike by spike: each fades w by exp(-eta) and brings 1 - exp(-eta).

    The sum over whole passes is taken for an integral from half a pass ago on: that is right to 1 %
    of a vote where the weights average over two passes and more, and to 7 % where over less.
    """
    n_z = after(passes)[0]
    a_pass = round(n_z / passes)
    eta = step.scale * (1 + np.arange(passes * a_pass) / step.offset) ** -step.power
    later = np.append(np.cumsum(eta[::-1])[::-1][1:], 0.0)
    weight = -np.expm1(-eta) * np.exp(-later)  # of each spike, in the end
    of_a_token = weight[::-1][a_pass - 1 :: a_pass].sum()  # a pass ago, two passes ago, ...
    vote, own = own_votes(parameters(step), after(passes), N, V * VARPHI)
    window = 1.0 / (eta[-1] * a_pass)  # in passes
    assert vote[0] == pytest.approx(1.0 / a_pass, rel=2e-3)  # a_pass is rounded
    assert own[0] == pytest.approx(of_a_token, abs=(0.01 if window > 1.5 else 0.07) / a_pass)


def test_in_the_first_pass_nothing_is_a_tokens_own():
    for passes, is_some in ((0.0, False), (0.99, False), (1.01, True)):
        vote, own = own_votes(parameters(RobbinsMonro(0.004, power=0.0)), after(passes), N, 0.25)
        assert own.all() == own.any() == vote.all() == is_some


@pytest.mark.parametrize(
    "changes",
    [
        {"exclude_own_votes": False},
        {"topic_word_prior": 0.0},
        {"topic_word_prior": np.array([0.1, 0.1, 0.0, 0.1, 0.1])},
        {"word_step": RMSProp()},
        {"integrator": "euler"},
    ],
    ids=["not asked for", "no prior", "a word without", "a step per synapse", "Euler"],
)
def test_nothing_is_taken_where_nobody_knows_what_they_weigh(changes):
    vote, own = own_votes(parameters(**changes), after(20), N, 0.25)
    assert not own.any() and not vote.any()
    weights = WordWeights(parameters(**changes), V, 0, N)
    assert weights.left_of_rates(np.arange(V)).size == 0


def test_the_votes_of_a_pass_and_the_prior_make_up_the_whole_weight():
    vote, _ = own_votes(parameters(), after(20), N, V * VARPHI)
    np.testing.assert_allclose(vote * after(1), 1.0, rtol=1e-12)


def test_a_neuron_that_never_fired_has_no_votes():
    n_spikes = after(20)
    n_spikes[1] = 0.0
    vote, own = own_votes(parameters(), n_spikes, N, 0.25)
    assert vote[1] == own[1] == 0.0 and (own[[0, 2]] > 0).all()


def test_what_is_left_of_a_rate():
    """p - own, but never less than the prior's share varphi vote, and never more than p."""
    weights = WordWeights(parameters(), V, 0, N)
    weights.n_spikes = after(20)
    vote, own = own_votes(parameters(), weights.n_spikes, N, V * VARPHI)
    share = VARPHI * vote
    p = np.array([5 * own, share + 0.5 * own, share + own, share, 0.5 * share]).T  # [topic, word]
    weights.M__alpha = np.log(p)
    left = weights.left_of_rates(np.array([4, 3, 2, 1, 0]))[::-1, :K]
    expected = np.array([0.8 * p[:, 0], share, share, share, 0.5 * share]).T / p
    np.testing.assert_allclose(left, expected.T, rtol=1e-6)  # float32


def counts_of(seed=0):
    return sparse.csr_array(np.random.default_rng(seed).poisson(0.8, (6, V)).astype(np.int32))


def test_both_twins_take_out_the_same():
    """What the host tells the network is what the twin takes, and both learn alike.

    That the network races with it: test_model_equations.py, tests/statistical.
    """
    batches = [counts_of(0), counts_of(1)]
    n_tokens = float(sum(batch.sum() for batch in batches))
    law = parameters(forgetting_step(0.2 * n_tokens / K, V))
    spiking = SemiSpikeLDASpiking(law, V, seed=1, n_training_tokens=n_tokens, simulator="numpy")
    twin = SemiSpikeLDAReference(law, V, seed=1, n_training_tokens=n_tokens)
    for n in range(6):
        batch = batches[n % 2]
        winners = spiking.update(batch)
        left = twin.words.left_of_rates(np.arange(V))[:, :K]
        read = spiking.network.constants
        w, share = np.exp(twin.words.M__alpha), VARPHI * np.asarray(read["topics.vote"])
        taken = np.clip(w.T - share, 0, read["topics.own"])
        np.testing.assert_allclose(left, 1 - taken / w.T, rtol=0, atol=1e-6)  # float32
        assert (left < 1).any() == (n >= 2)  # from the second pass on
        p = twin.follow(batch, winners, np.zeros((6, K)))
        assert (np.take_along_axis(p, winners[..., None], 2) > 1e-6).all()
        np.testing.assert_allclose(spiking.M__alpha, twin.words.M__alpha, rtol=0, atol=1e-9)


def test_what_compare_twins_takes_for_the_law():
    """`follow`: of each token's last topic, from its second race on, what is left; no other."""
    batch, rng = counts_of(), np.random.default_rng(3)
    winners = rng.integers(0, K, (3, batch.sum()))
    found = []
    for exclude in (True, False):
        twin = SemiSpikeLDAReference(
            parameters(exclude_own_votes=exclude), V, seed=1, n_training_tokens=N
        )
        twin.words.n_spikes = after(20)
        left = twin.words.left_of_rates(np.arange(V))  # the last has none
        found.append((twin.follow(batch, winners, np.zeros((6, K))), left))
    (p, left), (with_own_votes, _) = found
    words = np.repeat(batch.indices, batch.data)
    expected = with_own_votes.copy()
    for s in (1, 2):
        expected[s, np.arange(len(words)), winners[s - 1]] *= left[words, winners[s - 1]]
    expected /= expected.sum(axis=2, keepdims=True)
    assert not np.allclose(expected, with_own_votes, rtol=1e-3)
    np.testing.assert_allclose(p, expected, rtol=1e-5)  # float32


def test_the_option_changes_training_but_not_its_first_pass():
    corpus = load_corpus("bars", grid=3, n_docs=64, doc_length=20, seed=0)

    def phi(n_passes, exclude):
        model = SemiSpikeLDA(
            n_topics=4, batch_size=16, max_iter=4 * n_passes, exclude_own_votes=exclude,
            random_state=0,
        )  # fmt: skip
        return model.fit(corpus).components_

    np.testing.assert_array_equal(phi(1, True), phi(1, False))
    assert not np.array_equal(phi(8, True), phi(8, False))


@pytest.mark.parametrize("backend", ["rate", "brian2"])
def test_a_stream_has_no_own_votes(backend):
    """No document comes again later; after a fit the stream takes none out either."""
    corpus = load_corpus("bars", grid=3, n_docs=12, doc_length=10, seed=0)
    options = {"brian2_options": {"simulator": "numpy"}} if backend == "brian2" else {}

    def phi(exclude):
        model = SemiSpikeLDA(
            n_topics=3, batch_size=12, local_iterations=1, exclude_own_votes=exclude,
            backend=backend, random_state=0, **options,
        )  # fmt: skip
        for _ in range(2):
            model.partial_fit(corpus)
        return model.components_

    np.testing.assert_array_equal(phi(True), phi(False))


def test_what_is_neither_true_nor_false_is_refused():
    corpus = load_corpus("bars", grid=3, n_docs=12, doc_length=10, seed=0)
    with pytest.raises(ParameterError, match="exclude_own_votes must be True or False; found 0.5"):
        SemiSpikeLDA(n_topics=3, exclude_own_votes=0.5).fit(corpus)
