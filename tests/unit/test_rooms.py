"""The rooms of the library: who may import whom, and what the outside may use.

A room is a package of brian_lda, or a single file beside the packages. Imports inside functions
count as well; those for type checkers alone (`if TYPE_CHECKING:`) never happen, and do not.
"""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from brian_lda.sweeps.experiments import CLASSIFY, PRUNE
from brian_lda.sweeps.task import TRAIN

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"brian_lda": ROOT / "brian_lda", "brian_lda.models": ROOT / "models"}
FACADE = "brian_lda"  # brian_lda/__init__.py, for users; no room imports from it

DATA = "errors parameters constraints"  # plain data, which most rooms know
TABLE = {
    "errors": "",
    "parameters": "errors",
    "constraints": "errors",
    "algorithms": "errors",  # names of modules and classes, loaded when they are asked for
    "files": "errors",
    "corpus": "errors",
    "circuit": f"{DATA} corpus",
    "models": f"{DATA} circuit",
    "simulation": f"{DATA} corpus circuit models",
    "reference": f"{DATA} corpus",
    "evaluation": "errors corpus reference",
    "plotting": "errors",
    "estimators": f"{DATA} algorithms files corpus reference simulation evaluation",
    "hardware": f"{DATA} algorithms files corpus plotting circuit models simulation estimators",
    "runs": f"{DATA} algorithms files corpus plotting evaluation simulation estimators",
    # `experiments` prunes in workers, `distributed` trains a reference on them
    "sweeps": f"{DATA} algorithms files corpus evaluation reference simulation estimators runs "
    "hardware",
    "exports": "errors",
    "command_line": "errors algorithms corpus simulation runs",
    "__main__": "command_line",
    FACADE: f"{DATA} estimators evaluation",
}
ALLOWED = {room: set(others.split()) for room, others in TABLE.items()}

# ------------------------------------------------------------------------------------------------
# NOT YET: `spiking` becomes `circuit` and `simulation`. Delete this block together with it.
# ------------------------------------------------------------------------------------------------
USE_SPIKING = "models estimators hardware runs sweeps command_line"
USED_BY_SPIKING = f"{DATA} algorithms corpus reference models estimators evaluation"
NOT_YET = {(room, "spiking") for room in USE_SPIKING.split()}
NOT_YET |= {("spiking", room) for room in USED_BY_SPIKING.split()}
NOT_YET_PUBLIC = {  # by notebook
    "1_one_token_one_race": {"brian_lda.simulation.twins", "brian_lda.simulation.replay"},
    "2_learning_bars": {"brian_lda.simulation.twins", "brian_lda.reference.mean_limit"},
    "3_spiking_and_rate_level": {
        "brian_lda.estimators.comparison",
        "brian_lda.automatic_steps",
        "brian_lda.reference.word_weights",
    },
}
# ------------------------------------------------------------------------------------------------

PUBLIC = {
    "brian_lda",
    "brian_lda.corpus",
    "brian_lda.evaluation",
    "brian_lda.hardware",
    "brian_lda.models",
    "brian_lda.plotting",
}


def module_files() -> dict[str, Path]:
    """Path of every module of the library, by its full name."""
    modules = {}
    for package, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join([package, *(part for part in parts if part != "__init__")])
            modules[name] = path
    return modules


def imports(source: str, package: str = "") -> set[tuple[str, str | None]]:
    """(module, name) of each `from module import name`, (module, None) of each `import module`.

    Parameters
    ----------
    source : str
    package : str
        In which the source stands, for relative imports.
    """
    found: set[tuple[str, str | None]] = set()
    for node in executed(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, None) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            module = ".".join([*above * (node.level > 0), *filter(None, [node.module])])
            found |= {(module, alias.name) for alias in node.names}
    return found


def executed(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:`."""
    yield tree
    is_typing = isinstance(tree, ast.If) and ast.unparse(tree.test) == "TYPE_CHECKING"
    for child in tree.orelse if is_typing else ast.iter_child_nodes(tree):
        yield from executed(child)


def room_of(module: str, name: str | None = None) -> str | None:
    """The room of a module, or of what is imported from one; None outside of the library."""
    first, *rest = module.split(".")
    if first != "brian_lda":
        return None
    if rest:
        return rest[0]
    is_room = name is not None and f"brian_lda.{name}" in module_files()
    return name if is_room else FACADE


def edges() -> dict[tuple[str, str], set[str]]:
    """(room, imported room): the modules that make the edge."""
    found: dict[tuple[str, str], set[str]] = {}
    for module, path in module_files().items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        here = room_of(module)
        for imported, name in imports(path.read_text(encoding="utf-8"), package):
            there = room_of(imported, name)
            if there is not None and there != here:
                found.setdefault((here, there), set()).add(module)
    return found


def cycle(pairs) -> list[str] | None:
    """Rooms that import each other in a circle, if there are any."""
    graph: dict[str, set[str]] = {}
    for room, imported in pairs:
        graph.setdefault(room, set()).add(imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


@pytest.fixture(scope="module")
def found():
    return edges()


def test_the_tools_see_what_they_look_for():
    inside = "def f():\n    from brian_lda.runs import train_run\n    import brian2.units"
    assert imports(inside) == {("brian_lda.runs", "train_run"), ("brian2.units", None)}
    assert imports("from .folder import CONFIG", "brian_lda.runs") == {
        ("brian_lda.runs.folder", "CONFIG")
    }
    assert imports("from .. import corpus", "brian_lda.runs") == {("brian_lda", "corpus")}
    typing = "if TYPE_CHECKING:\n    import a\nelse:\n    import b"
    assert imports(typing) == {("b", None)}
    assert room_of("brian_lda", "corpus") == "corpus"
    assert room_of("brian_lda", "SemiSpikeLDA") == FACADE
    assert room_of("brian_lda.runs.report.page") == "runs"
    assert room_of("numpy") is None
    assert set(cycle([("a", "b"), ("b", "c"), ("c", "a")])) == {"a", "b", "c"}
    assert cycle([("a", "b"), ("a", "c"), ("b", "c")]) is None


def test_known_edges_are_found(found):
    assert "brian_lda.runs.run" in found["runs", "estimators"]
    assert "brian_lda.models.ed_spike_lda" in found["models", "parameters"]
    assert "brian_lda.sweeps.experiments" in found["sweeps", "hardware"]


def test_no_room_is_imported_in_a_circle(found):
    assert cycle(found.keys() - NOT_YET) is None


def test_the_allowed_directions_have_no_circle():
    assert cycle((room, imported) for room in ALLOWED for imported in ALLOWED[room]) is None


def test_rooms_import_what_the_table_allows(found):
    refused = {
        f"{room} -> {imported}": sorted(modules)
        for (room, imported), modules in found.items()
        if imported not in ALLOWED.get(room, set()) and (room, imported) not in NOT_YET
    }
    assert refused == {}


def test_the_library_never_imports_the_scripts():
    beside = {"sims", *(path.stem for path in (ROOT / "sims").iterdir() if path.stem[0] != "_")}
    assert {"study", "train"} <= beside
    for module, path in module_files().items():
        names = {imported.split(".")[0] for imported, _ in imports(path.read_text("utf-8"))}
        assert not names & beside, module


@pytest.mark.parametrize("function", [TRAIN, CLASSIFY, PRUNE])
def test_what_runs_in_workers_stands_in_the_library(function):
    """A worker on another machine has brian_lda installed, and no folder sims/."""
    module, _, name = function.partition(":")
    assert module in module_files() and callable(getattr(importlib.import_module(module), name))


def test_brian_is_not_imported_with_the_library():
    """It takes seconds, and sets a signal handler."""
    code = "import sys, brian_lda, brian_lda.runs, brian_lda.sweeps; print('brian2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_use_public_names(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    lines = [line for c in cells if c["cell_type"] == "code" for line in [*c["source"], "\n"]]
    source = "".join(line for line in lines if not line.startswith(("%", "!")))
    used = {(module, name) for module, name in imports(source) if room_of(module, name)}
    assert used
    for module, name in used:
        if module in NOT_YET_PUBLIC.get(path.stem, ()):
            continue
        assert module in PUBLIC and name, f"{module} is not for users"
        if module == "brian_lda.models":
            assert (ROOT / "models" / f"{name}.py").is_file()
        else:
            assert name in importlib.import_module(module).__all__
