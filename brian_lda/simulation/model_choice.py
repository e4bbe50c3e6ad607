"""Which file of `models/` runs an algorithm, and what it cannot take."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from brian_lda.algorithms import find_algorithm
from brian_lda.errors import ParameterError
from brian_lda.parameters import BatchParameters, EventDrivenParameters

Parameters = EventDrivenParameters | BatchParameters
SMALLEST_PRIOR = 1e-9  # 1e-16/1e-9 of it is rounded away when a count comes and goes


def model_for(name: str, parameters: Parameters) -> Any:
    """The file of `models/` with the step rules and the integrator that the parameters ask for.

    Parameters
    ----------
    name : str
        Of the algorithm, "ed_spike_lda" for example; its literal form is "ed_spike_lda_paper".
    parameters : EventDrivenParameters or BatchParameters
    """
    offered = []
    path = find_algorithm(name).load_network().__name__
    literal = f"{path}_paper"
    for file in (path, literal) if find_spec(literal) else (path,):
        model = import_module(file)
        if all(type(getattr(parameters, key)) is rule for key, rule in model.STEPS.items()):
            if parameters.integrator == model.INTEGRATOR:
                return model
        steps = ", ".join(f"{key}={rule.__name__}" for key, rule in model.STEPS.items())
        offered.append(f"{steps}, integrator={model.INTEGRATOR!r} ({file})")
    found = ", ".join(f"{key}={type(getattr(parameters, key)).__name__}" for key in model.STEPS)
    raise ParameterError(
        f"in spikes there is {' and '.join(offered)}; found {found}, "
        f"integrator={parameters.integrator!r}. Use backend='rate' for other combinations."
    )


def require_countable(prior: np.ndarray, name: str) -> None:
    """A synapse holds count + prior: what is lost when a count comes and goes must not matter."""
    if prior.min() < SMALLEST_PRIOR:
        raise ParameterError(
            f"{name} must be at least {SMALLEST_PRIOR:g} in spikes, where a synapse holds count + "
            f"prior; found {prior.min():g}. Use backend='rate' for a smaller one."
        )
