"""What MkDocs does beside its own: pages from the repository's root, and the reference.

`index.md` is the README. The pages under `reference/` are made from docstrings, models of
parameters, the registry of pipelines and the catalog.
"""

import os
import re
from pathlib import Path

import api
import parameters
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import pipelines

ROOT = Path(__file__).parents[2]
OF_ROOT = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "CITATION.cff": "CITATION.cff",
}
"""Files of the repository's root and their places in the site."""

CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
CODE = re.compile(r"(?<=<code>)[^<\s]+(?=</code>)")

LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that do not lie in `docs/`."""
    made = {place: (ROOT / name).read_text(encoding="utf-8") for name, place in OF_ROOT.items()}
    made["reference/parameters.md"] = parameters.page()
    made["reference/pipelines.md"] = pipelines.pipelines_page()
    made["reference/catalog.md"] = pipelines.catalog_page()
    made |= {f"reference/{name}.md": page for name, page in api.pages().items()}
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Lead links between the root's files and those of `docs/` to their places in the site."""
    place = page.file.src_uri
    if place == "index.md":
        page.meta["hide"] = ["navigation"]
    source = next((name for name, moved in OF_ROOT.items() if moved == place), f"docs/{place}")

    def moved(link: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(source), link[1]))
        if source == f"docs/{place}" and target not in OF_ROOT:
            return link[1]
        there = OF_ROOT.get(target) or os.path.relpath(target, "docs")
        return os.path.relpath(there, os.path.dirname(place) or ".")

    return LINK.sub(moved, markdown)


def on_page_content(html: str, **_: object) -> str:
    """Let names in tables break after dots and underscores, and nowhere else."""

    def breakable(cell: re.Match[str]) -> str:
        return CODE.sub(lambda code: re.sub(r"(?<=[._])(?=\w)", "<wbr>", code[0]), cell[0])

    return CELL.sub(breakable, html)
