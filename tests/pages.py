"""The pages that readers see, and the code in them."""

import re
from pathlib import Path
from textwrap import dedent

from projects import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, *kinds: str) -> list[tuple[str, str]]:
    """Kind and content of each fenced block, or of those of some kinds, in order."""
    found = [(kind, dedent(code)) for _, kind, code in FENCE.findall(text(page))]
    return [(kind, code) for kind, code in found if kind in kinds or not kinds]
