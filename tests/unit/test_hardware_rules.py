"""Design rules: used and maximum by hand, the nearest feasible plan by exhaustive search."""

import math

import pytest

from brian_lda.errors import ParameterError, PlacementError
from brian_lda.hardware.feasibility import check
from brian_lda.hardware.plan import NEURON_STATE_BYTES, NetworkPlan
from brian_lda.hardware.profiles import ChipProfile, Figure, available_chips, load_chip
from brian_lda.hardware.rules import RuleResult, apply_rules, topics_on_fullest_chip

SIZES = {"20ng": (28_429, 18_774), "nips": (12_419, 1_500)}


def chip(**values):
    known = {"cores": 2, "learns": True, "external_memory": True} | values
    return ChipProfile("toy", "a toy", {k: Figure(v, "U", "a test") for k, v in known.items()})


def used(report):
    return {result.rule: (result.used, result.maximum) for result in report.results}


@pytest.mark.parametrize("corpus", SIZES)
def test_the_papers_case(corpus):
    """K = 50: too much before pruning, 251 synapses after, as the appendix says."""
    V, D = SIZES[corpus]
    plan, truenorth = NetworkPlan("ed_spike_lda", 50, V, D), load_chip("truenorth_paper")
    before = check(plan, truenorth)
    assert not before.passes and before.binding.rule == "fan-in"
    assert used(before)["fan-in"] == (V + D, 256)
    assert "fan-in" in before.advice() and "205 private words with 50 documents" in before.advice()
    after = check(plan.with_(n_private=200, docs_on_chip=50), truenorth)
    assert after.passes and after.plan.fan_in == 251 and after.nearest == {}
    assert used(after)["fan-in"] == (251, 256) and after.binding.rule == "fan-in"
    assert used(after)["memory"] == (50 * (251 * 4 + NEURON_STATE_BYTES), 52_000_000)


def test_silicon_truenorth_says_that_it_cannot_learn():
    plan = NetworkPlan("ed_spike_lda", 50, 1000, 20, n_private=200)
    report = check(plan, load_chip("truenorth_silicon"))
    failed = {result.rule for result in report.failures}
    assert failed == {"learning on chip", "weight precision"}
    assert "cannot run this network" in report.advice()


def test_used_and_maximum_by_hand():
    plan = NetworkPlan("ed_spike_lda", 12, 100, 30, n_private=20, docs_on_chip=5)
    toy = chip(
        fan_in=26, synapses=200, memory_bytes=1000, weight_bits=6, fan_out=9, routing_entries=70,
        axons_per_core=65, neurons_per_core=3, synapse_bytes_per_core=500,
        external_memory_bytes=10_000,
    )  # fmt: skip
    report = check(plan, toy, 2)
    assert used(report) == {
        "fan-in": (26, 26),
        "axons of a core": (26, 65),
        "synaptic memory of a core": (104, 500),
        # by axons two topics a core (3 * 21 + 5 > 65); 6 topics and 1 inhibitory neuron: 4 cores
        "cores": (4, 2),
        "synapses": (156, 200),
        "memory": (6 * (104 + NEURON_STATE_BYTES), 1000),
        "weight precision": (8, 6),
        "learning on chip": (1, 1),
        "fan-out": (12, 9),
        "routing entries": (100 + 5 + 12, 70),
        "external memory": (25 * 12 * 4, 10_000),
    }
    assert report.binding.rule == "cores"


def test_a_limit_that_is_not_known_is_not_checked():
    rules = [r.rule for r in apply_rules(NetworkPlan("ed_spike_lda", 4, 9, 2), chip(fan_in=64), 1)]
    assert rules == ["fan-in", "cores", "learning on chip", "external memory"]


@pytest.mark.parametrize("limits", [{"fan_in": 60}, {"memory_bytes": 3000}, {"synapses": 700}])
def test_nearest_feasible_values_are_those_of_an_exhaustive_search(limits):
    plan, toy = NetworkPlan("ed_spike_lda", 12, 80, 30), chip(**limits)
    report = check(plan, toy)
    assert not report.passes

    def best(values, pick, **fixed):
        name = fixed.pop("name")
        good = [v for v in values if not check_fails(name, v)]
        return pick(good) if good else None

    def check_fails(name, value):
        if name == "n_chips":
            return any(not r.passes for r in apply_rules(plan, toy, value))
        return any(not r.passes for r in apply_rules(plan.with_(**{name: value}), toy, 1))

    assert report.nearest["n_topics"] == best(range(2, 13), max, name="n_topics")
    assert report.nearest["n_words"] == best(range(1, 81), max, name="n_words")
    assert report.nearest["n_private"] == best(range(1, 81), max, name="n_private")
    assert report.nearest["docs_on_chip"] == best(range(1, 31), max, name="docs_on_chip")
    assert report.nearest["n_chips"] == best(range(1, 13), min, name="n_chips")
    pruned = report.nearest["pruned"]
    changes = {key: pruned[key] for key in ("n_private", "docs_on_chip")}
    assert check(plan.with_(**changes), toy).passes
    more = changes | {"n_private": changes["n_private"] + 1}
    assert changes["n_private"] == 80 or not check(plan.with_(**more), toy).passes


def test_without_external_memory_the_documents_are_what_must_shrink():
    report = check(NetworkPlan("ed_spike_lda", 50, 28_429, 11_269), load_chip("loihi1"))
    documents = report.nearest["documents"]
    assert documents["n_private"] == 3200
    plan = NetworkPlan("ed_spike_lda", 50, 28_429, documents["n_docs"], n_private=3200)
    assert check(plan, load_chip("loihi1")).passes
    assert not check(plan.with_(n_docs=plan.n_docs + 1), load_chip("loihi1")).passes
    assert f"{documents['n_docs']} documents" in report.advice()


@pytest.mark.parametrize("name", available_chips())
def test_every_chip_answers_for_every_algorithm(name):
    for algorithm in ("spike_cgs", "ed_spike_lda", "semi_spike_lda"):
        report = check(NetworkPlan(algorithm, 200, 28_429, 64), load_chip(name), 4)
        assert report.binding in report.results and report.advice()


@pytest.mark.parametrize("n_chips", [0, -1, 11])
def test_a_number_of_chips_that_makes_no_sense(n_chips):
    with pytest.raises(PlacementError, match="chips"):
        check(NetworkPlan("ed_spike_lda", 10, 100, 30), chip(fan_in=300), n_chips)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "cgs"}, "found 'cgs', a baseline without a network"),
        ({"n_topics": 0}, "n_topics must be at least 1"),
        ({"n_private": 0}, "n_private must be at least 1"),
        ({"docs_on_chip": 31}, "must not exceed n_docs = 30"),
    ],
)
def test_a_plan_that_makes_no_sense(change, message):
    with pytest.raises(ParameterError, match=message):
        NetworkPlan(**({"algorithm": "ed_spike_lda", "n_topics": 10, "n_words": 100,
                        "n_docs": 30} | change))  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "cores"),
    [
        ({}, 2),  # 12 topics and the inhibitory neuron, as many a core as there are topics
        ({"neurons_per_core": 4}, 4),
        ({"core_memory_bytes": 3 * NEURON_STATE_BYTES}, 5),
        ({"core_memory_bytes": 3 * NEURON_STATE_BYTES - 1}, 7),
        ({"synapse_bytes_per_core": 2 * 26 * 4}, 7),
        ({"synapse_bytes_per_core": 2 * 26 * 4 - 1}, 13),
        ({"axons_per_core": 3 * 21 + 5}, 5),  # k (n + 1) private and tied words, m documents
        ({"axons_per_core": 3 * 21 + 4}, 7),
        ({"axons_per_core": 106}, 2),  # room for all V words, the tied ones' input and m documents
        ({"axons_per_core": 105}, 4),
        ({"axons_per_core": 3}, 13),  # not even one: a core each, and another rule fails
        ({"neurons_per_core": 2, "axons_per_core": 106}, 7),
    ],
    ids=str,
)
def test_cores_by_hand(limits, cores):
    plan = NetworkPlan("ed_spike_lda", 12, 100, 30, n_private=20, docs_on_chip=5)
    results = {r.rule: r for r in apply_rules(plan, chip(**limits), 1)}
    assert results["cores"].used == cores


@pytest.mark.parametrize(("axons", "cores"), [(130, 2), (129, 13)])
def test_unpruned_topics_have_the_same_inputs(axons, cores):
    """V words and D documents, no tied ones: where they fit, they serve every topic of the core."""
    results = apply_rules(NetworkPlan("ed_spike_lda", 12, 100, 30), chip(axons_per_core=axons), 1)
    assert {r.rule: r.used for r in results}["cores"] == cores


def test_how_near_a_limit_is():
    def result(used, maximum):
        return RuleResult("a rule", "bytes", used, maximum, "U", "")

    assert result(3, 4).utilisation == 0.75 and result(3, 4).passes
    assert result(4, 4).passes and not result(5, 4).passes
    assert result(1, 0).utilisation == math.inf and not result(1, 0).passes
    assert result(0, 0).utilisation == 0.0 and result(0, 0).passes


def test_limits_of_one_chip_and_of_many():
    """Nothing crosses the border of a single chip; float weights are precise enough."""
    plan = NetworkPlan("ed_spike_lda", 12, 100, 30, n_private=7, docs_on_chip=5)
    toy = chip(routing_entries=70, weight_format="float", memory_bytes=10**9)
    found = {r.rule: r for r in apply_rules(plan, toy, 1)}
    assert found["routing entries"].used == 0
    assert found["weight precision"].maximum == math.inf and found["weight precision"].passes
    assert found["weight precision"].evidence == "U"
    assert found["external memory"].maximum == math.inf and found["external memory"].used == 1200
    assert found["memory"].used == 12 * plan.neuron_bytes
    found = {r.rule: r for r in apply_rules(plan, toy, 4)}
    assert found["routing entries"].used == 3 * 7 + 5 + 12  # 3 topics a chip, of 7 words each
    without = {r.rule: r for r in apply_rules(plan, chip(external_memory=False), 1)}
    assert without["external memory"].maximum == 0.0 and not without["external memory"].passes


def test_the_fullest_chip():
    assert [topics_on_fullest_chip(7, n) for n in (1, 2, 3, 7)] == [7, 4, 3, 1]
    with pytest.raises(PlacementError, match="at least 1; found 2.0"):
        topics_on_fullest_chip(7, 2.0)


def test_a_rule_that_only_says_yes_never_binds():
    toy = chip(fan_in=64, cores=200, external_memory=False)
    report = check(NetworkPlan("ed_spike_lda", 4, 9, 2), toy)
    assert report.passes and report.binding.rule == "fan-in"
    sentence = "fits 1 x toy; the nearest limit is fan-in: 11 of 64 synapses/neuron."
    assert report.advice() == sentence


def test_a_chip_without_fan_in_limit_keeps_the_papers_share_of_documents():
    """50 of 256 synapses; 100 of 512 axons."""
    plan = NetworkPlan("ed_spike_lda", 50, 28_429, 18_774)
    small = chip(memory_bytes=100_000)
    assert check(plan, small).nearest["pruned"]["docs_on_chip"] == 50
    by_axons = check(plan, chip(axons_per_core=512, cores=60)).nearest["pruned"]
    assert by_axons == {"n_private": 411, "docs_on_chip": 100, "fan_in": 512}
    batch = NetworkPlan("semi_spike_lda", 50, 28_429, 64)  # a mini-batch stays on the chip
    assert check(batch, small).nearest["pruned"]["docs_on_chip"] == 64


def test_more_chips_may_be_all_that_is_needed():
    plan, toy = NetworkPlan("ed_spike_lda", 12, 80, 30), chip(synapses=250)
    report = check(plan, toy, 2)
    assert report.nearest["n_chips"] == 6  # two topics of 110 synapses a chip
    assert "at least 6 chips" in report.advice()
    assert report.nearest["n_topics"] == 4 and "K up to 4" in report.advice()
    assert check(plan, toy, 6).passes


@pytest.mark.parametrize(
    ("fan_in", "name"), [(31, "n_words"), (32, "n_private"), (81, "docs_on_chip")]
)
def test_the_nearest_plan_may_be_the_smallest(fan_in, name):
    """V + m, n + 1 + m and V + m with m = 30 documents, V = 80 words: 1 of each is left."""
    report = check(NetworkPlan("ed_spike_lda", 12, 80, 30), chip(fan_in=fan_in, cores=99))
    assert report.nearest[name] == 1
    below = check(NetworkPlan("ed_spike_lda", 12, 80, 30), chip(fan_in=fan_in - 1, cores=99))
    assert below.nearest[name] is None
