"""Whole numbers, whatever library they come from."""

from operator import index

import torch

from superstar.errors import InputError


def integer(value: object) -> int | None:
    """The number as an `int` if it is a whole one, else None.

    Python's, NumPy's, or a PyTorch tensor that is one integer; True and False are none.
    """
    flag = isinstance(value, bool) or getattr(value, "dtype", None) == torch.bool
    if flag or getattr(value, "ndim", 0):
        return None
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def whole(value: object, what: str, least: int = 0, most: int | None = None) -> int:
    """The number as an `int`.

    Args:
        value: the number, as `integer` takes it.
        what: it is, for the message.
        least: the smallest one allowed.
        most: the largest one allowed, if there is one.

    Raises:
        InputError: no whole number, or one out of the range.
    """
    number = integer(value)
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{what} must be a whole number {bounds}, not {value!r}")
    return number
