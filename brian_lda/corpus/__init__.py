"""Corpora: load them, check them, split them and stream them.

A `Corpus` is an immutable matrix of word counts [doc, word] with its vocabulary and, where there
are any, labels and a train/test split:

>>> from brian_lda.corpus import load_corpus, holdout_split
>>> corpus = load_corpus("reuters")
>>> corpus
Corpus('reuters', 395 documents, 4258 words, 84010 tokens)
>>> train, observed, heldout = holdout_split(corpus, seed=0)

Get one
    `load_corpus` takes a name ("reuters" comes with the installation, "bars" and "synthetic" are
    generated and know their true φ and θ, "kos", "nips", "20ng" and others are looked up on disk
    and else downloaded) or a path. `corpus_from_texts` counts the words of texts, `from_gensim`
    converts gensim's lists, and any other matrix goes straight into `Corpus(counts, vocabulary)`.

Where files are looked for
    The argument `data_dir`, then the folder in BRIAN_LDA_DATA, then the user's cache
    (BRIAN_LDA_CACHE), then the web (or a mirror: `base_url`, BRIAN_LDA_BASE_URL).

Evaluate
    `holdout_split` is the paper's protocol: nine of ten documents to train on, the tokens of the
    others halved into observed and held-out ones.

Stream
    `shuffled_passes`, `sampled_tokens`, `document_batches` and, for documents that keep arriving,
    `stream_documents`. A corpus larger than memory is read from disk by `open_token_store`, which
    returns a `TokenStore`; `document_batches` takes it like a corpus.

Every wrong input raises one of the classes in `brian_lda.errors`, with the file and line, or the
argument, and what to do about it. Empty documents and words that never occur are no errors.
"""

from .corpus import Corpus, as_counts
from .generate import GeneratedCorpus, make_bars, make_synthetic
from .gensim_bow import from_gensim
from .load import NAMED_CORPORA, load_corpus
from .split import HoldoutSplit, halve_documents, holdout_split
from .store import TokenStore, open_token_store
from .streams import (
    DocumentBatch,
    document_batches,
    sampled_tokens,
    shuffled_passes,
    stream_documents,
)
from .text import corpus_from_text_directory, corpus_from_texts
from .uci import read_uci, write_uci

__all__ = [
    "NAMED_CORPORA",
    "Corpus",
    "DocumentBatch",
    "GeneratedCorpus",
    "HoldoutSplit",
    "TokenStore",
    "as_counts",
    "corpus_from_text_directory",
    "corpus_from_texts",
    "document_batches",
    "from_gensim",
    "halve_documents",
    "holdout_split",
    "load_corpus",
    "make_bars",
    "make_synthetic",
    "open_token_store",
    "read_uci",
    "sampled_tokens",
    "shuffled_passes",
    "stream_documents",
    "write_uci",
]
