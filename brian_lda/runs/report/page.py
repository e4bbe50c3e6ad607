"""A run as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from brian_lda.algorithms import find_algorithm
from brian_lda.errors import RunFolderError
from brian_lda.files.html_page import HtmlPage
from brian_lda.plotting import plot_learning_curves
from brian_lda.runs.report.collect import RunData, collect_run
from brian_lda.runs.report.rasters import add_rasters

REPORT = "report.html"


def write_report(
    folder: str | Path, out: str | Path | None = None, *, data_dir: str | Path | None = None
) -> Path:
    """Write the page of a run; returns its path.

    Parameters
    ----------
    folder : str or Path
        Run folder.
    out : str or Path, optional
        File to write; the default is report.html in the run folder.
    data_dir : str or Path, optional
        Where the corpus is looked for.
    """
    path = Path(out or Path(folder) / REPORT)
    page = report_page(collect_run(folder, data_dir=data_dir))
    try:
        return page.save(path)
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error}.") from error


def report_page(data: RunData) -> HtmlPage:
    """The page, not yet written."""
    config = data.config
    page = HtmlPage(
        f"{_title(config)} on {Path(config['corpus']).name}, K = {config['n_topics']}",
        f"run folder {data.folder}",
    )
    for note in data.notes:
        page.paragraph(note)
    if data.metrics is not None:
        _result(page, data.metrics)
    _learning_curve(page, data)
    if data.windows:
        add_rasters(page, data)
    if data.topics:
        page.section("Topics").paragraph(
            "Largest first; share is the mean of θ over the documents that were looked at."
            if "share" in data.topics[0]
            else "In the order of the model."
        )
        page.table([_topic_row(topic) for topic in data.topics])
    _hardware(page, data)
    page.section("Configuration")
    settings = {k: v for k, v in config.items() if v not in (None, {}) and k != "versions"}
    page.table([(k, _as_cell(v)) for k, v in settings.items()], columns=("setting", "value"))
    versions = config.get("versions", {})
    page.table(list(versions.items()), columns=("package", "version"))
    return page


def _result(page: HtmlPage, metrics: dict[str, Any]) -> None:
    page.section("Result")
    if metrics.get("interrupted"):
        page.paragraph("The run was interrupted; this is what it had learnt by then.")
    shown = {
        "held-out perplexity": metrics["perplexity"],
        **_beside(metrics),
        "iterations": metrics["iterations"],
        "seconds of training": metrics["seconds"],
        "tokens a second": metrics["tokens_per_second"],
        "held-out tokens": metrics["heldout_tokens"],
        "of these at the floor": metrics["floor_tokens"],
    }
    page.table([shown])


def _beside(metrics: dict[str, Any]) -> dict[str, Any]:
    """The twin, and both kinds of runs from other starts."""
    if "twin" not in metrics:
        return {}
    shown = {"of the rate-level twin": metrics["twin"]["perplexity"]}
    for where, run in (("in spikes", metrics), ("twin", metrics["twin"])):
        if reached := [start["perplexity"] for start in _other_starts(run)]:
            shown[f"other starts, {where}"] = f"{min(reached):.4g} to {max(reached):.4g}"
    return shown


def _title(config: Mapping[str, Any]) -> str:
    """The algorithm's name for people."""
    return find_algorithm(config["algorithm"]).title


def _learning_curve(page: HtmlPage, data: RunData) -> None:
    if len(data.progress) < 2:
        return
    figure = Figure(figsize=(6.5, 3), layout="constrained")
    metrics = data.metrics or {}
    twin = metrics.get("twin")
    curves = {_title(data.config): [data.progress]}
    caption = "Held-out perplexity while learning."
    if twin:
        of_spikes, of_twin = _other_starts(metrics), _other_starts(twin)
        curves = {
            _several("in spikes", of_spikes): _histories(data.progress, of_spikes),
            _several("rate-level twin", of_twin): _histories(twin["history"], of_twin),
        }
        caption = (
            "Held-out perplexity while learning, in spikes and at rate level, from the same start. "
            "Single runs differ by a few percent, of either kind."
        )
        if of_spikes or of_twin:
            caption += " Lines are means over the starts, bands go from the lowest to the highest."
    n_points = len(data.progress)  # a run that was interrupted and went on may have others
    perplexity = {
        name: np.array([[record["perplexity"] for record in history] for history in runs])
        for name, runs in (
            (name, [history for history in runs if len(history) == n_points])
            for name, runs in curves.items()
        )
        if runs
    }
    iterations = np.array([record["iteration"] for record in data.progress])
    plot_learning_curves(perplexity, figure.add_subplot(), x=iterations)
    page.figure(figure, caption=caption)


def _other_starts(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    return run.get("other_starts", [])


def _histories(own: Any, others: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [own, *(start["history"] for start in others)]


def _several(name: str, others: Sequence[Any]) -> str:
    return f"{name}, {1 + len(others)} starts" if others else name


def _topic_row(topic: Mapping[str, Any]) -> dict[str, Any]:
    row = {"topic": topic["topic"]}
    if "share" in topic:
        row["share"] = f"{topic['share']:.1%}"
    row["words"] = topic["words"]
    if "examples" in topic:
        row["example documents"] = topic["examples"]
    return row


def _hardware(page: HtmlPage, data: RunData) -> None:
    if not data.hardware and not data.pages:
        return
    page.section("Hardware")
    if data.pages:
        page.paragraph("Full pages beside this one: " + ", ".join(data.pages) + ".")
    for name, numbers in data.hardware.items():
        page.section(name, level=3)
        _tables(page, numbers)


def _tables(page: HtmlPage, numbers: Mapping[str, Any], heading: str = "") -> None:
    """Plain data as tables: numbers together, each list of records and each mapping by itself."""
    single = {k: v for k, v in numbers.items() if not isinstance(v, (Mapping, list, tuple))}
    if single:
        page.table(list(single.items()), columns=("figure", "value"), caption=heading)
    for key, value in numbers.items():
        if isinstance(value, Mapping):
            _tables(page, value, key)
        elif isinstance(value, (list, tuple)) and value:
            if all(isinstance(record, Mapping) for record in value):
                rows = [{k: _as_cell(v) for k, v in record.items()} for record in value]
                page.table(rows, caption=key)
            else:
                page.table([(key, _as_cell(value))], columns=("figure", "value"))


def _as_cell(value: Any) -> Any:
    """Nested data has no column of its own."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k} = {_as_cell(v)}" for k, v in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(str(_as_cell(item)) for item in value)
    return value
