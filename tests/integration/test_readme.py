"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from brian2 import NeuronGroup, prefs
from matplotlib import image

import brian_lda
from brian_lda.algorithms import ALGORITHMS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.complete
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


def test_the_brian2_example_runs(tmp_path, monkeypatch):
    _, example = re.findall(r"```python\n(.*?)```", README, re.S)
    monkeypatch.chdir(tmp_path)
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
    assert np.ptp(image.imread(tmp_path / "raster.png")[..., :3]) > 0.5  # something was drawn


def test_the_table_of_algorithms_names_what_exists():
    (table,) = re.findall(r"\| algorithm \| paper .*?\n\n", README, re.S)
    rows = [row.split("|") for row in table.strip().splitlines()[2:]]
    assert len(rows) == len(ALGORITHMS)
    by_option = {a.option: a for a in ALGORITHMS}
    assert {row[5].strip().strip("`") for row in rows} == set(by_option)
    for row in rows:
        _, _, _, estimator, network, option, _ = (cell.strip().strip("`") for cell in row)
        algorithm = by_option[option]
        assert estimator == algorithm.estimator_name and hasattr(brian_lda, estimator)
        if algorithm.is_spiking:
            assert network == f"models/{algorithm.name}.py" and (ROOT / network).is_file()
        else:
            assert network == "baseline"


def test_it_can_be_read_in_three_minutes():
    assert len(README.split()) <= 800


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMED = {
    (page.name, path)
    for page in PAGES
    for path in re.findall(
        r"(?<![\w./-])((?:brian_lda|models|sims|docs|tests|notebooks)/[\w/]+\.\w+)",
        page.read_text(encoding="utf-8"),
    )
}


@pytest.mark.parametrize(("page", "path"), sorted(NAMED))
def test_named_files_exist(page, path):
    assert (ROOT / path).exists(), f"{page} names {path}"


LINKS = {
    (page.name, page.parent / target)
    for page in [*PAGES, ROOT / "notebooks" / "README.md", ROOT / "models" / "README.md"]
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize(("page", "target"), sorted(LINKS), ids=lambda x: getattr(x, "name", x))
def test_links_lead_somewhere(page, target):
    assert target.exists(), f"{page} links to {target}"


def test_the_two_commands_are_what_ci_runs():
    ci = (ROOT / ".ci" / "run").read_text()
    assert "pip install" in README and "-r requirements.txt" in README and "requirements.txt" in ci
    assert "\npython -m pytest\n" in README and "`python -m pytest --complete`" in README
    assert ci.rstrip().endswith("\npython -m pytest --complete")
    assert "-e ." in (ROOT / "requirements.txt").read_text().split("\n")[-2]


def test_ci_leaves_out_only_what_the_site_runs():
    """A test that has been renamed would be left out of nothing, and the notebooks run twice."""
    ci = (ROOT / ".ci" / "run").read_text()
    (left_out,) = re.findall(r"--deselect (\S+)::(\w+)", ci)
    assert f"def {left_out[1]}(path" in (ROOT / left_out[0]).read_text(encoding="utf-8")
    assert "sphinx-build" in ci and " -W " in ci
