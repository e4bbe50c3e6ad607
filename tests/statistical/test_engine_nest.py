"""NEST, in a process of its own: see `nest_races.py`."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from brian_lda.errors import SimulationError
from brian_lda.hardware.engines import nest

pytestmark = pytest.mark.statistical


@pytest.mark.skipif(find_spec("nest") is None, reason="needs NEST: pip install 'brian_lda[nest]'")
def test_races_in_nest():
    file = Path(__file__).with_name("nest_races.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    environment = os.environ | {"NUMBA_THREADING_LAYER": "workqueue"}
    environment.pop("PYTEST_ADDOPTS", None)  # no workers, no line counter
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout


def test_nest_beside_threads_on_openmp_is_refused(monkeypatch):
    monkeypatch.setattr(nest.numba, "threading_layer", lambda: "omp")
    monkeypatch.setattr(nest.numba.config, "NUMBA_NUM_THREADS", 2)
    with pytest.raises(SimulationError, match="NUMBA_THREADING_LAYER=workqueue"):
        nest._keep_numba_off_openmp()
    monkeypatch.setattr(nest.numba.config, "NUMBA_NUM_THREADS", 1)
    nest._keep_numba_off_openmp()
