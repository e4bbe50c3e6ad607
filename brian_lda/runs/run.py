"""One training run as a folder: config.json, checkpoint.h5, metrics.json and model.h5.

The layer that `sims/train.py` and every other script share. The folder is made before training
starts (a run that cannot be saved should not be trained) and never overwritten unless asked. From
config.json on, the run can be killed at any moment and resumed (`resume_run`); the checkpoint
goes when the run is finished.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from brian_lda.algorithms import Iteration, find_algorithm
from brian_lda.corpus import HoldoutSplit, holdout_split, load_corpus
from brian_lda.errors import BrianLDAError, ParameterError, RunFolderError
from brian_lda.estimators import ProgressBar, TopicModel, TrackPerplexity
from brian_lda.estimators.brian2_options import KNOWN
from brian_lda.estimators.checkpoint import Checkpoint, corpus_fingerprint, read_checkpoint
from brian_lda.evaluation import fold_in_gibbs, heldout_perplexity
from brian_lda.files.atomic import is_scratch
from brian_lda.files.json_files import plain, read_json, write_json
from brian_lda.runs.folder import (
    CHECKPOINT,
    CONFIG,
    METRICS,
    MODEL,
    RECORDING,
    decisive,
    new_run_folder,
    versions,
)
from brian_lda.runs.saving import (
    DEFAULT_EVERY,
    CheckpointSaver,
    StopAfterIteration,
    recorded_so_far,
    require_same,
    save_recording,
)
from brian_lda.step_rules import step_rule_from_dict

# Iterations between two evaluations: a mini-batch is a small part of a pass.
EVALUATE_EVERY: dict[Iteration, int] = {"pass": 1, "sweep": 1, "mini-batch": 20}


@dataclass(frozen=True)
class RunConfig:
    """What defines a run; None means the estimator's default.

    `algorithm` is a name of `brian_lda.algorithms`, which also says what an iteration is: a pass
    over the corpus, a sweep, or a mini-batch update. `split_seed` fixes the test documents apart
    from `seed`, so that runs with different seeds are judged on the same documents. `documents`
    takes only so many of the corpus. `record` holds the fields of a `Recording`, in spikes.
    `options` holds further arguments of the estimator as plain data, step rules in the form of
    `brian_lda.parameters.step_rule_to_dict`.
    """

    algorithm: str = "semi_spike_lda"
    backend: str = "rate"
    corpus: str = "reuters"
    n_topics: int = 20
    prior: float | None = None
    word_prior: float | None = None
    iterations: int | None = None
    seed: int = 0
    split_seed: int = 0
    data_dir: str | None = None
    evaluate_every: int | None = None
    documents: int | None = None
    record: dict[str, Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)


_OPTIONAL_INT, _PRIOR = (int, type(None)), (int, float, list, type(None))
FIELD_TYPES: dict[str, Any] = {  # in config.json
    **dict.fromkeys(("algorithm", "backend", "corpus"), str),
    **dict.fromkeys(("n_topics", "seed", "split_seed"), int),
    **dict.fromkeys(("prior", "word_prior"), _PRIOR),
    **dict.fromkeys(("iterations", "evaluate_every", "documents"), _OPTIONAL_INT),
    "record": (dict, type(None)),
    "data_dir": (str, type(None)),
    "options": dict,
}


def make_model(config: RunConfig) -> TopicModel:
    """The estimator of a run, not yet fitted."""
    algorithm = find_algorithm(config.algorithm)
    estimator = algorithm.load_estimator()
    known = estimator._get_param_names()
    chosen = {
        "doc_topic_prior": config.prior,
        "topic_word_prior": config.word_prior,
        "max_iter": config.iterations,
        "backend": None if config.backend == "rate" else config.backend,
        "record": config.record,
    }
    chosen = {name: value for name, value in chosen.items() if value is not None}
    for name, value in config.options.items():
        is_rule = isinstance(value, dict) and "rule" in value
        chosen[name] = step_rule_from_dict(value) if is_rule else value
    own = [name for name in ("n_topics", "random_state", "callbacks") if name in chosen]
    if own:
        raise ParameterError(
            f"options may not hold {' or '.join(own)}: a run has these of its own, n_topics and "
            "seed."
        )
    unknown = [name for name in chosen if name not in known]
    if "backend" in unknown:
        raise ParameterError(f"{algorithm.title} is a baseline without spikes; use backend 'rate'.")
    if unknown:
        in_spikes = algorithm.is_spiking and set(unknown) <= set(KNOWN)
        advice = "it belongs into brian2_options" if in_spikes else "leave it out"
        raise ParameterError(f"{algorithm.title} has no {' or '.join(unknown)}; {advice}.")
    return estimator(n_topics=config.n_topics, random_state=config.seed, **chosen)


def train_run(
    config: RunConfig,
    out: str | Path,
    *,
    overwrite: bool = False,
    quiet: bool = False,
    save_model: bool = True,
    checkpoint_every: str | int = DEFAULT_EVERY,
) -> tuple[TopicModel, dict[str, Any]]:
    """Train, evaluate and write the run's folder; returns the model and its metrics.

    Ctrl-C ends training early and keeps what was learnt (metrics["interrupted"] is true).

    Parameters
    ----------
    config : RunConfig
    out : str or Path
    overwrite : bool
        Replace an earlier run in `out`.
    quiet : bool
        No progress bar.
    save_model : bool
        False: neither model nor checkpoints, for a run whose folder is thrown away.
    checkpoint_every : str or int
        "10s" or a number of iterations, see `CheckpointSaver`.
    """
    model, split = make_model(config), run_split(config)
    saver = make_saver(config, split, Path(out), checkpoint_every) if save_model else None
    out = new_run_folder(out, overwrite=overwrite)
    write_json(out / CONFIG, {**asdict(config), "versions": versions()})
    try:
        return finish_run(config, out, model, split, saver, quiet=quiet)
    except BaseException:
        if not getattr(model, "history_", None):
            shutil.rmtree(out)  # nothing was learnt: leave no empty run behind
        raise


def resume_run(
    folder: str | Path,
    *,
    given: dict[str, Any] | None = None,
    quiet: bool = False,
    checkpoint_every: str | int = DEFAULT_EVERY,
) -> tuple[TopicModel, dict[str, Any]]:
    """Go on with a run that was interrupted or killed, to the same result to the last bit.

    Parameters
    ----------
    folder : str or Path
        Of the run; one that was killed before its first checkpoint starts from the beginning.
    given : dict, optional
        Fields of `RunConfig` that the run is expected to have; a difference is refused. "data_dir"
        may differ: the corpus is told by its content.
    quiet, checkpoint_every
        As in `train_run`.

    Raises
    ------
    CheckpointError
        The checkpoint is damaged, or of another version, corpus or parameter set.
    """
    out, given = Path(folder), dict(given or {})
    config, started_with = read_config(out)
    if (out / METRICS).is_file() and not read_json(out / METRICS).get("interrupted"):
        raise RunFolderError(f"the run in {out} is finished: there is nothing to resume.")
    config = replace(config, data_dir=given.pop("data_dir", None) or config.data_dir)
    require_same({name: getattr(config, name) for name in given}, given, "parameters")
    require_same(decisive(started_with), decisive(versions()), "versions")
    model, split = make_model(config), run_split(config)
    saver = make_saver(config, split, out, checkpoint_every)
    checkpoint = None
    if (out / CHECKPOINT).is_file():
        checkpoint = read_checkpoint(out / CHECKPOINT)
        checkpoint.recorded = recorded_so_far(out / RECORDING)
        for what, found in (
            ("versions", checkpoint.versions),
            ("parameters", checkpoint.config),
            ("corpus", checkpoint.corpus),
        ):
            require_same(found, saver.about["config" if what == "parameters" else what], what)
        saver.saved_iteration = len(checkpoint.history)
    for leftover in filter(is_scratch, out.iterdir()):
        leftover.unlink()
    return finish_run(config, out, model, split, saver, quiet=quiet, checkpoint=checkpoint)


def finish_run(
    config: RunConfig,
    out: Path,
    model: TopicModel,
    split: HoldoutSplit,
    saver: CheckpointSaver | None,
    *,
    quiet: bool,
    checkpoint: Checkpoint | None = None,
) -> tuple[TopicModel, dict[str, Any]]:
    """Train from the beginning or from a checkpoint, and write what a finished run holds."""
    unit = find_algorithm(config.algorithm).iteration
    every = config.evaluate_every or EVALUATE_EVERY[unit]
    bar = ProgressBar(disable=quiet)
    model.callbacks = [TrackPerplexity(split.observed, split.heldout, every=every), bar]
    model.callbacks += [saver] if saver else []
    stop = StopAfterIteration()
    model.callbacks.append(stop)
    if config.backend == "brian2":
        # Importing Brian installs its own Ctrl-C, which ends a simulation early without an error:
        # ours must come after it.
        import brian2  # noqa: F401
    try:
        with stop:
            if checkpoint is None:
                model.fit(split.train)
            else:
                model.resume(split.train, checkpoint)
    except (KeyboardInterrupt, BrianLDAError) as error:
        # Ctrl-C in a terminal also ends the compiler and the simulator, which is then an error.
        if not (stop.requested or isinstance(error, KeyboardInterrupt)):
            raise
        if not getattr(model, "history_", None):
            raise KeyboardInterrupt from error
        stop.requested = True
    finally:
        bar.close()
    ended = model.n_iter_ >= model.max_iterations_ or "stopped" in model.history_[-1]
    interrupted = stop.requested and not ended
    if interrupted and saver and model.between_iterations_:
        saver.save(model)
    metrics = run_metrics(model, config, split, interrupted=interrupted)
    if saver:
        metrics["checkpoint_iteration"] = saver.saved_iteration if interrupted else None
        model.save(out / MODEL)
        if not interrupted:
            save_recording(out / RECORDING, model.recorded_)
    write_json(out / METRICS, metrics)
    if not interrupted:
        (out / CHECKPOINT).unlink(missing_ok=True)
    return model, metrics


def run_split(config: RunConfig) -> HoldoutSplit:
    """Training and test documents of a run."""
    corpus = load_corpus(config.corpus, data_dir=config.data_dir)
    if config.documents is not None:
        corpus = corpus.subset(range(min(config.documents, corpus.n_docs)))
    return holdout_split(corpus, seed=config.split_seed)


def make_saver(
    config: RunConfig, split: HoldoutSplit, out: Path, every: str | int
) -> CheckpointSaver:
    """The callback that writes checkpoint.h5, with what tells this run from others."""
    about = {
        "config": json.loads(json.dumps(asdict(replace(config, data_dir=None)), default=plain)),
        "corpus": corpus_fingerprint(split.train),
        "versions": decisive(versions()),
    }
    return CheckpointSaver(out / CHECKPOINT, about, every, recording=out / RECORDING)


def read_config(folder: Path) -> tuple[RunConfig, dict[str, str]]:
    """What config.json of a run holds: the configuration, and the versions it started with."""
    if not (folder / CONFIG).is_file():
        raise RunFolderError(
            f"{folder} is not the folder of a run: it has no {CONFIG}. Start the run anew with "
            "--out."
        )
    data = read_json(folder / CONFIG)
    started_with = data.pop("versions", {})
    if not isinstance(started_with, dict):
        raise RunFolderError(f"{folder / CONFIG}: versions must be an object.")
    for name, value in data.items():
        if name not in FIELD_TYPES:
            raise RunFolderError(
                f"{folder / CONFIG}: {name} is no field of a run; known: {', '.join(FIELD_TYPES)}."
            )
        if not isinstance(value, FIELD_TYPES[name]) or isinstance(value, bool):
            raise RunFolderError(f"{folder / CONFIG}: {name} cannot be {value!r}.")
    return RunConfig(**data), started_with


def run_metrics(
    model: TopicModel, config: RunConfig, split: HoldoutSplit, *, interrupted: bool = False
) -> dict[str, Any]:
    """What metrics.json holds."""
    score = model.heldout_score(split.observed, split.heldout)
    sampled = fold_in_gibbs(model.components_, split.observed, model._pseudo_count(), seed=0)
    one_sample = heldout_perplexity(model.components_, split.observed, split.heldout, theta=sampled)
    last = model.history_[-1]
    kept = ("iteration", "tokens", "seconds", "perplexity")
    return {
        "algorithm": config.algorithm,
        "backend": config.backend,
        "corpus": config.corpus,
        "n_topics": config.n_topics,
        "seed": config.seed,
        "iterations": model.n_iter_,
        "passes": model.n_iter_ / model.trainer_.iterations_per_pass,
        "stopped": last.get("stopped"),
        "interrupted": interrupted,
        "perplexity": score.perplexity,
        # the paper's estimator for samplers (Asuncion 2009), beside the one common to all
        "perplexity_one_sample": one_sample.perplexity,
        "floor_tokens": score.floor_tokens,
        "heldout_tokens": score.n_tokens,
        "tokens_per_second": last["tokens"] / max(last["seconds"], 1e-9),
        "seconds": last["seconds"],
        "cpu_seconds": last["cpu_seconds"],
        "history": [
            {key: record[key] for key in kept}
            for record in model.history_
            if "perplexity" in record
        ],
        "versions": versions(),
    }
