"""What `python -m pytest` runs, and on how many cores (tests/conftest.py)."""

import importlib.util
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).resolve().parents[1]
FILE = str(Path(__file__))


@pytest.fixture
def conftest():
    spec = importlib.util.spec_from_file_location("conftest_of_tests", TESTS / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def configured(conftest, *args, **given):
    """Options after the hook, as pytest's own defaults and `given` are before it."""
    option = {
        "complete": False, "markexpr": "", "keyword": "", "usepdb": False, "capture": "fd",
        "collectonly": False, "numprocesses": None, "dist": "no",
    }  # fmt: skip
    config = SimpleNamespace(args=list(args), option=SimpleNamespace(**{**option, **given}))
    conftest.pytest_cmdline_main(config)
    return config.option


@pytest.mark.parametrize(
    ("args", "given", "complete", "n_processes"),
    [
        ([str(TESTS)], {}, False, 4),
        ([str(TESTS)], {"complete": True}, True, 4),
        ([str(TESTS)], {"markexpr": "long"}, False, None),
        ([str(TESTS)], {"markexpr": "complete"}, True, None),
        ([str(TESTS)], {"keyword": "spiking"}, False, None),
        ([str(TESTS)], {"numprocesses": 0}, False, 0),
        ([str(TESTS)], {"cov_source": ["brian_lda"]}, False, None),
        ([str(TESTS)], {"cov_source": ["brian_lda"], "numprocesses": 2}, False, 2),
        ([FILE], {"numprocesses": 2}, True, 2),
        ([str(TESTS)], {"usepdb": True}, False, None),
        ([str(TESTS)], {"capture": "no"}, False, None),
        ([FILE], {}, True, None),
        ([str(TESTS / "unit"), FILE + "::test_x[1]"], {}, True, None),
    ],
)
def test_folders_are_quick_on_all_cores_and_files_whole_in_one_process(
    conftest, monkeypatch, args, given, complete, n_processes
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(4), raising=False)
    option = configured(conftest, *args, **given)
    assert option.complete == complete and option.numprocesses == n_processes
    assert option.markexpr == given.get("markexpr", "not long")
    assert option.dist == ("loadfile" if n_processes else "no")


def test_one_core_and_no_xdist_mean_one_process(conftest, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(1), raising=False)
    assert configured(conftest, str(TESTS)).numprocesses == 0  # xdist: none beside this one
    config = SimpleNamespace(args=[str(TESTS)], option=SimpleNamespace(
        complete=False, markexpr="", keyword="", usepdb=False, capture="fd", collectonly=False,
    ))  # fmt: skip
    conftest.pytest_cmdline_main(config)
    assert not hasattr(config.option, "numprocesses")


def a_test(name, case, mark=None):
    return SimpleNamespace(
        function=name, callspec=SimpleNamespace(id=case),
        get_closest_marker=lambda _: mark and mark.mark,
    )  # fmt: skip


def run_of(conftest, items, complete=False):
    left_out = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    config = SimpleNamespace(option=SimpleNamespace(complete=complete), hook=hook)
    conftest.pytest_collection_modifyitems(config, items)
    return [(item.function, item.callspec.id) for item in items], len(left_out)


def test_marked_tests_are_left_out_but_for_the_cases_named(conftest):
    mark = pytest.mark.complete
    tests = [("plain", "a", None), ("slow", "a", mark), ("part", "a", mark(but="b"))]
    tests += [("part", "b", mark(but="b")), ("two", "a", mark(but=["a", "b"]))]
    items = [a_test(*test) for test in tests]
    assert run_of(conftest, items[:], complete=True) == ([test[:2] for test in tests], 0)
    quick = [("plain", "a"), ("part", "b"), ("two", "a")]
    assert run_of(conftest, items[:]) == (quick, 2)


def test_a_case_that_no_longer_exists_is_an_error(conftest):
    def renamed():
        pass

    with pytest.raises(pytest.UsageError, match="names no case of renamed"):
        run_of(conftest, [a_test(renamed, "a", pytest.mark.complete(but="b"))])


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_programs_of_tests_are_no_users_programs(conftest, monkeypatch):
    """Less optimised: another compiler to the key of a program, and really another one."""
    from brian_lda.simulation import program_key

    monkeypatch.setenv("CXX", str(conftest.LIGHT_COMPILER))
    light = program_key._compiler_version()
    monkeypatch.delenv("CXX")
    plain = program_key._compiler_version()
    assert light == f"for tests, -O1\n{plain}"
