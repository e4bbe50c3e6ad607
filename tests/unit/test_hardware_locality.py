"""The locality audit: our networks send spikes alone, and rules that do not are named."""

from functools import cache

import numpy as np
import pytest
from brian2 import BrianLogger, Equations, NetworkOperation, NeuronGroup, Synapses, linked_var, ms
from brian_lda.models import ed_spike_lda

from brian_lda.algorithms import SPIKING, find_algorithm
from brian_lda.circuit.chips import add_limits
from brian_lda.circuit.circuit import Circuit, Sizes
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.latency import FirstArrival, Windowed
from brian_lda.circuit.probe import add_probe
from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError, UnsupportedNetworkError
from brian_lda.hardware.data_flow import OTHER_TOPIC, TOPIC_CHIP
from brian_lda.hardware.locality import NOT_SYNAPSE_LOCAL, PARAMETER_CROSSING, audit
from brian_lda.hardware.network_audit import SIZES, audit_algorithm, network_names
from brian_lda.simulation.recording import Recording
from brian_lda.simulation.simulator import brian_device

BrianLogger.suppress_name("unused_brian_object")  # networks that are looked at and never run
V, D, K = 5, 3, 4
FLOAT = 8  # bytes

TIMES = {"topics.latency", "inhibition.t_first"}
LOCAL = {  # inhibition; the topic neurons' event that it hears, spike times, its signals to topics
    "race": (Race(), "first_spike", TIMES, set()),
    "poisson": (Poisson(), "attempt", set(), set()),
    "poisson, fixed rate": (Poisson(rate=50.0), "attempt", set(), set()),
    "windowed": (Windowed(latency=(0, 1, 2), window=3), "attempt", {"topics.arrival"}, set()),
    "first arrival": (
        FirstArrival(latency=2, window=3),
        "attempt",
        {"topics.arrival"},
        {"inhibition.heard_first"},  # cleared when a window begins: more than times alone
    ),
}
NORMALISED = {
    "nessler": Poisson(rate=50.0, normalised=True),
    "nessler, windowed": Windowed(latency=1, window=2, rate=50.0, normalised=True),
}
BATCH = {"batch.batch_end", "batch.counting", "winners.N"}
RECALL = {"pacer.is_new", "controller.z_old"}
COPIES = {  # kept from spikes by every chip; other networks need none
    "ed_spike_lda": {"documents.gain"},
    "ed_spike_plsi": {"documents.gain"},
    "du_spike_lda": {"documents.gain"},
    "du_spike_lda_paper": {"documents.n_seen"},
}


@pytest.fixture(autouse=True)
def runtime():
    with brian_device("runtime", "numpy"):
        yield


def of_kind(report, kind, target=None):
    return {c.what for c in report.crossings if c.kind == kind and target in (None, c.target)}


def algorithm_of(name):
    return find_algorithm(name.removesuffix("_paper"))


@cache
def plain_audit(name, inhibition):
    return audit_algorithm(name, LOCAL[inhibition][0])


class TestOurNetworks:
    def test_every_network_is_audited(self):
        names = network_names()
        assert {a.name for a in SPIKING} <= set(names)
        assert sum(name.endswith("_paper") for name in names) == len(SPIKING) - 1  # not SpikeCGS

    @pytest.mark.parametrize("inhibition", LOCAL)
    @pytest.mark.parametrize("name", network_names())
    def test_only_spikes_cross(self, name, inhibition):
        _, event, times, answer = LOCAL[inhibition]
        report = plain_audit(name, inhibition)
        assert report.violations == [] and report.parameter_bytes == 0
        algorithm = algorithm_of(name)
        signals = (BATCH if algorithm.iteration == "mini-batch" else set()) | (
            RECALL if algorithm.remembers_topics else set()
        )
        assert of_kind(report, "spike time") == times
        assert of_kind(report, "signal", TOPIC_CHIP) == {*answer, *signals}
        assert set(report.copies) == COPIES.get(name, set())
        spikes = {"words.spike", "documents.spike", f"topics.{event}", "inhibition.spike"}
        assert of_kind(report, "spike") >= spikes
        assert ("tokens.spike" in of_kind(report, "spike")) == algorithm.remembers_topics
        assert "inhibition.spike" in of_kind(report, "spike", TOPIC_CHIP)
        assert not of_kind(report, "noise")

    @pytest.mark.parametrize("name", network_names())
    def test_the_default_is_the_networks_own_inhibition(self, name):
        assert audit_algorithm(name) == plain_audit(name, "race")

    @pytest.mark.parametrize("inhibition", NORMALISED)
    @pytest.mark.parametrize("name", network_names())
    def test_nesslers_inhibition_gathers_rates(self, name, inhibition):
        report = audit_algorithm(name, NORMALISED[inhibition])
        found = {(v.kind, v.pathway, v.variable, v.source, v.target) for v in report.violations}
        assert found == {
            (PARAMETER_CROSSING, "summing_sum", "topics.rate", TOPIC_CHIP, "inhibition"),
            (PARAMETER_CROSSING, "dividing_divide", "inhibition.Z", "inhibition", TOPIC_CHIP),
        }
        # the rate of each topic there, their sum back to each
        assert report.parameter_bytes == 2 * SIZES.n_topics * FLOAT

    @pytest.mark.complete(but=[f"{name}-race" for name in network_names()])
    @pytest.mark.parametrize("inhibition", LOCAL)
    @pytest.mark.parametrize("name", network_names())
    def test_limits_of_chips_and_recorders_change_nothing(self, name, inhibition):
        law, event, times, _ = LOCAL[inhibition]
        loses = algorithm_of(name).iteration == "pass"  # others refuse packet_loss
        pruned = algorithm_of(name).name in ("ed_spike_lda", "ed_spike_plsi")
        limits = Constraints(
            weight_bits=8,
            dead_synapses=0.1,
            packet_loss=0.1 if loses else 0.0,
            chip_of_topic=(0, 0, 1),
        )
        layers = ("word", "document", "inhibition")
        layers += ("latency",) if event == "first_spike" else ("attempt",)
        record = Recording(layers, u=True)
        report = audit_algorithm(name, law, constraints=limits, pruned=pruned, record=record)
        assert report.violations == [] and report.parameter_bytes == 0
        assert of_kind(report, "spike time") == times
        assert report.n_statements > plain_audit(name, inhibition).n_statements
        assert not [c for c in report.crossings if c.reader.startswith("recorded")]
        assert ("chips.winner_lost" in of_kind(report, "spike", TOPIC_CHIP)) == loses

    def test_all_objects_may_have_a_prefix(self):
        report = audit(ed_spike_lda.wire(SIZES, prefix="left_"))
        assert report.violations == [] and report.copies == ["left_documents.gain"]
        assert report.n_statements == audit_algorithm("ed_spike_lda").n_statements

    def test_a_feed_lives_with_its_layer(self):
        report = audit_algorithm("ed_spike_lda")
        assert {c.target for c in report.crossings if c.reader == "words_feed"} == {"words"}

    @pytest.mark.parametrize("name", ["cgs", "spike_cgs_paper", "no such"])
    def test_a_network_that_does_not_exist(self, name):
        with pytest.raises(ParameterError, match=f"must be one of.*found '{name}'"):
            audit_algorithm(name)


def bare_circuit(inhibition=None, *, topics="", after_spike="", documents="", after_token=None):
    """A circuit without weights: topic neurons that nothing excites yet."""
    inhibition = inhibition or Race()
    net = Circuit(Sizes(V, D, K, n_tokens=7, capacity=10))
    net.clamped_layer("words", V)
    net.clamped_layer("documents", D, documents, reset=after_token)
    neurons = NeuronGroup(
        K,
        Equations(f"rate : 1\n{topics}") + inhibition.equations,
        threshold="h > 0",
        reset=f"{after_spike}\n",
        events=dict(inhibition.events),
        clock=net.clock,
        namespace={},
        name="topics",
    )
    neurons.run_regularly("rate = 0\nh = 0\naccepted = 0", when="start", name="topics_forget")
    net.listen(neurons)
    inhibition.connect(net)
    return net


def add_weights(circuit, learn, layer="documents", model="M : 1"):
    """Plastic synapses onto the topics, whose rule is the test's."""
    synapses = Synapses(
        circuit.layers[layer],
        circuit.topics,
        model,
        on_pre={"excite": "rate_post += M", "learn": learn},
        clock=circuit.clock,
        name="weights",
    )
    synapses.connect()
    circuit.network.add(synapses)


def small_circuit(learn, *, layer="documents", model="M : 1", **options):
    """A circuit with one plastic layer."""
    circuit = bare_circuit(**options)
    add_weights(circuit, learn, layer, model)
    return circuit


def only_violation(report):
    assert len(report.violations) == 1, str(report)
    return report.violations[0]


class TestRulesThatAreNotLocal:
    def test_control_without_a_foreign_value(self):
        assert audit(small_circuit("M += h_post*exp(-M) - 1")).violations == []

    @pytest.mark.parametrize("sends_weights", [True, False])
    def test_extra_neuron_that_sums_over_topics(self, sends_weights):
        """Normalising by what topics send; counting their spikes in the same way is allowed."""
        circuit = bare_circuit(
            topics="w : 1\ntotal : 1 (linked)\nshare = total : 1", after_spike="w += 1"
        )
        adder = NeuronGroup(1, "total : 1", clock=circuit.clock, name="adder")
        collect = Synapses(
            circuit.topics,
            adder,
            on_pre="total_post += w_pre" if sends_weights else "total_post += 1",
            clock=circuit.clock,
            name="collect",
        )
        collect.connect()
        circuit.topics.total = linked_var(adder, "total")
        add_weights(circuit, "M -= log(share_post)")
        circuit.network.add(adder, collect)
        report = audit(circuit)
        if not sends_weights:
            assert report.violations == []
            assert "adder.total" in of_kind(report, "signal", TOPIC_CHIP)
            return
        found = {(v.kind, v.pathway, v.variable, v.source, v.target) for v in report.violations}
        assert found == {
            (PARAMETER_CROSSING, "collect_pre", "topics.w", TOPIC_CHIP, "adder"),
            (PARAMETER_CROSSING, "weights_learn", "adder.total", "adder", TOPIC_CHIP),
        }
        one_winner, all_topics = FLOAT, K * FLOAT
        assert report.parameter_bytes == one_winner + all_topics
        assert "M -= log(share_post)" in str(report)

    def test_sum_of_theta_at_the_document_neuron(self):
        normalise = "total_pre += exp(M)\nM -= log(total_pre)"
        report = audit(small_circuit(normalise, documents="total : 1"))
        found = {(v.statement, v.variable, v.source, v.target) for v in report.violations}
        there, back = normalise.split("\n")
        assert found == {
            (there, "weights.M", TOPIC_CHIP, "documents"),
            (back, "documents.total", "documents", TOPIC_CHIP),
        }
        assert report.parameter_bytes == 2 * K * FLOAT  # the synapses of one document

    @pytest.mark.parametrize("rule", ["M -= log(total_post)", "x = total_post\nM -= x"])
    def test_sum_over_words_stays_on_the_chip(self, rule):
        report = audit(
            small_circuit(
                rule,
                layer="words",
                model="M : 1\ntotal_post = exp(M) : 1 (summed)",
                topics="total : 1",
            )
        )
        violation = only_violation(report)
        assert violation.kind == NOT_SYNAPSE_LOCAL
        assert (violation.pathway, violation.variable) == ("weights_learn", "topics.total")
        assert report.parameter_bytes == 0

    def test_gathered_through_the_neurons_own_state(self):
        """The sum is first copied to another variable of the neuron."""
        circuit = small_circuit("M -= trace_post", topics="trace : 1")
        circuit.topics.run_regularly("trace = trace + rate", when="groups", clock=circuit.clock)
        violation = only_violation(audit(circuit))
        assert (violation.kind, violation.variable) == (NOT_SYNAPSE_LOCAL, "topics.trace")

    @pytest.mark.parametrize("shift", [0, 1])
    def test_another_topics_weight_through_a_linked_variable(self, shift):
        circuit = small_circuit(
            "shown_post = M\nM -= seen_post",
            layer="words",
            topics="shown : 1\nseen : 1\nlinked : 1 (linked)",
        )
        topics, neighbour = circuit.topics, (np.arange(K) + shift) % K
        topics.linked = linked_var(topics, "shown", index=neighbour)
        topics.run_regularly("seen = linked", when="groups", clock=circuit.clock, name="look")
        report = audit(circuit)
        gathered = [v for v in report.violations if v.kind == NOT_SYNAPSE_LOCAL]
        assert [v.variable for v in gathered] == ["topics.seen"]  # another synapse's in any case
        crossings = [v for v in report.violations if v.kind == PARAMETER_CROSSING]
        if shift == 0:  # every neuron looks at itself
            assert crossings == []
        else:
            (crossing,) = crossings
            assert (crossing.pathway, crossing.statement) == ("look", "seen = linked")
            assert crossing.variable == "topics.shown"
            assert (crossing.source, crossing.target) == (OTHER_TOPIC, TOPIC_CHIP)
        assert report.parameter_bytes == shift * K * FLOAT

    def test_first_topic_linked_to_all(self):
        circuit = small_circuit("M -= seen_post", topics="b : 1\nseen : 1\nb_0 : 1 (linked)")
        circuit.topics.b_0 = linked_var(circuit.topics, "b", index=np.zeros(K, int))
        circuit.topics.run_regularly("b += 1\nseen = b_0", when="groups", clock=circuit.clock)
        report = audit(circuit)
        assert only_violation(report).variable == "topics.b"
        assert report.parameter_bytes == (K - 1) * FLOAT  # it is topic 0's own

    @pytest.mark.parametrize(
        ("code", "is_local"), [("rate_post -= 1", True), ("rate_post -= rate_pre", False)]
    )
    def test_lateral_synapses(self, code, is_local):
        circuit = small_circuit("M += h_post")
        lateral = Synapses(
            circuit.topics, circuit.topics, on_pre=code, clock=circuit.clock, name="lateral"
        )
        lateral.connect()
        circuit.network.add(lateral)
        report = audit(circuit)
        assert any(c.reader == "lateral_pre" and c.source == OTHER_TOPIC for c in report.crossings)
        assert is_local == (report.violations == [])
        if not is_local:
            violation = only_violation(report)
            assert (violation.pathway, violation.source) == ("lateral_pre", OTHER_TOPIC)
            assert violation.bytes_per_token == (K - 1) * FLOAT  # one winner, the other topics

    def test_number_shared_by_all_topics_and_written(self):
        circuit = small_circuit("M -= norm_post", topics="norm : 1 (shared)")
        circuit.topics.run_regularly("norm += 1", when="groups", clock=circuit.clock)
        report = audit(circuit)
        assert report.violations == []  # a count of ticks: every chip can keep it
        assert "topics.norm" in of_kind(report, "signal", TOPIC_CHIP)

    def test_a_probe_takes_weights_off_the_chips(self):
        """It is there for monitors, and no part of a network on chips."""
        net = ed_spike_lda.wire(SIZES)
        add_probe(net, words=[0, 3], topics=[1, 1])
        report = audit(net)
        assert {(v.pathway, v.variable) for v in report.violations} == {
            (reader, taken)
            for reader in ("probe_follow", "first values")
            for taken in ("alpha.w", "topics.g")
        }
        assert report.parameter_bytes == 2 * 2 * FLOAT


def send_the_rate(net):
    """Topic neurons send their rate in the place of a time."""
    (fire,) = [part for part in net.topics.contained_objects if part.name == "topics_fire"]
    fire.abstract_code = "latency = 1/rate"


class TestWhatCountsAsASpike:
    def test_a_time_that_is_not_drawn(self):
        net = small_circuit("M += h_post")
        send_the_rate(net)
        report = audit(net)
        assert {(v.pathway, v.variable) for v in report.violations} == {
            ("competition_compete", "topics.latency"),
            ("silencing_silence", "inhibition.t_first"),  # h compares with it
        }
        assert report.parameter_bytes == 2 * K * FLOAT

    def test_what_synapses_draw_makes_no_time(self):
        """Weights that are rounded at random are no more a time than others."""
        net = ed_spike_lda.wire(SIZES)
        add_limits(net, Constraints(weight_bits=8), ed_spike_lda.KEPT)
        assert audit(net).violations == []
        send_the_rate(net)
        found = {(v.pathway, v.variable) for v in audit(net).violations}
        assert ("competition_compete", "topics.latency") in found

    def test_names_of_times_are_declared(self):
        report = audit(small_circuit("M += h_post"), spike_times=())
        assert ("topics.latency", "inhibition") in {
            (v.variable, v.target) for v in report.violations
        }

    @pytest.mark.parametrize(
        ("model", "code", "kind"),
        [
            ("", "t_first_post = clip(2*latency_pre, 0, t_first_post)", "spike time"),
            ("", "t_first_post = clip(rate_pre, 0, t_first_post)", PARAMETER_CROSSING),
            ("n_heard : 1", "n_heard += 1\nt_first_post += n_heard", "signal"),
        ],
    )
    def test_the_inhibitory_neurons_time_is_made_of_times_alone(self, model, code, kind):
        net = small_circuit("M += h_post")
        more = Synapses(
            net.topics,
            net.inhibition,
            model,
            on_pre={"hear": code},
            on_event={"hear": "first_spike"},
            clock=net.clock,
            name="more",
        )
        more.connect()
        net.network.add(more)
        report = audit(net)
        kinds = {c.kind for c in report.crossings if c.what == "inhibition.t_first"}
        kinds |= {v.kind for v in report.violations if v.variable == "inhibition.t_first"}
        assert kinds == {kind}
        assert (report.violations == []) == (kind != PARAMETER_CROSSING)

    def test_the_inhibitory_neurons_time_without_its_spike(self):
        """Seen through a link it is a number that is computed from spikes, not a spike."""
        net = bare_circuit(topics="t_0 : 1 (linked)\nseen = t_0 : 1")
        net.topics.t_0 = linked_var(net.inhibition, "t_first")
        add_weights(net, "M += h_post - seen_post")
        report = audit(net)
        assert report.violations == []
        readers = {
            kind: {
                c.reader
                for c in report.crossings
                if (c.what, c.kind) == ("inhibition.t_first", kind)
            }
            for kind in ("spike time", "signal")
        }
        assert readers == {"spike time": {"silencing_silence"}, "signal": {"weights_learn"}}

    def test_a_time_without_its_spike(self):
        circuit = small_circuit("M += h_post")
        eye = NeuronGroup(K, "x : 1\nlatency : 1 (linked)", clock=circuit.clock, name="eye")
        eye.latency = linked_var(circuit.topics, "latency")
        eye.run_regularly("x = latency", clock=circuit.clock, name="eye_look")
        circuit.network.add(eye)
        violation = only_violation(audit(circuit))
        assert (violation.pathway, violation.target) == ("eye_look", "eye")

    def test_event_condition_that_reads_another_chip(self):
        circuit = small_circuit("M += h_post")
        eye = NeuronGroup(
            K, "rate : 1 (linked)", events={"high": "rate > 1"}, clock=circuit.clock, name="eye"
        )
        eye.rate = linked_var(circuit.topics, "rate")
        circuit.network.add(eye)
        assert only_violation(audit(circuit)).pathway == "eye_high_thresholder"

    @pytest.mark.parametrize(("code", "kind"), [("1", "copy"), ("rand()", "noise")])
    def test_random_number_of_a_source_cannot_be_copied(self, code, kind):
        report = audit(small_circuit("M += x_pre", documents="x : 1", after_token=f"x = {code}"))
        assert report.violations == []
        assert of_kind(report, kind, TOPIC_CHIP) == {"documents.x"}

    def test_noise_that_has_seen_a_weight(self):
        circuit = small_circuit("x_pre = M*rand()\nM += x_pre", documents="x : 1")
        assert {v.variable for v in audit(circuit).violations} == {"weights.M", "documents.x"}

    def test_first_values_are_followed(self):
        circuit = small_circuit("M += h_post", topics="b : 1\nb_0 : 1", after_spike="b += 1")
        circuit.first_values.append(("topics.b_0", "b"))
        assert audit(circuit).violations == []
        eye = NeuronGroup(K, "x : 1\nb_0 : 1 (linked)", clock=circuit.clock, name="eye")
        eye.b_0 = linked_var(circuit.topics, "b_0")
        eye.run_regularly("x = b_0", clock=circuit.clock, name="eye_look")
        circuit.network.add(eye)
        assert only_violation(audit(circuit)).variable == "topics.b_0"
        assert audit(circuit.network).violations == []  # without it `b_0` is never written


class TestRefusals:
    def test_python_code(self):
        circuit = small_circuit("M += h_post")
        circuit.network.add(NetworkOperation(lambda: None, dt=1 * ms, name="peek"))
        with pytest.raises(UnsupportedNetworkError, match="peek.*run_regularly"):
            audit(circuit)

    def test_no_topic_neurons(self):
        with pytest.raises(UnsupportedNetworkError, match="'hidden'.*'topics'"):
            audit(small_circuit("M += h_post").network, topics="hidden")
