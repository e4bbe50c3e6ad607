"""How a network runs: inside Python or as a cached C++ program; recordings; the twins' adapter.

What trains an algorithm does not know which twin it has. There are three kinds, by what one
iteration is: tokens one by one (`event_driven`), sweeps over remembered assignments (`spike_cgs`),
mini-batches of documents (`mini_batch`). All of them hand their tokens to a `SpikingNetwork`, whose
memory is in `known_state`.
"""

from brian_lda.simulation.event_driven import EventDrivenSpiking
from brian_lda.simulation.mini_batch import DuSpikeLDASpiking, SemiSpikeLDASpiking
from brian_lda.simulation.recording import EVERYTHING, Recording, Spikes
from brian_lda.simulation.recording_file import read_recording, write_recording
from brian_lda.simulation.slots import SlottedSpiking
from brian_lda.simulation.spike_cgs import SpikeCGSSpiking
from brian_lda.simulation.split import SplitSpiking

__all__ = [
    "EVERYTHING",
    "DuSpikeLDASpiking",
    "EventDrivenSpiking",
    "Recording",
    "SemiSpikeLDASpiking",
    "SlottedSpiking",
    "SpikeCGSSpiking",
    "Spikes",
    "SplitSpiking",
    "read_recording",
    "write_recording",
]
