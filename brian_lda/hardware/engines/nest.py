r"""The network on NEST: K topic neurons `pp_psc_delta`, driven by word and document spikes.

=====================  ============================================================================
word, document         a `spike_generator` each. When the token begins it sends its weights to the
                       topic neurons, when it ends it takes them away (`spike_weights` +1, -1)
gain                   one more generator, with the same pulse for all topics: `LIFT` minus
                       log sum_z exp(u_z). What all topics share leaves the law as it is; it makes a
                       race as long for a rare word as for a frequent one
topic                  fires at the rate c_2 exp(c_3 V). A delta pulse adds its weight to V, tau_m
                       is so long that V stays, and no spike resets it
rest                   V = 0. c_2 is divided by exp(LIFT): without a token, the rate is nothing
winner                 the only spike of the first tick in which there is exactly one
=====================  ============================================================================

With `dead_time = 0` the number of spikes of neuron z in a tick is Poisson with mean r_z dt, so

.. math:: P(\text{the tick's only spike is } z) = r_z\,dt\; e^{-\sum_j r_j dt}
          \;\propto\; e^{u_z}

for any dt: ticks with several spikes are left out, and no bias remains. With a dead time NEST draws
one spike with probability 1 - exp(-r_z dt) instead, and the same rule gives
:math:`P(z) \propto e^{r_z dt} - 1`: too much for strong topics, by about r_z dt / 2.

NEST has no synapse that could end a race after a tie or learn by our rules: the winner is read from
the recorded spikes, and `fold_in_nest` computes M^beta from the winners between two sweeps.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import numba
import numpy as np

from brian_lda.errors import ParameterError, SimulationError
from brian_lda.hardware.engines.exported import (
    Tokens,
    fold_in_by_winners,
    import_engine,
    tokens_of,
    word_weights,
)

DT = 1.0  # ms, a tick
TICKS = 10  # of a race; one without a winner by then is run again
LIFT = 60.0  # V of a token whose rates sum to one; without a token, exp(-60) of it is left
STAYS = 1e15  # ms, tau_m
LARGEST_WEIGHT = 200.0  # exp(700) is the end of floats
MOST_REPEATS = 100


class NestNetwork:
    """Topic neurons in NEST with fixed weights.

    Parameters
    ----------
    M__alpha : float array [topic, word]
    M__beta : float array [doc, topic]
        May be changed between races (`set_doc_weights`).
    spikes_per_tick : float
        Expected spikes of all topic neurons together. The law is the same for any.
    seed : int
        At least 1, NEST's own rule.

    Notes
    -----
    NEST has one network at a time: a new one replaces the old, which then refuses to run.
    """

    _newest: NestNetwork | None = None

    def __init__(
        self,
        M__alpha: np.ndarray,
        M__beta: np.ndarray,
        *,
        spikes_per_tick: float = 1.0,
        seed: int = 1,
    ) -> None:
        M__alpha, M__beta = np.asarray(M__alpha, float), np.asarray(M__beta, float)
        if M__alpha.ndim != 2 or M__beta.ndim != 2 or len(M__alpha) != M__beta.shape[1]:
            raise ParameterError(
                "M__alpha [topic, word] and M__beta [doc, topic] must have the same topics; found "
                f"shapes {M__alpha.shape} and {M__beta.shape}."
            )
        largest = max(np.abs(M__alpha).max(), np.abs(M__beta).max())
        if not largest < LARGEST_WEIGHT:
            raise ParameterError(
                f"weights must lie within +-{LARGEST_WEIGHT:g}; found {largest:g} in size."
            )
        if find_spec("nest") is None:
            import_engine("nest", "nest")  # says how to install it
        _keep_numba_off_openmp()
        os.environ.setdefault("PYNEST_QUIET", "1")
        nest: Any = import_engine("nest", "nest")
        self._nest = nest
        nest.ResetKernel()
        nest.verbosity = nest.VerbosityLevel.ERROR
        nest.set(resolution=DT, rng_seed=seed, local_num_threads=1)
        K, V = M__alpha.shape
        self.topics = nest.Create(
            "pp_psc_delta",
            K,
            params={
                "c_1": 0.0,
                "c_2": 1000.0 / DT * spikes_per_tick * float(np.exp(-LIFT)),  # Hz
                "c_3": 1.0,  # of a V in mV that is our u
                "tau_m": STAYS,
                "dead_time": 0.0,
                "with_reset": False,
            },
        )
        self.words = nest.Create("spike_generator", V)
        self.documents = nest.Create("spike_generator", len(M__beta))
        self.gain = nest.Create("spike_generator")
        self.recorder = nest.Create("spike_recorder")
        everywhere, now = "all_to_all", {"delay": DT}
        nest.Connect(self.words, self.topics, everywhere, {"weight": M__alpha} | now)
        nest.Connect(self.documents, self.topics, everywhere, {"weight": M__beta.T.copy()} | now)
        nest.Connect(self.gain, self.topics, everywhere, {"weight": 1.0} | now)
        nest.Connect(self.topics, self.recorder)
        self._M__alpha, self._M__beta = M__alpha, M__beta
        NestNetwork._newest = self

    def set_doc_weights(self, M__beta: np.ndarray) -> None:
        """Other document weights [doc, topic]."""
        found = self._nest.GetConnections(self.documents, self.topics)
        source = np.array(found.source) - self.documents[0].global_id
        target = np.array(found.target) - self.topics[0].global_id
        found.weight = M__beta[source, target]
        self._M__beta = M__beta

    def race(self, tokens: Tokens) -> np.ndarray:
        """The winner of each token's race; int array [token]."""
        if NestNetwork._newest is not self:
            raise SimulationError(
                "NEST holds another network by now (it has one at a time): make this one anew."
            )
        winners = np.full(len(tokens), -1)
        for _ in range(MOST_REPEATS):
            open_races = np.flatnonzero(winners < 0)
            if not len(open_races):
                return winners
            again = Tokens(tokens.words[open_races], tokens.docs[open_races])
            winners[open_races] = self._race_once(again)
        raise SimulationError(
            f"{(winners < 0).sum()} of {len(tokens)} races had no winner in {MOST_REPEATS} x "
            f"{TICKS} ticks: spikes_per_tick is far from 1."
        )

    def _race_once(self, tokens: Tokens) -> np.ndarray:
        """Winners, -1 where no tick of the race had exactly one spike."""
        nest = self._nest
        self.recorder.n_events = 0
        self.topics.V_m = 0.0  # of rounding, 1e-12 or so is left
        start = nest.biological_time + DT
        begin = start + DT * (TICKS + 1) * np.arange(len(tokens))
        for generators, sources in ((self.words, tokens.words), (self.documents, tokens.docs)):
            _schedule(generators, sources, begin)
        u = self._M__alpha[:, tokens.words].T + self._M__beta[tokens.docs]
        gain = LIFT - np.logaddexp.reduce(u, axis=1)
        both = np.column_stack([begin, begin + DT * TICKS]).ravel()
        self.gain.set(spike_times=both, spike_weights=np.column_stack([gain, -gain]).ravel())
        nest.Simulate(DT * (TICKS + 1) * len(tokens) + 2 * DT)
        events = self.recorder.get("events")
        # A pulse of time t is felt by spikes from t + 2 dt on: one tick of delay, one of update.
        tick = np.rint((events["times"] - start) / DT).astype(int) - 1
        z = events["senders"] - self.topics[0].global_id
        return first_lone_spikes(tick, z, TICKS + 1, len(tokens))


def _keep_numba_off_openmp() -> None:
    """NEST and numba's threads on OpenMP end in a segmentation fault, in one process."""
    try:
        layer = numba.threading_layer()
    except ValueError:  # no parallel kernel has run yet
        numba.config.THREADING_LAYER = "workqueue"
        return
    if layer == "omp" and numba.config.NUMBA_NUM_THREADS > 1:
        raise SimulationError(
            "numba has threads on OpenMP in this process, which would crash NEST: start Python "
            "with NUMBA_THREADING_LAYER=workqueue in the environment."
        )


def _schedule(generators: Any, sources: np.ndarray, begin: np.ndarray) -> None:
    """Let each source send its weights at the beginning of its tokens, and take them away.

    Sources without a token keep the spikes of races that are over: they do not come again.
    """
    order = np.argsort(sources, kind="stable")
    which, first = np.unique(sources[order], return_index=True)
    trains = []
    for tokens in np.split(order, first[1:]):
        times = begin[tokens]
        both = np.column_stack([times, times + DT * TICKS]).ravel()
        trains.append({"spike_times": both, "spike_weights": np.tile([1.0, -1.0], len(times))})
    generators[which.tolist()].set(trains)


def first_lone_spikes(
    tick: np.ndarray, z: np.ndarray, ticks_per_token: int, n_tokens: int
) -> np.ndarray:
    """The neuron of each token's first tick with exactly one spike, -1 where there is none.

    Parameters
    ----------
    tick : int array [spike]
        From 0; token i has the ticks from i * ticks_per_token on.
    z : int array [spike]
    """
    at, first, count = np.unique(tick, return_index=True, return_counts=True)
    lone = count == 1
    token, which = at[lone] // ticks_per_token, z[first[lone]]
    winners = np.full(n_tokens, -1)
    inside = (token >= 0) & (token < n_tokens)
    seen, earliest = np.unique(token[inside], return_index=True)
    winners[seen] = which[inside][earliest]
    return winners


def fold_in_nest(
    phi: np.ndarray,
    counts: Any,
    pseudo_count: float | np.ndarray,
    *,
    n_sweeps: int = 60,
    seed: int = 1,
) -> np.ndarray:
    """Theta [doc, topic] from the winners of races in NEST (`exported.fold_in_by_winners`)."""
    tokens = tokens_of(counts)
    uniform = np.zeros((counts.shape[0], len(phi)))
    network = NestNetwork(word_weights(phi), uniform, seed=seed)

    def race(M__beta: np.ndarray) -> np.ndarray:
        network.set_doc_weights(M__beta)
        return network.race(tokens)

    return fold_in_by_winners(race, tokens, uniform.shape, pseudo_count, n_sweeps)
