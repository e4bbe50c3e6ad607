"""Compiled circuits side by side: one process each, and a killed one loses nothing."""

import os
import signal

import numpy as np
import pytest

from brian_lda import SemiSpikeLDA
from brian_lda.simulation import live_program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills")
rng = np.random.default_rng(0)
COUNTS = rng.poisson(rng.gamma(1.0, 1.0, (22, 1)), (22, 12)) + np.eye(22, 12, dtype=int)


def trained(n_circuits, callbacks=()):
    model = SemiSpikeLDA(  # the network of test_build_cache.py
        n_topics=3, max_iter=4, batch_size=8, backend="brian2", random_state=0,
        brian2_options={"n_circuits": n_circuits}, callbacks=list(callbacks),
    )  # fmt: skip
    return model.fit(COUNTS)


def processes(model):
    network = model.trainer_.algorithm
    others = network.circuits.others if network.circuits else ()
    return [
        simulator._program.process_id
        for circuit in (network.network, *others)
        for simulator in circuit._simulators.values()
    ]


@pytest.fixture(scope="module")
def expected():
    model = trained(1)
    assert len(processes(model)) == 1
    return model.components_


@pytest.mark.complete
@pytest.mark.parametrize("n_circuits", [2, 4])
def test_the_weights_do_not_depend_on_the_number_of_circuits(expected, n_circuits):
    model = trained(n_circuits)
    np.testing.assert_array_equal(model.components_, expected)
    assert None not in processes(model) and len(set(processes(model))) == n_circuits


@pytest.mark.complete
def test_killed_circuits_lose_nothing(expected, monkeypatch):
    """One after each update, while it is idle; and the second order of all in mid-run."""
    killed = []
    read_numbers = live_program.LiveProgram._read_numbers

    def kill_one_in_mid_run(self, n):
        if not killed:
            killed.append(self.process_id)
            os.kill(self.process_id, signal.SIGKILL)
        return read_numbers(self, n)

    def kill_another(model, record):
        killed.append(processes(model)[record["iteration"] % 2])
        os.kill(killed[-1], signal.SIGKILL)

    monkeypatch.setattr(live_program.LiveProgram, "_read_numbers", kill_one_in_mid_run)
    model = trained(2, [kill_another])
    np.testing.assert_array_equal(model.components_, expected)
    assert len(set(killed)) == 5
