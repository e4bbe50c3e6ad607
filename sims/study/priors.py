"""One lambda for all algorithms, offset as in the paper (Sec. 4, `Algorithm.prior_offset`)."""

from __future__ import annotations

from brian_lda.algorithms import find_algorithm


def prior_of(algorithm: str, lamda: float | None) -> float | None:
    """The `doc_topic_prior` of an algorithm for the lambda of a collapsed sampler."""
    offset = find_algorithm(algorithm).prior_offset
    if lamda is None or offset is None:
        return None
    return round(lamda + offset, 12)  # 1 + 0.1 is 1.1 in the file, too


def lambda_of(algorithm: str, prior: float | None) -> float | None:
    """Inverse of `prior_of`."""
    offset = find_algorithm(algorithm).prior_offset
    return None if prior is None or offset is None else round(prior - offset, 12)
