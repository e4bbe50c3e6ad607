"""From any matrix that a user may hold to the one form that the algorithms read.

That form is a canonical `scipy.sparse.csr_array` [doc, word] of int32: column indices sorted within
each row, no duplicates, no explicit zeros, every count a positive integer.

Refusals hold the words that scikit-learn uses for the same mistake ("Negative values in data",
"Reshape your data", ...): its checks and other tools look for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..errors import CorpusFormatError, NoNumberError

LARGEST_COUNT = np.iinfo(np.int32).max
_TEXTS = (
    "Texts become counts with brian_lda.corpus.corpus_from_texts or scikit-learn's CountVectorizer."
)


def counts_from_matrix(
    X: Any, *, argument: str = "X", require_tokens: bool = True
) -> sparse.csr_array:
    """Validate a document-word matrix and bring it into canonical form.

    Parameters
    ----------
    X : sparse array or matrix of any format, array-like, shape (n_docs, n_words)
        Counts; float matrices pass if their values are integers, and so do arrays of objects that
        are such numbers.
    argument : str
        What the caller's user knows the matrix as; error messages use it.
    require_tokens : bool
        Refuse a matrix whose counts are all zero. `transform` may turn this off.

    Returns
    -------
    csr_array of int32, shape (n_docs, n_words)
        Shares memory with `X` when `X` is in canonical form already; `X` itself never changes.
    """
    csr = _csr_from_sparse(X, argument) if sparse.issparse(X) else _csr_from_dense(X, argument)
    _check_values(csr, argument)
    for found, kind in zip(csr.shape, ("sample", "feature"), strict=True):
        if found == 0:
            raise CorpusFormatError(
                f"{argument} is empty: found 0 {kind}(s) (shape={csr.shape}) while a minimum of 1 "
                "is required. Pass a matrix [doc, word] of counts, with a document and a word."
            )
    if csr.dtype != np.int32:
        csr = csr.astype(np.int32)
    if csr.data.size and not csr.data.all():
        csr = csr.copy()
        csr.eliminate_zeros()
    if require_tokens and csr.nnz == 0:
        raise CorpusFormatError(
            f"{argument} is empty: its {csr.shape[0]} documents hold no token at all. Empty "
            "documents are allowed, but at least one document must contain a word."
        )
    if csr.indices.dtype != np.int32 and max(csr.nnz, csr.shape[1]) <= np.iinfo(np.int32).max:
        # One index type: the compiled kernels are then compiled once.
        csr.indices, csr.indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
    return csr


def _csr_from_sparse(X: Any, argument: str) -> sparse.csr_array:
    if X.ndim != 2:
        raise CorpusFormatError(_wrong_dimensions(argument, X.ndim))
    _check_kind(X.dtype, argument)
    csr = sparse.csr_array(X)
    try:
        csr.check_format(full_check=True)
    except ValueError as error:
        raise CorpusFormatError(f"{argument} is not a valid sparse matrix: {error}") from error
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _csr_from_dense(X: Any, argument: str) -> sparse.csr_array:
    try:
        dense = np.asarray(X)
    except ValueError as error:
        raise CorpusFormatError(
            f"{argument} is not a matrix: its rows differ in length. Pass counts [doc, word], or "
            "convert gensim's bag-of-words lists with brian_lda.corpus.from_gensim."
        ) from error
    if dense.ndim != 2:
        raise CorpusFormatError(
            f"{_wrong_dimensions(argument, dense.ndim)} gensim's bag-of-words lists are converted "
            "by brian_lda.corpus.from_gensim."
        )
    if dense.dtype.kind == "O":
        dense = _numbers_of_objects(dense, argument)
    _check_kind(dense.dtype, argument)
    return sparse.csr_array(dense)


def _wrong_dimensions(argument: str, found: int) -> str:
    return (
        f"{argument} must have two dimensions [doc, word], found {found}. Reshape your data: a "
        "single document is a matrix of one row."
    )


def _numbers_of_objects(objects: np.ndarray, argument: str) -> np.ndarray:
    """An array of Python objects as floats, if each is a number."""
    try:
        return objects.astype(np.float64)
    except TypeError as error:  # "float() argument must be a string or a real number, not 'dict'"
        raise NoNumberError(f"{argument} must hold numbers: {error}.") from error
    except ValueError as error:
        raise CorpusFormatError(f"{argument} must hold numbers: {error}. {_TEXTS}") from error


def _check_kind(dtype: np.dtype, argument: str) -> None:
    if dtype.kind == "c":
        raise CorpusFormatError(
            f"Complex data not supported: {argument} must hold counts, found dtype {dtype}."
        )
    if dtype.kind not in "biuf":
        raise CorpusFormatError(f"{argument} must hold numbers, found dtype {dtype}. {_TEXTS}")


def _check_values(csr: sparse.csr_array, argument: str) -> None:
    """Refuse NaN, infinite, negative, fractional and overflowing counts; name the first one."""
    data = csr.data
    if data.size == 0 or data.dtype.kind == "b":
        return
    if data.dtype.kind == "f":
        finite = np.isfinite(data)
        if not finite.all():
            _refuse(csr, ~finite, argument, "a count that is NaN or infinite")
        whole = data == np.floor(data)
        if not whole.all():
            _refuse(csr, ~whole, argument, "a fractional count")
    if data.min() < 0:
        _refuse(
            csr, data < 0, argument, "a negative count", " Negative values in data are no counts."
        )
    if data.max() > LARGEST_COUNT:
        _refuse(csr, data > LARGEST_COUNT, argument, f"a count above {LARGEST_COUNT}")


def _refuse(
    csr: sparse.csr_array, bad: np.ndarray, argument: str, what: str, why: str = ""
) -> None:
    entry = int(np.argmax(bad))
    doc = int(np.searchsorted(csr.indptr, entry, side="right")) - 1
    raise CorpusFormatError(
        f"{argument} holds {what}: document {doc}, word {csr.indices[entry]} has "
        f"{csr.data[entry]} (rows and columns counted from 0). Expected how often each word occurs "
        "in each document, as non-negative integers (not tf-idf weights or frequencies)." + why
    )
