"""Classifiers of a user's own: a torch module or any other code."""

from collections.abc import Callable, Collection
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from superstar.errors import InputError, unknown_name


class Asked(nn.Module):
    """Any code that says what is on images.

    Args:
        function: maps a tensor on the processor, float32 (N, 3, H, W) in [0, 1], which
            `numpy.asarray` takes too, to scores (N, classes) or to labels (N,), as a tensor or an
            array.
        classes: number of classes, by which labels become scores; None as many as one batch needs.
    """

    def __init__(self, function: Callable[[Tensor], Any], classes: int | None = None) -> None:
        super().__init__()
        self.function, self.classes = function, classes

    def forward(self, images: Tensor) -> Tensor:
        """Images float32 (N, 3, H, W) in [0, 1] to scores float32 (N, classes).

        Raises:
            InputError: text instead.
        """
        with torch.no_grad():
            said = self.function(images.cpu())
        if not isinstance(said, Tensor):
            said = np.asarray(said)
            if said.dtype.kind in "UO" and any(isinstance(each, str) for each in said.flat):
                raise InputError(
                    "the classifier returned text: it must return scores (N, classes) or "
                    "whole-number labels (N,)"
                )
            said = torch.from_numpy(said)
        if said.ndim == 1:
            said = nn.functional.one_hot(said.long(), self.classes or max(2, int(said.max()) + 1))
        return said.float()


def find_own(name: str, kinds: Collection[str] = ()) -> Callable[..., Any]:
    """A user's callable.

    Args:
        name: `<module>:<callable>`.
        kinds: what might have been meant by the module.

    Raises:
        InputError: no such module, or no such callable in it.
    """
    module, _, attribute = name.partition(":")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # The module is there, but not what it imports.
        near = get_close_matches(module, kinds, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(
            f"classifier {name!r}: there is no module {module!r}{hint} "
            "(put the folder of a module of your own on PYTHONPATH)"
        ) from error
    function = getattr(found, attribute, None)
    if not callable(function):
        known = [key for key, value in vars(found).items() if callable(value) and key[0] != "_"]
        raise unknown_name(f"callable of {module}", attribute, known)
    return function


def build_own(name: str) -> nn.Module:
    """What a user's callable returns, or itself if it takes images.

    Raises:
        InputError: as `find_own`; it returns no classifier.
    """
    found: Any = find_own(name)
    if not isinstance(found, nn.Module) and not _takes_images(found):
        found = found()
    if not callable(found):
        raise InputError(
            f"{name} returns no classifier but {type(found).__name__}: a torch.nn.Module, or a "
            "function from images to labels or scores, is needed"
        )
    return found if isinstance(found, nn.Module) else Asked(found)


def _takes_images(function: Callable[..., Any]) -> bool:
    try:
        signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # Of code that is not Python.
        return False
    return False
