"""A network of one's own: one file and one line in the registry, and all tools take it.

`mixture_of_unigrams.py` beside this file has no rate-level twin and knows nothing of compiling,
checkpoints or recording.
"""

from pathlib import Path

import numpy as np
import pytest
from mixture_of_unigrams import MixtureOfUnigrams

import brian_lda.algorithms
from brian_lda.algorithms import Algorithm
from brian_lda.corpus import Corpus
from brian_lda.estimators.checkpoint import (
    Checkpoint,
    corpus_fingerprint,
    read_checkpoint,
    write_checkpoint,
)
from brian_lda.evaluation import match_topics
from brian_lda.simulation import EVERYTHING, Recording

FILE = Path(__file__).with_name("mixture_of_unigrams.py")
OPTIONS = {"n_topics": 3, "max_iter": 6, "random_state": 1, "backend": "brian2"}


@pytest.fixture
def registered(monkeypatch):
    line = Algorithm(
        "mixture_of_unigrams", "mixture of unigrams", "mixture_of_unigrams.MixtureOfUnigrams",
        None, "mixture_of_unigrams", "pass", "map",
    )  # fmt: skip
    algorithms = (*brian_lda.algorithms.ALGORITHMS, line)
    monkeypatch.setattr(brian_lda.algorithms, "ALGORITHMS", algorithms)


@pytest.fixture(scope="module")
def one_topic_a_document():
    """30 documents of 40 tokens, each from one of 3 topics over 5 of the 15 words."""
    rng = np.random.default_rng(0)
    phi = np.kron(np.eye(3), np.full(5, 0.2))
    topic = np.arange(30) % 3
    counts = np.array([rng.multinomial(40, phi[z]) for z in topic])
    return Corpus(counts, [f"w{i}" for i in range(15)]), phi, topic


def test_at_most_80_lines():
    assert len(FILE.read_text().splitlines()) <= 80


@pytest.mark.complete
def test_it_trains_compiled_and_finds_the_topic_of_each_document(registered, one_topic_a_document):
    corpus, phi, topic = one_topic_a_document
    model = MixtureOfUnigrams(**OPTIONS).fit(corpus)
    assert match_topics(phi, model.components_).cosine.min() > 0.98
    found = model.doc_topic().argmax(axis=1)
    assert len({(a, b) for a, b in zip(topic, found, strict=True)}) == 3  # one to one


def test_a_resumed_run_is_bit_identical(registered, one_topic_a_document, tmp_path):
    corpus, _, _ = one_topic_a_document
    whole = MixtureOfUnigrams(**OPTIONS).fit(corpus)
    half = MixtureOfUnigrams(**{**OPTIONS, "max_iter": 3}).fit(corpus)
    state, history = half.trainer_.state(), half.history_
    about = ({}, corpus_fingerprint(corpus), {}, half.seed_, history)
    write_checkpoint(tmp_path / "half.h5", Checkpoint(*about, state))
    resumed = MixtureOfUnigrams(**OPTIONS).resume(corpus, read_checkpoint(tmp_path / "half.h5"))
    assert not np.array_equal(half.components_, whole.components_)
    np.testing.assert_array_equal(resumed.components_, whole.components_)


@pytest.mark.complete
def test_it_records_a_raster(registered, one_topic_a_document):
    corpus, _, _ = one_topic_a_document
    model = MixtureOfUnigrams(**{**OPTIONS, "max_iter": 1}).fit(corpus)
    words, docs = corpus.tokens()
    network = model.trainer_.network
    winners = network.present(
        words[:50], docs[:50], record=Recording(("word", "inhibition"), EVERYTHING)
    )
    np.testing.assert_array_equal(network.spikes.index["word"], words[:50])
    np.testing.assert_array_equal(network.spikes.index["topic"], winners)
    assert len(network.spikes.index["inhibition"]) == 50
