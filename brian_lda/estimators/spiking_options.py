"""What an estimator passes to its spiking network beside the algorithm's parameters."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError
from brian_lda.estimators.base import TopicModel
from brian_lda.estimators.brian2_options import network_options

if TYPE_CHECKING:
    from brian_lda.simulation.recording import Recording


def chip_constraints(model: TopicModel) -> Constraints | None:
    """The limits of an estimator that has any; as an object, or as plain data in a dict."""
    limits = getattr(model, "constraints", None)
    return None if limits is None else checked_constraints(limits)


def checked_constraints(limits: Any) -> Constraints:
    """The limits as an object, also from a dict of its fields."""
    if isinstance(limits, Constraints):
        return limits
    if not isinstance(limits, dict):
        raise ParameterError(
            'constraints must be a Constraints(...) or a dict such as {"weight_bits": 8}; found '
            f"{limits!r}."
        )
    known = [field.name for field in fields(Constraints)]
    if unknown := sorted(limits.keys() - set(known)):
        raise ParameterError(
            f"constraints has no {' or '.join(unknown)}; it has {', '.join(known)}."
        )
    return Constraints(**limits)


def spiking_options(model: TopicModel) -> dict[str, Any]:
    """What `brian2_options` says, the limits if there are any, and what is to be recorded."""
    options = network_options(model)
    if (limits := chip_constraints(model) or options.get("constraints")) is not None:
        options["constraints"] = checked_constraints(limits)
    if (record := training_record(model)) is not None:
        options["record"] = record
    return options


def training_record(model: TopicModel) -> Recording | None:
    """The estimator's `record`, with the numbers of the words that it names."""
    if model.record is None:
        return None
    from brian_lda.simulation.recording import make_recording  # imports Brian2: seconds

    record = make_recording(model.record)
    assert record is not None  # there is one
    if not any(isinstance(word, str) for word in record.words):
        return record
    numbers = {word: w for w, word in enumerate(model.vocabulary_ or ())}
    unknown = [word for word in record.words if isinstance(word, str) and word not in numbers]
    if unknown:
        raise ParameterError(
            f"the words {unknown} of `record` are not in the vocabulary of the training documents"
            + ("." if numbers else ", which a plain matrix has none of: give column numbers.")
        )
    words = [numbers[word] if isinstance(word, str) else word for word in record.words]
    return replace(record, words=words)
