"""benchmark.py times what the package offers; the times themselves are tested nowhere."""

from __future__ import annotations

import json

import pytest

import benchmark


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(benchmark, "SPIKING_SHAPES", [(3, 12, 6)])


def test_every_network_has_a_twin_that_runs():
    """Those in spikes are made and not compiled."""
    calls, races = benchmark.other_networks(120)
    assert list(calls) == ["SpikeCGS", "ed-SpikePLSI", "du-SpikeLDA", "semi-SpikeLDA"]
    assert races == dict(zip(calls, (120, 120, 1200, 1320), strict=True))
    for in_spikes, at_rate_level in calls.values():
        assert callable(in_spikes)
        at_rate_level()


@pytest.mark.complete
def test_it_keeps_and_prints_what_it_found(tmp_path, capsys):
    arguments = ["--corpora", "none", "--spiking-tokens", "400", "--many-topics", "0"]
    assert benchmark.main([*arguments, "--json", str(tmp_path / "speed.json")]) == 0
    found = json.loads((tmp_path / "speed.json").read_text())["spiking"]
    assert [row["network"] for row in found] == [
        "ed-SpikeLDA", "SpikeCGS", "ed-SpikePLSI", "du-SpikeLDA", "semi-SpikeLDA",
    ]  # fmt: skip
    printed = capsys.readouterr().out.splitlines()
    assert all(row["us"] > 0 and row["us_twin"] > 0 for row in found) and len(printed) == 5
