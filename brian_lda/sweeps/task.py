"""A run of a sweep as plain data: which function, called with which configuration.

Plain data can be hashed, which names the run's folder, and sent to another machine.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import itertools
import json
import resource
import sys
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from brian_lda.algorithms import ALGORITHMS
from brian_lda.automatic_steps import constants_of
from brian_lda.errors import ParameterError
from brian_lda.runs import RunConfig

TRAIN = "brian_lda.sweeps.experiments:train"
RESULT_KEY = "sweep"  # of a result: what the sweep itself adds


@dataclass(frozen=True)
class Task:
    """One run.

    Parameters
    ----------
    config : mapping
        JSON-like arguments of the function.
    function : str
        "module:name" of a function that takes `config` (and `data_dir`) and returns a JSON-like
        dict. It is imported where the run takes place.
    data_dir : str, optional
        Where that machine keeps corpora; no part of the run's identity.
    unfinished : str, optional
        Where that machine keeps what a training run has learnt so far, so that a kill costs no more
        than the last seconds (`brian_lda.sweeps.unfinished`); no part of the run's identity.
    """

    config: Mapping[str, Any]
    function: str = TRAIN
    data_dir: str | None = None
    unfinished: str | None = None

    @property
    def key(self) -> str:
        """Name of the run's folder: readable in front, then the hash of what defines the run."""
        defaults = _defaults(self.config.get("algorithm"))
        identity = [self.function, dict(self.config), version("brian_lda"), defaults]
        try:
            text = json.dumps(identity, sort_keys=True)
        except TypeError as error:
            raise ParameterError(
                f"the configuration of a run must be plain data (JSON); {error}."
            ) from error
        parts = [self.config.get(name) for name in ("algorithm", "corpus", "n_topics", "seed")]
        front = "-".join(str(part) for part in parts if part is not None)
        front = "".join(c if c.isalnum() or c in "-." else "_" for c in front)[-60:]
        return f"{front or 'run'}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _defaults(algorithm: str | None) -> list[list[str]]:
    """What a run takes from the package where its configuration is silent, by name.

    When a default changes, runs with it are other runs.
    """
    kind = next((known for known in ALGORITHMS if known.name == algorithm), None)
    if kind is None:
        return []
    parameters = inspect.signature(kind.load_estimator()).parameters
    found = {name: repr(parameter.default) for name, parameter in parameters.items()}
    if kind.is_spiking:
        found |= {name: repr(value) for name, value in constants_of(kind.iteration).items()}
    return sorted([name, value] for name, value in found.items())


@dataclass(frozen=True)
class Outcome:
    """What came of a run: its result, or the traceback of its failure."""

    result: dict[str, Any] | None = None
    traceback: str | None = None


def expand_grid(**axes: Any) -> list[dict[str, Any]]:
    """All combinations of the axes, the last one varying fastest.

    A list or tuple is an axis; anything else is the same in every combination.

    >>> expand_grid(algorithm="cgs", prior=[0.1, 0.5], seed=[0, 1])[1]
    {'algorithm': 'cgs', 'prior': 0.1, 'seed': 1}
    """
    values = [axis if isinstance(axis, (list, tuple)) else [axis] for axis in axes.values()]
    return [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*values)]


def train_tasks(
    configs: Iterable[Mapping[str, Any]],
    data_dir: str | None = None,
    unfinished: str | None = None,
) -> list[Task]:
    """Training runs; each configuration holds fields of `brian_lda.runs.RunConfig`.

    Defaults are filled in, so that a field left out and one set to its default are the same run.
    """
    known = {field.name for field in fields(RunConfig)} - {"data_dir"}
    tasks = []
    for config in configs:
        if unknown := sorted(config.keys() - known):
            raise ParameterError(
                f"unknown axes {', '.join(unknown)}; a training run has {', '.join(sorted(known))}."
            )
        complete = asdict(RunConfig(**config))
        del complete["data_dir"]
        tasks.append(Task(complete, TRAIN, data_dir, unfinished))
    return tasks


def execute(task: Task, n_threads: int | None = 1) -> Outcome:
    """Carry a run out, here and now; an exception becomes part of the outcome."""
    import numba

    started = time.perf_counter()
    before = numba.get_num_threads()
    try:
        if n_threads is not None:  # no result depends on it; parallel runs must not multiply it
            numba.set_num_threads(min(n_threads, numba.config.NUMBA_NUM_THREADS))
        module, _, name = task.function.partition(":")
        function = getattr(importlib.import_module(module), name)
        where: dict[str, Any] = {"data_dir": task.data_dir}
        if task.unfinished is not None:
            where["unfinished"] = Path(task.unfinished) / task.key
        result = dict(function(dict(task.config), **where))
    except Exception:  # noqa: BLE001 - reported by the sweep, which goes on
        return Outcome(traceback=traceback.format_exc())
    finally:
        numba.set_num_threads(before)
    result[RESULT_KEY] = {
        "wall_seconds": time.perf_counter() - started,
        "peak_memory_mib": peak_memory_mib(),
    }
    return Outcome(result=result)


def peak_memory_mib() -> float:
    """The most memory that this process has held so far."""
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
