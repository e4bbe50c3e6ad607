"""table_quality.py and leave_one_out.py at a tiny scale, and the corpora that they generate."""

from __future__ import annotations

import json

import numpy as np
import pytest

import leave_one_out
import table_quality
from brian_lda.algorithms import find_algorithm
from brian_lda.errors import ParameterError
from study.shapes import SHAPES, Shape, corpus_and_topics, shaped_corpus, shortened


@pytest.mark.complete
def test_a_table_that_was_killed_goes_on(tmp_path, capsys):
    path = tmp_path / "quality.json"
    arguments = ["--corpora", "gen-tiny", "--rows", "cgs", "semi-spike-lda", "--quiet"]
    assert table_quality.main([*arguments, "--seeds", "1", "--json", str(path)]) == 0
    first = json.loads(path.read_text())["corpora"]["gen-tiny"]
    assert table_quality.main([*arguments, "--seeds", "2", "--json", str(path)]) == 0
    both = json.loads(path.read_text())["corpora"]["gen-tiny"]
    for row in ("cgs", "semi-spike-lda"):
        assert both[row]["0"] == first[row]["0"] and set(both[row]) == {"0", "1"}
    assert both["cgs"]["0"]["passes"] == 200 and both["cgs"]["0"]["stopped"] is None
    semi = both["semi-spike-lda"]["0"]
    assert semi["stopped"].startswith("converged") and semi["passes"] >= 33
    mean = np.mean([run["perplexity"] for run in both["semi-spike-lda"].values()])
    cgs = np.mean([run["perplexity"] for run in both["cgs"].values()])
    line = capsys.readouterr().out.strip().splitlines()[-1]
    assert f"{mean:8.1f}" in line and f"{mean / cgs:6.3f} x CGS" in line
    assert table_quality.main([*arguments, "--topics", "7", "--json", str(path)]) == 2
    assert "holds a table for K = 50, not 7" in capsys.readouterr().err


def test_each_corpus_is_judged_by_what_the_others_choose():
    found = {
        "a": {"x": 100.0, "y": 110.0, "z": 101.0},
        "b": {"x": 100.0, "y": 105.0, "z": 101.0},
        "c": {"x": 150.0, "y": 100.0, "z": 120.0},
    }
    chosen = {row["left_out"]: row for row in leave_one_out.choices(found)}
    assert {name: row["chosen"] for name, row in chosen.items()} == {"a": "y", "b": "y", "c": "x"}
    assert chosen["a"]["above_its_own_best"] == pytest.approx(0.10)
    assert chosen["c"]["above_its_own_best"] == pytest.approx(0.50)


@pytest.mark.complete
def test_leave_one_out_prints_a_choice_for_every_corpus(tmp_path, capsys):
    path = tmp_path / "found.json"
    arguments = ["--corpora", "gen-tiny", "reuters/40", "--topics", "3", "--passes", "1"]
    assert leave_one_out.main([*arguments, "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "without gen-tiny" in printed and "without reuters/40" in printed
    assert "test documents" not in printed
    found = json.loads(path.read_text())["semi_spike_lda"]
    settings = leave_one_out.STUDIES["semi_spike_lda"].settings
    assert all(table.keys() == settings.keys() for table in found["held_back"].values())
    assert not found["test"]
    others = {name: dict.fromkeys(table, 7.0) for name, table in found["held_back"].items()}
    others["gen-tiny"]["c = 40, fading 0.4"] = 6.0  # so that without reuters it is chosen
    path.write_text(json.dumps({"semi_spike_lda": {"held_back": others, "test": {}}}))
    judge = [*arguments, "--json", str(path), "--judge", "--seeds", "1"]
    assert leave_one_out.main(judge) == 0
    printed = capsys.readouterr().out
    assert "c = 20, fading 0.2: 7.0" in printed  # what was there was not redone
    assert printed.count("test documents") == 2 and "choose c = 40, fading 0.4, 0.0 %" in printed
    tests = json.loads(path.read_text())["semi_spike_lda"]["test"]
    assert list(tests["reuters/40"]) == ["cgs", "c = 40, fading 0.4"]
    assert 100 < tests["reuters/40"]["cgs"][0] < 4258  # of the whole of reuters, V = 4258


@pytest.mark.parametrize("network", leave_one_out.STUDIES)
def test_one_of_the_settings_of_each_network_is_its_default(network):
    """Otherwise the table would say nothing of the default."""
    corpus, n_topics = corpus_and_topics("gen-tiny", 3, None)
    options = {"max_iter": 11, "random_state": 0}
    kind = find_algorithm(network).load_estimator()
    default = kind(n_topics=n_topics, **options).fit(corpus).components_
    same = [
        setting
        for setting in leave_one_out.STUDIES[network].settings
        if np.array_equal(
            leave_one_out.trained(network, corpus, n_topics, setting, **options).components_,
            default,
        )
    ]
    # windows of half a document of 20 tokens are 20 tokens, the whole document
    default_setting = {
        "semi_spike_lda": "c = 20, fading 0.2", "du_spike_lda": "c = 20",
        "ed_spike_lda": "c = 160, a fifth", "ed_spike_plsi": "restart 10, half",
    }[network]  # fmt: skip
    assert default_setting in same and len(same) < len(leave_one_out.STUDIES[network].settings)


def test_generated_corpora_have_their_shape_and_skewed_words():
    shape = Shape(2_000, 300, 40, 5)
    corpus = shaped_corpus(shape, seed=1)
    assert (corpus.n_docs, corpus.n_words) == (2_000, 300)
    error = 4 * np.sqrt((40 + 40**2 / 2) / 2_000)  # four deviations of the mean length
    assert corpus.n_tokens / corpus.n_docs == pytest.approx(40, abs=error)
    shares = np.asarray(corpus.counts.sum(axis=0)) / corpus.n_tokens
    zipf = 1.0 / np.arange(1, 301)
    assert shares[:10].sum() == pytest.approx((zipf / zipf.sum())[:10].sum(), abs=0.1)
    other = shaped_corpus(shape, seed=2)
    assert (corpus.counts != other.counts).nnz and not (
        corpus.counts != shaped_corpus(shape, seed=1).counts
    ).nnz


def test_names_of_corpora():
    corpus, n_topics = corpus_and_topics("gen-tiny", 50, None)
    assert (corpus.n_docs, n_topics) == (60, 3)
    whole, n_topics = corpus_and_topics("reuters", 50, None)
    part, _ = corpus_and_topics("reuters/3", 50, None)
    assert n_topics == 50 and part.n_docs == whole.n_docs // 3
    posts, n_topics = corpus_and_topics("reuters~7", 50, None)
    assert (n_topics, posts.vocabulary) == (50, whole.vocabulary)
    assert (posts.counts <= whole.counts).toarray().all()
    assert posts.n_tokens / posts.n_docs == pytest.approx(7, abs=4 * np.sqrt(7 / whole.n_docs))
    before = whole.counts.copy()
    shortened(whole, 7)
    assert not (whole.counts != before).nnz  # as it was
    with pytest.raises(ParameterError, match="generated corpora are gen-few, .*; found 'gen-x'"):
        corpus_and_topics("gen-x", 50, None)
    assert set(SHAPES) >= {"gen-few", "gen-8000", "gen-30000"}
