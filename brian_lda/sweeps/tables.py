"""Mean and spread over seeds, and the CSV files behind every figure and table."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda.errors import RunFolderError


def summary(
    finished: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]],
    *,
    by: Sequence[str],
    values: Sequence[str],
) -> list[dict[str, Any]]:
    """Runs that differ in nothing of `by`, as one row.

    Parameters
    ----------
    finished : iterable of (configuration, result)
    by : sequence of str
        Entries of the configuration.
    values : sequence of str
        Numbers in the result: row[v] is their mean and row[v + "_spread"] their standard deviation
        over the runs (the sample's, with n - 1; 0 for a single run).
    """
    groups: dict[tuple, list[Mapping[str, Any]]] = {}
    for config, result in finished:
        groups.setdefault(tuple(config.get(name) for name in by), []).append(result)
    rows = []
    for chosen, results in groups.items():
        row = dict(zip(by, chosen, strict=True))
        row["n_runs"] = len(results)
        for name in values:
            row[name], row[f"{name}_spread"] = mean_and_spread([r[name] for r in results])
        rows.append(row)
    return rows


def mean_and_spread(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Mean and sample standard deviation; the latter is 0 for a single value."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """One line per row; the columns are the keys of all rows in order of appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows({k: _rounded(v) for k, v in row.items()} for row in rows)
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error}.") from error


def _rounded(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value
