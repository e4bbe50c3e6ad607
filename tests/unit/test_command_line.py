"""python -m brian_lda: what it lists, what it clears, what it refuses."""

import pytest

from brian_lda import command_line
from brian_lda.algorithms import ALGORITHMS
from brian_lda.corpus import NAMED_CORPORA


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(tmp_path))
    (tmp_path / "networks" / "abc").mkdir(parents=True)
    (tmp_path / "networks" / "abc" / "main").write_bytes(b"x" * 2_000_000)
    (tmp_path / "kos").mkdir()
    (tmp_path / "kos" / "docword").write_bytes(b"x" * 1_000_000)
    return tmp_path


def test_help_lists_what_is_here(cache, capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    options = [algorithm.option for algorithm in ALGORITHMS]
    for name in (*NAMED_CORPORA, *options, "reuters", "bars", "sims/train.py", "brian2"):
        assert name in text
    assert "compiler:" in text
    assert f"{cache / 'networks'} (1 compiled networks, 2.0 MB; with downloaded corpora 3.0" in text


@pytest.mark.parametrize("found", [True, False])
def test_compiler_is_told(found, cache, monkeypatch):
    monkeypatch.setattr(command_line, "compiler_found", lambda: found)
    assert ("install g++" in command_line.overview()) is not found


def test_clearing_takes_networks_and_leaves_corpora(cache, capsys):
    assert command_line.main(["cache"]) == 0
    assert (cache / "networks").exists()
    assert command_line.main(["cache", "--clear"]) == 0
    assert not (cache / "networks").exists() and (cache / "kos" / "docword").exists()
    assert command_line.main(["cache", "--clear"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "2.0 MB" in lines[1] and "nothing to clear" in lines[2]


def test_report_of_no_run_is_a_message(tmp_path, capsys):
    assert command_line.main(["report", str(tmp_path)]) == 2
    assert "error:" in capsys.readouterr().err


def test_without_the_repository_there_are_no_scripts(tmp_path, monkeypatch):
    monkeypatch.setattr(command_line, "SCRIPTS", tmp_path / "none")
    assert "source repository" in command_line.overview()
