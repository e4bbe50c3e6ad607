"""What an estimator passes to its spiking network beside the algorithm's parameters."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError
from brian_lda.estimators.base import TopicModel


def chip_constraints(model: TopicModel) -> Constraints | None:
    """The limits of an estimator that has any; as an object, or as plain data in a dict."""
    limits = getattr(model, "constraints", None)
    if not isinstance(limits, dict):
        return limits
    known = [field.name for field in fields(Constraints)]
    if unknown := sorted(limits.keys() - set(known)):
        raise ParameterError(
            f"constraints has no {' or '.join(unknown)}; it has {', '.join(known)}."
        )
    return Constraints(**limits)


def spiking_options(model: TopicModel) -> dict[str, Any]:
    """`brian2_options`, and the limits if the estimator has any."""
    options = dict(model.brian2_options or {})
    limits = chip_constraints(model)
    return options if limits is None else {**options, "constraints": limits}
