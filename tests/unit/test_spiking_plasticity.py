"""One update by hand, and golden traces against the rate-level twin fed with the same winners."""

import numpy as np
import pytest
from brian_lda.spiking import simulator
from event_driven_twins import rate_twin

from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.errors import SimulationError
from brian_lda.parameters import AdaGrad, EventDrivenParameters, RobbinsMonro, VarianceTracking
from brian_lda.simulation.twins import EventDrivenSpiking

V, D, K, N_TOKENS = 7, 4, 3, 12
ROBBINS_MONRO = RobbinsMonro(scale=0.5, offset=3.0, power=0.7, floor=0.2)
ATOL = 1e-12  # a dozen updates of numbers of order 1, in another order of operations


def tokens():
    rng = np.random.default_rng(0)
    words, docs = rng.integers(0, V, N_TOKENS), rng.integers(0, D - 1, N_TOKENS)
    return words, docs, np.bincount(docs, minlength=D)  # the last document is empty


def assert_same_state(spiking, reference):
    spiking, reference = spiking.state(), reference.state()
    assert {"M__alpha", "M__beta", "n_alpha", "n_beta"} <= set(spiking) <= set(reference)
    for key, value in spiking.items():
        np.testing.assert_allclose(value, reference[key], rtol=0, atol=ATOL, err_msg=key)


RULES = {
    "robbins_monro": (ROBBINS_MONRO, ROBBINS_MONRO),
    "variance_tracking": (VarianceTracking(), VarianceTracking()),
    "adagrad": (AdaGrad(), AdaGrad(eta=0.2)),
    "paper": (VarianceTracking(), AdaGrad()),  # the paper's choice for ed-SpikeLDA
}
CASES = [
    (rules, integrator, gauge, prior, epsilon)
    for rules in RULES
    for integrator, epsilon in (("euler", 0.0), ("flow", 0.0), ("flow", 0.1))
    for gauge in ((True, False) if rules == "robbins_monro" else (False,))
    for prior in (1.3, None)
]


@pytest.mark.parametrize(("rules", "integrator", "gauge", "prior", "epsilon"), CASES)
def test_traces_equal_the_reference(rules, integrator, gauge, prior, epsilon):
    parameters = EventDrivenParameters(K, prior, *RULES[rules], integrator, gauge, epsilon)
    words, docs, lengths = tokens()
    spiking = EventDrivenSpiking(parameters, V, lengths, seed=1, simulator="numpy")
    reference = rate_twin(parameters, V, lengths, seed=1)
    for part in (slice(0, 1), slice(1, 3), slice(3, None)):
        winners = spiking.present(words[part], docs[part])
        reference.present(words[part], docs[part], winners=winners)
        assert_same_state(spiking, reference)


@pytest.mark.parametrize("rules", RULES)
def test_token_that_stays_clamped_is_learned_once(rules):
    """Poisson: about five ticks a token, one update."""
    gauge = rules == "robbins_monro"
    parameters = EventDrivenParameters(K, 1.3, *RULES[rules], "flow", gauge)
    words, docs, lengths = tokens()
    inhibition = Poisson(rate=200.0)
    spiking = EventDrivenSpiking(
        parameters, V, lengths, seed=1, simulator="numpy", inhibition=inhibition
    )
    reference = rate_twin(parameters, V, lengths, seed=1)
    reference.present(words, docs, winners=spiking.present(words, docs))
    assert_same_state(spiking, reference)


@pytest.mark.parametrize("prior", [1.3, None])
def test_one_euler_update_by_hand(prior):
    """Alg. 3 and the appendix's pLSI rule, written out."""
    eta, word, doc = 0.25, 2, 1
    parameters = EventDrivenParameters(
        K, prior, RobbinsMonro(eta, power=0), RobbinsMonro(eta, power=0), "euler", gauge=False
    )
    lengths = np.array([3, 5])
    spiking = EventDrivenSpiking(parameters, V, lengths, seed=2, simulator="numpy")
    before = spiking.state()
    (z,) = spiking.present([word], [doc])
    after = spiking.state()

    x = np.eye(V)[word]
    M = before["M__alpha"].copy()
    M[z] += eta * (x * np.exp(-M[z]) - 1)
    np.testing.assert_allclose(after["M__alpha"], M, rtol=0, atol=ATOL)

    h, M = np.eye(K)[z], before["M__beta"].copy()
    if prior is None:
        M[doc] += eta * (h * np.exp(-M[doc]) - 1)
    else:
        kappa, N_d = K * (prior - 1), lengths[doc]
        decay = 1 / kappa + 1 / N_d  # Robbins-Monro steps are in units of 1/decay
        M[doc] += eta / decay * ((h + (prior - 1) / N_d) * np.exp(-M[doc]) - decay)
    np.testing.assert_allclose(after["M__beta"], M, rtol=0, atol=ATOL)


def test_gauge_and_literal_form_are_the_same_network():
    """Same seed, same spikes: the two forms differ in what they write, not in what they do."""
    words, docs, lengths = tokens()
    states = []
    for gauge in (True, False):
        parameters = EventDrivenParameters(
            K, 1.3, ROBBINS_MONRO, ROBBINS_MONRO, "flow", gauge=gauge
        )
        spiking = EventDrivenSpiking(parameters, V, lengths, seed=3, simulator="numpy")
        spiking.present(words, docs)
        states.append(spiking.state())
    for key in states[0]:
        np.testing.assert_allclose(states[0][key], states[1][key], rtol=0, atol=ATOL, err_msg=key)


def test_adagrad_amplifies_its_base_step_at_the_end_of_a_pass():
    parameters = EventDrivenParameters(
        K, 1.3, VarianceTracking(), AdaGrad(eta=0.1, amplification=3.0), "flow", gauge=False
    )
    spiking = EventDrivenSpiking(parameters, V, [1, 1], seed=0, simulator="numpy")
    before = spiking.state()["eta_0__beta"]
    spiking.end_pass()
    np.testing.assert_allclose(spiking.state()["eta_0__beta"], 3.0 * before, rtol=1e-15)


def test_a_network_that_never_fires_is_given_up(monkeypatch):
    monkeypatch.setattr(simulator, "STALLED_IN_PYTHON_AFTER", 30)
    parameters, silent = EventDrivenParameters(K, 1.3), Poisson(rate=1e-9)
    spiking = EventDrivenSpiking(
        parameters, V, [2, 2], seed=4, simulator="numpy", inhibition=silent
    )
    before = spiking.state()
    with pytest.raises(SimulationError, match="no topic neuron has won in 30 ticks.*Raise `rate`"):
        spiking.present([3, 1], [0, 1])
    for name, value in spiking.state().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_unpresented_synapses_do_not_change():
    """Locality: another document's synapses and other topics' word synapses stay as they are."""
    parameters = EventDrivenParameters(K, 1.3)
    spiking = EventDrivenSpiking(
        parameters, V, [2, 2], seed=4, simulator="numpy", inhibition=Race()
    )
    before = spiking.state()
    (z,) = spiking.present([3], [0])
    after = spiking.state()
    others = [k for k in range(K) if k != z]
    np.testing.assert_array_equal(after["M__alpha"][others], before["M__alpha"][others])
    np.testing.assert_array_equal(after["M__beta"][1], before["M__beta"][1])
    assert not np.any(after["M__alpha"][z] == before["M__alpha"][z])
    assert not np.any(after["M__beta"][0] == before["M__beta"][0])
