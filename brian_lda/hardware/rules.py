"""Design rules: small named checks of a plan against a chip, before anything is simulated.

Each rule says how much of a resource is used and how much there is, per neuron, core or chip,
for topics spread evenly over the chips. A rule whose limit is not in the profile is not checked.
The exact figures of a given placement are the business of `brian_lda.hardware.checker`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from brian_lda.errors import PlacementError
from brian_lda.hardware.plan import NEURON_STATE_BYTES, NetworkPlan
from brian_lda.hardware.profiles import ChipProfile

Limits = tuple[float, float | None]  # (used, maximum); None: not known


@dataclass(frozen=True)
class Rule:
    """A named limit.

    `measure(plan, chip, topics, n_chips)` returns (used, maximum), where `topics` is the number of
    topic neurons on the fullest chip.
    """

    name: str
    unit: str
    field: str  # of the profile, whose evidence the maximum has
    why: str
    measure: Callable[[NetworkPlan, ChipProfile, int, int], Limits]


@dataclass(frozen=True)
class RuleResult:
    """Outcome of one rule."""

    rule: str
    unit: str
    used: float
    maximum: float
    evidence: str
    why: str

    @property
    def passes(self) -> bool:
        return self.used <= self.maximum

    @property
    def utilisation(self) -> float:
        """used / maximum; infinite where nothing is allowed and something is used."""
        if self.maximum == 0:
            return math.inf if self.used > 0 else 0.0
        return self.used / self.maximum


def topics_per_core(plan: NetworkPlan, chip: ChipProfile) -> int:
    """How many topic neurons share a core under its neurons, axons and memory (0: not even one).

    Private words differ from topic to topic while documents are common, so k topics on a core have
    up to k (n + 1) + m different inputs. V words at most, though.
    """
    most = chip.get("neurons_per_core") or plan.n_topics
    axons = chip.get("axons_per_core")
    if axons is not None:
        tied = 1 if plan.is_pruned else 0
        own = plan.n + tied
        if plan.n_words + tied + plan.m <= axons:
            by_axons = most
        else:
            by_axons = max((axons - plan.m) // own, 0)
        most = min(most, by_axons)
    synapse_bytes = chip.get("synapse_bytes_per_core")
    if synapse_bytes is not None:
        most = min(most, int(synapse_bytes // (plan.fan_in * plan.synapse_bytes)))
    state_bytes = chip.get("core_memory_bytes")
    if state_bytes is not None:
        most = min(most, state_bytes // NEURON_STATE_BYTES)
    return most


def _cores_used(plan: NetworkPlan, chip: ChipProfile, topics: int, n_chips: int) -> Limits:
    per_core = topics_per_core(plan, chip)
    # If not even one fits, the rule for the core's own limit fails; here a core each is assumed.
    return math.ceil((topics + 1) / max(per_core, 1)), chip.get("cores")  # + 1: inhibition


def _weight_bits(plan: NetworkPlan, chip: ChipProfile, topics: int, n_chips: int) -> Limits:
    bits = math.inf if chip.get("weight_format") == "float" else chip.get("weight_bits")
    return plan.weight_bits, bits


def _routing_entries(plan: NetworkPlan, chip: ChipProfile, topics: int, n_chips: int) -> Limits:
    # One entry per source that crosses a chip's border: its words, documents, and winners.
    words = min(topics * plan.n, plan.n_words)
    return (words + plan.m + plan.n_topics if n_chips > 1 else 0), chip.get("routing_entries")


def _external_memory(plan: NetworkPlan, chip: ChipProfile, topics: int, n_chips: int) -> Limits:
    limit = chip.get("external_memory_bytes") or math.inf
    return plan.external_bytes, limit if chip.get("external_memory") else 0.0


RULES: tuple[Rule, ...] = (
    Rule("fan-in", "synapses/neuron", "fan_in",
         "each topic neuron has its word synapses, one for all tied words, and its documents",
         lambda plan, chip, topics, n_chips: (plan.fan_in, chip.get("fan_in"))),
    Rule("axons of a core", "inputs/core", "axons_per_core",
         "one topic neuron alone brings so many different inputs to its core",
         lambda plan, chip, topics, n_chips: (plan.fan_in, chip.get("axons_per_core"))),
    Rule("synaptic memory of a core", "bytes", "synapse_bytes_per_core",
         "the synapses of one topic neuron stand on its core",
         lambda plan, chip, topics, n_chips: (
             plan.fan_in * plan.synapse_bytes, chip.get("synapse_bytes_per_core"))),
    Rule("cores", "cores/chip", "cores",
         "topic neurons and one inhibitory neuron, as many a core as its limits allow",
         _cores_used),
    Rule("synapses", "synapses/chip", "synapses",
         "all synapses of the topic neurons of a chip",
         lambda plan, chip, topics, n_chips: (topics * plan.fan_in, chip.get("synapses"))),
    Rule("memory", "bytes/chip", "memory_bytes",
         "synapses with their plasticity state, and the neurons",
         lambda plan, chip, topics, n_chips: (
             topics * plan.neuron_bytes, chip.get("memory_bytes"))),
    Rule("weight precision", "bits", "weight_bits",
         "bits that the plan asks for", _weight_bits),
    Rule("learning on chip", "yes/no", "learns",
         "word and document synapses are plastic",
         lambda plan, chip, topics, n_chips: (1, int(chip.get("learns")))),
    Rule("fan-out", "neurons", "fan_out",
         "a document reaches every topic neuron",
         lambda plan, chip, topics, n_chips: (plan.fan_out, chip.get("fan_out"))),
    Rule("routing entries", "entries/chip", "routing_entries",
         "sources whose packets cross the border of a chip (upper bound)", _routing_entries),
    Rule("external memory", "bytes", "external_memory",
         "document synapses that are not on the chip", _external_memory),
)  # fmt: skip


def topics_on_fullest_chip(n_topics: int, n_chips: int) -> int:
    """ceil(K / chips); refuses more chips than topics."""
    if not isinstance(n_chips, int) or n_chips < 1:
        raise PlacementError(f"the number of chips must be at least 1; found {n_chips!r}.")
    if n_chips > n_topics:
        raise PlacementError(
            f"{n_topics} topic neurons cannot be spread over {n_chips} chips: a chip holds at "
            f"least one. Use at most {n_topics} chips."
        )
    return math.ceil(n_topics / n_chips)


def apply_rules(plan: NetworkPlan, chip: ChipProfile, n_chips: int) -> list[RuleResult]:
    """Every rule whose limit the profile knows."""
    topics = topics_on_fullest_chip(plan.n_topics, n_chips)
    results = []
    for rule in RULES:
        used, maximum = rule.measure(plan, chip, topics, n_chips)
        if maximum is not None:
            evidence = chip.evidence(rule.field) or chip.evidence("weight_format")
            results.append(RuleResult(rule.name, rule.unit, used, maximum, evidence, rule.why))
    return results
