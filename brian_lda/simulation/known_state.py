"""What a spiking network knows between two runs, as plain arrays, and how Brian orders it.

`SpikingNetwork` runs the network; this is its memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from brian_lda.circuit.circuit import Circuit, Sizes, Values
from brian_lda.circuit.inhibition import Inhibition
from brian_lda.circuit.kept import Kept
from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError, WeightOverflowError
from brian_lda.parameters import PrunedWords
from brian_lda.simulation.simulator import Arrays
from brian_lda.simulation.windows import WindowKeeper

LARGEST_INPUT = 700.0  # exp(+-700) is still a number
State = Mapping[str, np.ndarray]


class Model(Protocol):
    """What a file in `models/` offers."""

    __name__: str
    KEPT: tuple[Kept, ...]

    def wire(self, sizes: Sizes, inhibition: Inhibition) -> Circuit: ...

    def kept_of_weights(self, state: State) -> dict[str, np.ndarray]: ...

    def weights(self, kept: State) -> dict[str, np.ndarray]: ...


class KnownState:
    """The memory of a `SpikingNetwork`, which sets the attributes."""

    model: Model
    sizes: Sizes
    constants: dict[str, np.ndarray | float]
    seed: int
    inhibition: Inhibition
    constraints: Constraints
    kept: tuple[Kept, ...]
    keeper: WindowKeeper | None
    _known: dict[str, np.ndarray]
    _left: dict[str, tuple[np.ndarray, np.ndarray]]

    @property
    def pruned(self) -> PrunedWords | None:
        """The words with a synapse of their own; None: all."""
        return self.sizes.pruned

    def keeps(self, name: str) -> bool:
        """Whether this is one of the variables that the network keeps."""
        return name in self._known

    def known(self, name: str) -> np.ndarray:
        """One of the variables that the network keeps."""
        return self._known[name]

    def change(self, known: dict[str, np.ndarray]) -> None:
        """Replace some of what the network keeps."""
        self._known |= known

    def laid_out(self, name: str) -> np.ndarray:
        """An array of one of the variables that Brian can take as it is: to fill and `change`."""
        (variable,) = (variable for variable in self.kept if variable.name == name)
        compiled = self._compiled()
        left = np.full(variable.size(compiled), variable.fill, self._known[name].dtype)
        known = variable.out_of_network(left, self.sizes, compiled)
        self._left[variable.path] = known, left
        return known

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """M^alpha [topic, word], where pruned the shared synapse's, M^beta [doc, topic], ..."""
        weights = self.model.weights(self._known)
        if self.pruned is not None:
            weights["M__alpha"] = self.pruned.seen(weights["M__alpha"])
        return weights

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on, and the weights for the other twin.

        Where weights have few bits, also their "levels": what is on them need not be rounded anew.
        """
        state = {**self.weights, **{name: array.copy() for name, array in self._known.items()}}
        if self.constraints.weight_bits is not None:
            state["levels"] = self.constraints.levels
        if self.keeper is not None:
            state["n_shown"] = np.array([self.keeper.n_sequences, self.keeper.n_tokens])
        return state

    def set_state(self, state: State) -> None:
        """Go on from a state returned by `state` of either twin."""
        self.set_known(self.known_of(state))
        if self.keeper is not None and "n_shown" in state:
            self.keeper.n_sequences, self.keeper.n_tokens = map(int, state["n_shown"])

    def set_known(self, known: dict[str, np.ndarray]) -> None:
        """Replace all that the network keeps, if it has the right shapes and can be stored."""
        check_weights(self._values_in_brian(known), self.kept, self.sizes.n_blocks, self.pruned)
        self._known = known

    def known_of(self, state: State) -> dict[str, np.ndarray]:
        """What the network is to keep in a state of either twin; rounded, if it was not yet."""
        names = [variable.name for variable in self.model.KEPT]
        if set(names) <= set(state) and self.constraints.stored(dict(state)):
            known = {name: np.array(state[name]) for name in names}
            self._require_agreement(state, known)
        else:
            rng = np.random.default_rng([self.seed, 4])
            rounded = dict(state)
            for name in ("M__alpha", "M__beta"):
                if name in state:
                    rounded[name] = self.constraints.rounded(np.asarray(state[name]), rng)
            with np.errstate(over="ignore"):  # refused below
                known = self.model.kept_of_weights(rounded)
        for name in self.inhibition.kept:
            first = np.asarray(self.inhibition.values[f"topics.{name}"], np.float64)
            known[name] = np.array(state.get(name, np.broadcast_to(first, (self.sizes.n_topics,))))
        return known

    def _require_agreement(self, state: State, known: State) -> None:
        """Refuse weights M that somebody edited while what they are made from stayed."""
        if self.pruned is not None:  # M then holds the shared synapse's weights, too
            return
        with np.errstate(divide="ignore", invalid="ignore"):  # refused later, by name
            weights = self.model.weights(known)
        for name, M in weights.items():
            if name in state and not np.allclose(state[name], M, rtol=0, atol=1e-6):
                kept = ", ".join(variable.name for variable in self.model.KEPT)
                raise ParameterError(
                    f"the state's {name} is not the one that its {kept} stand for: leave those out "
                    f"to go on from {name}."
                )

    @property
    def fan_in(self) -> dict[str, int]:
        """Most synapses that a neuron may have, by their name; empty: no limit."""
        limits = dict(self.constraints.fan_in)
        if self.constraints.splits:
            limits["telling"] = 1
        if self.pruned is not None:
            limits |= {"alpha": int(self.pruned.n_private.max()), "sharing": 1}
        return limits

    def _values_in_brian(self, known: State) -> Arrays:
        """What is kept, as Brian orders it; what the last run left and nobody changed, as it is."""
        compiled, values = self._compiled(), {}
        for variable in self.kept:
            array = known[variable.name]
            before, left = self._left.get(variable.path, (None, array))
            if before is not array or left.size != variable.size(compiled):
                left = variable.into_network(array, self.sizes, compiled)
            values[variable.path] = left
        return values

    def _constants(self, compiled: Sizes) -> Values:
        """The constants, with a value for neurons that only fill up a compiled size."""
        n_neurons = {"words": compiled.n_words, "documents": compiled.n_docs}
        padded = dict(self.constants)
        for path, value in self.constants.items():
            owner = path.split(".")[0]
            if owner in n_neurons and np.ndim(value):
                filled = np.ones(n_neurons[owner])
                filled[: np.size(value)] = value
                padded[path] = filled
        return padded

    def _compiled(self) -> Sizes:
        if self.fan_in:  # a neuron more could be one synapse too many
            return self.sizes
        return replace(
            self.sizes,
            n_words=round_up(self.sizes.n_words),
            n_docs=round_up(self.sizes.n_docs),
            n_tokens=round_up(self.sizes.n_tokens),
        )


def check_weights(
    values: Arrays, kept: Sequence[Kept], n_blocks: int = 1, pruned: PrunedWords | None = None
) -> None:
    """Refuse weights of which exp is no number, or which make a rate that is none.

    A rate is a product of exp M over the layers, so that their largest weights add up.
    """
    largest = 0.0
    g = next((value for path, value in values.items() if path.endswith(".g")), np.ones(1))
    g = g[: len(g) // n_blocks]  # of one part of each topic
    for variable in kept:
        if not variable.written_by:
            continue
        value = values[variable.path]
        g_of_weight = g
        if variable.gauge and pruned is not None:
            g_of_weight = g[np.nonzero(pruned.private.T)[1]]
        else:
            if variable.gauge:
                value = np.reshape(value, (-1, len(g)))
            value = np.array([value.min(axis=0), value.max(axis=0)])  # the ends, of each topic
        with np.errstate(divide="ignore", invalid="ignore"):
            M = value if variable.in_logs else np.log(value)
            M = M + np.log(g_of_weight) if variable.gauge else M
        largest += max(0.0, float(M.max()))
        if not (M.min() > -LARGEST_INPUT and largest < LARGEST_INPUT):
            raise WeightOverflowError(
                f"{variable.name} must stand for weights M of which exp is a number, and so is the "
                f"rate exp(u) that they make; found M of {M.min():g} to {M.max():g}. With "
                "integrator='euler' a step of size eta adds eta*exp(-M): use integrator='flow', or "
                "a smaller step."
            )


def round_up(n: int) -> int:
    """`n` with its five leading bits kept and the rest rounded up: at most 6 % more.

    A few unused neurons let corpora of similar size share one compiled network.
    """
    step = 1 << max(n.bit_length() - 5, 0)
    return -(-n // step) * step
