"""What the batch samplers share: a corpus as a token list and one topic assignment per token."""

from __future__ import annotations

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.parameters import check_n_topics, dirichlet_vector
from brian_lda.reference.random_streams import new_stream


class AssignmentSampler:
    """Base of SpikeCGS and CGS; not used by itself.

    Parameters
    ----------
    words, docs : int array [token]
        The corpus; token i is word words[i] of document docs[i].
    n_topics, n_words, n_docs : int
    doc_topic_prior, topic_word_prior : float or array
        lambda [topic] and varphi [word]; any positive value.
    seed : int
        Seeds the first assignments (uniform) and the winners.
    initial_assignments : int array [token], optional
    """

    exact_counts = False  # whether counts are integers, rather than logarithms that are updated

    def __init__(
        self,
        words: np.ndarray,
        docs: np.ndarray,
        *,
        n_topics: int,
        n_words: int,
        n_docs: int,
        doc_topic_prior: float | np.ndarray,
        topic_word_prior: float | np.ndarray,
        seed: int,
        initial_assignments: np.ndarray | None = None,
    ) -> None:
        self._words = np.ascontiguousarray(words, np.int32)
        self._docs = np.ascontiguousarray(docs, np.int32)
        check_n_topics(n_topics)
        self.n_topics = n_topics
        self.lamda = dirichlet_vector(doc_topic_prior, n_topics, "doc_topic_prior")
        self.varphi = dirichlet_vector(topic_word_prior, n_words, "topic_word_prior")
        self._stream = new_stream(seed, 1)
        if initial_assignments is None:
            rng = np.random.default_rng(np.random.SeedSequence([seed, 0]))
            initial_assignments = rng.integers(0, n_topics, len(words))
        check_tokens(self._words, self._docs, initial_assignments, n_words, n_docs, n_topics)
        self.z = np.array(initial_assignments, np.int32)
        self._n_words, self._n_docs = n_words, n_docs

    @property
    def C_zd(self) -> np.ndarray:
        """Tokens of each document in each topic, int array [doc, topic]."""
        return self._counts()[1]

    def set_prior(self, lamda: np.ndarray) -> None:
        """Go on with another lambda [topic] and the same assignments.

        A sampler that keeps C_zd + lambda writes it anew.
        """
        self.lamda = dirichlet_vector(lamda, self.n_topics, "doc_topic_prior")

    def _counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """C_wz [topic, word], C_zd [doc, topic] and C_z [topic] of the assignments."""
        return assignment_counts(
            self._words, self._docs, self.z, self._n_words, self._n_docs, self.n_topics
        )


def check_tokens(
    words: np.ndarray, docs: np.ndarray, z: np.ndarray, n_words: int, n_docs: int, n_topics: int
) -> None:
    """Refuse tokens out of range: the kernels read without bounds checks."""
    for name, values, size in (
        ("words", words, n_words),
        ("docs", docs, n_docs),
        ("initial_assignments", z, n_topics),
    ):
        if len(values) != len(words) or np.min(values) < 0 or np.max(values) >= size:
            raise ParameterError(
                f"{name} must hold one number in 0..{size - 1} per token ({len(words)}); found "
                f"{len(values)} in {np.min(values)}..{np.max(values)}."
            )


def assignment_counts(
    words: np.ndarray, docs: np.ndarray, z: np.ndarray, n_words: int, n_docs: int, n_topics: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """C_wz [topic, word], C_zd [doc, topic] and C_z [topic] of the assignments z [token]."""
    C_wz = np.bincount(z.astype(np.int64) * n_words + words, minlength=n_topics * n_words)
    C_zd = np.bincount(docs.astype(np.int64) * n_topics + z, minlength=n_docs * n_topics)
    return (
        C_wz.reshape(n_topics, n_words),
        C_zd.reshape(n_docs, n_topics),
        np.bincount(z, minlength=n_topics),
    )
