"""The network on sPyNNaker: mapped to a board that need not be there.

==============  ===================================================================================
words           `SpikeSourceArray`, one neuron a word, weights of `fixed_point` to the topics
documents       likewise
silence         one source: its spike ends a race that has no winner
topics          `StocExpStable`; the winner's spike inhibits the other topics
==============  ===================================================================================

With `virtual_board` sPyNNaker does all that it does before loading: it partitions, places, routes
and writes the data of every core. What it used is read from its tables.

sPyNNaker reads its settings from the home folder, writes reports into the working folder and has
one network a process. So it runs in a process of its own, with a folder of its own as both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from brian_lda.errors import MissingDependencyError, PlacementError
from brian_lda.hardware.engines.exported import Tokens
from brian_lda.hardware.engines.fixed_point import LIFT, TAU, BoardArithmetic, lifted
from brian_lda.hardware.feasibility import check
from brian_lda.hardware.plan import NetworkPlan
from brian_lda.hardware.profiles import load_chip

BOARD_CHIPS = 48  # a SpiNN-5 board
TICKS = 10  # of a token
CONFIG = "[Machine]\nversion = 5\nvirtual_board = True\n"
NETWORK, RESULT = "network.npz", "result.json"


@dataclass(frozen=True)
class BoardUse:
    """What sPyNNaker uses of a board, and what our own report counts for the same network.

    Attributes
    ----------
    cores : dict of str to int
        By population; `monitors` are those of the operating software, one a chip and one more.
    chips : int
        With a core of the network.
    routing_entries : int
        On the chip with the most, before compression.
    weight_steps : dict of str to float
        Smallest difference of two weights: "excitatory", "inhibitory".
    cpu_seconds : float
        Of sPyNNaker, from import to the end of the mapping.
    our_cores, our_chips, our_routing_entries : int
    """

    cores: dict[str, int]
    chips: int
    routing_entries: int
    weight_steps: dict[str, float]
    cpu_seconds: float
    our_cores: int
    our_chips: int
    our_routing_entries: int

    @property
    def network_cores(self) -> int:
        return sum(n for name, n in self.cores.items() if name != "monitors")


def map_network(
    phi: np.ndarray, theta: np.ndarray, tokens: Tokens, *, timeout: float = 600.0
) -> BoardUse:
    """Map a trained network to one board of 48 chips.

    Parameters
    ----------
    phi : float array [topic, word]
    theta : float array [doc, topic]
        Of the documents that have synapses.
    tokens : Tokens
        Shown one after the other, a race of 10 ticks each.
    timeout : float
        Seconds.

    Raises
    ------
    PlacementError
        The network is too large for the board: by our own rules, before sPyNNaker starts, or by
        what it says itself.
    """
    if find_spec("spynnaker") is None:
        raise MissingDependencyError(
            "this engine needs sPyNNaker, which is not installed: pip install "
            "'brian_lda[spynnaker]'"
        )
    (K, V), D = phi.shape, len(theta)
    cores, chips, entries = our_use(K, V, D)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / ".spynnaker.cfg").write_text(CONFIG, encoding="utf-8")
        np.savez(
            folder / NETWORK,
            word_weights=lifted(phi, axis=0).T,
            doc_weights=lifted(theta, axis=1),
            words=tokens.words,
            docs=tokens.docs,
            rest=-2.0 * LIFT,
            tau=TAU,
            ticks=TICKS,
            largest_sum=2.0 ** BoardArithmetic().shift - 1,
        )
        found = _run_job(folder, timeout)
    return BoardUse(
        **found, our_cores=cores, our_chips=chips, our_routing_entries=entries
    )  # fmt: skip


def our_use(n_topics: int, n_words: int, n_docs: int) -> tuple[int, int, int]:
    """Cores of a chip, chips and routing entries, by the rules of `brian_lda.hardware`."""
    plan, chip = NetworkPlan("ed_spike_lda", n_topics, n_words, n_docs), load_chip("spinnaker1")
    report = check(plan, chip, 1)
    if not report.passes:
        chips = report.nearest["n_chips"]
        if chips is None or chips > BOARD_CHIPS:
            raise PlacementError(
                f"a network with K = {n_topics:,}, V = {n_words:,} and {n_docs:,} documents is too "
                f"large for a board of {BOARD_CHIPS} SpiNNaker chips: {report.binding.rule} "
                f"{report.binding.used:,.0f} of {report.binding.maximum:,.0f} on one, and it would "
                + (f"need {chips} chips." if chips else "fit no number of chips.")
            )
        report = check(plan, chip, chips)
    used = {result.rule: int(result.used) for result in report.results}
    return used["cores"], report.n_chips, used["routing entries"]


def _run_job(folder: Path, timeout: float) -> dict:
    command = [sys.executable, "-m", "brian_lda.hardware.engines.spynnaker_job"]
    environment = os.environ | {"HOME": str(folder)}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired as error:
        raise PlacementError(
            f"sPyNNaker has not mapped the network in {timeout:g} s: give it more time, or a "
            "smaller network."
        ) from error
    result = folder / RESULT
    if not result.is_file():
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise PlacementError(f"sPyNNaker could not map the network: {last}")
    return json.loads(result.read_text(encoding="utf-8"))
