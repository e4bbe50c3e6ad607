"""A trained network on simulators and mappers of others, one file each.

================  ==================================================================================
nest              NEST: races of `pp_psc_delta` neurons, fold-in of documents
spynnaker         sPyNNaker on a virtual board: cores, chips and routing entries that it uses
fixed_point       the arithmetic of a SpiNNaker core, so what a board would make of the weights
sanafe            SANA-FE: energy on its architecture of Loihi
exported          what all of them are given: Phi as weights, tokens as spikes
================  ==================================================================================

None of them learns by our rules: weights are exported, not trained (`docs/engines.md`). Each engine
is a package of its own, which is asked for by name when it is missing.
"""
