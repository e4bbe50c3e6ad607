"""benchmark_workers.py: several processes learn what one learns, in both backends."""

from __future__ import annotations

import numpy as np
import pytest

import benchmark_workers


@pytest.fixture
def corpus(tmp_path):
    """Ten documents of a few words in UCI layout."""
    counts = np.random.default_rng(0).integers(0, 3, (10, 6))
    entries = [f"{d + 1} {w + 1} {counts[d, w]}" for d, w in np.argwhere(counts)]
    header = [str(n) for n in (*counts.shape, len(entries))]
    (tmp_path / "docword.small.txt").write_text("\n".join([*header, *entries]) + "\n")
    (tmp_path / "vocab.small.txt").write_text("\n".join("abcdef") + "\n")
    return str(tmp_path)


@pytest.mark.complete
@pytest.mark.parametrize("backend", ["rate", "brian2"])
def test_two_processes_learn_what_one_learns(backend, corpus, capsys):
    arguments = ["--corpus", corpus, "--backend", backend, "--topics", "3", "--batch", "5"]
    assert benchmark_workers.main([*arguments, "--updates", "4"]) == 0
    assert "models equal" in capsys.readouterr().out


def test_a_corpus_that_is_not_there_is_one_line(tmp_path, capsys):
    assert benchmark_workers.main(["--corpus", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.startswith("error: ")
