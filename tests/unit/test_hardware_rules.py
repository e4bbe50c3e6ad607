"""Design rules: used and maximum by hand, the nearest feasible plan by exhaustive search."""

import pytest

from brian_lda.errors import ParameterError, PlacementError
from brian_lda.hardware.feasibility import check
from brian_lda.hardware.plan import NEURON_STATE_BYTES, NetworkPlan
from brian_lda.hardware.profiles import ChipProfile, Figure, available_chips, load_chip
from brian_lda.hardware.rules import apply_rules

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
    plan, truenorth = NetworkPlan("ed-spike-lda", 50, V, D), load_chip("truenorth_paper")
    before = check(plan, truenorth)
    assert not before.passes and before.binding.rule == "fan-in"
    assert used(before)["fan-in"] == (V + D, 256)
    assert "fan-in" in before.advice() and "205 private words with 50 documents" in before.advice()
    after = check(plan.with_(n_private=200, docs_on_chip=50), truenorth)
    assert after.passes and after.plan.fan_in == 251 and after.nearest == {}
    assert used(after)["fan-in"] == (251, 256) and after.binding.rule == "fan-in"
    assert used(after)["memory"] == (50 * (251 * 4 + NEURON_STATE_BYTES), 52_000_000)


def test_silicon_truenorth_says_that_it_cannot_learn():
    plan = NetworkPlan("ed-spike-lda", 50, 1000, 20, n_private=200)
    report = check(plan, load_chip("truenorth_silicon"))
    failed = {result.rule for result in report.failures}
    assert failed == {"learning on chip", "weight precision"}
    assert "cannot run this network" in report.advice()


def test_used_and_maximum_by_hand():
    plan = NetworkPlan("ed-spike-lda", 12, 100, 30, n_private=20, docs_on_chip=5)
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
    rules = [r.rule for r in apply_rules(NetworkPlan("ed-spike-lda", 4, 9, 2), chip(fan_in=64), 1)]
    assert rules == ["fan-in", "cores", "learning on chip", "external memory"]


@pytest.mark.parametrize("limits", [{"fan_in": 60}, {"memory_bytes": 3000}, {"synapses": 700}])
def test_nearest_feasible_values_are_those_of_an_exhaustive_search(limits):
    plan, toy = NetworkPlan("ed-spike-lda", 12, 80, 30), chip(**limits)
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
    report = check(NetworkPlan("ed-spike-lda", 50, 28_429, 11_269), load_chip("loihi1"))
    documents = report.nearest["documents"]
    assert documents["n_private"] == 3200
    plan = NetworkPlan("ed-spike-lda", 50, 28_429, documents["n_docs"], n_private=3200)
    assert check(plan, load_chip("loihi1")).passes
    assert not check(plan.with_(n_docs=plan.n_docs + 1), load_chip("loihi1")).passes
    assert f"{documents['n_docs']} documents" in report.advice()


@pytest.mark.parametrize("name", available_chips())
def test_every_chip_answers_for_every_algorithm(name):
    for algorithm in ("spike-cgs", "ed-spike-lda", "semi-spike-lda"):
        report = check(NetworkPlan(algorithm, 200, 28_429, 64), load_chip(name), 4)
        assert report.binding in report.results and report.advice()


@pytest.mark.parametrize("n_chips", [0, -1, 11])
def test_a_number_of_chips_that_makes_no_sense(n_chips):
    with pytest.raises(PlacementError, match="chips"):
        check(NetworkPlan("ed-spike-lda", 10, 100, 30), chip(fan_in=300), n_chips)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "cgs"}, "Baselines are not networks"),
        ({"n_topics": 0}, "n_topics must be at least 1"),
        ({"n_private": 0}, "n_private must be at least 1"),
        ({"docs_on_chip": 31}, "must not exceed n_docs = 30"),
    ],
)
def test_a_plan_that_makes_no_sense(change, message):
    with pytest.raises(ParameterError, match=message):
        NetworkPlan(**({"algorithm": "ed-spike-lda", "n_topics": 10, "n_words": 100,
                        "n_docs": 30} | change))  # fmt: skip
