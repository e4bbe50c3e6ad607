"""Fill the tables of docs/results.md with the numbers that the study's scripts wrote.

The page is written by hand but for what stands between

    <!-- NAME.csv -->
    <!-- end -->

There the table of NAME is put, from OUT/NAME.csv: nobody copies a number. The figures are copied
beside the page. A table whose script has not been run yet is left as it is.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from brian_lda.algorithms import find_algorithm
from brian_lda.errors import RunFolderError
from study.backend import LABELS, SUFFIX

Row = Mapping[str, str]
_BLOCK = re.compile(r"(<!-- (\w+)\.csv -->\n).*?(<!-- end -->)", re.S)


def fill_page(page: Path, out: Path) -> list[str]:
    """Put the newest numbers into a page; returns the names of the tables that were filled.

    Parameters
    ----------
    page : Path
    out : Path
        `--out` of the scripts.
    """
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise RunFolderError(f"cannot read {page}: {error}.") from error
    if not out.is_dir():
        raise RunFolderError(f"{out} is not a folder; expected the --out of the study's scripts.")
    filled = []

    def fill(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        if not (out / f"{name}.csv").is_file():
            return match.group()
        filled.append(name)
        return f"{begin}\n{_table(out, name)}\n\n{end}"

    text = _BLOCK.sub(fill, text)
    for name in filled:
        if (out / f"{name}.png").is_file():
            (page.parent / "figures").mkdir(exist_ok=True)
            shutil.copyfile(out / f"{name}.png", page.parent / "figures" / f"{name}.png")
    page.write_text(text, encoding="utf-8")
    return filled


def _table(out: Path, name: str) -> str:
    with open(out / f"{name}.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    metadata = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    minutes = metadata["wall_seconds_of_all_runs"] / 60
    made = (
        f"{metadata['runs']} runs, {minutes:.0f} minutes of wall time in all, peak memory "
        f"{metadata['peak_memory_mib']:.0f} MiB, commit {metadata['commit']}."
    )
    parts = [_TABLES.get(name, _TABLES.get(name.removesuffix(SUFFIX), _plain))(rows)]
    if (out / f"{name}.png").is_file():
        parts.insert(0, f"![{name}](figures/{name}.png)")
    if metadata["runs"]:
        parts.append(made)
    return "\n\n".join(parts)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _pm(row: Row, name: str, digits: int) -> str:
    """Mean and spread; one run has none."""
    mean = f"{float(row[name]):.{digits}f}"
    if row.get("n_runs") == "1":
        return mean
    return f"{mean} ± {float(row[f'{name}_spread']):.{digits}f}"


def _plain(rows: Sequence[Row]) -> str:
    return markdown(list(rows[0]), [list(row.values()) for row in rows])


def _priors(rows: Sequence[Row]) -> str:
    """One line per corpus and variant, one column per lambda."""
    lamdas = sorted({float(row["lamda"]) for row in rows if row["lamda"]})
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        floor = f" ({row['floor_tokens']} at the floor)" if row["floor_tokens"] != "0" else ""
        cells = lines.setdefault((row["corpus"].upper(), row["variant"]), {})
        cells[row["lamda"]] = _pm(row, "perplexity", 0) + floor
        cells["seconds"] = f"{float(row['seconds']):.0f}"
    body = []
    for (corpus, variant), cells in lines.items():
        values = {float(key): cell for key, cell in cells.items() if key not in ("", "seconds")}
        first = cells.get("", "")
        columns = [values.get(lamda, first) for lamda in lamdas]
        body.append([corpus, variant, *columns, cells["seconds"]])
    return markdown(["corpus", "", *(f"λ = {lamda:g}" for lamda in lamdas), "s a run"], body)


def _convergence(rows: Sequence[Row]) -> str:
    """Perplexity at the first, some and the last iteration of each line."""
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((row["corpus"].upper(), row["variant"]), []).append(row)
    body = []
    for (corpus, variant), points in lines.items():
        chosen = [points[i * (len(points) - 1) // 4] for i in range(5)]
        cells = [f"{point['iteration']}: {float(point['perplexity']):.0f}" for point in chosen]
        body.append([corpus, variant, *cells])
    return markdown(["corpus", "", "first", *["iteration: perplexity"] * 3, "last"], body)


def _classification(rows: Sequence[Row]) -> str:
    body = []
    for row in rows:
        paper = [
            f"{row[name]} ± {row[f'{name}_spread']}" if row[name] else ""
            for name in ("paper_binary_accuracy", "paper_accuracy")
        ]
        numbers = [_pm(row, name, 1) for name in ("binary_accuracy", "accuracy")]
        cells = [row[name] for name in ("n_topics", "lamda", "varphi")]
        body.append([_title(row), *cells, *numbers, *paper, f"{float(row['seconds']):.0f}"])
    columns = ("K", "λ", "φ", "binary", "20 classes", "paper, binary", "paper, 20 classes")
    return markdown(["", *columns, "s a run"], body)


def _title(row: Row) -> str:
    return find_algorithm(row.get("algorithm") or row["network"]).title


def _memory(rows: Sequence[Row]) -> str:
    names = ("weights", "eligibility", "local_weights", "assignments", "corpus", "total")
    body = [
        [row["corpus"].upper(), row["K"], _title(row)]
        + [f"{float(row[f'{name}_bytes']) / 1e6:.2f}" for name in names]
        for row in rows
    ]
    header = ["corpus", "K", "", "M^α", "N_zw", "M^β", "assignments", "tokens", "total (MB)"]
    counted = [row for row in rows if row.get("counted_races")]
    return markdown(header, body) + ("\n\n" + _counted(counted) if counted else "")


def _counted(rows: Sequence[Row]) -> str:
    """What was counted in spikes, per race, and of the whole training."""
    per_race = ("spikes", "synaptic_events", "plastic_writes", "packets")
    body = [
        [row["corpus"].upper(), _title(row), f"{float(row['counted_passes']):.0f}"]
        + [f"{float(row['counted_races']) / 1e6:.1f}"]
        + [f"{float(row[f'counted_{name}']):.2f}" for name in per_race]
        + [
            f"{float(row['counted_dynamic_joules']):.2f}",
            f"{float(row['counted_cpu_seconds']):.0f}",
        ]
        for row in rows
    ]
    header = ["corpus", "", "passes", "million races", "spikes a race", "synaptic events", "writes"]
    return markdown([*header, "packets", "J in all (Loihi, dynamic)", "CPU s"], body)


def _pruning(rows: Sequence[Row]) -> str:
    names = ("binary_accuracy", "accuracy")
    measured = any(row.get("perplexity") for row in rows)  # runs made before have none
    body = [
        [row["network"], row["n_topics"]]
        + [cell for name in names for cell in (_pm(row, name, 1), row[f"paper_{name}"])]
        + ([_pm(row, "perplexity", 0) if row.get("perplexity") else ""] if measured else [])
        for row in rows
    ]
    header = ["", "K", "binary", "paper", "20 classes", "paper"]
    return markdown(header + ["perplexity"] * measured, body)


def _on_chip(rows: Sequence[Row]) -> str:
    names = ("accuracy_fold_in", "binary_accuracy_fold_in")
    counts = ("fan_in", "writes", "packets", "ticks")
    body = [
        [row["corpus"].upper(), row["network"], _pm(row, "perplexity", 0)]
        + [_pm(row, name, 1) if row[name] else "" for name in names]
        + [f"{float(row[name]):.4g}" if row[name] else "" for name in counts]
        + [f"{float(row['seconds']):.0f}"]
        for row in rows
    ]
    header = ["corpus", "", "perplexity", "20 classes", "binary", "fan-in", "swaps"]
    return markdown([*header, "packets a token", "ticks a token", "s a run"], body)


def _spikes(rows: Sequence[Row]) -> str:
    """Spikes, twin and CGS side by side; runs in brackets where there are not three."""
    body = []
    for row in rows:
        cells = []
        for kind in ("spikes", "twin", "cgs"):
            runs = int(row[f"{kind}_runs"])
            number = _pm(row, f"{kind}_perplexity", 0) if runs > 1 else ""
            if runs == 1:
                number = f"{float(row[f'{kind}_perplexity']):.0f}"
            cells.append(number + (f" ({runs})" if runs not in (0, 3) else ""))
        tests = [f"{float(row[n]):.{d}g}" if row.get(n) else "" for n, d in _OF_SPIKES]
        passes = [
            f"{float(row[f'{kind}_passes']):.0f}" if int(row[f"{kind}_runs"]) else "–"
            for kind in ("spikes", "twin")
        ]
        seconds = f"{float(row['spikes_cpu_seconds']):.0f}"
        body.append([row["corpus"].upper(), _title(row), *cells, *tests, "/".join(passes), seconds])
    header = ["corpus", "", "in spikes", "rate level", "CGS", "spikes / rate", "p equivalent"]
    return markdown([*header, "p different", "passes", "CPU s in spikes"], body)


_OF_SPIKES = (("ratio", 4), ("p_equivalent", 2), ("p_different", 2))


def _constraints(rows: Sequence[Row]) -> str:
    """One line per corpus, one column per limit."""
    points = list(dict.fromkeys((row["limit"], row["value"]) for row in rows))
    lines: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    for row in rows:
        panel = tuple(row[name] for name in ("corpus", "K", "backend", "passes", "measure"))
        digits = 0 if row["measure"] == "perplexity" else 1
        cell = f"{float(row['mean']):.{digits}f} ± {float(row['spread']):.{digits}f}"
        lines.setdefault(panel, {})[row["limit"], row["value"]] = cell
    body = []
    for (corpus, K, backend, passes, measure), cells in lines.items():
        first = f"{corpus.upper()}, K = {K}, {LABELS[backend]}, {passes} passes: {measure}"
        body.append([first, *(cells.get(point, "") for point in points)])
    return markdown(["", *(_limit(*point) for point in points)], body)


def _limit(limit: str, value: str) -> str:
    if limit == "none":
        return "without limits"
    if limit == "weight_bits":
        return f"{value} bits"
    return f"{100 * float(value):g} % {'lost' if limit == 'packet_loss' else 'dead'}"


def _stream(rows: Sequence[Row]) -> str:
    shares = [name.removeprefix("mib_at_") for name in rows[0] if name.startswith("mib_at_")]
    body = []
    for row in rows:
        memory = [row[f"mib_at_{share}"] for share in shares]
        floor = f" ({row['floor_tokens']} at the floor)" if row["floor_tokens"] != "0" else ""
        one_run = row["n_runs"] == "1"  # has no spread
        score = f"{float(row['perplexity']):.0f}" if one_run else _pm(row, "perplexity", 0)
        body.append(
            [row["corpus"].upper(), row["order"], row["algorithm"], score + floor]
            + [f"{float(row['seconds']):.0f}"]
            + [f"{float(mib):.0f}" if mib else "" for mib in memory]
        )
    columns = [f"MiB at {share}" for share in shares]
    return markdown(["corpus", "order", "", "perplexity", "s a run", *columns], body)


_TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "figure_constraints": _constraints,
    "figure_prior": _priors,
    "figure_prior_large": _priors,
    "figure_convergence": _convergence,
    "figure_convergence_large": _convergence,
    "table_classification": _classification,
    "table_memory": _memory,
    "table_pruning": _pruning,
    "table_on_chip": _on_chip,
    "table_spikes": _spikes,
    "table_stream": _stream,
}
