"""Are the constants of the default steps found without the corpus that they are judged on?

    python sims/leave_one_out.py --data-dir DATA --json leave_one_out.json

semi-SpikeLDA with several values of c (how much is forgotten) and of the fading of the initial
weights, on development corpora: real ones and parts of them, and generated ones. Perplexity is that
of held-back training documents. For each corpus left out in turn, the script tells which setting
the others would choose, by the mean of the logarithm of perplexity, and what that setting does on
the corpus left out.

--judge then trains on each corpus left out, whole, with the setting that the others chose, and with
CGS (200 sweeps, same smoothing), and looks at its test documents: a table in which every corpus is
judged by a rule that was chosen without it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda import CollapsedGibbsLDA, SemiSpikeLDA
from brian_lda.automatic_steps import WORD_PRIOR, forgetting_step
from brian_lda.corpus import Corpus, holdout_split
from brian_lda.errors import BrianLDAError
from brian_lda.estimators import TopicModel
from brian_lda.files.json_files import read_json, write_json
from study.arguments import positive
from study.shapes import corpus_and_topics

CORPORA = ("reuters", "kos", "nips/3", "20ng/3", "gen-few", "gen-short", "gen-8000")
GRID = {
    f"c = {c:g}, fading {fading:g}": (c, fading)
    for c in (10.0, 20.0, 40.0)
    for fading in (0.2, 0.4)
}


def network(corpus: Corpus, n_topics: int, setting: str, **arguments: Any) -> SemiSpikeLDA:
    """semi-SpikeLDA for a corpus, with a setting of the grid."""
    c, fading = GRID[setting]
    step = forgetting_step(fading * corpus.n_tokens / n_topics, corpus.n_words, c)
    return SemiSpikeLDA(n_topics=n_topics, word_step=step, **arguments)


def perplexity(name: str, n_topics: int, setting: str, options: Any) -> float:
    """Of held-back training documents after `--passes` passes."""
    corpus, n_topics = corpus_and_topics(name, n_topics, options.data_dir)
    held_back = holdout_split(holdout_split(corpus, seed=0).train, seed=1)
    model = network(
        held_back.train, n_topics, setting, max_passes=options.passes, tol=0.0, random_state=0
    ).fit(held_back.train)
    return model.perplexity(held_back.observed, held_back.heldout)


def judged(name: str, n_topics: int, setting: str, options: Any) -> dict[str, list[float]]:
    """Perplexity of test documents of the whole corpus, by seed: the network's and that of CGS."""
    corpus, n_topics = corpus_and_topics(name.partition("/")[0], n_topics, options.data_dir)
    split = holdout_split(corpus, seed=0)

    def test(model: TopicModel) -> float:
        return model.fit(split.train).perplexity(split.observed, split.heldout)

    seeds = range(options.seeds)
    cgs = [
        CollapsedGibbsLDA(n_topics=n_topics, topic_word_prior=WORD_PRIOR, random_state=seed)
        for seed in seeds
    ]
    ours = [network(split.train, n_topics, setting, random_state=seed) for seed in seeds]
    return {"cgs": [test(model) for model in cgs], setting: [test(model) for model in ours]}


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
    parser.add_argument("--corpora", nargs="+", default=CORPORA, metavar="NAME|DIR")
    parser.add_argument("--topics", type=positive, default=50, metavar="K")
    parser.add_argument("--passes", type=positive, default=20)
    parser.add_argument("--judge", action="store_true", help="look at test documents, once")
    parser.add_argument("--seeds", type=positive, default=3, help="how many, of --judge")
    parser.add_argument("--data-dir", metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also goes on from it")
    options = parser.parse_args(arguments)
    is_there = options.json is not None and options.json.is_file()
    results: dict[str, Any] = read_json(options.json) if is_there else {"held_back": {}, "test": {}}

    def keep() -> None:
        if options.json:
            write_json(options.json, results)

    try:
        for name in options.corpora:
            table = results["held_back"].setdefault(name, {})
            for setting in GRID:
                if setting not in table:
                    table[setting] = perplexity(name, options.topics, setting, options)
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
                    results["test"][name] = judged(name, options.topics, chosen, options)
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
