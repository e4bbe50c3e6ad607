r"""Are two sets of perplexities equal, but for what chance does to each run?

A test of "no difference" cannot show that there is none: with few seeds it never finds one. So the
question is turned round (two one-sided tests). The null hypothesis is that the mean logarithms of
the perplexities lie further apart than a margin, and a small p says that they do not:

.. math:: H_0:\ |\mu_\mathrm{spikes} - \mu_\mathrm{twin}| \ge m\,\sigma_\mathrm{twin} .

The margin is m = 2 standard deviations of the twin over its own seeds. Within it a run in spikes is
a run like any other of the twin: another seed does as much. It has no unit of one corpus, it is
narrow where runs agree closely, and it is reported in percent.

sigma is estimated from the twin's seeds alone, n_twin - 1 degrees of freedom. Since the margin is
a multiple of it, T = difference / (sigma f), f^2 = 1/n_spikes + 1/n_twin, has at either end of the
null hypothesis a noncentral t distribution with noncentrality +-m/f: the test is exact for
normal log-perplexities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from brian_lda.errors import ParameterError

MARGIN = 2.0  # standard deviations of the twin
FEWEST_TWINS = 3  # a spread of two runs is none
SMALLEST_SPREAD = 1e-9  # runs that are all alike, but for rounding


@dataclass(frozen=True)
class Equivalence:
    """Answer of `compare_perplexities`.

    Attributes
    ----------
    ratio : float
        Geometric mean of the spiking perplexities over that of the twin's.
    spread : float
        Standard deviation of the twin's log-perplexity over seeds: 0.02 is 2 %.
    margin : float
        The largest difference of the logarithms that counts as none.
    p_equivalent : float
        p-value of "they differ by the margin or more". Small: they are equivalent.
    p_different : float
        p-value of "they do not differ". Small: they are different.
    """

    ratio: float
    spread: float
    margin: float
    p_equivalent: float
    p_different: float


def compare_perplexities(
    spikes: np.ndarray, twin: np.ndarray, margin: float = MARGIN
) -> Equivalence:
    """Two one-sided tests on the logarithms of perplexities.

    Parameters
    ----------
    spikes, twin : float array [seed]
        Final perplexities. The twin needs three seeds or more.
    margin : float
        In standard deviations of the twin over its seeds.
    """
    spikes, twin = np.log(np.asarray(spikes, float)), np.log(np.asarray(twin, float))
    if len(spikes) < 1 or len(twin) < FEWEST_TWINS:
        raise ParameterError(
            f"the test needs one seed in spikes and {FEWEST_TWINS} of the twin, whose spread is "
            f"the measure; found {len(spikes)} and {len(twin)}."
        )
    difference = float(spikes.mean() - twin.mean())
    spread = max(float(twin.std(ddof=1)), SMALLEST_SPREAD)
    f = np.sqrt(1.0 / len(spikes) + 1.0 / len(twin))
    T, degrees = difference / (spread * f), len(twin) - 1
    too_high = stats.nct.cdf(T, degrees, margin / f)  # from the upper end of the null hypothesis
    too_low = stats.nct.sf(T, degrees, -margin / f)
    return Equivalence(
        ratio=float(np.exp(difference)),
        spread=spread,
        margin=margin * spread,
        p_equivalent=float(max(too_high, too_low)),
        p_different=float(2.0 * stats.t.sf(abs(T), degrees)),
    )
