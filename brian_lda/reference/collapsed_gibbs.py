"""Baseline: collapsed Gibbs sampling for smoothed LDA (Griffiths & Steyvers 2004), on counts.

p(z_di = z | rest) ~ (C_wz + varphi_w) / (C_z + sum varphi) * (C_zd + lambda_z)   [Eq. (CGS)]

The same chain as SpikeCGS, written for speed: integer counts (exact for ever), single-precision
probabilities, the draw by blocks. C_wz is a table while topics are few or words are spread over
them (`word_table`), and lists of topics where these are short (`word_lists`). Both draw from the
same law, with other random numbers; which one a sweep uses follows from the assignments at its
beginning, so a resumed chain makes the same choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brian_lda.reference.activation import padded
from brian_lda.reference.assignments import AssignmentSampler
from brian_lda.reference.word_lists import WordLists
from brian_lda.reference.word_table import WordTable

# Measured: a list costs as much as 64 topics of a table, and each topic in it as 3.5 of them.
_TABLE_TOPICS_PER_LIST, _TABLE_TOPICS_PER_LISTED = 64, 3.5


def chosen_word_counts(n_topics: int, topics_per_token: float) -> type[WordTable] | type[WordLists]:
    """The faster form of C_wz, where the word of a token has so many topics on average."""
    as_lists = _TABLE_TOPICS_PER_LIST + _TABLE_TOPICS_PER_LISTED * topics_per_token
    return WordLists if as_lists < n_topics else WordTable


class CollapsedGibbs(AssignmentSampler):
    """CGS over a token list; parameters as in `AssignmentSampler`."""

    exact_counts = True

    def __init__(
        self,
        words: np.ndarray,
        docs: np.ndarray,
        *,
        _word_counts: type[WordTable] | type[WordLists] | None = None,  # for tests; None: chosen
        **arguments: Any,
    ) -> None:
        super().__init__(words, docs, **arguments)
        self._forced = _word_counts
        self._lamda = np.zeros(padded(self.n_topics), np.float32)
        self._lamda[: self.n_topics] = self.lamda
        self._count()

    def _count(self) -> None:
        width = padded(self.n_topics)
        in_doc = np.bincount(
            self._docs.astype(np.int64) * width + self.z, minlength=self._n_docs * width
        )
        self._C_zd = in_doc.astype(np.int32).reshape(self._n_docs, width)
        self._C_z = np.bincount(self.z, minlength=self.n_topics)
        self._word_counts = self._counted_as(self._forced or WordLists)

    def _counted_as(self, kind: type[WordTable] | type[WordLists]) -> WordTable | WordLists:
        return kind(self._words, self.z, self._n_words, self.n_topics)

    def _choose_word_counts(self) -> None:
        if self._forced is not None:
            return
        kind = chosen_word_counts(self.n_topics, self._word_counts.topics_per_token)
        if not isinstance(self._word_counts, kind):
            self._word_counts = self._counted_as(kind)

    def sweep(self, order: np.ndarray | None = None) -> None:
        """Resample tokens in the given order (default: each once, as stored)."""
        order = np.arange(len(self.z)) if order is None else np.asarray(order, np.int64)
        self._choose_word_counts()
        self._word_counts.sweep(
            order, self._words, self._docs, self.z, self._C_zd, self._C_z, self._lamda,
            self.varphi, self._stream,
        )  # fmt: skip

    @property
    def phi(self) -> np.ndarray:
        """Posterior mean of Phi given the assignments, [topic, word]."""
        total = self._C_z + self.varphi.sum()  # alike in both forms, to the last bit
        return (self._word_counts.C_wz + self.varphi) / total[:, None]

    @property
    def C_zd(self) -> np.ndarray:
        """Tokens of each document in each topic, [doc, topic]."""
        return self._C_zd[:, : self.n_topics].copy()

    def set_prior(self, lamda: np.ndarray) -> None:
        """As in `AssignmentSampler`."""
        super().set_prior(lamda)
        self._lamda[: self.n_topics] = self.lamda

    @property
    def theta(self) -> np.ndarray:
        """(C_zd + lambda_z) / (N_d + sum lambda), [doc, topic]."""
        counts = self.C_zd + self.lamda
        return counts / counts.sum(axis=1, keepdims=True)

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next token depends on: the counts follow from the assignments."""
        return {"z": self.z.copy(), "stream": self._stream.copy()}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state`."""
        self.z = np.array(state["z"], np.int32)
        self._stream = np.array(state["stream"], np.uint64)
        self._count()
