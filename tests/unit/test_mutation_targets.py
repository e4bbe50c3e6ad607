"""`tests/mutation/targets.toml` is about the code as it is."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGETS = tomllib.loads((ROOT / "tests/mutation/targets.toml").read_text("utf-8"))["target"]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target["file"])
def test_faults_can_be_put_in_and_tests_are_there(target):
    code = (ROOT / target["file"]).read_text("utf-8")
    for before, after in target.get("faults", ()):
        assert before in code and before != after
    files = [test.partition("::")[0] for test in target["tests"] if test.startswith("tests/")]
    assert files and all((ROOT / file).is_file() for file in files)
