r"""Are two sets of perplexities equal, but for what chance does to each run?

A test of "no difference" cannot show that there is none: with few seeds it never finds one. So the
question is turned round (two one-sided tests). The null hypothesis is that the mean logarithms of
the perplexities lie further apart than a margin, and a small p says that they do not:

.. math:: H_0:\ |\mu_\mathrm{spikes} - \mu_\mathrm{twin}| \ge m\,\sigma_\mathrm{twin} .

The margin of `compare_twins` is m = 2 standard deviations of the twin over its own seeds. Within it
a run in spikes is a run like any other of the twin: another seed does as much. It has no unit of
one corpus, it is narrow where runs agree closely, and it is reported in percent. sigma is estimated
from the twin's seeds alone, n_twin - 1 degrees of freedom. Since the margin is a multiple of it,
T = difference / (sigma f), f^2 = 1/n_spikes + 1/n_twin, has at either end of the null hypothesis a
noncentral t distribution with noncentrality +-m/f.

A margin may also be a share of the twin's perplexity, such as 1 % (`sims/table_spikes.py`): it says
what difference would matter to a user, and it does not widen when runs scatter. The ends of the
null hypothesis are then fixed numbers, +-log 1.01, (difference -+ margin) / (sigma f) has Student's
distribution at either, and sigma is the common one of all runs, n_spikes + n_twin - 2 degrees of
freedom, if there are several in spikes.

Both are exact for normal log-perplexities with the same spread.
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
        Standard deviation of the log-perplexity over seeds, of the twin or, for a relative margin,
        of both: 0.02 is 2 %.
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
    spikes: np.ndarray,
    twin: np.ndarray,
    margin: float = MARGIN,
    *,
    relative_margin: float | None = None,
) -> Equivalence:
    """Two one-sided tests on the logarithms of perplexities.

    Parameters
    ----------
    spikes, twin : float array [seed]
        Final perplexities. The twin needs three seeds or more.
    margin : float
        In standard deviations of the twin over its seeds.
    relative_margin : float, optional
        In place of `margin`, as a share of the twin's perplexity: 0.01 is 1 %.
    """
    spikes, twin = np.log(np.asarray(spikes, float)), np.log(np.asarray(twin, float))
    if len(spikes) < 1 or len(twin) < FEWEST_TWINS:
        raise ParameterError(
            f"the test needs one seed in spikes and {FEWEST_TWINS} of the twin, whose spread is "
            f"the measure; found {len(spikes)} and {len(twin)}."
        )
    difference = float(spikes.mean() - twin.mean())
    f = np.sqrt(1.0 / len(spikes) + 1.0 / len(twin))
    if relative_margin is None:
        spread, degrees = _spread(twin)
        T, end = difference / (spread * f), margin / f
        too_high = stats.nct.cdf(T, degrees, end)  # from the upper end of the null hypothesis
        too_low = stats.nct.sf(T, degrees, -end)
        width = margin * spread
    else:
        width = _log_margin(relative_margin)
        spread, degrees = _spread(spikes, twin)
        T = difference / (spread * f)
        too_high = stats.t.cdf((difference - width) / (spread * f), degrees)
        too_low = stats.t.sf((difference + width) / (spread * f), degrees)
    return Equivalence(
        ratio=float(np.exp(difference)),
        spread=spread,
        margin=width,
        p_equivalent=float(max(too_high, too_low)),
        p_different=float(2.0 * stats.t.sf(abs(T), degrees)),
    )


def _spread(*groups: np.ndarray) -> tuple[float, int]:
    """Common standard deviation of groups around their own means, and its degrees of freedom."""
    degrees = sum(len(group) - 1 for group in groups)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    return max(float(np.sqrt(squares / degrees)), SMALLEST_SPREAD), degrees


def _log_margin(share: float) -> float:
    if not 0.0 < share < 1.0:
        raise ParameterError(
            "relative_margin is a share of the twin's perplexity, between 0 and 1 (0.01 is 1 %); "
            f"found {share!r}."
        )
    return float(np.log1p(share))
