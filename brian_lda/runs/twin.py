"""What the rate-level twin of a spiking run reaches from the same start."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from brian_lda.algorithms import find_algorithm
from brian_lda.errors import ParameterError
from brian_lda.estimators import TrackPerplexity
from brian_lda.files.json_files import write_json
from brian_lda.runs.folder import METRICS
from brian_lda.runs.run import EVALUATE_EVERY, RunConfig, make_model, run_split

_log = logging.getLogger(__name__)


def add_twin(config: RunConfig, out: Path, metrics: dict[str, Any]) -> dict[str, Any]:
    """Train the twin of a finished run and put its curve into the run's metrics.json.

    Same seed, hence the same initial weights and the same order of the tokens, and as many
    iterations; its winners are its own. Limits of chips that the rate level does not know leave a
    run without a twin.

    Parameters
    ----------
    config : RunConfig
        Of the run in spikes.
    out : Path
        Its folder.
    metrics : dict
        Of the run.
    """
    options = {name: value for name, value in config.options.items() if name != "brian2_options"}
    rate_level = replace(
        config, backend="rate", record=None, iterations=metrics["iterations"], options=options
    )
    model, split = make_model(rate_level), run_split(config)
    every = config.evaluate_every or EVALUATE_EVERY[find_algorithm(config.algorithm).iteration]
    model.callbacks = [TrackPerplexity(split.observed, split.heldout, every=every)]
    try:
        model.fit(split.train)
    except ParameterError as error:
        _log.info("this run has no rate-level twin: %s", error)
        return metrics
    twin = {
        "perplexity": model.heldout_score(split.observed, split.heldout).perplexity,
        "history": [
            {name: record[name] for name in ("iteration", "tokens", "seconds", "perplexity")}
            for record in model.history_
            if "perplexity" in record
        ],
    }
    metrics = {**metrics, "twin": twin}
    write_json(out / METRICS, metrics)
    return metrics
