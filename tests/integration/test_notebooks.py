"""Every notebook runs from top to bottom and is stored without outputs."""

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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_from_top_to_bottom(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code), "stored with outputs"
    client = nbclient.NotebookClient(
        notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    images = [
        output for cell in code for output in cell.outputs if "image/png" in output.get("data", {})
    ]
    assert images, "no figure was drawn"
