"""Model files: HDF5, readable by any HDF5 tool; nothing in them is ever executed.

user block   checksum (`brian_lda.files.hdf5`)
/            attributes: format, format_version, class, parameters (JSON), history (JSON), versions
/components  float64 [topic, word]
/vocabulary  UTF-8 strings [word], if known
/state/*     arrays of the trainer, enough to look at its weights and to go on learning
"""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from brian_lda.constraints import Constraints
from brian_lda.errors import BrianLDAError, ModelFileError
from brian_lda.files.atomic import atomic_file
from brian_lda.files.hdf5 import (
    check_seal,
    read_array,
    read_arrays,
    sealed_image,
    stored_dataset,
)
from brian_lda.step_rules import (
    AdaGrad,
    RMSProp,
    RobbinsMonro,
    VarianceTracking,
    step_rule_from_dict,
    step_rule_to_dict,
)

FORMAT = "brian_lda model"
FORMAT_VERSION = 3
_STEP_RULES = (RobbinsMonro, VarianceTracking, AdaGrad, RMSProp)
_NOT_SAVED = ("callbacks", "record")  # who watches, not what is learned


def save_model(model: Any, path: str | Path) -> None:
    """Write a fitted estimator; the file appears under its name only when it is complete."""
    path = Path(path)
    if not path.parent.is_dir():
        raise ModelFileError(f"cannot save to {path}: the folder {path.parent} does not exist.")
    image = sealed_image("model", lambda file: _write(model, file))
    try:
        with atomic_file(path) as scratch:
            scratch.write_bytes(image)
    except OSError as error:
        raise ModelFileError(f"cannot write {path}: {error}.") from error


def _write(model: Any, file: h5py.File) -> None:
    parameters = model.get_params(deep=False)
    file.attrs["format"] = FORMAT
    file.attrs["format_version"] = FORMAT_VERSION
    file.attrs["class"] = type(model).__name__
    file.attrs["parameters"] = json.dumps(
        {k: _plain(v) for k, v in parameters.items() if k not in _NOT_SAVED}
    )
    file.attrs["history"] = json.dumps(model.history_)
    file.attrs["seed"] = getattr(model, "seed_", -1)
    file.attrs["versions"] = json.dumps({name: version(name) for name in ("brian_lda", "numpy")})
    file.create_dataset("components", data=model.components_)
    if model.vocabulary_ is not None:
        text = h5py.string_dtype("utf-8")
        file.create_dataset(
            "vocabulary", data=np.array(model.vocabulary_, dtype=object), dtype=text
        )
    trainer = getattr(model, "trainer_", None)
    state = trainer.state() if trainer is not None else getattr(model, "state_", {})
    for name, array in state.items():
        file.create_dataset(f"state/{name}", data=array)
    step = getattr(trainer, "word_step", getattr(model, "step_in_use_", None))
    file.attrs["step_in_use"] = json.dumps(_plain(step))


def load_model(path: str | Path, classes: dict[str, type]) -> Any:
    """Read an estimator back: parameters, Phi, history, and the weights in `state_`."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"there is no model file {path}.")
    try:
        check_seal(path, "model")
    except (OSError, ValueError) as error:
        raise ModelFileError(f"cannot read {path}: {error}. Put back a copy.") from error
    try:
        with h5py.File(path, "r") as file:
            return _read(file, path, classes)
    except ModelFileError:
        raise
    # h5py passes on whatever the HDF5 library stumbles over, in any of these classes.
    except (OSError, RuntimeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path} does not hold what a model file holds: {error}. Was it written by save()?"
        ) from error


def _read(file: h5py.File, path: Path, classes: dict[str, type]) -> Any:
    if file.attrs.get("format") != FORMAT or "components" not in file:
        raise ModelFileError(f"{path} is an HDF5 file, but not a model of brian_lda.")
    if file.attrs["format_version"] != FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {file.attrs['format_version']}, this version of brian_lda "
            f"reads {FORMAT_VERSION}: use the version that wrote it ({file.attrs.get('versions')})."
        )
    name = file.attrs["class"]
    if name not in classes:
        raise ModelFileError(f"{path} holds a {name!r}; known models: {sorted(classes)}.")
    try:
        parameters = {k: _object(v) for k, v in json.loads(file.attrs["parameters"]).items()}
        model = classes[name](**parameters)
        model.history_ = json.loads(file.attrs["history"])
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"the parameters in {path} do not fit a {name}: {error}.") from error
    if not isinstance(model.history_, list):
        raise ModelFileError(f"the history in {path} is no list of iterations.")
    model.components_ = read_array(file, "components", path)
    K = getattr(model, "n_topics", None)
    if model.components_.ndim != 2 or len(model.components_) != K:
        raise ModelFileError(
            f"{path}: components has shape {model.components_.shape}, expected {K} topics."
        )
    if model.components_.dtype != np.float64 or not np.isfinite(model.components_).all():
        raise ModelFileError(f"{path}: components must be finite float64 numbers.")
    model.vocabulary_ = None
    if "vocabulary" in file:
        model.vocabulary_ = tuple(stored_dataset(file, "vocabulary", path).asstr()[...])
        if len(model.vocabulary_) != model.components_.shape[1]:
            raise ModelFileError(
                f"{path}: {len(model.vocabulary_)} words for {model.components_.shape[1]} columns."
            )
    model.n_features_in_ = model.components_.shape[1]
    model.n_iter_ = len(model.history_)
    model.seed_ = int(file.attrs["seed"])
    model.state_ = read_arrays(file["state"], path) if "state" in file else {}
    if getattr(model, "learn_prior", False):
        lamda = model.state_.get("doc_topic_prior", np.empty(0))
        if lamda.shape != (K,) or not (np.isfinite(lamda).all() and (lamda > 0).all()):
            raise ModelFileError(
                f"{path}: the learned doc_topic_prior must be {K} positive numbers; found {lamda}."
            )
    try:
        model.step_in_use_ = _object(json.loads(file.attrs["step_in_use"]))
    except (ValueError, KeyError, BrianLDAError) as error:
        raise ModelFileError(f"the step rule in {path} is none: {error}.") from error
    return model


def _plain(value: Any) -> Any:
    if isinstance(value, _STEP_RULES):
        return {"step_rule": step_rule_to_dict(value)}
    if is_dataclass(value) and not isinstance(value, type):
        # Limits of chips and inhibitions: estimators take their plain form as well.
        kind = {} if isinstance(value, Constraints) else {"kind": type(value).__name__}
        value = {**kind, **asdict(value)}
    if isinstance(value, dict):
        return {"dict": {name: _plain(entry) for name, entry in value.items()}}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return list(value)
    return None  # a random generator: the seed drawn from it is saved as `seed`


def _object(value: Any) -> Any:
    if isinstance(value, dict) and "step_rule" in value:
        return step_rule_from_dict(value["step_rule"])
    if isinstance(value, dict) and "array" in value:
        return np.array(value["array"])
    if isinstance(value, dict) and "dict" in value:
        return {name: _object(entry) for name, entry in value["dict"].items()}
    return tuple(value) if isinstance(value, list) else value
