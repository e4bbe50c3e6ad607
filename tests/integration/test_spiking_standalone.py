"""The compiled network: same numbers as the twin, seeds, cache, and what happens when it dies."""

import os
import stat

import numpy as np
import pytest
from brian2 import (
    NetworkOperation,
    NeuronGroup,
    StateMonitor,
    Synapses,
    get_device,
    ms,
    prefs,
)
from brian_lda.models import ed_spike_lda
from scipy import stats

from brian_lda.circuit.circuit import Sizes
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.errors import (
    BuildError,
    ParameterError,
    SimulationError,
    UnsupportedNetworkError,
    WeightOverflowError,
)
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.simulation import EventDrivenSpiking, standalone
from brian_lda.simulation.live_program import LiveProgram
from brian_lda.simulation.recording import Recording
from brian_lda.simulation.simulator import brian_device, refuse_unsupported
from brian_lda.step_rules import FROZEN, RobbinsMonro

V, D, K, N_TOKENS = 9, 300, 6, 3000  # one compiled network with test_models_bars.py
PARAMETERS = EventDrivenParameters(
    K, 1.3, RobbinsMonro(0.5, 10), RobbinsMonro(0.5, 10), topic_word_prior=2.0
)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    words, docs = rng.integers(0, V, N_TOKENS), rng.integers(0, D, N_TOKENS)
    return words, docs, np.bincount(docs, minlength=D)


def spiking_network(corpus, seed=1, **options):
    return EventDrivenSpiking(PARAMETERS, V, corpus[2], seed=seed, **options)


def test_weights_equal_the_twin_fed_with_the_same_spikes(corpus):
    words, docs, lengths = corpus
    spiking = spiking_network(corpus)
    reference = EdSpikeLDAReference(PARAMETERS, V, lengths, seed=1)
    for part in (slice(0, 2000), slice(2000, None)):  # the second run is shorter: no rebuild
        reference.present(words[part], docs[part], winners=spiking.present(words[part], docs[part]))
    expected, found = reference.state(), spiking.state()
    keys = ("M__alpha", "M__beta", "n_alpha", "n_beta", "s_alpha", "Delta_alpha")
    for key in keys:  # 3000 updates: 1e-16 each
        np.testing.assert_allclose(found[key], expected[key], rtol=0, atol=1e-11, err_msg=key)


@pytest.mark.complete(but="race")
@pytest.mark.parametrize("inhibition", [Race(), Poisson()], ids=["race", "poisson"])
def test_compiled_and_in_python_the_winners_follow_one_law(corpus, inhibition):
    """One token a thousand times, with weights that do not move."""
    parameters = EventDrivenParameters(K, 1.3, FROZEN, FROZEN)
    u = np.array([0.0, 1.0, -1.0, 2.0, 0.5, -0.5])
    state = spiking_network(corpus, simulator="numpy").state()
    state = {key: state[key] for key in ("M__alpha", "M__beta", "n_alpha", "n_beta")}
    state["M__alpha"][:, 4], state["M__beta"][7] = u - 0.3, 0.3
    expected = np.exp(u) / np.exp(u).sum()
    for simulator, n_tokens in (("standalone", 20_000), ("numpy", 1_000)):
        network = EventDrivenSpiking(
            parameters, V, corpus[2], seed=3, initial=state, simulator=simulator,
            inhibition=inhibition,
        )  # fmt: skip
        winners = network.present(np.full(n_tokens, 4), np.full(n_tokens, 7))
        counts = np.bincount(winners, minlength=K)
        assert stats.chisquare(counts, n_tokens * expected).pvalue > 1e-3, simulator
        wrong = np.roll(expected, 1)
        assert stats.chisquare(counts, n_tokens * wrong).pvalue < 1e-12, simulator


def test_same_seed_same_spikes_byte_for_byte(corpus):
    words, docs, _ = corpus
    runs = []
    for seed in (1, 1, 2):
        network = spiking_network(corpus, seed)
        network.set_state(spiking_network(corpus, 1).state())  # the same weights for all
        winners = [network.present(words, docs) for _ in range(2)]
        assert not np.array_equal(*winners), "two runs of one network must not repeat themselves"
        runs.append((np.concatenate(winners).tobytes(), network.state()["M__alpha"].tobytes()))
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[2][0]


def test_run_resumed_from_its_state_draws_the_same_spikes(corpus):
    words, docs, _ = corpus
    network = spiking_network(corpus)
    network.present(words[:1000], docs[:1000])
    resumed = spiking_network(corpus, initial=network.state())
    np.testing.assert_array_equal(network.present(words, docs), resumed.present(words, docs))


def test_brian_is_left_as_it_was(corpus):
    device, target = get_device(), prefs.codegen.target
    spiking_network(corpus).present([0], [0])
    spiking_network(corpus, simulator="numpy").present([0], [0])
    assert get_device() is device
    assert prefs.codegen.target == target


def test_recorded_window_holds_the_presented_tokens(corpus):
    words, docs, _ = corpus
    inhibition = Poisson(rate=300.0, normalised=True)
    network = spiking_network(corpus, simulator="numpy", inhibition=inhibition)
    record = Recording(("word", "document", "attempt"), windows=[(-10, None)])
    winners = network.present(words[:30], docs[:30], record=record)
    spikes = network.spikes
    assert spikes.first_token == 20
    np.testing.assert_array_equal(spikes.index["topic"], winners[20:])
    # Every tick clamps one word; a token lasts until its winner's spike.
    ends = np.searchsorted(spikes.time["word"], spikes.time["topic"])
    np.testing.assert_array_equal(spikes.index["word"][ends], words[20:30])
    np.testing.assert_array_equal(spikes.index["document"][ends], docs[20:30])
    assert len(spikes.index["word"]) == ends[-1] + 1 > 10, "a token must last for several ticks"
    assert set(spikes.time["topic"]) <= set(spikes.time["attempt"])


@pytest.mark.complete
def test_a_compiled_network_does_not_notice_that_it_is_recorded(corpus):
    """Same winners, same weights to the last bit; monitors hear the windows and nothing else."""
    words, docs, _ = corpus
    record = Recording(("word",), windows=("first", "middle", "last", (2990, 3020)), tokens=50)
    plain, recorded = spiking_network(corpus), spiking_network(corpus, record=record)
    simulator = recorded.network._simulator(record)
    run, heard = simulator.run, []

    def watched(*arguments, **options):
        heard.append(run(*arguments, **options))
        return heard[-1]

    simulator.run = watched
    winners = [plain.present(words, docs) for _ in range(2)]
    for expected in winners:
        np.testing.assert_array_equal(recorded.present(words, docs), expected)
    expected, found = plain.state(), recorded.state()
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array, err_msg=key)
    # 50 tokens at the beginning, in the middle and at the end, where the others overlap.
    assert [len(result["recorded_word.i"]) for result in heard] == [150, 50 + 50 + 20]
    windows = recorded.keeper.recorded()
    assert [(window.name, window.first_token, window.n_tokens) for window in windows] == [
        ("first", 0, 50), ("middle", 1475, 50), ("tokens 2990:3020", 2990, 30), ("last", 5950, 50),
    ]  # fmt: skip
    shown, answered = np.tile(words, 2), np.concatenate(winners)
    for window in windows:
        part = slice(window.first_token, window.first_token + window.n_tokens)
        np.testing.assert_array_equal(window.index["word"], shown[part])
        np.testing.assert_array_equal(window.index["topic"], answered[part])
        ticks = window.tick * np.arange(window.n_tokens)
        np.testing.assert_allclose(window.time["word"], ticks, rtol=0, atol=1e-9)


def test_forecast_counts_the_bytes_of_a_race(corpus):
    words, docs, _ = corpus
    network = spiking_network(corpus, simulator="numpy")
    record = Recording(("word", "latency"), windows=[(5, 25)])
    winners = network.present(words[:40], docs[:40], record=record)
    spikes = network.spikes
    kept = spikes.index["word"].nbytes + spikes.time["word"].nbytes + spikes.latency.nbytes
    kept += spikes.index["topic"].nbytes + spikes.time["topic"].nbytes
    np.testing.assert_array_equal(spikes.index["topic"], winners[5:25])
    assert record.forecast(20, Race()) == kept


def broken_program(tmp_path, monkeypatch, corpus, script):
    """The cached network with its program replaced by a shell script."""
    network = spiking_network(corpus)
    network.present([0], [0])
    simulator = network.network._simulator(None)
    (tmp_path / "main").write_text(f"#!/bin/sh\n{script}\n")
    os.chmod(tmp_path / "main", stat.S_IRWXU)
    monkeypatch.setattr(simulator, "_program", LiveProgram(tmp_path))
    return network


NUMBER = r"printf '\%o\0\0\0\0\0\0\0'"  # as `serve.h` answers
EMPTY = f"for i in $(seq 10); do {NUMBER % 0}; done"  # status 0, nine arrays of no bytes


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -9 $$", "SIGKILL"),
        (f"{NUMBER % 3}; cat > /dev/null", "rates are too low"),
        ("echo no space left >&2; exit 1", "no space left"),
        (f"echo strange >&2; {EMPTY}; cat > /dev/null", "strange"),
        ("exit 0", "exit code 0"),  # no answer
        (f"{EMPTY}; cat > /dev/null", "values, not"),
        ("exit 7", "exit code 7"),
    ],
)
def test_program_that_dies_leaves_the_weights_as_they_were(
    tmp_path, monkeypatch, corpus, script, message
):
    network = broken_program(tmp_path, monkeypatch, corpus, script)
    before = network.state()
    with pytest.raises(SimulationError, match=message):
        network.present([1, 2], [1, 2])
    for key, value in network.state().items():
        np.testing.assert_array_equal(value, before[key])


def test_a_program_that_is_no_longer_in_the_cache(corpus, monkeypatch, tmp_path):
    network = spiking_network(corpus)
    simulator = network.network._simulator(None)
    monkeypatch.setattr(simulator, "_program", LiveProgram(tmp_path / "cleared"))
    with pytest.raises(SimulationError, match="could not be started"):
        network.present([1, 2], [1, 2])


def test_cache_that_cannot_be_written(corpus, monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(blocked))
    with pytest.raises(BuildError, match="BRIAN_LDA_CACHE"):
        spiking_network(corpus).present([0], [0])


def test_without_a_compiler_the_network_runs_in_python(corpus, monkeypatch, tmp_path):
    monkeypatch.setattr(standalone, "compiler_found", lambda: False)
    monkeypatch.setattr(standalone, "shipped_folder", lambda: tmp_path / "nothing shipped")
    network = spiking_network(corpus)
    with pytest.warns(RuntimeWarning, match="No C\\+\\+ compiler"):
        assert len(network.present([0, 1], [0, 1])) == 2


def rate_level_state(corpus, value):
    state = EdSpikeLDAReference(PARAMETERS, V, corpus[2], seed=1).state()
    state["M__beta"][2, 1] = value
    return state


def test_weights_that_overflow_exp_are_refused(corpus):
    network = spiking_network(corpus, simulator="numpy")
    before = network.state()
    refused = [rate_level_state(corpus, value) for value in (800.0, np.nan, np.inf)]
    for value in (0.0, np.nan, np.inf):
        kept = network.state()
        kept["p"][2, 1] = value
        del kept["M__beta"]  # of the weights before
        refused.append(kept)
    for state in refused:
        with pytest.raises(WeightOverflowError, match="p must"):
            network.set_state(state)
    for key, array in network.state().items():
        np.testing.assert_array_equal(array, before[key], err_msg=key)


def test_a_rate_level_weight_that_has_vanished_becomes_the_smallest(corpus):
    network = spiking_network(corpus, simulator="numpy")
    network.set_state(rate_level_state(corpus, -800.0))
    assert network.M__beta[2, 1] == pytest.approx(np.log(ed_spike_lda.SMALLEST), rel=1e-12)


@pytest.mark.parametrize("value", [0.0, np.inf, np.nan])
def test_run_that_overflows_leaves_the_weights_as_they_were(corpus, monkeypatch, value):
    """No step of these networks does: their rules are bounded, so the run's result is spoilt."""
    network = spiking_network(corpus, simulator="numpy")
    before = network.state()
    simulator = network.network._simulator(None)
    run = simulator.run

    def spoilt(*arguments, **options):
        result = run(*arguments, **options)
        result["beta.p"][3] = value
        return result

    monkeypatch.setattr(simulator, "run", spoilt)
    with pytest.raises(WeightOverflowError, match="p must"):
        network.present([0, 1], [0, 1])
    for key, array in network.state().items():
        np.testing.assert_array_equal(array, before[key], err_msg=key)


@pytest.mark.parametrize(
    ("words", "docs", "message"),
    [
        ([V], [0], "another vocabulary"),
        ([0], [D], "docs must be"),
        ([-1], [0], "words must be"),
        ([0, 1], [0], "pair up"),
    ],
)
def test_wrong_tokens_are_refused(corpus, words, docs, message):
    with pytest.raises(ParameterError, match=message):
        spiking_network(corpus, simulator="numpy").present(words, docs)


def test_wrong_sizes_are_refused(corpus):
    with pytest.raises(ParameterError, match="n_words"):
        EventDrivenSpiking(PARAMETERS, 0, corpus[2], seed=1)
    with pytest.raises(ParameterError, match="n_docs"):
        EventDrivenSpiking(PARAMETERS, V, [], seed=1)
    with pytest.raises(ParameterError, match="another corpus"):
        state = spiking_network(corpus, simulator="numpy").state()
        EventDrivenSpiking(PARAMETERS, V + 1, corpus[2], seed=1, initial=state)
    with pytest.raises(ParameterError, match="simulator"):
        spiking_network(corpus, simulator="gpu").present([0], [0])


def test_presenting_nothing_is_no_error(corpus):
    assert len(spiking_network(corpus, simulator="numpy").present([], [])) == 0


class TestRefusals:
    @pytest.fixture
    def circuit(self):
        with brian_device("runtime", "numpy"):
            yield ed_spike_lda.wire(Sizes(V, D, K, capacity=10), Race())

    def test_our_own_network_passes(self, circuit):
        assert refuse_unsupported(circuit.network) is None  # and nothing was raised

    def test_network_operation(self, circuit):
        circuit.network.add(NetworkOperation(lambda: None))
        with pytest.raises(UnsupportedNetworkError, match="silently skip"):
            refuse_unsupported(circuit.network)

    def test_openmp(self, circuit, monkeypatch):
        previous = prefs.devices.cpp_standalone.openmp_threads
        prefs.devices.cpp_standalone.openmp_threads = 2
        try:
            with pytest.raises(UnsupportedNetworkError, match="OpenMP"):
                refuse_unsupported(circuit.network)
        finally:
            prefs.devices.cpp_standalone.openmp_threads = previous

    def test_another_clock(self, circuit):
        circuit.network.add(StateMonitor(circuit.topics, "g", record=True, dt=5 * ms))
        with pytest.raises(UnsupportedNetworkError, match="clock_tick.*ticks with one"):
            refuse_unsupported(circuit.network)

    def test_two_sums_onto_one_variable(self, circuit):
        group = NeuronGroup(2, "total : 1\nx : 1")
        for name in ("first_sum", "second_sum"):
            synapses = Synapses(group, group, "total_post = x_pre : 1 (summed)", name=name)
            synapses.connect()
            circuit.network.add(synapses)
        with pytest.raises(UnsupportedNetworkError, match="first_sum|second_sum"):
            refuse_unsupported(circuit.network)
