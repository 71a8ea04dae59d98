import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped(path):
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, project_copy, monkeypatch):
    monkeypatch.setenv("KEDRO_ENV", "test")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    folder = project_copy.root / "notebooks"
    folder.mkdir()
    shutil.copy(path, folder)
    # The copied store names the artifacts' folder of the run it was copied from; only it is read.
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    shown = "".join(
        str(output.get("data", {}).get("text/plain", "")) + output.get("text", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    assert "gaussian_noise" in shown
    assert "stopped by" in shown
    assert "metrics.mean_delta.standard" in shown
