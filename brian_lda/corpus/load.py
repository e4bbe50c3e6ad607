"""`load_corpus`: one function for every corpus, by name or by path."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import CorpusNotFoundError, ParameterError
from .corpus import Corpus
from .generate import make_bars, make_synthetic
from .locate import NamedCorpus, locate, uci_corpus
from .newsgroups import newsgroups_corpus
from .text import corpus_from_text_directory
from .uci import find_docword, read_uci

NAMED_CORPORA: dict[str, NamedCorpus] = {
    "kos": uci_corpus(
        "kos",
        docword_sha256="0913cf084375360ce32c497dc2f8eafc4cf24a231f3d39bdbf8c41de29797cb4",
        vocab_sha256="623b7b969793b32c4ea7d1ae8cd2e9ed99038bf51628f33f52349f9485aeab8e",
    ),
    "nips": uci_corpus(
        "nips",
        docword_sha256="0415ee0bd4c965d8c044ea83ab62d03f007d4cb9651e3daa5cdb7356682b571f",
        vocab_sha256="be3f6337e3406ddc24837118e203da57c4c898ad5f6c9280908cd08a2609cf91",
    ),
    "enron": uci_corpus("enron"),
    "nytimes": uci_corpus("nytimes"),
    "pubmed": uci_corpus("pubmed"),
    "20ng": newsgroups_corpus("20ng"),
    "20ng-raw": newsgroups_corpus("20ng-raw"),
}


def load_corpus(
    name_or_path: str | Path, *, data_dir: str | Path | None = None, **options: Any
) -> Corpus:
    """Load a corpus.

    Parameters
    ----------
    name_or_path : str or Path
        One of

        - "reuters": 395 news stories that come with the package `lda`, always at hand;
        - "bars", "synthetic": generated, see `make_bars` and `make_synthetic` for their options;
          the result is a `GeneratedCorpus`, which holds the true φ and θ;
        - "kos", "nips", "enron", "nytimes", "pubmed": UCI bag of words;
        - "20ng", "20ng-raw": 20 Newsgroups with labels and by-date split, filtered and complete;
        - a directory in UCI layout, or one docword file of it (see `read_uci`);
        - a directory of .txt files, one document each, whose subfolders become labels.

        A name wins over a directory of the same name; write "./kos" for the directory.
    data_dir : str or Path, optional
        Folder searched first for named corpora; then BRIAN_LDA_DATA, then the user's cache, then
        the web.
    **options
        Of the generators; `base_url` (a mirror to download from) for named corpora; options of
        scikit-learn's CountVectorizer and `encoding` for a directory of .txt files.

    Raises
    ------
    CorpusNotFoundError
        The name is unknown or the files can neither be found nor downloaded.
    CorpusFormatError
        A file does not hold what its layout promises; the message names file and line.
    """
    require_corpus(name_or_path)
    if name_or_path in GENERATORS:
        return _call(GENERATORS[str(name_or_path)], f"corpus {name_or_path!r}", options)
    if name_or_path in NAMED_CORPORA:
        docword = locate_named(name_or_path, data_dir=data_dir, **options)
        return read_uci(docword, name=str(name_or_path))
    path = Path(name_or_path)
    if path.is_file():
        return _call(lambda: read_uci(path), f"the docword file {path}", options)
    if any(path.glob("docword.*")):
        return _call(lambda: read_uci(path), f"the UCI directory {path}", options)
    return corpus_from_text_directory(path, **options)


def require_corpus(name_or_path: str | Path) -> None:
    """Refuse what `load_corpus` would not know: neither a name nor a path that exists."""
    names = (*GENERATORS, *NAMED_CORPORA)
    if name_or_path not in names and not Path(name_or_path).exists():
        raise CorpusNotFoundError(
            f"Unknown corpus {str(name_or_path)!r}: neither a known name ({', '.join(names)}) nor "
            "a path that exists. A path may be a directory in UCI layout "
            "(docword.<tag>.txt[.gz], vocab.<tag>.txt), a docword file, or a directory of .txt "
            "files."
        )


def locate_named(name: str, *, data_dir: str | Path | None = None, **options: Any) -> Path:
    """Docword file of a named corpus; the only option is `base_url`."""

    def find(base_url: str | None = None) -> Path:
        return locate(NAMED_CORPORA[name], data_dir=data_dir, base_url=base_url)

    return _call(find, f"corpus {name!r}", options)


def locate_docword(name_or_path: str | Path, *, data_dir: str | Path | None = None) -> Path:
    """Docword file of a named corpus, of a directory in UCI layout, or the given file itself."""
    if name_or_path in NAMED_CORPORA:
        return locate_named(name_or_path, data_dir=data_dir)
    if not Path(name_or_path).exists():
        raise CorpusNotFoundError(
            f"{str(name_or_path)!r} is neither one of {', '.join(NAMED_CORPORA)} nor a path that "
            "exists."
        )
    return find_docword(name_or_path)


def _call(function: Callable[..., Any], what: str, options: dict[str, Any]) -> Any:
    """Call with options; name those that the function does not take."""
    known = inspect.signature(function).parameters.keys()
    if unknown := sorted(options.keys() - known):
        raise ParameterError(
            f"Unknown options {unknown} for {what}: expected "
            f"{'one of ' + ', '.join(known) if known else 'no options'}."
        )
    return function(**options)


@functools.cache  # its package takes a second to read 395 documents; a Corpus cannot be changed
def _load_reuters() -> Corpus:
    # Imported here: the package serves nothing else, and its import is not free.
    import lda.datasets

    return Corpus(lda.datasets.load_reuters(), lda.datasets.load_reuters_vocab(), name="reuters")


GENERATORS: dict[str, Callable[..., Corpus]] = {
    "reuters": _load_reuters,
    "bars": make_bars,
    "synthetic": make_synthetic,
}
