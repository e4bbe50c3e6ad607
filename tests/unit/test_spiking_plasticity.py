"""One update by hand, and golden traces against the rate-level twin fed with the same winners."""

from dataclasses import replace

import numpy as np
import pytest
from event_driven_twins import rate_twin

from brian_lda.circuit import circuit
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.latency import Windowed
from brian_lda.errors import ParameterError, SimulationError, WeightOverflowError
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import BatchParameters, EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.simulation.model_choice import model_for
from brian_lda.step_rules import AdaGrad, RMSProp, RobbinsMonro, VarianceTracking

V, D, K, N_TOKENS = 7, 4, 3, 12
ROBBINS_MONRO = RobbinsMonro(scale=0.5, offset=3.0, power=0.7, floor=0.2)
ATOL = 1e-12  # a dozen updates of numbers of order 1, in another order of operations
INHIBITIONS = {
    "race": Race(),
    "poisson": Poisson(),
    "nessler": Poisson(rate=200.0, normalised=True),  # about five ticks a token
    "free": Poisson(rate=40.0),
    "windowed": Windowed(latency=(0, 1, 2), window=2),
}


def tokens():
    rng = np.random.default_rng(0)
    words, docs = rng.integers(0, V, N_TOKENS), rng.integers(0, D - 1, N_TOKENS)
    return words, docs, np.bincount(docs, minlength=D)  # the last document is empty


def flow(prior, gauge=True, varphi=0.0):
    return EventDrivenParameters(K, prior, ROBBINS_MONRO, ROBBINS_MONRO, "flow", gauge, varphi)


def paper(prior, eta=0.1, amplification=1.0):
    doc_step = VarianceTracking() if prior is None else AdaGrad(eta, amplification)
    return EventDrivenParameters(K, prior, VarianceTracking(), doc_step, "euler", gauge=False)


EVERY_WORD = np.linspace(0.0, 4.0, V)
NETWORKS = {
    f"{name}{form}": parameters
    for name, prior in (("ed_spike_lda", np.array([1.3, 1.1, 1.6])), ("ed_spike_plsi", None))
    for form, parameters in (
        ("", flow(prior)),
        ("_paper", paper(prior)),
    )
}
NETWORKS["ed_spike_lda_prior"] = flow(np.array([1.3, 1.1, 1.6]), varphi=EVERY_WORD)
NETWORKS["ed_spike_plsi_prior"] = flow(None, varphi=EVERY_WORD)
CASES = [
    (network, inhibition)
    for network in NETWORKS
    for inhibition in (INHIBITIONS if network.startswith("ed_spike_lda") else ("race", "poisson"))
]


def spiking_twin(parameters, lengths, seed=1, **options):
    return EventDrivenSpiking(parameters, V, lengths, seed=seed, simulator="numpy", **options)


def assert_same_state(spiking, reference):
    spiking, reference = spiking.state(), reference.state()
    common = set(spiking) & set(reference)
    names = ("s_1", "s_2", "G", "eta_0", "s_alpha", "Delta_alpha")
    rules = {name for name in reference if name.split("__")[0] in names}
    assert {"M__alpha", "M__beta", "n_alpha", "n_beta"} | rules <= common
    for key in common:
        np.testing.assert_allclose(spiking[key], reference[key], rtol=0, atol=ATOL, err_msg=key)


@pytest.mark.complete(
    but=[
        "ed_spike_lda-race",
        "ed_spike_lda-windowed",
        "ed_spike_lda_paper-race",
        "ed_spike_lda_paper-poisson",
        "ed_spike_lda_prior-race",
        "ed_spike_lda_prior-free",
        "ed_spike_plsi-race",
        "ed_spike_plsi_prior-race",
        "ed_spike_plsi_prior-poisson",
        "ed_spike_plsi_paper-race",
    ]
)
@pytest.mark.parametrize(("network", "inhibition"), CASES)
def test_traces_equal_the_reference(network, inhibition):
    """In clocked time a token stays clamped for several ticks and is learned once."""
    parameters = NETWORKS[network]
    words, docs, lengths = tokens()
    spiking = spiking_twin(parameters, lengths, inhibition=INHIBITIONS[inhibition])
    reference = rate_twin(parameters, V, lengths, seed=1)
    start = spiking.state()
    for part in (slice(0, 1), slice(1, 3), slice(3, None)):
        winners = spiking.present(words[part], docs[part])
        reference.present(words[part], docs[part], winners=winners)
        assert_same_state(spiking, reference)
    assert np.abs(spiking.M__alpha - start["M__alpha"]).max() > 0.1  # they have learned
    assert np.abs(spiking.M__beta - start["M__beta"]).max() > 0.1


STEP = 0.25


@pytest.mark.parametrize("prior", [1.3, None])
def test_one_exact_update_by_hand(prior):
    """dP/ds = c - a P for P = exp M, solved over a step; the winner's other words only decay."""
    step, word, doc = RobbinsMonro(STEP, power=0), 2, 1
    lengths = np.array([3, 5])
    spiking = spiking_twin(EventDrivenParameters(K, prior, step, step), lengths, seed=2)
    before = spiking.state()
    (z,) = spiking.present([word], [doc])
    after = spiking.state()

    P, x = np.exp(before["M__alpha"]), np.eye(V)[word]
    P[z] = np.exp(-STEP) * P[z] + (1 - np.exp(-STEP)) * x
    np.testing.assert_allclose(after["M__alpha"], np.log(P), rtol=0, atol=ATOL)

    h, P = np.eye(K)[z], np.exp(before["M__beta"])
    if prior is None:
        fixed = h  # c/a
    else:
        kappa, N_d = K * (prior - 1), lengths[doc]
        fixed = (h + (prior - 1) / N_d) / (1 / kappa + 1 / N_d)
    P[doc] = np.exp(-STEP) * P[doc] + (1 - np.exp(-STEP)) * fixed  # the step is in units of 1/a
    np.testing.assert_allclose(after["M__beta"], np.log(P), rtol=0, atol=ATOL)
    assert after["n_alpha"].tolist() == np.eye(K)[z].tolist()
    assert after["n_beta"].tolist() == [0, 1]


def test_one_update_with_a_prior_on_phi_by_hand():
    """P <- exp(-a eta) P + (1 - exp(-a eta)) c/a, c = x + varphi Delta/N, a = 1 + Vbar Delta/N."""
    step, word, doc, lengths = RobbinsMonro(STEP, power=0), 2, 1, np.array([3, 5])
    parameters = EventDrivenParameters(K, 1.3, step, step, topic_word_prior=EVERY_WORD)
    first = initial_state(parameters, V, lengths, 2)
    first |= {"s_alpha": np.array([0.1, 0.0, 0.3]), "Delta_alpha": np.array([2.0, 0.0, 7.0])}
    spiking = spiking_twin(parameters, lengths, seed=2, initial=first)
    before = spiking.state()
    np.testing.assert_array_equal(before["s_alpha"], first["s_alpha"])
    P = np.exp(spiking.J__alpha)
    np.testing.assert_allclose(
        P, np.exp(first["M__alpha"]) + np.outer(first["s_alpha"], EVERY_WORD), rtol=1e-13
    )
    (z,) = spiking.present([word], [doc])
    after = spiking.state()

    waited = (first["Delta_alpha"][z] + 1) / lengths.sum()
    a, c = 1 + EVERY_WORD.sum() * waited, np.eye(V)[word] + EVERY_WORD * waited
    P[z] = np.exp(-a * STEP) * P[z] + (1 - np.exp(-a * STEP)) * c / a
    np.testing.assert_allclose(spiking.J__alpha, np.log(P), rtol=0, atol=ATOL)
    assert after["Delta_alpha"].tolist() == np.where(np.arange(K) == z, 0, [3, 1, 8]).tolist()
    others = np.arange(K) != z
    np.testing.assert_array_equal(after["s_alpha"][others], before["s_alpha"][others])


def test_a_prior_that_wipes_everything_out_in_one_step():
    """a eta of some thousands: exp(a eta) would be infinite, and g would be 0 for ever."""
    words, docs, lengths = tokens()
    parameters = flow(1.3, varphi=1e4)
    spiking = spiking_twin(parameters, lengths)
    reference = rate_twin(parameters, V, lengths, seed=1)
    reference.present(words, docs, winners=spiking.present(words, docs))
    won = reference.state()["n_alpha"] > 0
    assert won.any()
    np.testing.assert_allclose(spiking.J__alpha, reference.J__alpha, rtol=0, atol=ATOL)
    np.testing.assert_allclose(np.exp(spiking.J__alpha[won]), 1 / V, rtol=1e-2)


def test_without_a_prior_the_waiting_time_plays_no_part():
    """varphi = 0 is the paper's network to the last bit, whatever s and Delta are."""
    words, docs, lengths = tokens()
    start = initial_state(flow(1.3), V, lengths, 3)
    ends = []
    for s, Delta, N in ((0.0, 0.0, None), (0.7, 5.0, 3.0)):
        first = start | {"s_alpha": np.full(K, s), "Delta_alpha": np.full(K, Delta)}
        parameters = replace(flow(1.3), n_training_tokens=N)
        spiking = spiking_twin(parameters, lengths, seed=3, initial=first)
        reference = rate_twin(parameters, V, lengths, seed=3, initial=first)
        ends.append([network.present(words, docs) for network in (spiking, reference)])
        ends[-1] += [
            x for network in (spiking, reference) for x in (network.J__alpha, network.M__beta)
        ]
        np.testing.assert_array_equal(spiking.J__alpha, spiking.M__alpha)
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("prior", [1.3, None])
def test_one_euler_update_by_hand(prior):
    """Alg. 3, the appendix's pLSI rule and its step sizes, written out."""
    word, doc = 2, 1
    lengths = np.array([3, 5])
    spiking = spiking_twin(paper(prior, eta=0.2), lengths, seed=2)
    before = spiking.state()
    (z,) = spiking.present([word], [doc])
    after = spiking.state()

    def variance_tracking(M, direction):
        s_1, s_2 = M.copy(), M**2 + 1.0
        eta = np.clip((s_2 - s_1**2) / (np.exp(-s_1) + 1), 0, 1)
        M = M + eta * direction
        return M, s_1 + eta * (M - s_1), s_2 + eta * (M**2 - s_2)

    M = before["M__alpha"]
    expected = variance_tracking(M[z], np.eye(V)[word] * np.exp(-M[z]) - 1)
    for name, value in zip(("M__alpha", "s_1__alpha", "s_2__alpha"), expected, strict=True):
        np.testing.assert_allclose(after[name][z], value, rtol=0, atol=ATOL, err_msg=name)
        others = [k for k in range(K) if k != z]
        np.testing.assert_array_equal(after[name][others], before[name][others], err_msg=name)

    M, h = before["M__beta"][doc], np.eye(K)[z]
    if prior is None:
        expected = dict(
            zip(
                ("M__beta", "s_1__beta", "s_2__beta"),
                variance_tracking(M, h * np.exp(-M) - 1),
                strict=True,
            )
        )
    else:
        kappa, N_d = K * (prior - 1), lengths[doc]
        direction = (h + (prior - 1) / N_d) * np.exp(-M) - 1 / kappa - 1 / N_d
        G = direction**2
        expected = {"M__beta": M + 0.2 / np.sqrt(G + 1e-8) * direction, "G__beta": G}
    for name, value in expected.items():
        np.testing.assert_allclose(after[name][doc], value, rtol=0, atol=ATOL, err_msg=name)
        np.testing.assert_array_equal(after[name][0], before[name][0], err_msg=name)


@pytest.mark.parametrize("prior", [1.3, None])
def test_gauge_and_literal_form_are_the_same_network(prior):
    """gauge=False asks for the same numbers, which the gauge form has: bit for bit one network."""
    words, docs, lengths = tokens()
    states = []
    for gauge in (True, False):
        spiking = spiking_twin(flow(prior, gauge), lengths, seed=3)
        spiking.present(words, docs)
        states.append(spiking.state())
    for key in states[0]:
        np.testing.assert_array_equal(states[0][key], states[1][key], err_msg=key)


def test_adagrad_amplifies_its_base_step_at_the_end_of_a_pass():
    words, docs, lengths = tokens()
    parameters = paper(1.3, amplification=3.0)
    spiking, reference = (
        spiking_twin(parameters, lengths),
        rate_twin(parameters, V, lengths, seed=1),
    )
    before = spiking.state()["eta_0__beta"]
    for n_passes in (1, 2):
        reference.present(words, docs, winners=spiking.present(words, docs))
        spiking.end_pass(), reference.end_pass()
        np.testing.assert_allclose(
            spiking.state()["eta_0__beta"], 3.0**n_passes * before, rtol=1e-15
        )
        assert_same_state(spiking, reference)  # the second pass has used the amplified step


def test_other_networks_have_nothing_to_do_at_the_end_of_a_pass():
    _, _, lengths = tokens()
    for parameters in (flow(1.3), flow(None), paper(None)):
        spiking = spiking_twin(parameters, lengths)
        before = spiking.state()
        spiking.end_pass()
        for name, value in spiking.state().items():
            np.testing.assert_array_equal(value, before[name], err_msg=name)


RM, VT, AG = RobbinsMonro(), VarianceTracking(), AdaGrad()


@pytest.mark.parametrize(
    ("prior", "word_step", "doc_step", "integrator"),
    [
        (1.3, RM, RM, "euler"),
        (1.3, VT, AG, "flow"),
        (1.3, AG, VT, "euler"),
        (1.3, RM, AG, "flow"),
        (1.3, VT, VT, "euler"),
        (None, VT, AG, "euler"),
        (None, VT, VT, "flow"),
        (None, RM, VT, "flow"),
    ],
)
def test_step_rules_that_have_no_network_are_refused_and_named(
    prior, word_step, doc_step, integrator
):
    gauge = isinstance(word_step, RobbinsMonro)
    parameters = EventDrivenParameters(K, prior, word_step, doc_step, integrator, gauge)
    found = (
        f"found word_step={type(word_step).__name__}, doc_step={type(doc_step).__name__}, "
        f"integrator='{integrator}'. Use backend='rate'"
    )
    with pytest.raises(ParameterError, match=found) as refusal:
        spiking_twin(parameters, [2, 2])
    name = "ed_spike_plsi" if prior is None else "ed_spike_lda"
    for file in (name, f"{name}_paper"):  # what there is instead, and where
        assert f"models.{file})" in str(refusal.value)
    rate_twin(parameters, V, [2, 2], seed=1).present([1], [0])  # as the message says


@pytest.mark.parametrize("network", ["semi_spike_lda", "du_spike_lda"])
def test_step_rules_of_mini_batches_that_have_no_network_are_refused(network):
    def parameters(integrator, **steps):
        return BatchParameters(K, 1.3, integrator=integrator, **steps)

    rmsprop = {"word_step": RMSProp(), "doc_step": RMSProp()}
    assert model_for(network, parameters("flow")).__name__.endswith(network)
    assert model_for(network, parameters("euler", **rmsprop)).__name__.endswith("_paper")
    refused = [parameters("euler"), parameters("flow", **rmsprop)]
    if network == "du_spike_lda":  # semi-SpikeLDA has no doc_step
        refused.append(parameters("flow", doc_step=RMSProp()))
    for combination in refused:
        with pytest.raises(ParameterError, match="in spikes there is word_step=.*backend='rate'"):
            model_for(network, combination)


@pytest.mark.parametrize(("prior", "varphi"), [(1.3, 0.0), (1.3, 0.05), (None, 0.0)])
def test_thousands_of_spikes_of_one_topic_are_folded_without_loss(prior, varphi):
    """g = exp(-sum of eta) would be 1e-434 after 2000 steps of 0.5: it is folded into w in time."""
    n, winner, words, docs, lengths = 2000, 1, [0, 3], [0, 1], [1500, 700]
    step = RobbinsMonro(0.5, power=0)
    parameters = EventDrivenParameters(K, prior, step, step, "flow", True, varphi)
    start = {
        "M__alpha": np.full((K, V), -80.0), "M__beta": np.zeros((2, K)),
        "n_alpha": np.zeros(K), "n_beta": np.zeros(2),
    }  # fmt: skip
    start["M__alpha"][winner] = np.linspace(-1.0, 1.0, V)  # wins with the probability 1 - exp(-70)
    spiking = spiking_twin(parameters, lengths, initial=start)
    reference = rate_twin(parameters, V, lengths, seed=1, initial=start)
    rng = np.random.default_rng(0)
    pick = rng.integers(0, 2, n)
    shown = np.take(words, pick), np.take(docs, pick)
    winners = spiking.present(*shown)
    reference.present(*shown, winners=winners)
    assert (winners == winner).all()

    state = spiking.state()
    for name, value in state.items():
        assert np.isfinite(value).all(), name
    assert 1e-60 <= state["g"].min() < 1.0 and state["w"].max() < 1e61
    # 2000 sums; a synapse that was never written again is held at SMALLEST = 1e-100.
    expected = np.maximum(reference.M__alpha, np.log(1e-100) + np.log(state["g"])[:, None])
    np.testing.assert_allclose(spiking.M__alpha, expected, rtol=0, atol=1e-9)
    held = np.setdiff1d(np.arange(V), words)
    assert (reference.M__alpha[winner, held] < -900).all()  # not vacuous
    np.testing.assert_allclose(
        spiking.M__alpha[:, words], reference.M__alpha[:, words], rtol=0, atol=1e-9
    )
    # pLSI: p of those who always lose would be exp(-500) and is held at 1e-100 too
    floor = np.log(1e-100)
    np.testing.assert_allclose(
        spiking.M__beta, np.maximum(reference.M__beta, floor), rtol=0, atol=1e-9
    )
    if prior is None:
        losers = [k for k in range(K) if k != winner]
        np.testing.assert_allclose(spiking.M__beta[:, losers], floor, rtol=1e-12)


def test_weights_at_the_floor_can_still_win():
    """A topic at 1e-100 in both layers wins where the others are silent too, and comes back."""
    step = RobbinsMonro(0.5, power=0)
    low = np.log(1e-100)
    start = {
        "M__alpha": np.full((K, V), low), "M__beta": np.full((2, K), low),
        "n_alpha": np.zeros(K), "n_beta": np.zeros(2),
    }  # fmt: skip
    for inhibition in (Race(), Poisson()):
        spiking = spiking_twin(
            EventDrivenParameters(K, None, step, step), [2, 2], initial=start, inhibition=inhibition
        )
        (z,) = spiking.present([3], [1])
        np.testing.assert_allclose(spiking.M__alpha[z, 3], np.log(-np.expm1(-0.5)), rtol=1e-12)
        np.testing.assert_allclose(spiking.M__beta[1, z], np.log(-np.expm1(-0.5)), rtol=1e-12)


def test_a_network_that_never_fires_is_given_up(monkeypatch):
    monkeypatch.setattr(circuit, "STALLED_AFTER", 30)
    spiking = EventDrivenSpiking(
        EventDrivenParameters(K, 1.3), V, [2, 2], seed=4, simulator="numpy",
        inhibition=Poisson(rate=1e-9),
    )  # fmt: skip
    before = spiking.state()
    with pytest.raises(SimulationError, match="no topic neuron has won in 30 ticks.*Raise `rate`"):
        spiking.present([3, 1], [0, 1])
    for name, value in spiking.state().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
    winners = spiking_twin(EventDrivenParameters(K, 1.3), [2, 2]).present([3, 1], [0, 1])
    assert len(winners) == 2  # nothing was left behind in Brian


@pytest.mark.parametrize("prior", [1.3, None])
def test_too_long_an_euler_step_is_named_and_changes_nothing(prior):
    """Running moments of a weight near 0 let one at -20 jump by exp(20)/2."""
    spiking = spiking_twin(paper(prior), [2, 2])
    state = spiking.state()
    state["M__alpha"] = np.full((K, V), -20.0)
    state |= {"s_1__alpha": np.zeros((K, V)), "s_2__alpha": np.ones((K, V))}
    spiking.set_state(state)
    with pytest.raises(
        WeightOverflowError, match="M__alpha must stand for weights.*integrator='flow'"
    ):
        spiking.present([3], [0])
    for name, value in spiking.state().items():
        np.testing.assert_array_equal(value, state[name], err_msg=name)


@pytest.mark.parametrize("network", NETWORKS)
def test_unpresented_synapses_do_not_change(network):
    """Locality: another document's synapses and other topics' word synapses stay as they are."""
    for inhibition in (Race(), Poisson()):
        spiking = spiking_twin(NETWORKS[network], [2, 2], seed=4, inhibition=inhibition)
        before = spiking.state()
        (z,) = spiking.present([3], [0])
        after = spiking.state()
        others = [k for k in range(K) if k != z]
        np.testing.assert_array_equal(after["M__alpha"][others], before["M__alpha"][others])
        np.testing.assert_array_equal(after["M__beta"][1], before["M__beta"][1])
        assert not np.any(after["M__alpha"][z] == before["M__alpha"][z])
        assert not np.any(after["M__beta"][0] == before["M__beta"][0])
        if "w" in after:  # the gauge form writes one word synapse
            assert np.argwhere(after["w"] != before["w"]).tolist() == [[z, 3]]


@pytest.mark.parametrize("network", NETWORKS)
def test_states_are_exchanged_between_the_twins(network):
    """Either goes on from the other's state: the same weights, counters and step memory."""
    words, docs, lengths = tokens()
    parameters = NETWORKS[network]
    spiking, reference = (
        spiking_twin(parameters, lengths),
        rate_twin(parameters, V, lengths, seed=1),
    )
    reference.present(words, docs)
    spiking.set_state(reference.state())
    assert_same_state(spiking, reference)
    reference.present(words, docs, winners=spiking.present(words, docs))
    assert_same_state(spiking, reference)
    back = rate_twin(parameters, V, lengths, seed=2, initial=spiking.state())
    assert_same_state(spiking, back)
    back.present(words, docs, winners=spiking.present(words, docs))
    assert_same_state(spiking, back)


@pytest.mark.complete(
    but=[
        "ed_spike_lda-windowed",
        "ed_spike_lda_paper-race",
        "ed_spike_lda_prior-race",
        "ed_spike_plsi-poisson",
    ]
)
@pytest.mark.parametrize(("network", "inhibition"), CASES)
def test_goes_on_bit_for_bit_from_its_state(network, inhibition):
    """The excitability of Poisson() is part of the state, or the spikes would not be the same."""
    words, docs, lengths = tokens()
    options = {"inhibition": INHIBITIONS[inhibition]}
    whole = spiking_twin(NETWORKS[network], lengths, **options)
    whole.present(words, docs)
    saved = {name: value.copy() for name, value in whole.state().items()}
    winners = whole.present(words, docs)
    resumed = spiking_twin(NETWORKS[network], lengths, initial=saved, **options)
    np.testing.assert_array_equal(resumed.present(words, docs), winners)
    assert resumed.state().keys() == whole.state().keys()
    for name, value in whole.state().items():
        np.testing.assert_array_equal(resumed.state()[name], value, err_msg=name)
    assert ("excitability" in saved) == (inhibition in ("poisson", "windowed"))
