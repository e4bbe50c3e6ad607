"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import brian_lda
from brian_lda.algorithms import ALGORITHMS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.S)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(example, "README.md", "exec"), names)
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 4 and len(lines[0].split()) == 5
    assert 1500 < int(lines[-1]) < 2500
    assert (tmp_path / "reuters.h5").exists()
    assert names["spiking"].components_.shape == (5, 4258)


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
