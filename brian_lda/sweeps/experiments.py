"""What a run of a sweep may be: functions from plain data to plain data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda.corpus import Corpus, load_corpus
from brian_lda.corpus.generate import GeneratedCorpus
from brian_lda.errors import ParameterError
from brian_lda.estimators import fold_in_spikes
from brian_lda.evaluation import BINARY_GROUPS, svm_accuracy
from brian_lda.hardware.counted import counted_run
from brian_lda.hardware.partition import index_placement
from brian_lda.hardware.pruning import prune_and_continue
from brian_lda.runs import RunConfig, make_model, train_run
from brian_lda.sweeps.unfinished import sole_owner, train_or_go_on

CLASSIFY = "brian_lda.sweeps.experiments:classify"
PRUNE = "brian_lda.sweeps.experiments:prune"
COUNT = "brian_lda.sweeps.experiments:count"
VALIDATION_SHARE = 0.2  # of the training documents


def train(
    config: dict[str, Any], *, data_dir: str | None = None, unfinished: Path | None = None
) -> dict[str, Any]:
    """Train and evaluate as `sims/train.py` does; the result is its metrics.json.

    In `unfinished`, if given, a run that was killed goes on from its last checkpoint.
    """
    run = RunConfig(**config, data_dir=data_dir)
    with ExitStack() as stack:
        if unfinished is not None and stack.enter_context(sole_owner(unfinished)):
            metrics = train_or_go_on(run, unfinished)
        else:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="brian_lda_sweep_"))
            _, metrics = train_run(run, Path(scratch) / "run", quiet=True, save_model=False)
    if metrics["interrupted"]:  # half a run is no run
        raise KeyboardInterrupt
    metrics.pop("checkpoint_iteration", None)  # how it came about does not matter any more
    return metrics


def classify(config: dict[str, Any], *, data_dir: str | None = None) -> dict[str, Any]:
    """The paper's test of learnt representations (Sec. 4, Tab. 2): an SVM on theta.

    The model never sees a document that is judged; theta of those comes from folding them in. For
    the training documents there are two: folded in alike ("fold_in"), or as the network holds them
    in its synapses M^beta, or the sampler in its counts ("trained"), where the algorithm keeps it.

    Parameters
    ----------
    config : dict
        Fields of `RunConfig`; "judged_on": "test", the corpus' own test documents, or
        "validation", a fixed fifth of its training documents that is then left out of training.
        "theta_in_spikes": theta also from spikes (`fold_in_spikes`).

    Returns
    -------
    dict
        accuracy (all classes) and binary_accuracy (the paper's two groups; 2 first classes of a
        generated corpus), in percent, for each theta, "..._in_spikes" where all theta are from
        spikes; perplexity of the judged documents' held-out halves; iterations, seconds.
    """
    config = dict(config)
    in_spikes = config.pop("theta_in_spikes", False)
    train, judged = _labelled_parts(config["corpus"], config.pop("judged_on"), data_dir)
    model = make_model(RunConfig(**config)).fit(train)
    seconds = model.history_[-1]["seconds"]
    found = {"iterations": model.n_iter_, "seconds": seconds, **judgement(model, train, judged)}
    if in_spikes:

        def by_spikes(documents: Corpus) -> np.ndarray:
            simulator = (model.brian2_options or {}).get("simulator", "standalone")
            c = model._pseudo_count()
            return fold_in_spikes(model.components_, documents, c, simulator=simulator)

        of_spikes = accuracies(model, train, judged, by_spikes)
        found |= {f"{name}_in_spikes": share for name, share in of_spikes.items()}
    return found


def prune(config: dict[str, Any], *, data_dir: str | None = None) -> dict[str, Any]:
    """ed-SpikeLDA, and the pruned networks that branch off from it after x passes (Tab. 5, p-x).

    Parameters
    ----------
    config : dict
        As for `classify`, with `iterations` passes of each network in all; and "pretraining", a
        list of x; "n_private", the words that keep a synapse of their own in each topic;
        "docs_on_chip", the documents that pruned networks hold at a time, or None: all.

    Returns
    -------
    dict
        "whole" and, for each x, "p-x" (the paper's rule) and "ours p-x" (the rule "renewed"): what
        `classify` returns of perplexity and accuracies.
    """
    config = dict(config)
    train, judged = _labelled_parts(config["corpus"], config.pop("judged_on"), data_dir)
    pretraining, n_private = config.pop("pretraining"), config.pop("n_private")
    docs_on_chip, passes = config.pop("docs_on_chip"), config["iterations"]
    result: dict[str, Any] = {}

    def branch(model: Any, record: dict[str, Any]) -> None:
        x = record["iteration"]
        for name, rule in ((f"p-{x}", "paper"), (f"ours p-{x}", "renewed")):
            if x in pretraining:
                pruned = prune_and_continue(
                    model, train, n_passes=passes - x, n_private=n_private, rule=rule,
                    docs_on_chip=docs_on_chip,
                )  # fmt: skip
                result[name] = judgement(pruned, train, judged)

    model = make_model(RunConfig(**config)).set_params(callbacks=[branch]).fit(train)
    return {**result, "whole": judgement(model, train, judged)}


def count(config: dict[str, Any], *, data_dir: str | None = None) -> dict[str, Any]:
    """Train in spikes and count every spike; costs per race (`counted_run`).

    Parameters
    ----------
    config : dict
        Fields of `RunConfig`, backend "brian2"; "passes": at most so many, or None; "n_chips":
        chips that hold the topics in index order, for the packets.
    """
    config = dict(config)
    passes, n_chips = config.pop("passes"), config.pop("n_chips")
    model: Any = make_model(RunConfig(**config))
    model.brian2_options = {**(model.brian2_options or {}), "count": True}
    if passes is not None:
        model.set_params(**{"max_passes" if hasattr(model, "max_passes") else "max_iter": passes})
    corpus = load_corpus(config["corpus"], data_dir=data_dir)
    trainer = model.fit(corpus).trainer_
    names = ("network", "sampler", "algorithm")  # as each trainer calls what it trains
    learner = next(getattr(trainer, name) for name in names if hasattr(trainer, name))
    from brian_lda.hardware.packets import count_packets  # imports Brian2: seconds

    run = counted_run(config["algorithm"], learner)
    packets = count_packets(learner.network, index_placement(config["n_topics"], n_chips), n_chips)
    per_race = ("spikes", "synaptic_events", "plastic_writes", "inhibitory_spikes")
    return {
        "passes": model.n_iter_ / trainer.iterations_per_pass,
        "races": run.races,
        **{name: run.per_race(name) for name in per_race},
        "packets": float(packets.matrix.sum()),
        "seconds": model.history_[-1]["seconds"],
        "cpu_seconds": model.history_[-1]["cpu_seconds"],
    }


def judgement(model: Any, train: Corpus, judged: Corpus) -> dict[str, float]:
    """Perplexity of the held-out halves of the judged documents, and the accuracies."""
    return {"perplexity": float(np.exp(-model.score(judged))), **accuracies(model, train, judged)}


def accuracies(
    model: Any,
    train: Corpus,
    judged: Corpus,
    transform: Callable[[Corpus], np.ndarray] | None = None,
) -> dict[str, float]:
    """Per cent of the judged documents that an SVM on theta puts into the right class.

    `transform` folds documents in; the default is the model's own, the MAP solution.
    """
    transform = transform or model.transform
    theta = {"fold_in": transform(train)}
    if hasattr(model, "doc_topic"):
        theta["trained"] = model.doc_topic()
    theta_judged = transform(judged)
    assert train.labels is not None and judged.labels is not None  # `_labelled_parts` saw to it
    two = [i for i, name in enumerate(train.label_names or ()) if name in BINARY_GROUPS] or [0, 1]
    result = {}
    for name, theta_train in theta.items():
        for task, classes in (("accuracy", None), ("binary_accuracy", two)):
            share = svm_accuracy(
                theta_train, train.labels, theta_judged, judged.labels, classes=classes
            )
            result[f"{task}_{name}"] = 100.0 * share
    return result


def with_labels(corpus: Corpus) -> Corpus:
    """The corpus; a generated one with labels and a split of its own."""
    if isinstance(corpus, GeneratedCorpus):  # its strongest topic is its class
        labels = corpus.true_theta.argmax(axis=1)
        names = tuple(f"topic{z}" for z in range(corpus.true_theta.shape[1]))
        split = np.where(np.arange(corpus.n_docs) % 3 == 2, "test", "train")
        return replace(corpus, labels=labels, label_names=names, split=split)
    return corpus


def _labelled_parts(name: str, judged_on: str, data_dir: str | None) -> tuple[Corpus, Corpus]:
    corpus = with_labels(load_corpus(name, data_dir=data_dir))
    if corpus.labels is None or corpus.split is None:
        raise ParameterError(
            f"classification needs a corpus with labels and a split, such as 20ng; {name} has none."
        )
    train = corpus.part("train")
    if judged_on == "test":
        return train, corpus.part("test")
    order = np.random.default_rng(0).permutation(train.n_docs)
    is_judged = np.zeros(train.n_docs, bool)
    is_judged[order[: round(VALIDATION_SHARE * train.n_docs)]] = True
    return train.subset(~is_judged), train.subset(is_judged)
