"""The split ed-SpikeLDA is the whole one: same winners, same weights, within its fan-in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brian2 import EventMonitor, Synapses, seed
from brian_lda.models import ed_spike_lda, ed_spike_lda_split

from brian_lda import EdSpikeLDA, EdSpikePLSI
from brian_lda.circuit.circuit import Sizes, no_delay
from brian_lda.circuit.kept import Kept
from brian_lda.circuit.split import check_fan_in
from brian_lda.constraints import Constraints, n_blocks_for
from brian_lda.corpus import load_corpus
from brian_lda.errors import CopyError, FanInError, ParameterError
from brian_lda.external_memory import count_swaps
from brian_lda.hardware import prune_and_continue
from brian_lda.hardware.locality import PARAMETER_CROSSING, audit
from brian_lda.hardware.network_audit import SIZES, audit_split
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.reference.ed_spike_lda_split import EdSpikeLDASplitReference
from brian_lda.simulation import EventDrivenSpiking, SplitSpiking
from brian_lda.simulation.simulator import brian_device
from brian_lda.simulation.streams import seeds_of
from brian_lda.step_rules import AdaGrad, RobbinsMonro

V, D, K, SEED = 43, 6, 3, 3
LIMITS = Constraints(word_synapses=10, document_slots=4)
LAMDA = np.array([1.1, 1.3, 1.05])
STEPS = {
    "window": (RobbinsMonro(0.4, 20), RobbinsMonro(0.1, power=0)),
    "large": (RobbinsMonro(2.0, power=0), RobbinsMonro(3.0, power=0)),  # g and G soon underflow
}
SAME_FORMULA = 1e-11  # of numbers around 1, after as many roundings of 1e-16 as a run has steps


def parameters_of(steps, varphi):
    return EventDrivenParameters(K, LAMDA, *STEPS[steps], topic_word_prior=varphi)


def tokens(n):
    """Few frequent words, documents in an order that needs swaps."""
    rng = np.random.default_rng(0)
    words = np.minimum(rng.geometric(0.1, n) - 1, V - 1)
    docs = (np.arange(n) // 40 + rng.integers(0, 3, n)) % D
    return words, docs, np.bincount(docs, minlength=D)


def assert_same(split, whole):
    """Same weights and counters; weights of synapses that are all but silent may differ."""
    for name in ("J__alpha", "M__beta"):
        here, there = (np.exp(getattr(network, name)) for network in (split, whole))
        np.testing.assert_allclose(here, there, rtol=SAME_FORMULA, atol=SAME_FORMULA)
    ours, theirs = split.state(), whole.state()
    for name in ("n_alpha", "n_beta", "Delta_alpha", "s_alpha"):
        if name in theirs:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=SAME_FORMULA, atol=0)


@pytest.mark.parametrize(("steps", "varphi"), [("window", 0.0), ("window", 0.05), ("large", 0.05)])
def test_rate_level_same_winners_for_100_000_tokens(steps, varphi):
    parameters = parameters_of(steps, varphi)
    words, docs, N_d = tokens(100_000)
    split = EdSpikeLDASplitReference(parameters, V, N_d, seed=SEED, constraints=LIMITS)
    whole = EdSpikeLDAReference(parameters, V, N_d, seed=SEED)
    winners = [np.concatenate([network.present(words[part], docs[part]) for part in halves(words)])
               for network in (split, whole)]  # fmt: skip
    assert np.array_equal(*winners) and len(np.unique(winners[0])) == K
    assert_same(split, whole)


def halves(words):
    middle = len(words) // 2
    return slice(0, middle), slice(middle, None)


def split_in_spikes(parameters, words, docs, N_d, limits=LIMITS, simulator="numpy"):
    """(split network, its winners, the whole network, its winners with the same random numbers)."""
    split = SplitSpiking(parameters, V, N_d, seed=SEED, constraints=limits, simulator=simulator)
    starts, present = [], split.network.present

    def note(words, docs, *, position):
        starts.append(position)
        return present(words, docs, position=position)

    split.network.present = note
    winners = split.present(words, docs)
    whole = EventDrivenSpiking(parameters, V, N_d, seed=SEED, simulator=simulator)
    seeds = np.concatenate([seeds_of([SEED, 1, start], 1) for start in starts])
    streams = np.array(starts), seeds
    return split, winners, whole, whole.network.present(words, docs, streams=streams)


@pytest.mark.parametrize(("steps", "varphi"), [("window", 0.0), ("large", 0.05)])
def test_in_spikes_same_winners(steps, varphi):
    words, docs, N_d = tokens(160)
    arguments = parameters_of(steps, varphi), words, docs, N_d
    split, winners, whole, expected = split_in_spikes(*arguments)
    assert np.array_equal(winners, expected) and len(np.unique(winners)) == K
    assert_same(split, whole)
    counted = count_swaps(docs, LIMITS.document_slots, 1.0)
    assert (split.slots.reads, split.slots.writes) == (counted.reads, counted.writes)
    assert counted.writes == 2  # not vacuous


@pytest.fixture
def runtime():
    with brian_device("runtime", "numpy"):
        yield


def built(**arguments):
    return ed_spike_lda_split.build(V, D, K, word_synapses=10, **arguments)


def test_fan_in_of_every_neuron_and_who_listens(runtime):
    words, docs, N_d = tokens(20)
    net = built(doc_lengths=N_d)
    heard = EventMonitor(net.parts, "listens")
    net.network.add(heard)
    seed(1)
    winners = net.present(words, docs)
    n_blocks = len(net.parts) // K
    in_block = np.bincount(np.arange(V) % n_blocks)  # 43 words in 5 blocks: 9, 9, 9, 8, 8
    assert net.alpha.N_incoming_post.tolist() == np.repeat(in_block, K).tolist()
    assert in_block.max() == 9 and len(net.alpha) == V * K  # no word is dropped
    assert set(net.beta.N_incoming_post) == {D} and set(net.telling.N_incoming_post) == {1}
    assert set(net.relaying.N_incoming_post) == {n_blocks}
    expected = (words % n_blocks)[:, None] * K + np.arange(K)
    assert np.array_equal(np.sort(np.reshape(heard.i, (-1, K))), expected)
    assert set(winners) <= set(range(K))


def test_a_part_with_a_wrong_copy_wins_other_races(runtime):
    """The test of equal winners can fail: one part of 15 has another g."""
    words, docs, N_d = tokens(60)
    whole = ed_spike_lda.build(V, D, K, doc_lengths=N_d)
    split, wrong = built(doc_lengths=N_d), built(doc_lengths=N_d)
    wrong.parts.g[:K] *= [1, 1, 20]  # of the first block
    winners = []
    for net in (whole, split, wrong):
        seed(1)
        winners.append(net.present(words, docs))
    assert np.array_equal(winners[0], winners[1])
    assert not np.array_equal(winners[0], winners[2])


def test_copies_that_differ_are_found():
    g = Kept("parts.g", "topic", copied=True)
    sizes = Sizes(V, D, K, n_blocks=2)
    inside = g.into_network(np.arange(3.0), sizes, sizes)
    assert inside.tolist() == [0, 1, 2, 0, 1, 2] and inside.size == g.size(sizes)
    assert g.out_of_network(inside, sizes, sizes).tolist() == [0, 1, 2]
    q = Kept("beta.q", "doc, topic", copied=True)
    p = np.arange(D * K, dtype=float).reshape(D, K)
    copies = q.into_network(p, sizes, sizes)
    assert np.array_equal(np.reshape(copies, (D, 2, K))[:, 1], p)
    assert np.array_equal(q.out_of_network(copies, sizes, sizes), p)
    inside[4] = np.nextafter(inside[4], 2)
    with pytest.raises(CopyError, match="2 parts of a topic must keep the same g"):
        g.out_of_network(inside, sizes, sizes)


class TestFanIn:
    def test_a_network_beyond_the_limit_is_refused(self, runtime):
        net = ed_spike_lda.build(V, D, K)
        with pytest.raises(FanInError, match="may have 10 synapses of alpha; neuron 0 has 43"):
            check_fan_in(net, 10, D)
        with pytest.raises(FanInError, match="may have 5 synapses of beta; neuron 0 has 6"):
            check_fan_in(net, V, 5)

    def test_a_topic_with_more_parts_than_its_neuron_can_hear(self):
        assert n_blocks_for(40_000, 200) == 200
        with pytest.raises(FanInError, match="make 201 parts a topic.*must be at least 201 for"):
            n_blocks_for(40_001, 200)

    @pytest.mark.parametrize("layer", ["word_synapses", "document_slots"])
    def test_a_run_beyond_the_limit_is_refused(self, layer):
        words, docs, N_d = tokens(20)
        split = SplitSpiking(
            parameters_of("window", 0.0), V, N_d, seed=0, constraints=replace(LIMITS),
            simulator="numpy",
        )  # fmt: skip
        before = split.state()
        object.__setattr__(split.network.constraints, layer, 3)
        with pytest.raises(FanInError, match="may have 3 synapses"):
            split.present(words, docs)
        after = split.state()  # a run that dies changes nothing
        assert before.keys() == after.keys()
        for name, array in before.items():
            np.testing.assert_array_equal(after[name], array, err_msg=name)


class TestAudit:
    def test_only_spikes_cross_between_parts(self):
        report = audit_split()
        assert report.violations == [] and report.parameter_bytes == 0
        times = {c.what for c in report.crossings if c.kind == "spike time"}
        assert times == {"parts.latency", "topics.latency", "inhibition.t_first"}
        signals = {c.what for c in report.crossings if c.kind == "signal"}
        assert not {what for what in signals if what.startswith(("parts", "alpha", "beta"))}

    def test_a_weight_that_travels_is_found(self, runtime):
        net = ed_spike_lda_split.wire(Sizes(4, 2, 3, capacity=8, n_blocks=2))
        leak = Synapses(
            net.parts, net.topics, on_pre={"leak": "push_post = g_pre"},
            on_event={"leak": "listens"}, delay=no_delay("leak"), clock=net.clock, namespace={},
            name="leaking",
        )  # fmt: skip
        leak.connect()
        net.add(leaking=leak)
        report = audit(net, topics="parts")
        assert report.parameter_bytes > 0 and SIZES.n_topics == 3
        assert {v.kind for v in report.violations} == {PARAMETER_CROSSING}


class TestStates:
    def test_a_resumed_network_goes_on_to_the_last_bit(self):
        words, docs, N_d = tokens(3000)
        parameters = parameters_of("window", 0.05)
        arguments = {"seed": SEED, "constraints": LIMITS}
        straight = EdSpikeLDASplitReference(parameters, V, N_d, **arguments)
        straight.present(words[:1000], docs[:1000])
        saved = straight.state()
        rest = straight.present(words[1000:], docs[1000:])
        resumed = EdSpikeLDASplitReference(parameters, V, N_d, initial=saved, **arguments)
        assert np.array_equal(resumed.present(words[1000:], docs[1000:]), rest)
        for name, array in straight.state().items():
            assert np.array_equal(resumed.state()[name], array), name

    def test_in_spikes_as_well(self):
        words, docs, N_d = tokens(60)
        parameters = parameters_of("window", 0.05)
        arguments = {"seed": SEED, "constraints": LIMITS, "simulator": "numpy"}
        straight = SplitSpiking(parameters, V, N_d, **arguments)
        straight.present(words[:30], docs[:30])
        saved = straight.state()
        rest = straight.present(words[30:], docs[30:])
        resumed = SplitSpiking(parameters, V, N_d, initial=saved, **arguments)
        assert np.array_equal(resumed.present(words[30:], docs[30:]), rest)
        for name, array in straight.state().items():
            assert np.array_equal(resumed.state()[name], array), name

    def test_weights_of_another_corpus_are_refused(self):
        words, docs, N_d = tokens(20)
        network = SplitSpiking(
            parameters_of("window", 0.0), V, N_d, seed=0, constraints=LIMITS, simulator="numpy"
        )
        before = network.state()
        for name, axes in (("p", r"doc, topic\] = \(6, 3\)"), ("w", r"topic, word\] = \(3, 43\)")):
            wrong = {**before, name: before[name][:, :-1]}
            with pytest.raises(ParameterError, match=rf"{name} must have shape \[{axes}"):
                network.set_state(wrong)
        np.testing.assert_array_equal(network.state()["p"], before["p"])

    @pytest.mark.parametrize("kind", [EdSpikeLDAReference, EventDrivenSpiking])
    def test_a_whole_network_goes_on_from_a_split_one(self, kind):
        words, docs, N_d = tokens(2000)
        parameters = parameters_of("window", 0.05)
        split = EdSpikeLDASplitReference(parameters, V, N_d, seed=SEED, constraints=LIMITS)
        split.present(words, docs)
        options = {"simulator": "numpy"} if kind is EventDrivenSpiking else {}
        whole = kind(parameters, V, N_d, seed=SEED, initial=split.state(), **options)
        assert_same(split, whole)


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("bars", grid=3, n_docs=20, doc_length=6, seed=0)


class TestEstimator:
    def test_it_is_the_same_model_while_all_documents_fit(self, corpus):
        limits = {"word_synapses": 3, "document_slots": 20}
        arguments = {"n_topics": 3, "max_iter": 5, "random_state": 0}
        whole = EdSpikeLDA(**arguments).fit(corpus)
        split = EdSpikeLDA(**arguments, constraints=limits).fit(corpus)
        np.testing.assert_allclose(
            split.components_, whole.components_, rtol=SAME_FORMULA, atol=SAME_FORMULA
        )
        assert split.trainer_.network.n_blocks == 3

    @pytest.mark.parametrize("backend", ["rate", "brian2"])
    def test_swaps_of_a_training_are_those_of_blocks(self, corpus, backend):
        limits = {"word_synapses": 4, "document_slots": 5}
        model = EdSpikeLDA(
            n_topics=3, max_iter=2 if backend == "rate" else 1, random_state=0, backend=backend,
            brian2_options={"simulator": "numpy"} if backend == "brian2" else None,
            constraints=limits,
        ).fit(corpus)  # fmt: skip
        slots = model.trainer_.network.slots
        # one read a document and pass, but for those that stay from the first pass to the second
        passes = model.n_iter_
        assert 20 * passes - 5 * (passes - 1) <= slots.reads <= 20 * passes
        assert slots.reads - slots.writes == 5
        assert model.doc_topic().shape == (20, 3)

    def test_what_cannot_be_split_is_refused(self, corpus):
        limits = {"word_synapses": 3, "document_slots": 20}
        model = {"n_topics": 3, "max_iter": 1, "constraints": limits}
        refused = [
            (EdSpikePLSI(n_topics=3, backend="brian2", brian2_options={"constraints": limits}),
             "splits ed-SpikeLDA"),
            (EdSpikeLDA(**model, integrator="euler"), "splits ed-SpikeLDA"),
            (EdSpikeLDA(**model, doc_step=AdaGrad()), "needs RobbinsMonro steps"),
            (EdSpikeLDA(**model, backend="brian2", brian2_options={"inhibition": "poisson"}),
             "races in continuous time"),
            (EdSpikeLDA(**model, backend="brian2", record={"layers": ["word"]}), "records nothing"),
            (EdSpikeLDA(**model, backend="brian2", brian2_options={"count": True}),
             "counts no spikes"),
        ]  # fmt: skip
        for estimator, message in refused:
            with pytest.raises(ParameterError, match=message):
                estimator.fit(corpus)
        with pytest.raises(ParameterError, match="leave word_synapses out"):
            prune_and_continue(EdSpikeLDA(**model).fit(corpus), corpus, n_passes=1, n_private=2)

    @pytest.mark.parametrize(
        ("limits", "message"),
        [
            ({"word_synapses": 200}, "need document_slots as well; found None"),
            ({"word_synapses": 0, "document_slots": 5}, "at least 1"),
            (
                {"word_synapses": 9, "document_slots": 5, "weight_bits": 8},
                "must keep equal copies: no rounding",
            ),
        ],
    )
    def test_limits_that_make_no_sense(self, limits, message):
        with pytest.raises(ParameterError, match=message):
            Constraints(**limits)
