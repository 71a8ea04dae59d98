"""The reference of parameters: types from the models, defaults and meanings from `conf/base`.

What a parameter means is the comment at its place in `conf/base/parameters*.yml`: on its line, or
on the lines above it. Where `conf/base` leaves it out, its model's docstring says it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from inspect import cleandoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml
from annotated_types import Ge, Gt, Le, Lt, MinLen

from superstar.parameters import Parameters
from superstar.parameters.base import Section

BASE = Path(__file__).parents[2] / "conf" / "base"
KINDS = {int: "integer", float: "number", str: "text", bool: "true or false", Any: "anything"}


@dataclass(frozen=True)
class Parameter:
    """A parameter by its full name.

    Attributes:
        name: with dots, as `--params` takes it.
        kind: its type and range, in words.
        default: of `conf/base` as YAML; None where it has none.
        meaning: the comment at its place, or what its model says.
    """

    name: str
    kind: str
    default: str | None
    meaning: str


@dataclass(frozen=True)
class _Given:
    """What `conf/base` says of a name."""

    value: Any
    meaning: str


def page() -> str:
    """The page, in Markdown."""
    given = read_base()
    parts = [
        "# Parameters",
        "Every parameter of a run. Defaults are those of `conf/base/`; other environments override "
        "some. On the command line: `kedro run --params evaluation.trials=10,seed=1`. A parameter "
        "without a default belongs to a group that `conf/base/` leaves out, or is given with "
        "`--params`; `conf/cifar100/` and `conf/denoiser/` show such groups.",
    ]
    rows: dict[str, list[Parameter]] = {}
    for each in parameters(Parameters, "", given):
        head, _, rest = each.name.partition(".")
        rows.setdefault(head if rest else "", []).append(each)
    for head, each in rows.items():
        said = given[head].meaning if head in given else ""
        model = get_type_hints(Parameters).get(head)
        parts.append(f"## {head or 'Of the whole run'}")
        parts.append(" ".join(filter(None, [_first_line(model) if head else "", said])))
        parts.append(_table(each))
    parts += [
        "## Of `globals.yml`",
        "What a run takes, and whose it is. They are set in an "
        "environment's `globals.yml`, not with `--params`.",
    ]
    parts.append(
        _table(
            [
                Parameter(name, "", _yaml(each.value), each.meaning)
                for name, each in _read(BASE / "globals.yml")
            ]
        )
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def parameters(model: type[Section], group: str, given: dict[str, _Given]) -> Iterator[Parameter]:
    """The parameters of a model, groups within it included."""
    for field, hint in get_type_hints(model, include_extras=True).items():
        if field not in model.model_fields:
            continue
        name = f"{group}{field}"
        there = given.get(name)
        sections = list(_sections(hint))
        if not sections or _is_optional(hint):
            default = _yaml(there.value) if there and not isinstance(there.value, dict) else None
            if there and isinstance(there.value, dict) and not sections:
                default = _yaml(there.value)
            kind = "a group, or null" if sections else in_words(hint)
            said = there.meaning if there else ""
            yield Parameter(name, kind, default, said or _attributes(model).get(field, ""))
        for section in sections:
            chosen = given if len(sections) == 1 or _is_chosen(section, name, given) else {}
            yield from parameters(section, f"{name}.", chosen)


def in_words(hint: Any) -> str:
    """A type and its range."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bounded(in_words(inner[0]), inner[1:])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if origin in (Union, UnionType):
        kinds = [in_words(each) for each in inner if each is not NoneType]
        return " or ".join([*kinds, *(["null"] if NoneType in inner else [])])
    if origin in (list, tuple):
        if origin is tuple and Ellipsis not in inner:
            return f"{len(inner)} × {in_words(inner[0])}"
        return f"list of {in_words(inner[0])}"
    if origin is dict:
        return f"mapping to {in_words(inner[1])}"
    if isinstance(hint, type) and issubclass(hint, Section):
        return "{" + ", ".join(hint.model_fields) + "}"
    return KINDS[hint]


def read_base() -> dict[str, _Given]:
    """What `conf/base` says, by full name."""
    given: dict[str, _Given] = {}
    for path in sorted(BASE.glob("parameters*.yml")):
        given |= dict(_read(path))
    return given


def _read(path: Path) -> Iterator[tuple[str, _Given]]:
    text = path.read_text(encoding="utf-8")
    root = yaml.compose(text)
    assert isinstance(root, yaml.MappingNode)
    yield from _walk(root, yaml.safe_load(text), "", text.splitlines())


def _walk(
    node: yaml.MappingNode, values: dict[str, Any], group: str, lines: list[str]
) -> Iterator[tuple[str, _Given]]:
    for key, value in node.value:
        name = f"{group}{key.value}"
        at = key.start_mark
        own = lines[at.line][: at.column].strip() == ""
        yield name, _Given(values[key.value], _comment(lines, at.line) if own else "")
        if isinstance(value, yaml.MappingNode):
            yield from _walk(value, values[key.value], f"{name}.", lines)


def _comment(lines: list[str], at: int) -> str:
    """Comments above a line, on it, and on those below it that go on with its comment."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    above: list[str] = []
    for line in reversed(lines[:at]):
        if not line.startswith(" " * indent + "#"):
            break
        above.insert(0, line.strip("# "))
    beside = lines[at].partition(" # ")
    words = [*above, beside[2]]
    for line in lines[at + 1 :]:
        column = len(line) - len(line.lstrip())
        if not (beside[1] and line.lstrip().startswith("#") and column == len(beside[0]) + 1):
            break
        words.append(line.strip("# "))
    return " ".join(filter(None, words)).strip()


def _bounded(kind: str, bounds: tuple[Any, ...]) -> str:
    """A kind with what pydantic's constraints say of it."""
    marks = [mark for bound in bounds for mark in (getattr(bound, "metadata", None) or [bound])]
    low = next((mark for mark in marks if isinstance(mark, Ge | Gt)), None)
    high = next((mark for mark in marks if isinstance(mark, Le | Lt)), None)
    if any(isinstance(mark, MinLen) and mark.min_length > 0 for mark in marks) and "list" in kind:
        kind = f"{kind}, not empty"
    if high and high == Lt(2**31):
        return f"{kind} ≥ 0, < 2³¹"
    if low and high:
        left = f"[{low.ge}" if isinstance(low, Ge) else f"({low.gt}"
        right = f"{high.le}]" if isinstance(high, Le) else f"{high.lt})"
        return f"{kind} in {left}, {right}"
    if low:
        return f"{kind} ≥ {low.ge}" if isinstance(low, Ge) else f"{kind} > {low.gt}"
    return kind


def _sections(hint: Any) -> Iterator[type[Section]]:
    """Groups that may stand at a place, but not in a list or mapping."""
    origin = get_origin(hint)
    if origin is Annotated:
        yield from _sections(get_args(hint)[0])
    elif origin in (Union, UnionType):
        for each in get_args(hint):
            yield from _sections(each)
    elif isinstance(hint, type) and issubclass(hint, Section):
        yield hint


def _is_chosen(section: type[Section], group: str, given: dict[str, _Given]) -> bool:
    """Whether `conf/base` takes this one of several groups that are told apart by their kind."""
    kind = given.get(f"{group}.kind")
    return kind is not None and kind.value in get_args(get_type_hints(section)["kind"])


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)


def _first_line(model: Any) -> str:
    return str(model.__doc__).partition("\n")[0] if isinstance(model, type) else ""


def _attributes(model: type) -> dict[str, str]:
    """What the docstrings of a model and its bases say of its fields."""
    said: dict[str, str] = {}
    name = ""
    for each in reversed(model.__mro__):
        _, _, listed = cleandoc(each.__dict__.get("__doc__") or "").partition("Attributes:\n")
        for line in filter(None, listed.splitlines()):
            if line.startswith(" " * 8):
                said[name] += f" {line.strip()}"
            else:
                name, _, meaning = line.strip().partition(": ")
                said[name] = meaning
    return said


def _yaml(value: Any) -> str:
    return (
        yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("...\n").strip()
    )


def _table(rows: list[Parameter]) -> str:
    lines = ["| name | type and range | default | meaning |", "|:--|:--|:--|:--|"]
    for row in rows:
        default = "" if row.default is None else f"`{row.default}`"
        meaning = escape(row.meaning[:1].upper() + row.meaning[1:], quote=False)
        cells = [f"`{row.name}`", row.kind, default, meaning.rstrip(".")]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
