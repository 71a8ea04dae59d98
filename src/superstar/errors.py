"""The error that tells a user, in one line, what was wrong, where, and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Bad input from a user: images, names, parameters or files.

    The message is one line. The command line prints it alone, without a traceback.
    """


def unknown_name(kind: str, name: object, known: Iterable[str]) -> InputError:
    """An error for a name that is not one of `known`, with the nearest one suggested."""
    names = list(known)
    near = get_close_matches(str(name), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return InputError(f"unknown {kind} {name!r}{hint} (known: {', '.join(names)})")
