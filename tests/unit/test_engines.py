"""What is given to other engines and read from them, by hand; no engine is needed here."""

import sys

import numpy as np
import pytest
from scipy import sparse

from brian_lda.errors import MissingDependencyError, ParameterError, PlacementError
from brian_lda.hardware import load_chip
from brian_lda.hardware.engines import sanafe, spynnaker
from brian_lda.hardware.engines.exported import (
    Tokens,
    doc_weights,
    fold_in_by_winners,
    import_engine,
    tokens_of,
    word_weights,
)
from brian_lda.hardware.engines.fixed_point import (
    HALVES,
    LIFT,
    BoardArithmetic,
    fold_in_on_board,
    lifted,
    phi_on_board,
)
from brian_lda.hardware.engines.nest import NestNetwork, first_lone_spikes
from brian_lda.hardware.engines.sanafe import (
    Coefficients,
    Replay,
    coefficients_of_chip,
    our_energy,
    sanafe_energy,
)

PHI = np.array([[0.7, 0.2, 0.1, 0.0], [0.1, 0.1, 0.3, 0.5]])
THETA = np.array([[0.5, 0.5], [0.9, 0.1]])
TOKENS = Tokens(np.array([0, 3, 1]), np.array([0, 1, 1]))


def test_tokens_and_weights():
    counts = sparse.csr_array(np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]]))
    tokens = tokens_of(counts)
    assert tokens.words.tolist() == [0, 0, 2, 1, 1, 1] and tokens.docs.tolist() == [0] * 3 + [2] * 3
    np.testing.assert_allclose(np.exp(word_weights(PHI)), np.maximum(PHI, 1e-12), rtol=1e-12)
    np.testing.assert_allclose(np.exp(doc_weights(THETA)), THETA, rtol=1e-12)
    with pytest.raises(ParameterError, match="phi must be a matrix"):
        word_weights(np.array([[0.5, np.nan]]))


@pytest.mark.parametrize(
    ("ask", "line"),
    [
        (
            lambda: NestNetwork(np.zeros((2, 3)), np.zeros((1, 2))),
            r"pip install 'brian_lda\[nest\]'",
        ),
        (lambda: import_engine("sanafe", "sanafe"), r"pip install 'brian_lda\[sanafe\]'"),
    ],
)
def test_a_missing_engine_is_asked_for_by_name(monkeypatch, ask, line):
    for package in ("nest", "sanafe"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=line):
        ask()


def test_missing_spynnaker(monkeypatch):
    monkeypatch.setattr(spynnaker, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'brian_lda\[spynnaker\]'"):
        spynnaker.map_network(PHI, THETA, TOKENS)


def test_winner_is_the_first_spike_that_is_alone_in_its_tick():
    tick = np.array([0, 0, 1, 3, 4, 6, 6, 10])  # tokens of 3 ticks
    z = np.array([5, 5, 7, 1, 2, 8, 9, 4])  # two spikes of neuron 5 are two as well
    assert first_lone_spikes(tick, z, 3, 4).tolist() == [7, 1, -1, 4]
    assert first_lone_spikes(np.array([], int), np.array([], int), 3, 2).tolist() == [-1, -1]


def test_wrong_weights_for_nest():
    with pytest.raises(ParameterError, match="must have the same topics; found shapes"):
        NestNetwork(np.zeros((2, 3)), np.zeros((1, 3)))
    with pytest.raises(ParameterError, match=r"weights must lie within \+-200; found inf"):
        NestNetwork(np.full((2, 3), -np.inf), np.zeros((1, 2)))
    with pytest.raises(ParameterError, match="n_sweeps must be at least 1; found 0"):
        fold_in_by_winners(lambda M__beta: TOKENS.docs, TOKENS, (2, 2), 0.1, n_sweeps=0)


def test_theta_by_hand_from_winners_that_are_always_the_same():
    winners = np.array([0, 0, 1])  # documents 0, 1, 1
    theta = fold_in_by_winners(lambda M__beta: winners, TOKENS, (2, 2), 0.5, n_sweeps=4)
    np.testing.assert_allclose(theta, [[1.5 / 2, 0.5 / 2], [1.5 / 3, 1.5 / 3]], rtol=1e-9)


# The fixed-point arithmetic of a SpiNNaker core --------------------------------------------------


def as_the_c_code(tau: int, v: int) -> int:
    """get_probability of stoc_exp_common.h for v < 0, bit by bit; U1616."""
    value = -v
    p = tau >> (value >> 15)
    for i in range(15):
        if (value >> (14 - i)) & 1:
            p = (p * HALVES[i]) >> 16
    return p


def test_probability_is_that_of_the_core_bit_by_bit():
    # three entries of the table fract_powers_half of maths-util.h
    assert (HALVES[0], HALVES[4], HALVES[14]) == (0xB504, 0xFA83, 0xFFFE)
    v = -np.random.default_rng(0).integers(1, 40 << 15, size=2000)
    for tau in (1 / 64, 0.3, 1.0):
        expected = [as_the_c_code(int(tau * 65536), int(bits)) for bits in v]
        found = BoardArithmetic(tau=tau).probability(v) * 65536
        np.testing.assert_array_equal(found, expected)
    board = BoardArithmetic(tau=0.25)
    v = np.array([0, -1 << 15, -3 << 15, -17 << 15])
    assert board.probability(v).tolist() == [0.25, 0.125, 0.03125, 0.0]  # cut below 2^-16
    assert board.winner_odds(v)[0] == pytest.approx(1 / 3)
    with pytest.raises(ParameterError, match="v must be at most 0"):
        board.probability(np.array([1]))
    with pytest.raises(ParameterError, match=r"tau must lie in \(0, 1\]"):
        BoardArithmetic(tau=1.5)


def test_weights_as_a_board_stores_them():
    board = BoardArithmetic()
    assert board.shift == 6 and board.step == 2.0**-9
    weights = lifted(PHI, axis=0)
    assert weights.max() == LIFT and weights[0, 3] == 0.0  # phi = 0: the smallest weight
    assert weights[0, 1] - weights[1, 1] == pytest.approx(1.0)  # twice as likely
    stored = board.stored(weights)
    assert np.abs(board.value(stored) - weights).max() <= board.step / 2
    assert board.potential(stored[0, 0], board.stored(np.array(LIFT))) == 0
    assert board.potential(np.int64(0), np.int64(0)) == -2 * LIFT << 15  # v_reset
    np.testing.assert_allclose(phi_on_board(PHI, board), PHI, rtol=2e-3, atol=1e-5)
    coarse = phi_on_board(PHI, BoardArithmetic(shift=15))
    assert np.abs(coarse - PHI).max() > 0.02  # steps of 1: factors of 2


def test_fold_in_through_the_board_is_close_and_not_exact():
    from brian_lda.evaluation import fold_in

    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(40, 0.2), size=5) + 1e-4
    phi /= phi.sum(axis=1, keepdims=True)
    counts = sparse.csr_array(rng.poisson(0.8, size=(6, 40)))
    exact = fold_in(phi, counts, 0.1, tolerance=1e-9, max_iterations=1000)
    fine, coarse = (
        np.abs(fold_in_on_board(phi, counts, 0.1, board, n_iterations=300) - exact).max()
        for board in (BoardArithmetic(tau=1 / 64), BoardArithmetic(tau=1.0))
    )
    assert 0 < fine < 0.02  # p / (1 - p) instead of p, p in steps of 2^-16
    assert coarse > 2 * fine  # at tau = 1 strong topics win far too often
    empty = sparse.csr_array(np.zeros((1, 40), int))
    np.testing.assert_allclose(fold_in_on_board(phi, empty, 0.1, BoardArithmetic()), 0.2)


def test_a_network_too_large_for_a_board_is_one_line():
    assert spynnaker.our_use(50, 6906, 50) == (1, 1, 0)
    with pytest.raises(PlacementError, match="too large for a board of 48 SpiNNaker chips: ") as e:
        spynnaker.our_use(2000, 3_000_000, 100)
    assert "\n" not in str(e.value) and "K = 2,000, V = 3,000,000" in str(e.value)


# Energy on Loihi ---------------------------------------------------------------------------------


def test_our_account_of_loihi_by_hand():
    private = np.array([[1, 1, 0, 1], [1, 0, 0, 1], [1, 0, 1, 0]], bool)
    replay = Replay(TOKENS, np.array([0, 2, 1]), private, topics_per_core=2)
    joules = Coefficients(1.0, 10.0, 100.0, 1000.0, 1e4, 1e5, 1e6)
    energy = our_energy(replay, joules)
    assert energy.synapse == (3 + 2 + 1) + 3 * (3 + 1 + 2)  # k_w; document, teacher, inhibition
    assert energy.soma == 3 * 5 * 10 + (3 * 3 + 2) * 100 + 3 * 1000  # 3 tokens take 5 steps
    # topics 0, 1 on core 0, topic 2 on core 1, inputs on core 2: one tile, so no hop.
    # words reach 2, 1, 1 cores; documents 2 each; teachers 1 each; winners 0: 2, 2: 1, 1: 2
    assert energy.network == (4 + 6 + 3 + 5) * 1e4
    spread = Replay(TOKENS, np.array([0, 2, 1]), np.repeat(private, 2, axis=0), topics_per_core=1)
    assert our_energy(spread, joules).network % 1e6 > 0  # inputs on core 6, the second tile


def test_what_loihi_cannot_hold():
    chip = load_chip("loihi1")
    assert coefficients_of_chip(chip).soma_spike == pytest.approx(29e-12)
    with pytest.raises(ParameterError, match="loihi2 lacks an energy"):
        coefficients_of_chip(load_chip("loihi2"))
    ones = np.ones((200, 4), bool)
    with pytest.raises(PlacementError, match="needs 201 cores of Loihi, there are 128"):
        Replay(TOKENS, np.zeros(3, int), ones, topics_per_core=1)
    with pytest.raises(ParameterError, match="a winner for each token"):
        Replay(TOKENS, np.zeros(2, int), ones)
    with pytest.raises(ParameterError, match=r"winners must lie in 0\.\.199"):
        Replay(TOKENS, np.full(3, 200), ones)
    with pytest.raises(ParameterError, match=r"words must lie in 0\.\.2"):
        Replay(TOKENS, np.zeros(3, int), ones[:, :3])


def test_a_loihi_yaml_with_other_names_is_one_clear_line(monkeypatch):
    text = "- name: loihi_lif\n    energy_access_neuron: 1e-12\n"
    monkeypatch.setattr(sanafe, "_loihi_yaml", lambda: text)
    for ask in (sanafe.coefficients_of_sanafe, lambda: sanafe._with_energies(text, None)):
        with pytest.raises(ParameterError, match="has no loihi_dense_synapse.energy_process_spike"):
            ask()


def test_sanafe_agrees_with_our_account_to_the_last_digits():
    pytest.importorskip("sanafe", reason="needs sanafe: pip install 'brian_lda[sanafe]'")
    from brian_lda.hardware.energy import energy_per_token, token_events
    from brian_lda.hardware.engines.sanafe import coefficients_of_sanafe

    rng = np.random.default_rng(0)
    private = rng.random((12, 20)) < 0.5
    tokens = Tokens(rng.integers(20, size=200), rng.integers(3, size=200))
    winners = rng.integers(12, size=200)
    loihi = load_chip("loihi1")
    for joules in (coefficients_of_sanafe(), coefficients_of_chip(loihi)):
        replay = Replay(tokens, winners, private, topics_per_core=2)  # inputs on another tile
        theirs, ours = sanafe_energy(replay, joules), our_energy(replay, joules)
        for part in ("synapse", "soma", "network", "total"):
            assert getattr(theirs, part) == pytest.approx(getattr(ours, part), rel=1e-9)
        assert theirs.network > 0
    # and the hardware report, which has neither teachers nor steps at both ends
    events = token_events(private, np.bincount(tokens.words, minlength=20))
    report = energy_per_token(events, loihi, 1)
    parts = ("synaptic_event_joules", "neuron_active_joules", "neuron_idle_joules")
    expected = sum(report.dynamic[part][0] for part in parts)
    without_teacher = (theirs.synapse + theirs.soma) / 200 - joules.synapse
    assert without_teacher == pytest.approx(expected, rel=0.01)
