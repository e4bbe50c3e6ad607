"""Which tokens of a training are recorded, and what of it is kept.

A training shows a network one sequence of tokens after another (passes, sweeps, mini-batches), and
nobody knows before its end how many there will be. So the middle and the end of every sequence are
recorded: of the ends the latest is kept, of the middles a few, from which the one in the middle of
the training is chosen in the end. Memory is bounded, whatever the length of the training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from brian_lda.circuit.inhibition import Inhibition
from brian_lda.errors import ParameterError
from brian_lda.simulation.recording import (
    LARGEST_RECORDING,
    LARGEST_WINDOW,
    Recording,
    Spikes,
    Window,
    pass_number,
)

MOST_MIDDLES = 32


@dataclass(frozen=True)
class Request:
    """Tokens of one sequence that belong to a window."""

    window: Window
    start: int
    stop: int


class WindowKeeper:
    """Keeps the windows of a training, or of a single sequence.

    Parameters
    ----------
    recording : Recording
    single : bool
        There is only one sequence, so that its end is known.
    sequences_per_pass : int
        Sequences that show every document once.

    Attributes
    ----------
    n_sequences, n_tokens : int
        Shown so far.
    documents : int array [document neuron] or None
        Which document each document neuron stands for in the sequence to come; None: its own.
    """

    def __init__(
        self, recording: Recording, *, single: bool = False, sequences_per_pass: int = 1
    ) -> None:
        self.recording, self._single = recording, single
        self.sequences_per_pass = sequences_per_pass
        self.n_sequences = self.n_tokens = 0
        self.documents: np.ndarray | None = None
        self._pieces: dict[Window, list[Spikes]] = {window: [] for window in recording.windows}
        if not single:
            for window in recording.windows:
                ends = () if isinstance(window, str) else window
                if any(end is None or end < 0 for end in ends):
                    raise ParameterError(
                        "a window of a training needs two token numbers from its beginning, such "
                        f"as (0, 200); found {window!r}. Its end is called 'last'."
                    )

    def requests(self, n_tokens: int) -> list[Request]:
        """What to record of the next sequence."""
        found = []
        for window in self.recording.windows:
            start, stop = self._span(window, n_tokens)
            start, stop = max(start, 0), min(stop, n_tokens)
            if start < stop:
                found.append(Request(window, start, stop))
        return found

    def _span(self, window: Window, n_tokens: int) -> tuple[int, int]:
        if self._single:
            return self.recording.span(window, n_tokens)
        if window == "last" or (window == "middle" and self.n_sequences % self._stride == 0):
            return self.recording.span(window, n_tokens)
        if window == "middle":
            return 0, 0
        if number := pass_number(window):
            begun = [piece.first_token for piece in self._pieces[window][:1]]
            if self.n_sequences == (number - 1) * self.sequences_per_pass:
                begun = [self.n_tokens]
            span = (begun[0], begun[0] + self.recording.tokens) if begun else (0, 0)
        else:
            span = (0, self.recording.tokens) if window == "first" else window  # type: ignore[assignment]
        return span[0] - self.n_tokens, span[1] - self.n_tokens

    @property
    def _stride(self) -> int:
        """Every how manieth middle is kept: a power of 2 that grows with their number."""
        stride = 1
        while self.n_sequences >= MOST_MIDDLES * stride:
            stride *= 2
        return stride

    def keep(self, request: Request, parts: Sequence[Spikes]) -> None:
        """Take what was recorded for a request: one part for each run that it was in."""
        piece = joined(list(parts))
        piece.name = name_of(request.window)
        piece.first_token = self.n_tokens + request.start
        piece.iteration = self.n_sequences + 1
        if self.documents is not None and "document" in piece.index:
            piece.index["document"] = self.documents[piece.index["document"]].astype(np.int32)
        kept = self._pieces[request.window]
        if request.window == "last" and not self._single:
            kept.clear()
        kept.append(piece)

    def end_sequence(self, n_tokens: int) -> None:
        """The sequence has been shown."""
        self.n_sequences, self.n_tokens = self.n_sequences + 1, self.n_tokens + n_tokens
        if "middle" in self._pieces:
            stride = self._stride
            middles = self._pieces["middle"]
            middles[:] = [piece for piece in middles if (piece.iteration - 1) % stride == 0]

    def pieces(self) -> list[Spikes]:
        """Everything that is kept, to go on from later."""
        return [piece for pieces in self._pieces.values() for piece in pieces]

    def restore(self, pieces: Sequence[Spikes]) -> None:
        """Go on with what was kept up to here; what came later will be recorded again."""
        for window, kept in self._pieces.items():
            kept[:] = [
                piece
                for piece in pieces
                if piece.name == name_of(window) and piece.iteration <= self.n_sequences
            ]

    def recorded(self) -> list[Spikes]:
        """One for each window that was reached, in the order in which they were shown."""
        found = []
        for window, pieces in self._pieces.items():
            if window == "middle" and pieces:
                half = self.n_tokens / 2
                pieces = [min(pieces, key=lambda p: abs(p.first_token + p.n_tokens / 2 - half))]
            if pieces:
                found.append(joined(pieces))
        return sorted(found, key=lambda spikes: spikes.first_token)

    def check(self, inhibition: Inhibition, n_topics: int, n_tokens: int | None = None) -> None:
        """Refuse windows that are too long, before anything is run.

        Parameters
        ----------
        inhibition : Race or Poisson
        n_topics : int
            K.
        n_tokens : int, optional
            Of the sequence, if there is only one.
        """
        lengths = [self._length(window, n_tokens) for window in self.recording.windows]
        if max(lengths) > LARGEST_WINDOW:
            raise ParameterError(
                f"a recorded window holds at most {LARGEST_WINDOW} tokens; found {max(lengths)}. "
                "Record several shorter ones, such as windows=('first', 'middle', 'last')."
            )
        n_recorded = sum(lengths)
        if n_tokens is None and "middle" in self.recording.windows:
            n_recorded += (MOST_MIDDLES - 1) * self.recording.tokens
        needed = self.recording.forecast(n_recorded, inhibition, n_topics)
        if needed > LARGEST_RECORDING:
            raise ParameterError(
                f"this recording would take about {needed / 1e6:.0f} MB of memory, more than "
                f"{LARGEST_RECORDING / 1e6:.0f}: choose fewer tokens, words, documents or topics."
            )

    def _length(self, window: Window, n_tokens: int | None) -> int:
        if n_tokens is not None:
            start, stop = self.recording.span(window, n_tokens)
            return stop - start
        if isinstance(window, str):
            return self.recording.tokens
        return window[1] - window[0]  # type: ignore[operator]


def name_of(window: Window) -> str:
    """A window in words."""
    if isinstance(window, str):
        return window
    start, stop = ("" if end is None else str(end) for end in window)
    return f"tokens {start}:{stop}"


def union(requests: Sequence[Request], start: int, stop: int) -> list[tuple[int, int]]:
    """The tokens of a run that anybody asks for, from its first: sorted, apart from each other.

    >>> union([Request("first", 0, 5), Request("last", 3, 9), Request("middle", 20, 22)], 2, 30)
    [(0, 7), (18, 20)]
    """
    spans: list[tuple[int, int]] = []
    for request in sorted(requests, key=lambda request: request.start):
        first, last = max(request.start, start) - start, min(request.stop, stop) - start
        if first >= last:
            continue
        if spans and first <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(last, spans[-1][1])
        else:
            spans.append((first, last))
    return spans


def joined(parts: list[Spikes]) -> Spikes:
    """Parts of a window one after the other, as one."""
    if len(parts) == 1:
        return replace(parts[0], index=dict(parts[0].index), time=dict(parts[0].time))
    whole = replace(parts[0])
    begins = [0.0]
    for part in parts[:-1]:
        begins.append(begins[-1] + part.time["topic"][-1] + part.tick)
    whole.index = concatenated([part.index for part in parts])
    whole.time = concatenated(
        [
            {layer: time + begin for layer, time in part.time.items()}
            for part, begin in zip(parts, begins, strict=True)
        ]
    )
    whole.state = concatenated([part.state for part in parts])
    if whole.latency is not None:
        whole.latency = np.concatenate([part.latency for part in parts if part.latency is not None])
    return whole


def concatenated(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Arrays of the same name one after the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
