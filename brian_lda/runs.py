"""One training run as a folder: config.json, metrics.json and model.h5.

The layer that `sims/train.py` and every other script share. The folder is made before training
starts (a run that cannot be saved should not be trained) and never overwritten unless asked.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda.corpus import HoldoutSplit, holdout_split, load_corpus
from brian_lda.errors import ParameterError, RunFolderError
from brian_lda.estimators import (
    CollapsedGibbsLDA,
    ProgressBar,
    SemiSpikeLDA,
    SpikeCGS,
    SpikeLDA,
    SpikePLSI,
    StochasticGradientMCMCLDA,
    StochasticVariationalLDA,
    TopicModel,
    TrackPerplexity,
)
from brian_lda.evaluation import fold_in_gibbs, heldout_perplexity
from brian_lda.parameters import step_rule_from_dict

# name on the command line: (estimator, fixed arguments, iterations between two evaluations)
ALGORITHMS: dict[str, tuple[type[TopicModel], dict[str, Any], int]] = {
    "spike-cgs": (SpikeCGS, {}, 1),
    "ed-spike-lda": (SpikeLDA, {"update": "event"}, 1),
    "du-spike-lda": (SpikeLDA, {"update": "delayed"}, 20),
    "semi-spike-lda": (SemiSpikeLDA, {}, 20),
    "ed-spike-plsi": (SpikePLSI, {}, 1),
    "cgs": (CollapsedGibbsLDA, {}, 1),
    "svi": (StochasticVariationalLDA, {}, 20),
    "sgmcmc": (StochasticGradientMCMCLDA, {}, 20),
}
CONFIG, METRICS, MODEL = "config.json", "metrics.json", "model.h5"


@dataclass(frozen=True)
class RunConfig:
    """What defines a run; None means the estimator's default.

    An iteration is a pass over the corpus, or a mini-batch update for du- and semi-SpikeLDA, SVI
    and SGMCMC. `split_seed` fixes the test documents apart from `seed`, so that runs with
    different seeds are judged on the same documents. `options` holds further arguments of the
    estimator as plain data, step rules in the form of `brian_lda.parameters.step_rule_to_dict`.
    """

    algorithm: str = "semi-spike-lda"
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
    options: dict[str, Any] = field(default_factory=dict)


def make_model(config: RunConfig) -> TopicModel:
    """The estimator of a run, not yet fitted."""
    if config.algorithm not in ALGORITHMS:
        raise ParameterError(
            f"algorithm must be one of {', '.join(ALGORITHMS)}; found {config.algorithm!r}."
        )
    estimator, fixed, _ = ALGORITHMS[config.algorithm]
    known = estimator._get_param_names()
    chosen = {
        "doc_topic_prior": config.prior,
        "topic_word_prior": config.word_prior,
        "max_iter": config.iterations,
        "backend": None if config.backend == "rate" else config.backend,
    }
    chosen = {name: value for name, value in chosen.items() if value is not None}
    for name, value in config.options.items():
        is_rule = isinstance(value, dict) and "rule" in value
        chosen[name] = step_rule_from_dict(value) if is_rule else value
    unknown = [name for name in chosen if name not in known]
    if "backend" in unknown:
        raise ParameterError(
            f"{config.algorithm} is a baseline without spikes; use backend 'rate'."
        )
    if unknown:
        raise ParameterError(f"{config.algorithm} has no {' or '.join(unknown)}; leave it out.")
    return estimator(n_topics=config.n_topics, random_state=config.seed, **fixed, **chosen)


def train_run(
    config: RunConfig,
    out: str | Path,
    *,
    overwrite: bool = False,
    quiet: bool = False,
    save_model: bool = True,
) -> tuple[TopicModel, dict[str, Any]]:
    """Train, evaluate and write the run's folder; returns the model and its metrics.

    Ctrl-C ends training early and keeps what was learnt (metrics["interrupted"] is true).
    """
    model = make_model(config)
    split = holdout_split(
        load_corpus(config.corpus, data_dir=config.data_dir), seed=config.split_seed
    )
    out = new_run_folder(out, overwrite=overwrite)
    write_json(out / CONFIG, {**asdict(config), "versions": versions()})
    every = config.evaluate_every or ALGORITHMS[config.algorithm][2]
    bar = ProgressBar(disable=quiet)
    model.callbacks = [TrackPerplexity(split.observed, split.heldout, every=every), bar]
    interrupted = False
    try:
        model.fit(split.train)
    except BaseException as error:
        if not getattr(model, "history_", None):
            shutil.rmtree(out)  # nothing was learnt: leave no empty run behind
            raise
        if not isinstance(error, KeyboardInterrupt):
            raise
        interrupted = True
    finally:
        bar.close()
    metrics = run_metrics(model, config, split, interrupted=interrupted)
    if save_model:
        model.save(out / MODEL)
    write_json(out / METRICS, metrics)
    return model, metrics


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
        "interrupted": interrupted,
        "perplexity": score.perplexity,
        # the paper's estimator for samplers (Asuncion 2009), beside the one common to all
        "perplexity_one_sample": one_sample.perplexity,
        "floor_tokens": score.floor_tokens,
        "heldout_tokens": score.n_tokens,
        "tokens_per_second": last["tokens"] / max(last["seconds"], 1e-9),
        "seconds": last["seconds"],
        "history": [
            {key: record[key] for key in kept}
            for record in model.history_
            if "perplexity" in record
        ],
        "versions": versions(),
    }


def new_run_folder(path: str | Path, *, overwrite: bool = False) -> Path:
    """Make the folder of a run; refuses one that holds something, unless it is an old run."""
    path = Path(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        if not overwrite:
            raise RunFolderError(
                f"{path} exists already and is left as it is: choose another --out, or pass "
                "--overwrite to replace that run."
            )
        if not (path / CONFIG).is_file():
            raise RunFolderError(f"{path} is not the folder of a run (no {CONFIG}): not replaced.")
        shutil.rmtree(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / ".writable").touch()
        (path / ".writable").unlink()
    except OSError as error:
        raise RunFolderError(f"cannot write to {path}: {error}.") from error
    return path


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write a JSON file that is either complete or not there."""
    scratch = path.with_name(f".{path.name}.part")
    try:
        scratch.write_text(json.dumps(data, indent=1, default=_plain) + "\n", encoding="utf-8")
        os.replace(scratch, path)
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error}.") from error


def versions() -> dict[str, str]:
    """Versions of everything that a result may depend on."""
    found = {"python": platform.python_version()}
    for package in ("brian_lda", "brian2", "numpy", "scipy", "numba", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot write a {type(value).__name__} to JSON")
