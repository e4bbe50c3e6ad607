"""Callbacks for `fit`: called as `callback(model, record)` after each iteration.

A callback may add keys to `record` (they stay in `history_`) and returns True to stop training.
"""

from __future__ import annotations

from typing import Any

from tqdm.auto import tqdm


class TrackPerplexity:
    """Put the held-out perplexity into the history.

    Parameters
    ----------
    observed, heldout : Corpus or matrix-like [doc, word]
        The two halves of the test documents (`brian_lda.corpus.holdout_split`).
    every : int
        Evaluate each so many iterations (and at the first).
    """

    def __init__(self, observed: Any, heldout: Any, every: int = 1) -> None:
        self.observed, self.heldout, self.every = observed, heldout, every

    def __call__(self, model: Any, record: dict[str, Any]) -> None:
        if record["iteration"] == 1 or record["iteration"] % self.every == 0:
            score = model.heldout_score(self.observed, self.heldout)
            record["perplexity"] = score.perplexity
            record["floor_tokens"] = score.floor_tokens


class StopAt:
    """Stop when the perplexity that `TrackPerplexity` recorded is at or below `perplexity`."""

    def __init__(self, perplexity: float) -> None:
        self.perplexity = perplexity

    def __call__(self, model: Any, record: dict[str, Any]) -> bool:
        return record.get("perplexity", float("inf")) <= self.perplexity


class ProgressBar:
    """A bar with the latest perplexity and the time left to the bound; at the end, why it stopped.

    Silent when `disable` is true.
    """

    def __init__(self, *, disable: bool = False) -> None:
        self.disable = disable
        self._bar: tqdm | None = None

    def __call__(self, model: Any, record: dict[str, Any]) -> None:
        if self._bar is None or record["iteration"] == 1:
            self.close()
            self._bar = tqdm(
                total=model.max_iterations_,
                initial=record["iteration"] - 1,  # not 0 when a run goes on
                disable=self.disable,
                unit="it",
                mininterval=0.3,
            )
        if "perplexity" in record:
            self._bar.set_postfix(perplexity=f"{record['perplexity']:.1f}", refresh=False)
        self._bar.update()
        if "stopped" in record:
            self._bar.set_description_str(record["stopped"])
        if "stopped" in record or record["iteration"] == model.max_iterations_:
            self.close()

    def close(self) -> None:
        """Finish the line, also when training stopped early."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __deepcopy__(self, memo: dict) -> ProgressBar:
        return ProgressBar(disable=self.disable)  # scikit-learn's clone copies parameters
