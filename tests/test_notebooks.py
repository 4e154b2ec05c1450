"""Run the notebooks of the docs in a kernel, as Jupyter does."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.md"))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # those of Jupyter are not ours
@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_notebook_runs(page: Path, tmp_path: Path) -> None:
    jupytext, nbclient = pytest.importorskip("jupytext"), pytest.importorskip("nbclient")
    notebook = jupytext.read(page)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) >= 3 and all(cell.execution_count for cell in cells)
    assert sum(bool(cell.outputs) for cell in cells) >= 3
