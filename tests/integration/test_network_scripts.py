"""Scripts about spiking networks and chips at their smallest: files, numbers, messages."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

SIMS = Path(__file__).resolve().parents[2] / "sims"


def run(script, *arguments):
    command = [sys.executable, str(SIMS / f"{script}.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.complete
def test_figure_constraints(tmp_path):
    done = run("figure_constraints", "--scale", "tiny", "--seeds", 1, "--quiet", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "figure_constraints.csv").open() as file:
        rows = {(row["corpus"], row["limit"]): float(row["mean"]) for row in csv.DictReader(file)}
    assert {limit for _, limit in rows} == {
        "none", "weight_bits", "packet_loss", "dead_synapses",
    }  # fmt: skip
    exact, rounded = rows["reuters", "none"], rows["reuters", "weight_bits"]
    assert rounded == pytest.approx(exact, rel=0.01)  # the last point of the axis: 16 bits
    assert (tmp_path / "figure_constraints.png").stat().st_size > 5000
    wrong = run("figure_constraints", "--scale", "tiny", "--corpora", "kos", "--out", tmp_path)
    assert wrong.returncode == 2 and "no panel is left to make" in wrong.stderr


@pytest.mark.complete
def test_table_traffic_counts_what_the_checker_says(tmp_path):
    pytest.importorskip("mtkahypar", reason="needs the extra [hardware]")
    done = run("table_traffic", "--scale", "tiny", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "table_traffic.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["placed_by"] for row in rows} == {"mtkahypar", "index order", "random"}
    for row in rows:
        for who in ("", "_referee"):
            spikes = float(row[f"sample_spikes{who}"])
            assert float(row[f"sample_checker{who}"]) == pytest.approx(spikes)
        assert float(row["sample_spikes_referee"]) < float(row["sample_spikes"])
        assert float(row["clocked_with_referee"]) < float(row["clocked"])
