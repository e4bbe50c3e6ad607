"""Mutation testing: does a test fail when the code is wrong?

    python tests/mutation/run.py wiring equations    # two groups
    python tests/mutation/run.py models/spike_cgs.py --all
    pip install -e '.[mutation]' && python tests/mutation/run.py

`targets.toml` names for each source file the tests that hold it. The repository is copied,
one fault after the other is made in the copy, and the tests run until one fails (the fault is
killed) or all pass (it survives). Survivors that no test can see are listed in `equivalent.toml`
with the reason; any other makes the exit status 1.

Three kinds of faults, by target:

faults        written by hand, [text, text in its place]: wiring between parts
equations     nonsense in every statement of every equation that Brian gets as text, in turn
              (`equations.py`); with --all in three ways each
(neither)     cosmic-ray's operators on Python code, a sample; with --all every one (`mutants.py`,
              needs the extra "mutation")

Why a runner of our own around cosmic-ray's operators: mutmut leaves decorated functions alone, that
is all numba kernels, and cosmic-ray starts Python anew for each mutant, which here costs more
than the tests. This one imports the libraries once and forks (Linux, macOS).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from equations import Mutant, equation_mutants

# Without compilation the random streams overflow, as they should, and numpy says so.
PYTEST = ("-x", "-q", "--tb=line", "--assert=plain", "-p", "no:cacheprovider",
          "-W", "ignore:overflow")  # fmt: skip
HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]


@dataclass
class Target:
    """A source file, the tests that hold it, and the faults written by hand."""

    group: str
    file: str
    tests: list[str]
    jit: bool = True
    sample: int | None = None
    equations: bool = False
    faults: list[list[str]] = field(default_factory=list)


def copy_repository(folder: Path) -> None:
    """Only what is imported and tested; `models` also where the installed package has it."""
    ignore = shutil.ignore_patterns("__pycache__")
    for part in ("brian_lda", "models", "sims", "tests"):
        shutil.copytree(REPOSITORY / part, folder / part, ignore=ignore)
    (folder / "brian_lda" / "models").symlink_to(folder / "models")
    shutil.copy(REPOSITORY / "pyproject.toml", folder)


def warm_up() -> None:
    """Import what every child needs, but nothing of brian_lda."""
    import brian2  # noqa: F401
    import h5py  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import numba  # noqa: F401
    import pooch  # noqa: F401
    import pytest
    import scipy.integrate  # noqa: F401
    import scipy.optimize  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.decomposition  # noqa: F401
    import sklearn.svm  # noqa: F401

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with tempfile.TemporaryDirectory() as empty, contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*PYTEST, f"--rootdir={empty}", empty])  # imports the parts of pytest
        warm_up_brian()
    gc.freeze()  # a child that collects garbage would copy all of this
    assert not any(name.partition(".")[0] == "brian_lda" for name in sys.modules)


def warm_up_brian() -> None:
    """A network of one neuron: sympy, templates and code generation are imported and cached."""
    from brian2 import Network, NeuronGroup, Synapses, ms, prefs

    target, prefs.codegen.target = prefs.codegen.target, "numpy"
    group = NeuronGroup(1, "v : 1", threshold="v > 0", reset="v = 0", name="warm_up")
    group.run_regularly("v += rand()")
    synapses = Synapses(group, group, "w : 1", on_pre="w += exp(-v_post)", name="warm_up_synapses")
    synapses.connect()
    Network(group, synapses).run(1 * ms)
    prefs.codegen.target = target


def passes(copy: Path, target: Target, kernels: Path, seconds: float) -> tuple[bool, float]:
    """Run the target's tests in a forked child: whether all pass, and the processor time.

    More than `seconds` of processor time is an endless loop, and ends it.
    """
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
        log = os.open(copy / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        status = 1
        try:
            status = _run_tests(copy, target, kernels)
        finally:
            os._exit(status)
    _, status, usage = os.wait4(child, 0)
    return status == 0, usage.ru_utime + usage.ru_stime


def _run_tests(copy: Path, target: Target, kernels: Path) -> int:
    import numba
    import pytest

    numba.config.CACHE_DIR = str(kernels)
    numba.config.DISABLE_JIT = int(not target.jit)
    os.chdir(copy)
    sys.path[:0] = [str(copy)]
    import brian_lda

    assert Path(brian_lda.__file__).is_relative_to(copy), brian_lda.__file__
    if target.equations:  # nonsense may silence a network for good: give it up sooner
        from brian_lda.circuit import circuit

        circuit.STALLED_AFTER = 1000  # ticks; the slowest token of these tests takes dozens
    code = pytest.main([*PYTEST, *target.tests])
    return int(code)


def try_mutants(copy: Path, target: Target, mutants: list[Mutant]) -> list[Mutant]:
    """The mutants of one file that survive."""
    path, kernels = copy / target.file, copy / "kernels"
    source, stamp = path.read_text(encoding="utf-8"), path.stat().st_mtime_ns
    # numba looks only at the file that a kernel stands in, and kernels call rules of other files
    compiles = target.jit and "njit" in source
    fresh = Path(tempfile.mkdtemp(dir=copy)) if compiles else kernels
    well, seconds = passes(copy, target, fresh, 900.0)
    if not well:
        sys.exit((copy / "output.txt").read_text() + f"\n{target.file}: fails without a fault.")
    print(f"{target.file}: {seconds:.1f} s without a fault", flush=True)
    survivors = []
    for number, mutant in enumerate(mutants, 1):
        fresh = Path(tempfile.mkdtemp(dir=copy)) if compiles else kernels
        path.write_text(mutant.source, encoding="utf-8")
        survived, _ = passes(copy, target, fresh, 3 * seconds + 2)
        if survived:
            survivors.append(mutant)
        mark = "SURVIVES" if survived else f"killed by {_killer(copy / 'output.txt')},"
        print(f"{target.file}:{mutant.line} {number}/{len(mutants)} {mark} {mutant.kind}: "
              f"{mutant.before}  ->  {mutant.after}", flush=True)  # fmt: skip
        if fresh != kernels:
            shutil.rmtree(fresh, ignore_errors=True)
    path.write_text(source, encoding="utf-8")
    os.utime(path, ns=(stamp, stamp))
    return survivors


def _killer(output: Path) -> str:
    """The test that failed, or what ended the tests before one could."""
    text = output.read_text(encoding="utf-8", errors="replace")
    failed = re.search(r"^(?:FAILED|ERROR) (?:\S*/)?(\S+)", text, re.MULTILINE)
    return failed[1] if failed else "the time limit or an import"


def hand_made(target: Target, source: str) -> list[Mutant]:
    """The target's faults, [text, text in its place]; each text must occur exactly once."""
    moved = [before for before, _ in target.faults if source.count(before) != 1]
    if moved:  # the code has changed since: say all of it at once
        texts = "\n".join(f"    {text!r}, found {source.count(text)}" for text in moved)
        sys.exit(f"targets.toml: each of these must occur once in {target.file}:\n{texts}")
    return [
        Mutant("by hand", source.replace(before, after), before, after,
               source[: source.index(before)].count("\n") + 1)
        for before, after in target.faults
    ]  # fmt: skip


def _entries(name: str) -> list[dict]:
    """The tables [[target]] of targets.toml, or [[equivalent]] of equivalent.toml."""
    file = HERE / ("targets.toml" if name == "target" else f"{name}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")).get(name, [])


def is_equivalent(file: str, mutant: Mutant) -> bool:
    """Whether equivalent.toml has it; an entry may name its file or files."""
    return any(
        (entry["before"], entry["after"]) == (mutant.before, mutant.after)
        and file in entry.get("files", [file])
        for entry in _entries("equivalent")
    )


def list_mutants(targets: list[Target], arguments: argparse.Namespace) -> int:
    """Say which mutants there are, without trying them."""
    for target, mutants, _ in planned_mutants(REPOSITORY, targets, arguments):
        print(f"{target.group}: {target.file}, {len(mutants)} mutants")
        for mutant in mutants:
            print(f"    {mutant.line}: {mutant.kind}: {mutant.before}  ->  {mutant.after}")
    return 0


def planned_mutants(
    folder: Path, targets: list[Target], arguments: argparse.Namespace
) -> list[tuple[Target, list[Mutant], Counter]]:
    """All mutants, before the first is tried: a mistake in targets.toml costs no results."""
    planned = []
    for target in targets:
        source = (folder / target.file).read_text(encoding="utf-8")
        rng = random.Random(f"{arguments.seed} {target.file}")
        mutants, skipped = hand_made(target, source), Counter()
        if target.equations:
            mutants += equation_mutants(source, every_kind=arguments.all)
        elif not target.faults:
            try:
                from mutants import make_mutants
            except ImportError:
                sys.exit(f"{target.file} needs cosmic-ray: pip install -e '.[mutation]'.")
            sample = None if arguments.all else target.sample
            mutants, skipped = make_mutants(source, rng, sample)
        mutants = [m for m in mutants if arguments.match in f"{m.before} -> {m.after}"]
        planned.append((target, mutants, skipped))
    return planned


def main() -> int:
    every = [Target(**entry) for entry in _entries("target")]
    groups = ", ".join(dict.fromkeys(target.group for target in every))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP|FILE", help=f"{groups}, or files; default: all"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--all", action="store_true", help="every mutant instead of the sample")
    parser.add_argument("--list", action="store_true", help="only say which mutants there are")
    parser.add_argument("--match", default="", help="only mutants with this text in their line")
    arguments = parser.parse_args()
    targets = every
    if arguments.groups:
        targets = [t for name in arguments.groups for t in every if name in (t.group, t.file)]
    if arguments.list:
        return list_mutants(targets, arguments)
    warm_up()
    sys.dont_write_bytecode = True
    counts: dict[str, Counter] = {}
    unexplained = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copy_repository(copy)
        for target, mutants, skipped in planned_mutants(copy, targets, arguments):
            count = counts.setdefault(target.group, Counter())
            survivors = try_mutants(copy, target, mutants) if mutants else []
            equivalent = [m for m in survivors if is_equivalent(target.file, m)]
            unexplained += [(target.file, m) for m in survivors if m not in equivalent]
            count.update({"made": len(mutants), "killed": len(mutants) - len(survivors),
                          "equivalent": len(equivalent),
                          "survive": len(survivors) - len(equivalent)})  # fmt: skip
            count.update({f"skipped: {why}": n for why, n in skipped.items()})
    for group, count in counts.items():
        print(f"\n{group}")
        for name, n in count.items():
            print(f"  {n:6d}  {name}")
    for file, mutant in unexplained:
        print(f"{file}:{mutant.line}: nothing fails when\n    {mutant.before}\nbecomes\n"
              f"    {mutant.after}")  # fmt: skip
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
