"""The error that tells a user, in one line, what was wrong, where, and what to do."""

import os
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any


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


def check_name(kind: str, name: object, known: Collection[Any]) -> None:
    """Refuse a name that is not one of `known`.

    Raises:
        InputError: as `unknown_name` words it.
    """
    if name not in known:
        raise unknown_name(kind, name, known)


def need_packages(name: str, extra: str, *packages: str) -> None:
    """Refuse what needs packages of an extra that are not installed.

    Raises:
        InputError: how to install them.
    """
    for package in packages:
        if find_spec(package) is None:
            raise InputError(f"{name} needs the package {package}: pip install superstar[{extra}]")


def unreadable(error: OSError) -> InputError:
    """An error for what the operating system refuses: permissions, links that go in circles, ..."""
    place, reason = error.filename or "an input", error.strerror or error
    return InputError(f"{place} cannot be read ({reason}): repair or remove it")


def is_text(name: str) -> bool:
    """Whether a file's name, as Python decodes it, is text that can be written as UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def readable(name: str) -> str:
    """A file's name for a message: bytes that are no text come as `\\xe9`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
