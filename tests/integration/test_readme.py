"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from brian2 import NeuronGroup, prefs

import brian_lda
from brian_lda.algorithms import ALGORITHMS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    example, _ = re.findall(r"```python\n(.*?)```", README, re.S)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(example, "README.md", "exec"), names)
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 4 and len(lines[0].split()) == 5
    assert 1500 < int(lines[-1]) < 2500
    assert (tmp_path / "reuters.h5").exists()
    assert names["spiking"].components_.shape == (5, 4258)


def test_the_brian2_example_runs():
    _, example = re.findall(r"```python\n(.*?)```", README, re.S)
    target = prefs.codegen.target
    names: dict = {}
    try:
        exec(compile(example, "README.md", "exec"), names)
    finally:
        prefs.codegen.target = target
    assert names["raster"].num_spikes == names["corpus"].n_tokens == 500
    assert names["u"].u.shape == (10, 500) and np.isfinite(names["u"].u).all()
    for group in ("words", "documents", "topics", "inhibition"):
        assert isinstance(getattr(names["net"], group), NeuronGroup)


def test_the_table_of_algorithms_names_what_exists():
    (table,) = re.findall(r"\| algorithm \| paper .*?\n\n", README, re.S)
    rows = [row.split("|") for row in table.strip().splitlines()[2:]]
    assert len(rows) == len(ALGORITHMS)
    assert {row[6].strip().strip("`") for row in rows} == {a.option for a in ALGORITHMS}
    for row in rows:
        assert hasattr(brian_lda, re.search(r"`(\w+)", row[3])[1])
        for path in re.findall(r"`((?:brian_lda|models)/[\w/]+\.py)`", "|".join(row)):
            assert (ROOT / path).is_file(), path


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:brian_lda|models|sims)/[\w./]+)", README)))
)
def test_named_files_exist(path):
    assert (ROOT / path).exists()


def test_the_two_commands_are_what_ci_runs():
    ci = (ROOT / ".ci" / "run").read_text()
    assert "pip install" in README and "-r requirements.txt" in README and "requirements.txt" in ci
    assert "\npython -m pytest\n" in README and ci.rstrip().endswith("\npython -m pytest")
    assert "-e ." in (ROOT / "requirements.txt").read_text().split("\n")[-2]
