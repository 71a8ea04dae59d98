"""README and docs: links lead somewhere, and the reference is whole."""

import os
import re
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from docs.tools import api, leaderboard, parameters, pipelines
from pages import FENCE, PAGES, name, text
from projects import ROOT, load_catalog
from superstar.parameters import Parameters
from superstar.pipeline_registry import register_pipelines

DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
MOST_WORDS = 900
VALUES = {"distance.measure", "severity_calibration.grids", "classifier_training.published"}


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
    assert [each.name for each in listed if not each.meaning] == []


def test_reference_holds_every_node_and_data_set():
    page, catalog = pipelines.pipelines_page(), pipelines.catalog_page()
    for pipeline in register_pipelines().values():
        for node in pipeline.nodes:
            assert f"| `{node.name.rpartition('.')[2]}` |" in page
        stored = {each for each in pipeline.datasets() if not each.startswith("params:")}
        assert all(f"| `{each}` |" in catalog for each in stored & set(load_catalog("base")))


def test_reference_holds_every_public_name():
    pages = api.pages()
    for package in ("actions", "classifiers", "control", "corruptions", "measures"):
        for public in import_module(f"superstar.{package}").__all__:
            assert f"::: superstar.{package}.{public}\n" in pages[package]


def test_the_leaderboard_and_the_readme_show_what_the_result_pages_hold():
    page = text(DOCS / "leaderboard.md")
    assert leaderboard.table() in page
    assert leaderboard.seeds() in page
    shown = text(ROOT / "README.md")
    for _, page, mean, classifier in leaderboard.ROWS:
        accuracy, gains = leaderboard.means(page, mean, classifier)
        row = " | ".join([accuracy, *(gain.partition(" ")[0] for gain in gains)])
        assert classifier != "standard" or f"| {row} |" in shown
