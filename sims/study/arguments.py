"""Values on the command line: what is not allowed is refused before any work, with its name."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from brian_lda.algorithms import ALGORITHMS, Algorithm


def whole(text: str) -> int:
    """0, 1, 2, ...: seeds and sizes of which none is allowed."""
    return _integer_from(0, text)


def positive(text: str) -> int:
    """1, 2, 3, ...: how many runs, workers, iterations."""
    return _integer_from(1, text)


def algorithm_names(among: Sequence[Algorithm] = ALGORITHMS) -> str:
    """The algorithms as on the command line, for the help."""
    return ", ".join(algorithm.option for algorithm in among)


def algorithm_among(among: Sequence[Algorithm] = ALGORITHMS) -> Callable[[str], str]:
    """Reads an algorithm as written on the command line (ed-spike-lda); returns its name."""

    def name(text: str) -> str:
        for algorithm in among:
            if algorithm.option == text:
                return algorithm.name
        raise argparse.ArgumentTypeError(
            f"expected one of {algorithm_names(among)}; found {text!r}"
        )

    return name


def _integer_from(least: int, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"expected an integer of at least {least}, found {text!r}")
    return number
