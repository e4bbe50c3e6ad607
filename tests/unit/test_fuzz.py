"""Whatever stands in a file: it is read or refused with a message, at once and in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brian_lda import CollapsedGibbsLDA
from brian_lda.corpus import Corpus, read_uci, write_uci
from brian_lda.errors import BrianLDAError, CorpusFormatError, ParameterError
from brian_lda.estimators.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from brian_lda.hardware.profiles import FIELDS, parse_chip
from brian_lda.runs import RunConfig, make_model, read_config

HARNESS = Path(__file__).with_name("fuzz_harness.py")
KINDS = "uci,packed_uci,model,checkpoint,chip,config"
quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@pytest.mark.complete(but="50")
@pytest.mark.parametrize(
    ("n", "seed"),
    [(50, 2), (150, 0), pytest.param(20_000, 1, marks=pytest.mark.long)],
    ids=["50", "150", "20000"],
)
def test_damaged_files(n, seed, tmp_path):
    result = subprocess.run(
        [sys.executable, str(HARNESS), KINDS, str(n), str(seed), str(tmp_path)],
        capture_output=True, text=True, timeout=3000,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout.splitlines()[-1])
    print(report)
    for outcome in report.values():
        assert outcome["read"] + outcome["refused"] == n
        assert outcome["refused"] > n / 2 and outcome["megabytes_more"] < 200


@quick
@given(st.tuples(*[st.integers(0, 10**18)] * 3).filter(lambda sizes: max(sizes) > 10**7))
def test_headers_that_claim_too_much_are_refused_before_allocation(tmp_path, sizes):
    (tmp_path / "vocab.x.txt").write_text("a\nb\n")
    (tmp_path / "docword.x.txt").write_text("\n".join(map(str, sizes)) + "\n1 1 1\n")
    tracemalloc.start()
    with pytest.raises(CorpusFormatError):
        read_uci(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


def test_a_header_of_1e12_documents_is_named(tmp_path):
    (tmp_path / "vocab.x.txt").write_text("a\n")
    (tmp_path / "docword.x.txt").write_text("1000000000000\n1\n1\n1 1 1\n")
    with pytest.raises(CorpusFormatError, match="claims 1000000000000 documents"):
        read_uci(tmp_path)


@quick
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=6))
def test_corpora_come_back_unchanged(tmp_path, rows):
    if not np.any(rows):
        rows[0][0] = 1
    corpus = Corpus(np.array(rows), ("a", "b", "c"))
    found = read_uci(write_uci(corpus, tmp_path / "corpus"))
    np.testing.assert_array_equal(found.counts.toarray(), rows)


@quick
@given(
    st.dictionaries(st.text("abc_", min_size=1, max_size=5), st.binary(max_size=40), max_size=4),
    st.lists(st.dictionaries(st.text(max_size=5), st.integers() | st.floats(allow_nan=False))),
)
def test_checkpoints_come_back_to_the_last_bit(tmp_path, buffers, history):
    state = {name: np.frombuffer(data, np.uint8) for name, data in buffers.items()}
    write_checkpoint(tmp_path / "c.h5", Checkpoint({}, {}, {}, 0, history, state))
    found = read_checkpoint(tmp_path / "c.h5")
    assert found.history == history and found.state.keys() == state.keys()
    for name in state:
        np.testing.assert_array_equal(found.state[name], state[name])


@quick
@given(st.dictionaries(st.sampled_from([*FIELDS, "name", "description", "x"]), json_values))
def test_chip_profiles(data):
    figures = {
        field: {
            "value": value,
            "unit": FIELDS[field].unit,
            "condition": "test",
            "evidence": "U",
            "source": "test",
        }
        for field, value in data.items()
        if field in FIELDS
    }
    for candidate in (data, {"name": "x", "description": "y", **figures}):
        try:
            parse_chip(candidate, "x.toml")
        except BrianLDAError as error:
            assert "x.toml" in str(error)


CONFIG_FIELDS = [*RunConfig.__dataclass_fields__, "versions", "x"]


@quick
@given(st.dictionaries(st.sampled_from(CONFIG_FIELDS), json_values))
def test_configurations(tmp_path, data):
    (tmp_path / "config.json").write_text(json.dumps(data))
    try:
        config, _ = read_config(tmp_path)
        make_model(config)
    except BrianLDAError as error:
        assert str(error)


def test_more_topics_than_memory_is_a_message():
    with pytest.raises(ParameterError, match="of memory are free"):
        CollapsedGibbsLDA(n_topics=10**13, doc_topic_prior=0.1).fit(np.eye(3, dtype=int))
