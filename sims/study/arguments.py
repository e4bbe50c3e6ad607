"""Values on the command line: what is not allowed is refused before any work, with its name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any

from brian_lda.algorithms import ALGORITHMS, Algorithm


def whole(text: str) -> int:
    """0, 1, 2, ...: seeds and sizes of which none is allowed."""
    return _integer_from(0, text)


def positive(text: str) -> int:
    """1, 2, 3, ...: how many runs, workers, iterations."""
    return _integer_from(1, text)


def recording(text: str) -> dict[str, Any]:
    """What to record, in words, as the fields of a `Recording`; nothing: {}.

    >>> recording("word first pass3 500-700 tokens=100 words=oil,gas")["windows"]
    ['first', 'pass 3', [500, 700]]
    >>> recording("none")
    {}
    """
    fields: dict[str, Any] = {}
    for item in [] if text.split() == ["none"] else text.split():
        key, _, value = item.partition("=")
        if key == "tokens" and value:
            fields["tokens"] = positive(value)
        elif key in ("words", "topics", "documents") and value:
            parts = value.split(",")
            fields[key] = [int(part) if part.isdecimal() else part for part in parts]
        elif "=" in item:
            raise argparse.ArgumentTypeError(
                f"expected tokens=N, words=A,B, topics=1,2 or documents=1,2; found {item!r}"
            )
        elif item == "u":
            fields["u"] = True
        elif found := re.fullmatch(r"pass([1-9]\d*)", item):
            fields.setdefault("windows", []).append(f"pass {found[1]}")
        elif found := re.fullmatch(r"(\d+)-(\d+)", item):
            fields.setdefault("windows", []).append([int(found[1]), int(found[2])])
        elif item in ("first", "middle", "last"):
            fields.setdefault("windows", []).append(item)
        else:
            fields.setdefault("layers", []).append(item)
    return fields


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
