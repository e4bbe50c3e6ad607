r"""The plasticity rules of the paper for one synapse, as numba functions.

Every rule is linear in p = exp M,

.. math:: \frac{dp}{ds} = c - a\,p ,

with drive c and decay a: for M^alpha of the winner c = x_w, a = 1; for M^beta of the presented
document c = h_z + (lambda_z - 1)/N_d, a = 1/kappa + 1/N_d (pLSI: c = h_z, a = 1).

- `euler`: the paper's step, M <- M + eta (c exp(-M) - a)          [Eq. MAP discrete dynamics]
- `flow`: the exact solution over a step eta,
  M <- M - a eta + log(1 + (c/a)(exp(a eta) - 1) exp(-M)). Same mean-limit ODE and fixed points.

tau_1 and tau_2 are SpikeCGS's and semi-CGS's: a count less, a count more [Alg. 2, Alg. 4].
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(inline="always")
def tau_1(x):
    """log(exp x - 1): the negative phase takes one count away. expm1 keeps small counts exact."""
    return np.log(np.expm1(x))


@njit(inline="always")
def tau_2(x):
    """log(exp x + 1): the positive phase adds one count."""
    return np.log1p(np.exp(x))


@njit(inline="always")
def log_add(x, y):
    """log(exp x + exp y) without overflow."""
    return max(x, y) + np.log1p(np.exp(-abs(x - y)))


@njit(inline="always")
def euler(M, c, a, eta):
    """The paper's update of one synapse."""
    return M + eta * (c * np.exp(-M) - a)


@njit(inline="always")
def flow(M, c, a, eta):
    """Exact solution of dp/ds = c - a p over a step eta, for M = log p."""
    if c == 0.0:
        return M - a * eta
    # p e^(-a eta) + (c/a)(1 - e^(-a eta)), added in the log domain: finite for any M and eta
    return log_add(M - a * eta, np.log(c / a) + np.log(-np.expm1(-a * eta)))


@njit(inline="always")
def robbins_monro(n, scale, offset, power, floor):
    """eta_n = max(scale (1 + n/offset)^-power, floor)."""
    return max(scale * (1.0 + n / offset) ** (-power), floor)


@njit(inline="always")
def variance_tracking_eta(s_1, s_2):
    """Nessler et al. (2013): eta = (s_2 - s_1^2) / (exp(-s_1) + 1), kept within [0, 1].

    The bounds are ours: beyond 1 the running means overshoot, the variance turns negative and the
    weight runs away (seen for M^beta with a small kappa).
    """
    return min(max((s_2 - s_1 * s_1) / (np.exp(-s_1) + 1.0), 0.0), 1.0)
