"""sims/hardware_report.py from the outside."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from brian_lda.hardware.checker import count_traffic
from brian_lda.hardware.plan import plan_of_run
from brian_lda.hardware.workload import workload_of_run
from brian_lda.runs import RunConfig, read_finished_run, train_run

SIMS = Path(__file__).resolve().parents[2] / "sims"


@pytest.fixture(scope="module")
def report():
    """`main` of the script; returns (exit code, stdout, stderr) through capsys."""
    return runpy.run_path(str(SIMS / "hardware_report.py"), run_name="report")["main"]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "ed"
    config = RunConfig(algorithm="ed_spike_lda", n_topics=8, iterations=3)
    train_run(config, out, quiet=True)
    return out


def test_a_run_is_reported_in_terminal_page_and_json(report, run_folder, tmp_path, capsys):
    pytest.importorskip("mtkahypar", reason="optional: pip install 'brian_lda[hardware]'")
    file = tmp_path / "numbers.json"
    code = report(["--run", str(run_folder), "--chip", "truenorth_paper", "--chips", "4",
                   "--json", str(file)])  # fmt: skip
    shown = capsys.readouterr().out
    assert code == 0
    for heading in ("Before pruning", "As planned", "Traffic between chips", "Load of each chip",
                    "External memory", "Energy", "Memory of every algorithm"):  # fmt: skip
        assert heading in shown
    numbers = json.loads(file.read_text(), parse_constant=pytest.fail)  # no Infinity, no NaN
    assert not numbers["before_pruning"]["passes"] and numbers["after_pruning"]["passes"]
    assert numbers["after_pruning"]["plan"]["fan_in"] == 251
    assert numbers["before_pruning"]["binding"] == "fan-in"
    best, index, random = numbers["placements"]
    assert [best["method"], index["method"], random["method"]] == [
        "mtkahypar", "index order", "random"]  # fmt: skip
    assert best["traffic"]["word"] <= min(index["traffic"]["word"], random["traffic"]["word"])
    assert best["violations"] == []
    # the JSON is what the checker says of that placement
    run = read_finished_run(run_folder)
    plan = plan_of_run(run.algorithm, run.model, run.corpus).with_(n_private=200, docs_on_chip=50)
    workload = workload_of_run(run.model, run.corpus, plan)
    again = count_traffic(
        np.array(best["chip_of_topic"]), 4, workload.private, workload.word_counts
    )
    assert again.word == pytest.approx(best["traffic"]["word"], rel=1e-12)
    html = (run_folder / "hardware-truenorth_paper.html").read_text()
    assert html.count("data:image/") == 3  # self-contained: figures inside, nothing loaded
    assert not re.search(r'(src|href)="(?!data:)', html)
    assert "Traffic between chips" in html and "251" in html


def test_planning_without_a_run(report, capsys):
    assert report(["--sizes", "5000", "20", "300", "--chip", "spinnaker1"]) == 0
    shown = capsys.readouterr().out
    assert "synthetic (no run given)" in shown and "1 x spinnaker1" in shown
    assert report(["--sizes", "5000", "20", "300", "--chip", "truenorth_silicon"]) == 0
    shown = capsys.readouterr().out
    assert "cannot run this network" in shown
    assert "Akopyan et al. (2015)" in shown and "0.8 V" in shown  # source and condition
    assert "looked for and not found" in shown


def test_without_mtkahypar_the_other_placements_are_reported(report, monkeypatch, capsys):
    from brian_lda.errors import MissingDependencyError
    from brian_lda.hardware import report as module

    def missing(*arguments, **options):
        raise MissingDependencyError("placing topics needs mtkahypar: pip install")

    monkeypatch.setattr(module, "hypergraph_placement", missing)
    arguments = ["--sizes", "2000", "20", "300", "--chip", "truenorth_paper", "--chips", "4"]
    assert report(arguments) == 0
    shown = capsys.readouterr().out
    assert "Note: placing topics needs mtkahypar" in shown and "Placement: index order" in shown


def test_mistakes_get_one_line(report, run_folder, tmp_path, capsys):
    def error_of(*arguments):
        assert report([str(argument) for argument in arguments]) == 2
        message = capsys.readouterr().err
        assert message.startswith("error: ") and "Traceback" not in message
        return message

    assert "at most 8 chips" in error_of(
        "--run", run_folder, "--chip", "loihi1", "--chips", 9
    )  # more chips than topics
    assert "there is no chip 'tpu'" in error_of("--run", run_folder, "--chip", "tpu")
    assert "not the folder of a finished run" in error_of("--run", tmp_path, "--chip", "loihi1")
    old = tmp_path / "old"
    shutil.copytree(run_folder, old)
    config = json.loads((old / "config.json").read_text())
    config["versions"]["brian_lda"] = "0.0.1"
    (old / "config.json").write_text(json.dumps(config))
    message = error_of("--run", old, "--chip", "loihi1")
    assert "written by brian_lda 0.0.1" in message and "train again" in message
    (old / "config.json").write_text("{")
    assert "cannot read" in error_of("--run", old, "--chip", "loihi1")
    (old / "config.json").write_text("[]")
    assert "must hold a JSON object" in error_of("--run", old, "--chip", "loihi1")
    (old / "config.json").write_text("{}")
    assert "unknown version" in error_of("--run", old, "--chip", "loihi1")


def test_a_baseline_is_no_network(report, tmp_path, capsys):
    train_run(RunConfig(algorithm="cgs", n_topics=3, iterations=1), tmp_path / "cgs", quiet=True)
    assert report(["--run", str(tmp_path / "cgs"), "--chip", "loihi1"]) == 2
    assert "a baseline without a network" in capsys.readouterr().err


@pytest.mark.complete
def test_nytimes_size_in_a_minute_and_two_gigabytes(tmp_path):
    """V = 102 660, K = 1 000, D = 300 000: planned, partitioned, checked."""
    pytest.importorskip("mtkahypar", reason="optional: pip install 'brian_lda[hardware]'")
    code = (
        "import resource, runpy, sys; "
        f"sys.path.insert(0, {str(SIMS)!r}); "  # as `python sims/hardware_report.py` does
        f"main = runpy.run_path({str(SIMS / 'hardware_report.py')!r}, run_name='report')['main']; "
        "code = main(['--sizes', '102660', '1000', '300000', '--chip', 'truenorth_paper', "
        f"'--chips', '8', '--json', {str(tmp_path / 'n.json')!r}]); "
        "usage = resource.getrusage(resource.RUSAGE_SELF); "
        "print('peak', usage.ru_maxrss, 'cpu', usage.ru_utime + usage.ru_stime); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    peak, cpu = re.search(r"peak (\d+) cpu ([\d.]+)", done.stdout).groups()
    assert int(peak) < 2_000_000  # kB
    assert float(cpu) < 60  # CPU seconds: the wall clock of a busy machine says little
    assert json.loads((tmp_path / "n.json").read_text())["after_pruning"]["passes"]
