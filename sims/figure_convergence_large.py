"""Convergence on large corpora: du- and semi-SpikeLDA, SVI and SGMCMC against mini-batch updates.

    python sims/figure_convergence_large.py --data-dir DATA --out results

Reproduces the paper's figures "Convergence results. Large datasets" and "NIPS result", at
lambda = 0.1 (1.1 for du-SpikeLDA, 0.6 for SVI). Sizes as in figure_prior_large.py, whose runs it
takes if --out is the same folder.
"""

from __future__ import annotations

import sys

from study.backend import add_backend_options
from study.comparison import convergence_figure
from study.paper_settings import large_corpora
from study.script import Study, run_study


def make(study: Study) -> None:
    convergence_figure(study, large_corpora(study.options.scale))


def main(arguments: list[str] | None = None) -> int:
    return run_study(
        "figure_convergence_large", __doc__, make, arguments, add_options=add_backend_options
    )


if __name__ == "__main__":
    sys.exit(main())
