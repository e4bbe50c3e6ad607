"""What lies between well-tested parts: each estimator hands its parts what they are to get.

Every test here fails when one line of wiring is wrong, though all parts are right (the faults that
were tried: group "wiring" of tests/mutation/targets.toml). The same for what networks start from
and how fast they forget it: test_wiring_steps.py; for studies and runs:
test_wiring_study.py, test_wiring_runs.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from brian_lda import (
    DuSpikeLDA,
    EdSpikeLDA,
    EdSpikePLSI,
    SemiSpikeLDA,
    StochasticGradientMCMCLDA,
    StochasticVariationalLDA,
)
from brian_lda.algorithms import ALGORITHMS, PRIOR_OFFSETS
from brian_lda.automatic_steps import STREAM_BATCH_VISITS, STREAM_EVENT_VISITS
from brian_lda.corpus import load_corpus
from brian_lda.estimators.trainers import EventDrivenTrainer, MiniBatchTrainer, softmax_rows
from brian_lda.evaluation import fold_in
from brian_lda.step_rules import AdaGrad, RMSProp, RobbinsMonro, VarianceTracking

TINY = np.array([[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 2, 3], [0, 0, 1, 4], [0, 0, 0, 1]])
MORE = np.array([[0, 2, 1, 0], [1, 0, 0, 2], [0, 1, 1, 1]])
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)


# --- trainers ----------------------------------------------------------------------------------


class Recorder:
    """A network that notes what it is shown."""

    M__alpha = M__beta = np.zeros((1, 1))

    def __init__(self):
        self.events = []

    def present(self, words, docs):
        self.events.append(list(zip(words.tolist(), docs.tolist(), strict=True)))

    def end_pass(self):
        self.events.append("end of pass")

    def update(self, counts):
        self.events.append(counts.toarray().tolist())

    def state(self):
        return {}

    def set_state(self, state):
        pass


def shown(seed, n_passes=2):
    words, docs = np.array([0, 1, 2, 3, 4, 5, 6, 7]), np.array([0, 0, 0, 1, 1, 1, 2, 2])
    network = Recorder()
    trainer = EventDrivenTrainer(network, words, docs, seed, np.zeros(8))
    for _ in range(n_passes):
        assert trainer.iterate() == 8
    return network.events, list(zip(words.tolist(), docs.tolist(), strict=True)), trainer


def test_a_pass_shows_every_token_once_and_then_ends():
    events, tokens, _ = shown(0, n_passes=3)
    assert events[1::2] == ["end of pass"] * 3
    assert [sorted(seen) for seen in events[::2]] == [tokens] * 3
    assert len({tuple(seen) for seen in events[::2]}) == 3  # each pass in an order of its own
    assert shown(0, n_passes=3)[0] == events
    assert shown(1, n_passes=3)[0][0] != events[0]  # which the seed decides


def test_a_restored_trainer_shows_the_pass_that_comes_next():
    events, _, _ = shown(0, n_passes=3)
    _, _, trainer = shown(0, n_passes=1)
    state = trainer.state()
    _, _, other = shown(0, n_passes=0)
    other.set_state(state)
    other.iterate()
    assert other.network.events[0] == events[2]


def test_mini_batches_cover_the_corpus_in_another_order_each_pass():
    source = load_corpus("bars", grid=2, n_docs=7, doc_length=9, seed=0)
    documents = sorted(source.counts.toarray().tolist())

    def batches(seed, skip=0):
        algorithm = Recorder()
        trainer = MiniBatchTrainer(algorithm, source, 3, seed)
        if skip:
            trainer.set_state({"n_batches": np.array([skip])})
        tokens = [trainer.iterate() for _ in range(6 - skip)]
        assert tokens == [int(np.sum(batch)) for batch in algorithm.events]
        return algorithm.events

    events = batches(0)
    assert [len(batch) for batch in events] == [3, 3, 1] * 2
    passes = [sum(events[:3], []), sum(events[3:], [])]
    assert [sorted(seen) for seen in passes] == [documents] * 2
    assert passes[0] != passes[1]
    assert batches(1) != events and batches(0) == events
    assert batches(0, skip=4) == events[4:]  # a restored trainer goes on within the pass


# --- event-driven estimators -------------------------------------------------------------------


def test_adagrad_amplifies_its_base_step_once_a_pass():
    """ "we amplify the step size by a factor c at the end of every iteration" (appendix)."""
    model = EdSpikeLDA(
        n_topics=2, max_iter=3, random_state=0, integrator="euler",
        word_step=VarianceTracking(), doc_step=AdaGrad(eta=0.01, amplification=2.0),
    ).fit(TINY)  # fmt: skip
    np.testing.assert_allclose(model.trainer_.network.state()["eta_0__beta"], 0.08, rtol=1e-15)


@pytest.mark.parametrize("integrator", ["flow", "euler"])
@pytest.mark.parametrize("word_step", [RobbinsMonro(scale=0.01), VarianceTracking()])
def test_phi_is_read_out_with_its_prior_or_smoothed(integrator, word_step):
    """The network has the prior where its steps take it; else Phi is smoothed by varphi K/N."""
    model = EdSpikeLDA(
        n_topics=2, max_iter=2, random_state=0, topic_word_prior=0.3, integrator=integrator,
        word_step=word_step,
    ).fit(TINY)  # fmt: skip
    network, state = model.trainer_.network, model.trainer_.network.state()
    has_prior = integrator == "flow" and word_step.per_neuron
    assert network.parameters.topic_word_prior == (0.3 if has_prior else 0.0)
    assert network.parameters.n_training_tokens == TINY.sum()
    if has_prior:
        phi = np.exp(network.M__alpha) + 0.3 * state["s_alpha"][:, None]
    else:
        phi = softmax_rows(network.M__alpha) + 0.3 * 2 / TINY.sum()
    np.testing.assert_allclose(model.components_, phi / phi.sum(axis=1, keepdims=True), rtol=1e-14)


def test_parameters_reach_the_event_driven_network():
    word_step, doc_step = RobbinsMonro(scale=0.5, offset=3.0), RobbinsMonro(scale=0.25)
    model = EdSpikeLDA(
        n_topics=2, doc_topic_prior=[1.25, 1.5], max_iter=1, random_state=5,
        word_step=word_step, doc_step=doc_step, gauge=False,
    ).fit(TINY)  # fmt: skip
    parameters = model.trainer_.network.parameters
    assert (parameters.word_step, parameters.doc_step) == (word_step, doc_step)
    assert parameters.doc_topic_prior.tolist() == [1.25, 1.5]
    assert (parameters.gauge, parameters.integrator) == (False, "flow")
    for varphi in (0.25, 0.0):
        plsi = EdSpikePLSI(
            n_topics=2, topic_word_prior=varphi, max_iter=1, random_state=0, doc_step=doc_step
        ).fit(TINY)
        parameters = plsi.trainer_.network.parameters
        assert parameters.doc_topic_prior is None and parameters.topic_word_prior == varphi
        assert parameters.doc_step == doc_step


@pytest.mark.parametrize("estimator", [EdSpikeLDA, EdSpikePLSI, SemiSpikeLDA, DuSpikeLDA])
def test_the_seed_reaches_the_winners_and_the_order_not_only_the_first_weights(estimator):
    """From the same weights, two seeds show tokens in two orders and draw other winners."""
    models = [estimator(n_topics=2, max_iter=1, random_state=seed) for seed in (0, 1)]
    first, second = (model.fit(TINY) for model in models)
    if estimator in (EdSpikeLDA, EdSpikePLSI):
        assert first.trainer_._seed == 0 and second.trainer_._seed == 1
        streams = [m.trainer_.network.state()["stream"] for m in (first, second)]
        assert not np.array_equal(*streams)
    else:
        assert first.trainer_._seed == 0 and second.trainer_._seed == 1
        assert (first.trainer_.algorithm.seed, second.trainer_.algorithm.seed) == (0, 1)


@pytest.mark.parametrize("estimator", [EdSpikeLDA, EdSpikePLSI])
def test_partial_fit_keeps_word_synapses_and_counters_and_forgets_documents(estimator):
    model = estimator(n_topics=2, max_iter=4, random_state=0).fit(TINY)
    before = model.trainer_.network.state()
    assert before["n_alpha"].sum() == 4 * TINY.sum()  # one spike a token
    step = model.trainer_.network.parameters.word_step
    model.partial_fit(MORE)
    network = model.trainer_.network
    after = network.state()
    assert after["n_alpha"].sum() == 4 * TINY.sum() + STREAM_EVENT_VISITS * MORE.sum()
    np.testing.assert_array_equal(after["n_beta"], STREAM_EVENT_VISITS * MORE.sum(axis=1))
    assert network.parameters.word_step == step
    n_tokens = 4 * TINY.sum() + MORE.sum()
    assert network.parameters.n_training_tokens == n_tokens
    assert network.parameters.topic_word_prior == getattr(model, "topic_word_prior", 0.0)


@pytest.mark.parametrize(
    "rule", [RobbinsMonro(), VarianceTracking(), AdaGrad(eta=0.1, amplification=2.0)]
)
def test_partial_fit_starts_from_the_word_synapses_of_the_network_before(rule, monkeypatch):
    model = EdSpikeLDA(n_topics=2, max_iter=2, random_state=0, word_step=rule).fit(TINY)
    before = model.trainer_.network.state()
    monkeypatch.setattr(type(model), "_train", lambda self, n_iterations: None)
    after = model.partial_fit(MORE).trainer_.network.state()
    kept = [name for name in before if name.endswith("alpha")]
    assert {"M__alpha", "n_alpha"} < set(kept)  # and what the rule keeps
    assert ("s_alpha" in kept and before["s_alpha"].min() > 0) == isinstance(rule, RobbinsMonro)
    for name in set(kept) - {"m__alpha", "a__alpha"}:  # those are one way to store M^alpha
        np.testing.assert_array_equal(after[name], before[name])
    assert after["M__beta"].shape == (3, 2) and not after["n_beta"].any()
    assert not np.isin(after["M__beta"], before["M__beta"]).any()  # fresh


# --- mini-batch estimators ---------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [SemiSpikeLDA, DuSpikeLDA])
def test_parameters_reach_the_mini_batch_algorithm(estimator):
    word_step, doc_step = RMSProp(eta=0.25), RMSProp(eta=0.5)
    steps = {"word_step": word_step} | ({"doc_step": doc_step} if estimator is DuSpikeLDA else {})
    model = estimator(
        n_topics=2, doc_topic_prior=[1.25, 1.5], topic_word_prior=0.3, max_iter=2, batch_size=3,
        local_iterations=7, random_state=0, **steps,
    ).fit(TINY)  # fmt: skip
    parameters = model.trainer_.algorithm.parameters
    assert (parameters.word_step, parameters.local_iterations) == (word_step, 7)
    assert parameters.doc_topic_prior.tolist() == [1.25, 1.5]
    if estimator is DuSpikeLDA:
        assert parameters.doc_step == doc_step
    words = model.trainer_.algorithm.words  # a pass: all tokens, and 0.3 counts of each synapse
    assert words.n_spikes.sum() == pytest.approx(TINY.sum() + 0.3 * 2 * 4, rel=1e-12)
    assert [record["tokens"] for record in model.history_][1] == TINY.sum()  # 5 documents, 3 + 2


@pytest.mark.parametrize("estimator", [SemiSpikeLDA, DuSpikeLDA])
def test_partial_fit_goes_on_counting_spikes_and_tokens(estimator):
    model = estimator(n_topics=2, max_iter=2, batch_size=3, random_state=0).fit(TINY)
    model.partial_fit(MORE)
    algorithm = model.trainer_.algorithm
    shown = TINY.sum() + STREAM_BATCH_VISITS * MORE.sum()
    # The prior counts once a pass: MORE is a part of all that has been shown so far.
    share = 1.0 + STREAM_BATCH_VISITS * MORE.sum() / (TINY.sum() + MORE.sum())
    expected = shown + share * model.topic_word_prior * 2 * 4
    assert algorithm.words.n_spikes.sum() == pytest.approx(expected, rel=1e-12)
    # other winners than in the mini-batches, and in the visits, before
    assert algorithm.n_updates == 2 + STREAM_BATCH_VISITS


@pytest.mark.parametrize("estimator", [SemiSpikeLDA, DuSpikeLDA])
def test_the_prior_never_outweighs_the_first_documents_of_a_stream(estimator):
    """Half a count a token at the most, as long as tokens are few beside the synapses."""
    few = np.zeros((2, 400), int)
    few[:, :3] = 1
    model = estimator(n_topics=2, topic_word_prior=0.05, random_state=0).partial_fit(few)
    shown = STREAM_BATCH_VISITS * few.sum()  # 6 tokens; a whole prior has 0.05 * 2 * 400 = 40
    assert model.trainer_.algorithm.words.n_spikes.sum() == pytest.approx(1.5 * shown, rel=1e-12)
    model.partial_fit(100 * few)  # 606 tokens so far: the prior counts whole, in its share of them
    more = STREAM_BATCH_VISITS * 600
    expected = 1.5 * shown + more + more / 606 * 40
    assert model.trainer_.algorithm.words.n_spikes.sum() == pytest.approx(expected, rel=1e-12)


# --- baselines ---------------------------------------------------------------------------------


def test_parameters_reach_the_variational_baseline():
    options = {"n_topics": 3, "doc_topic_prior": 0.7, "topic_word_prior": 0.52, "random_state": 11}
    model = StochasticVariationalLDA(
        **options, max_iter=2, batch_size=2, local_iterations=4, step=(0.2, 50.0, 0.8)
    ).fit(TINY)
    lda = model.trainer_.algorithm.lda
    assert (lda.n_components, lda.doc_topic_prior, lda.topic_word_prior) == (3, 0.7, 0.52)
    assert (lda.max_doc_update_iter, lda.total_samples, lda.random_state) == (4, 5, 11)
    assert (lda.learning_method, lda.learning_decay) == ("online", 0.8)
    counts = lda.components_ - 0.5  # taken off Phi as it is off theta
    assert counts.min() > 0.01  # varphi = 0.52: the floor is out of reach
    expected = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.components_, expected, rtol=1e-12)
    assert StochasticVariationalLDA().local_iterations == 5  # appendix, Tab. "Dataset: NIPS"
    stream = StochasticVariationalLDA(**options, total_documents=70).partial_fit(TINY)
    assert stream.trainer_.algorithm.lda.total_samples == 70


def test_parameters_reach_the_sgmcmc_baseline():
    model = StochasticGradientMCMCLDA(
        n_topics=3, doc_topic_prior=0.7, topic_word_prior=0.52, max_iter=2, batch_size=2,
        local_iterations=4, step=(0.2, 50.0, 0.8), random_state=11,
    ).fit(TINY)  # fmt: skip
    algorithm = model.trainer_.algorithm
    assert (algorithm.lamda.tolist(), algorithm.varphi.tolist()) == ([0.7] * 3, [0.52] * 4)
    assert (algorithm.local_iterations, algorithm.step) == (4, (0.2, 50.0, 0.8))
    assert (algorithm.n_docs, algorithm.seed, algorithm.n_updates) == (5, 11, 2)
    stream = StochasticGradientMCMCLDA(n_topics=3, random_state=0, total_documents=70)
    assert stream.partial_fit(TINY).trainer_.algorithm.n_docs == 70


# --- what all estimators share -----------------------------------------------------------------


@every_algorithm
def test_theta_of_new_documents_has_the_prior_of_a_sampler(algorithm):
    """lambda "offset by +0.5 for VI and +1 for MAP" (Sec. 4); the fold-in takes the offset back."""
    offset = PRIOR_OFFSETS.get(algorithm.prior)
    prior = {"fold_in_prior": 0.3} if offset is None else {"doc_topic_prior": 0.3 + offset}
    model = algorithm.load_estimator()(n_topics=2, max_iter=2, random_state=0, **prior).fit(TINY)
    expected = fold_in(model.components_, sparse.csr_array(MORE), 0.3)
    np.testing.assert_allclose(model.transform(MORE), expected, rtol=1e-9)
    wrong = fold_in(model.components_, sparse.csr_array(MORE), 1.3)
    assert np.abs(model.transform(MORE) - wrong).max() > 1e-3
    assert PRIOR_OFFSETS == {"map": 1.0, "variational": 0.5, "sampler": 0.0}


@every_algorithm
def test_callbacks_see_every_iteration_of_fit_and_of_partial_fit(algorithm):
    seen, estimator = [], algorithm.load_estimator()

    def note(model, record):
        seen.append((record["iteration"], record["tokens"], model.current_phi().copy()))

    batches = {"batch_size": 64} if algorithm.iteration == "mini-batch" else {}
    model = estimator(n_topics=2, max_iter=3, random_state=0, callbacks=[note], **batches).fit(TINY)
    assert [i for i, _, _ in seen] == [1, 2, 3]
    assert [n for _, n, _ in seen] == [record["tokens"] for record in model.history_]
    assert seen[-1][1] == 3 * TINY.sum()  # all documents fit into a mini-batch
    assert not np.array_equal(seen[0][2], seen[1][2])  # the model as of then
    np.testing.assert_array_equal(seen[2][2], model.components_)
    if hasattr(model, "partial_fit"):
        model.partial_fit(MORE)
        assert [i for i, _, _ in seen] == [1, 2, 3, 4]  # all visits are one iteration
        assert seen[-1][1] == 3 * TINY.sum() + MORE.sum()
