"""Spiking runs on workers that have neither compiler nor cache: the program travels to them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brian_lda.errors import BuildError
from brian_lda.simulation.standalone import compiler_found
from brian_lda.sweeps import expand_grid, run_sweep, train_tasks
from brian_lda.sweeps.programs import build_programs, install_programs, pack_programs

pytest.importorskip("distributed")
needs_compiler = pytest.mark.skipif(not compiler_found(), reason="no C++ compiler")


def set_environment(variables):
    os.environ.update(variables)  # not `os.environ.update` itself: that travels with its mapping


def spiking_tasks(backend="brian2"):
    grid = expand_grid(
        algorithm="ed_spike_lda", backend=backend, n_topics=3, iterations=1, prior=[1.1, 1.5],
        seed=[0, 1],
    )  # fmt: skip
    return train_tasks(grid)


@pytest.mark.complete
@needs_compiler
def test_one_build_serves_workers_without_compiler(tmp_path):
    from brian_lda.sweeps.dask_engine import DaskWorkers, dask_client

    programs = build_programs(spiking_tasks())
    assert len(programs) == 1  # other lambdas and seeds are the same network
    here = run_sweep(spiking_tasks(), tmp_path / "here", quiet=True)
    with dask_client(n_workers=1) as client:
        cache = tmp_path / "worker_cache"
        bare = {"BRIAN_LDA_CACHE": str(cache), "CXX": "/no/such/compiler"}
        client.run(set_environment, bare)
        there = run_sweep(
            spiking_tasks(), tmp_path / "there", engine=DaskWorkers(client), quiet=True
        )
    assert not there.failures and not here.failures
    (key,) = programs
    assert sorted(p.name for p in (cache / "networks").iterdir()) == ["shipped"]  # nothing compiled
    assert [p.name for p in (cache / "networks" / "shipped").iterdir()] == [key]
    for name in here.results:
        assert there.results[name]["perplexity"] == here.results[name]["perplexity"]


@pytest.mark.complete
@needs_compiler
def test_a_worker_with_another_cpu_says_so(tmp_path, monkeypatch):
    packed = pack_programs(build_programs(spiking_tasks()))
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(tmp_path))
    with pytest.raises(BuildError, match="lacks warp9.*oldest machine"):
        install_programs({**packed, "flags": [*packed["flags"], "warp9"]})
    with pytest.raises(BuildError, match="compiled for a z80 CPU"):
        install_programs({**packed, "machine": "z80"})
    assert not list(Path(tmp_path).rglob("main"))
    install_programs(packed)
    install_programs(packed)  # a second time: nothing to do
    (program,) = Path(tmp_path).rglob("main")
    assert os.access(program, os.X_OK)


def test_rate_level_runs_ship_nothing():
    assert build_programs(spiking_tasks("rate")) == {}
    install_programs(pack_programs({}))
