"""Limits of chips, in both twins: what is rounded, who hears, who learns."""

from dataclasses import replace

import numpy as np
import pytest
from event_driven_twins import rate_twin
from scipy import sparse, stats

from brian_lda import DuSpikeLDA, EdSpikeLDA
from brian_lda.circuit.chips import limit_values
from brian_lda.circuit.circuit import Sizes
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.latency import Windowed
from brian_lda.constraints import NO_WINNER, Constraints
from brian_lda.errors import ParameterError
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import BatchParameters, EventDrivenParameters, PrunedWords
from brian_lda.reference.constrained import ConstrainedReference
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.simulation import (
    DuSpikeLDASpiking,
    EventDrivenSpiking,
    SemiSpikeLDASpiking,
    SpikeCGSSpiking,
)
from brian_lda.step_rules import AdaGrad, RMSProp, RobbinsMonro, VarianceTracking

V, D, K = 6, 3, 4
STEP = RobbinsMonro(scale=0.3, offset=3.0, power=0.7)
PARAMETERS = EventDrivenParameters(K, 1.3, STEP, STEP)
ATOL = 1e-12  # a few dozen updates of numbers of order 1


def tokens(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, V, n), rng.integers(0, D, n)


def twins(constraints, seed=1, parameters=PARAMETERS, **options):
    lengths = np.array([20, 20, 20])
    spiking = EventDrivenSpiking(
        parameters, V, lengths, seed=seed, simulator="numpy", constraints=constraints, **options
    )
    return spiking, ConstrainedReference(parameters, V, lengths, seed=seed, constraints=constraints)


def on_grid(M, constraints):
    low, high = constraints.weight_range
    levels = (M - low) / constraints.quantum
    np.testing.assert_allclose(levels, np.round(levels), rtol=0, atol=1e-6)
    assert low <= M.min() and M.max() <= high


@pytest.mark.parametrize("inhibition", [None, Poisson(), Windowed(latency=1, window=2)])
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
    for network in (spiking, reference):
        living = limits.living("alpha", V, K), limits.living("beta", D, K)
        paths = living[0][words] & living[1][docs]
        winners = network.present(words, docs)
        heard = winners >= 0
        np.testing.assert_array_equal(heard, paths.any(axis=1))
        assert 0 < heard.sum() < 300
        assert paths[heard, winners[heard]].all()
        assert network.state()["n_alpha"].sum() == heard.sum()  # the others changed nothing
    with pytest.raises(ParameterError, match="leaves none of the 4 topic neurons alive"):
        Constraints(dead_neurons=0.9, seed=3).living("alpha", V, K)


@pytest.mark.complete
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


@pytest.mark.parametrize("varphi", [0.0, np.linspace(0.0, 3.0, V)], ids=["paper", "prior on Phi"])
def test_limits_that_never_bind_leave_the_network_as_it_is(varphi):
    """The kernel with limits, step by step the one without."""
    parameters = replace(PARAMETERS, topic_word_prior=varphi)
    limits = Constraints(packet_loss=1e-12, chip_of_topic=(0, 0, 1, 1))
    chip = ConstrainedReference(parameters, V, [20] * 3, seed=1, constraints=limits)
    free = EdSpikeLDAReference(parameters, V, [20] * 3, seed=1)
    words, docs = tokens(40)
    for part in (slice(0, 1), slice(1, 15), slice(15, None)):
        free.present(words[part], docs[part], winners=chip.present(words[part], docs[part]))
        for name in ("J__alpha", "M__alpha", "M__beta", "_s_alpha", "_Delta_alpha"):
            found, expected = getattr(chip, name), getattr(free, name)
            np.testing.assert_allclose(found, expected, rtol=0, atol=ATOL, err_msg=name)
    assert (free._s_alpha > 0).all()


def test_who_misses_the_winner_does_not_learn():
    """With every third packet lost, some document synapses skip some tokens, in both twins.

    Nor does it count the token among those that it has waited since its own last spike.
    """
    limits = Constraints(packet_loss=0.4, chip_of_topic=(0, 1, 2, 3))
    for network in twins(limits, parameters=replace(PARAMETERS, topic_word_prior=0.5)):
        skipped, Delta = 0, np.zeros(K)
        for word, doc in zip(*tokens(15), strict=True):
            before = network.M__beta[doc].copy()
            (z,) = network.present([word], [doc])
            unchanged = network.M__beta[doc] == before
            assert not unchanged[z]
            skipped += unchanged.sum()
            Delta = np.where(np.arange(K) == z, 0, Delta + ~unchanged)
            np.testing.assert_array_equal(network.state()["Delta_alpha"], Delta)
        assert 10 < skipped < 42  # 3 others x 15 tokens x (1 - 0.6 * ~0.6)


def test_few_bits_of_the_network_as_printed():
    """M itself is stored there, and every synapse of the winner is written."""
    parameters = EventDrivenParameters(
        K, 1.3, VarianceTracking(), AdaGrad(0.3), "euler", gauge=False
    )
    limits = Constraints(weight_bits=5, weight_range=(-6.1, 9.5))
    network = EventDrivenSpiking(
        parameters, V, [20] * 3, seed=1, simulator="numpy", constraints=limits
    )
    before = network.state()
    network.present(*tokens(25))
    for name in ("M__alpha", "M__beta"):
        on_grid(network.state()[name], limits)
        assert (network.state()[name] != before[name]).any()


def test_folding_keeps_a_weight_on_its_levels():
    """a is given over to m in whole levels, so that m needs no rounding when that happens."""
    step = RobbinsMonro(0.5, power=0.0)
    limits = Constraints(weight_bits=5, weight_range=(-6.1, 9.5))
    network = EventDrivenSpiking(
        EventDrivenParameters(K, 1.3, step, step), V, [700] * 3, seed=1, simulator="numpy",
        constraints=limits,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(3):
        network.present(rng.integers(0, V - 1, 600), rng.integers(0, D, 600))
        state = network.state()
        n_alpha = state["n_alpha"]
        # The last word is never shown: it falls out of the range, down to SMALLEST.
        levels = (np.log(state["w"][:, : V - 1]) - limits.weight_range[0]) / limits.quantum
        np.testing.assert_allclose(levels, np.round(levels), rtol=0, atol=1e-6)
        M = state["M__alpha"][:, : V - 1]
        assert M.max() <= limits.weight_range[1]
        assert M.max() > limits.weight_range[0]
    assert (0.5 * n_alpha > 60 * np.log(10)).any()  # some g has been folded
    assert state["g"].min() >= 1e-60


def on_two_levels(rounded, exact, limits):
    """Values are beside the exact one, and it is their mean within five standard errors."""
    rounded = np.asarray(rounded)
    assert np.abs(rounded - exact).max() < limits.quantum * (1 + 1e-9)
    error = limits.quantum / 2 / np.sqrt(rounded.size)
    assert abs(rounded.mean() - exact) < 5 * error
    assert np.ptp(rounded) > limits.quantum / 2  # both of them occur


@pytest.mark.parametrize("form", ["flow", "paper"])
def test_rounding_in_the_network_is_without_bias(form):
    """One token in each of 400 documents: the same exact update, rounded 400 times over."""
    n_docs, limits = 400, Constraints(weight_bits=4)
    step = RobbinsMonro(0.3, power=0.0)
    steps = (step, step, "flow") if form == "flow" else (VarianceTracking(), AdaGrad(0.9), "euler")
    parameters = EventDrivenParameters(K, 1.3, *steps, gauge=form == "flow")
    lengths = np.ones(n_docs)
    level = limits.weight_range[0] + 10 * limits.quantum  # a weight that the chip can hold
    start = initial_state(parameters, V, lengths, seed=1)
    start |= {"M__alpha": np.full((K, V), level), "M__beta": np.full((n_docs, K), level)}
    start["M__alpha"][0] += 5 * limits.quantum  # wins
    start["M__beta"][:, 0] += 5 * limits.quantum
    exact = EdSpikeLDAReference(parameters, V, lengths, seed=1, initial=start)
    exact.present(np.zeros(1, int), np.zeros(1, int), winners=[0])
    chip = EventDrivenSpiking(
        parameters, V, lengths, seed=1, initial=start, simulator="numpy", constraints=limits
    )
    winners = chip.present(np.zeros(n_docs, int), np.arange(n_docs))
    assert (winners == 0).mean() > 0.95
    won = winners == 0
    for topic in (0, 1):
        on_two_levels(chip.M__beta[won, topic], exact.M__beta[0, topic], limits)


def test_dead_synapses_are_the_same_in_a_network_that_is_compiled_larger():
    """51 documents are compiled as 52; the 51 hear and miss the same."""
    limits = Constraints(dead_synapses=0.5, seed=5)
    n_docs = 51
    network = EventDrivenSpiking(
        PARAMETERS, V, [4] * n_docs, seed=1, simulator="numpy", constraints=limits
    )
    assert network.network._compiled().n_docs > n_docs
    words, docs = np.tile(np.arange(V), n_docs), np.repeat(np.arange(n_docs), V)
    paths = limits.living("alpha", V, K)[words] & limits.living("beta", n_docs, K)[docs]
    winners = network.present(words, docs)
    np.testing.assert_array_equal(winners >= 0, paths.any(axis=1))
    assert paths[winners >= 0, winners[winners >= 0]].all()


@pytest.mark.parametrize("inhibition", [Race(), Poisson()])
def test_the_rest_learns_as_if_tokens_that_nobody_hears_were_not_there(inhibition):
    limits = Constraints(dead_synapses=0.6, seed=2)
    with_them, without = (twins(limits, inhibition=inhibition)[0] for _ in range(2))
    words, docs = tokens(40)
    paths = limits.living("alpha", V, K)[words] & limits.living("beta", D, K)[docs]
    heard = paths.any(axis=1)
    assert 0 < heard.sum() < 40
    for part in (slice(0, 15), slice(15, 40)):
        winners = with_them.present(words[part], docs[part])
        shown = np.flatnonzero(heard[part])
        assert (np.delete(winners, shown) == NO_WINNER).all()
        expected = without.present(words[part][shown], docs[part][shown])
        np.testing.assert_array_equal(winners[shown], expected)
    for name, value in without.state().items():
        np.testing.assert_array_equal(with_them.state()[name], value, err_msg=name)


@pytest.mark.parametrize("inhibition", [Race(), Poisson()])
@pytest.mark.parametrize("form", ["flow", "paper"])
@pytest.mark.parametrize(("prior", "varphi"), [(1.3, 0.0), (1.3, 2.0), (None, 0.0)])
def test_pruned_network_in_spikes_equals_the_reference(prior, varphi, form, inhibition):
    private = np.random.default_rng(3).random((K, V)) < 0.5
    pruned = PrunedWords(private, np.linspace(-3.0, -1.0, K), np.linspace(-1.0, 1.0, V))
    lengths = [20] * 3
    parameters = EventDrivenParameters(K, prior, STEP, STEP, topic_word_prior=varphi)
    if form == "paper":
        doc_step = VarianceTracking() if prior is None else AdaGrad()
        parameters = EventDrivenParameters(
            K, prior, VarianceTracking(), doc_step, "euler", gauge=False
        )
    spiking = EventDrivenSpiking(
        parameters, V, lengths, seed=1, simulator="numpy", pruned=pruned, inhibition=inhibition
    )
    reference = rate_twin(parameters, V, lengths, seed=1, pruned=pruned)
    words, docs = tokens(40)
    winners = spiking.present(words, docs)
    reference.present(words, docs, winners=winners)
    assert private[winners, words].any() and not private[winners, words].all()
    np.testing.assert_allclose(spiking.M__alpha, reference.M__alpha, rtol=0, atol=ATOL)
    np.testing.assert_allclose(spiking.J__alpha, reference.J__alpha, rtol=0, atol=ATOL)
    np.testing.assert_allclose(spiking.M__beta, reference.M__beta, rtol=0, atol=ATOL)
    assert (spiking.M__alpha[~private] == pruned.tied[~private]).all()


@pytest.mark.parametrize("form", ["flow", "paper"])
def test_races_of_a_pruned_network_are_decided_by_private_and_shared_weights(form):
    """Leads of 20 and more, as in test_spiking_potentials: sign and place of every term show."""
    rng = np.random.default_rng(4)
    n = 30
    frozen = RobbinsMonro(1e-300, power=0)
    private = rng.random((K, n)) < 0.5
    pruned = PrunedWords(private, 20.0 * rng.permutation(K))
    state = {
        "M__alpha": 20.0 * rng.integers(0, 4, (K, n)), "M__beta": 80.0 * rng.integers(0, 3, (n, K)),
        "n_alpha": np.zeros(K), "n_beta": np.zeros(n),
    }  # fmt: skip
    parameters = EventDrivenParameters(K, 1.3, frozen, frozen)
    if form == "paper":  # without variance there is no step
        M, eta = state["M__alpha"], np.array([1e-12])
        state |= {"s_1__alpha": M, "s_2__alpha": M**2}
        state |= {"G__beta": np.zeros((n, K)), "eta_0__beta": eta}
        parameters = EventDrivenParameters(
            K, 1.3, VarianceTracking(), AdaGrad(1e-12), "euler", gauge=False
        )
    spiking = EventDrivenSpiking(
        parameters, n, [1] * n, seed=1, initial=state, simulator="numpy", pruned=pruned
    )
    u = np.where(private, state["M__alpha"], pruned.shared[:, None]).T + state["M__beta"]
    ranked = np.sort(u, axis=1)
    sure = np.flatnonzero(ranked[:, -1] >= ranked[:, -2] + 20)
    assert len(sure) > n / 3
    assert (u.argmax(axis=1) != (state["M__alpha"].T + state["M__beta"]).argmax(axis=1))[sure].any()
    np.testing.assert_array_equal(spiking.present(sure, sure), u.argmax(axis=1)[sure])


def test_the_shared_synapse_weighs_the_same_for_all_words_and_private_ones_are_divided():
    private = np.array([[1, 0, 1], [0, 0, 1]], bool)
    pruned = PrunedWords(private, np.log([0.2, 0.5]), np.log([2.0, 3.0, 5.0]))
    sizes = Sizes(n_words=3, n_docs=1, n_topics=2, pruned=pruned)
    values = limit_values(Constraints(), (), sizes)
    np.testing.assert_allclose(values["sharing.shared_rate"], [0.2, 0.5])
    np.testing.assert_allclose(values["backing.share"], [2.0, 5.0, 5.0])  # by word, then by topic
    by_the_paper = replace(sizes, pruned=PrunedWords(private, pruned.shared))
    assert "backing.share" not in limit_values(Constraints(), (), by_the_paper)


def test_a_pruned_network_with_few_bits_and_dead_synapses():
    """The limits add up: three sets of Brian objects on one network."""
    private = np.random.default_rng(3).random((K, V)) < 0.7
    pruned = PrunedWords(private, np.linspace(-3.0, -1.0, K), np.linspace(-1.0, 1.0, V))
    limits = Constraints(weight_bits=5, weight_range=(-6.1, 9.5), dead_synapses=0.3, seed=5)
    network = EventDrivenSpiking(
        PARAMETERS, V, [20] * 3, seed=1, simulator="numpy", pruned=pruned, constraints=limits
    )
    words, docs = tokens(30)
    winners = network.present(words, docs)
    own = limits.living("alpha", V, K) | ~private.T  # the shared synapse is alive
    paths = own[words] & limits.living("beta", D, K)[docs]
    heard = winners >= 0
    np.testing.assert_array_equal(heard, paths.any(axis=1))
    assert paths[heard, winners[heard]].all()
    on_grid(network.M__beta, limits)
    assert (network.M__alpha[~private] == pruned.tied[~private]).all()


@pytest.mark.complete(but="inhibition0")
@pytest.mark.parametrize("inhibition", [Race(), Poisson()])
def test_counting_networks_take_limits_but_no_lost_packets(inhibition):
    words, docs = tokens(12)
    arguments = {
        "n_topics": K, "n_words": V, "n_docs": D, "doc_topic_prior": 0.5,
        "topic_word_prior": 0.5, "seed": 0, "simulator": "numpy", "inhibition": inhibition,
    }  # fmt: skip
    limits = Constraints(weight_bits=6, dead_neurons=0.3, seed=4)
    sampler = SpikeCGSSpiking(words, docs, constraints=limits, **arguments)
    alive = limits.living("alpha", V, K).all(axis=0)
    assert alive[sampler.sweep()].all() and not alive.all()
    refused = "packet_loss must be 0.*Use EdSpikeLDA or EdSpikePLSI"
    with pytest.raises(ParameterError, match=refused):
        SpikeCGSSpiking(words, docs, constraints=Constraints(packet_loss=0.1), **arguments).sweep()
    counts = sparse.csr_array(np.ones((2, V), np.int32))
    paper = {"word_step": RMSProp(), "doc_step": RMSProp(), "integrator": "euler"}
    for kind, prior in ((SemiSpikeLDASpiking, 0.5), (DuSpikeLDASpiking, 1.5)):
        for rules in ({}, paper):
            parameters = BatchParameters(K, prior, local_iterations=1, **rules)
            arguments = {
                "seed": 0, "n_training_tokens": 12, "simulator": "numpy", "inhibition": inhibition,
            }  # fmt: skip
            network = kind(parameters, V, constraints=limits, **arguments)
            before = network.M__alpha
            assert alive[network.update(counts)].all()
            assert (network.M__alpha != before).any()
            on_grid(network.M__alpha, limits)
            on_grid(network.M__beta, limits)  # written by now
            with pytest.raises(ParameterError, match=refused):
                kind(parameters, V, constraints=Constraints(packet_loss=0.1), **arguments).update(
                    counts
                )


@pytest.mark.filterwarnings("error:invalid value")
@pytest.mark.parametrize("inhibition", [Race(), Poisson()])
def test_counts_of_few_bits_stay_on_their_levels(inhibition):
    """SpikeCGS: both the count taken away and the count added are rounded.

    With 4 bits a count of 1 may be stored as less than 1. Without it, nothing is left: the lowest
    level, and no vote in this race.
    """
    words, docs = tokens(12)
    limits = Constraints(weight_bits=4, weight_range=(-6.1, 9.5))
    sampler = SpikeCGSSpiking(
        words, docs, n_topics=K, n_words=V, n_docs=D, doc_topic_prior=0.5, topic_word_prior=0.5,
        seed=0, simulator="numpy", constraints=limits, inhibition=inhibition,
    )  # fmt: skip
    lowest = 0
    for _ in range(4):
        assert set(sampler.sweep()) <= set(range(K))
        on_grid(sampler.M__alpha, limits)
        on_grid(sampler.M__beta, limits)
        for M in (sampler.M__alpha, sampler.M__beta):
            lowest += (M < limits.weight_range[0] + 1e-6).sum()
    assert lowest  # it did happen


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
