"""--backend: the networks of a figure or table in spikes instead of at rate level.

One place decides it for every script. A run in spikes is another run (its configuration says so),
and what a script makes of such runs is written under another name, NAME_spikes: spikes and rate
level never meet in one file. Baselines (CGS, SVI, SGMCMC) have no spikes; they stay as they are,
beside both, and are called baselines in the column "backend".
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from brian_lda.algorithms import find_algorithm

BACKENDS = ("rate", "brian2")
SIMULATORS = ("standalone", "cython", "numpy")  # as the simulation has them; no import of Brian
SUFFIX = "_spikes"  # of the files of a study in spikes
LABELS = {"rate": "rate level", "brian2": "in spikes"}


def add_backend_options(parser: argparse.ArgumentParser) -> None:
    """--backend, --simulator."""
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        help="brian2: the networks in spikes, written to NAME_spikes.*; baselines have none "
        "(default: rate level, or what the script says)",
    )
    add_simulator_option(parser)


def add_simulator_option(parser: argparse.ArgumentParser) -> None:
    """--simulator."""
    parser.add_argument(
        "--simulator",
        choices=SIMULATORS,
        default="standalone",
        help="of networks in spikes: compiled (default), or inside Python, which takes hours for "
        "any real corpus",
    )


def in_backend(
    config: Mapping[str, Any], backend: str | None, simulator: str = "standalone"
) -> dict[str, Any]:
    """A run, as fields of `RunConfig`, in this backend; a baseline stays as it is."""
    if backend != "brian2" or not find_algorithm(config["algorithm"]).is_spiking:
        return dict(config)
    options = {**config.get("options", {}), "brian2_options": {"simulator": simulator}}
    return {**config, "backend": backend, "options": options}


def backend_label(algorithm: str, backend: str | None) -> str:
    """What the column "backend" says of an algorithm in a study with this backend."""
    if not find_algorithm(algorithm).is_spiking:
        return "baseline"
    return LABELS[backend or "rate"]
