"""Fixtures that several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brian_lda.corpus import holdout_split, load_corpus


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the real corpora; tests that need it skip where it is absent."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("BRIAN_LDA_DATA", beside))
    if not (folder / "kos").is_dir():
        pytest.skip("no real corpora: set BRIAN_LDA_DATA to a folder with kos/, nips/ and 20ng/")
    return folder


@pytest.fixture(scope="session")
def bars():
    """Griffiths & Steyvers' bars, small: 6 topics on a 3 x 3 grid."""
    return load_corpus("bars", grid=3, n_docs=300, doc_length=40, alpha=0.2, seed=1)


@pytest.fixture(scope="session")
def reuters():
    """(train, observed, heldout) of the bundled corpus."""
    return holdout_split(load_corpus("reuters"), seed=0)
