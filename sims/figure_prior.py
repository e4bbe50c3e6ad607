"""Impact of lambda on small corpora: final perplexity of CGS, ed-SpikeLDA and ed-SpikePLSI.

    python sims/figure_prior.py --data-dir DATA --out results

Reproduces the paper's figure "Impact of lambda. Small datasets": KOS, 20NG, Enron, K = 200 (paper);
KOS and 20NG, K = 50, 40 passes, 200 sweeps of CGS (small); reuters, K = 5 (tiny). The x-axis is
lambda for CGS and 1 + lambda for ed-SpikeLDA; ed-SpikePLSI has no lambda. Nine of ten documents
train, the others are folded in (`brian_lda.evaluation`); mean and spread over the seeds.
"""

from __future__ import annotations

import sys

from study.backend import add_backend_options
from study.comparison import prior_figure
from study.paper_settings import small_corpora
from study.script import Study, run_study


def make(study: Study) -> None:
    prior_figure(study, small_corpora(study.options.scale))


def main(arguments: list[str] | None = None) -> int:
    return run_study("figure_prior", __doc__, make, arguments, add_options=add_backend_options)


if __name__ == "__main__":
    sys.exit(main())
