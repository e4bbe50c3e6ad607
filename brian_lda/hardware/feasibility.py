"""`check`: does a plan fit, which rule binds, and what nearby would fit?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from brian_lda.hardware.plan import NetworkPlan
from brian_lda.hardware.profiles import ChipProfile
from brian_lda.hardware.pruning import PAPER_DOCS_ON_CHIP, PAPER_PRIVATE_WORDS
from brian_lda.hardware.rules import RuleResult, apply_rules


@dataclass(frozen=True)
class CheckReport:
    """Outcome of `check`.

    Attributes
    ----------
    results : tuple of RuleResult
    nearest : dict
        For a plan that does not fit: the nearest value of one number alone that does, all others
        kept ("n_topics", "n_words", "n_private", "docs_on_chip", "n_chips"; None where no value
        of it helps), "pruned": private words and documents on chip changed together, and
        "documents": for a chip without external memory, the documents that a pruned network can
        keep on it (a smaller corpus, or the mini-batch of du- and semi-SpikeLDA).
    """

    plan: NetworkPlan
    chip: ChipProfile
    n_chips: int
    results: tuple[RuleResult, ...]
    nearest: dict[str, Any]

    @property
    def passes(self) -> bool:
        return all(result.passes for result in self.results)

    @property
    def failures(self) -> tuple[RuleResult, ...]:
        return tuple(result for result in self.results if not result.passes)

    @property
    def binding(self) -> RuleResult:
        """The rule that is broken worst; if all pass, the one nearest to its limit.

        Yes-or-no rules that pass are not near any limit.
        """
        graded = [r for r in self.results if r.unit != "yes/no" or not r.passes]
        return max(graded or self.results, key=lambda result: result.utilisation)

    def advice(self) -> str:
        """One sentence that says what fits or what would."""
        binding = self.binding
        if self.passes:
            return (
                f"fits {self.n_chips} x {self.chip.name}; the nearest limit is {binding.rule}: "
                f"{binding.used:,.0f} of {binding.maximum:,.0f} {binding.unit}."
            )
        words = {
            "n_chips": "at least {} chips",
            "n_topics": "K up to {}",
            "n_words": "V up to {}",
            "n_private": "up to {} private words a topic",
            "docs_on_chip": "up to {} documents on chip",
        }
        found = [text.format(self.nearest[k]) for k, text in words.items() if self.nearest.get(k)]
        if self.nearest.get("pruned"):
            n, m = self.nearest["pruned"]["n_private"], self.nearest["pruned"]["docs_on_chip"]
            found.append(f"pruned to {n} private words with {m} documents on chip")
        if self.nearest.get("documents"):
            n, D = self.nearest["documents"]["n_private"], self.nearest["documents"]["n_docs"]
            found.append(f"a corpus or mini-batch of {D} documents with {n} private words")
        failed = ", ".join(
            f"{r.rule} ({r.used:,.0f} of {r.maximum:,.0f} {r.unit})" for r in self.failures
        )
        return f"does not fit: {failed}. Would fit: " + (
            "; or ".join(found) + "."
            if found
            else "nothing near; the chip cannot run this network."
        )


def check(plan: NetworkPlan, chip: ChipProfile, n_chips: int = 1) -> CheckReport:
    """Check every rule and, where one fails, look for the nearest plan that fits.

    Raises
    ------
    PlacementError
        More chips than topics.
    """
    results = tuple(apply_rules(plan, chip, n_chips))
    nearest = {} if all(result.passes for result in results) else _nearest(plan, chip, n_chips)
    return CheckReport(plan, chip, n_chips, results, nearest)


def _nearest(plan: NetworkPlan, chip: ChipProfile, n_chips: int) -> dict[str, Any]:
    def fits(chips: int = n_chips, **changes: Any) -> bool:
        return all(r.passes for r in apply_rules(plan.with_(**changes), chip, chips))

    nearest: dict[str, Any] = {
        "n_topics": _largest(lambda K: fits(n_topics=K), max(n_chips, 2), plan.n_topics),
        "n_chips": _smallest(lambda chips: fits(chips), n_chips, plan.n_topics),
        "n_words": None,
        "n_private": _largest(lambda n: fits(n_private=n), 1, plan.n),
        "docs_on_chip": _largest(lambda m: fits(docs_on_chip=m), 1, plan.m),
        "pruned": None,
        "documents": None,
    }
    if not plan.is_pruned:
        nearest["n_words"] = _largest(lambda V: fits(n_words=V, n_private=None), 1, plan.n_words)
    m = _docs_beside_private_words(plan, chip)
    n = _largest(lambda n: fits(n_private=n, docs_on_chip=m), 1, plan.n)
    if n is not None:
        nearest["pruned"] = {"n_private": n, "docs_on_chip": m, "fan_in": n + 1 + m}
    elif not chip.get("external_memory"):
        n = max(1, min(plan.n, _fan_in(chip) * PAPER_PRIVATE_WORDS // 256))
        D = _largest(lambda D: fits(n_docs=D, docs_on_chip=None, n_private=n), 1, plan.n_docs)
        nearest["documents"] = None if D is None else {"n_private": n, "n_docs": D}
    return nearest


def _docs_beside_private_words(plan: NetworkPlan, chip: ChipProfile) -> int:
    """How many documents to keep on chip: the paper's 50 of 256 synapses, in proportion."""
    if not plan.keeps_all_documents:
        return plan.m
    return max(1, min(plan.m, _fan_in(chip) * PAPER_DOCS_ON_CHIP // 256))


def _fan_in(chip: ChipProfile) -> int:
    return chip.get("fan_in") or chip.get("axons_per_core") or 256


def _largest(fits: Callable[[int], bool], low: int, high: int) -> int | None:
    """The largest value in [low, high] that fits, by bisection: fewer never needs more."""
    if low > high or not fits(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _smallest(fits: Callable[[int], bool], low: int, high: int) -> int | None:
    """The smallest value in [low, high] that fits, by bisection."""
    if not fits(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return low
