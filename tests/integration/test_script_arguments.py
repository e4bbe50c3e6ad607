"""Every script refuses numbers that make no sense before any work, and says what it expected."""

from __future__ import annotations

import argparse

import pytest
from test_study_scripts import SIMS, script

from study.arguments import positive, whole

PLAIN = "watch_learning"  # to be read and changed; it takes no arguments
SCRIPTS = sorted(path.stem for path in SIMS.glob("*.py") if path.stem != PLAIN)


class Parsed(Exception):
    """Raised in place of the script's work, with its parser."""


@pytest.fixture
def parser_of(monkeypatch):
    def stop(parser, arguments=None, namespace=None):
        raise Parsed(parser)

    def find(name):
        with monkeypatch.context() as patch, pytest.raises(Parsed) as caught:
            patch.setattr(argparse.ArgumentParser, "parse_args", stop)
            script(name).main([])
        return caught.value.args[0]

    return find


@pytest.mark.parametrize("name", SCRIPTS)
def test_numbers_out_of_range_are_refused(name, parser_of, capsys):
    parser = parser_of(name)
    choices = [a.choices.items() for a in parser._actions if isinstance(a.choices, dict)]
    commands = [([word], command) for choice in choices for word, command in choice]
    numbers = [
        (words, action)
        for words, one in [([], parser), *commands]  # the script's own options, its commands'
        for action in one._actions
    ]
    assert int not in {action.type for _, action in numbers}  # it would take any sign
    for words, action in numbers:
        if action.type not in (positive, whole):
            continue
        least = 1 if action.type is positive else 0
        n_values = action.nargs if isinstance(action.nargs, int) else 1
        assert action.type(str(least)) == least
        for wrong in (str(least - 1), "many", "1.5"):
            with pytest.raises(SystemExit) as end:
                parser.parse_args([*words, action.option_strings[0], *[wrong] * n_values])
            assert end.value.code == 2
            expected = f"expected an integer of at least {least}, found '{wrong}'"
            assert expected in capsys.readouterr().err


def test_a_folder_without_results_is_named(tmp_path, capsys):
    page = tmp_path / "results.md"
    page.write_text("as it was")
    arguments = ["--out", str(tmp_path / "nowhere"), "--page", str(page)]
    assert script("update_results").main(arguments) == 2
    assert "nowhere is not a folder" in capsys.readouterr().err
    assert page.read_text() == "as it was"
