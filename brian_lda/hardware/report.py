"""Everything that `sims/hardware_report.py` shows, as numbers.

`hardware_report` plans, checks, prunes if it must, places the topics on chips in three ways, lets
the independent checker recompute limits and traffic, and counts swaps, energy and memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from brian_lda.errors import MissingDependencyError
from brian_lda.external_memory import SwapCount, block_order, count_swaps
from brian_lda.hardware.checker import ChipLoad, Traffic, check_placement, count_traffic
from brian_lda.hardware.energy import Energy, TokenEvents, energy_per_token, token_events
from brian_lda.hardware.fan_in import FanInForm, fan_in_forms
from brian_lda.hardware.feasibility import CheckReport, check
from brian_lda.hardware.memory import Memory, memory_table
from brian_lda.hardware.partition import (
    hypergraph_placement,
    index_placement,
    random_placement,
)
from brian_lda.hardware.plan import NetworkPlan
from brian_lda.hardware.profiles import ChipProfile
from brian_lda.hardware.pruning import PAPER_DOCS_ON_CHIP, PAPER_PRIVATE_WORDS
from brian_lda.hardware.workload import DOC_LENGTH, Workload, sample_documents


@dataclass(frozen=True)
class PlacedNetwork:
    """One way of placing the topics, recomputed by the checker."""

    method: str
    chip_of_topic: np.ndarray
    loads: list[ChipLoad]
    traffic: Traffic

    @property
    def violations(self) -> list[str]:
        return [text for load in self.loads for text in load.violations]


@dataclass(frozen=True)
class HardwareReport:
    """What a chip makes of a network; `numbers` is all of it as plain data."""

    chip: ChipProfile
    n_chips: int
    before: CheckReport
    after: CheckReport
    workload: Workload
    placements: list[PlacedNetwork]  # the one to use first
    swaps: dict[str, SwapCount]
    events: TokenEvents
    energy: dict[str, Energy]
    memory: list[Memory]
    parameter_bytes: int  # between chips, per token, by the locality audit
    notes: list[str]
    fan_in_forms: list[FanInForm]  # of a pruned ed-SpikeLDA: what splitting would take instead

    def numbers(self) -> dict[str, Any]:
        """Every number of the report, ready for JSON ("no limit" where it is infinite)."""
        return _plain(
            {
                "chip": {
                    "name": self.chip.name,
                    "description": self.chip.description,
                    "figures": {name: asdict(figure) for name, figure in self.chip.figures.items()},
                },
                "n_chips": self.n_chips,
                "workload": self.workload.origin,
                "before_pruning": _check_numbers(self.before),
                "after_pruning": _check_numbers(self.after),
                "placements": [_placement_numbers(placed) for placed in self.placements],
                "external_memory": {
                    order: asdict(count) | {"bytes_per_token": count.bytes_per_token}
                    for order, count in self.swaps.items()
                },
                "events_per_token": asdict(self.events),
                "energy": {
                    form: asdict(energy)
                    | {"dynamic_total": energy.dynamic_total, "evidence": energy.evidence}
                    for form, energy in self.energy.items()
                },
                "memory": [asdict(memory) | {"total": memory.total} for memory in self.memory],
                "parameter_bytes_between_chips": self.parameter_bytes,
                "fan_in_forms": [asdict(form) for form in self.fan_in_forms],
                "notes": self.notes,
            }
        )


def hardware_report(
    plan: NetworkPlan,
    make_workload: Callable[[NetworkPlan], Workload],
    chip: ChipProfile,
    n_chips: int | None = None,
    *,
    tokens_per_second: float = 1000.0,
    seed: int = 0,
) -> HardwareReport:
    """Plan, check, prune if needed, place, recheck and count.

    Parameters
    ----------
    plan : NetworkPlan
        With `n_private` or `docs_on_chip` set it is taken as it is; else it is pruned if it does
        not fit: to the paper's 200 words and 50 documents if that fits, else to what does.
    make_workload : callable
        Gives the rates and the private words for a plan.
    chip : ChipProfile
    n_chips : int, optional
        Default: as few as hold the network.
    tokens_per_second : float
        What static power is divided by.
    seed : int
        Of the random placement, the sample of documents, and mtkahypar.
    """
    before = check(plan.with_(n_private=None, docs_on_chip=None), chip, n_chips or 1)
    after = _fitted(plan, chip, n_chips)
    n_chips, plan = after.n_chips, after.plan
    workload = make_workload(plan)
    placements, notes = _placements(workload, plan, chip, n_chips, seed)
    traffic = placements[0].traffic
    events = token_events(
        workload.private, workload.word_counts, traffic.packets, traffic.mean_hops
    )
    energy = {
        form: energy_per_token(
            events, chip, n_chips, gauge=form == "gauge", tokens_per_second=tokens_per_second
        )
        for form in ("gauge", "literal")
    }
    memory = memory_table(
        n_topics=plan.n_topics,
        n_words=plan.n_words,
        n_docs=len(workload.doc_lengths),
        n_tokens=plan.n_tokens or DOC_LENGTH * plan.n_docs,
        weight_bytes=plan.weight_bytes,
    )
    from brian_lda.hardware.network_audit import audit_algorithm  # imports Brian2: seconds

    can_be_split = plan.is_pruned and plan.algorithm == "ed_spike_lda"
    if not after.passes:
        notes.append(f"The network {after.advice()}")
    return HardwareReport(
        chip, n_chips, before, after, workload, placements,
        _swaps(workload, plan, np.random.default_rng(seed)), events, energy, memory,
        audit_algorithm(plan.algorithm).parameter_bytes, notes,
        fan_in_forms(plan, chip, n_chips, events) if can_be_split else [],
    )  # fmt: skip


def _fitted(plan: NetworkPlan, chip: ChipProfile, n_chips: int | None) -> CheckReport:
    """The check of the plan that is used: pruned, and on more chips, only if it must be."""
    as_given = check(plan, chip, n_chips or 1)
    candidates = [as_given]
    if plan.n_private is None and plan.docs_on_chip is None and not as_given.passes:
        m = min(PAPER_DOCS_ON_CHIP, plan.n_docs) if plan.keeps_all_documents else plan.n_docs
        paper = plan.with_(n_private=min(PAPER_PRIVATE_WORDS, plan.n_words), docs_on_chip=m)
        nearest = as_given.nearest["pruned"]
        candidates.append(check(paper, chip, n_chips or 1))
        if nearest:
            changes = {key: nearest[key] for key in ("n_private", "docs_on_chip")}
            candidates.append(check(plan.with_(**changes), chip, n_chips or 1))
    if n_chips is None:  # a candidate that fits as it is comes before one on more chips
        for report in list(candidates):
            if report.nearest.get("n_chips"):
                candidates.append(check(report.plan, chip, report.nearest["n_chips"]))
    return next((report for report in candidates if report.passes), candidates[-1])


def _placements(
    workload: Workload, plan: NetworkPlan, chip: ChipProfile, n_chips: int, seed: int
) -> tuple[list[PlacedNetwork], list[str]]:
    notes = []
    rng = np.random.default_rng(seed)
    methods = {}
    try:
        methods["mtkahypar"] = hypergraph_placement(
            workload.private, workload.word_counts, n_chips, seed=seed
        )
    except MissingDependencyError as error:
        notes.append(str(error))
    methods["index order"] = index_placement(plan.n_topics, n_chips)
    methods["random"] = random_placement(plan.n_topics, n_chips, rng)
    placed = []
    for method, chip_of_topic in methods.items():
        loads = check_placement(
            chip_of_topic, n_chips, workload.private, plan.m, chip,
            synapse_bytes=plan.synapse_bytes,
        )  # fmt: skip
        traffic = count_traffic(
            chip_of_topic, n_chips, workload.private, workload.word_counts,
            doc_lengths=workload.doc_lengths, topic_counts=workload.topic_counts,
        )  # fmt: skip
        placed.append(PlacedNetwork(method, chip_of_topic, loads, traffic))
    return placed, notes


def _swaps(workload: Workload, plan: NetworkPlan, rng: np.random.Generator) -> dict[str, SwapCount]:
    """Swaps of a sample of whole documents, in blocks and shuffled; none if all stay on chip."""
    if plan.external_bytes == 0:
        return {}
    docs = sample_documents(workload.doc_lengths, rng)
    bytes_per_document = plan.n_topics * plan.synapse_bytes
    return {
        "blocks of m documents": count_swaps(
            docs[block_order(docs, plan.m, rng)], plan.m, bytes_per_document
        ),
        "shuffled tokens": count_swaps(rng.permutation(docs), plan.m, bytes_per_document),
    }


def _check_numbers(report: CheckReport) -> dict[str, Any]:
    plan = report.plan
    return {
        "plan": asdict(plan) | {"fan_in": plan.fan_in, "n": plan.n, "m": plan.m},
        "n_chips": report.n_chips,
        "passes": report.passes,
        "rules": [
            asdict(result) | {"passes": result.passes, "utilisation": result.utilisation}
            for result in report.results
        ],
        "binding": report.binding.rule,
        "nearest": report.nearest,
        "advice": report.advice(),
    }


def _placement_numbers(placed: PlacedNetwork) -> dict[str, Any]:
    topics = np.array([load.topics for load in placed.loads])
    return {
        "method": placed.method,
        "chip_of_topic": placed.chip_of_topic,
        "traffic": asdict(placed.traffic) | {"packets": placed.traffic.packets},
        "loads": [asdict(load) for load in placed.loads],
        "load_imbalance": topics.max() / topics.mean() - 1.0,
        "violations": placed.violations,
    }


def _plain(value: Any) -> Any:
    """Nested data with JSON's own types only."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    return "no limit" if isinstance(value, float) and math.isinf(value) else value
