"""Convergence on small corpora: perplexity of CGS, ed-SpikeLDA and ed-SpikePLSI against passes.

    python sims/figure_convergence.py --data-dir DATA --out results

Reproduces the paper's figure "Convergence speed. Small datasets", at lambda = 0.1 (1.1 for
ed-SpikeLDA). Sizes as in figure_prior.py, whose runs it takes if --out is the same folder.
"""

from __future__ import annotations

import sys

from study.backend import add_backend_options
from study.comparison import convergence_figure
from study.paper_settings import small_corpora
from study.script import Study, run_study


def make(study: Study) -> None:
    convergence_figure(study, small_corpora(study.options.scale))


def main(arguments: list[str] | None = None) -> int:
    return run_study(
        "figure_convergence", __doc__, make, arguments, add_options=add_backend_options
    )


if __name__ == "__main__":
    sys.exit(main())
