"""What a run of a sweep may be: functions from plain data to plain data."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from brian_lda.runs import RunConfig, train_run


def train(config: dict[str, Any], *, data_dir: str | None = None) -> dict[str, Any]:
    """Train and evaluate as `sims/train.py` does; the result is its metrics.json."""
    run = RunConfig(**config, data_dir=data_dir)
    with tempfile.TemporaryDirectory(prefix="brian_lda_sweep_") as folder:
        _, metrics = train_run(run, Path(folder) / "run", quiet=True, save_model=False)
    if metrics["interrupted"]:  # half a run is no run
        raise KeyboardInterrupt
    return metrics
