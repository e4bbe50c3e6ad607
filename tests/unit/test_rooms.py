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

from brian_lda.sweeps.experiments import CLASSIFY, COUNT, PRUNE
from brian_lda.sweeps.on_chip import ON_CHIP
from brian_lda.sweeps.task import TRAIN

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"brian_lda": ROOT / "brian_lda", "brian_lda.models": ROOT / "models"}
FACADE = "brian_lda"  # brian_lda/__init__.py, for users; no room imports from it

DATA = "errors step_rules parameters constraints"  # plain data, which most rooms know
TABLE = {
    "errors": "",
    "step_rules": "errors",
    "parameters": "errors step_rules",
    "constraints": "errors",
    "available_memory": "",
    "cpu_time": "",
    "external_memory": "errors",
    "equal_shares": "",
    "algorithms": "errors",  # names of modules and classes, loaded when they are asked for
    "automatic_steps": "errors step_rules parameters",
    "initial_weights": "errors step_rules parameters",
    "seen_weights": "parameters initial_weights",
    "own_votes": "step_rules parameters",
    "files": "errors",
    "corpus": "errors",
    "circuit": f"{DATA} automatic_steps initial_weights",  # `start`: values for scripts
    "models": f"{DATA} automatic_steps initial_weights circuit",
    "reference": f"{DATA} equal_shares external_memory initial_weights own_votes seen_weights "
    "corpus",
    # see NARROW
    "simulation": f"{DATA} algorithms equal_shares external_memory initial_weights own_votes "
    "seen_weights files corpus circuit models reference",
    "evaluation": "errors corpus reference",
    "plotting": "errors",
    "estimators": f"{DATA} algorithms automatic_steps available_memory cpu_time external_memory "
    "initial_weights files corpus reference simulation evaluation",
    "comparison": "errors algorithms corpus reference plotting evaluation estimators",
    "hardware": f"{DATA} algorithms external_memory initial_weights seen_weights files corpus "
    "plotting circuit models simulation estimators",
    "runs": f"{DATA} algorithms files corpus plotting evaluation simulation estimators",
    # `experiments` prunes in workers, `distributed` trains a reference on them
    "sweeps": f"{DATA} algorithms automatic_steps files corpus evaluation reference simulation "
    "estimators runs hardware",
    "exports": "errors",
    "network_page": "files plotting",
    "command_line": "errors algorithms corpus simulation comparison runs network_page",
    "__main__": "command_line",
    FACADE: f"{DATA} automatic_steps initial_weights reference estimators evaluation comparison",
}
ALLOWED = {room: set(others.split()) for room, others in TABLE.items()}
NARROW = {  # doors for a single name
    # the cache folder
    ("simulation", "corpus"): {("brian_lda.corpus.locate", "cache_dir")},
    # the base class of a sampler in either twin; the rate-level algorithms themselves stay there
    ("simulation", "reference"): {("brian_lda.reference.spike_cgs", "LogCountSampler")},
}

PUBLIC = {
    "brian_lda",
    "brian_lda.corpus",
    "brian_lda.evaluation",
    "brian_lda.hardware",
    "brian_lda.models",
    "brian_lda.plotting",
    "brian_lda.simulation",
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


def edges() -> dict[tuple[str, str], dict[str, set[tuple[str, str | None]]]]:
    """(room, imported room): the modules that make the edge, and what each imports."""
    found: dict[tuple[str, str], dict[str, set[tuple[str, str | None]]]] = {}
    for module, path in module_files().items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        here = room_of(module)
        for imported, name in imports(path.read_text(encoding="utf-8"), package):
            there = room_of(imported, name)
            if there is not None and there != here:
                by_module = found.setdefault((here, there), {})
                by_module.setdefault(module, set()).add((imported, name))
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
    assert cycle(found) is None


def test_the_allowed_directions_have_no_circle():
    assert cycle((room, imported) for room in ALLOWED for imported in ALLOWED[room]) is None


def test_rooms_import_what_the_table_allows(found):
    refused = {
        f"{room} -> {imported}": sorted(modules)
        for (room, imported), modules in found.items()
        if imported not in ALLOWED.get(room, set())
    }
    assert refused == {}


@pytest.mark.parametrize("edge", NARROW, ids=" to ".join)
def test_narrow_doors_let_nothing_else_through(found, edge):
    assert set.union(*found[edge].values()) == NARROW[edge]


def test_the_library_never_imports_the_scripts():
    beside = {"sims", *(path.stem for path in (ROOT / "sims").iterdir() if path.stem[0] != "_")}
    assert {"study", "train"} <= beside
    for module, path in module_files().items():
        names = {imported.split(".")[0] for imported, _ in imports(path.read_text("utf-8"))}
        assert not names & beside, module


@pytest.mark.parametrize("function", [TRAIN, CLASSIFY, PRUNE, COUNT, ON_CHIP])
def test_what_runs_in_workers_stands_in_the_library(function):
    """A worker on another machine has brian_lda installed, and no folder sims/."""
    module, _, name = function.partition(":")
    assert module in module_files() and callable(getattr(importlib.import_module(module), name))


def test_brian_is_not_imported_with_the_library():
    """It takes seconds, and sets a signal handler."""
    code = "import sys, brian_lda.runs, brian_lda.hardware, brian_lda.sweeps.experiments; "
    code += "print('brian2' in sys.modules)"
    code += "; import brian_lda.models; print('brian2' in sys.modules)"  # ... but when it is needed
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_every_public_name_is_there():
    for module in PUBLIC - {"brian_lda.models"}:
        package = importlib.import_module(module)
        assert package.__all__ and all(hasattr(package, name) for name in package.__all__)
        assert sorted(set(package.__all__) - set(dir(package))) == []
    with pytest.raises(AttributeError, match="nonsense"):
        importlib.import_module("brian_lda").nonsense  # noqa: B018


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_use_public_names(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    lines = [line for c in cells if c["cell_type"] == "code" for line in [*c["source"], "\n"]]
    source = "".join(line for line in lines if not line.startswith(("%", "!")))
    used = {(module, name) for module, name in imports(source) if room_of(module, name)}
    assert used
    for module, name in used:
        assert module in PUBLIC and name, f"{module} is not for users"
        is_network = module == "brian_lda.models" and (ROOT / "models" / f"{name}.py").is_file()
        assert is_network or name in importlib.import_module(module).__all__
