"""The locality audit: our networks send spikes alone, and rules that do not are named."""

import numpy as np
import pytest
from brian2 import BrianLogger, NetworkOperation, NeuronGroup, Synapses, linked_var, ms
from brian_lda.models import du_spike_lda, ed_spike_lda, ed_spike_plsi, semi_spike_lda, spike_cgs

from brian_lda.algorithms import SPIKING
from brian_lda.circuit.circuit import Shape, build_circuit
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.latency import Windowed
from brian_lda.constraints import Constraints
from brian_lda.errors import UnsupportedNetworkError
from brian_lda.hardware import network_audit
from brian_lda.hardware.data_flow import OTHER_TOPIC, TOPIC_CHIP
from brian_lda.hardware.locality import NOT_SYNAPSE_LOCAL, PARAMETER_CROSSING, audit
from brian_lda.parameters import (
    AdaGrad,
    BatchParameters,
    EventDrivenParameters,
    RMSProp,
    VarianceTracking,
)
from brian_lda.simulation.simulator import brian_settings

BrianLogger.suppress_name("unused_brian_object")  # networks that are looked at and never run
V, D, K = 5, 3, 4
SHAPE = Shape(V, D, K, capacity=10, n_tokens=7)
FLOAT = 8  # bytes

COUNTER = {"documents.eta_n__beta", "documents.gain_n__beta"}
BATCH = {"pacer.batch_end", "pacer.counting", "winners.N"}
RECALL = {"pacer.is_new", "controller.z_old"}
NETWORKS = {  # build, copies kept from spikes, signals that reach the topics' chips
    "ed_spike_lda": (
        lambda *a: ed_spike_lda.build(EventDrivenParameters(K, 1.3), *a), COUNTER, set()
    ),
    "ed_spike_lda, the paper's steps": (
        lambda *a: ed_spike_lda.build(
            EventDrivenParameters(K, 1.3, VarianceTracking(), AdaGrad(), "euler", False), *a
        ),
        set(),
        set(),
    ),
    "ed_spike_plsi": (
        lambda *a: ed_spike_plsi.build(EventDrivenParameters(K, None), *a), COUNTER, set()
    ),
    "du_spike_lda": (
        lambda *a: du_spike_lda.build(BatchParameters(K, 1.3), *a),
        {*COUNTER, "documents.n_seen"},
        BATCH,
    ),
    "du_spike_lda, the paper's steps": (
        lambda *a: du_spike_lda.build(
            BatchParameters(K, 1.3, word_step=RMSProp(), doc_step=RMSProp()), *a
        ),
        {"documents.n_seen"},
        BATCH,
    ),
    "semi_spike_lda": (
        lambda *a: semi_spike_lda.build(BatchParameters(K, 0.1), *a), set(), BATCH | RECALL
    ),
    "spike_cgs": (spike_cgs.build, set(), RECALL),
}  # fmt: skip


@pytest.mark.parametrize("algorithm", [a.name for a in SPIKING])
def test_audit_by_name_finds_no_parameter_on_its_way(algorithm):
    report = network_audit.audit_algorithm(algorithm)
    assert report.violations == [] and report.parameter_bytes == 0 and report.n_statements > 10


@pytest.mark.parametrize(
    ("inhibition", "constraints"),
    [
        (Windowed(latency=2, window=3, normalised=False), Constraints()),
        (Race(), Constraints(packet_loss=0.1, chip_of_topic=(0, 0, 1, 1))),
        (Race(), Constraints(weight_bits=8, dead_synapses=0.1)),
    ],
)
def test_limits_of_chips_do_not_make_a_network_less_local(inhibition, constraints):
    with brian_settings("runtime", "numpy"):
        circuit = ed_spike_lda.build(
            EventDrivenParameters(K, 1.3), SHAPE, inhibition, constraints=constraints
        )
        report = audit(circuit)
    assert report.violations == [] and report.parameter_bytes == 0


@pytest.fixture(autouse=True)
def runtime():
    with brian_settings("runtime", "numpy"):
        yield


def of_kind(report, kind, target=None):
    return {c.what for c in report.crossings if c.kind == kind and target in (None, c.target)}


class TestOurNetworks:
    @pytest.mark.parametrize("inhibition", [Race(), Poisson(normalised=False)], ids=["race", "p"])
    @pytest.mark.parametrize("name", NETWORKS)
    def test_only_spikes_cross(self, name, inhibition):
        build, copies, signals = NETWORKS[name]
        report = audit(build(SHAPE, inhibition))
        assert report.violations == []
        assert report.parameter_bytes == 0
        is_race = isinstance(inhibition, Race)
        answer = "inhibition.log_t_first" if is_race else "inhibition.n_attempts"
        assert of_kind(report, "spike time") == ({"topics.log_latency"} if is_race else set())
        assert of_kind(report, "signal", TOPIC_CHIP) == {answer, *signals}
        assert set(report.copies) == copies
        attempt = "topics.latency" if is_race else "topics.attempt"
        assert of_kind(report, "spike") >= {"words.spike", "documents.spike", attempt}
        assert ("tokens.spike" in of_kind(report, "spike")) == (RECALL <= signals)

    def test_recording_is_no_part_of_the_network(self):
        circuit = ed_spike_lda.build(
            EventDrivenParameters(K, 1.3), SHAPE, Race(), record=("word", "latency")
        )
        report = audit(circuit)
        assert report.violations == []
        assert not [c for c in report.crossings if c.reader.startswith("recorded")]

    @pytest.mark.parametrize("inhibition", [Race(normalised=True), Poisson(normalised=True)])
    def test_nesslers_inhibition_gathers_u(self, inhibition):
        report = audit(ed_spike_lda.build(EventDrivenParameters(K, 1.3), SHAPE, inhibition))
        found = {(v.pathway, v.variable, v.source, v.target) for v in report.violations}
        assert found == {
            ("inhibitory_current_maximum", "topics.u", TOPIC_CHIP, "inhibition"),
            ("inhibitory_current_total", "topics.u", TOPIC_CHIP, "inhibition"),
            ("topics_fire", "inhibition.I", "inhibition", TOPIC_CHIP),
        }
        assert report.parameter_bytes == 2 * K * FLOAT  # u of each topic there, I back to each


def add_weights(circuit, learn, layer="documents", model="M : 1"):
    """Plastic synapses onto the topics, whose rule is the test's."""
    synapses = Synapses(
        circuit.layers[layer],
        circuit.topics,
        model,
        on_pre={"excite": "u_post += M", "learn": learn},
        clock=circuit.clock,
        name="weights",
    )
    synapses.connect()
    circuit.network.add(synapses)


def small_circuit(learn, *, layer="documents", model="M : 1", inhibition=None, **options):
    """A circuit with one plastic layer."""
    circuit = build_circuit(SHAPE, inhibition or Race(), **options)
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
        circuit = build_circuit(
            SHAPE,
            Race(),
            topic_model="w : 1\ntotal : 1 (linked)\nshare = total : 1",
            after_spike="w += 1",
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
        report = audit(small_circuit(normalise, document_state=("total",)))
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
                topic_model="total : 1",
            )
        )
        violation = only_violation(report)
        assert violation.kind == NOT_SYNAPSE_LOCAL
        assert (violation.pathway, violation.variable) == ("weights_learn", "topics.total")
        assert report.parameter_bytes == 0

    def test_gathered_through_the_neurons_own_state(self):
        """The sum is first copied to another variable of the neuron."""
        circuit = small_circuit("M -= trace_post", topic_model="trace : 1")
        circuit.topics.run_regularly("trace = trace + u", when="groups", clock=circuit.clock)
        violation = only_violation(audit(circuit))
        assert (violation.kind, violation.variable) == (NOT_SYNAPSE_LOCAL, "topics.trace")

    @pytest.mark.parametrize("shift", [0, 1])
    def test_another_topics_weight_through_a_linked_variable(self, shift):
        circuit = small_circuit(
            "shown_post = M\nM -= seen_post",
            layer="words",
            topic_model="shown : 1\nseen : 1\nlinked : 1 (linked)",
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
        circuit = small_circuit("M -= seen_post", topic_model="b : 1\nseen : 1\nb_0 : 1 (linked)")
        circuit.topics.b_0 = linked_var(circuit.topics, "b", index=np.zeros(K, int))
        circuit.topics.run_regularly("b += 1\nseen = b_0", when="groups", clock=circuit.clock)
        report = audit(circuit)
        assert only_violation(report).variable == "topics.b"
        assert report.parameter_bytes == (K - 1) * FLOAT  # it is topic 0's own

    @pytest.mark.parametrize(
        ("code", "is_local"), [("u_post -= 1", True), ("u_post -= u_pre", False)]
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
        circuit = small_circuit("M -= norm_post", topic_model="norm : 1 (shared)")
        circuit.topics.run_regularly("norm += 1", when="groups", clock=circuit.clock)
        report = audit(circuit)
        assert report.violations == []  # a count of ticks: every chip can keep it
        assert "topics.norm" in of_kind(report, "signal", TOPIC_CHIP)


class SilentRace(Race):
    """Sends the input in the place of a time."""

    fire = "log_latency = -u\nu = 0"


class TestWhatCountsAsASpike:
    def test_a_time_that_is_not_drawn(self):
        report = audit(small_circuit("M += h_post", inhibition=SilentRace()))
        found = {(v.pathway, v.variable) for v in report.violations}
        assert ("competition_compete", "topics.log_latency") in found
        assert ("weights_learn", "inhibition.log_t_first") in found  # h compares with it

    def test_a_time_without_its_spike(self):
        circuit = small_circuit("M += h_post")
        eye = NeuronGroup(K, "x : 1\nlatency : 1 (linked)", clock=circuit.clock, name="eye")
        eye.latency = linked_var(circuit.topics, "log_latency")
        eye.run_regularly("x = latency", clock=circuit.clock, name="eye_look")
        circuit.network.add(eye)
        violation = only_violation(audit(circuit))
        assert (violation.pathway, violation.target) == ("eye_look", "eye")

    def test_event_condition_that_reads_another_chip(self):
        circuit = small_circuit("M += h_post")
        eye = NeuronGroup(
            K, "u : 1 (linked)", events={"high": "u > 1"}, clock=circuit.clock, name="eye"
        )
        eye.u = linked_var(circuit.topics, "u")
        circuit.network.add(eye)
        assert only_violation(audit(circuit)).pathway == "eye_high_thresholder"

    @pytest.mark.parametrize(("code", "kind"), [("1", "copy"), ("rand()", "noise")])
    def test_random_number_of_a_source_cannot_be_copied(self, code, kind):
        report = audit(
            small_circuit("M += x_pre", document_state=("x",), after_token=f"x = {code}")
        )
        assert report.violations == []
        assert of_kind(report, kind, TOPIC_CHIP) == {"documents.x"}

    def test_noise_that_has_seen_a_weight(self):
        circuit = small_circuit("x_pre = M*rand()\nM += x_pre", document_state=("x",))
        assert {v.variable for v in audit(circuit).violations} == {"weights.M", "documents.x"}

    def test_first_values_are_followed(self):
        circuit = small_circuit("M += h_post", topic_model="b : 1\nb_0 : 1", after_spike="b += 1")
        circuit.first_values.append((circuit.topics, "b_0", "b"))
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
