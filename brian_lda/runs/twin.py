"""What the rate-level twin of a spiking run reaches from the same start, and both from others."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from brian_lda.algorithms import find_algorithm
from brian_lda.errors import ParameterError
from brian_lda.estimators import TrackPerplexity
from brian_lda.files.json_files import write_json
from brian_lda.runs.folder import METRICS
from brian_lda.runs.run import EVALUATE_EVERY, RunConfig, make_model, run_split

_log = logging.getLogger(__name__)


OTHER_STARTS = 3  # of either kind, at most
PATIENCE = 30.0  # seconds that they may take, or as long as the run itself took


def add_twin(config: RunConfig, out: Path, metrics: dict[str, Any]) -> dict[str, Any]:
    """Train the twin of a finished run and put its curve into the run's metrics.json.

    Same seed, hence the same initial weights and the same order of the tokens, and as many
    iterations; its winners are its own. Then, as long as that is soon done, both kinds from a few
    other starts ("other_starts"): they tell how far apart single runs are by chance. Limits of
    chips that the rate level does not know leave a run without a twin.

    Parameters
    ----------
    config : RunConfig
        Of the run in spikes.
    out : Path
        Its folder.
    metrics : dict
        Of the run.
    """
    without = {name: value for name, value in config.options.items() if name != "brian2_options"}
    spikes = replace(config, iterations=metrics["iterations"], record=None)
    rate_level = replace(spikes, backend="rate", options=without)
    started = perf_counter()
    try:
        twin = _trained(rate_level)
    except ParameterError as error:
        _log.info("this run has no rate-level twin: %s", error)
        return metrics
    kinds = ((spikes, metrics["seconds"]), (rate_level, perf_counter() - started))
    others: dict[str, list[dict[str, Any]]] = {kind.backend: [] for kind, _ in kinds}
    patience = max(metrics["seconds"], PATIENCE)
    for i in range(1, OTHER_STARTS + 1):
        for kind, seconds in kinds:
            if perf_counter() - started + seconds < patience:
                others[kind.backend].append(_trained(replace(kind, seed=config.seed + i)))
    twin["other_starts"] = others["rate"]
    metrics = {**metrics, "twin": twin, "other_starts": others["brian2"]}
    write_json(out / METRICS, metrics)
    return metrics


def _trained(config: RunConfig) -> dict[str, Any]:
    """Seed, perplexity at the end and on the way."""
    model, split = make_model(config), run_split(config)
    every = config.evaluate_every or EVALUATE_EVERY[find_algorithm(config.algorithm).iteration]
    model.callbacks = [TrackPerplexity(split.observed, split.heldout, every=every)]
    model.fit(split.train)
    kept = ("iteration", "tokens", "seconds", "perplexity")
    history = [record for record in model.history_ if "perplexity" in record]
    return {
        "seed": config.seed,
        "perplexity": model.heldout_score(split.observed, split.heldout).perplexity,
        "history": [{name: record[name] for name in kept} for record in history],
    }
