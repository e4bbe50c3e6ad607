"""The ledger in models/README.md points to lines and tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in row.strip("|").split("|")]
    for row in README.split("## Ledger")[1].split("## A tick")[0].splitlines()
    if row.startswith("|") and "`" in row
]


def test_every_network_is_in_it():
    files = {row[1].strip("`") for row in ROWS}
    models = {f"models/{path.name}" for path in (ROOT / "models").glob("[a-z]*.py")}
    assert models <= files and len(ROWS) > 25


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_line_and_test_exist(row):
    _, file, line, tests = row
    text = (ROOT / file.strip("`")).read_text(encoding="utf-8")
    assert line.strip("`") in text
    for name in re.findall(r"`([\w./]+)`", tests):
        assert name.endswith(".md") or any((ROOT / "tests").rglob(name)), name
