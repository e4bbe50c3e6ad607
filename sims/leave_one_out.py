"""Are the constants of the default steps found without the corpus that they are judged on?

    python sims/leave_one_out.py --data-dir DATA --json leave_one_out.json

semi-SpikeLDA with several values of c (how much is forgotten) and of the fading of the initial
weights, on development corpora: real ones and parts of them, and generated ones. Perplexity is that
of held-back training documents; test documents are never looked at. For each corpus left out in
turn, the script tells which setting the others would choose, by the mean of the logarithm of
perplexity, and what that setting does on the corpus left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from brian_lda import SemiSpikeLDA
from brian_lda.automatic_steps import forgetting_step
from brian_lda.corpus import holdout_split
from brian_lda.errors import BrianLDAError
from brian_lda.files.json_files import read_json, write_json
from study.arguments import positive
from study.shapes import corpus_and_topics

CORPORA = ("reuters", "kos", "nips/3", "20ng/3", "gen-few", "gen-short", "gen-8000")
GRID = tuple((c, fading) for c in (10.0, 20.0, 40.0) for fading in (0.2, 0.4))


def perplexity(name: str, n_topics: int, c: float, fading: float, options: Any) -> float:
    """Of held-back training documents after `--passes` passes."""
    corpus, n_topics = corpus_and_topics(name, n_topics, options.data_dir)
    held_back = holdout_split(holdout_split(corpus, seed=0).train, seed=1)
    spikes = fading * held_back.train.n_tokens / n_topics
    model = SemiSpikeLDA(
        n_topics=n_topics,
        word_step=forgetting_step(spikes, held_back.train.n_words, c),
        max_passes=options.passes,
        tol=0.0,
        random_state=0,
    ).fit(held_back.train)
    return model.perplexity(held_back.observed, held_back.heldout)


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
    parser.add_argument("--data-dir", metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also goes on from it")
    options = parser.parse_args(arguments)
    is_there = options.json is not None and options.json.is_file()
    found: dict[str, dict[str, float]] = read_json(options.json) if is_there else {}
    try:
        for name in options.corpora:
            table = found.setdefault(name, {})
            for c, fading in GRID:
                setting = f"c = {c:g}, fading {fading:g}"
                if setting not in table:
                    table[setting] = perplexity(name, options.topics, c, fading, options)
                    if options.json:
                        write_json(options.json, found)
            print(f"{name:10}", "  ".join(f"{k}: {v:.1f}" for k, v in table.items()), flush=True)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for row in choices({name: found[name] for name in options.corpora}):
        print(
            f"without {row['left_out']:10} the others choose {row['chosen']}, "
            f"{100 * row['above_its_own_best']:.1f} % above its own best"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
