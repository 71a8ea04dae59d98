import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))

SHOWN = {
    "01_read_a_run": ("gaussian_noise", "stopped by", "metrics.mean_delta.standard"),
    "02_compare_runs": ("test · whole run · ", "delta.gaussian_noise.augmix", "run_seconds"),
}
SAVED = {"02_compare_runs": [f"data/08_reporting/comparison.{ending}" for ending in ("csv", "png")]}


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
    assert all(text in shown for text in SHOWN[path.stem])
    assert all((project_copy.root / file).is_file() for file in SAVED.get(path.stem, ()))
