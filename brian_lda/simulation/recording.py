"""What to record while a network learns, and what was recorded.

A `Recording` names layers, windows and state; it is plain data, and no network is needed to write
one. What comes back is one `Spikes` for each window. The winners (the topic neurons' spikes) are
part of every window; beside them there are the layers

==============  =============================================================================
``word``        the clamped word neuron, one spike a tick
``document``    the clamped document neuron, one spike a tick
``inhibition``  the inhibitory neuron: a token has found its winner
``attempt``     topic spikes before the inhibition decides (clocked time only)
``token``       the clamped token's own neuron (networks that remember assignments)
``recalled``    the topic neuron that fires in the negative phase (the same networks)
``latency``     time from the clamp to the winner's spike, drawn in continuous time (`Race` only)
==============  =============================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from brian_lda.circuit.circuit import TICK
from brian_lda.circuit.inhibition import Inhibition
from brian_lda.errors import ParameterError

LAYERS = ("topic", "word", "document", "token", "recalled", "attempt", "inhibition", "latency")
NAMED = ("first", "middle", "last")
BYTES_PER_SPIKE = 12  # int32 index, float64 time
BYTES_PER_VALUE = 8
LARGEST_WINDOW = 2**20  # tokens
LARGEST_RECORDING = 2**29  # bytes, of all windows together
MOST_WINDOWS = 60
EVERYTHING = ((0, None),)  # the one window of a sequence that is recorded whole

Window = str | tuple[int | None, int | None]


@dataclass(frozen=True)
class Recording:
    """What to record.

    Attributes
    ----------
    layers : sequence of str
        Any of `LAYERS`.
    windows : sequence of str or (int, int)
        "first", "middle", "last": so many `tokens` of the training or of the sequence that is
        shown. "pass 3": so many from the beginning of that pass over the corpus. (1000, 1200):
        tokens by number, as in a slice. Tokens are counted as they are shown: a mini-batch network
        shows each one in every sweep.
    tokens : int
        Length of a window that is not given by numbers.
    u : bool
        The input of the topic neurons, in the race of each token.
    words, documents : sequence of int or str, int
        Follow M^alpha of these words, M^beta of these documents, as they are after each token.
        Words may be named where the vocabulary is known.
    topics : sequence of int
        Of which topics; the default is all.
    """

    layers: Sequence[str] = ("word", "document")
    windows: Sequence[Window] = NAMED
    tokens: int = 200
    u: bool = False
    words: Sequence[int | str] = ()
    documents: Sequence[int] = ()
    topics: Sequence[int] = ()

    def __post_init__(self) -> None:
        for name in ("layers", "windows", "words", "documents", "topics"):
            value = getattr(self, name)
            if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)):
                raise ParameterError(f"{name} of a Recording must be a sequence; found {value!r}.")
            plain = [tuple(item) if isinstance(item, list) else item for item in value]
            object.__setattr__(self, name, tuple(plain))  # JSON knows lists only
        unknown = [layer for layer in self.layers if layer not in LAYERS]
        if unknown:
            raise ParameterError(f"layers must be among {LAYERS}; found {unknown}.")
        if not is_count(self.tokens, 1) or self.tokens > LARGEST_WINDOW:
            raise ParameterError(
                f"tokens must be a whole number from 1 to {LARGEST_WINDOW}; found {self.tokens!r}."
            )
        if not isinstance(self.u, bool):
            raise ParameterError(f"u must be True or False; found {self.u!r}.")
        if not 1 <= len(self.windows) <= MOST_WINDOWS:
            raise ParameterError(
                f"windows must be 1 to {MOST_WINDOWS} windows; found {len(self.windows)}."
            )
        for window in self.windows:
            check_window(window)
        self._check_chosen()

    def _check_chosen(self) -> None:
        for name in ("words", "documents", "topics"):
            for item in getattr(self, name):
                if not is_count(item, 0) and not (name == "words" and isinstance(item, str)):
                    what = "numbers or words" if name == "words" else "numbers"
                    raise ParameterError(f"{name} must be {what}, counted from 0; found {item!r}.")

    def span(self, window: Window, n_tokens: int) -> tuple[int, int]:
        """First token of a window and the one after its last, in a sequence of `n_tokens`."""
        if window == "first":
            window = (0, self.tokens)
        elif window == "last":
            window = (max(0, n_tokens - self.tokens), n_tokens)
        elif window == "middle":
            start = max(0, (n_tokens - self.tokens) // 2)
            window = (start, start + self.tokens)
        elif isinstance(window, str):
            raise ParameterError(
                f"one sequence has no passes; found the window {window!r}. Use {NAMED} or numbers."
            )
        start, stop, _ = slice(*window).indices(n_tokens)
        return start, max(start, stop)

    def forecast(self, n_tokens: int, inhibition: Inhibition, n_topics: int = 0) -> int:
        """Bytes that `n_tokens` recorded tokens will take (an expectation, in clocked time).

        Parameters
        ----------
        n_tokens : int
        inhibition : Race or Poisson
        n_topics : int
            K, for u and the weights.

        Examples
        --------
        >>> from brian_lda.circuit.inhibition import Race
        >>> Recording(("word", "document")).forecast(1000, Race())
        36000
        """
        others = [layer for layer in self.layers if layer != "topic"]
        n_topics = len(self.topics) or n_topics
        n_values = n_topics * (self.u + len(self.words) + len(self.documents))
        a_tick = BYTES_PER_VALUE * n_values
        a_tick += sum(BYTES_PER_VALUE if x == "latency" else BYTES_PER_SPIKE for x in others)
        return int(n_tokens * (BYTES_PER_SPIKE + inhibition.ticks_per_token * a_tick))


@dataclass
class Spikes:
    """What was recorded in a window.

    Attributes
    ----------
    name : str
        Of the window.
    first_token : int
        Number of its first token, counted as they were shown from the beginning.
    iteration : int
        Which sequence that was in: pass, sweep or mini-batch, counted from 1.
    index, time : dict of str to array [spike]
        Neuron and time (seconds since the window began) of the spikes of each recorded layer;
        "topic" holds the winners.
    tick : float
        Length of a tick in seconds.
    latency : float array [token] or None
        Continuous waiting time of each winner in seconds, if recorded.
    state : dict of str to float array
        "u" [token, topic], "M__alpha" [token, topic, word], "M__beta" [token, doc, topic] of the
        chosen ones. u is that of the race, the weights are those after it.
    chosen : dict of str to int array
        Which "words", "documents", "topics" the state is of.
    """

    name: str = ""
    first_token: int = 0
    iteration: int = 1
    index: dict[str, np.ndarray] = field(default_factory=dict)
    time: dict[str, np.ndarray] = field(default_factory=dict)
    tick: float = TICK
    latency: np.ndarray | None = None
    state: dict[str, np.ndarray] = field(default_factory=dict)
    chosen: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def n_tokens(self) -> int:
        """Tokens in the window: one winner each."""
        return len(self.index["topic"])


def make_recording(given: Recording | Mapping[str, Any] | None) -> Recording | None:
    """A recording as an object, or as plain data by the names of its fields."""
    if given is None or isinstance(given, Recording):
        return given
    known = [known.name for known in fields(Recording)]
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"record must be None, a Recording, or a dict with some of {known}; found {given!r}."
        )
    if unknown := sorted(set(map(str, given)) - set(known)):
        raise ParameterError(f"a Recording has no {' or '.join(unknown)}; it has {known}.")
    return Recording(**given)


def check_window(window: Any) -> None:
    """Refuse what is no window."""
    if isinstance(window, str):
        if window in NAMED or pass_number(window):
            return
    elif isinstance(window, tuple) and len(window) == 2:
        if all(end is None or is_count(abs(end) if is_int(end) else end, 0) for end in window):
            start, stop = window
            if None in window or (start < 0) != (stop < 0) or start < stop:
                return
    raise ParameterError(
        f"a window is one of {NAMED}, a pass such as 'pass 3', or two tokens such as (0, 200), the "
        f"first and the one after the last; found {window!r}."
    )


def pass_number(window: Window) -> int | None:
    """3 of "pass 3"; None of other windows."""
    found = re.fullmatch(r"pass ([1-9]\d{0,8})", window) if isinstance(window, str) else None
    return int(found[1]) if found else None


def is_int(value: Any) -> bool:
    """Whether this is a whole number, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_count(value: Any, least: int) -> bool:
    """Whether this is a whole number of at least `least`."""
    return is_int(value) and value >= least
