"""Checkpoints: a resumed run ends bit-identical; whatever does not fit is refused by name."""

from __future__ import annotations

import json
import logging
import os
import signal
from dataclasses import replace

import h5py
import numpy as np
import pytest

from brian_lda import TopicModel
from brian_lda.algorithms import ALGORITHMS, SPIKING, find_algorithm
from brian_lda.circuit.inhibition import Poisson
from brian_lda.corpus import load_corpus, write_uci
from brian_lda.errors import CheckpointError, RunFolderError
from brian_lda.estimators.checkpoint import corpus_fingerprint, read_checkpoint, write_checkpoint
from brian_lda.estimators.trainers import restore
from brian_lda.runs import CHECKPOINT, RunConfig, resume_run, saving, train_run

PAPER_RULES = {  # the rules with memory of their own, in the Euler form
    "ed_spike_lda": {
        "word_step": {"rule": "VarianceTracking"},
        "doc_step": {"rule": "AdaGrad", "eta": 0.05, "amplification": 1.1},
        "integrator": "euler",
    },
    "semi_spike_lda": {"word_step": {"rule": "RMSProp", "eta": 0.05}, "batch_size": 7},
}


class Killed(BaseException):
    """Stands for a SIGKILL: nothing in the library catches it."""


def tiny(corpus, algorithm, backend="rate", **options):
    return RunConfig(
        algorithm=algorithm, backend=backend, corpus=corpus, n_topics=3, iterations=5, seed=3,
        evaluate_every=2, options=options,
    )  # fmt: skip


def kill_after(iteration, patch):
    """The process dies right after this checkpoint was written."""
    write = saving.write_checkpoint

    def write_and_die(path, content):
        write(path, content)
        if len(content.history) == iteration:
            raise Killed

    patch.setattr(saving, "write_checkpoint", write_and_die)


def run_and_resume(config, folder, iteration=2):
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        kill_after(iteration, patch)
        train_run(config, folder, quiet=True, checkpoint_every=1)
    assert len(read_checkpoint(folder / CHECKPOINT).history) == iteration
    return resume_run(folder, quiet=True, checkpoint_every=1)


def assert_same_run(found, expected):
    (model, metrics), (other, other_metrics) = found, expected
    np.testing.assert_array_equal(model.components_, other.components_)
    state, other_state = model.trainer_.state(), other.trainer_.state()
    assert state.keys() == other_state.keys()
    for name in state:
        np.testing.assert_array_equal(state[name], other_state[name], err_msg=name)
    for one, two in zip(model.history_, other.history_, strict=True):
        timeless = {"seconds": 0, "cpu_seconds": 0}
        assert one | timeless == two | timeless
    assert metrics["perplexity"] == other_metrics["perplexity"]


RATE = [(algorithm.name, {}) for algorithm in ALGORITHMS] + list(PAPER_RULES.items())


@pytest.mark.complete(but=[f"{name}-rules{i}" for i, (name, _) in enumerate(RATE) if i != 8])
@pytest.mark.parametrize(("algorithm", "rules"), RATE)
def test_a_resumed_run_ends_bit_identical(algorithm, rules, corpus, tmp_path):
    config = tiny(corpus, algorithm, **rules)
    whole = train_run(config, tmp_path / "whole", quiet=True, checkpoint_every=1)
    assert_same_run(run_and_resume(config, tmp_path / "killed"), whole)
    assert not (tmp_path / "killed" / CHECKPOINT).exists()  # finished
    other = train_run(replace(config, seed=4), tmp_path / "other", quiet=True)
    assert (other[0].components_ != whole[0].components_).any()  # the comparison could fail


@pytest.mark.complete(but=["cgs-rate-32-21", "semi_spike_lda-rate-8-6"])
@pytest.mark.parametrize(
    ("algorithm", "backend", "iterations", "killed"),
    [
        ("cgs", "rate", 32, 21),  # lambda changes in sweeps 20 and 30
        ("spike_cgs", "rate", 32, 21),
        ("spike_cgs", "brian2", 31, 20),
        ("semi_spike_lda", "rate", 8, 6),  # ... and with every mini-batch from number 5 on
        ("semi_spike_lda", "brian2", 4, 3),
    ],
)
def test_a_resumed_run_that_learns_lambda_ends_bit_identical(
    algorithm, backend, iterations, killed, corpus, smaller_corpus, tmp_path
):
    documents, options = corpus, {"learn_prior": True}
    if backend == "brian2":
        documents, options = smaller_corpus, options | spiking_options(algorithm)
    config = replace(tiny(documents, algorithm, backend, **options), iterations=iterations)
    whole = train_run(config, tmp_path / "whole", quiet=True)
    resumed = run_and_resume(config, tmp_path / "killed", iteration=killed)
    assert_same_run(resumed, whole)
    lamda = whole[0].doc_topic_prior_
    np.testing.assert_array_equal(resumed[0].doc_topic_prior_, lamda)
    at_kill = train_run(replace(config, iterations=killed), tmp_path / "part", quiet=True)[0]
    assert (lamda != 0.1).all() and (lamda != at_kill.doc_topic_prior_).all()


RMSPROP = {"word_step": {"rule": "RMSProp", "eta": 0.05}, "integrator": "euler"}
IN_SPIKES = [(algorithm.name, {}) for algorithm in SPIKING] + [
    ("ed_spike_lda", PAPER_RULES["ed_spike_lda"]),
    ("ed_spike_plsi", PAPER_RULES["ed_spike_lda"] | {"doc_step": {"rule": "VarianceTracking"}}),
    ("semi_spike_lda", RMSPROP),
    ("du_spike_lda", RMSPROP | {"doc_step": {"rule": "RMSProp", "eta": 0.1}}),
]


def spiking_options(algorithm, **brian2_options):
    options = {"brian2_options": {"simulator": "numpy", **brian2_options}}
    if algorithm in ("du_spike_lda", "semi_spike_lda"):
        options |= {"local_iterations": 1, "batch_size": 4}
    return options


@pytest.mark.complete(but=["ed_spike_lda-rules1", "semi_spike_lda-rules4"])
@pytest.mark.parametrize(("algorithm", "rules"), IN_SPIKES)
def test_a_resumed_run_in_spikes_ends_bit_identical(algorithm, rules, smaller_corpus, tmp_path):
    options = spiking_options(algorithm) | rules
    config = replace(tiny(smaller_corpus, algorithm, "brian2", **options), iterations=3)
    whole = train_run(config, tmp_path / "whole", quiet=True)
    assert_same_run(run_and_resume(config, tmp_path / "killed", iteration=1), whole)


@pytest.mark.complete(but="semi_spike_lda")
@pytest.mark.parametrize("algorithm", [algorithm.name for algorithm in SPIKING])
def test_the_excitability_of_poisson_neurons_is_part_of_a_trainers_state(algorithm):
    """Restored into a trainer that has gone on meanwhile, the next iteration is the same."""
    corpus = load_corpus("bars", grid=2, n_docs=8, doc_length=3, seed=0)
    whole, other = (
        find_algorithm(algorithm).load_estimator()(
            n_topics=3, max_iter=1, random_state=3, backend="brian2",
            **spiking_options(algorithm, inhibition=Poisson()),
        ).fit(corpus).trainer_
        for _ in range(2)
    )  # fmt: skip
    saved = {name: array.copy() for name, array in whole.state().items()}
    other.iterate()
    restore(other, saved)
    whole.iterate(), other.iterate()
    assert "excitability" in saved and other.state().keys() == saved.keys()
    for name, array in whole.state().items():
        np.testing.assert_array_equal(other.state()[name], array, err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", SPIKING)
def test_compiled_networks_resume_bit_identical(algorithm, corpus, tmp_path):
    """As above with the C++ programs, and mini-batches that outgrow the first network."""
    config = replace(tiny(corpus, algorithm), backend="brian2")
    whole = train_run(config, tmp_path / "whole", quiet=True)
    assert_same_run(run_and_resume(config, tmp_path / "killed"), whole)


def test_a_run_killed_before_its_first_checkpoint_starts_from_its_config(corpus, tmp_path):
    config = tiny(corpus, "semi_spike_lda")
    whole = train_run(config, tmp_path / "whole", quiet=True)
    run_and_resume(config, tmp_path / "killed")
    for file in ("metrics.json", "model.h5"):
        (tmp_path / "killed" / file).unlink()
    (tmp_path / "killed" / ".checkpoint.h5.123.part").write_bytes(b"half")
    assert_same_run(resume_run(tmp_path / "killed", quiet=True), whole)
    assert not list((tmp_path / "killed").glob(".*"))


def test_a_folder_with_nothing_but_scratch_files_is_free(corpus, tmp_path):
    """Killed while config.json was being written."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".config.json.123.part").write_text("{")
    with pytest.raises(RunFolderError, match="not the folder of a run"):
        resume_run(tmp_path / "run")
    train_run(tiny(corpus, "cgs"), tmp_path / "run", quiet=True)
    assert not list((tmp_path / "run").glob(".*"))


def test_a_finished_run_is_not_resumed(corpus, tmp_path):
    train_run(tiny(corpus, "cgs"), tmp_path / "run", quiet=True)
    with pytest.raises(RunFolderError, match="finished"):
        resume_run(tmp_path / "run")


@pytest.fixture
def killed(corpus, tmp_path):
    """Folder of a run that was killed after two iterations."""
    folder = tmp_path / "killed"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        kill_after(2, patch)
        train_run(tiny(corpus, "semi_spike_lda"), folder, quiet=True, checkpoint_every=1)
    return folder


def test_interrupts_leave_a_checkpoint_of_whole_iterations(corpus, tmp_path, monkeypatch):
    """Between two iterations: of this moment. In mid-iteration: the one on the disk."""
    from brian_lda.estimators import TrackPerplexity
    from brian_lda.estimators.trainers import MiniBatchTrainer

    config = tiny(corpus, "semi_spike_lda")
    whole = train_run(config, tmp_path / "whole", quiet=True)
    iterate, evaluate = MiniBatchTrainer.iterate, TrackPerplexity.__call__

    def interrupted_iterate(trainer):
        tokens = iterate(trainer)
        if trainer._n_batches == 4:
            raise KeyboardInterrupt
        return tokens

    def interrupted_evaluation(callback, model, record):
        evaluate(callback, model, record)
        if record["iteration"] == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(MiniBatchTrainer, "iterate", interrupted_iterate)
    _, metrics = train_run(config, tmp_path / "mid", quiet=True, checkpoint_every=2)
    assert (metrics["iterations"], metrics["checkpoint_iteration"]) == (3, 2)
    monkeypatch.setattr(MiniBatchTrainer, "iterate", iterate)
    monkeypatch.setattr(TrackPerplexity, "__call__", interrupted_evaluation)
    _, metrics = train_run(config, tmp_path / "between", quiet=True, checkpoint_every=2)
    assert (metrics["iterations"], metrics["checkpoint_iteration"]) == (3, 3)
    monkeypatch.undo()
    for name in ("mid", "between"):
        assert_same_run(resume_run(tmp_path / name, quiet=True), whole)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("handler", ["python", "brian2"])
def test_ctrl_c_ends_after_the_iteration_and_twice_at_once(handler, corpus, tmp_path, monkeypatch):
    from brian_lda.estimators.trainers import MiniBatchTrainer

    brian2 = pytest.importorskip("brian2")
    config = tiny(corpus, "semi_spike_lda")
    whole = train_run(config, tmp_path / "whole", quiet=True)
    iterate, presses = MiniBatchTrainer.iterate, [1, 2]

    def pressed(trainer):
        if trainer._n_batches == 2:
            for _ in range(n):
                os.kill(os.getpid(), signal.SIGINT)
        return iterate(trainer)

    monkeypatch.setattr(MiniBatchTrainer, "iterate", pressed)
    wanted = signal.default_int_handler if handler == "python" else brian2._int_handler
    before = signal.signal(signal.SIGINT, wanted)
    try:
        for n, iterations in zip(presses, (3, 2), strict=True):
            folder = tmp_path / str(n)
            _, metrics = train_run(config, folder, quiet=True, checkpoint_every=1)
            assert metrics["interrupted"] and metrics["iterations"] == iterations
            assert metrics["checkpoint_iteration"] == iterations
            assert signal.getsignal(signal.SIGINT) is wanted
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    for n in presses:
        assert_same_run(resume_run(tmp_path / str(n), quiet=True), whole)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_topics": 4}, "n_topics was 3 and is 4"),
        ({"algorithm": "cgs", "seed": 9}, "algorithm was .*semi.* and is 'cgs'; seed was 3"),
    ],
)
def test_other_options_are_refused_by_name(killed, given, message):
    with pytest.raises(CheckpointError, match=message):
        resume_run(killed, given=given)
    resume_run(killed, given={"n_topics": 3, "seed": 3}, quiet=True)


def test_an_edited_config_is_refused_by_name(killed):
    config = json.loads((killed / "config.json").read_text())
    (killed / "config.json").write_text(json.dumps(config | {"prior": 0.7}))
    with pytest.raises(CheckpointError, match="parameters: prior was None and is 0.7"):
        resume_run(killed)


def test_another_version_is_refused_by_name(killed, monkeypatch):
    from brian_lda.runs import run

    now = run.versions()
    monkeypatch.setattr(run, "versions", lambda: now | {"numpy": "9.9"})
    with pytest.raises(CheckpointError, match=f"numpy was '{now['numpy']}' and is '9.9'"):
        resume_run(killed)


def test_another_corpus_is_refused_by_name(killed, corpus, tmp_path):
    write_uci(load_corpus("bars", grid=2, n_docs=30, doc_length=6, seed=1), tmp_path / "changed")
    config = json.loads((killed / "config.json").read_text())
    content = read_checkpoint(killed / CHECKPOINT)
    content.config["corpus"] = config["corpus"] = str(tmp_path / "changed")
    write_checkpoint(killed / CHECKPOINT, content)
    (killed / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="other corpus: sha256 was .* Put back the files"):
        resume_run(killed)


def test_the_fingerprint_sees_counts_and_words():
    one = load_corpus("bars", grid=2, n_docs=30, doc_length=6, seed=0)
    counts = one.counts.copy()
    counts.data = counts.data.copy()
    counts.data[[0, 1]] = counts.data[[1, 0]] + [1, -1]
    changed = replace(one, counts=counts)
    renamed = replace(one, vocabulary=("x", *one.vocabulary[1:]))
    prints = [corpus_fingerprint(c)["sha256"] for c in (one, changed, renamed)]
    assert len(set(prints)) == 3
    assert prints[0] == corpus_fingerprint(replace(one, name="other"))["sha256"]


def test_a_damaged_checkpoint_is_refused_before_hdf5_sees_it(killed):
    content = (killed / CHECKPOINT).read_bytes()
    for position in (520, len(content) // 2, len(content) - 1):
        damaged = bytearray(content)
        damaged[position] ^= 1
        (killed / CHECKPOINT).write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            resume_run(killed)
    (killed / CHECKPOINT).write_bytes(content[:-1])
    with pytest.raises(CheckpointError, match="damaged"):
        resume_run(killed)
    (killed / CHECKPOINT).write_bytes(b"")
    with pytest.raises(CheckpointError, match="not a checkpoint of brian_lda"):
        resume_run(killed)


def test_a_state_of_another_algorithm_is_refused(killed):
    content = read_checkpoint(killed / CHECKPOINT)
    content.state["M__alpha"] = content.state["M__alpha"][:2]
    write_checkpoint(killed / CHECKPOINT, content)
    with pytest.raises(CheckpointError, match="M__alpha must be float64 of shape"):
        resume_run(killed)
    del content.state["M__alpha"]
    write_checkpoint(killed / CHECKPOINT, content)
    with pytest.raises(CheckpointError, match="lacks M__alpha"):
        resume_run(killed)


def test_any_hdf5_tool_reads_a_checkpoint(killed):
    with h5py.File(killed / CHECKPOINT) as file:
        assert json.loads(file.attrs["about"])["config"]["algorithm"] == "semi_spike_lda"
        assert file["state/M__alpha"].shape == (3, 4)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), PermissionError(13, "")])
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_full_disk_keeps_the_last_checkpoint_and_the_training(
    function, error, corpus, tmp_path, monkeypatch, caplog
):
    """The disk is full for iterations 3 and 4; it is killed after 4 and resumes from 2."""
    config, folder = tiny(corpus, "semi_spike_lda"), tmp_path / "run"
    whole = train_run(config, tmp_path / "whole", quiet=True)
    write, kept = saving.write_checkpoint, []

    def write_to_full_disk(path, content):
        if len(content.history) == 5:
            raise Killed
        with pytest.MonkeyPatch.context() as patch:
            if len(content.history) > 2:

                def fail(*arguments):
                    raise error

                patch.setattr(f"brian_lda.files.atomic.os.{function}", fail)
            try:
                write(path, content)
            finally:
                kept.append(path.read_bytes())

    monkeypatch.setattr(saving, "write_checkpoint", write_to_full_disk)
    with caplog.at_level(logging.WARNING, "brian_lda"), pytest.raises(Killed):
        train_run(config, folder, quiet=True, checkpoint_every=1)
    monkeypatch.undo()
    assert caplog.text.count("the checkpoint of iteration 2 stays") == 2
    assert kept[1] == kept[2] == kept[3] != kept[0]
    assert not list(folder.glob(".*"))
    assert_same_run(resume_run(folder, quiet=True), whole)


def test_loading_the_model_of_a_resumed_run(corpus, tmp_path):
    model, _ = run_and_resume(tiny(corpus, "ed_spike_lda"), tmp_path / "run")
    loaded = TopicModel.load(tmp_path / "run" / "model.h5")
    np.testing.assert_array_equal(loaded.components_, model.components_)
    assert loaded.n_iter_ == 5
