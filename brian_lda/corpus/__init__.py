"""Corpora: load, validate, split and stream documents as word counts."""

from .corpus import Corpus, as_counts

__all__ = ["Corpus", "as_counts"]
