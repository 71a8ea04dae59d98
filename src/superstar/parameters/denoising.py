"""Parameters of the denoiser: where it comes from and how it is trained."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from superstar.parameters.base import Count, Fraction, Positive, Section, check_is_there

Sigma = Annotated[float, Field(gt=0, le=255)]
"""A standard deviation, of 255."""
SOURCES = ("packaged", "train")
"""Where a denoiser may come from, if not from a file."""
Share = Annotated[float, Field(ge=0, le=1)]
Quality = Annotated[int, Field(ge=1, le=100)]


class Noise(Section):
    """`superstar.actions.noise_mix.NoiseMix`."""

    shares: dict[str, Share]
    largest_sigma: Sigma
    lean: Positive
    photons: Annotated[tuple[Positive, Positive], Field(strict=False)]
    impulse: Share
    speckle: Positive
    stored: Share
    jpeg: Share
    jpeg_qualities: Annotated[tuple[Quality, Quality], Field(strict=False)]


class Crop(Section):
    """Side of crops in pixels, and how often a step takes such."""

    side: Annotated[int, Field(ge=16)]
    share: Positive


class Gate(Section):
    """Up to where the denoiser leaves images as they are.

    Nothing is taken off images in which it finds less noise than in all but a share of clean ones,
    times `margin`; from `rise` times that on `strength` of all that it finds. So many images of
    each kind are looked at, as they are and through JPEG.
    """

    clean_share: Fraction
    margin: Positive
    rise: Annotated[float, Field(gt=1)]
    strength: Fraction
    jpeg_quality: Quality
    images: Count


class BlindTraining(Section):
    """How the packaged denoiser is trained, on the images of environment `denoiser`."""

    widths: Annotated[list[Count], Field(min_length=1)]
    blocks: Annotated[list[Count], Field(min_length=1)]
    unshuffle: Count
    design_classes: Count
    small_train: Count
    small_held_out: Count
    tile: Annotated[int, Field(ge=16)]
    scales: Annotated[list[Fraction], Field(min_length=1)]
    picture_crops: Annotated[list[Crop], Field(min_length=1)]
    small_crops: list[Crop]
    noise: Noise
    pixels: Count
    rounds: Count
    steps: Count
    learning_rate: Positive
    clip_norm: Positive
    gate: Gate

    @property
    def schedule(self) -> dict[str, Any]:
        """What of a `BlindSchedule` is a run's to choose."""
        alike = self.model_dump(include={"pixels", "steps", "learning_rate", "clip_norm"})
        return alike | {"epochs": self.rounds}


class DenoiserTraining(Section):
    """The denoiser: the package's, one trained here, or one of a file.

    Trained here it is a DnCNN, on the run's own images; with `blind` it is what the package brings
    along. Of the shape of a published one `enlarge` alone is a choice.
    """

    source: str
    depth: Annotated[int, Field(ge=2)]
    width: Count
    unshuffle: Count
    enlarge: Count
    epochs: Count
    batch_size: Count
    crop: Annotated[int, Field(ge=16)]
    learning_rate: Positive
    largest_sigma: Sigma
    assessed_sigmas: Annotated[list[Sigma], Field(min_length=1)]
    assessed_images: Count
    blind: BlindTraining | None = None

    @field_validator("source")
    @classmethod
    def _is_there(cls, source: str) -> str:
        if source not in SOURCES:
            check_is_there(source, "denoiser_training.source (packaged, train, or a file)")
        return source

    @property
    def trained(self) -> bool:
        """Whether one is trained here."""
        return self.source == "train"

    @property
    def file(self) -> str | None:
        """The file that the denoiser comes from, if any."""
        return None if self.source in SOURCES else self.source

    @property
    def shape(self) -> dict[str, int]:
        """Size of the network that is trained here."""
        return self.model_dump(include={"depth", "width", "unshuffle", "enlarge"})

    @property
    def schedule(self) -> dict[str, Any]:
        """What of a `DenoiserSchedule` is a run's to choose."""
        return self.model_dump(
            include={"epochs", "batch_size", "crop", "learning_rate", "largest_sigma"}
        )
