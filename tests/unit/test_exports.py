"""Exports read back as what was recorded or trained; without their packages they ask for them."""

import sys

import numpy as np
import pytest

from brian_lda import CollapsedGibbsLDA
from brian_lda.corpus import make_synthetic
from brian_lda.errors import MissingDependencyError, ParameterError
from brian_lda.exports import to_neo, to_nwb, to_pyldavis
from brian_lda.simulation.recording import Spikes

WORDS = ["war", "sea", "oil"]


@pytest.fixture
def spikes():
    return Spikes(
        first_token=5,
        index={"word": np.array([2, 2, 0]), "topic": np.array([1, 0])},
        time={"word": np.array([0.0, 0.001, 0.002]), "topic": np.array([0.001, 0.002])},
    )


@pytest.fixture(scope="module")
def trained():
    corpus = make_synthetic(n_topics=3, n_words=30, n_docs=40, doc_length=20, seed=0)
    return CollapsedGibbsLDA(n_topics=3, max_iter=5, random_state=0).fit(corpus), corpus


def test_neo(spikes):
    pytest.importorskip("neo", reason="neo is not installed (brian_lda[analysis])")
    block = to_neo(spikes, WORDS)
    trains = {train.name: train for train in block.segments[0].spiketrains}
    assert set(trains) == {"oil", "war", "topic 0", "topic 1"}
    assert trains["oil"].rescale("ms").magnitude.tolist() == [0.0, 1.0]
    assert trains["oil"].annotations == {"layer": "word", "neuron": 2}
    assert float(trains["war"].t_stop.rescale("ms")) == pytest.approx(3.0)
    assert {group.name: len(group.spiketrains) for group in block.groups} == {"word": 2, "topic": 2}
    assert block.segments[0].annotations["first_token"] == 5


def test_several_windows(spikes, tmp_path):
    """Segments in Neo; in NWB one time axis, with an epoch for each window."""
    pynwb = pytest.importorskip("pynwb", reason="pynwb is not installed (brian_lda[analysis])")
    pytest.importorskip("neo", reason="neo is not installed (brian_lda[analysis])")
    spikes.name = "first"
    later = Spikes("last", 90, 4, {"topic": np.array([1])}, {"topic": np.array([0.0])})
    block = to_neo([spikes, later], WORDS)
    assert [segment.name for segment in block.segments] == ["first", "last"]
    assert block.segments[1].annotations == {"first_token": 90, "iteration": 4}
    path = to_nwb([spikes, later], tmp_path / "windows.nwb", WORDS)
    with pynwb.NWBHDF5IO(str(path), "r") as stream:
        file = stream.read()
        units, epochs = file.units, file.epochs
        rows = {units["label"][i]: units["spike_times"][i].tolist() for i in range(len(units))}
        assert epochs["start_time"][:].tolist() == pytest.approx([0.0, 0.003])
        assert [epochs["first_token"][i] for i in range(2)] == [5, 90]
    assert rows["topic 1"] == pytest.approx([0.001, 0.003])
    assert pynwb.validate(path=str(path)) in ([], ([], 0))
    with pytest.raises(ParameterError, match="no recorded window"):
        to_neo([])


def test_nwb(spikes, tmp_path):
    pynwb = pytest.importorskip("pynwb", reason="pynwb is not installed (brian_lda[analysis])")
    path = to_nwb(spikes, tmp_path / "spikes.nwb", WORDS)
    with pynwb.NWBHDF5IO(str(path), "r") as stream:
        units = stream.read().units
        rows = {units["label"][i]: units["spike_times"][i].tolist() for i in range(len(units))}
        assert list(units["neuron"][:]) == [0, 2, 0, 1]
    assert rows == {"war": [0.002], "oil": [0.0, 0.001], "topic 0": [0.002], "topic 1": [0.001]}
    assert pynwb.validate(path=str(path)) in ([], ([], 0))


def test_pyldavis(trained):
    pytest.importorskip("pyLDAvis", reason="pyLDAvis is not installed (brian_lda[viz])")
    model, corpus = trained
    prepared = to_pyldavis(model, corpus)
    assert prepared.topic_order == [1, 2, 3]
    theta = model.transform(corpus)
    share = theta.T @ corpus.doc_lengths / corpus.n_tokens
    np.testing.assert_allclose(prepared.topic_coordinates["Freq"], 100 * share, rtol=1e-6)


def test_pyldavis_wants_the_models_words(trained):
    pytest.importorskip("pyLDAvis", reason="pyLDAvis is not installed (brian_lda[viz])")
    with pytest.raises(ParameterError, match="30 words"):
        to_pyldavis(trained[0], make_synthetic(n_words=31, seed=0))


@pytest.mark.parametrize(
    ("package", "extra", "export"),
    [
        ("neo", "analysis", lambda spikes, tmp_path, trained: to_neo(spikes)),
        ("pynwb", "analysis", lambda spikes, tmp_path, trained: to_nwb(spikes, tmp_path / "a.nwb")),
        ("pyLDAvis", "viz", lambda spikes, tmp_path, trained: to_pyldavis(*trained)),
    ],
)
def test_missing_packages_are_asked_for_by_name(
    package, extra, export, spikes, tmp_path, trained, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"{package}.*brian_lda\[{extra}\]"):
        export(spikes, tmp_path, trained)
