"""The denoiser that the package brings along: its images, its training and its gate."""

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from superstar.actions.blind_training import BlindSchedule, Crops, train_blind_denoiser
from superstar.actions.denoiser_gate import gate_of
from superstar.actions.noise_mix import NoiseMix
from superstar.actions.tiles import tiles
from superstar.actions.unet import UNet
from superstar.checkpoint import own_part
from superstar.datasets import DenoiserImages, ImageFiles
from superstar.decoding import read_image
from superstar.images import ImageSet
from superstar.parameters import BlindTraining, Execution
from superstar.splitting import hold_out, occurring_in, split_by_class
from superstar.training import global_seed


def train_on(
    source: Callable[[], DenoiserImages], given: BlindTraining, run: Execution, seed: int
) -> tuple[UNet, list[float]]:
    """The denoiser, and its mean loss of each round. Interrupted, it goes on where it was."""
    images = source()
    design = _design(images, given, seed)
    held, train = _small(images, given, seed)
    pictures = tiles(_read(design), given.tile, given.scales)
    crops = [
        *(Crops(pictures, crop.side, crop.share) for crop in given.picture_crops),
        *(Crops(train.images, crop.side, crop.share) for crop in given.small_crops),
    ]
    with global_seed(seed):
        network = UNet(given.widths, given.blocks, given.unshuffle)
    schedule = BlindSchedule(
        **given.schedule,
        seed=seed,
        threads=run.threads,
        device=run.device,
        checkpoint=own_part("denoiser"),
    )
    losses = train_blind_denoiser(network, crops, NoiseMix(**given.noise.model_dump()), schedule)
    settings = given.gate.model_dump(exclude={"images", "strength"})
    clean = [islice(each, given.gate.images) for each in (_read(design), held.images)]
    network.gate = gate_of(network.cpu(), clean, **settings)
    network.strength = given.gate.strength
    return network.fuse(), losses


def held_out(source: Callable[[], DenoiserImages], given: BlindTraining, seed: int) -> ImageSet:
    """Small images that the denoiser is not trained on."""
    return _small(source(), given, seed)[0]


def _design(images: DenoiserImages, given: BlindTraining, seed: int) -> ImageFiles:
    """Pictures of the classes that environment imagenet designs on."""
    files = images.pictures.design
    if images.pictures.test is not None:
        return files
    return files.take(np.flatnonzero(split_by_class(files.labels, given.design_classes, seed)))


def _read(files: ImageFiles) -> Iterator[NDArray[np.uint8]]:
    return (read_image(files.folder / name) for name in files.names)


def _small(images: DenoiserImages, given: BlindTraining, seed: int) -> tuple[ImageSet, ImageSet]:
    """Held out and kept, as in environment cifar100."""
    small = images.small.train
    known = occurring_in(small, images.small.test)
    held, kept = hold_out(small, given.small_held_out, given.small_train, seed, known)
    return small.take(held), small.take(kept)
