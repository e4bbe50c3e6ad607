"""The paper's evaluation protocol (Sec. 4): held-out documents, each cut into two halves.

Documents are split 9:1 into training and test. The tokens of every test document are split at
random into an observed half, on which θ is fitted, and a held-out half, on which perplexity is
measured.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..errors import ParameterError
from .corpus import Corpus, doc_lengths, expand_tokens


class HoldoutSplit(NamedTuple):
    """Three corpora over the same vocabulary; row d of `observed` and `heldout` is one document."""

    train: Corpus
    observed: Corpus
    heldout: Corpus


def holdout_split(
    corpus: Corpus,
    *,
    test_fraction: float = 0.1,
    seed: int = 0,
    use_stored_split: bool = False,
) -> HoldoutSplit:
    """Split documents into training and test, and test documents token-wise into halves.

    Parameters
    ----------
    corpus : Corpus
    test_fraction : float in (0, 1)
        Share of test documents, rounded to the nearest whole number, at least one.
    seed : int
        The same seed gives the same split, whatever else the program draws.
    use_stored_split : bool
        Take the corpus' own split of documents (20ng: by date) instead of a random one; the halves
        are random all the same.

    Returns
    -------
    HoldoutSplit
        `train`, `observed` and `heldout`. Documents keep the order they have in `corpus`. A test
        document of n tokens has ceil(n/2) observed and floor(n/2) held-out ones: a document of one
        token is observed, and an empty one stays, empty in both.
    """
    document_rng, token_rng = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2)
    )
    if use_stored_split:
        train, test = corpus.part("train"), corpus.part("test")
    else:
        n_test = _number_of_test_documents(corpus, test_fraction)
        is_test = np.zeros(corpus.n_docs, dtype=bool)
        is_test[document_rng.permutation(corpus.n_docs)[:n_test]] = True
        train, test = corpus.subset(~is_test), corpus.subset(is_test)
    observed, heldout = halve_documents(test.counts, token_rng)
    if heldout.nnz == 0:
        raise ParameterError(
            f"The {test.n_docs} test documents of {corpus!r} have at most one token each, which "
            "leaves nothing to hold out. Use longer documents, a larger test_fraction or another "
            "seed."
        )
    return HoldoutSplit(train, replace(test, counts=observed), replace(test, counts=heldout))


def _number_of_test_documents(corpus: Corpus, test_fraction: float) -> int:
    if not 0 < test_fraction < 1:
        raise ParameterError(f"test_fraction must lie between 0 and 1, found {test_fraction}.")
    if corpus.n_docs < 2:
        raise ParameterError(f"A split needs at least two documents, found {corpus!r}.")
    return min(max(1, round(test_fraction * corpus.n_docs)), corpus.n_docs - 1)


def halve_documents(
    counts: sparse.csr_array, rng: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Each row's tokens in random order: the first half of them, and the rest."""
    words, docs = expand_tokens(counts)
    lengths = doc_lengths(counts)
    shuffled = words[np.lexsort((rng.random(len(words)), docs))]
    # Tokens stay grouped by document, so `docs` still tells the document of each.
    rank_in_document = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    is_observed = rank_in_document < (lengths[docs] + 1) // 2

    def count(chosen: np.ndarray) -> sparse.csr_array:
        ones = np.ones(np.count_nonzero(chosen), dtype=np.int32)
        return sparse.coo_array((ones, (docs[chosen], shuffled[chosen])), counts.shape).tocsr()

    return count(is_observed), count(~is_observed)
