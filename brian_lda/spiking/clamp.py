r"""Observable layers: one-hot clamped word and document neurons (Alg. 1, line 2).

.. math:: x^\alpha_{w'} = I(w = w'), \qquad x^\beta_{d'} = I(d = d')

The clamped neuron fires in every tick until a topic neuron has answered; then the next token is
clamped. A `ClampedLayer` reads the neuron to clamp from a list, at the position that the pacing
neuron (`brian_lda.spiking.circuit`) points to, so that a tick costs O(1) and not a threshold
test of all V or D neurons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from brian2 import NeuronGroup
from brian2.core.spikesource import SpikeSource
from brian2.core.variables import Variables
from brian2.groups.group import CodeRunner, Group
from brian2.groups.neurongroup import Resetter


class ClampedLayer(Group, CodeRunner, SpikeSource):
    """Layer of `n_neurons` input neurons of which exactly one fires in each tick.

    Parameters
    ----------
    n_neurons : int
        V for the word layer, D for the document layer.
    capacity : int
        Longest token sequence of one run.
    pacer : NeuronGroup
        Group of one neuron with the integers `token` (position in the sequence) and
        `cursor__<name>` (where this layer's generator stands; the pacer winds it back to `token`
        in every tick, which is what keeps the neuron clamped).
    name : str
        Name of the Brian object.
    state : sequence of str
        Further numbers that each neuron keeps, for example a document's length `N_d`.
    shared : sequence of str
        Further numbers that the whole layer shares.
    links : mapping of str to NeuronGroup
        Numbers read from another group of one neuron, by name.
    after_spike : str
        Statements for the neuron that fires, run at the end of the tick.

    Notes
    -----
    Brian's own SpikeGeneratorGroup emits the spikes whose time bin has come. This group uses the
    same code template, but its time bins are token numbers: the *i*-th spike belongs to token
    *i*, and "now" is the pacer's token instead of the clock's time step. Hence a token may last
    for any number of ticks, and nothing has to be known about the times in advance.
    """

    add_to_magic_network = False

    def __init__(
        self,
        n_neurons: int,
        capacity: int,
        pacer: NeuronGroup,
        *,
        name: str,
        state: Sequence[str] = (),
        shared: Sequence[str] = (),
        links: Mapping[str, NeuronGroup] | None = None,
        after_spike: str = "",
    ) -> None:
        Group.__init__(self, clock=pacer.clock, when="clamp", name=name)
        self.events = {"spike": None}  # Brian asks spike sources which events they emit
        self.codeobj_class = None
        self.start, self.stop = 0, n_neurons
        self.variables = Variables(self)
        self.variables.create_clock_variables(self._clock)
        self.variables._variables.pop("t_in_timesteps")
        self.variables.add_reference("t_in_timesteps", pacer, "token")
        self.variables.add_reference("_lastindex", pacer, f"cursor__{name}")
        self.variables.add_constant("N", value=n_neurons)
        self.variables.add_arange("i", n_neurons)
        self.variables.add_arange("_timebins", capacity, index="_timebins")
        self.variables.add_array("neuron_index", size=capacity, dtype=np.int32, index="_timebins")
        self.variables.add_array(
            "_period_bins", size=1, dtype=np.int32, scalar=True, constant=True, read_only=True
        )
        self.variables.add_array("_spikespace", size=n_neurons + 1, dtype=np.int32)
        self.variables.add_arrays(state, size=n_neurons, dtype=np.float64)
        self.variables.add_arrays(shared, size=1, dtype=np.float64, scalar=True, constant=True)
        for link, group in (links or {}).items():
            self.variables.add_reference(link, group, index="0")
        CodeRunner.__init__(
            self, self, "spikegenerator", code="", clock=self._clock, when="clamp", name=None
        )
        self.namespace: dict[str, object] = {}
        self.event_codes = {"spike": after_spike}
        if after_spike:
            self.contained_objects.append(Resetter(self))
        self._enable_group_attributes()

    @property
    def spikes(self) -> np.ndarray:
        """Indices of the neurons that fired in the latest tick (one neuron)."""
        spikespace = self.variables["_spikespace"].get_value()
        return spikespace[: spikespace[-1]]
