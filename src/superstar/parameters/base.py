"""Types of parameters, and what their groups have in common."""

from contextlib import suppress
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
)

from superstar.errors import InputError, unknown_name

Fraction = Annotated[float, Field(gt=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Severity = Annotated[int, Field(ge=1, le=5)]
# Configuration files know lists only, so tuples are made from them.
Colour = Annotated[tuple[float, float, float], Field(strict=False)]
Scatter = Annotated[tuple[Positive, Positive, Positive], Field(strict=False)]
Interval = Annotated[tuple[Positive, Positive], Field(strict=False)]
Strengths = Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2)]
Scale = Literal["imagenet", "cifar"]


class Section(BaseModel):
    """A group of parameters: nothing unknown, nothing missing, nothing converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def check_is_there(path: str, parameter: str) -> None:
    """Refuse the path of a checkpoint that is not there.

    Raises:
        InputError: no file; the message names the parameter.
    """
    from superstar.decoding import user_path

    if not user_path(path).is_file():
        raise InputError(f"there is no checkpoint {path}: see {parameter}")


def without_repeats(values: list[Any]) -> list[Any]:
    """The values, if none occurs twice."""
    repeated = [value for place, value in enumerate(values) if value in values[:place]]
    if repeated:
        raise InputError(f"{repeated[0]!r} is named twice")
    return values


def rising(values: list[Any]) -> list[Any]:
    """The values, if each is larger than the one before."""
    if any(later <= earlier for earlier, later in pairwise(values)):
        raise InputError("the values must rise")
    return values


def known_shifts(shifts: list[str]) -> list[str]:
    """The shifts with sets of them spelt out, if all are known and none occurs twice."""
    from superstar.corruptions import ALL_SHIFTS, SHIFT_SETS, spell_out

    listed = spell_out(shifts)
    for shift in listed:
        for part in shift.split("+"):
            if not part:
                raise InputError(f"{shift!r} has an empty part: put a name on each side of '+'")
            if part not in ALL_SHIFTS:
                raise unknown_name("shift", part, [*ALL_SHIFTS, *SHIFT_SETS])
    return without_repeats(listed)


def split_words(value: Any) -> Any:
    """Words with spaces between as a list of them."""
    return value.split() if isinstance(value, str) else value


def split_numbers(value: Any) -> Any:
    """A number, or numbers with spaces between, as a list of them."""
    if isinstance(value, str):
        return [_number(word) for word in value.split()]
    return [value] if isinstance(value, int | float) else value


def _number(word: str) -> int | float | str:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(word)
    return word


# Lists. On the command line, where commas separate parameters: words with spaces between.
# Shifts: names of shifts, composites and sets of shifts, the sets spelt out.
Shifts = Annotated[
    list[str],
    Field(min_length=1),
    BeforeValidator(split_words),
    AfterValidator(known_shifts),
]
Severities = Annotated[
    list[Severity],
    Field(min_length=1),
    BeforeValidator(split_numbers),
    AfterValidator(without_repeats),
]
