"""A run as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from brian_lda.algorithms import find_algorithm
from brian_lda.errors import RunFolderError
from brian_lda.files.html_page import HtmlPage
from brian_lda.plotting import plot_learning_curves, topic_colours
from brian_lda.runs.report.collect import RunData, collect_run
from brian_lda.simulation.recording import Spikes

REPORT = "report.html"
RASTER_MARKUP = """
<p class="hint">Wheel or <kbd>+</kbd> <kbd>-</kbd>: zoom time. Drag or arrow keys: move.
Point at a spike: its word, document and topic. Click: keep that topic. Double click: everything.
</p>
<canvas tabindex="0" role="img" aria-label="spike raster"></canvas>
<p class="told" aria-live="polite">&nbsp;</p>
"""
RASTER_STYLE = """
.hint { color: #555; font-size: .9rem; }
canvas { width: 100%; height: 640px; border: 1px solid #ddd; cursor: crosshair;
         touch-action: none; }
.told { min-height: 3em; background: #f5f6f8; padding: .3rem .7rem; margin-top: .3rem; }
"""


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
    if data.topics:
        page.section("Topics").paragraph(
            "Largest first; share is the mean of θ over the documents that were looked at."
            if "share" in data.topics[0]
            else "In the order of the model."
        )
        page.table([_topic_row(topic) for topic in data.topics])
    if data.spikes is not None:
        _raster(page, data, data.spikes)
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
        "iterations": metrics["iterations"],
        "seconds of training": metrics["seconds"],
        "tokens a second": metrics["tokens_per_second"],
        "held-out tokens": metrics["heldout_tokens"],
        "of these at the floor": metrics["floor_tokens"],
    }
    page.table([shown])


def _title(config: Mapping[str, Any]) -> str:
    """The algorithm's name for people."""
    return find_algorithm(config["algorithm"]).title


def _learning_curve(page: HtmlPage, data: RunData) -> None:
    if len(data.progress) < 2:
        return
    figure = Figure(figsize=(6.5, 3), layout="constrained")
    perplexity = np.array([[record["perplexity"] for record in data.progress]])
    iterations = np.array([record["iteration"] for record in data.progress])
    plot_learning_curves({_title(data.config): perplexity}, figure.add_subplot(), x=iterations)
    page.figure(figure, caption="Held-out perplexity while learning.")


def _topic_row(topic: Mapping[str, Any]) -> dict[str, Any]:
    row = {"topic": topic["topic"]}
    if "share" in topic:
        row["share"] = f"{topic['share']:.1%}"
    row["words"] = topic["words"]
    if "examples" in topic:
        row["example documents"] = topic["examples"]
    return row


def _raster(page: HtmlPage, data: RunData, spikes: Spikes) -> None:
    ends, winners = spikes.time["topic"], spikes.index["topic"]
    first = np.searchsorted(spikes.time["word"], np.concatenate([[0.0], ends[:-1] + 1e-9]))
    attempts = spikes.time["attempt"]
    rejected = ~np.isin(attempts, ends)
    words, docs = spikes.index["word"][first], spikes.index["document"][first]
    used = sorted(set(winners.tolist()) | set(spikes.index["attempt"].tolist()))
    summary = {topic["topic"]: topic["words"] for topic in data.topics}
    page.section("Spikes").paragraph(
        f"{len(ends)} tokens of {len(np.unique(docs))} documents, shown once more to the circuit "
        "of Alg. 1 with the trained weights, which are held fixed (a replay, not a recording of "
        "the training). The word and the document neuron of a token fire until exactly one topic "
        "neuron answers: the winner. Grey: ties, rejected by the inhibition."
    )
    page.interactive(
        files("brian_lda.runs.report").joinpath("raster.js").read_text(encoding="utf-8"),
        {
            "tokens": [
                {"from": a, "to": b, "word": data.vocabulary[w], "doc": d, "topic": z}
                for a, b, w, d, z in zip(
                    (1e3 * spikes.time["word"][first]).round(3),
                    (1e3 * ends).round(3),
                    words,
                    docs,
                    winners,
                    strict=True,
                )
            ],
            "ties": [
                {"at": t, "topic": z}
                for t, z in zip(
                    (1e3 * attempts[rejected]).round(3),
                    spikes.index["attempt"][rejected],
                    strict=True,
                )
            ],
            "tick": 1.0,
            "topics": [
                {"topic": z, "words": summary[z], "colour": to_hex(colour)}
                for z, colour in zip(used, topic_colours(np.array(used)), strict=True)
            ],
        },
        markup=RASTER_MARKUP,
        style=RASTER_STYLE,
    )


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
