"""Limits of chips, in both twins: what is rounded, who hears, who learns."""

import numpy as np
import pytest
from scipy import sparse, stats

from brian_lda import DuSpikeLDA, EdSpikeLDA
from brian_lda.circuit.inhibition import Poisson
from brian_lda.circuit.latency import Windowed
from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError
from brian_lda.parameters import BatchParameters, EventDrivenParameters, PrunedWords, RobbinsMonro
from brian_lda.reference.constrained import ConstrainedReference
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.simulation.twins import (
    DuSpikeLDASpiking,
    EventDrivenSpiking,
    SemiSpikeLDASpiking,
    SpikeCGSSpiking,
)

V, D, K = 6, 3, 4
STEP = RobbinsMonro(scale=0.3, offset=3.0, power=0.7)
PARAMETERS = EventDrivenParameters(K, 1.3, STEP, STEP)
ATOL = 1e-12  # a few dozen updates of numbers of order 1


def tokens(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, V, n), rng.integers(0, D, n)


def twins(constraints, seed=1, **options):
    lengths = np.array([20, 20, 20])
    spiking = EventDrivenSpiking(
        PARAMETERS, V, lengths, seed=seed, simulator="numpy", constraints=constraints, **options
    )
    return spiking, ConstrainedReference(PARAMETERS, V, lengths, seed=seed, constraints=constraints)


def on_grid(M, constraints):
    low, high = constraints.weight_range
    levels = (M - low) / constraints.quantum
    np.testing.assert_allclose(levels, np.round(levels), rtol=0, atol=1e-6)
    assert low <= M.min() and M.max() <= high


@pytest.mark.parametrize("inhibition", [None, Poisson(rate=300.0), Windowed(latency=1, window=2)])
def test_every_weight_stays_on_one_of_the_levels(inhibition):
    limits = Constraints(weight_bits=5, weight_range=(-6.1, 9.5))  # 32 levels, 0 is none of them
    for network in twins(limits, inhibition=inhibition):
        network.present(*tokens(25))
        on_grid(network.M__beta, limits)
        # M^alpha = m - a: m is on the grid, a is the neuron's own
        M__alpha = network.M__alpha
        steps = (M__alpha - M__alpha[:, :1]) / limits.quantum
        np.testing.assert_allclose(steps, np.round(steps), rtol=0, atol=1e-6)
        assert len(np.unique(M__alpha)) > 2


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_b_bits_hold_as_many_values_and_no_more(bits):
    limits = Constraints(weight_bits=bits)
    M = np.linspace(-20.0, 20.0, 100_001)
    rounded = limits.rounded(M, np.random.default_rng(0))
    assert len(np.unique(rounded.round(9))) == 2**bits  # 1e-9: the rounding of doubles, not a level
    assert (rounded.min(), rounded.max()) == limits.weight_range


def test_rounding_is_without_bias():
    limits = Constraints(weight_bits=4)
    M = np.full(200_000, -1.3)
    rounded = limits.rounded(M, np.random.default_rng(0))
    assert len(np.unique(rounded)) == 2
    np.testing.assert_allclose(rounded.mean(), -1.3, rtol=0, atol=5 * limits.quantum / 900)
    np.testing.assert_array_equal(Constraints().rounded(M, None), M)


@pytest.mark.parametrize("twin", [0, 1])
def test_many_bits_are_as_good_as_all(twin):
    """24 bits against double precision, the same seed: the spikes are the same at first."""
    limits = Constraints(weight_bits=24)
    exact = EdSpikeLDAReference(PARAMETERS, V, [20] * 3, seed=1)
    network = twins(limits)[twin]
    words, docs = tokens(12)
    winners = network.present(words, docs)
    exact.present(words, docs, winners=winners)
    np.testing.assert_allclose(network.M__alpha, exact.M__alpha, rtol=0, atol=12 * limits.quantum)
    np.testing.assert_allclose(network.M__beta, exact.M__beta, rtol=0, atol=12 * limits.quantum)


def test_a_neuron_behind_a_dead_synapse_never_wins_that_word():
    limits = Constraints(dead_synapses=0.5, dead_neurons=0.2, seed=5)
    words, docs = tokens(300)
    spiking, reference = twins(limits)
    for network, n_docs in ((spiking, spiking._shape.n_docs), (reference, D)):
        living = limits.living("alpha", V, K), limits.living("beta", n_docs, K)
        paths = living[0][words] & living[1][docs]
        winners = network.present(words, docs)
        heard = winners >= 0
        np.testing.assert_array_equal(heard, paths.any(axis=1))
        assert 0 < heard.sum() < 300
        assert paths[heard, winners[heard]].all()
        assert network.state()["n_alpha"].sum() == heard.sum()  # the others changed nothing
    with pytest.raises(ParameterError, match="leaves none of the 4 topic neurons alive"):
        Constraints(dead_neurons=0.9, seed=3).living("alpha", V, K)


def test_lost_packets_bias_nothing_but_who_takes_part():
    """Frozen weights: winners are softmax among those who hear, averaged over what is lost."""
    loss, chips = 0.3, (0, 0, 1, 1)
    limits = Constraints(packet_loss=loss, chip_of_topic=chips)
    frozen = EventDrivenParameters(
        K, 1.3, RobbinsMonro(1e-12, power=0.0), RobbinsMonro(1e-12, power=0.0)
    )
    u = np.array([0.3, -0.4, 0.9, -1.0])
    state = {"M__alpha": np.tile(u[:, None], (1, V)), "M__beta": np.zeros((D, K))}
    state |= {"n_alpha": np.zeros(K), "n_beta": np.zeros(D)}
    arrives = (1 - loss) ** 2  # word and document
    expected = np.zeros(K)
    for heard in ([1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]):
        both = sum(heard) == K
        p = np.array(heard) * np.exp(u)
        expected += (arrives**2 if both else arrives * (1 - arrives)) * p / p.sum()
    expected /= 1 - (1 - arrives) ** 2  # nobody hears: presented again
    words, docs = tokens(4000)
    for kind, extra in ((EventDrivenSpiking, {"simulator": "numpy"}), (ConstrainedReference, {})):
        network = kind(frozen, V, [20] * 3, seed=2, initial=state, constraints=limits, **extra)
        counts = np.bincount(network.present(words, docs), minlength=K)
        assert stats.chisquare(counts, expected * len(words)).pvalue > 1e-3
        without_loss = np.exp(u) / np.exp(u).sum()
        assert stats.chisquare(counts, without_loss * len(words)).pvalue < 1e-6


def test_who_misses_the_winner_does_not_learn():
    """With every third packet lost, some document synapses skip some tokens, in both twins."""
    limits = Constraints(packet_loss=0.4, chip_of_topic=(0, 1, 2, 3))
    for network in twins(limits):
        skipped = 0
        for word, doc in zip(*tokens(15), strict=True):
            before = network.M__beta[doc].copy()
            (z,) = network.present([word], [doc])
            unchanged = network.M__beta[doc] == before
            assert not unchanged[z]
            skipped += unchanged.sum()
        assert 10 < skipped < 42  # 3 others x 15 tokens x (1 - 0.6 * ~0.6)


def test_pruned_network_in_spikes_equals_the_reference():
    private = np.random.default_rng(3).random((K, V)) < 0.5
    pruned = PrunedWords(private, np.linspace(-3.0, -1.0, K))
    lengths = [20] * 3
    spiking = EventDrivenSpiking(PARAMETERS, V, lengths, seed=1, simulator="numpy", pruned=pruned)
    reference = EdSpikeLDAReference(PARAMETERS, V, lengths, seed=1, pruned=pruned)
    words, docs = tokens(40)
    reference.present(words, docs, winners=spiking.present(words, docs))
    np.testing.assert_allclose(spiking.M__alpha, reference.M__alpha, rtol=0, atol=ATOL)
    np.testing.assert_allclose(spiking.M__beta, reference.M__beta, rtol=0, atol=ATOL)
    assert (spiking.M__alpha[~private] == np.repeat(pruned.shared, (~private).sum(axis=1))).all()
    with pytest.raises(ParameterError, match="gauge"):
        EventDrivenSpiking(
            EventDrivenParameters(K, 1.3, STEP, STEP, gauge=False), V, lengths, seed=1,
            pruned=pruned,
        )  # fmt: skip


def test_counting_networks_take_limits_but_no_lost_packets():
    words, docs = tokens(12)
    arguments = {
        "n_topics": K, "n_words": V, "n_docs": D, "doc_topic_prior": 0.5,
        "topic_word_prior": 0.5, "seed": 0, "simulator": "numpy",
    }  # fmt: skip
    limits = Constraints(weight_bits=6, dead_neurons=0.3, seed=4)
    sampler = SpikeCGSSpiking(words, docs, constraints=limits, **arguments)
    alive = limits.living("alpha", V, K).all(axis=0)
    assert alive[sampler.sweep()].all() and not alive.all()
    with pytest.raises(ParameterError, match="packet_loss must be 0"):
        SpikeCGSSpiking(words, docs, constraints=Constraints(packet_loss=0.1), **arguments).sweep()
    counts = sparse.csr_array(np.ones((2, V), np.int32))
    for kind, prior in ((SemiSpikeLDASpiking, 0.5), (DuSpikeLDASpiking, 1.5)):
        parameters = BatchParameters(n_topics=K, doc_topic_prior=prior, local_iterations=1)
        arguments = {"seed": 0, "n_training_tokens": 12, "simulator": "numpy"}
        network = kind(parameters, V, constraints=limits, **arguments)
        assert alive[network.update(counts)].all()
        on_grid(network.words.M__alpha, limits)
        with pytest.raises(ParameterError, match="packet_loss must be 0"):
            kind(parameters, V, constraints=Constraints(packet_loss=0.1), **arguments).update(
                counts
            )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight_bits": 1}, "weight_bits must be None or an integer 2..24; found 1"),
        ({"weight_range": (1.0, -1.0)}, "weight_range"),
        ({"weight_range": [1.0]}, r"weight_range must be \(lowest, highest\); found \[1.0\]"),
        ({"weight_range": (-np.inf, 0.0)}, "weight_range"),
        ({"weight_range": "low"}, "found 'low'"),
        ({"packet_loss": "10 %"}, r"packet_loss must be in \[0, 1\); found '10 %'"),
        ({"packet_loss": np.nan}, "packet_loss"),
        ({"chip_of_topic": "AB"}, "chip_of_topic must name a chip.*found 'AB'"),
        ({"chip_of_topic": ()}, "chip_of_topic"),
        ({"packet_loss": 1.0}, r"packet_loss must be in \[0, 1\); found 1.0"),
        ({"dead_synapses": -0.1}, "dead_synapses"),
        ({"chip_of_topic": (-1, 0)}, "chip_of_topic"),
    ],
)
def test_impossible_limits_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        Constraints(**arguments)


def test_weights_of_all_bits_have_no_levels():
    with pytest.raises(ParameterError, match="weight_bits is set"):
        _ = Constraints().quantum


def test_limits_as_plain_data_and_a_misspelt_one():
    counts = np.array([[2, 1], [1, 2]])
    limits = {"weight_bits": 6, "weight_range": [-9.0, 7.0]}  # as JSON gives it
    model = EdSpikeLDA(n_topics=2, max_iter=1, random_state=0, constraints=limits)
    expected = Constraints(weight_bits=6, weight_range=(-9.0, 7.0))
    assert model.fit(counts).trainer_.network.constraints == expected
    with pytest.raises(ParameterError, match="constraints has no bits; it has weight_bits"):
        model.set_params(constraints={"bits": 6}).fit(counts)
    with pytest.raises(ParameterError, match="need backend='brian2'"):
        DuSpikeLDA(constraints={"weight_bits": 6}).fit(counts)


def test_placement_must_fit_the_network():
    with pytest.raises(ParameterError, match=r"one entry per topic \(4\); found 2"):
        ConstrainedReference(
            PARAMETERS, V, [20] * 3, seed=0, constraints=Constraints(chip_of_topic=(0, 1))
        )
