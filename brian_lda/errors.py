"""One small exception class per kind of failure.

Every message says what was expected, what was found and what to do. All classes derive from
`BrianLDAError`; those raised for a wrong argument also derive from `ValueError`, so that code
written for scikit-learn catches them.
"""

from __future__ import annotations


class BrianLDAError(Exception):
    """Base class of every error that this package raises on purpose."""


class CorpusFormatError(BrianLDAError, ValueError):
    """A corpus file or matrix does not hold what its layout promises."""


class NoNumberError(CorpusFormatError, TypeError):
    """A matrix of objects holds one that is no number; a TypeError, as scikit-learn expects."""


class CorpusNotFoundError(BrianLDAError, LookupError):
    """A corpus name is unknown, or its files are neither on disk nor downloadable."""


class ChecksumError(BrianLDAError, ValueError):
    """A downloaded file is not, byte for byte, the one that we know."""


class ParameterError(BrianLDAError, ValueError):
    """An argument lies outside the range for which the algorithm is defined."""


class BackendError(BrianLDAError, NotImplementedError):
    """The requested backend cannot run this algorithm."""


class ModelFileError(BrianLDAError, ValueError):
    """A saved model cannot be read back."""


class MissingDependencyError(BrianLDAError, ImportError):
    """An optional package is needed; the message holds the pip line that installs it."""


class UnsupportedNetworkError(BrianLDAError, ValueError):
    """A Brian network holds something that a compiled run would ignore or get wrong."""


class FanInError(BrianLDAError, ValueError):
    """A neuron of a network has more synapses than the chip's neurons can have."""


class CopyError(BrianLDAError, ArithmeticError):
    """Neurons that keep copies of one number, each from the spikes it hears, do not agree."""


class BuildError(BrianLDAError, RuntimeError):
    """A spiking network could not be compiled."""


class SimulationError(BrianLDAError, RuntimeError):
    """A spiking network died in mid-run; the state from before the run is intact."""


class WeightOverflowError(BrianLDAError, ArithmeticError):
    """A weight lies where exp over- or underflows, or is no number."""


class DivergenceError(BrianLDAError, ArithmeticError):
    """A weight became infinite or not a number during training."""


class ChipProfileError(BrianLDAError, ValueError):
    """A chip profile lacks a field, contradicts itself or holds what no chip can have."""


class PlacementError(BrianLDAError, ValueError):
    """A network cannot be placed on so many chips, or a placement breaks a limit."""


class RunFolderError(BrianLDAError, OSError):
    """A run cannot be written to, or read from, its folder."""


class CheckpointError(BrianLDAError, ValueError):
    """A run cannot go on from a checkpoint, or cannot write one."""


class RecordingFileError(BrianLDAError, ValueError):
    """Recorded spikes cannot be written, or a file of them cannot be read."""


class SchedulerError(BrianLDAError, OSError):
    """No Dask scheduler answers."""
