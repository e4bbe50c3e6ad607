"""Which tests run and on how many cores, and fixtures that several files share.

`python -m pytest` runs the quick tests on all cores, `python -m pytest --complete` all but the long
ones. Files that are named run whole, in one process; so do tests whose lines are counted, unless
-n says otherwise. `-n`, `-m`, `-k`, `-s` and `--pdb` mean what they always mean.
"""

from __future__ import annotations

import gc
import inspect
import os
import shutil
from pathlib import Path

import pytest
from brian2.codegen import translation
from brian2.codegen.generators import base as generators

from brian_lda.corpus import holdout_split, load_corpus

LIGHT_COMPILER = Path(__file__).with_name("light_compiler.sh")


def pytest_addoption(parser):
    text = "run all tests but those marked long (without it: the quick ones)"
    parser.addoption("--complete", action="store_true", help=text)


def names_files(config):
    """Whether files or tests are named, rather than folders."""
    return not all(Path(argument).is_dir() for argument in config.args)


@pytest.hookimpl(tryfirst=True)  # before xdist looks at its options
def pytest_cmdline_main(config):
    option = config.option
    chosen = option.markexpr or option.keyword or names_files(config)
    option.complete |= names_files(config)
    option.complete |= "complete" in option.markexpr
    option.markexpr = option.markexpr or "not long"
    watched = option.usepdb or option.capture == "no" or option.collectonly
    counted = getattr(option, "cov_source", None)  # pytest-cov has looked for -n before
    is_worker = hasattr(config, "workerinput")
    # numprocesses is None without -n, and not there without xdist.
    if getattr(option, "numprocesses", 0) is None:
        alone = chosen or watched or counted or is_worker
        option.numprocesses = None if alone else n_workers()
    if getattr(option, "numprocesses", 0) and option.dist == "no":
        option.dist = "loadfile"  # tests of a file share programs
        option.loadscopereorder = False  # as collected: the folder that takes longest comes first


def n_workers():
    """Cores that this process may use; 0 processes beside it if that is one."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    return cores if cores > 1 else 0


@pytest.hookimpl(tryfirst=True)  # before -k and -m leave others out
def pytest_collection_modifyitems(config, items):
    if config.option.complete:
        return
    quick = [item for item in items if is_quick(item)]
    config.hook.pytest_deselected(items=[item for item in items if not is_quick(item)])
    named = {item.function for item in items if but(item)}
    lost = named - {item.function for item in quick}
    if lost:  # an identifier has changed
        names = ", ".join(sorted(function.__name__ for function in lost))
        raise pytest.UsageError(f"mark.complete(but=...) names no case of {names}")
    items[:] = quick


def but(item):
    """Identifiers of the cases of a test that are quick."""
    mark = item.get_closest_marker("complete")
    named = mark.kwargs["but"] if mark and mark.kwargs else ()
    return [named] if isinstance(named, str) else named


def is_quick(item):
    if item.get_closest_marker("complete") is None:
        return True
    return hasattr(item, "callspec") and item.callspec.id in but(item)


def pytest_report_header(config):
    n_processes = getattr(config.option, "numprocesses", None) or 1
    which = "all" if config.option.complete else "the quick ones (--complete: all)"
    return f"tests: {which}, {n_processes} at a time"


def pytest_configure(config):
    """Networks are made in less time; they are the same.

    Inside Python, Brian looks up each statement in a cache whose key takes longer to make than the
    statement: two thirds of the time until a network runs. For the quick tests, C++ is compiled
    with less optimisation, by subprocesses as well; the complete ones have what users have.
    """
    uncached = inspect.unwrap(translation.make_statements)
    translation.make_statements = generators.make_statements = uncached
    has_gcc = os.name == "posix" and shutil.which("g++") and "CXX" not in os.environ
    if has_gcc and not config.option.complete:
        os.environ["CXX"] = str(LIGHT_COMPILER)


def pytest_collection_finish(session):
    """What is there now stays: Brian collects garbage before every run, and need not look at it."""
    gc.collect()
    gc.freeze()


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
