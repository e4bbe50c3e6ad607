"""The spiking networks, one a file; see `models/README.md` for equations, files and tests."""

from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.latency import Windowed
from brian_lda.circuit.probe import add_probe

__all__ = ["Poisson", "Race", "Windowed", "add_probe"]
