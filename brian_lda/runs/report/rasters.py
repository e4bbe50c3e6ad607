"""The recorded windows of a training as the page draws them.

Rows stay in their place from window to window: words and documents are sorted by the topic that
the finished model gives them. In the first window the colours (who won) have nothing to do with
the rows; what the network learns is seen as bands of one colour.
"""

from __future__ import annotations

from colorsys import hsv_to_rgb
from importlib.resources import files
from typing import Any

import numpy as np
from matplotlib.colors import to_hex

from brian_lda.files.html_page import HtmlPage
from brian_lda.runs.report.collect import RunData
from brian_lda.simulation.recording import Spikes

MOST_TOKENS = 1000  # of a window on the page; the file has all
LABEL_WORDS = 3  # of a topic, beside its row
MARKUP = """
<div class="windows"><button type="button" class="play">play</button>
<input type="range" min="0" value="0" step="1" aria-label="window of the training">
<output></output></div>
<canvas tabindex="0" role="img" aria-label="spike raster"></canvas>
<p class="told" aria-live="polite">&nbsp;</p>
<p class="hint">Slider: from the first window of the training to the last. Wheel or <kbd>+</kbd>
<kbd>-</kbd>: zoom time. Drag or arrow keys: move. Point at a spike: its word, document and topic.
Click: keep that topic. Double click: everything.</p>
"""
STYLE = """
.hint { color: #555; font-size: .9rem; }
.windows { display: flex; gap: .8rem; align-items: center; margin: .6rem 0; }
.windows input { flex: 0 0 14rem; } .windows output { font-variant-numeric: tabular-nums; }
canvas { width: 100%; height: 880px; border: 1px solid #ddd; cursor: crosshair;
         touch-action: none; }
.told { min-height: 1.6em; background: #f5f6f8; padding: .3rem .7rem; margin-top: .3rem; }
"""


def add_rasters(page: HtmlPage, data: RunData) -> None:
    """The section "Spikes" of a page."""
    windows = [spikes for spikes in data.windows if {"word", "document"} <= spikes.index.keys()]
    page.section("Spikes")
    if not windows:
        page.paragraph("The windows of this run were recorded without words and documents.")
        return
    page.paragraph(
        "Recorded while the network learned. A token is a word neuron and a document neuron that "
        "fire until a topic neuron answers; all three have the colour of that winner. Rows do not "
        "change from window to window: words and documents stand beside those to which the "
        "finished model gives the same topic, whose colour is at the left edge. Where a row's "
        "spikes have the colour of the edge, the network has found its order."
    )
    page.table([_about(spikes, data) for spikes in windows])
    used = _topics_in_order(windows, data)
    summary = {topic["topic"]: topic["words"] for topic in data.topics}
    page.interactive(
        files("brian_lda.runs.report").joinpath("raster.js").read_text(encoding="utf-8"),
        {
            "windows": [_window(spikes, data, used) for spikes in windows],
            "topics": [
                {
                    "topic": z,
                    "words": summary.get(z, ""),
                    "label": " ".join([str(z), *summary.get(z, "").split()[:LABEL_WORDS]]),
                    "colour": _colour(n, len(used)),
                }
                for n, z in enumerate(used)
            ],
        },
        markup=MARKUP,
        style=STYLE,
    )


def _colour(n: int, n_topics: int) -> str:
    """Rows go round the colour circle, so that a spike in the wrong row is seen at once."""
    return to_hex(hsv_to_rgb(n / n_topics, 0.85, (0.85, 0.6)[n % 2]))


def _topics_in_order(windows: list[Spikes], data: RunData) -> list[int]:
    """Topics that won anything, or have a row to themselves; the largest first."""
    won = {int(z) for spikes in windows for z in np.unique(spikes.index["topic"])}
    won |= {int(z) for spikes in windows for z in np.unique(spikes.index.get("attempt", []))}
    won |= {int(data.word_topic[w]) for spikes in windows for w in np.unique(spikes.index["word"])}
    known = [topic["topic"] for topic in data.topics]
    return [z for z in known if z in won] + sorted(won - set(known))


def agreement(spikes: Spikes, data: RunData) -> float:
    """Share of the tokens that were won by the topic that the finished model gives them."""
    words, docs, _ = _tokens(spikes)
    if data.theta is None:
        expected = data.word_topic[words]
    else:
        expected = (data.phi[:, words].T * data.theta[docs]).argmax(axis=1)
    return float((expected == spikes.index["topic"]).mean())


def _tokens(spikes: Spikes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Word, document and first tick (s) of each token of a window."""
    ends = spikes.time["topic"]
    begins = np.concatenate([[0.0], ends[:-1] + spikes.tick])
    first = np.searchsorted(spikes.time["word"], begins - spikes.tick / 2)
    return spikes.index["word"][first], spikes.index["document"][first], begins


def _about(spikes: Spikes, data: RunData) -> dict[str, Any]:
    last = spikes.first_token + spikes.n_tokens - 1
    return {
        "window": spikes.name,
        "tokens": f"{spikes.first_token:,} to {last:,}".replace(",", " "),
        data.unit: spikes.iteration,
        "won by the topic that the finished model gives": f"{agreement(spikes, data):.0%}",
    }


def _window(spikes: Spikes, data: RunData, used: list[int]) -> dict[str, Any]:
    words, docs, begins = _tokens(spikes)
    ends, winners = spikes.time["topic"], spikes.index["topic"]
    place = {z: n for n, z in enumerate(used)}
    doc_topic = data.theta.argmax(axis=1) if data.theta is not None else None

    def milliseconds(time: np.ndarray) -> np.ndarray:
        return (1e3 * time).round(3)

    tokens = [
        {
            "from": a, "to": b, "word": data.vocabulary[w], "doc": d, "topic": z,
            "wordHome": data.word_topic[w], "docHome": None if doc_topic is None else doc_topic[d],
        }
        for a, b, w, d, z in zip(
            milliseconds(begins), milliseconds(ends), words, docs, winners, strict=True
        )
    ][:MOST_TOKENS]  # fmt: skip
    for token in tokens:
        if token["docHome"] is not None and int(token["docHome"]) not in place:
            token["docHome"] = None
    ties = []
    if "attempt" in spikes.index:
        rejected = ~np.isin(spikes.time["attempt"], ends)
        ties = [
            {"at": t, "topic": z}
            for t, z in zip(
                milliseconds(spikes.time["attempt"][rejected]),
                spikes.index["attempt"][rejected],
                strict=True,
            )
        ]
    about = _about(spikes, data)
    text = f"{spikes.name}: tokens {about['tokens']}, {data.unit} {spikes.iteration}"
    share = agreement(spikes, data)
    return {
        "name": f"{text}; {share:.0%} won by the topic that the finished model gives",
        "tick": 1e3 * spikes.tick,
        "tokens": tokens,
        "ties": ties,
    }
