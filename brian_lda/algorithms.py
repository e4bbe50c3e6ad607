"""The one table of algorithms: what each is called, where its forms are, what it keeps.

Everything that is said of an algorithm elsewhere is derived from its line here, so that a new one
needs a line and no other table. Modules and classes stand here as dotted paths and are imported
when they are asked for: this file imports neither Brian2 nor numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from brian_lda.errors import ParameterError

if TYPE_CHECKING:
    from brian_lda.estimators.base import TopicModel

Iteration = Literal["pass", "sweep", "mini-batch"]
Prior = Literal["map", "variational", "sampler", "none"]

# "lambda and varphi are offset by +0.5 for VI and +1 for MAP, including our SpikeLDA" (Sec. 4)
PRIOR_OFFSETS: dict[Prior, float] = {"map": 1.0, "variational": 0.5, "sampler": 0.0}


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    Attributes
    ----------
    name : str
        In Python, in files and in results: "ed_spike_lda".
    title : str
        As in the paper, for people: "ed-SpikeLDA".
    estimator : str
        Class in scikit-learn's conventions.
    twin : str or None
        Rate-level class; None where the algorithm is another library's.
    network : str or None
        Module with the spiking network; None: a baseline without spikes.
    iteration : {"pass", "sweep", "mini-batch"}
        What `max_iter` counts. "pass": tokens come as a stream and are forgotten. "sweep": every
        token is kept and resampled. "mini-batch": documents come in mini-batches, and what
        belongs to a document is dropped after its mini-batch.
    prior : {"map", "variational", "sampler", "none"}
        Of theta. "map": lambda > 1. "variational": lambda > 0, to which the paper adds 0.5.
        "sampler": any lambda > 0. "none": there is no prior.
    remembers_topics : bool
        Keeps the last topic of each token (of the corpus, or of the mini-batch).
    has_biases : bool
        Keeps b_z beside the weights [Tab. 1(b)].
    """

    name: str
    title: str
    estimator: str
    twin: str | None
    network: str | None
    iteration: Iteration
    prior: Prior
    remembers_topics: bool = False
    has_biases: bool = False

    @property
    def option(self) -> str:
        """The name on the command line: "ed-spike-lda"."""
        return self.name.replace("_", "-")

    @property
    def is_spiking(self) -> bool:
        """One of the paper's spiking networks, not a baseline."""
        return self.network is not None

    @property
    def keeps_all_documents(self) -> bool:
        """M^beta of every document stays, not only that of a mini-batch."""
        return self.iteration != "mini-batch"

    @property
    def prior_offset(self) -> float | None:
        """What the paper adds to a sampler's lambda for this algorithm; None: it has no lambda."""
        return PRIOR_OFFSETS.get(self.prior)

    @property
    def estimator_name(self) -> str:
        """Name of the estimator's class, as in model files."""
        return self.estimator.rpartition(".")[2]

    def load_estimator(self) -> type[TopicModel]:
        """The estimator class."""
        return _imported(self.estimator)

    def load_twin(self) -> type[Any] | None:
        """The rate-level class, if it is ours."""
        return None if self.twin is None else _imported(self.twin)

    def load_network(self) -> ModuleType:
        """The module of the spiking network; imports Brian2."""
        if self.network is None:
            raise ParameterError(f"{self.title} is a baseline without a spiking network.")
        return import_module(self.network)


ALGORITHMS: tuple[Algorithm, ...] = (
    Algorithm(
        "spike_cgs", "SpikeCGS",
        "brian_lda.estimators.spike_cgs.SpikeCGS",
        "brian_lda.reference.spike_cgs.SpikeCGSReference",
        "brian_lda.models.spike_cgs",
        "sweep", "sampler", remembers_topics=True, has_biases=True,
    ),
    Algorithm(
        "ed_spike_lda", "ed-SpikeLDA",
        "brian_lda.estimators.ed_spike_lda.EdSpikeLDA",
        "brian_lda.reference.ed_spike_lda.EdSpikeLDAReference",
        "brian_lda.models.ed_spike_lda",
        "pass", "map",
    ),
    Algorithm(
        "ed_spike_plsi", "ed-SpikePLSI",
        "brian_lda.estimators.ed_spike_plsi.EdSpikePLSI",
        "brian_lda.reference.ed_spike_plsi.EdSpikePLSIReference",
        "brian_lda.models.ed_spike_plsi",
        "pass", "none",
    ),
    Algorithm(
        "du_spike_lda", "du-SpikeLDA",
        "brian_lda.estimators.du_spike_lda.DuSpikeLDA",
        "brian_lda.reference.du_spike_lda.DuSpikeLDAReference",
        "brian_lda.models.du_spike_lda",
        "mini-batch", "map",
    ),
    Algorithm(
        "semi_spike_lda", "semi-SpikeLDA",
        "brian_lda.estimators.semi_spike_lda.SemiSpikeLDA",
        "brian_lda.reference.semi_spike_lda.SemiSpikeLDAReference",
        "brian_lda.models.semi_spike_lda",
        "mini-batch", "sampler", remembers_topics=True,
    ),
    Algorithm(
        "cgs", "CGS",
        "brian_lda.estimators.collapsed_gibbs.CollapsedGibbsLDA",
        "brian_lda.reference.collapsed_gibbs.CollapsedGibbs",
        None,
        "sweep", "sampler", remembers_topics=True,
    ),
    Algorithm(
        "svi", "SVI",
        "brian_lda.estimators.svi.StochasticVariationalLDA",
        None,  # scikit-learn's
        None,
        "mini-batch", "variational",
    ),
    Algorithm(
        "sgmcmc", "SGMCMC",
        "brian_lda.estimators.sgmcmc.StochasticGradientMCMCLDA",
        "brian_lda.reference.sgmcmc.StochasticGradientMCMC",
        None,
        "mini-batch", "sampler", remembers_topics=True,
    ),
)  # fmt: skip
SPIKING: tuple[Algorithm, ...] = tuple(a for a in ALGORITHMS if a.is_spiking)


def find_algorithm(name: str, among: Sequence[Algorithm] | None = None) -> Algorithm:
    """The algorithm of that name.

    Parameters
    ----------
    name : str
        For example "ed_spike_lda".
    among : sequence of Algorithm, optional
        Only these are allowed; the default is `ALGORITHMS`.

    Raises
    ------
    ParameterError
        No algorithm in `among` has that name.
    """
    among = ALGORITHMS if among is None else among
    for algorithm in among:
        if algorithm.name == name:
            return algorithm
    is_baseline = any(a.name == name and not a.is_spiking for a in ALGORITHMS)
    raise ParameterError(
        f"algorithm must be one of {', '.join(a.name for a in among)}; found {name!r}"
        + (", a baseline without a network." if is_baseline else ".")
    )


def algorithm_of(estimator: type[TopicModel]) -> Algorithm:
    """The algorithm of an estimator's class, or of the class that it extends."""
    names = {algorithm.estimator_name: algorithm for algorithm in ALGORITHMS}
    for base in estimator.__mro__:
        if base.__name__ in names:
            return names[base.__name__]
    raise ParameterError(f"{estimator.__name__} is no estimator of {', '.join(names)}.")


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
