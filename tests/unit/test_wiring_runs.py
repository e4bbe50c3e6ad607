"""What runs and sweeps hand on: configuration, seeds, test documents, passes."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from brian_lda.corpus import halve_documents, holdout_split, load_corpus
from brian_lda.evaluation import heldout_perplexity
from brian_lda.runs import RunConfig, make_model, train_run
from brian_lda.step_rules import RMSProp, RobbinsMonro, step_rule_to_dict
from brian_lda.sweeps import experiments
from study.classification import classification_config


def test_every_field_of_a_run_reaches_the_estimator():
    word_step, doc_step = RMSProp(eta=0.25), RobbinsMonro(scale=0.5)
    model = make_model(
        RunConfig(
            "du_spike_lda", backend="brian2", n_topics=7, prior=1.25, word_prior=0.5, iterations=9,
            seed=4, split_seed=8, options={
                "batch_size": 3, "word_step": step_rule_to_dict(word_step),
                "doc_step": step_rule_to_dict(doc_step),
            },
        )
    )  # fmt: skip
    expected = {
        "backend": "brian2", "n_topics": 7, "doc_topic_prior": 1.25, "topic_word_prior": 0.5,
        "max_iter": 9, "random_state": 4, "batch_size": 3, "word_step": word_step,
        "doc_step": doc_step,
    }  # fmt: skip
    assert {name: model.get_params()[name] for name in expected} == expected


@pytest.fixture(scope="module")
def run(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("runs") / "run"
    config = RunConfig(
        "semi_spike_lda", corpus=corpus, n_topics=2, iterations=7, seed=4, split_seed=2,
        evaluate_every=3, options={"batch_size": 5},
    )  # fmt: skip
    model, metrics = train_run(config, folder, quiet=True, checkpoint_every=2)
    return SimpleNamespace(config=config, model=model, metrics=metrics, folder=folder)


def test_a_run_is_judged_on_the_held_out_half_given_the_other(run):
    split = holdout_split(load_corpus(run.config.corpus), seed=2)
    assert run.metrics["heldout_tokens"] == split.heldout.n_tokens
    score = heldout_perplexity(
        run.model.components_, split.observed.counts, split.heldout.counts, pseudo_count=0.1
    )
    assert run.metrics["perplexity"] == pytest.approx(score.perplexity, rel=1e-12)
    assert run.metrics["perplexity_one_sample"] != run.metrics["perplexity"]
    expected = make_model(run.config).fit(split.train)  # the seed and the training documents
    np.testing.assert_array_equal(run.model.components_, expected.components_)
    assert run.model.seed_ == 4
    other = make_model(replace(run.config, seed=5)).fit(split.train)
    assert not np.array_equal(other.components_, expected.components_)


def test_a_run_is_evaluated_and_saved_as_often_as_asked(run):
    assert [record["iteration"] for record in run.metrics["history"]] == [1, 3, 6]
    assert run.metrics["iterations"] == 7 and not run.metrics["interrupted"]
    saver = run.model.callbacks[2]
    assert (saver.iterations, saver.saved_iteration) == (2, 6)
    written = json.loads((run.folder / "config.json").read_text())
    assert {**vars(run.config), "versions": written["versions"]} == written


def test_a_run_of_a_sweep_is_the_run_of_its_configuration(run):
    fields = {name: value for name, value in vars(run.config).items() if name != "data_dir"}
    metrics = experiments.train(fields)
    for name in ("perplexity", "perplexity_one_sample", "heldout_tokens", "seed"):
        assert metrics[name] == run.metrics[name], name


def test_classification_learns_from_the_training_documents_alone(monkeypatch):
    fitted, judged = [], []
    parts = experiments._labelled_parts("synthetic", "validation", None)

    def accuracies(model, train, test):
        fitted.append(model.history_[-1]["tokens"] / model.n_iter_)
        judged.append((train.n_docs, test.n_docs))
        observed, heldout = halve_documents(test.counts, np.random.default_rng(0))
        return {"expected": model.perplexity(observed, heldout)}

    monkeypatch.setattr(experiments, "accuracies", accuracies)
    config = classification_config("ed_spike_lda", "synthetic", 3, 0.1, 0.05, 2, 0, "validation")
    result = experiments.classify(config)
    assert result["iterations"] == 2
    assert result["perplexity"] == pytest.approx(result["expected"], rel=1e-12)
    assert fitted == [parts[0].n_tokens] and judged == [(parts[0].n_docs, parts[1].n_docs)]


@pytest.mark.complete
def test_a_pruned_network_has_as_many_passes_in_all_as_the_whole_one(monkeypatch):
    """p-x: x passes of pre-training, then the pruned network makes the remaining ones."""
    corpus = load_corpus("bars", grid=2, n_docs=9, doc_length=6, seed=0)
    monkeypatch.setattr(experiments, "_labelled_parts", lambda *arguments: (corpus, corpus))

    def passes(model, train, judged):
        network = model.trainer_.network
        return {
            "passes": model.n_iter_,
            "spikes": float(network.state()["n_alpha"].sum()) / corpus.n_tokens,
            "shown": model.trainer_.state()["n_passes"].item(),
            "private": None if network.pruned is None else network.pruned.n_private.tolist(),
        }

    monkeypatch.setattr(experiments, "judgement", passes)
    config = classification_config("ed_spike_lda", "any", 2, 0.1, 0.05, 7, 0)
    fan_in = {"constraints": {"word_synapses": 3, "document_slots": 4}}
    split = experiments.classify({**config, "options": fan_in})
    config |= {"pretraining": [2, 5], "n_private": 3}
    expected = {"passes": 7, "spikes": 7.0, "shown": 7, "private": [3, 3]}
    whole = {**expected, "private": None}
    pruned = {f"{who}p-{x}": expected for who in ("", "ours ") for x in (2, 5)}
    assert split.items() >= whole.items()
    for docs_on_chip in (None, 4):
        found = experiments.prune({**config, "docs_on_chip": docs_on_chip})
        assert found == {**pruned, "whole": whole}
