"""What kedro-viz shows of an artifact: plain values, rounded."""

import json
import re
from collections.abc import Callable
from functools import wraps
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from kedro_datasets._typing import HTMLPreview, JSONPreview, TablePreview

ROWS = 50
"""Shown of a table."""
ITEMS = 8
"""Shown of a list in a table's cell."""


def if_made(preview: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Show nothing of an artifact that is not there yet, where loading it would warn."""

    @wraps(preview)  # kedro-viz looks at the type of what is returned.
    def show(dataset: Any) -> Any:
        return preview(dataset) if dataset.location.exists() else None

    return show


def table(frame: pd.DataFrame) -> TablePreview:
    """The first rows: lists as text, numbers with four digits."""
    shown = frame.head(ROWS).to_dict(orient="split")
    return TablePreview({**shown, "data": [[_cell(v) for v in row] for row in shown["data"]]})


def structure(data: Any) -> JSONPreview:
    """A structure of JSON, its numbers with four digits."""
    return JSONPreview(json.dumps(_rounded(data)))


def settings(data: dict[str, Any]) -> TablePreview:
    """A row a setting; those that belong together are in one."""
    return table(pd.DataFrame({"setting": list(data), "value": list(data.values())}))


def markup(text: str, markdown: bool) -> HTMLPreview:
    """A text: Markdown as a page, anything else as it is."""
    from markdown_it import MarkdownIt

    if not markdown:
        return HTMLPreview(f"<pre>{escape(text)}</pre>")
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    # kedro-viz shows each end of a line, which only those in code should be.
    return HTMLPreview(re.sub(r"\n(?![^<]*</code>)", " ", parser.render(text)))


def _cell(value: Any) -> Any:
    if isinstance(value, list | np.ndarray):
        items = [str(_rounded(item)) for item in np.asarray(value[:ITEMS]).tolist()]
        return ", ".join(items + ["…"] * (len(value) > ITEMS))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_cell(each)}" for name, each in value.items())
    return "" if pd.isna(value) else _rounded(value)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if abs(value) < 1000 else round(value, 1)
    return value
