"""sims/table_stream.py: what is fed, in which order, how peers are judged, what it does without."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation

from brian_lda.corpus import holdout_split
from brian_lda.evaluation import heldout_perplexity
from study import online_peers

SIMS = Path(__file__).resolve().parents[2] / "sims"


@pytest.fixture(scope="module")
def table():
    spec = importlib.util.spec_from_file_location("table_stream", SIMS / "table_stream.py")
    module = sys.modules["table_stream"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Listener:
    """Takes note of the documents instead of learning them."""

    def __init__(self):
        self.calls = []

    def partial_fit(self, counts):
        self.calls.append(counts.toarray())


def test_documents_arrive_in_the_order_of_the_corpus_and_so_many_times(table, bars):
    listener = Listener()
    memory = table.feed(listener, bars, 64, times=2)
    expected = bars.counts.toarray()
    np.testing.assert_array_equal(np.concatenate(listener.calls), np.tile(expected, (2, 1)))
    assert [len(call) for call in listener.calls] == 2 * [64, 64, 64, 64, 44]
    assert len(memory) == len(table.MARKS)


def test_memory_is_noted_at_each_mark_of_the_stream(table, bars, monkeypatch):
    listener = Listener()
    monkeypatch.setattr(table, "resident_mib", lambda: float(len(listener.calls)))
    assert table.feed(listener, bars, 10) == [3.0, 15.0, 30.0]  # of 30 calls
    listener.calls.clear()
    assert table.feed(listener, bars, 200) == [1.0, 1.0, 2.0]  # two calls have three marks, too


def test_shuffled_documents_are_the_same_documents(table, bars, monkeypatch):
    streams = {}

    def note(name, documents, split, scale, seeds, *backend_and_times):
        streams[documents.counts.toarray().tobytes()] = documents
        return {"algorithm": name, "seeds": list(seeds)}

    monkeypatch.setattr(table, "_ours", note)
    monkeypatch.setattr(table, "_peer", note)
    split = holdout_split(bars, seed=0)
    rows = list(table.stream_rows("bars", split, table.Scale(("bars",), 6), [0, 1, 2]))
    assert {row["order"]: row["seeds"] for row in rows} == {
        "arrival": [0, 1, 2], "shuffled": [0], "arrival, 5 times": [0],
    }  # fmt: skip
    arrival, shuffled = streams.values()
    assert (arrival.counts != split.train.counts).nnz == 0
    rows = [sorted(map(tuple, d.counts.toarray())) for d in (arrival, shuffled)]
    assert rows[0] == rows[1]


def test_peers_lose_half_a_count_and_are_judged_with_the_samplers_prior(table, bars):
    split = holdout_split(bars, seed=0)
    model = LatentDirichletAllocation(
        6, doc_topic_prior=0.6, topic_word_prior=0.51, learning_method="online",
        learning_offset=10.0, learning_decay=0.7, total_samples=split.train.n_docs, random_state=3,
    )  # fmt: skip
    counts = sparse.csr_matrix(split.train.counts, dtype=np.float64)
    for start in range(0, split.train.n_docs, 64):
        model.partial_fit(counts[start : start + 64])
    phi = model.components_ - 0.5
    phi /= phi.sum(axis=1, keepdims=True)
    expected = heldout_perplexity(phi, split.observed, split.heldout, pseudo_count=0.1).perplexity
    scale = table.Scale(("bars",), 6)
    row = table._peer("scikit-learn, its default steps", split.train, split, scale, [3])
    assert row["perplexity"] == pytest.approx(expected, rel=1e-9)


def test_gensim_gets_the_same_priors_and_the_same_read_out(bars):
    models = pytest.importorskip("gensim.models", reason="gensim is an optional extra")
    phi = online_peers.gensim_pass(bars, 6, 64, seed=3)
    dense = bars.counts.toarray()
    bow = [[(w, int(n)) for w, n in enumerate(row) if n] for row in dense]
    model = models.LdaModel(
        bow, num_topics=6, id2word=dict(enumerate(bars.vocabulary)), alpha=0.6, eta=0.51,
        chunksize=64, update_every=1, eval_every=None, random_state=3,
    )  # fmt: skip
    expected = model.state.get_lambda() - 0.5
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(phi, expected, rtol=1e-5)


def test_without_gensim_its_rows_are_skipped_with_a_line(table, bars, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gensim.models", None)  # as if it were not installed
    monkeypatch.setattr(table, "STREAMING", ())
    monkeypatch.setattr(table, "LONG_STREAM", ())
    split = holdout_split(bars, seed=0)
    rows = list(table.stream_rows("bars", split, table.Scale(("bars",), 6), [0]))
    assert {row["algorithm"] for row in rows} == {
        "scikit-learn, its default steps", "scikit-learn, Hoffman's steps",
    }  # fmt: skip
    error = capsys.readouterr().err
    assert "skipped: gensim:" in error and "pip install 'brian_lda[baselines]'" in error
