"""Corpora from plain text, by scikit-learn's CountVectorizer."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from ..errors import CorpusFormatError, ParameterError
from .corpus import Corpus

# What topic models are usually trained on; any of it can be overridden.
VECTORIZER_DEFAULTS = {
    "lowercase": True,
    "stop_words": "english",
    "token_pattern": r"(?u)\b[^\W\d_]{3,}\b",  # words of three letters or more, no digits
}


def corpus_from_texts(
    texts: Iterable[str],
    *,
    name: str = "",
    labels: Any = None,
    label_names: Sequence[str] | None = None,
    **vectorizer_options: Any,
) -> Corpus:
    """Count the words of each text.

    Parameters
    ----------
    texts : iterable of str
        One document each. Not file names: see `corpus_from_text_directory`.
    name, labels, label_names
        As in `Corpus`.
    **vectorizer_options
        Options of `sklearn.feature_extraction.text.CountVectorizer`, over our defaults: lower
        case, English stop words left out, words of at least three letters, and, from ten documents
        on, only words that occur in at least two (`min_df=2`).
    """
    if isinstance(texts, str):
        raise ParameterError(
            "texts must be a list of documents, found a single str. Pass [text], or a directory of "
            ".txt files to load_corpus."
        )
    texts = list(texts)
    unknown = vectorizer_options.keys() - inspect.signature(CountVectorizer).parameters.keys()
    if unknown:
        raise ParameterError(
            f"Unknown options {sorted(unknown)}: expected options of scikit-learn's "
            "CountVectorizer, such as min_df, max_df, stop_words, vocabulary."
        )
    defaults = VECTORIZER_DEFAULTS | {"min_df": 2 if len(texts) >= 10 else 1}
    vectorizer = CountVectorizer(**(defaults | vectorizer_options))
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError as error:  # scikit-learn's words for "no word is left"
        raise CorpusFormatError(
            f"No words are left in {len(texts)} texts ({error}). Pass longer texts, or loosen "
            "min_df, max_df, stop_words or token_pattern."
        ) from error
    names = None if label_names is None else tuple(label_names)
    return Corpus(counts, vectorizer.get_feature_names_out(), name, labels, names)


def corpus_from_text_directory(
    directory: str | Path, *, name: str = "", encoding: str = "utf-8", **vectorizer_options: Any
) -> Corpus:
    """One document per .txt file, in the order of their paths; subfolders become labels.

    Files directly in `directory`, beside subfolders, get the directory's own name as label. Bytes
    that `encoding` cannot read are replaced. Further options are those of `corpus_from_texts`.
    """
    directory = Path(directory)
    files = sorted(directory.rglob("*.txt"))
    if not files:
        raise CorpusFormatError(f"{directory} holds no .txt file, here or in its subfolders.")
    texts = (file.read_text(encoding=encoding, errors="replace") for file in files)
    folders = [file.relative_to(directory).parent.as_posix() for file in files]
    labels = label_names = None
    if set(folders) != {"."}:
        names = [directory.resolve().name if folder == "." else folder for folder in folders]
        unique_names, labels = np.unique(names, return_inverse=True)
        label_names = unique_names.tolist()
    return corpus_from_texts(
        texts,
        name=name or directory.resolve().name,
        labels=labels,
        label_names=label_names,
        **vectorizer_options,
    )
