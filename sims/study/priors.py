"""One lambda for all algorithms, offset as in the paper (Sec. 4).

"lambda and varphi are offset by +0.5 for VI and +1 for MAP, including our SpikeLDA."
"""

from __future__ import annotations

_OFFSETS = {"ed-spike-lda": 1.0, "du-spike-lda": 1.0, "svi": 0.5}
_WITHOUT_PRIOR = ("ed-spike-plsi",)


def prior_of(algorithm: str, lamda: float | None) -> float | None:
    """The `doc_topic_prior` of an algorithm for the lambda of a collapsed sampler."""
    if lamda is None or algorithm in _WITHOUT_PRIOR:
        return None
    return round(lamda + _OFFSETS.get(algorithm, 0.0), 12)  # 1 + 0.1 is 1.1 in the file, too


def lambda_of(algorithm: str, prior: float | None) -> float | None:
    """Inverse of `prior_of`."""
    return None if prior is None else round(prior - _OFFSETS.get(algorithm, 0.0), 12)
