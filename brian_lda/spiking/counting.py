r"""Plasticity that counts: tau_1, tau_2 of Alg. 2 and 4, and the step of a delayed update.

A synapse with exp M = count + prior loses or gains one count by

.. math:: \tau_1(M) = \log(e^M - 1), \qquad \tau_2(M) = \log(e^M + 1).

As functions of our own, because Brian's statements have no branches: a token changes one synapse of
each layer, and the other K - 1 that its spikes reach must not pay for two transcendental functions
(nor drift by their rounding).
"""

from __future__ import annotations

import numpy as np
from brian2 import check_units, implementation

from brian_lda.parameters import RobbinsMonro
from brian_lda.reference.word_weights import accumulated_step as accumulated_step_of_rule


@implementation(
    "cpp",
    "static inline double tau_1(double h, double M) { return h > 0 ? log(expm1(M)) : M; }",
)
@implementation(
    "cython",
    """
    from libc.math cimport expm1, log
    cdef double tau_1(double h, double M):
        return log(expm1(M)) if h > 0 else M
    """,
)
@check_units(h=1, M=1, result=1)
def tau_1(h: np.ndarray | float, M: np.ndarray) -> np.ndarray:
    """M with one count less where h is 1."""
    changed = np.log(np.expm1(np.where(h > 0, M, 1.0)))
    return np.where(h > 0, changed, M)


@implementation(
    "cpp",
    "static inline double tau_2(double h, double M) { return h > 0 ? log1p(exp(M)) : M; }",
)
@implementation(
    "cython",
    """
    from libc.math cimport exp, log1p
    cdef double tau_2(double h, double M):
        return log1p(exp(M)) if h > 0 else M
    """,
)
@check_units(h=1, M=1, result=1)
def tau_2(h: np.ndarray | float, M: np.ndarray) -> np.ndarray:
    """M with one count more where h is 1."""
    return np.where(h > 0, np.log1p(np.exp(np.where(h > 0, M, 0.0))), M)


@implementation(
    "cpp",
    """
    static inline double accumulated_step(
        double n, double delta, double scale, double offset, double power, double floor
    ) {
        const double first = 1 + n/offset, last = 1 + (n + delta)/offset;
        const double integral = power == 1 ? log(last/first)
            : (pow(last, 1 - power) - pow(first, 1 - power))/(1 - power);
        const double step = scale*offset*integral;
        return step > floor*delta ? step : floor*delta;
    }
    """,
)
@implementation(
    "cython",
    """
    from libc.math cimport log, pow
    cdef double accumulated_step(
        double n, double delta, double scale, double offset, double power, double floor
    ):
        cdef double first = 1 + n/offset
        cdef double last = 1 + (n + delta)/offset
        cdef double integral
        if power == 1:
            integral = log(last/first)
        else:
            integral = (pow(last, 1 - power) - pow(first, 1 - power))/(1 - power)
        return max(scale*offset*integral, floor*delta)
    """,
)
@check_units(n=1, delta=1, scale=1, offset=1, power=1, floor=1, result=1)
def accumulated_step(
    n: np.ndarray,
    delta: np.ndarray,
    scale: np.ndarray,
    offset: np.ndarray,
    power: np.ndarray,
    floor: np.ndarray,
) -> np.ndarray:
    """Sum of the Robbins-Monro steps of spikes n .. n + delta, as an integral."""
    rule = RobbinsMonro(*(float(np.ravel(value)[0]) for value in (scale, offset, power, floor)))
    return accumulated_step_of_rule(rule, n, delta)


COUNTING = {"tau_1": tau_1, "tau_2": tau_2, "accumulated_step": accumulated_step}
