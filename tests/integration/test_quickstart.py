"""The quickstart runs from start to end, with and without a compiler, at tiny size."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def quickstart(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "sims"))
    import quickstart

    tiny = dataclasses.replace(quickstart.IN_PYTHON, n_docs=15, n_passes=2, snapshots=(1, 2))
    monkeypatch.setattr(quickstart, "IN_PYTHON", tiny)
    monkeypatch.setattr(quickstart, "COMPILED", None)  # a test without a compiler must not use it
    yield quickstart
    sys.modules.pop("quickstart")


def test_without_a_compiler_it_says_so_and_goes_on(quickstart, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(quickstart, "compiler_found", lambda: False)
    assert quickstart.main(["--out", str(tmp_path / "figures"), "--seed", "1"]) == 0
    text = capsys.readouterr().out
    assert "No C++ compiler" in text
    assert "perplexity" in text and "topic 19" in text
    assert str(tmp_path / "figures") in text and "What to try next" in text
    made = {path.name for path in (tmp_path / "figures").iterdir()}
    assert made == set(quickstart.FIGURES)
    for name in made:
        pixels = image.imread(tmp_path / "figures" / name)
        assert np.ptp(pixels[..., :3]) > 0.5, f"{name} is blank"


def test_quiet_prints_only_where_the_figures_are(quickstart, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(quickstart, "bars_in_spikes", lambda options, say: say("bars"))
    monkeypatch.setattr(quickstart, "topics_of_reuters", lambda options, say: say("reuters"))
    assert quickstart.main(["--out", str(tmp_path), "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.out.strip().startswith("The figures are in") and captured.err == ""


def test_a_folder_that_cannot_be_made_is_an_error_message(quickstart, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert quickstart.main(["--out", str(tmp_path / "file")]) == 2
    assert "error:" in capsys.readouterr().err
