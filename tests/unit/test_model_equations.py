"""What every network of `models/` computes in a tick, from what its synapses and neurons hold.

Rates and potentials here; what a token changes is held by golden traces against the rate-level
twins (test_spiking_plasticity.py, test_spiking_counting.py), who wins by test_circuit_equations.py.
That every single equation is held by some quick test: `tests/mutation/run.py equations`.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from brian2 import StateMonitor, prefs, seed
from brian_lda.models import du_spike_lda, du_spike_lda_paper

from brian_lda.circuit import circuit
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.errors import SimulationError
from brian_lda.parameters import BatchParameters
from brian_lda.step_rules import RobbinsMonro

V, D, K = 4, 3, 3
WORDS, DOCS = [0, 3, 1, 1, 2, 3], [0, 1, 2, 0, 1, 2]
EPSILON = np.array([0.1, 0.2, 0.3, 0.4])
VARPHI, S_ALPHA = np.array([1.0, 0.0, 3.0, 2.0]), np.array([0.1, 0.3, 0.2])
FILES = (
    "ed_spike_lda", "ed_spike_lda_paper", "ed_spike_plsi", "ed_spike_plsi_paper",
    "semi_spike_lda", "semi_spike_lda_paper", "du_spike_lda", "du_spike_lda_paper", "spike_cgs",
)  # fmt: skip
every_model = pytest.mark.parametrize("file", FILES)


@pytest.fixture(autouse=True)
def inside_python(monkeypatch):
    monkeypatch.setattr(circuit, "STALLED_AFTER", 500)  # ticks: a network that is wrong may stall
    before, prefs.codegen.target = prefs.codegen.target, "numpy"
    seed(1)
    yield
    prefs.codegen.target = before


def build(file, inhibition=None):
    """The network with weights that differ, and smoothing where it has any."""
    sizes = {"n_tokens": 8} if file == "spike_cgs" else {"capacity": 8}
    net = import_module(f"brian_lda.models.{file}").build(V, D, K, inhibition=inhibition, **sizes)
    rng = np.random.default_rng(0)
    for path, shape in (("alpha.w", (V, K)), ("beta.p", (D, K)), ("topics.c", (K,))):
        owner, name = path.split(".")
        if name in getattr(net, owner).variables:
            net.set({path: rng.uniform(0.5, 3.0, shape)})
    if "g" in net.topics.variables:
        net.set({"topics.g": np.array([0.5, 1.0, 0.25])})
    if "epsilon" in net.words.variables:
        net.set({"words.epsilon": EPSILON})
    if "s_alpha" in net.topics.variables:
        net.set({"words.varphi": VARPHI, "topics.Vbar": VARPHI.sum(), "topics.s_alpha": S_ALPHA})
    return net


def held(net, path, shape):
    """A variable of the network as an array, or None where it has no such variable."""
    owner, name = path.split(".")
    group = getattr(net, owner)
    if name not in group.variables:
        return None
    return np.reshape(np.array(getattr(group, name)[:]), shape).copy()


def factors(net):
    """exp M^alpha [word, topic], exp M^beta [doc, topic], exp b [topic] from what is stored."""
    w, p = held(net, "alpha.w", (V, K)), held(net, "beta.p", (D, K))
    g, c = held(net, "topics.g", (K,)), held(net, "topics.c", (K,))
    word = np.exp(held(net, "alpha.M__alpha", (V, K))) if w is None else w
    document = np.exp(held(net, "beta.M__beta", (D, K))) if p is None else p
    return word * (1.0 if g is None else g), document, np.ones(K) if c is None else c


@every_model
def test_the_rate_is_the_product_of_what_the_synapses_hold(file):
    """Alg. 1, line 5: u = M^alpha.x + M^beta.x (- b); with what a prior adds to exp M^alpha."""
    net = build(file)
    monitor = StateMonitor(net.topics, ["u", "rate"], True, when="end")
    net.network.add(monitor)
    epsilon = EPSILON if "epsilon" in net.words.variables else np.zeros(V)
    has_prior = "s_alpha" in net.topics.variables
    assert has_prior == (file in ("ed_spike_lda", "ed_spike_plsi"))
    for token, (w, d) in enumerate(zip(WORDS[:3], DOCS[:3], strict=True)):
        word, document, bias = factors(net)
        prior = VARPHI[w] * held(net, "topics.s_alpha", (K,)) if has_prior else epsilon[w]
        net.present([w], [d], [token])
        rate = (word[w] + prior) * document[d] / bias
        np.testing.assert_allclose(monitor.rate[:, -1], rate, rtol=1e-12)
        np.testing.assert_allclose(monitor.u[:, -1], np.log(rate), rtol=1e-12, atol=1e-12)


@every_model
def test_weights_are_the_logarithms_of_what_is_stored(file):
    net = build(file)
    net.present(WORDS, DOCS)
    word, document, bias = factors(net)
    for path, expected in (
        ("alpha.M__alpha", word),
        ("beta.M__beta", document),
        ("topics.b", bias),
    ):
        found = held(net, path, expected.shape)
        if found is not None:  # only SpikeCGS has b
            np.testing.assert_allclose(found, np.log(expected), rtol=1e-12, atol=1e-12)
    assert (held(net, "topics.b", (K,)) is not None) == (file == "spike_cgs")


@pytest.mark.complete(but=["race-ed_spike_lda", "poisson-semi_spike_lda"])
@every_model
@pytest.mark.parametrize("inhibition", [Race(), Poisson()], ids=["race", "poisson"])
def test_without_a_token_nobody_fires_and_nothing_changes(file, inhibition):
    net = build(file, inhibition)
    net.present(WORDS, DOCS)
    paths = [variable.path for variable in import_module(f"brian_lda.models.{file}").KEPT]
    before = {path: held(net, path, -1) for path in paths}
    assert net.winners.num_spikes == len(WORDS)
    net.network.run(3 * net.clock.dt)
    assert net.winners.num_spikes == len(WORDS)
    for name in ("rate", "h", "accepted"):
        np.testing.assert_array_equal(getattr(net.topics, name)[:], 0, err_msg=name)
    for path in paths:
        np.testing.assert_array_equal(held(net, path, -1), before[path], err_msg=path)


@pytest.mark.parametrize("own", [0.2, 5.0])
@pytest.mark.parametrize("inhibition", [Race(), Poisson(rate=1e-9)], ids=["race", "poisson"])
def test_a_token_is_raced_without_its_own_votes(inhibition, own, monkeypatch):
    """Of its old topic's w, as long as it is clamped: own at the most, the prior's share never."""
    monkeypatch.setattr(circuit, "STALLED_AFTER", 20)
    net = build("semi_spike_lda", inhibition)
    vote = np.array([0.5, 0.2, 0.3])
    net.set({"words.varphi": VARPHI, "topics.vote": vote, "topics.own": np.full(K, own)})
    net.memory.z[2] = 1
    net.set({"beta.p": held(net, "beta.p", -1) + 2.0})  # the count of this token is among them
    w, p = held(net, "alpha.w", (V, K))[3].copy(), held(net, "beta.p", (D, K))[0].copy()
    rate = StateMonitor(net.topics, "rate", record=True, when="thresholds")
    net.network.add(rate)
    try:
        net.present([3], [0], [2])
    except SimulationError:
        assert isinstance(inhibition, Poisson) and rate.rate.shape[1] > 10
    assert w[1] > VARPHI[3] * vote[1] + 0.2
    w[1] = max(w[1] - own, VARPHI[3] * vote[1])
    p[1] -= 1.0
    for tick in rate.rate.T:
        np.testing.assert_allclose(tick, w * p, rtol=1e-12)


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith(("semi", "spike_cgs"))])
def test_a_token_keeps_its_topic_until_it_has_another_and_gives_its_count_back_once(
    file, monkeypatch
):
    """Lines 4 to 6 of Alg. 2 in clocked time: the first tick recalls z', only a winner stores z."""
    monkeypatch.setattr(circuit, "STALLED_AFTER", 20)
    net = build(file, Poisson(rate=1e-9))  # nobody ever fires
    net.memory.z[2] = 1
    counted = {"beta": "p", "alpha": "w", "topics": "c"} if file == "spike_cgs" else {"beta": "p"}
    for owner, name in counted.items():  # the count of this token is among them
        net.set({f"{owner}.{name}": held(net, f"{owner}.{name}", -1) + 2.0})
    p, c = held(net, "beta.p", (D, K)), held(net, "topics.c", (K,))
    with pytest.raises(SimulationError, match="no topic neuron has won in 20 ticks"):
        net.present([3], [0], [2])
    assert net.memory.z[2] == 1
    p[0, 1] -= 1.0
    np.testing.assert_allclose(held(net, "beta.p", (D, K)), p, rtol=0, atol=1e-12)
    if c is not None:
        np.testing.assert_allclose(held(net, "topics.c", (K,)), c - [0, 1, 0], rtol=0, atol=1e-12)


def test_a_document_counts_its_own_tokens():
    """du-SpikeLDA: whatever the others have seen; its step counts in passes through itself."""
    step = RobbinsMonro(0.7, offset=2.0, power=1.0)
    N_d, shown = np.array([2, 3, 4]), np.zeros(D, int)
    parameters = BatchParameters(K, np.full(K, 1.5), doc_step=step)
    net = du_spike_lda.build(V, D, K, parameters=parameters, capacity=8, doc_lengths=N_d)
    for docs in ([0, 1, 1], [2, 2, 2, 0, 0], [2, 1]):
        net.present(np.zeros(len(docs), int), docs)
        shown += np.bincount(docs, minlength=D)
        np.testing.assert_array_equal(held(net, "documents.n_beta", (D,)), shown)
        eta = 0.7 / (1 + shown / N_d / 2.0) / N_d
        np.testing.assert_allclose(held(net, "documents.eta", (D,)), eta, rtol=1e-14)


def test_a_document_counts_its_own_tokens_and_iterations():
    """A local iteration of a document ends with its N_d-th token, whatever the others have seen."""
    net = du_spike_lda_paper.build(V, D, K, capacity=8, doc_lengths=[2, 3, 4])
    shown = np.zeros(D, int)
    for docs in ([0, 1, 1], [2, 2, 2, 0, 0], [2, 1]):
        net.present(np.zeros(len(docs), int), docs)
        shown += np.bincount(docs, minlength=D)
        for path, expected in (("n_seen", shown % [2, 3, 4]), ("n_beta", shown // [2, 3, 4])):
            found = held(net, f"documents.{path}", (D,))
            np.testing.assert_array_equal(found, expected, err_msg=path)


def test_a_document_of_one_token_moves_with_it_in_du_spike_lda():
    """du-SpikeLDA: one pass through it, with the step that was set before any spike."""
    lamda, eta, N_d = np.array([1.3, 1.1, 1.6]), 0.7, 1.0
    step = RobbinsMonro(eta, power=0.0)
    net = du_spike_lda.build(
        V, D, K, parameters=BatchParameters(K, lamda, doc_step=step), doc_lengths=[1, 5, 5],
        capacity=8,
    )  # fmt: skip
    p = held(net, "beta.p", (D, K))
    (z,) = net.present([2], [0])
    a, fade = 1.0 / (lamda - 1.0).sum() + 1.0 / N_d, np.exp(-eta)
    p[0] = fade * p[0] + (1.0 - fade) / a * (np.eye(K)[z] + lamda - 1.0) / N_d
    np.testing.assert_allclose(held(net, "beta.p", (D, K)), p, rtol=1e-13)
