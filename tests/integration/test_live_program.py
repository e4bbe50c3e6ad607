"""Programs that stay alive between runs: nothing leaks from run to run, and nothing is left."""

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking, live_program
from brian_lda.simulation.recording import Recording
from brian_lda.step_rules import RobbinsMonro

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and kills")

V, D, K = 9, 300, 6  # one compiled network with test_spiking_standalone.py
PARAMETERS = EventDrivenParameters(
    K, 1.3, RobbinsMonro(0.5, 10), RobbinsMonro(0.5, 10), topic_word_prior=2.0
)
rng = np.random.default_rng(0)
WORDS, DOCS = rng.integers(0, V, 3000), rng.integers(0, D, 3000)
LENGTHS = np.bincount(DOCS, minlength=D)
WINDOW = Recording(("word",), windows=[(3, 10)], u=True)


def spiking_network(seed=1):
    return EventDrivenSpiking(PARAMETERS, V, LENGTHS, seed=seed)


def program(network):
    return network.network._simulator(None)._program


def is_running(pid):
    """Not a zombie, either."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def is_gone_soon(pid):
    for _ in range(400):
        if not is_running(pid):
            return True
        time.sleep(0.05)
    return False


def trained(network, between=lambda: None):
    """Winners and state after three runs of different lengths."""
    winners = []
    for part in (slice(0, 1000), slice(1000, 1010), slice(1010, None)):
        winners.append(network.present(WORDS[part], DOCS[part]))
        between()
    return np.concatenate(winners), network.state()


def assert_equal(found, expected):
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1].keys() == expected[1].keys()
    for name, array in expected[1].items():
        np.testing.assert_array_equal(found[1][name], array, err_msg=name)


@pytest.fixture(scope="module")
def expected():
    """Each run by a process of its own."""
    network, pids = spiking_network(), set()

    def end():
        pids.add(program(network).process_id)
        program(network).end()

    result = trained(network, end)
    assert len(pids) == 3
    return result


def test_one_process_serves_all_runs_and_sends_what_changed(expected, monkeypatch):
    network, pids, sent = spiking_network(), [], []
    order = live_program.LiveProgram.order

    def watched(self, sets, asked):
        sent.append(sum(array.nbytes for _, array in sets))
        return order(self, sets, asked)

    monkeypatch.setattr(live_program.LiveProgram, "order", watched)
    found = trained(network, lambda: pids.append(program(network).process_id))
    assert_equal(found, expected)
    assert len(set(pids)) == 1 and is_running(pids[0])
    assert sent[0] > 8 * K * D  # the weights
    assert sent[1] <= 2 * 4 * 10 + 4 + 2 * 8  # ten tokens, their number and the seed


def test_arrays_come_back_as_they_were_sent(expected):
    """`test_shared_memory.py` has the other half of it."""
    simulator = spiking_network().network._simulator(None)
    number, size = (simulator._manifest["variables"]["beta.p"][key] for key in ("number", "size"))
    simulator._program.wake("pacer.tick=0.001")
    for n_nonzero in (size, 20, 0, size // 4, size // 4 + 1, 1):  # one after the other
        array = np.zeros(size)
        array[rng.choice(size, n_nonzero, replace=False)] = 0.5 - np.arange(n_nonzero)
        status, (found,) = simulator._program.order([(number, array)], [(number, "<f8")])
        assert status == 0  # no token is shown
        np.testing.assert_array_equal(found, array)
    array[7] = -0.0
    found = simulator._program.order([(number, array)], [(number, "<f8")])[1][0]
    assert np.signbit(found[7])


def test_what_the_caller_changes_in_between_is_noticed(expected):
    network, other = spiking_network(), spiking_network(2)
    trained(network)
    network.set_state(other.state())
    network.network.seed = 2
    assert_equal(trained(network), trained(other))


def test_two_networks_take_turns(expected):
    """Another network's weights and seeds pass through another process."""
    network, other = spiking_network(), spiking_network(2)
    assert_equal(trained(network, lambda: other.present(WORDS[:50], DOCS[:50])), expected)


@pytest.mark.parametrize("moment", ["idle", "in mid-run"])
def test_a_killed_program_loses_nothing(expected, monkeypatch, moment):
    network, killed = spiking_network(), []

    def kill():
        killed.append(program(network).process_id)
        os.kill(killed[-1], signal.SIGKILL)

    if moment == "idle":
        found = trained(network, kill)
        assert len(set(killed)) == 3
    else:
        read_numbers = live_program.LiveProgram._read_numbers

        def kill_once(self, n):  # the order is out, the answer awaited
            if not killed:
                kill()
            return read_numbers(self, n)

        monkeypatch.setattr(live_program.LiveProgram, "_read_numbers", kill_once)
        found = trained(network)
        assert len(killed) == 1
    assert_equal(found, expected)
    assert all(map(is_gone_soon, killed))


def test_an_interrupted_run_leaves_no_half_answer(expected, monkeypatch):
    network = spiking_network()
    network.present(WORDS[:1000], DOCS[:1000])
    pid = program(network).process_id

    def interrupt(self, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(live_program.LiveProgram, "_read", interrupt)
        with pytest.raises(KeyboardInterrupt):
            network.present(WORDS[1000:1010], DOCS[1000:1010])
    assert not is_running(pid)
    for part in (slice(1000, 1010), slice(1010, None)):
        network.present(WORDS[part], DOCS[part])
    np.testing.assert_array_equal(network.M__alpha, expected[1]["M__alpha"])


def test_the_keyboard_does_not_interrupt_an_idle_program(expected):
    network = spiking_network()
    assert_equal(
        trained(network, lambda: os.kill(program(network).process_id, signal.SIGINT)), expected
    )


def test_a_forked_process_has_programs_of_its_own(expected):
    network = spiking_network()
    network.present(WORDS[:1000], DOCS[:1000])
    pid = program(network).process_id
    child = os.fork()
    if not child:
        code = 1
        try:
            assert program(network).process_id is None
            network.present(WORDS[1000:1010], DOCS[1000:1010])
            network.present(WORDS[1010:], DOCS[1010:])
            assert np.array_equal(network.M__alpha, expected[1]["M__alpha"])
            assert program(network).process_id not in (None, pid)
            network = None
            gc.collect()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert is_running(pid) and program(network).process_id == pid
    network.present(WORDS[1000:1010], DOCS[1000:1010])
    network.present(WORDS[1010:], DOCS[1010:])
    np.testing.assert_array_equal(network.M__alpha, expected[1]["M__alpha"])
    assert program(network).process_id == pid


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_have_programs_of_their_own(duplicate):
    network = spiking_network()
    network.present(WORDS, DOCS)
    simulator = network.network._simulator(None)
    twin = duplicate(simulator)
    assert twin._program.process_id is None
    results = []
    for each in (simulator, twin):
        state = {**network.network._values_in_brian(network.network._known)}
        values = {**network.network._constants(network.network._compiled()), **state}
        tokens = {"words": WORDS.astype(np.int32), "documents": DOCS.astype(np.int32)}
        streams = np.zeros(1, int), np.full(1, 3)
        results.append(each.run(values, tokens, dt=1e-3, streams=streams))
    for path, array in results[0].items():
        np.testing.assert_array_equal(results[1][path], array, err_msg=path)
    assert twin._program.process_id not in (None, simulator._program.process_id)


def test_the_least_recently_used_program_makes_room(expected, monkeypatch):
    gc.collect()
    for program_ in [reference() for reference in live_program._alive.values()]:
        program_.end()
    monkeypatch.setattr(live_program, "MOST_ALIVE", 2)
    networks = [spiking_network() for _ in range(3)]
    for network in networks[:2]:
        network.present(WORDS[:1000], DOCS[:1000])
    networks[0].present(WORDS[1000:1010], DOCS[1000:1010])
    pids = [program(network).process_id for network in networks[:2]]
    networks[2].present(WORDS[:1000], DOCS[:1000])
    assert [is_running(pid) for pid in pids] == [True, False]
    for network, done in zip(networks, (1010, 1000, 1000), strict=True):
        for stop in (1010, 3000)[done == 1010 :]:
            network.present(WORDS[done:stop], DOCS[done:stop])
            done = stop
        np.testing.assert_array_equal(network.M__alpha, expected[1]["M__alpha"])
        assert len(live_program._alive) <= 2


def test_a_program_ends_with_its_network():
    network = spiking_network()
    network.present(WORDS[:5], DOCS[:5])
    pid = program(network).process_id
    del network
    gc.collect()
    assert not is_running(pid)


@pytest.mark.complete
def test_recording_in_between_changes_nothing_of_later_runs():
    """Another program runs with the monitors; what they heard in one run is not in the next."""
    results = []
    for fresh in (False, True):
        network = spiking_network()
        for record in (None, WINDOW, None, WINDOW):
            network.present(WORDS[:500], DOCS[:500], record=record)
            if fresh:
                for simulator in network.network._simulators.values():
                    simulator._program.end()
        state = {**network.state(), "u": network.spikes.state["u"]}
        results.append((network.spikes.index["word"], state))
    assert_equal(results[1], results[0])
    np.testing.assert_array_equal(results[0][0], WORDS[3:10])


OWNER = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_live_program import *
network = spiking_network()
network.present(WORDS[:5], DOCS[:5])
print(program(network).process_id, flush=True)
if sys.argv[1] == "run":
    network.present(np.tile(WORDS, 10_000), np.tile(DOCS, 10_000))
elif sys.argv[1] == "wait":
    time.sleep(600)
"""


@pytest.mark.complete(but="run")
@pytest.mark.parametrize("moment", ["exit", "wait", "run"])
def test_no_program_outlives_its_process(moment, tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, moment], stdout=subprocess.PIPE, text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    pid = int(owner.stdout.readline())
    if moment != "exit":
        assert is_running(pid)
        time.sleep(0.5)  # a run takes minutes
        owner.kill()
    owner.wait()
    assert is_gone_soon(pid)
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert all(name.startswith("brian_") for name in left)  # Brian's own log
    owner.stdout.close()
