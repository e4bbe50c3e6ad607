"""Train a topic model and write its run folder.

    python sims/train.py                     (semi-SpikeLDA on reuters, prints the topics)
    python sims/train.py --algorithm ed-spike-lda --backend brian2 --corpus bars --topics 10
    python sims/train.py --corpus kos --data-dir DATA --topics 50 --out runs/kos

The folder holds config.json, metrics.json and model.h5 (read it with
`brian_lda.TopicModel.load`). An iteration is a pass over the corpus, and a mini-batch update for
du-spike-lda, semi-spike-lda, svi and sgmcmc.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from pathlib import Path

from brian_lda.corpus import NAMED_CORPORA
from brian_lda.errors import BrianLDAError
from brian_lda.runs import ALGORITHMS, RunConfig, train_run


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--algorithm", choices=list(ALGORITHMS), default="semi-spike-lda")
    add("--backend", choices=["rate", "brian2"], default="rate", help="brian2: in spikes")
    add(
        "--corpus",
        default="reuters",
        metavar="NAME|DIR",
        help=f"{', '.join(sorted(NAMED_CORPORA))}, or a folder in UCI layout or of .txt files",
    )
    add("--topics", type=int, default=20, metavar="K")
    add("--prior", type=float, metavar="L", help="lambda, of theta (SpikeLDA: > 1)")
    add("--word-prior", type=float, metavar="P", help="varphi, of phi")
    add("--iterations", type=int, metavar="N")
    add("--seed", type=int, default=0, metavar="S", help="of the model; the test split stays")
    add("--data-dir", metavar="DIR", help="where corpora are looked for first")
    add("--evaluate-every", type=int, metavar="N", help="iterations between two perplexities")
    add("--out", metavar="DIR", help="default: runs/ALGORITHM-CORPUS-TIME")
    add("--overwrite", action="store_true", help="replace the run in --out")
    add("--words", type=int, default=8, metavar="N", help="words shown per topic; 0: no topics")
    add("--quiet", action="store_true", help="no progress bar")
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    config = RunConfig(
        algorithm=options.algorithm,
        backend=options.backend,
        corpus=options.corpus,
        n_topics=options.topics,
        prior=options.prior,
        word_prior=options.word_prior,
        iterations=options.iterations,
        seed=options.seed,
        data_dir=options.data_dir,
        evaluate_every=options.evaluate_every,
    )
    if not options.quiet:  # the library logs: among others that it compiles, which takes a minute
        logging.basicConfig(format="%(message)s")
        logging.getLogger("brian_lda").setLevel(logging.INFO)
    corpus_name = Path(options.corpus).name
    stamp = time.strftime("%Y%m%d-%H%M%S")
    out = Path(options.out or Path("runs") / f"{options.algorithm}-{corpus_name}-{stamp}")
    try:
        model, metrics = train_run(config, out, overwrite=options.overwrite, quiet=options.quiet)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted before the first iteration was done", file=sys.stderr)
        return 130
    if options.words:
        for z, words in enumerate(model.top_words(options.words)):
            print(f"topic {z:3d}  {' '.join(words)}")
    if metrics["interrupted"]:
        print(f"interrupted after {metrics['iterations']} iterations; what was learnt is saved")
    print(
        f"perplexity {metrics['perplexity']:.1f}  ({metrics['floor_tokens']} of "
        f"{metrics['heldout_tokens']} held-out tokens at the floor)  "
        f"{metrics['seconds']:.1f} s  {metrics['tokens_per_second']:,.0f} tokens/s"
    )
    print(f"run folder: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
