"""The page of a run: what it shows of finished, running and damaged runs, and in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from brian_lda import TopicModel
from brian_lda.errors import RunFolderError
from brian_lda.estimators.checkpoint import Checkpoint, write_checkpoint
from brian_lda.runs import RunConfig, train_run
from brian_lda.runs.report import collect_run, write_report
from brian_lda.runs.report.rasters import agreement
from brian_lda.simulation import Spikes, write_recording

WORDS = ("<script>alert(1)</script>", "sea", "oil", "war", "pope", "vatican", "tax", "budget")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run on a corpus of two topics, one of whose words is hostile."""
    folder = tmp_path_factory.mktemp("run")
    corpus = folder / "corpus"
    corpus.mkdir()
    rng = np.random.default_rng(0)
    lines = []
    for d in range(1, 41):
        counts = rng.multinomial(30, np.repeat([0.25, 0.0] if d % 2 else [0.0, 0.25], 4))
        lines += [f"{d} {w + 1} {n}" for w, n in enumerate(counts) if n]
    (corpus / "docword.tiny.txt").write_text("\n".join([f"40\n8\n{len(lines)}", *lines, ""]))
    (corpus / "vocab.tiny.txt").write_text("\n".join(WORDS) + "\n")
    config = RunConfig(corpus=str(corpus), n_topics=2, iterations=40)
    train_run(config, folder / "run", quiet=True)
    return folder / "run"


def window(name, first_token, rng, order):
    """100 tokens; `order` of them are won by the topic of their word."""
    words = rng.integers(0, 8, 100)
    own = np.arange(100) < order
    ticks = 1e-3 * np.arange(100)
    spikes = Spikes(name, first_token, iteration=1 + first_token // 1000)
    spikes.index = {
        "word": words,
        "document": rng.integers(0, 36, 100),
        "topic": np.where(own, words < 4, words >= 4).astype(int),
    }
    spikes.time = dict.fromkeys(spikes.index, ticks)
    return spikes


@pytest.fixture(scope="module")
def recorded(finished, tmp_path_factory):
    """The same run with windows in which order appears (topic 1 is that of the first words)."""
    run = tmp_path_factory.mktemp("recorded") / "run"
    shutil.copytree(finished, run)
    rng = np.random.default_rng(1)
    windows = [window("first", 0, rng, 50), window("last", 4000, rng, 90)]
    phi = TopicModel.load(run / "model.h5").components_
    if phi[0, 0] > phi[1, 0]:
        for spikes in windows:
            spikes.index["topic"] = 1 - spikes.index["topic"]
    write_recording(run / "recording.h5", windows)
    return run


def test_topics_with_words_and_example_documents(finished):
    data = collect_run(finished)
    found = {frozenset(topic["words"].split()[:4]) for topic in data.topics}
    assert found == {frozenset(WORDS[:4]), frozenset(WORDS[4:])}
    assert sum(topic["share"] for topic in data.topics) == pytest.approx(1.0)
    for topic in data.topics:
        for example in topic["examples"]:
            assert set(example.split(": ")[1].split()) - {"…"} <= set(topic["words"].split()[:4])
    assert data.notes == []


def test_order_appears_from_the_first_window_to_the_last(recorded):
    data = collect_run(recorded)
    assert [spikes.name for spikes in data.windows] == ["first", "last"]
    # A word decides here, the document is drawn at random: most tokens, not all, agree.
    data.theta = None
    assert [agreement(spikes, data) for spikes in data.windows] == [0.5, 0.9]


def test_page_of_a_recorded_run(recorded, tmp_path):
    html = write_report(recorded, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Recorded while the network learned" in html and 'type="range"' in html
    assert "4 000 to 4 099" in html
    shutil.copytree(recorded, tmp_path / "torn")
    (tmp_path / "torn" / "recording.h5").write_bytes(b"torn")
    html = write_report(tmp_path / "torn").read_text(encoding="utf-8")
    assert "cannot read the recording" in html and "<canvas" not in html


def test_the_twin_is_shown_beside_the_spikes(finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    metrics = json.loads((run / "metrics.json").read_text())
    metrics["twin"] = {"perplexity": 77.25, "history": metrics["history"]}
    (run / "metrics.json").write_text(json.dumps(metrics))
    html = write_report(run).read_text(encoding="utf-8")
    assert "77.25" in html and "rate-level twin" in html and "other starts" not in html
    other = {"seed": 1, "perplexity": 81.5, "history": metrics["history"]}
    metrics["twin"]["other_starts"] = [other, {**other, "perplexity": 79.0}]
    (run / "metrics.json").write_text(json.dumps(metrics))
    html = write_report(run).read_text(encoding="utf-8")
    assert "79 to 81.5" in html and "other starts, twin" in html and "in spikes, " not in html


def test_page_of_a_finished_run(finished, tmp_path):
    html = write_report(finished, tmp_path / "page.html").read_text(encoding="utf-8")
    perplexity = json.loads((finished / "metrics.json").read_text())["perplexity"]
    assert f"{perplexity:.4g}" in html and "semi-SpikeLDA" in html
    assert "<script>alert" not in html and "&lt;script&gt;alert" in html
    assert not re.search(r"(src|href)=.https?:", html)
    assert write_report(finished) == finished / "report.html"


def test_page_of_a_running_run(finished, tmp_path):
    shutil.copy(finished / "config.json", tmp_path)
    html = write_report(tmp_path).read_text(encoding="utf-8")
    assert "still going on" in html and "n_topics" in html and "<canvas" not in html


def test_a_running_run_shows_how_far_it_is(finished, tmp_path):
    shutil.copy(finished / "config.json", tmp_path)
    history = [{"iteration": i, "perplexity": 900.0 / i} for i in (1, 2, 3)]
    history.append({"iteration": 4})  # not every iteration is evaluated
    write_checkpoint(
        tmp_path / "checkpoint.h5", Checkpoint({}, {}, {}, 0, history, {"z": np.zeros(3)})
    )
    assert [r["iteration"] for r in collect_run(tmp_path).progress] == [1, 2, 3]
    html = write_report(tmp_path).read_text(encoding="utf-8")
    assert "iteration 4" in html and "--resume" in html and "while learning" in html
    (tmp_path / "checkpoint.h5").write_bytes(b"torn")
    assert "cannot go on from" in write_report(tmp_path).read_text(encoding="utf-8")


def test_without_its_corpus_the_topics_remain(finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    config = json.loads((run / "config.json").read_text()) | {"corpus": str(tmp_path / "gone")}
    (run / "config.json").write_text(json.dumps(config))
    data = collect_run(run)
    assert len(data.topics) == 2 and data.windows == []
    assert "for want of the corpus" in data.notes[0]
    assert "vatican" in write_report(run).read_text(encoding="utf-8")


def test_hardware_tables_are_shown_when_there_are_any(finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    numbers = {"chips": 4, "placements": [{"method": "index <order>", "packets": 1.25}],
               "energy": {"dynamic": 2e-9}}  # fmt: skip
    (run / "hardware.json").write_text(json.dumps(numbers))
    (run / "hardware-loihi1.html").write_text("")
    html = write_report(run).read_text(encoding="utf-8")
    assert "hardware-loihi1.html" in html
    assert "index &lt;order&gt;" in html and "2e-09" in html and "1.25" in html


def test_not_a_run(tmp_path):
    with pytest.raises(RunFolderError, match="run folder"):
        write_report(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(RunFolderError, match="cannot read"):
        write_report(tmp_path)


PLAY = """
<script>
const root = document.getElementById("block-1"), canvas = root.querySelector("canvas");
const data = JSON.parse(document.getElementById("block-1-data").textContent);
const first = data.windows[0].tokens[0], slider = root.querySelector("input");
const out = document.documentElement.dataset;
const box = canvas.getBoundingClientRect();
function at(kind, type, x, y, more) {
  const place = {clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true};
  canvas.dispatchEvent(new kind(type, Object.assign(place, more)));
}
function ink() { return canvas.toDataURL(); }
out.opened = root.dataset.last - root.dataset.first;
for (let i = 0; i < 10; i++) at(WheelEvent, "wheel", 191, 100, {deltaY: -1});
out.zoomed = root.dataset.last - root.dataset.first;
const span = root.dataset.last - root.dataset.first;
const x = 190 + (box.width - 202) * (first.to - root.dataset.first) / span;
at(PointerEvent, "pointermove", x, 40, {});
out.told = root.querySelector(".told").textContent;
at(PointerEvent, "pointerdown", x, 40, {});
at(PointerEvent, "pointerup", x, 40, {});
out.pinned = root.dataset.pinned;
at(MouseEvent, "dblclick", x, 40, {});
out.whole = root.dataset.last - root.dataset.first;
at(PointerEvent, "pointerleave", 0, 0, {});
const before = ink(), named = root.querySelector("output").textContent;
slider.value = slider.max; slider.dispatchEvent(new Event("input"));
out.window = root.dataset.window;
out.changed = before !== ink() && named !== root.querySelector("output").textContent;
const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
out.coloured = pixels.some((v, i) => i % 4 == 0 && pixels[i + 3] == 255 && v != pixels[i + 1]);
out.expected = JSON.stringify([first.word, first.doc, first.topic]);
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: the page is not tried in a browser")
def test_rasters_in_a_real_browser(recorded, tmp_path):
    html = write_report(recorded, tmp_path / "page.html").read_text(encoding="utf-8")
    catch = (
        "<script>window.onerror = m => { document.documentElement.dataset.error = m; };</script>"
    )
    played = html.replace("<head>", "<head>" + catch).replace("</body>", PLAY)
    (tmp_path / "played.html").write_text(played, encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,900",
               f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
               (tmp_path / "played.html").as_uri()]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    tag = re.search(r"<html[^>]*>", run.stdout).group(0)
    seen = dict(re.findall(r'data-(\w+)="([^"]*)"', tag))
    assert "error" not in seen, seen
    opened, zoomed, whole = (float(seen[key]) for key in ("opened", "zoomed", "whole"))
    assert zoomed < 0.2 * opened and opened == whole
    word, doc, topic = json.loads(seen["expected"].replace("&quot;", '"').replace("&lt;", "<"))
    assert f"in document {doc}," in seen["told"] and f"won by topic {topic} (" in seen["told"]
    assert word.split(">")[0].strip("<") in seen["told"]
    assert seen["pinned"] == str(topic) and seen["coloured"] == "true"
    assert seen["window"] == "1" and seen["changed"] == "true"
