"""README and docs: links lead somewhere, code compiles, and runs where a run is all it needs."""

import os
import re
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from PIL import Image

from docs.tools import api, leaderboard, parameters, pipelines
from projects import load_catalog
from superstar.parameters import Parameters
from superstar.photos import photo_patches
from superstar.pipeline_registry import register_pipelines

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
MOST_WORDS = 900
VALUES = {"distance.measure", "severity_calibration.grids", "classifier_training.published"}

# Those whose code needs no more than a run and folders of images.
EXECUTED = ["README.md", "docs/quickstart.md", "docs/your_images.md"]
# The run of the tests has smaller images, and another name.
SMALLER = {r"\b(64|224|256)\b": "32", r"_models/(custom|mine|photos)/": "_models/test/"}
SMALLER |= {r"_input/photos/": "_input/test/"}


def name(path):
    return str(path.relative_to(ROOT))


def text(path):
    return path.read_text(encoding="utf-8")


def blocks(path):
    return PYTHON.findall(text(path))


def anchors(path):
    """Those of a page's headings, where GitHub and the site agree."""
    headings = HEADING.findall(FENCE.sub("", text(path)))
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {word.strip().replace(" ", "-") for word in words}


def test_readme_is_short():
    assert len(text(ROOT / "README.md").split()) <= MOST_WORDS


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path):
    broken = []
    for link in LINK.findall(FENCE.sub("", text(path))):
        if link.startswith(("http://", "https://")):
            continue
        file, _, anchor = link.partition("#")
        target = path if not file else Path(os.path.normpath(path.parent / file))
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("path", [page for page in PAGES if blocks(page)], ids=name)
def test_code_compiles(path):
    for block in blocks(path):
        compile(block, str(path), "exec")


@pytest.fixture
def reader(finished_run, tmp_path, monkeypatch):
    """A reader's folder: what a run left, and two folders of images."""
    (tmp_path / "data").symlink_to(finished_run.root / "data")
    patches = photo_patches(32, {"test": 200})["test"].images
    for folder in ("clean", "camera"):
        (tmp_path / folder).mkdir()
        for number, pixels in enumerate(patches):
            Image.fromarray(pixels).save(tmp_path / folder / f"{number:03d}.png")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", EXECUTED)
def test_code_runs(page, reader):
    names = {}
    for block in blocks(ROOT / page):
        for longer, shorter in SMALLER.items():
            block = re.sub(longer, shorter, block)
        exec(compile(block, page, "exec"), names)
    images = names["corrected" if "corrected" in names else "denoised"]
    assert images.shape[1:] == (3, 32, 32)


def leaves(values, group=""):
    """Full names of what a configuration holds, mappings that are values themselves aside."""
    for key, value in values.items():
        if isinstance(value, dict) and f"{group}{key}" not in VALUES:
            yield from leaves(value, f"{group}{key}.")
        else:
            yield f"{group}{key}"


def test_reference_holds_every_parameter_and_says_what_it_means():
    given = {}
    for path in (ROOT / "conf" / "base").glob("parameters*.yml"):
        given |= yaml.safe_load(text(path))
    listed = list(parameters.parameters(Parameters, "", parameters.read_base()))
    assert set(leaves(given)) <= {each.name for each in listed}
    assert [each.name for each in listed if each.default is not None and not each.meaning] == []


def test_reference_holds_every_node_and_data_set():
    page, catalog = pipelines.pipelines_page(), pipelines.catalog_page()
    for pipeline in register_pipelines().values():
        for node in pipeline.nodes:
            assert f"| `{node.name.rpartition('.')[2]}` |" in page
        stored = {each for each in pipeline.datasets() if not each.startswith("params:")}
        assert all(f"| `{each}` |" in catalog for each in stored & set(load_catalog("base")))


def test_reference_holds_every_public_name():
    pages = api.pages()
    for name in ("actions", "classifiers", "control", "corruptions", "measures"):
        for public in import_module(f"superstar.{name}").__all__:
            assert f"::: superstar.{name}.{public}\n" in pages[name]


def test_the_leaderboard_and_the_readme_show_what_the_result_pages_hold():
    assert leaderboard.table() in text(DOCS / "leaderboard.md")
    shown = text(ROOT / "README.md")
    for _, page, mean, classifier in leaderboard.ROWS:
        accuracy, gains = leaderboard.means(page, mean, classifier)
        row = " | ".join([accuracy, *(gain.partition(" ")[0] for gain in gains)])
        assert classifier != "standard" or f"| {row} |" in shown
