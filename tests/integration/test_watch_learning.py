"""The Brian2 script of the README: at most 40 lines, runs as it is, and its monitors saw spikes."""

import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from brian2 import NeuronGroup, prefs

SCRIPT = Path(__file__).parents[2] / "sims" / "watch_learning.py"


@pytest.mark.complete
def test_monitors_of_the_users_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    target = prefs.codegen.target
    try:
        seen = runpy.run_path(str(SCRIPT))
    finally:
        prefs.codegen.target = target
    assert len(SCRIPT.read_text().splitlines()) <= 40
    assert (tmp_path / "watch_learning.png").stat().st_size > 10_000
    net, spikes, n_tokens = seen["net"], seen["spikes"], 2 * seen["corpus"].n_tokens
    assert all(isinstance(group, NeuronGroup) for group in seen["groups"].values())
    assert {name: monitor.num_spikes for name, monitor in spikes.items()} == dict.fromkeys(
        spikes, n_tokens
    )  # one word, one document, one topic and one inhibitory spike a token
    np.testing.assert_array_equal(seen["docs"], spikes["documents"].i[-len(seen["docs"]) :])
    followed = seen["weights"].M__alpha[:, -1]
    M__alpha = np.reshape(net.alpha.M__alpha[:], (25, 10))
    # The monitor's last record is one tick old: a tick moves M by at most one step of eta.
    np.testing.assert_allclose(followed, M__alpha[[0, 6, 12], 0], rtol=0, atol=0.05)
    assert np.ptp(seen["weights"].M__alpha, axis=1).min() > 0.5  # they learned
    assert np.isfinite(seen["u"].u).all() and np.ptp(seen["u"].u) > 1
