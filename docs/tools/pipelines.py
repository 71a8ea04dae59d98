"""The reference of pipelines and data, from the registry and the catalog."""

import inspect
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

from kedro.pipeline import Pipeline

from superstar.configuration import ProjectConfigLoader
from superstar.pipeline_registry import BESIDE, PIPELINES, register_pipelines
from superstar.settings import CONFIG_LOADER_ARGS

ROOT = Path(__file__).parents[2]


def pipelines_page() -> str:
    """Every pipeline with its nodes: what they do, what they read and what they make."""
    registered = register_pipelines()
    parts = [
        "# Pipelines",
        "`kedro run` goes through these in order; `kedro run --pipelines NAME` runs one. What the "
        "names of data sets stand for is on the page [Data](catalog.md).",
    ]
    parts += [_pipeline(name, registered[name]) for name in PIPELINES]
    parts.append("The following run only when they are named.")
    parts += [_pipeline(name, registered[name]) for name in BESIDE]
    return "\n\n".join(parts) + "\n"


def catalog_page() -> str:
    """Every data set: its place, its type, who makes it and who reads it."""
    makers, readers = defaultdict(list), defaultdict(list)
    registered = register_pipelines()
    for name in (*PIPELINES, *BESIDE):
        for node in registered[name].nodes:
            for output in node.outputs:
                makers[output].append(name)
            for given in node.inputs:
                readers[given].append(name)
    layers: dict[str, list[str]] = defaultdict(list)
    for name, entry in _catalog().items():
        place = _shown(str(entry.get("filepath") or entry.get("path") or entry.get("folder")))
        cells = [
            f"`{name}`",
            f"`{place}`" if place else "",
            ", ".join(dict.fromkeys(makers[name])),
            ", ".join(dict.fromkeys(readers[name])),
            f"`{entry['type'].rpartition('.')[2]}`",
        ]
        layers[_layer(entry)].append(f"| {' | '.join(cells)} |")
    parts = [
        "# Data",
        "Every data set of the catalog (`conf/base/catalog.yml`), by its layer. Places are "
        "those in `data/`; `*` stands for the run's benchmark, `photos` in the base environment. "
        "Each is written whole and stamped with what it was made from. Those without a place lie "
        "where the user says.",
    ]
    head = "| data set | place | made by | read by | type |\n|:--|:--|:--|:--|:--|\n"
    for layer in sorted(layers, key=lambda name: (name == "", name)):
        parts.append(f"## {layer or 'Given by the user, or without a layer'}")
        parts.append(head + "\n".join(layers[layer]))
    return "\n\n".join(parts) + "\n"


def _pipeline(name: str, pipeline: Pipeline) -> str:
    said = str(import_module(f"superstar.pipelines.{name}.pipeline").__doc__).strip()
    lines = ["| node | does | reads | makes |", "|:--|:--|:--|:--|"]
    for node in pipeline.nodes:
        does = (inspect.getdoc(node.func) or "").partition("\n\n")[0].replace("\n", " ")
        cells = [
            f"`{node.name.rpartition('.')[2]}`",
            does.replace("|", "\\|"),
            _names(node.inputs),
            _names(node.outputs),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return f"## {name}\n\n{said}\n\n" + "\n".join(lines)


def _names(names: list[str]) -> str:
    """Data sets by name; parameters stand in italics."""
    return ", ".join(
        f"*{name.removeprefix('params:')}*" if name.startswith("params:") else f"`{name}`"
        for name in names
    )


def _catalog() -> dict[str, Any]:
    loader = ProjectConfigLoader(str(ROOT / "conf"), env="local", **CONFIG_LOADER_ARGS)
    return {name: entry for name, entry in loader["catalog"].items() if not name.startswith("_")}


def _layer(entry: dict[str, Any]) -> str:
    return str(entry.get("metadata", {}).get("kedro-viz", {}).get("layer") or "")


def _shown(place: str) -> str:
    """A place in `data/`, for any benchmark; empty elsewhere."""
    data = f"{ROOT}/data/"
    return re.sub(r"/photos(?=/|$)", "/*", place.removeprefix(data)) if data in place else ""
