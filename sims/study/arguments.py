"""Numbers on the command line: what is out of range is refused before any work, with its name."""

from __future__ import annotations

import argparse


def whole(text: str) -> int:
    """0, 1, 2, ...: seeds and sizes of which none is allowed."""
    return _integer_from(0, text)


def positive(text: str) -> int:
    """1, 2, 3, ...: how many runs, workers, iterations."""
    return _integer_from(1, text)


def _integer_from(least: int, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"expected an integer of at least {least}, found {text!r}")
    return number
