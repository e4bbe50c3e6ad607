"""A hardware report as tables: the same ones in the terminal and in a self-contained HTML page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brian_lda.files.html_page import HtmlPage, format_number
from brian_lda.hardware.feasibility import CheckReport
from brian_lda.hardware.profiles import EVIDENCE
from brian_lda.hardware.profiles import Figure as ChipFigure
from brian_lda.hardware.report import HardwareReport
from brian_lda.plotting import PALETTE, plot_chip_placement, plot_traffic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN_CHIPS = 32  # rows of the table of loads


@dataclass(frozen=True)
class Section:
    """A heading, a sentence and a table."""

    heading: str
    text: str
    rows: list[dict[str, Any]]


def sections(report: HardwareReport) -> list[Section]:
    """The tables of a report, in reading order."""
    plan = report.after.plan
    found = [
        Section("Before pruning", "The network " + report.before.advice(), _rules(report.before)),
        Section(
            "As planned",
            f"The network {report.after.advice()} Fan-in {report.before.plan.fan_in:,} before, "
            f"{plan.fan_in:,} planned: {plan.n:,} private words"
            + (", the shared synapse of all others" if plan.is_pruned else "")
            + f" and {plan.m:,} documents.",
            _rules(report.after),
        ),
        Section(
            "Traffic between chips",
            f"Multicast packets per token on {report.n_chips} chips, recomputed from each "
            f"placement by the checker. Rates: {report.workload.origin}. Parameters between chips: "
            f"{report.parameter_bytes} bytes per token, by the audit of the Brian network.",
            _traffic(report),
        ),
        Section(
            "Load of each chip",
            f"Placement: {report.placements[0].method}."
            + (f" The first {SHOWN_CHIPS} chips." if report.n_chips > SHOWN_CHIPS else ""),
            _loads(report),
        ),
        Section(
            "Events of a token",
            "Over all chips. The gauge form writes one word synapse and one offset, the literal "
            "form all word synapses of the winner.",
            [{"event": event, "per token": n} for event, n in asdict(report.events).items()],
        ),
        Section("Energy", _energy_text(report), _energy(report)),
        Section(
            "Memory of every algorithm",
            "Bytes that each algorithm keeps while training this corpus, without pruning.",
            [
                {
                    "algorithm": m.title, "corpus": m.corpus, "assignments": m.assignments,
                    "weights": m.weights, "eligibility": m.eligibility,
                    "local weights": m.local_weights, "total": m.total,
                }
                for m in report.memory
            ],
        ),
        Section(
            f"Figures of {report.chip.name}",
            "Evidence: " + ", ".join(f"{k} {text}" for k, text in EVIDENCE.items()) + ".",
            [
                {
                    "field": k, "value": f.value, "unit": f.unit, "condition": f.condition,
                    "evidence": f.evidence, "source": _source(f),
                }
                for k, f in report.chip.figures.items()
            ],
        ),
    ]  # fmt: skip
    if report.fan_in_forms:
        forms = Section(
            "Fan-in: pruned or split",
            "Pruning drops word synapses. Splitting topic neurons drops none and keeps the law of "
            "the whole network (models/ed_spike_lda_split.py). Neurons, cores and bytes on all "
            "chips together, the rest for a token. The whole network does not fit: no cores.",
            [
                {
                    "network": f.form, "neurons": f.neurons, "fan-in": f.largest_fan_in,
                    "cores": f.cores, "memory (bytes)": f.memory_bytes,
                    "word synapses dropped": f.drops, "synaptic events": f.synaptic_events,
                    "plastic changes": f.plastic_writes, "packets between chips": f.packets,
                    "dynamic energy (J)": f.dynamic_joules,
                }
                for f in report.fan_in_forms
            ],
        )  # fmt: skip
        found.insert(4, forms)
    if report.swaps:
        swaps = Section(
            "External memory",
            f"Document synapses beyond the {plan.m} on chip, least recently used swapped out; "
            f"counted over a sample of {next(iter(report.swaps.values())).n_tokens:,} tokens.",
            [
                {
                    "order of tokens": order, "reads": c.reads, "writes": c.writes,
                    "bytes": c.bytes, "bytes per token": c.bytes_per_token,
                }
                for order, c in report.swaps.items()
            ],
        )  # fmt: skip
        found.insert(4, swaps)
    return found


def as_text(report: HardwareReport) -> str:
    """The report for a terminal."""
    lines = [f"{_title(report)}", ""]
    for section in sections(report):
        lines += [section.heading, "-" * len(section.heading), section.text]
        lines += [_text_table(section.rows), ""]
    lines += [f"Note: {note}" for note in report.notes]
    return "\n".join(lines)


def as_page(report: HardwareReport) -> HtmlPage:
    """The report as one HTML page, figures included."""
    page = HtmlPage(_title(report), report.chip.description)
    for note in report.notes:
        page.paragraph(f"Note: {note}")
    for section in sections(report):
        page.section(section.heading).paragraph(section.text).table(section.rows)
        if section.heading == "As planned":
            page.figure(_fan_in_figure(report), caption="Fan-in of a topic neuron.")
        if section.heading == "Traffic between chips" and report.n_chips > 1:
            page.figure(_traffic_figure(report), caption="Placement and traffic between chips.")
        if section.heading == "Load of each chip":
            page.figure(_load_figure(report), caption="Utilisation per chip.")
    return page


def _title(report: HardwareReport) -> str:
    plan = report.after.plan
    return (
        f"{plan.title} with K = {plan.n_topics:,}, V = {plan.n_words:,}, D = {plan.n_docs:,} "
        f"on {report.n_chips} x {report.chip.name}"
    )


def _rules(check: CheckReport) -> list[dict[str, Any]]:
    return [
        {
            "rule": r.rule, "used": r.used,
            "max": "no limit" if math.isinf(r.maximum) else r.maximum, "unit": r.unit,
            "passes": "yes" if r.passes else "NO",
            "binding": "<- binding" if r is check.binding else "", "evidence": r.evidence,
        }
        for r in check.results
    ]  # fmt: skip


def _traffic(report: HardwareReport) -> list[dict[str, Any]]:
    tokens_per_doc = float(np.mean(report.workload.doc_lengths))
    return [
        {
            "placement": placed.method, "packets/token": placed.traffic.packets,
            "word": placed.traffic.word, "document": placed.traffic.document,
            "winner": placed.traffic.winner, "with a referee": placed.traffic.with_referee,
            "packets/document": placed.traffic.packets * tokens_per_doc,
            "point to point": placed.traffic.point_to_point,
            "mean hops": placed.traffic.mean_hops, "max hops": placed.traffic.max_hops,
            "limits broken": len(placed.violations),
        }
        for placed in report.placements
    ]  # fmt: skip


def _loads(report: HardwareReport) -> list[dict[str, Any]]:
    return [
        {
            "chip": load.chip, "topics": load.topics, "fan-in": _of(load.largest_fan_in),
            "synapses": _of(load.synapses), "memory (bytes)": _of(load.memory_bytes),
            "routing entries": _of(load.routing_entries),
        }
        for load in report.placements[0].loads[:SHOWN_CHIPS]
    ]  # fmt: skip


def _energy(report: HardwareReport) -> list[dict[str, Any]]:
    rows = []
    for form, energy in report.energy.items():
        for field, (joules, evidence) in energy.dynamic.items():
            rows.append({"form": form, "part": f"dynamic: {field}", "J/token": joules,
                         "evidence": evidence})  # fmt: skip
        if energy.static is not None:
            rows.append({"form": form, "part": "static", "J/token": energy.static[0],
                         "evidence": energy.static[1]})  # fmt: skip
    return rows


def _energy_text(report: HardwareReport) -> str:
    energy = report.energy["gauge"]
    dynamic = energy.dynamic_total
    text = (
        "No dynamic figure is known for this chip. "
        if dynamic is None
        else f"Dynamic {dynamic:.3g} J a token (gauge form; evidence {energy.evidence}). "
    )
    if energy.static is not None:
        text += (
            f"Static {energy.static_watts:.3g} W on all chips: {energy.static[0]:.3g} J a token at "
            f"{energy.tokens_per_second:g} tokens/s (an assumption). "
        )
    if energy.missing:
        text += f"Not known, so not in the sum: {', '.join(energy.missing)}. "
    average = report.chip.get("average_event_joules")
    if average is not None:
        text += (
            f"The quoted {average:.3g} J an event, static power included at one firing rate, would "
            f"give {average * report.events.synaptic:.3g} J a token. "
        )
    return text.rstrip()


def _source(figure: ChipFigure) -> str:
    if not figure.looked_for:
        return figure.source
    return f"{figure.source} [looked for and not found: {figure.looked_for}]"


def _of(pair: tuple[float, float | None]) -> str:
    used, most = pair
    return format_number(used) + ("" if most is None else f" of {format_number(most)}")


def _text_table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "(none)"
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_text(row.get(column)) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    numeric = [isinstance(rows[0].get(column), (int, float)) for column in columns]
    lines = []
    for line in [columns, *cells]:
        aligned = zip(line, widths, numeric, strict=True)
        text = (c.rjust(w) if right else c.ljust(w) for c, w, right in aligned)
        lines.append("  ".join(text).rstrip())
    return "\n".join(lines)


def _text(value: Any) -> str:
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return format_number(value)
    return "" if value is None else str(value)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _fan_in_figure(report: HardwareReport) -> Figure:
    figure = _figure(5.5, 1.8)
    ax = figure.subplots()
    plans = {"before": report.before.plan, "planned": report.after.plan}
    for row, plan in enumerate(plans.values()):
        parts = {"private words": plan.n, "shared": int(plan.is_pruned), "documents": plan.m}
        left = 0
        for colour, (part, size) in zip(PALETTE, parts.items(), strict=False):
            ax.barh(row, size, left=left, color=colour, label=part if row == 0 else None)
            left += size
        ax.text(left * 1.03, row, f"{left:,}", va="center", fontsize=8)
    limit = report.chip.get("fan_in") or report.chip.get("axons_per_core")
    if limit:
        ax.axvline(limit, color="black", linestyle="--", linewidth=1, label=f"limit {limit:,}")
    ax.set_xscale("log")
    ax.set_xlim(10, 6 * max(plan.fan_in for plan in plans.values()))
    ax.set_yticks([0, 1], list(plans))
    ax.invert_yaxis()
    ax.set_xlabel("synapses of a topic neuron")
    ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def _traffic_figure(report: HardwareReport) -> Figure:
    figure = _figure(9.5, 3.4)
    place, matrix, bars = figure.subplots(1, 3)
    best = report.placements[0]
    plot_chip_placement(best.chip_of_topic, place)
    place.set_title(f"topics on chips ({best.method})", fontsize=9)
    plot_traffic(best.traffic.matrix, matrix)
    methods = [placed.method for placed in report.placements]
    bottom = np.zeros(len(methods))
    for colour, part in zip(PALETTE, ("word", "document", "winner"), strict=False):
        heights = np.array([getattr(placed.traffic, part) for placed in report.placements])
        bars.bar(methods, heights, bottom=bottom, color=colour, label=part)
        bottom += heights
    bars.set_ylabel("packets a token")
    bars.tick_params(axis="x", labelsize=7)
    bars.set_ylim(0, 1.3 * bottom.max())
    bars.legend(fontsize=7, ncols=3, loc="upper center")
    return figure


def _load_figure(report: HardwareReport) -> Figure:
    figure = _figure(6.5, 2.4)
    ax = figure.subplots()
    loads = report.placements[0].loads
    limits = {"fan-in": "largest_fan_in", "synapses": "synapses", "memory": "memory_bytes",
              "routing entries": "routing_entries"}  # fmt: skip
    known = {
        name: [getattr(load, field)[0] / getattr(load, field)[1] for load in loads]
        for name, field in limits.items()
        if getattr(loads[0], field)[1]
    }
    width = 0.8 / max(len(known), 1)
    for i, (name, shares) in enumerate(known.items()):
        x = np.arange(len(loads)) + (i + 0.5) * width - 0.4
        ax.bar(x, 100 * np.array(shares), width, color=PALETTE[i], label=name)
    ax.axhline(100, color="black", linestyle="--", linewidth=1)
    ax.set_xlabel("chip")
    ax.set_ylabel("used (% of the limit)")
    if len(loads) <= SHOWN_CHIPS:
        ax.set_xticks(range(len(loads)))
    if known:
        ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure
