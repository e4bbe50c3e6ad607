"""ed-SpikePLSI: after some passes documents begin anew, and words go on."""

import numpy as np
import pytest

from brian_lda import EdSpikePLSI
from brian_lda.constraints import Constraints
from brian_lda.corpus import load_corpus
from brian_lda.errors import ParameterError
from brian_lda.estimators.trainers import EventDrivenTrainer
from brian_lda.initial_weights import initial_state, with_documents_anew
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.event_driven import EventDrivenTwin
from brian_lda.simulation import EventDrivenSpiking, SlottedSpiking
from brian_lda.step_rules import RobbinsMonro, VarianceTracking

V, K, SEED = 5, 3, 2
WORDS = np.array([0, 1, 2, 3, 4, 0, 3, 1])
DOCS = np.array([0, 0, 1, 1, 2, 2, 0, 1])
N_D = np.bincount(DOCS)
STEP = RobbinsMonro(0.3, 20)
PLSI = EventDrivenParameters(K, None, STEP, STEP, topic_word_prior=0.1)
PAPER = EventDrivenParameters(K, None, VarianceTracking(), VarianceTracking(), "euler", False)
IN_PYTHON = {"simulator": "numpy"}
NETWORKS = {
    "rate": lambda p: EventDrivenTwin(p, V, N_D, seed=SEED),
    "spiking": lambda p: EventDrivenSpiking(p, V, N_D, seed=SEED, **IN_PYTHON),
    "2 documents on chip": lambda p: SlottedSpiking(
        p, V, N_D, seed=SEED, constraints=Constraints(document_slots=2), **IN_PYTHON
    ),
}


@pytest.mark.parametrize("parameters", [PLSI, PAPER], ids=["plsi", "as printed"])
@pytest.mark.parametrize("network", NETWORKS)
def test_documents_begin_anew_and_words_go_on(network, parameters):
    twin = NETWORKS[network](parameters)
    twin.present(WORDS, DOCS)
    before = twin.state()
    assert np.abs(before["M__beta"] + np.log(K)).min(axis=1).max() > 1e-3  # not vacuous
    twin.set_state(with_documents_anew(before, parameters, SEED))
    after = twin.state()
    np.testing.assert_allclose(after["M__beta"], -np.log(K), rtol=1e-14)
    # exp and log in between, where a network stores exp M
    np.testing.assert_allclose(after["M__alpha"], before["M__alpha"], rtol=0, atol=1e-13)
    for name in ("n_alpha", "n_beta", *(("s_alpha", "Delta_alpha") if parameters is PLSI else ())):
        np.testing.assert_array_equal(after[name], before[name])
    if parameters is PAPER:  # the step rule forgets what it knew of these synapses, of no others
        first = initial_state(parameters, V, N_D, SEED)
        for name in ("s_1__beta", "s_2__beta"):
            np.testing.assert_allclose(after[name], first[name], rtol=1e-14)
            alpha = name.replace("beta", "alpha")
            np.testing.assert_array_equal(after[alpha], before[alpha])


class Noting(EventDrivenTwin):
    """Notes before each pass which documents have their first weights."""

    fresh = ()

    def present(self, words, docs, winners=None):
        self.fresh += (bool(np.allclose(self.M__beta, -np.log(K))),)
        return super().present(words, docs, winners)


@pytest.mark.parametrize(
    ("doc_restart", "fresh"), [(0, [1, 0, 0, 0, 0]), (2, [1, 0, 1, 0, 1]), (3, [1, 0, 0, 1, 0])]
)
def test_trainers_begin_documents_anew_after_so_many_passes(doc_restart, fresh):
    network = Noting(PLSI, V, N_D, seed=SEED)
    trainer = EventDrivenTrainer(network, WORDS, DOCS, SEED, np.zeros(V), doc_restart=doc_restart)
    for _ in range(5):
        trainer.iterate()
    assert list(network.fresh) == fresh


@pytest.mark.parametrize("backend", ["rate", "brian2"])
def test_the_estimator_does_and_goes_on_from_a_checkpoint(backend):
    corpus = load_corpus("bars", grid=3, n_docs=12, doc_length=10, seed=0)
    options = {"n_topics": K, "doc_restart": 2, "random_state": 0, "backend": backend}
    options |= {"brian2_options": IN_PYTHON} if backend == "brian2" else {}
    never = EdSpikePLSI(**{**options, "doc_restart": 0}, max_iter=3).fit(corpus)
    whole = EdSpikePLSI(**options, max_iter=3).fit(corpus)
    assert not np.array_equal(never.components_, whole.components_)
    trainer = EdSpikePLSI(**options, max_iter=2).fit(corpus).trainer_  # stops before the restart
    other = EdSpikePLSI(**options, max_iter=1).fit(corpus).trainer_
    other.set_state(trainer.state())
    other.iterate()
    assert np.array_equal(other.network.M__beta, whole.trainer_.network.M__beta)
    assert np.array_equal(other.phi, whole.trainer_.phi)


def test_a_stream_shows_documents_as_often_as_it_wants():
    """Its documents are new ones, and are never shown again."""
    corpus = load_corpus("bars", grid=3, n_docs=12, doc_length=10, seed=0)
    models = [
        EdSpikePLSI(n_topics=K, doc_restart=passes, random_state=0).partial_fit(corpus)
        for passes in (0, 2)
    ]
    assert np.array_equal(models[0].components_, models[1].components_)


@pytest.mark.parametrize("wrong", [-1, 2.5, True, "10"])
def test_wrong_numbers_of_passes_are_refused(wrong):
    with pytest.raises(ParameterError, match="doc_restart must be a number of passes"):
        EdSpikePLSI(n_topics=K, doc_restart=wrong).fit(np.eye(3, dtype=int))
