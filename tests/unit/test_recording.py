"""Recording while learning, inside Python: windows, state, and weights that do not notice it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone

from brian_lda import DuSpikeLDA, EdSpikeLDA, EdSpikePLSI, SemiSpikeLDA, SpikeCGS
from brian_lda.circuit.inhibition import Race
from brian_lda.corpus import load_corpus
from brian_lda.errors import ParameterError
from brian_lda.simulation import Recording
from brian_lda.simulation.recording import LARGEST_WINDOW, Spikes, make_recording
from brian_lda.simulation.windows import MOST_MIDDLES, Request, WindowKeeper, joined, union

K = 3
ESTIMATORS = {
    "ed_spike_lda": (EdSpikeLDA, {}),
    "ed_spike_plsi": (EdSpikePLSI, {}),
    "spike_cgs": (SpikeCGS, {}),
    "du_spike_lda": (DuSpikeLDA, {"batch_size": 5, "local_iterations": 1}),
    "semi_spike_lda": (SemiSpikeLDA, {"batch_size": 5, "local_iterations": 1}),
}


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("bars", grid=2, n_docs=8, doc_length=3, seed=0)


def fitted(name, corpus, record=None, max_iter=3, inhibition=None):
    estimator, options = ESTIMATORS[name]
    brian2_options = {"simulator": "numpy", "inhibition": inhibition or Race()}
    model = estimator(
        n_topics=K, max_iter=max_iter, backend="brian2", brian2_options=brian2_options,
        record=record, random_state=1, **options,
    )  # fmt: skip
    return model.fit(corpus)


EVERY_KIND = Recording(
    ("word", "document", "inhibition"),
    windows=("first", "middle", "last", "pass 2", (3, 9)),
    tokens=5,
    u=True,
    words=(0, 3),
    documents=(1, 7),
)


@pytest.mark.complete(but=["ed_spike_lda", "semi_spike_lda"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_recording_changes_nothing_that_is_learned(name, corpus):
    plain, recorded = fitted(name, corpus), fitted(name, corpus, EVERY_KIND)
    expected, found = plain.trainer_.state(), recorded.trainer_.state()
    assert set(found) - set(expected) == {"n_shown"}
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array, err_msg=key)
    assert plain.recorded_ == []
    names = [spikes.name for spikes in recorded.recorded_]
    assert sorted(names) == ["first", "last", "middle", "pass 2", "tokens 3:9"]
    starts = [spikes.first_token for spikes in recorded.recorded_]
    assert starts == sorted(starts) and starts[0] == 0


@pytest.mark.complete(but="spike_cgs")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_window_holds_the_spikes_of_the_training(name, corpus, monkeypatch):
    """Beside what the network was shown and what it answered, sequence after sequence."""
    from brian_lda.simulation.spiking_network import SpikingNetwork

    shown, present = [], SpikingNetwork.present

    def watched(self, words, docs, *arguments, **options):
        documents = np.arange(99) if self.keeper.documents is None else self.keeper.documents
        winners = present(self, words, docs, *arguments, **options)
        shown.append((words, documents[docs], winners))
        return winners

    monkeypatch.setattr(SpikingNetwork, "present", watched)
    model = fitted(name, corpus, EVERY_KIND)
    words, docs, winners = (np.concatenate(parts) for parts in zip(*shown, strict=True))
    lengths = [len(sequence[0]) for sequence in shown]
    assert {spikes.name: spikes.n_tokens for spikes in model.recorded_}["tokens 3:9"] == 6
    for spikes in model.recorded_:
        part = slice(spikes.first_token, spikes.first_token + spikes.n_tokens)
        np.testing.assert_array_equal(spikes.index["word"], words[part], err_msg=spikes.name)
        np.testing.assert_array_equal(spikes.index["document"], docs[part], err_msg=spikes.name)
        np.testing.assert_array_equal(spikes.index["topic"], winners[part], err_msg=spikes.name)
        ticks = np.arange(spikes.n_tokens) * spikes.tick  # a Race takes one tick a token
        for layer in ("word", "document", "topic", "inhibition"):
            np.testing.assert_allclose(spikes.time[layer], ticks, rtol=0, atol=1e-9)
    last = model.recorded_[-1]
    assert last.name == "last" and last.first_token + last.n_tokens == sum(lengths)
    named = {spikes.name: spikes for spikes in model.recorded_}
    per_pass = 1 if lengths[0] == corpus.n_tokens or name == "spike_cgs" else 2
    assert named["pass 2"].first_token == sum(lengths[:per_pass])
    assert named["middle"].iteration == 2  # of 3


@pytest.mark.complete(but="du_spike_lda")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_recorded_state_is_that_of_the_network(name, corpus):
    model = fitted(name, corpus, EVERY_KIND)
    last = model.recorded_[-1]
    network = model.trainer_.keeper and (
        getattr(model.trainer_, "network", None)
        or getattr(model.trainer_, "sampler", None)
        or model.trainer_.algorithm
    )
    assert last.state["u"].shape == (last.n_tokens, K)
    assert np.isfinite(last.state["u"]).all()
    M__alpha = network.M__alpha[:, [0, 3]]  # [topic, word], after the last token
    np.testing.assert_allclose(last.state["M__alpha"][-1], M__alpha, rtol=0, atol=1e-9)
    documents = model.trainer_.keeper.documents
    for i, d in enumerate((1, 7)):
        found = last.state["M__beta"][-1, i]
        if documents is None:
            np.testing.assert_allclose(found, network.M__beta[d], rtol=0, atol=1e-9)
        elif d in documents:
            slot = documents.tolist().index(d)
            np.testing.assert_allclose(found, network.M__beta[slot], rtol=0, atol=1e-9)
        else:
            assert np.isnan(found).all()
    np.testing.assert_array_equal(last.chosen["words"], [0, 3])


def test_u_is_the_input_of_the_race(corpus):
    """u = M^alpha.x + M^beta.x of the weights before the token, without a prior on Phi."""
    model = EdSpikeLDA(
        n_topics=K, topic_word_prior=0.0, max_iter=1, backend="brian2", random_state=1,
        brian2_options={"simulator": "numpy"},
        record=Recording(windows=[(0, 8)], u=True, words=range(4), documents=range(8)),
    )  # fmt: skip
    (window,) = model.fit(corpus).recorded_
    for n in range(1, window.n_tokens):
        w, d = window.index["word"][n], window.index["document"][n]
        u = window.state["M__alpha"][n - 1, :, w] + window.state["M__beta"][n - 1, d]
        np.testing.assert_allclose(window.state["u"][n], u, rtol=0, atol=1e-9)


def test_clocked_time_is_recorded_tick_by_tick(corpus):
    from brian_lda.circuit.inhibition import Poisson

    record = Recording(("word", "attempt", "inhibition"), windows=[(2, 6), (4, 9)], u=True)
    model = fitted("ed_spike_lda", corpus, record, max_iter=1, inhibition=Poisson())
    plain = fitted("ed_spike_lda", corpus, None, max_iter=1, inhibition=Poisson())
    np.testing.assert_array_equal(model.components_, plain.components_)
    for spikes, n_tokens in zip(model.recorded_, (4, 5), strict=True):
        assert spikes.n_tokens == len(spikes.index["inhibition"]) == n_tokens
        assert spikes.time["word"][0] == 0.0, "the window begins with its first token"
        ticks = np.round(spikes.time["word"] / spikes.tick)
        np.testing.assert_array_equal(ticks, np.arange(len(ticks)))  # a word fires in every tick
        assert spikes.time["word"][-1] == spikes.time["topic"][-1]
        assert set(spikes.time["topic"]) <= set(spikes.time["attempt"])
        assert spikes.state["u"].shape == (n_tokens, K)
    first, second = model.recorded_  # tokens 4 and 5 are in both
    np.testing.assert_array_equal(first.index["topic"][2:], second.index["topic"][:2])


def test_words_by_name_and_plain_data(corpus):
    record = {"layers": ["word"], "windows": [[0, 4]], "words": [corpus.vocabulary[2]]}
    (window,) = fitted("ed_spike_lda", corpus, json.loads(json.dumps(record))).recorded_
    np.testing.assert_array_equal(window.chosen["words"], [2])
    record["words"] = ["no such word"]
    with pytest.raises(ParameterError, match="no such word"):
        fitted("ed_spike_lda", corpus, record)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"layers": ["axon"]}, "layers must be among"),
        ({"layers": "word"}, "must be a sequence"),
        ({"windows": ["start"]}, "a window is one of"),
        ({"windows": [(5, 5)]}, "a window is one of"),
        ({"windows": [(0, 1.5)]}, "a window is one of"),
        ({"windows": ["pass 0"]}, "a window is one of"),
        ({"windows": []}, "1 to 60"),
        ({"windows": [(0, None)]}, "needs two token numbers"),
        ({"windows": [(-5, -1)]}, "needs two token numbers"),
        ({"windows": [(0, LARGEST_WINDOW + 1)]}, "at most"),
        ({"tokens": 0}, "tokens must be"),
        ({"tokens": LARGEST_WINDOW + 1}, "tokens must be"),
        ({"tokens": LARGEST_WINDOW}, "MB of memory"),
        ({"u": 1}, "u must be"),
        ({"words": [99]}, "must be less than 4"),
        ({"topics": [K]}, "must be less than 3"),
        ({"topics": ["a"]}, "must be numbers"),
        ({"layers": ["attempt"]}, "clocked"),
        ({"layer": ["word"]}, "has no layer"),
    ],
)
def test_wrong_recordings_get_one_clear_line(fields, message, corpus):
    with pytest.raises(ParameterError, match=message):
        fitted("ed_spike_lda", corpus, fields)


def test_the_rate_level_has_no_spikes_to_record(corpus):
    with pytest.raises(ParameterError, match="backend='brian2'"):
        EdSpikeLDA(n_topics=K, record=Recording()).fit(corpus)
    with pytest.raises(ParameterError, match="record must be None"):
        make_recording(7)


def test_estimators_with_a_recording_can_be_cloned():
    model = EdSpikeLDA(record=Recording(windows=["first"]))
    assert clone(model).record == model.record


def piece(n_tokens, name=""):
    ticks = 1e-3 * np.arange(n_tokens)
    spikes = Spikes(name=name)
    spikes.index["topic"], spikes.time["topic"] = np.zeros(n_tokens, np.int32), ticks
    return spikes


def trained_keeper(recording, n_sequences, n_tokens=10):
    keeper = WindowKeeper(recording)
    for _ in range(n_sequences):
        for request in keeper.requests(n_tokens):
            keeper.keep(request, [piece(request.stop - request.start)])
        keeper.end_sequence(n_tokens)
    return keeper


@pytest.mark.parametrize("n_sequences", [1, 2, 3, 31, 33, 100, 1000])
def test_a_training_of_any_length_has_its_middle_and_its_end(n_sequences):
    keeper = trained_keeper(Recording(tokens=4), n_sequences)
    first, middle, last = keeper.recorded()
    assert (first.name, middle.name, last.name) == ("first", "middle", "last")
    assert (first.first_token, last.first_token) == (0, 10 * n_sequences - 4)
    off = abs(middle.first_token + 2 - 5 * n_sequences)
    assert off <= max(5, 10 * n_sequences / MOST_MIDDLES), "near the middle"
    assert len(keeper.pieces()) <= MOST_MIDDLES + 2, "memory is bounded"


def test_a_keeper_goes_on_where_another_stopped():
    recording = Recording(windows=("first", "middle", "last", "pass 7", (25, 45)), tokens=4)
    uninterrupted, stopped = (trained_keeper(recording, n) for n in (70, 41))
    resumed, later = WindowKeeper(recording), trained_keeper(recording, 43)
    resumed.n_sequences, resumed.n_tokens = stopped.n_sequences, stopped.n_tokens
    resumed.restore(later.pieces())  # what was recorded after the checkpoint comes again
    for _ in range(70 - 41):
        for request in resumed.requests(10):
            resumed.keep(request, [piece(request.stop - request.start)])
        resumed.end_sequence(10)
    expected, found = (
        [(s.name, s.first_token, s.iteration, s.n_tokens) for s in keeper.recorded()]
        for keeper in (uninterrupted, resumed)
    )
    assert found == expected and len(found) == 5


def test_parts_of_a_window_follow_each_other():
    whole = joined([piece(3), piece(2), piece(4)])
    np.testing.assert_allclose(whole.time["topic"], 1e-3 * np.arange(9), rtol=0, atol=1e-12)


def test_overlapping_windows_are_listened_to_once():
    requests = [Request("a", 4, 6), Request("b", 0, 5), Request("c", 8, 9), Request("d", 90, 99)]
    assert union(requests, 0, 50) == [(0, 6), (8, 9)]
