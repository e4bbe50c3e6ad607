"""Impact of lambda on large corpora: du- and semi-SpikeLDA, SVI and SGMCMC, final perplexity.

    python sims/figure_prior_large.py --data-dir DATA --out results

Reproduces the paper's figures "Impact of lambda. Large datasets" and "NIPS result": NIPS, NYTimes,
PubMed, K = 50, with the appendix's lambda grids, step sizes, local iterations and mini-batches
(paper); NIPS, 300 updates, at most 5 local iterations (small); reuters, K = 5 (tiny). SpikeLDA
appears with our default steps (exact flow, smoothed Phi) and with the paper's (RMSProp, Euler).
"""

from __future__ import annotations

import sys

from study.backend import add_backend_options
from study.comparison import prior_figure
from study.paper_settings import large_corpora
from study.script import Study, run_study


def make(study: Study) -> None:
    prior_figure(study, large_corpora(study.options.scale))


def main(arguments: list[str] | None = None) -> int:
    return run_study(
        "figure_prior_large", __doc__, make, arguments, add_options=add_backend_options
    )


if __name__ == "__main__":
    sys.exit(main())
