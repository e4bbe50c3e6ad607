"""The paper's networks as spiking neurons and plastic synapses in Brian2.

================  ===============================================================================
`event_driven`    `EventDrivenSpiking`: train ed-SpikeLDA and ed-SpikePLSI in spikes
`comparison`      both twins side by side
`circuit`         layers, pacing and phases of a tick, shared by all networks
`clamp`           one-hot clamped word and document layers
`inhibition`      topic layer and winner-take-all: `Race` (continuous time), `Poisson` (clocked)
`plasticity`      step rules and integrators as Brian code
`recording`       which spikes are kept, and their forecast size
`simulator`       one interface, run inside Python
`standalone`      ... or as a compiled program, cached on disk
================  ===============================================================================

The equations are in `brian_lda.models`, one file per network. Nothing is imported here: Brian takes
seconds to load, and rate-level users need none of it.
"""
