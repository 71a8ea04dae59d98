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
    """`superstar.actions.noise_mix.NoiseMix`.

    Attributes:
        shares: how often each kind of noise occurs; they need not sum to 1.
        largest_sigma: strongest Gaussian and uniform noise, a standard deviation of 255.
        lean: power of the uniform draw of that strength; above 1 weak noise is more frequent.
        photons: fewest and most photons of the brightest pixels, for Poisson noise.
        impulse: largest share of the values that become 0 or 1.
        speckle: largest standard deviation of speckle noise, as a share of the value.
        stored: share of the images with Gaussian noise that are clipped and rounded to 8 bits.
        jpeg: share of the stored images that go through JPEG.
        jpeg_qualities: lowest and highest quality of that JPEG.
    """

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

    Attributes:
        clean_share: share of clean images in which it may find more noise than at the lower end.
        margin: factor by which the lower end is raised.
        rise: upper end as a multiple of the lower.
        strength: share of the noise found that is taken off above the upper end.
        jpeg_quality: quality of the JPEG that clean images also go through.
        images: number of clean images of each kind that it is fitted to.
    """

    clean_share: Fraction
    margin: Positive
    rise: Annotated[float, Field(gt=1)]
    strength: Fraction
    jpeg_quality: Quality
    images: Count


class BlindTraining(Section):
    """How the packaged denoiser is trained, on the images of environment `denoiser`.

    Attributes:
        widths: channels of each level of the U-Net.
        blocks: number of residual blocks of each level.
        unshuffle: side of the squares of pixels that become channels.
        design_classes: number of ImageNet's classes whose pictures it learns from.
        small_train: number of small images that it learns from.
        small_held_out: number of small images that are kept apart.
        tile: side in pixels of the tiles that pictures are cut into.
        scales: scales at which pictures are cut.
        picture_crops: crops of pictures: side in pixels, and how often a step takes such.
        small_crops: crops of small images, in the same way.
        pixels: pixels of all crops of a step together.
        rounds: number of rounds; a checkpoint follows each.
        steps: number of steps of a round.
        learning_rate: highest learning rate of the cycle.
        clip_norm: largest norm of a step's gradient.
    """

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

    Attributes:
        blind: settings of the packaged denoiser's own training, as in `conf/denoiser/`; null: the
            denoiser that is trained here is a DnCNN.
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
