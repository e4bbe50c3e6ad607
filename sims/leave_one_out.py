"""Are the constants of the default steps found without the corpus that they are judged on?

    python sims/leave_one_out.py --network ed-spike-lda --data-dir DATA --json leave_one_out.json

A network with several values of the constants that matter most to it (`STUDIES`), on development
corpora: real ones and parts of them, and generated ones. Perplexity is that of held-back training
documents. For each corpus left out in turn, the script tells which setting the others would choose,
by the mean of the logarithm of perplexity, and what that setting does on the corpus left out.

--judge then trains on each corpus left out, whole, with the setting that the others chose, and with
CGS (200 sweeps, same smoothing), and looks at its test documents: a table in which every corpus is
judged by a rule that was chosen without it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda import CollapsedGibbsLDA
from brian_lda.algorithms import ALGORITHMS, find_algorithm
from brian_lda.automatic_steps import (
    DELAYED_FADING,
    EVENT_FADING,
    WORD_PRIOR,
    event_doc_step,
    forgetting_step,
)
from brian_lda.corpus import Corpus, holdout_split
from brian_lda.errors import BrianLDAError
from brian_lda.estimators import TopicModel
from brian_lda.files.json_files import read_json, write_json
from brian_lda.step_rules import RobbinsMonro
from study.arguments import algorithm_among, algorithm_names, positive
from study.shapes import corpus_and_topics

CORPORA = ("reuters", "kos", "nips/3", "20ng/3", "gen-few", "gen-short", "gen-8000")
Settings = Callable[[Corpus, int], dict[str, Any]]  # a corpus and K: arguments of the estimator


@dataclass(frozen=True)
class Study:
    """Settings of a network, by name, and the passes after which they are compared."""

    passes: int
    settings: Mapping[str, Settings]


def word_step(c: float, fading: float) -> Settings:
    """The weights average over the c-th part of the past; initial ones fade in so many passes."""

    def settings(corpus: Corpus, n_topics: int) -> dict[str, Any]:
        spikes = fading * corpus.n_tokens / n_topics
        return {"word_step": forgetting_step(spikes, corpus.n_words, c)}

    return settings


def event_steps(c: float, is_half: bool) -> Settings:
    """ed-SpikeLDA: M^beta averages over half of the document, or as by default."""

    def settings(corpus: Corpus, n_topics: int) -> dict[str, Any]:
        length = _mean_length(corpus)
        half = RobbinsMonro(scale=2.0 / length, power=0.0)
        step = half if is_half else event_doc_step(length, smoothed=True)
        return {**word_step(c, EVENT_FADING)(corpus, n_topics), "doc_step": step}

    return settings


def documents(doc_restart: int, is_whole: bool) -> Settings:
    """ed-SpikePLSI: M^beta averages over the whole document, or as by default."""

    def settings(corpus: Corpus, n_topics: int) -> dict[str, Any]:
        length = _mean_length(corpus)
        whole = RobbinsMonro(scale=1.0 / length, power=0.0)
        step = whole if is_whole else event_doc_step(length, smoothed=False)
        return {"doc_restart": doc_restart, "doc_step": step}

    return settings


def _mean_length(corpus: Corpus) -> float:
    return corpus.n_tokens / max((corpus.doc_lengths > 0).sum(), 1)


STUDIES = {
    "semi_spike_lda": Study(
        20,
        {
            f"c = {c:g}, fading {fading:g}": word_step(c, fading)
            for c in (10.0, 20.0, 40.0)
            for fading in (0.2, 0.4)
        },
    ),
    "du_spike_lda": Study(
        20, {f"c = {c:g}": word_step(c, DELAYED_FADING) for c in (10.0, 20.0, 40.0)}
    ),
    "ed_spike_lda": Study(
        100,
        {
            f"c = {c:g}, {window}": event_steps(c, window == "half a document")
            for c in (80.0, 160.0)
            for window in ("a fifth", "half a document")
        },
    ),
    "ed_spike_plsi": Study(
        120,
        {
            f"restart {passes}, {window}": documents(passes, window == "a document")
            for passes in (0, 10, 20)
            for window in ("half", "a document")
        },
    ),
}


def trained(name: str, corpus: Corpus, n_topics: int, setting: str, **arguments: Any) -> TopicModel:
    """A network, trained on a corpus with one of its settings."""
    settings = STUDIES[name].settings[setting](corpus, n_topics)
    kind: Any = find_algorithm(name).load_estimator()
    return kind(n_topics=n_topics, **settings, **arguments).fit(corpus)


def perplexity(corpus_name: str, setting: str, options: Any) -> float:
    """Of held-back training documents after `--passes` passes."""
    corpus, n_topics = corpus_and_topics(corpus_name, options.topics, options.data_dir)
    held_back = holdout_split(holdout_split(corpus, seed=0).train, seed=1)
    passes = options.passes or STUDIES[options.network].passes
    model = trained(
        options.network, held_back.train, n_topics, setting,
        max_passes=passes, tol=0.0, random_state=0,
    )  # fmt: skip
    return model.perplexity(held_back.observed, held_back.heldout)


def judged(corpus_name: str, setting: str, options: Any) -> dict[str, list[float]]:
    """Perplexity of test documents of the whole corpus, by seed: the network's and that of CGS."""
    name = corpus_name.partition("/")[0]
    corpus, n_topics = corpus_and_topics(name, options.topics, options.data_dir)
    split = holdout_split(corpus, seed=0)

    def test(model: TopicModel) -> float:
        return model.perplexity(split.observed, split.heldout)

    seeds = range(options.seeds)
    cgs = [
        CollapsedGibbsLDA(n_topics=n_topics, topic_word_prior=WORD_PRIOR, random_state=seed)
        for seed in seeds
    ]
    arguments = (options.network, split.train, n_topics, setting)
    return {
        "cgs": [test(model.fit(split.train)) for model in cgs],
        setting: [test(trained(*arguments, random_state=seed)) for seed in seeds],
    }


def choices(found: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """For each corpus left out: the setting that the others choose, and what it costs there.

    Parameters
    ----------
    found : dict
        Perplexity by corpus and setting.
    """
    rows = []
    for left_out, own in found.items():
        others = [table for name, table in found.items() if name != left_out]
        means = {setting: np.mean([np.log(table[setting]) for table in others]) for setting in own}
        chosen = min(means, key=means.__getitem__)
        loss = own[chosen] / min(own.values()) - 1.0
        rows.append({"left_out": left_out, "chosen": chosen, "above_its_own_best": loss})
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    studied = [algorithm for algorithm in ALGORITHMS if algorithm.name in STUDIES]
    parser.add_argument(
        "--network", type=algorithm_among(studied), default="semi-spike-lda", metavar="NAME",
        help=f"one of {algorithm_names(studied)} (default: semi-spike-lda)",
    )  # fmt: skip
    parser.add_argument("--corpora", nargs="+", default=CORPORA, metavar="NAME|DIR")
    parser.add_argument("--topics", type=positive, default=50, metavar="K")
    parser.add_argument(
        "--passes", type=positive, help="default: 20, or 100 and 120 token by token"
    )
    parser.add_argument("--judge", action="store_true", help="look at test documents, once")
    parser.add_argument("--seeds", type=positive, default=3, help="how many, of --judge")
    parser.add_argument("--data-dir", metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also goes on from it")
    options = parser.parse_args(arguments)
    is_there = options.json is not None and options.json.is_file()
    everything: dict[str, Any] = read_json(options.json) if is_there else {}
    results = everything.setdefault(options.network, {"held_back": {}, "test": {}})

    def keep() -> None:
        if options.json:
            write_json(options.json, everything)

    try:
        for name in options.corpora:
            table = results["held_back"].setdefault(name, {})
            for setting in STUDIES[options.network].settings:
                if setting not in table:
                    table[setting] = perplexity(name, setting, options)
                    keep()
            print(f"{name:10}", "  ".join(f"{k}: {v:.1f}" for k, v in table.items()), flush=True)
        for row in choices({name: results["held_back"][name] for name in options.corpora}):
            name, chosen = row["left_out"], row["chosen"]
            print(
                f"without {name:10} the others choose {chosen}, "
                f"{100 * row['above_its_own_best']:.1f} % above its own best"
            )
            if options.judge:
                if chosen not in results["test"].get(name, {}):
                    results["test"][name] = judged(name, chosen, options)
                    keep()
                of_seeds = results["test"][name]
                ratio = np.mean(of_seeds[chosen]) / np.mean(of_seeds["cgs"])
                print(f"        {name:10} test documents: {ratio:.3f} x CGS", flush=True)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
