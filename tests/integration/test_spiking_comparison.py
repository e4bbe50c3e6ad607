"""compare_reference.py end to end at small scale, and its test of the winners' law."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from brian_lda.corpus import holdout_split, load_corpus
from brian_lda.errors import ParameterError
from brian_lda.estimators import comparison
from brian_lda.estimators.comparison import train_twins, winner_frequency_p
from brian_lda.initial_weights import initial_state
from brian_lda.parameters import EventDrivenParameters
from brian_lda.step_rules import AdaGrad, VarianceTracking

SCRIPT = Path(__file__).parents[2] / "sims" / "compare_reference.py"
PARAMETERS = EventDrivenParameters(4, 1.5)


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("bars", grid=2, n_docs=12, doc_length=20, seed=0)


def test_twins_start_and_stay_on_the_same_track(corpus):
    split = holdout_split(corpus, seed=0)
    result, spiking = train_twins(split, PARAMETERS, 3, seed=0, simulator="numpy")
    assert [len(curve) for curve in result.perplexity.values()] == [3, 3]
    assert all(curve[-1] < curve[0] for curve in result.zeta__alpha.values())
    # zeta of a topic depends on how often it won, not on which words it saw
    np.testing.assert_allclose(*(curve[-1] for curve in result.zeta__beta.values()), rtol=0.05)
    assert result.winner_p > 1e-3
    assert spiking.state()["n_beta"].sum() == 3 * split.train.n_tokens


def test_there_is_no_verdict_before_the_twins_are_matched():
    with pytest.raises(ParameterError, match="when train_twins returns"):
        comparison.TwinComparison().verdict()


def test_winner_test_notices_a_wrong_law(corpus, monkeypatch):
    """A spiking twin whose weights are off by 0.3 in one topic must be caught."""
    state = initial_state(PARAMETERS, corpus.n_words, corpus.doc_lengths, 0)
    arguments = {"seed": 0, "n_tokens": 3000, "simulator": "numpy"}
    assert winner_frequency_p(PARAMETERS, corpus, state, **arguments) > 1e-3

    class Biased(comparison.EventDrivenSpiking):
        def __init__(self, *arguments, initial, **options):
            biased = {key: value.copy() for key, value in initial.items()}
            biased["M__beta"][:, 0] += 0.3
            super().__init__(*arguments, initial=biased, **options)

    monkeypatch.setattr(comparison, "EventDrivenSpiking", Biased)
    assert winner_frequency_p(PARAMETERS, corpus, state, **arguments) < 1e-6


def test_twins_with_the_paper_s_step_rules_are_compared(corpus):
    steps = {"word_step": VarianceTracking(), "doc_step": AdaGrad()}
    parameters = EventDrivenParameters(4, 1.5, **steps, integrator="euler", gauge=False)
    result, _ = train_twins(holdout_split(corpus, seed=0), parameters, 1, seed=0, simulator="numpy")
    assert result.winner_p > 1e-3 and np.isfinite(result.perplexity_ratio)


def test_script_writes_figures_and_a_verdict_and_keeps_existing_folders(tmp_path):
    command = [sys.executable, str(SCRIPT), "--topics", "3", "--passes", "1"]
    command += ["--simulator", "numpy", "--raster-tokens", "5", "--out", str(tmp_path / "out")]
    command += ["--corpus", str(_small_corpus(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "winner-frequency p" in done.stdout
    record = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert len(record["perplexity"]["spiking"]) == 1
    for name in ("comparison.png", "raster.png"):
        assert (tmp_path / "out" / name).stat().st_size > 10_000

    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "exists" in again.stderr
    assert json.loads((tmp_path / "out" / "comparison.json").read_text()) == record


def _small_corpus(folder: Path) -> Path:
    """A UCI folder with 30 documents over 12 words."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (30, 12))
    path = folder / "small"
    path.mkdir()
    rows = [(d + 1, w + 1, n) for (d, w), n in np.ndenumerate(counts) if n]
    lines = ["30", "12", str(len(rows)), *(" ".join(map(str, row)) for row in rows)]
    (path / "docword.small.txt").write_text("\n".join(lines) + "\n")
    (path / "vocab.small.txt").write_text("".join(f"word{w}\n" for w in range(12)))
    return path
