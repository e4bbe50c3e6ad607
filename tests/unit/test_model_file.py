"""Saved models: everything comes back, and a bad file gives a message."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from sklearn.base import clone

from brian_lda import (
    CollapsedGibbsLDA,
    DuSpikeLDA,
    EdSpikeLDA,
    EdSpikePLSI,
    SemiSpikeLDA,
    SpikeCGS,
    StochasticVariationalLDA,
    TopicModel,
)
from brian_lda.circuit.inhibition import Poisson
from brian_lda.constraints import Constraints
from brian_lda.errors import ModelFileError
from brian_lda.files.hdf5 import sealed_image
from brian_lda.step_rules import RobbinsMonro


@pytest.fixture(scope="module")
def model(bars):
    rule = RobbinsMonro(scale=2.0, offset=0.5, floor=0.001)
    prior = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    return SemiSpikeLDA(
        n_topics=6, doc_topic_prior=prior, word_step=rule, max_iter=4, random_state=3
    ).fit(bars)


@pytest.fixture
def path(model, tmp_path):
    model.save(tmp_path / "model.h5")
    return tmp_path / "model.h5"


@pytest.mark.parametrize("form", ["object", "dict"])
def test_limits_of_chips_come_back(form, tmp_path):
    """A copy of the loaded model must not train without them."""
    limits = {"weight_bits": 5, "dead_synapses": 0.1, "chip_of_topic": np.array([0, 1])}
    given = Constraints(**limits) if form == "object" else limits
    counts = np.array([[2, 1], [1, 2]])
    model = EdSpikeLDA(n_topics=2, max_iter=2, random_state=0, constraints=given).fit(counts)
    model.save(tmp_path / "model.h5")
    again = clone(TopicModel.load(tmp_path / "model.h5")).fit(counts)
    assert again.trainer_.network.constraints == Constraints(**limits)
    np.testing.assert_array_equal(again.components_, model.components_)


def reseal(path, edit):
    """Change a file and give it a valid checksum again: somebody meant it."""
    with h5py.File(path) as old:

        def copy(new):
            new.attrs.update(old.attrs)
            for name in old:
                old.copy(name, new)
            edit(new)

        image = sealed_image("model", copy)
    path.write_bytes(image)


def test_an_edited_file_is_refused(path):
    with h5py.File(path, "a") as file:
        file.attrs["class"] = "EdSpikeLDA"
    with pytest.raises(ModelFileError, match="damaged"):
        TopicModel.load(path)


def claim_too_much(file):
    del file["components"]
    file.create_dataset("components", shape=(6, 10**12), dtype="f8", chunks=(1, 1000))


def compress(file):
    zeros = np.zeros((6, 1000))
    del file["components"]
    file.create_dataset("components", data=zeros, compression="gzip")


def link_elsewhere(file):
    del file["components"]
    file["components"] = h5py.ExternalLink("/etc/hostname", "/x")


def point_inside(file):
    del file["state/n_updates"]
    file["state/n_updates"] = h5py.SoftLink("/components")


def turn_to_text(file):
    del file["components"]
    file["components"] = np.array([b"x"] * 6)


def put_in_nan(file):
    file["components"][0, 0] = np.nan


def drop_a_word(file):
    words = file["vocabulary"][:-1]
    del file["vocabulary"]
    file["vocabulary"] = words


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (claim_too_much, "claims the shape"),
        (compress, "compressed"),
        (link_elsewhere, "link to somewhere else"),
        (point_inside, "link to somewhere else"),
        (turn_to_text, "expected numbers"),
        (put_in_nan, "finite"),
        (drop_a_word, "8 words for 9 columns"),
    ],
)
def test_hostile_files_are_refused_before_allocation(path, edit, message):
    reseal(path, edit)
    with pytest.raises(ModelFileError, match=message):
        TopicModel.load(path)


def test_everything_comes_back(model, path, bars):
    loaded = TopicModel.load(path)
    assert type(loaded) is SemiSpikeLDA
    np.testing.assert_array_equal(loaded.components_, model.components_)
    np.testing.assert_array_equal(loaded.transform(bars), model.transform(bars))
    np.testing.assert_array_equal(loaded.doc_topic_prior, model.doc_topic_prior)
    assert loaded.word_step == model.word_step
    assert loaded.history_ == model.history_
    assert loaded.vocabulary_ == bars.vocabulary
    assert loaded.seed_ == 3 and loaded.n_iter_ == 4
    np.testing.assert_array_equal(loaded.state_["M__alpha"], model.trainer_.state()["M__alpha"])


def test_matrix_models_have_no_vocabulary_and_svi_saves_too(tmp_path):
    X = np.array([[2, 0, 1], [0, 3, 1]])
    fitted = StochasticVariationalLDA(n_topics=2, max_iter=1, random_state=0).fit(X)
    fitted.save(tmp_path / "svi.h5")
    loaded = TopicModel.load(tmp_path / "svi.h5")
    assert loaded.vocabulary_ is None and loaded.step == fitted.step


def test_another_classes_file_is_refused(path):
    with pytest.raises(ModelFileError, match="holds a model of class SemiSpikeLDA, not EdSpikeLDA"):
        EdSpikeLDA.load(path)


def test_bad_files_give_a_message(path, tmp_path):
    with pytest.raises(ModelFileError, match="there is no model file"):
        TopicModel.load(tmp_path / "nothing.h5")
    (tmp_path / "text.h5").write_text("not HDF5")
    with pytest.raises(ModelFileError, match="not a model of brian_lda"):
        TopicModel.load(tmp_path / "text.h5")
    (tmp_path / "cut.h5").write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelFileError, match="damaged"):
        TopicModel.load(tmp_path / "cut.h5")
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["x"] = [1, 2]
    with pytest.raises(ModelFileError, match="not a model of brian_lda"):
        TopicModel.load(tmp_path / "foreign.h5")


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("class", "os.system", "known models"),
        ("format_version", 99, "format version 99"),
        ("parameters", '{"n_topics": 6, "no_such": 1}', "do not fit"),
        ("parameters", "{", "do not fit"),
        ("parameters", '{"n_topics": 7}', "expected 7 topics"),
        ("parameters", '{"n_topics": 6, "word_step": {"step_rule": {"rule": "X"}}}', "do not fit"),
    ],
)
def test_tampered_attributes_give_a_message(path, attribute, value, message):
    def edit(file):
        file.attrs[attribute] = value

    reseal(path, edit)
    with pytest.raises(ModelFileError, match=message):
        TopicModel.load(path)


def test_saving_where_there_is_no_folder_says_so_and_leaves_nothing(model, tmp_path):
    with pytest.raises(ModelFileError, match="does not exist"):
        model.save(tmp_path / "no" / "model.h5")
    model.save(tmp_path / "model.h5")
    assert [file.name for file in tmp_path.iterdir()] == ["model.h5"]


LEARNERS = [SemiSpikeLDA, SpikeCGS, CollapsedGibbsLDA]


@pytest.mark.parametrize("estimator", LEARNERS)
def test_a_learned_lambda_comes_back(estimator, bars, tmp_path):
    model = estimator(n_topics=6, max_iter=20, random_state=3, learn_prior=True).fit(bars)
    model.save(tmp_path / "model.h5")
    loaded = TopicModel.load(tmp_path / "model.h5")
    assert (loaded.doc_topic_prior_ != 0.1).all() and loaded.doc_topic_prior == 0.1
    np.testing.assert_array_equal(loaded.doc_topic_prior_, model.doc_topic_prior_)
    np.testing.assert_array_equal(loaded.transform(bars), model.transform(bars))
    assert loaded.perplexity(bars, bars) == model.perplexity(bars, bars)
    given = estimator(n_topics=6, max_iter=2, random_state=3).fit(bars)
    given.save(tmp_path / "given.h5")
    np.testing.assert_array_equal(TopicModel.load(tmp_path / "given.h5").doc_topic_prior_, 0.1)


def forget_lambda(file):
    del file["state/doc_topic_prior"]


def drop_a_topic(file):
    forget_lambda(file)
    file["state/doc_topic_prior"] = np.full(5, 0.1)


def make_zero(file):
    file["state/doc_topic_prior"][0] = 0.0


def make_infinite(file):
    file["state/doc_topic_prior"][0] = np.inf


@pytest.mark.parametrize("edit", [forget_lambda, drop_a_topic, make_zero, make_infinite])
def test_a_learned_lambda_that_is_none_is_refused(edit, bars, tmp_path):
    model = SemiSpikeLDA(n_topics=6, max_iter=2, random_state=3, learn_prior=True).fit(bars)
    model.save(tmp_path / "model.h5")
    reseal(tmp_path / "model.h5", edit)
    with pytest.raises(ModelFileError, match="doc_topic_prior must be 6 positive numbers; found"):
        TopicModel.load(tmp_path / "model.h5")


def test_a_loaded_model_can_begin_to_learn_lambda(model, path, bars):
    loaded = TopicModel.load(path).set_params(learn_prior=True, max_iter=2)
    loaded.partial_fit(bars)
    assert (loaded.doc_topic_prior_ != model.doc_topic_prior).all()
    assert loaded.doc_topic_prior_.sum() == pytest.approx(model.doc_topic_prior.sum(), rel=1e-12)


IN_SPIKES = {
    "backend": "brian2",
    "brian2_options": {"simulator": "numpy", "inhibition": Poisson()},
}


@pytest.mark.complete(
    but=[
        "SemiSpikeLDA-rate0",
        "SemiSpikeLDA-rate1",
        "DuSpikeLDA-rate",
        "EdSpikeLDA-rate",
        "EdSpikePLSI-rate",
        "StochasticVariationalLDA-rate",
    ]
)
@pytest.mark.parametrize(
    "model",
    [
        SemiSpikeLDA(n_topics=2, max_iter=1, random_state=0),
        SemiSpikeLDA(n_topics=2, max_iter=1, random_state=0, learn_prior=True),
        DuSpikeLDA(n_topics=2, max_iter=1, random_state=0),
        EdSpikeLDA(n_topics=2, max_iter=1, random_state=0),
        EdSpikePLSI(n_topics=2, max_iter=1, random_state=0),
        StochasticVariationalLDA(n_topics=2, max_iter=1, random_state=0, total_documents=2),
        SemiSpikeLDA(n_topics=2, max_iter=1, random_state=0, **IN_SPIKES),
        SemiSpikeLDA(n_topics=2, max_iter=1, random_state=0, learn_prior=True, **IN_SPIKES),
        EdSpikeLDA(n_topics=2, max_iter=1, random_state=0, **IN_SPIKES),
    ],
    ids=lambda model: f"{type(model).__name__}-{getattr(model, 'backend', 'rate')}",
)
def test_a_loaded_model_goes_on_learning_where_it_was(model, tmp_path):
    X = np.array([[2, 0, 1], [0, 3, 1]])
    model.fit(X).save(tmp_path / "model.h5")
    loaded = TopicModel.load(tmp_path / "model.h5")
    before = loaded.components_.copy()
    loaded.save(tmp_path / "again.h5")  # a model that was loaded can be saved, too
    again = TopicModel.load(tmp_path / "again.h5")
    for other in (model, loaded, again):
        other.partial_fit(X)
    assert not np.array_equal(before, model.components_)
    np.testing.assert_array_equal(loaded.components_, model.components_)
    np.testing.assert_array_equal(again.components_, model.components_)
    if model.learn_prior:
        assert (model.doc_topic_prior_ != 0.1).all()
        for other in (loaded, again):
            np.testing.assert_array_equal(other.doc_topic_prior_, model.doc_topic_prior_)
    assert loaded.n_iter_ == model.n_iter_


def test_options_of_the_simulation_come_back(tmp_path):
    X = np.array([[2, 0, 1], [0, 3, 1]])
    options = {"simulator": "numpy", "inhibition": Poisson(rate=200.0, dt=1e-3)}
    model = EdSpikeLDA(
        n_topics=2, max_iter=1, random_state=0, backend="brian2", brian2_options=options
    )
    model.fit(X).save(tmp_path / "model.h5")
    again = clone(TopicModel.load(tmp_path / "model.h5")).fit(X)
    assert again.trainer_.network.network.inhibition == options["inhibition"]
    np.testing.assert_array_equal(again.components_, model.components_)
