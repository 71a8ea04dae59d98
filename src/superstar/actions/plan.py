"""A plan: corrections in order, each with its numbers, to apply to any images of a stream."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from torch import Tensor

from superstar.actions.denoiser import Denoiser, packaged_denoiser
from superstar.actions.fitted import FITTED, Numbers, apply_fitted
from superstar.actions.library import EXTENDED, apply_action
from superstar.errors import InputError, check_name
from superstar.images import check_images

THEN = " > "
"""Between the names of corrections that follow one another."""

MOST_SHOWN = 3
"""Numbers of a correction that a line of text shows."""


@dataclass(frozen=True, order=True, repr=False)
class Correction:
    """One step of a plan.

    Attributes:
        name: of a correction in `EXTENDED`.
        numbers: what it was fitted to; the paper's actions have none.

    Raises:
        InputError: not the numbers that the correction takes.
    """

    name: str
    numbers: Numbers = ()

    def __post_init__(self) -> None:
        expected = FITTED[self.name].count if self.name in FITTED else 0
        if len(self.numbers) != expected or not all(map(isfinite, self.numbers)):
            raise InputError(
                f"{self.name} takes {expected} finite numbers, not {list(self.numbers)}"
            )

    def apply(self, images: Tensor, denoiser: Denoiser | None = None) -> Tensor:
        """The images after it, float32 (N, 3, H, W) in [0, 1]; `denoiser` is for `dncnn`."""
        if self.name in FITTED:
            return apply_fitted(images, self.name, self.numbers)
        return apply_action(images, self.name, denoiser)

    def __str__(self) -> str:
        """Few numbers are shown, a curve's are not."""
        if not self.numbers:
            return self.name
        few = len(self.numbers) <= MOST_SHOWN
        return f"{self.name}({', '.join(f'{n:.3g}' for n in self.numbers) if few else '...'})"

    __repr__ = __str__


@dataclass(frozen=True)
class Plan:
    """Corrections in the order in which they are applied; their numbers are frozen.

    A plan chosen on a batch can be applied to other images of the same stream, one at a time too.

    Attributes:
        corrections: none leaves images as they are.
        denoiser: behind `dncnn`; the package's if None. It is not part of `to_json`.
    """

    corrections: tuple[Correction, ...] = ()
    denoiser: Denoiser | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, names: Sequence[str], denoiser: Denoiser | None = None) -> "Plan":
        """A plan of the paper's actions, which have no numbers.

        Raises:
            InputError: a correction that has.
        """
        return cls(tuple(Correction(name) for name in names), denoiser)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the corrections, in order."""
        return tuple(correction.name for correction in self.corrections)

    def apply(self, images: Tensor) -> Tensor:
        """The corrected images.

        Args:
            images: float32 (N, 3, H, W) in [0, 1], of any number and size; not modified.

        Raises:
            InputError: not a batch of images.
        """
        corrected = check_images(images).detach().clone()
        for correction in self.corrections:
            corrected = correction.apply(corrected, self._denoiser(correction))
        return corrected

    def _denoiser(self, correction: Correction) -> Denoiser | None:
        return self.denoiser or packaged_denoiser() if correction.name == "dncnn" else None

    def to_json(self) -> str:
        """One line: `[{"name": "match_contrast", "numbers": [2.5, 2.4, 2.6]}, ...]`."""
        return json.dumps(
            [{"name": step.name, "numbers": list(step.numbers)} for step in self.corrections]
        )

    @classmethod
    def from_json(cls, text: str, denoiser: Denoiser | None = None) -> "Plan":
        """The reverse of `to_json`.

        Args:
            text: what `to_json` wrote.
            denoiser: of `dncnn`: the supervisor's, whose gate was fitted to its run. Without it a
                plan with `dncnn` gives other images. None takes the package's.

        Raises:
            InputError: not what `to_json` writes, an unknown correction, or not its numbers.
        """
        try:
            steps = json.loads(text)
            return cls(tuple(_correction(step) for step in steps), denoiser)
        except InputError:
            raise
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"not a plan as Plan.to_json writes it ({error})") from error

    def __str__(self) -> str:
        return THEN.join(map(str, self.corrections)) or "nothing"


def _correction(step: dict[str, Any]) -> Correction:
    check_name("correction", step["name"], EXTENDED)
    return Correction(step["name"], tuple(float(number) for number in step["numbers"]))
