"""Every notebook runs from top to bottom and is stored without outputs.

In CI the documentation site runs them (`docs/conf.py` asks for figures), and not this file again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (brian_lda[test])")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (brian_lda[test])")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (brian_lda[test])")

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_the_index_names_every_notebook():
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) == 5
    assert all(path.name in index for path in NOTEBOOKS)


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_without_outputs(path):
    code = code_of(nbformat.read(path, as_version=4))
    assert code and not any(cell.outputs or cell.execution_count for cell in code)


@pytest.mark.complete
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_from_top_to_bottom(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    outputs = [output for cell in code_of(notebook) for output in cell.outputs]
    images = [output for output in outputs if "image/png" in output.get("data", {})]
    assert images, "no figure was drawn"
