"""How a network runs: inside Python or as a cached C++ program; recordings; the twins' adapter."""

from brian_lda.simulation.recording import Recording, Spikes
from brian_lda.simulation.replay import replay_tokens
from brian_lda.simulation.twins import (
    DuSpikeLDASpiking,
    EventDrivenSpiking,
    SemiSpikeLDASpiking,
    SpikeCGSSpiking,
)

__all__ = [
    "DuSpikeLDASpiking",
    "EventDrivenSpiking",
    "Recording",
    "SemiSpikeLDASpiking",
    "SpikeCGSSpiking",
    "Spikes",
    "replay_tokens",
]
