"""`brian2_options` of an estimator: plain words and numbers, and what a network takes for them.

==============  ==================================================================================
``inhibition``  "race": continuous time, one tick a token (default). "poisson": clocked time. Also
                an object or a dict of its fields (`brian_lda.circuit.latency.make_inhibition`).
``rate``        Hz, in clocked time: topic neuron z fires at rate * exp(u_z). Default: controlled.
``dt``          seconds, in clocked time: the time step. Default: 1 ms.
``simulator``   "standalone": compiled to C++ once (default). "cython", "numpy": inside Python.
``count``       True: count all spikes of the training, neuron by neuron
                (`brian_lda.hardware.counted_run`). Default: False. What was counted before a
                checkpoint is lost when a run goes on from it.
``n_circuits``  of du- and semi-SpikeLDA: circuits that share the documents of a mini-batch, one a
                process. The weights do not depend on it. Default: 1. In the other networks every
                token changes weights that the next one reads: they stay one circuit.
==============  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from brian_lda.errors import ParameterError

if TYPE_CHECKING:
    from brian_lda.estimators.base import TopicModel

KNOWN = ("inhibition", "rate", "dt", "simulator")  # options of sims/train.py, too
CLOCKED = ("rate", "dt")


def network_options(model: TopicModel) -> dict[str, Any]:
    """What `brian2_options` says, as arguments of a spiking network; wrong names are refused.

    Needs no Brian. Wrong values are refused by what takes them.
    """
    given = getattr(model, "brian2_options", None)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(
            'brian2_options must be a dict, {"inhibition": "poisson", "rate": 100} for example; '
            f"found {given!r}."
        )
    # Estimators without an argument for the limits of chips take them here.
    known = (*KNOWN, "count", *(() if hasattr(model, "constraints") else ("constraints",)))
    known += ("n_circuits",) if hasattr(model, "local_iterations") else ()
    if unknown := [str(name) for name in given if name not in known]:
        raise ParameterError(
            f"brian2_options has no {' or '.join(unknown)}; it has {', '.join(known)}."
        )
    options = {name: value for name, value in given.items() if value is not None}
    numbers = {name: options.pop(name) for name in CLOCKED if name in options}
    if numbers:
        options["inhibition"] = _with_numbers(options.get("inhibition"), numbers)
    return options


def _with_numbers(inhibition: Any, numbers: dict[str, Any]) -> dict[str, Any]:
    """An inhibition as plain data, with its rate and time step."""
    names = " and ".join(numbers)
    data = {"kind": inhibition} if isinstance(inhibition, str) else inhibition
    if inhibition is None or (
        isinstance(data, Mapping) and str(data.get("kind")).lower() == "race"
    ):
        raise ParameterError(
            f"{names}: numbers of clocked time, which a race does not have. Use "
            "inhibition='poisson', or leave them out."
        )
    if not isinstance(data, Mapping):
        raise ParameterError(
            f"{names}: these belong inside the inhibition if it is no word; found {inhibition!r}."
        )
    if twice := sorted(numbers.keys() & data.keys()):
        raise ParameterError(
            f"brian2_options says {' and '.join(twice)} twice, beside the inhibition and inside it."
        )
    return {**data, **numbers}
