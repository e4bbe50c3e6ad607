"""ed-SpikeLDA and ed-SpikePLSI at rate level against a literal transcription of the paper.

`Literal` below is Alg. 3 synapse by synapse in plain Python, with the winners given: slow, and
short enough to be read beside the paper.
"""

from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest
from event_driven_twins import rate_twin
from scipy import stats

from brian_lda.errors import DivergenceError, ParameterError
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference import event_driven, event_driven_kernel
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.reference.ed_spike_plsi import EdSpikePLSIReference
from brian_lda.reference.plasticity import flow
from brian_lda.step_rules import AdaGrad, RobbinsMonro, VarianceTracking

K, V = 2, 3
N_D = np.array([5, 3])
LAMDA = np.array([1.5, 1.2])
WORDS, DOCS = [0, 2, 1, 0, 2, 2, 1, 0], [0, 0, 1, 0, 1, 0, 1, 0]
WINNERS = [1, 0, 0, 1, 1, 0, 1, 1]
RULES = {
    "robbins-monro": RobbinsMonro(0.7, 2.0, 0.8, 0.3),  # the floor binds from the third step on
    "variance": VarianceTracking(0.6),
    "adagrad": AdaGrad(0.4, 3.0, 1e-3),
}
SAME_FORMULA = 1e-12  # eight updates of numbers around 1, each rounded to 1e-16


class Literal:
    """Eq. (MAP discrete dynamics) or Eq. (ML discrete dynamics), and their exact flow."""

    def __init__(self, state, parameters):
        self.M = {layer: state[f"M__{layer}"].tolist() for layer in ("alpha", "beta")}
        self.n = {"alpha": [0] * K, "beta": [0] * len(N_D)}
        self.rule = {"alpha": parameters.word_step, "beta": parameters.doc_step}
        self.lamda, self.is_flow = parameters.doc_topic_prior, parameters.integrator == "flow"
        self.varphi = np.broadcast_to(parameters.topic_word_prior, V).tolist()
        self.Delta = [0] * K  # tokens since the last spike of each topic
        self.memory = {}  # per synapse: (s_1, s_2) or G
        self.base = {key: getattr(rule, "eta", None) for key, rule in self.rule.items()}

    def synapse(self, layer, i, j, n, c, a):
        M, rule, key = self.M[layer][i][j], self.rule[layer], (layer, i, j)
        if isinstance(rule, RobbinsMonro):
            eta = max(rule.scale * (1 + n / rule.offset) ** -rule.power, rule.floor)
            eta = eta / a if layer == "beta" else eta  # our unit of time, see RobbinsMonro
        elif isinstance(rule, VarianceTracking):
            s_1, s_2 = self.memory.get(key, (M, M**2 + rule.initial_variance))
            eta = (s_2 - s_1**2) / (exp(-s_1) + 1)
        else:
            g = c * exp(-M) - a
            self.memory[key] = self.memory.get(key, 0.0) + g**2
            eta = self.base[layer] / sqrt(self.memory[key] + rule.epsilon)
        if self.is_flow:  # dp/ds = c - a p
            M = log(exp(-a * eta) * exp(M) + (1 - exp(-a * eta)) * c / a)
        else:
            M = M + eta * (c * exp(-M) - a)
        if isinstance(rule, VarianceTracking):
            self.memory[key] = s_1 + eta * (M - s_1), s_2 + eta * (M**2 - s_2)
        self.M[layer][i][j] = M

    def token(self, w, d, winner):
        self.Delta = [Delta + 1 for Delta in self.Delta]
        waited = self.Delta[winner] / int(N_D.sum())  # Delta/N
        for v in range(V):  # M^alpha stands for log P: with a prior, all that the neuron sees
            c = (1 if v == w else 0) + self.varphi[v] * waited
            a = 1 + sum(self.varphi) * waited
            self.synapse("alpha", winner, v, self.n["alpha"][winner], c, a)
        self.Delta[winner] = 0
        for z in range(K):
            h_z = 1 if z == winner else 0
            if self.lamda is None:
                c, a = h_z, 1
            else:
                kappa = sum(self.lamda) - K
                c = h_z + (self.lamda[z] - 1) / int(N_D[d])
                a = 1 / kappa + 1 / int(N_D[d])
            self.synapse("beta", d, z, self.n["beta"][d], c, a)
        self.n["alpha"][winner] += 1
        self.n["beta"][d] += 1

    def end_pass(self):
        for layer, rule in self.rule.items():
            if isinstance(rule, AdaGrad):
                self.base[layer] *= rule.amplification


def every_combination():
    for word, doc, integrator, lamda in product(RULES, RULES, ("euler", "flow"), (None, LAMDA)):
        for gauge in (False, True) if word == "robbins-monro" else (False,):
            name = f"{'plsi' if lamda is None else 'lda'}-{integrator}-{word}-{doc}-gauge={gauge}"
            yield pytest.param(
                EventDrivenParameters(K, lamda, RULES[word], RULES[doc], integrator, gauge), id=name
            )
    priors = (0.4, np.array([0.0, 0.3, 2.0]))
    for doc, gauge, varphi, lamda in product(RULES, (False, True), priors, (None, LAMDA)):
        name = f"{'plsi' if lamda is None else 'lda'}-{doc}-gauge={gauge}-prior on Phi"
        name += " by word" if np.ndim(varphi) else ""
        parameters = EventDrivenParameters(
            K, lamda, RULES["robbins-monro"], RULES[doc], "flow", gauge, varphi
        )
        yield pytest.param(parameters, id=name)


@pytest.mark.parametrize("parameters", list(every_combination()))
def test_golden_trace(parameters):
    start = initial_state(parameters, V, N_D, seed=3)
    literal = Literal(start, parameters)
    network = rate_twin(parameters, V, N_D, seed=3)
    for w, d, z in zip(WORDS, DOCS, WINNERS, strict=True):
        assert network.present([w], [d], winners=[z]).tolist() == [z]
        literal.token(w, d, z)
        np.testing.assert_allclose(network.J__alpha, literal.M["alpha"], rtol=0, atol=SAME_FORMULA)
        np.testing.assert_allclose(network.M__beta, literal.M["beta"], rtol=0, atol=SAME_FORMULA)
        if parameters.smoothed:
            assert network.state()["Delta_alpha"].tolist() == literal.Delta
        else:
            np.testing.assert_array_equal(network.J__alpha, network.M__alpha)
    state = network.state()
    assert state["n_alpha"].tolist() == literal.n["alpha"] == [3, 5]
    assert state["n_beta"].tolist() == literal.n["beta"] == [5, 3]


def test_the_golden_trace_in_numbers():
    """Two Euler updates worked out on paper, so that `Literal` itself is not taken on trust."""
    parameters = EventDrivenParameters(
        2, LAMDA, RobbinsMonro(0.5, power=0), RobbinsMonro(0.5, power=0), "euler", False
    )
    zero = {"M__alpha": np.zeros((2, 3)), "M__beta": np.zeros((2, 2))}
    zero |= {"n_alpha": np.zeros(2), "n_beta": np.zeros(2)}
    network = rate_twin(parameters, 3, N_D, seed=0, initial=zero)
    network.present([1], [0], winners=[0])
    # M^alpha of the winner: 0 + 0.5 (x - 1); M^beta: eta = 0.5/a, a = 1/0.7 + 1/5 = 1.62857...
    np.testing.assert_allclose(network.M__alpha, [[-0.5, 0, -0.5], [0, 0, 0]], rtol=1e-15)
    a = 1 / 0.7 + 0.2
    beta_0 = [0.5 / a * (1 + 0.5 / 5) - 0.5, 0.5 / a * (0.2 / 5) - 0.5]
    np.testing.assert_allclose(network.M__beta, [beta_0, [0, 0]], rtol=1e-14)
    network.present([0], [1], winners=[0])
    expected = [-0.5 + 0.5 * (exp(0.5) - 1), -0.5, -1.0]
    np.testing.assert_allclose(network.M__alpha[0], expected, rtol=1e-15)


@pytest.mark.parametrize("layer", ("word", "doc"))
def test_adagrad_is_amplified_at_the_end_of_a_pass(layer):
    steps = {"word_step": RobbinsMonro(), "doc_step": RobbinsMonro()}
    steps[f"{layer}_step"] = AdaGrad(0.4, 3.0, 1e-3)
    parameters = EventDrivenParameters(K, LAMDA, **steps, gauge=False)
    literal = Literal(initial_state(parameters, V, N_D, seed=1), parameters)
    network = rate_twin(parameters, V, N_D, seed=1)
    for _ in range(2):
        network.present(WORDS, DOCS, winners=WINNERS)
        network.end_pass()
        for token in zip(WORDS, DOCS, WINNERS, strict=True):
            literal.token(*token)
        literal.end_pass()
    np.testing.assert_allclose(network.M__alpha, literal.M["alpha"], rtol=0, atol=SAME_FORMULA)
    np.testing.assert_allclose(network.M__beta, literal.M["beta"], rtol=0, atol=SAME_FORMULA)
    key = "eta_0__alpha" if layer == "word" else "eta_0__beta"
    np.testing.assert_allclose(network.state()[key], 0.4 * 9, rtol=1e-15)


def long_stream(n_tokens=4000, n_words=20, n_docs=6, seed=0):
    rng = np.random.default_rng(seed)
    docs = rng.integers(0, n_docs, n_tokens)
    words = (rng.poisson(3, n_tokens) + 3 * docs) % n_words
    return words, docs, np.bincount(docs, minlength=n_docs)


SEVERAL = np.array([1.1, 1.5, 2.0, 1.3])


@pytest.mark.parametrize(
    ("integrator", "lamda", "varphi"),
    [
        ("euler", None, 0.0),
        ("euler", SEVERAL, 0.0),
        ("flow", None, 0.0),
        ("flow", SEVERAL, 0.0),
        ("flow", None, 2.0),
        ("flow", SEVERAL, 2.0),
    ],
    ids=(
        "plsi, euler", "lda, euler", "plsi, flow", "lda, flow",
        "plsi, prior on Phi", "lda, prior on Phi",
    ),
)  # fmt: skip
def test_gauge_form_equals_the_full_form(integrator, lamda, varphi):
    """Same winners, drawn not forced, and the same weights after 4 000 tokens."""
    words, docs, lengths = long_stream()
    # Euler overshoots by eta exp(-M): a short step keeps the weights where rounding is 1e-15
    step = RobbinsMonro(0.01, power=0) if integrator == "euler" else RobbinsMonro(0.5, 10.0, 0.7)
    networks = [
        rate_twin(
            EventDrivenParameters(4, lamda, step, step, integrator, gauge, varphi),
            20,
            lengths,
            seed=5,
        )  # fmt: skip
        for gauge in (True, False)
    ]
    winners = [network.present(words, docs) for network in networks]
    assert len(np.unique(winners[0])) == 4
    np.testing.assert_array_equal(*winners)
    assert 5 < np.ptp(networks[0].M__alpha) < 100  # they have learnt, and not exploded
    # M and a_z have size ~10 and are rounded 4 000 times: 4000 * 1e-15 at most
    np.testing.assert_allclose(networks[0].M__alpha, networks[1].M__alpha, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(networks[0].M__beta, networks[1].M__beta)
    np.testing.assert_array_equal(networks[0]._s_alpha, networks[1]._s_alpha)


@pytest.mark.parametrize("varphi", (0.0, 2.0))
def test_rates_kept_beside_the_weights_stay_theirs(varphi):
    """To the last bit, after several moves of r_z: a restored network makes them anew."""
    words, docs, lengths = long_stream()
    step = RobbinsMonro(0.3, power=0)
    parameters = EventDrivenParameters(4, np.full(4, 1.1), step, step, topic_word_prior=varphi)
    network = rate_twin(parameters, 20, lengths, seed=5)
    network.present(words, docs)
    m, a = network._m__alpha, network._offset__alpha
    assert a.min() > 2 * event_driven_kernel.REBASE
    for kept, anew in zip(network._rates, event_driven_kernel.word_rates(m, a), strict=True):
        np.testing.assert_array_equal(kept, anew)
    np.testing.assert_allclose(network._rates[0] * network._rates[1], np.exp(m - a), rtol=1e-12)


@pytest.mark.parametrize("integrator", ("euler", "flow"))
@pytest.mark.parametrize(
    ("word_step", "doc_step", "gauge", "varphi"),
    [
        (RobbinsMonro(), RobbinsMonro(), True, 0.0),
        (RobbinsMonro(), RobbinsMonro(), True, 2.0),
        (RobbinsMonro(), RobbinsMonro(), False, 0.0),
        (VarianceTracking(), AdaGrad(), False, 0.0),
        (AdaGrad(), VarianceTracking(), False, 0.0),
    ],
)
def test_a_restored_state_goes_on_bit_for_bit(integrator, word_step, doc_step, gauge, varphi):
    words, docs, lengths = long_stream(400)
    varphi = varphi if integrator == "flow" else 0.0
    parameters = EventDrivenParameters(
        4, np.full(4, 1.1), word_step, doc_step, integrator, gauge, varphi
    )
    original = rate_twin(parameters, 20, lengths, seed=5)
    original.present(words[:200], docs[:200])
    state = original.state()
    restored = rate_twin(parameters, 20, lengths, seed=99, initial=state)
    frozen = {key: value.copy() for key, value in state.items()}
    np.testing.assert_array_equal(
        original.present(words[200:], docs[200:]), restored.present(words[200:], docs[200:])
    )
    end, restored_end = original.state(), restored.state()
    assert end.keys() == restored_end.keys()
    for key in end:
        np.testing.assert_array_equal(end[key], restored_end[key], err_msg=key)
        np.testing.assert_array_equal(state[key], frozen[key], err_msg=f"{key} is shared")
    assert not np.array_equal(state["M__alpha"], end["M__alpha"])


def test_initial_weights():
    """Appendix "Network initialization": N(1, 1), but log(1/K) for M^beta of ed-SpikePLSI."""
    lengths = np.full(300, 10)
    lda = initial_state(EventDrivenParameters(10, np.full(10, 1.1)), 300, lengths, seed=0)
    for key in ("M__alpha", "M__beta"):
        assert lda[key].shape == ((10, 300) if key == "M__alpha" else (300, 10))
        assert stats.kstest(lda[key].ravel(), stats.norm(1, 1).cdf).pvalue > 0.01
    plsi = initial_state(EventDrivenParameters(10, None), 300, lengths, seed=0)
    np.testing.assert_array_equal(plsi["M__beta"], np.full((300, 10), -np.log(10)))
    np.testing.assert_array_equal(plsi["M__alpha"], lda["M__alpha"])
    other = initial_state(EventDrivenParameters(10, None), 300, lengths, seed=1)
    assert not np.array_equal(other["M__alpha"], plsi["M__alpha"])


@pytest.mark.parametrize("M", (-700.0, -50.0, 0.0, 50.0, 700.0))
@pytest.mark.parametrize("eta", (1e-8, 0.1, 1.0, 30.0))
def test_flow_is_the_exact_solution(M, eta):
    """M' = log(e^(-a eta) e^M + (1 - e^(-a eta)) c/a), for every weight and step."""
    for c, a in ((1.0, 1.0), (1.02, 1.7), (0.01, 0.4), (0.0, 1.0)):
        gained = np.log(c / a * -np.expm1(-a * eta)) if c > 0 else -np.inf
        expected = np.logaddexp(M - a * eta, gained)
        np.testing.assert_allclose(flow(M, c, a, eta), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("M", "eta"), [(-1000.0, 0.1), (0.0, 1000.0), (-800.0, 800.0)])
def test_flow_is_finite_where_exp_is_not(M, eta):
    expected = np.logaddexp(M - eta, np.log(-np.expm1(-eta)))
    np.testing.assert_allclose(flow(M, 1.0, 1.0, eta), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("integrator", ("euler", "flow"))
@pytest.mark.parametrize("gauge", (True, False))
@pytest.mark.parametrize("extreme", (-700.0, 700.0))
def test_extreme_weights_stay_finite(integrator, gauge, extreme):
    rng = np.random.default_rng(0)
    parameters = EventDrivenParameters(
        K, LAMDA, RobbinsMonro(1e-3, power=0), RobbinsMonro(1e-3, power=0), integrator, gauge
    )
    state = {
        "M__alpha": extreme + rng.normal(size=(K, V)),
        "M__beta": extreme + rng.normal(size=(2, K)),
        "n_alpha": np.zeros(K),
        "n_beta": np.zeros(2),
    }
    network = rate_twin(parameters, V, N_D, seed=1, initial=state)
    network.present(WORDS * 10, DOCS * 10)
    assert np.isfinite(network.M__alpha).all()
    assert np.isfinite(network.M__beta).all()


@pytest.mark.parametrize("gauge", (True, False))
def test_a_word_that_returns_after_a_long_silence(gauge):
    """With a floor on eta a silent synapse sinks without end; its next spike must not overflow."""
    parameters = EventDrivenParameters(
        K, LAMDA, RobbinsMonro(1.0, power=0), RobbinsMonro(), "flow", gauge
    )
    network = rate_twin(parameters, V, N_D, seed=1)
    silent = np.zeros(2000, np.int64)
    network.present(silent, silent, winners=silent % 2)
    network.present(silent, silent, winners=silent % 2 + 1)
    assert network.M__alpha[0, 1] < -1500
    network.present([1], [0], winners=[0])
    np.testing.assert_allclose(network.M__alpha[0, 1], np.log(1 - np.exp(-1.0)), rtol=1e-9)


@pytest.mark.parametrize(
    ("words", "docs", "winners", "names"),
    [
        ([0, 1], [0], None, "words"),
        ([V], [0], None, "words"),
        ([-1], [0], None, "words"),
        ([0], [2], None, "docs"),
        ([0], [-1], None, "docs"),
        ([0], [0], [K], "winners"),
        ([0, 1], [0, 0], [0], "winners"),
    ],
)
def test_tokens_out_of_range_never_reach_the_kernel(monkeypatch, words, docs, winners, names):
    def kernel(*arguments):
        pytest.fail("the kernel, which has no bounds check, was called")

    network = rate_twin(EventDrivenParameters(K, LAMDA), V, N_D, seed=0)
    monkeypatch.setattr(event_driven, "present_tokens", kernel)
    with pytest.raises(ParameterError, match=names):
        network.present(words, docs, winners=winners)


@pytest.mark.parametrize("integrator", ("euler", "flow"))
@pytest.mark.parametrize("doc_step", (RobbinsMonro(), VarianceTracking(), AdaGrad()), ids=RULES)
def test_no_rule_diverges_in_silence(integrator, doc_step):
    """Small lambda, so a = 1/kappa + 1/N_d > 2: finite weights, or an error that says so."""
    words, docs, _ = long_stream(20_000, 50, 9)
    parameters = EventDrivenParameters(
        5, np.full(5, 1.1), VarianceTracking(), doc_step, integrator, gauge=False
    )
    network = rate_twin(parameters, 50, np.full(9, 20), seed=0)
    try:
        network.present(words, docs)
    except DivergenceError:
        return
    for key, value in network.state().items():
        assert np.isfinite(value).all(), key


def test_each_twin_refuses_the_parameters_of_the_other():
    with_prior, without = EventDrivenParameters(K, LAMDA), EventDrivenParameters(K, None)
    with pytest.raises(ParameterError, match=r"needs a doc_topic_prior.*EdSpikePLSIReference"):
        EdSpikeLDAReference(without, V, N_D, seed=0)
    with pytest.raises(ParameterError, match=r"must be None; found \[1.*EdSpikeLDAReference"):
        EdSpikePLSIReference(with_prior, V, N_D, seed=0)
