"""The networks as a user of Brian meets them: objects, monitors, `present`, probes."""

import gc
import logging
from importlib import import_module

import numpy as np
import pytest
from brian2 import Network, NeuronGroup, SpikeMonitor, StateMonitor, Synapses, prefs, seed
from event_driven_twins import rate_twin

from brian_lda.circuit.circuit import Sizes
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.kept import AXES, Kept
from brian_lda.circuit.probe import add_probe
from brian_lda.errors import ParameterError
from brian_lda.parameters import EventDrivenParameters
from brian_lda.step_rules import RobbinsMonro

V, D, K = 6, 3, 4
WORDS, DOCS = np.array([0, 5, 2, 2, 3, 1, 5]), np.array([0, 1, 2, 0, 1, 2, 2])
LENGTHS = np.bincount(DOCS)
ATOL = 1e-12  # a few updates of numbers of order 1
MODELS = ("ed_spike_lda", "ed_spike_plsi", "semi_spike_lda", "du_spike_lda", "spike_cgs")
FILES = MODELS + tuple(f"{name}_paper" for name in MODELS[:-1])
every_model = pytest.mark.parametrize("file", FILES)
INHIBITIONS = pytest.mark.parametrize("inhibition", [Race(), Poisson()], ids=["race", "poisson"])


@pytest.fixture(autouse=True)
def in_numpy():
    before = prefs.codegen.target
    prefs.codegen.target = "numpy"
    seed(1)
    yield
    prefs.codegen.target = before


def model(file):
    return import_module(f"brian_lda.models.{file}")


def build(file, **options):
    if file == "spike_cgs":
        options = {"n_tokens": options.pop("capacity", len(WORDS))} | options
    else:
        options = {"doc_lengths": LENGTHS, "capacity": len(WORDS)} | options
    return model(file).build(V, D, K, **options)


def weights(net):
    """M^alpha [word, topic] and M^beta [doc, topic], as Brian has them."""
    return (
        np.reshape(net.alpha.M__alpha[:], (V, K)).copy(),
        np.reshape(net.beta.M__beta[:], (D, K)).copy(),
    )


def potential(net, word, doc):
    """u [topic] of a token that has no topic yet."""
    M__alpha, M__beta = weights(net)
    smoothing = net.words.epsilon[:][word] if "epsilon" in net.words.variables else 0.0
    if "s_alpha" in net.topics.variables:
        smoothing = net.words.varphi[:][word] * net.topics.s_alpha[:]
    bias = np.asarray(net.topics.b[:]) if "b" in net.topics.variables else 0.0
    return np.log(np.exp(M__alpha[word]) + smoothing) + M__beta[doc] - bias


@every_model
def test_layers_are_neuron_groups_and_weights_are_synapses(file):
    net = build(file, prefix="own_")
    layers = {"words": V, "documents": D, "topics": K, "inhibition": 1}
    for layer, size in layers.items():
        group = getattr(net, layer)
        assert isinstance(group, NeuronGroup) and len(group) == size
        assert group.name == f"own_{layer}" and net.network[group.name] == group
    assert isinstance(net.alpha, Synapses) and len(net.alpha) == V * K
    assert isinstance(net.beta, Synapses) and len(net.beta) == D * K
    assert isinstance(net.winners, SpikeMonitor)
    assert all(thing.name.startswith("own_") for thing in net.network.objects)


@INHIBITIONS
@every_model
def test_present_shows_every_token_until_it_has_its_winner(file, inhibition):
    """Word and document neurons fire until the inhibitory neuron has, once a token."""
    net = build(file, inhibition=inhibition)
    layers = {name: SpikeMonitor(getattr(net, name)) for name in ("words", "documents")}
    spikes = SpikeMonitor(net.inhibition)
    net.network.add(spikes, *layers.values())
    winners = net.present(WORDS, DOCS)
    assert len(winners) == len(WORDS) == spikes.num_spikes == net.winners.num_spikes
    assert set(winners) <= set(range(K))
    np.testing.assert_array_equal(net.winners.t, spikes.t)
    for name, shown in (("words", WORDS), ("documents", DOCS)):
        token = np.searchsorted(net.winners.t[:], layers[name].t[:])
        np.testing.assert_array_equal(layers[name].i[:], shown[token], err_msg=name)
        assert set(token) == set(range(len(WORDS)))
    if isinstance(inhibition, Race):
        assert layers["words"].num_spikes == len(WORDS)  # one tick a token


@pytest.mark.complete(but=["ed_spike_lda", "spike_cgs"])
@every_model
def test_a_monitor_at_the_end_of_the_tick_sees_the_potentials_of_the_token(file):
    net = build(file)
    monitor = StateMonitor(net.topics, ("u", "rate", "h", "latency"), record=True, when="end")
    net.network.add(monitor)
    for n, (word, doc) in enumerate(zip(WORDS[:4], DOCS[:4], strict=True)):
        expected = potential(net, word, doc)
        tokens = [n] if file == "spike_cgs" else None  # that it has not seen before
        if "tokens" in net.layers:
            net.set({"memory.z": -1})
        (winner,) = net.present([word], [doc], tokens)
        np.testing.assert_allclose(monitor.u[:, -1], expected, rtol=0, atol=ATOL)
        np.testing.assert_allclose(monitor.rate[:, -1], np.exp(expected), rtol=1e-11)
        assert monitor.h[:, -1].tolist() == np.eye(K)[winner].tolist()
        assert monitor.latency[:, -1].argmin() == winner
    assert monitor.u.shape == (K, 4)


@pytest.mark.parametrize("file", ["ed_spike_lda", "ed_spike_plsi"])
@INHIBITIONS
def test_two_calls_of_present_are_one_sequence(file, inhibition):
    step = RobbinsMonro(0.3, offset=2.0, power=0.7)
    prior = 1.3 if file == "ed_spike_lda" else None
    varphi = 0.0 if prior is None else 0.5
    parameters = EventDrivenParameters(K, prior, step, step, topic_word_prior=varphi)
    net = build(file, parameters=parameters, inhibition=inhibition, seed=3)
    reference = rate_twin(parameters, V, LENGTHS, seed=3)
    np.testing.assert_allclose(weights(net)[0], reference.M__alpha.T, rtol=0, atol=ATOL)
    for part in (slice(0, 4), slice(4, 7), slice(0, 7)):
        winners = net.present(WORDS[part], DOCS[part])
        assert len(winners) == len(WORDS[part])
        reference.present(WORDS[part], DOCS[part], winners=winners)
        M__alpha, M__beta = weights(net)
        np.testing.assert_allclose(M__alpha, reference.M__alpha.T, rtol=0, atol=ATOL)
        np.testing.assert_allclose(M__beta, reference.M__beta, rtol=0, atol=ATOL)
        for name in ("s_alpha", "Delta_alpha") if prior else ():
            found, expected = getattr(net.topics, name)[:], reference.state()[name]
            np.testing.assert_allclose(found, expected, rtol=0, atol=ATOL, err_msg=name)
    assert net.winners.num_spikes == 14


def test_presented_again_a_token_gives_its_count_back():
    net = build("spike_cgs")
    for _ in range(3):
        winners = net.present(WORDS, DOCS)
        np.testing.assert_array_equal(net.memory.z[: len(WORDS)], winners)
        w, p = np.reshape(net.alpha.w[:], (V, K)), np.reshape(net.beta.p[:], (D, K))
        C_wz, C_zd = np.zeros((V, K)), np.zeros((D, K))
        np.add.at(C_wz, (WORDS, winners), 1)
        np.add.at(C_zd, (DOCS, winners), 1)
        np.testing.assert_allclose(w, C_wz + 0.01, rtol=0, atol=ATOL)
        np.testing.assert_allclose(p, C_zd + 0.1, rtol=0, atol=ATOL)
        np.testing.assert_allclose(net.topics.c[:], C_wz.sum(axis=0) + 0.01 * V, rtol=0, atol=ATOL)


@pytest.mark.parametrize("file", [f for f in FILES if f.startswith(("semi", "du"))])
def test_each_call_of_present_is_a_mini_batch(file):
    net, n_spikes = build(file), []
    for _ in range(2):
        before = weights(net)[0]
        net.present(WORDS, DOCS)
        assert (weights(net)[0] != before).any()  # updated
        np.testing.assert_array_equal(net.alpha.N_zw[:], 0.0)  # forgotten
        n_spikes.append(np.sum(net.topics.n_spikes[:]))
    assert 0 < n_spikes[0] == pytest.approx(n_spikes[1] / 2)


WRONG = {
    "lengths": (WORDS, DOCS[:-1], "one word and one document per token; found"),
    "no token": ([], [], "takes 1 to 7 tokens at a time; found 0"),
    "too many": (np.tile(WORDS, 2), np.tile(DOCS, 2), "takes 1 to 7 tokens at a time; found 14"),
    "word too high": ([V], [0], r"words must be in \[0, 6\); found 6 to 6"),
    "word below 0": ([0, -1], [0, 0], r"words must be in \[0, 6\); found -1 to 0"),
    "document too high": ([1], [D], r"documents must be in \[0, 3\); found 3 to 3"),
    "document below 0": ([1], [-2], r"documents must be in \[0, 3\); found -2 to -2"),
}


def test_present_refuses_what_the_network_cannot_show():
    for file in ("ed_spike_lda", "spike_cgs"):
        net = build(file)
        before = weights(net)
        for case, (words, docs, message) in WRONG.items():
            with pytest.raises(ParameterError, match=message):
                net.present(words, docs)
            assert net.network.t == 0, case
        for found, expected in zip(weights(net), before, strict=True):
            np.testing.assert_array_equal(found, expected)
        assert len(net.present(WORDS, DOCS)) == len(WORDS)  # and is none the worse for it
    with pytest.raises(ParameterError, match=r"tokens must be in \[0, 7\); found 7 to 7"):
        net.present([0], [0], [7])
    with pytest.raises(ParameterError, match="found {'words': 2, 'documents': 2, 'tokens': 1}"):
        net.present([0, 1], [0, 1], [0])


@pytest.mark.parametrize("size", [0, -1, 2.5, "3"])
def test_sizes_are_positive_integers(size):
    with pytest.raises(ParameterError, match="n_topics must be an integer of at least 1; found"):
        Sizes(n_words=3, n_docs=2, n_topics=size)


@pytest.mark.parametrize("files", [("ed_spike_lda", "spike_cgs"), ("du_spike_lda", "ed_spike_lda")])
def test_two_networks_with_two_prefixes_in_one_brian_network(files):
    """Each is shown its own tokens; the other waits and does not change."""
    nets = [build(file, prefix=f"{place}_") for file, place in zip(files, "ab", strict=True)]
    both = Network()
    for net in nets:
        net.join(both)
    for net, other in (nets, nets[::-1], nets):
        before, waiting = weights(net), weights(other)
        n_other = other.winners.num_spikes
        assert len(net.present(WORDS, DOCS)) == len(WORDS)
        assert (weights(net)[0] != before[0]).any() and other.winners.num_spikes == n_other
        for found, expected in zip(weights(other), waiting, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_brian_does_not_warn_of_a_network_that_never_ran(caplog):
    net, control = build("spike_cgs", prefix="idle_"), NeuronGroup(1, "", name="forgotten")
    with caplog.at_level(logging.DEBUG):
        del net, control
        gc.collect()
    assert "'forgotten' is getting deleted" in caplog.text  # so Brian would
    assert "object 'idle_" not in caplog.text


PROBED = ("ed_spike_lda", "ed_spike_plsi", "spike_cgs", "ed_spike_lda_paper", "semi_spike_lda")


@pytest.mark.complete(but="ed_spike_lda")
@pytest.mark.parametrize("file", PROBED)
def test_a_probe_follows_the_word_weights(file):
    """At the end of every tick: log(w g), log w, or M itself, as the network has it."""
    net = build(file)
    i, j = [0, 5, 2, 2], [1, 0, 3, 2]
    monitor = StateMonitor(add_probe(net, i, j), "M__alpha", record=True, when="end", order=200)
    net.network.add(monitor)
    seen = []
    for word, doc in zip(WORDS, DOCS, strict=True):
        net.present([word], [doc])
        seen.append(weights(net)[0][i, j])
        np.testing.assert_allclose(net.probe.M__alpha[:], seen[-1], rtol=0, atol=ATOL)
    np.testing.assert_allclose(monitor.M__alpha, np.transpose(seen), rtol=0, atol=ATOL)
    assert np.ptp(monitor.M__alpha, axis=1).max() > 1e-3  # they have moved


def test_a_probe_of_a_folded_weight_is_the_weight():
    """w takes over what g stood for in the slot "end", before the probe looks."""
    slow, fast = RobbinsMonro(0.1, power=0), RobbinsMonro(50.0, power=0)
    parameters = EventDrivenParameters(K, 1.3, fast, slow)
    net = build("ed_spike_lda", parameters=parameters)
    topics = np.arange(len(WORDS)) % K
    monitor = StateMonitor(add_probe(net, WORDS, topics), "M__alpha", True, when="end", order=200)
    offset = StateMonitor(net.topics, "g", record=True, when="end", order=200)
    net.network.add(monitor, offset)
    reference = rate_twin(parameters, V, LENGTHS, seed=0)
    for _ in range(4):
        winners = net.present(WORDS, DOCS)
        reference.present(WORDS, DOCS, winners=winners)
        expected = reference.M__alpha[topics, WORDS]
        found = monitor.M__alpha[:, -1]
        high = expected > np.log(1e-100)  # the others are held there
        np.testing.assert_allclose(found[high], expected[high], rtol=0, atol=1e-9)
        assert (found[~high] <= np.log(1e-98)).all() and high.any()
    assert (np.diff(offset.g, axis=1) > 0).any()  # g has been folded, and grown again


@pytest.mark.parametrize(
    ("words", "topics"), [([0], [K]), ([V], [0]), ([-1], [0]), ([0, 1], [0]), ([], [])]
)
def test_a_probe_of_synapses_that_do_not_exist_is_refused(words, topics):
    with pytest.raises(ParameterError, match=r"pairs of words in \[0, 6\) and topics in \[0, 4\)"):
        add_probe(build("ed_spike_lda"), words, topics)


OWN, COMPILED = Sizes(5, 3, 2, n_tokens=7), Sizes(6, 4, 2, n_tokens=8)
SHAPES = {  # outside the network, and flat inside the larger one
    "topic": ((2,), 2), "word": ((5,), 6), "doc": ((3,), 4), "token": ((7,), 8),
    "topic, word": ((2, 5), 12), "doc, topic": ((3, 2), 8), "one": ((1,), 1),
}  # fmt: skip


def test_every_kind_of_axes_is_tested():
    assert set(SHAPES) == set(AXES)


@pytest.mark.parametrize("axes", SHAPES)
def test_what_is_kept_goes_into_a_larger_network_and_comes_back(axes):
    outside, n_inside = SHAPES[axes]
    kept = Kept("owner.x", axes, fill=-7.0)
    array = np.arange(np.prod(outside), dtype=float).reshape(outside)
    inside = kept.into_network(array, OWN, COMPILED)
    assert kept.name == "x" and inside.shape == (n_inside,)
    assert np.sum(inside == -7.0) == n_inside - array.size
    back = kept.out_of_network(inside, OWN, COMPILED)
    np.testing.assert_array_equal(back, array)
    assert back.dtype == array.dtype
    again = kept.into_network(back, OWN, COMPILED)
    np.testing.assert_array_equal(again, inside)
    whole = kept.into_network(array, OWN, OWN)  # nothing to fill up
    np.testing.assert_array_equal(kept.out_of_network(whole, OWN, OWN), array)
    if axes != "one":
        with pytest.raises(ParameterError, match=rf"x must have shape \[{axes}\] = .*Was it train"):
            kept.into_network(np.zeros(tuple(n + 1 for n in outside)), OWN, COMPILED)


def test_synapses_are_ordered_by_source_then_by_topic():
    """As Brian orders those of connect(): word 0 onto topics 0 and 1, word 1 onto ..."""
    array = np.array([[0.0, 1, 2, 3, 4], [10, 11, 12, 13, 14]])  # [topic, word]
    inside = Kept("alpha.w", "topic, word", fill=-1).into_network(array, OWN, OWN)
    assert inside.tolist() == [0, 10, 1, 11, 2, 12, 3, 13, 4, 14]
    array = np.array([[0.0, 1], [2, 3], [4, 5]])  # [doc, topic]
    inside = Kept("beta.p", "doc, topic").into_network(array, OWN, COMPILED)
    assert inside.tolist() == [0, 1, 2, 3, 4, 5, 1, 1]


@every_model
def test_what_a_model_keeps_are_variables_of_its_network(file):
    net = build(file)
    axes = {
        "topics": "topic", "words": "word", "documents": "doc", "memory": "token",
        "alpha": "topic, word", "beta": "doc, topic",
    }  # fmt: skip
    for kept in model(file).KEPT:
        variable, owner = net.variable(kept.path), kept.path.split(".")[0]
        assert not variable.read_only and not variable.constant, kept.path
        assert kept.axes == ("one" if variable.scalar else axes[owner]), kept.path
        for pathway in kept.written_by:
            assert hasattr(getattr(net, owner), pathway), kept.path
