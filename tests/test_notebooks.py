import shutil
from itertools import product
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))

SHOWN = {
    "01_read_a_run": ("gaussian_noise", "stopped by", "metrics.mean_delta.standard"),
    "02_your_own_images": ("data_preparation.train ", "of 250 clean images", "corrected: "),
    "03_stream": ("image 100: drift, p = ", "image 150: end, p = ", "dull: p = "),
    "04_compare_runs": ("test · whole run · ", "delta.gaussian_noise.augmix", "run_seconds"),
}
SAVED = {"04_compare_runs": [f"data/08_reporting/comparison.{ending}" for ending in ("csv", "png")]}


# The run of the tests has fewer and smaller images, and another name.
HERE = {"size = 64": "size = 32", "count = 200": "count = 50", "/photos/": "/test/"}


# A code host shows these; what the others show is of the reader's own runs.
WITH_OUTPUTS = {"02_your_own_images", "03_stream"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped_or_those_of_one_pass(path):
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert code
    shown = path.stem in WITH_OUTPUTS
    counts = range(1, len(code) + 1) if shown else [None] * len(code)
    assert [cell.execution_count for cell in code] == list(counts)
    outputs = [output for cell in code for output in cell.outputs]
    assert bool(outputs) == shown
    assert {output.output_type for output in outputs} <= {
        "stream",
        "display_data",
        "execute_result",
    }
    assert "stderr" not in {output.get("name") for output in outputs}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, project_copy, monkeypatch):
    monkeypatch.setenv("KEDRO_ENV", "test")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    folder = project_copy.root / "notebooks"
    folder.mkdir()
    shutil.copy(path, folder)
    # The copied store names the artifacts' folder of the run it was copied from; only it is read.
    notebook = nbformat.read(path, as_version=4)
    for cell, (given, used) in product(notebook.cells, HERE.items()):
        cell.source = cell.source.replace(given, used)
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
