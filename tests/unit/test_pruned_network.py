"""The pruned network has the synapses of its plan and no others, and swaps documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brian_lda import EdSpikeLDA
from brian_lda.circuit.circuit import Circuit
from brian_lda.circuit.latency import Windowed
from brian_lda.constraints import Constraints
from brian_lda.corpus import load_corpus
from brian_lda.errors import FanInError, ParameterError
from brian_lda.estimators.trainers import restore
from brian_lda.external_memory import count_swaps
from brian_lda.hardware import prune_and_continue
from brian_lda.hardware.network_audit import audit_algorithm
from brian_lda.hardware.pruning import prune_words
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters, PrunedWords
from brian_lda.reference.constrained import ConstrainedReference
from brian_lda.reference.event_driven import EventDrivenTwin
from brian_lda.simulation import EventDrivenSpiking, SlottedSpiking
from brian_lda.simulation.streams import seeds_of
from brian_lda.step_rules import AdaGrad, RobbinsMonro, VarianceTracking

V, D, K, N_PRIVATE, SLOTS, SEED = 12, 6, 3, 4, 2, 3
LAMDA = np.array([1.1, 1.3, 1.05])
STEP = RobbinsMonro(0.3, 20)
PRINTED = {"word_step": VarianceTracking(), "integrator": "euler", "gauge": False}
FORMS = {
    "lda": EventDrivenParameters(K, LAMDA, STEP, STEP, topic_word_prior=0.05),
    "plsi": EventDrivenParameters(K, None, STEP, STEP),
    "lda as printed": EventDrivenParameters(K, LAMDA, doc_step=AdaGrad(), **PRINTED),
    "plsi as printed": EventDrivenParameters(K, None, doc_step=VarianceTracking(), **PRINTED),
}
RNG = np.random.default_rng(0)
PHI, COUNTS = RNG.dirichlet(np.full(V, 0.3), K), RNG.integers(1, 50, V)
BY_RULE = {"paper": prune_words(PHI, N_PRIVATE), "unigram": prune_words(PHI, N_PRIVATE, COUNTS)}
LIMITS = Constraints(document_slots=SLOTS)
SAME_FORMULA = 1e-11  # of numbers around 1, after as many roundings of 1e-16 as a run has steps


def tokens(n):
    """Documents in an order that needs swaps."""
    rng = np.random.default_rng(1)
    docs = (np.arange(n) // 12 + rng.integers(0, 2, n)) % D
    return rng.integers(0, V, n), docs, np.bincount(docs, minlength=D)


def slotted(form, N_d, rule="unigram", **options):
    options = {"constraints": LIMITS, "simulator": "numpy", "pruned": BY_RULE[rule], **options}
    return SlottedSpiking(FORMS[form], V, N_d, seed=SEED, **options)


def noted(network):
    """(positions at which runs begin, Brian's own counts of synapses), filled while it runs."""
    starts, counts, present = [], {}, network.network.present
    simulator = network.network._simulator(None)
    ask = simulator.run

    def note(words, docs, *, position):
        starts.append(position)
        return present(words, docs, position=position)

    def note_counts(*values, **options):
        result = ask(*values, **options)
        counts.update({key: result[key] for key in result if key.endswith("N_incoming")})
        return result

    network.network.present, simulator.run = note, note_counts
    return starts, counts


@pytest.mark.parametrize(
    ("form", "rule"), [("lda", "paper"), *((form, "unigram") for form in FORMS)]
)
def test_same_winners_as_with_all_documents_on_the_chip_and_the_weights_of_the_twin(form, rule):
    words, docs, N_d = tokens(60)
    network = slotted(form, N_d, rule)
    starts, counts = noted(network)
    winners = network.present(words, docs)
    # one synapse for each private word, one shared, one a slot, as Brian counts them
    assert counts["alpha.N_incoming"].tolist() == [N_PRIVATE] * K
    assert counts["sharing.N_incoming"].tolist() == [1] * K
    assert counts["beta.N_incoming"].tolist() == [SLOTS] * K
    swaps = count_swaps(docs, SLOTS, 1.0)
    assert (network.slots.reads, network.slots.writes) == (swaps.reads, swaps.writes)
    assert swaps.writes > 4 and len(starts) > 4  # not vacuous

    roomy = EventDrivenSpiking(
        FORMS[form], V, N_d, seed=SEED, simulator="numpy", pruned=BY_RULE[rule]
    )
    seeds = np.concatenate([seeds_of([SEED, 1, start], 1) for start in starts])
    expected = roomy.network.present(words, docs, streams=(np.array(starts), seeds))
    assert np.array_equal(winners, expected) and len(np.unique(winners)) == K
    twin = EventDrivenTwin(FORMS[form], V, N_d, seed=SEED, pruned=BY_RULE[rule])
    twin.present(words, docs, winners=winners)
    for name in ("M__alpha", "J__alpha", "M__beta"):
        here, there = getattr(network, name), getattr(twin, name)
        np.testing.assert_allclose(here, there, rtol=0, atol=1e-9, err_msg=name)


class TestFanIn:
    def test_a_network_with_all_words_connected_is_refused(self, monkeypatch):
        def connect_all(self, synapses):
            synapses.connect()
            self.sparse[synapses.name] = V * K

        words, docs, N_d = tokens(12)
        network = slotted("lda", N_d)
        monkeypatch.setattr(Circuit, "connect_words", connect_all)
        every = np.ones((K, V), bool)
        network.network.sizes = replace(
            network.network.sizes, pruned=PrunedWords(every, np.zeros(K))
        )
        monkeypatch.setattr(
            type(network.network), "fan_in", {"alpha": N_PRIVATE, "sharing": 1, "beta": SLOTS}
        )
        with pytest.raises(FanInError, match="may have 4 synapses of alpha; neuron 0 has 12"):
            network.network.present(words[:3], np.zeros(3, int))

    def test_more_documents_than_slots_are_refused(self):
        words, docs, N_d = tokens(12)
        network = EventDrivenSpiking(
            FORMS["lda"], V, N_d, seed=0, simulator="numpy", constraints=LIMITS
        )
        with pytest.raises(FanInError, match="may have 2 synapses of beta; neuron 0 has 6"):
            network.present(words, docs)

    def test_a_network_that_cannot_be_pruned_says_so(self):
        with pytest.raises(ParameterError, match="only ed-SpikeLDA and ed-SpikePLSI can be pruned"):
            audit_algorithm("spike_cgs", pruned=True)


class TestStates:
    @pytest.mark.complete(but="8")
    @pytest.mark.parametrize("bits", [None, 8])
    def test_a_resumed_network_goes_on_to_the_last_bit(self, bits):
        words, docs, N_d = tokens(48)
        options = {"constraints": replace(LIMITS, weight_bits=bits)}
        straight = slotted("lda", N_d, **options)
        straight.present(words[:30], docs[:30])
        saved = straight.state()
        rest = straight.present(words[30:], docs[30:])
        resumed = slotted("lda", N_d, initial=saved, **options)
        assert np.array_equal(resumed.present(words[30:], docs[30:]), rest)
        for name, array in straight.state().items():
            assert np.array_equal(resumed.state()[name], array), name

    def test_a_run_that_dies_changes_nothing(self, monkeypatch):
        words, docs, N_d = tokens(48)
        network = slotted("lda", N_d)
        network.present(words[:12], docs[:12])
        before, present, runs = network.state(), network.network.present, []

        def die(*arguments, **options):
            if runs:
                raise KeyboardInterrupt
            runs.append(1)
            return present(*arguments, **options)

        network.network.present = die
        with pytest.raises(KeyboardInterrupt):
            network.present(words[12:], docs[12:])
        for name, array in before.items():
            np.testing.assert_array_equal(network.state()[name], array, err_msg=name)

    def test_weights_of_another_corpus_are_refused(self):
        _, _, N_d = tokens(12)
        wrong = initial_state(FORMS["lda"], V, np.ones(D + 1, int), 0)
        with pytest.raises(ParameterError, match=r"p must have shape \[doc, topic\] = \(6, 3\)"):
            slotted("lda", N_d, initial=wrong)
        with pytest.raises(ParameterError, match="records nothing"):
            slotted("lda", N_d, record=object())


class TestLimitsTogether:
    def test_few_bits_lost_packets_latency_and_slots(self):
        """All that a chip takes away, on one pruned network."""
        words, docs, N_d = tokens(40)
        limits = replace(LIMITS, weight_bits=8, packet_loss=0.1, chip_of_topic=(0, 0, 1))
        network = slotted(
            "lda", N_d, constraints=limits, inhibition=Windowed(latency=1, window=2), count=True
        )
        winners = network.present(words, docs)
        assert set(winners) == set(range(K))
        levels = (network.M__beta - limits.weight_range[0]) / limits.quantum
        np.testing.assert_allclose(levels, np.rint(levels), rtol=0, atol=1e-9)
        assert network.network.counted["topics"].sum() == 40
        assert network.network.counted["words"].sum() > 2 * 40  # several ticks a token
        swaps = count_swaps(docs, SLOTS, 1.0)
        assert (network.slots.reads, network.slots.writes) == (swaps.reads, swaps.writes)

    @pytest.mark.parametrize("rule", BY_RULE)
    def test_winners_at_rate_level_follow_private_and_shared_weights(self, rule):
        """With steps that change nothing, on 24 bits; 5 standard errors of a frequency."""
        frozen, n = RobbinsMonro(1e-12, power=0), 20_000
        parameters = EventDrivenParameters(K, LAMDA, frozen, frozen)
        limits = Constraints(weight_bits=24, packet_loss=0.05, document_slots=SLOTS)
        network = ConstrainedReference(
            parameters, V, np.full(D, n), seed=1, constraints=limits, pruned=BY_RULE[rule]
        )
        for w in (0, 3, 7):
            u = network.M__alpha[:, w] + network.M__beta[1]  # tied weights where not private
            law = np.exp(u) / np.exp(u).sum()
            seen = np.bincount(network.present([w] * n, [1] * n), minlength=K) / n
            np.testing.assert_allclose(seen, law, rtol=0, atol=5 * np.sqrt(0.25 / n))
        assert not BY_RULE[rule].private[:, [0, 3, 7]].all()
        assert network.slots.reads == 1

    def test_dead_synapses_with_slots_are_refused_at_rate_level(self):
        limits = replace(LIMITS, dead_synapses=0.1)
        with pytest.raises(ParameterError, match="dead_synapses with document_slots needs"):
            ConstrainedReference(FORMS["lda"], V, np.ones(D), seed=1, constraints=limits)


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("bars", grid=3, n_docs=20, doc_length=6, seed=0)


class TestEstimator:
    @pytest.mark.complete(but=["paper-rate", "paper-brian2", "renewed-rate"])
    @pytest.mark.parametrize("backend", ["rate", "brian2"])
    @pytest.mark.parametrize("rule", ["paper", "renewed"])
    def test_swaps_of_a_training_are_those_of_blocks(self, corpus, backend, rule):
        options = {"simulator": "numpy"} if backend == "brian2" else None
        model = EdSpikeLDA(
            n_topics=3, max_iter=1, random_state=0, backend=backend, brian2_options=options
        ).fit(corpus)
        pruned = prune_and_continue(
            model, corpus, n_passes=2, n_private=4, rule=rule, docs_on_chip=5
        )
        network = pruned.trainer_.network
        assert 20 + 15 <= network.slots.reads <= 40  # five may stay from pass to pass
        assert network.slots.reads - network.slots.writes == 5
        assert network.pruned.n_private.tolist() == [4] * 3
        assert network.state()["n_beta"].sum() == 3 * corpus.n_tokens
        assert pruned.doc_topic().shape == (20, 3)

    @pytest.mark.complete(but="whole")
    @pytest.mark.parametrize("limits", [{}, {"word_synapses": 4}], ids=["whole", "split"])
    def test_a_checkpoint_of_a_network_with_slots_is_gone_on_from(self, corpus, limits):
        arguments = {
            "n_topics": 3,
            "random_state": 0,
            "constraints": {"document_slots": 5, **limits},
        }
        straight = EdSpikeLDA(max_iter=2, **arguments).fit(corpus)
        resumed = EdSpikeLDA(max_iter=1, **arguments).fit(corpus)
        saved = resumed.trainer_.state()
        fresh = resumed._make_trainer(corpus, resumed.seed_)  # no document is on the chip yet
        restore(fresh, saved)
        fresh.iterate()
        assert np.array_equal(fresh.phi, straight.trainer_.phi)
        assert fresh.network.slots.reads == straight.trainer_.network.slots.reads > 20

    def test_slots_change_the_order_of_tokens_and_nothing_else(self, corpus):
        model = EdSpikeLDA(n_topics=3, max_iter=2, random_state=0).fit(corpus)
        roomy, every = (
            prune_and_continue(model, corpus, n_passes=2, n_private=4, docs_on_chip=slots)
            for slots in (20, None)
        )
        assert np.array_equal(roomy.components_, every.components_)
        tight = prune_and_continue(model, corpus, n_passes=2, n_private=4, docs_on_chip=5)
        assert not np.array_equal(tight.components_, every.components_)
