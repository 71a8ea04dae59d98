"""Image files, as people have them, to 8-bit RGB.

The common formats that Pillow reads. The orientation that EXIF tells is applied. Gray, palette and
CMYK images become RGB through Pillow's conversion (colour profiles are not applied). What is
transparent lies on white, as a viewer shows it. Of 16-bit gray the high byte stays, which is what
Pillow keeps of 16-bit colour; 32-bit gray whose levels fit into 8 bits keeps them. Of several
frames the first counts. What cannot be read whole is refused by name.
"""

import logging
import os
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from functools import lru_cache, partial
from io import BytesIO
from itertools import islice
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from superstar.errors import InputError
from superstar.images import SMALLEST_SIDE

SUFFIXES = frozenset(
    (
        *(".apng", ".avif", ".bmp", ".dib", ".gif", ".j2k", ".jfif", ".jp2", ".jpe", ".jpeg"),
        *(".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tga", ".tif", ".tiff", ".webp"),
    )
)
"""Endings, in lower case, by which a file in a folder counts as an image."""

LARGEST_IMAGE = 2**28
"""Pixels: those of phones have up to 200 million. One of this size takes 2 GB to read."""
ONE_AT_A_TIME = 2**26
"""Pixels of an image that is not decoded beside others of its kind, for the memory it takes."""
NAMED_AT_MOST = 20
"""Images that a message names."""
DARK = 2**12
"""Levels of 16-bit gray below which an image comes out nearly black."""

_WHITE = (255, 255, 255, 255)
_LARGE = Lock()

logger = logging.getLogger(__name__)


class Encoded(NamedTuple):
    """The content of an image file that lies in a table rather than on its own.

    Attributes:
        name: what to call it in messages.
        content: the file's bytes.
    """

    name: str
    content: bytes


Source = str | PathLike[str] | Encoded
"""A path or the content of a file."""


def silence_pillow() -> None:
    """Mute Pillow's warnings, of damaged EXIF blocks above all, for the whole process.

    Pillow warns while it decodes, in threads; `warnings.catch_warnings` is not safe there.
    """
    warnings.filterwarnings("ignore", module=r"PIL\.")


silence_pillow()
# Pillow refuses images of more than twice this number.
Image.MAX_IMAGE_PIXELS = LARGEST_IMAGE // 2


def read_image(
    source: Source, resize: int | None = None, crop: int | None = None
) -> NDArray[np.uint8]:
    """Read one image.

    Args:
        source: path or content of a file.
        resize: if given, length in pixels that the shorter side gets: bilinear and antialiased, as
            `Resize` of torchvision does it with Pillow's images.
        crop: if given, side in pixels of the square that is cut from the centre, as by
            `CenterCrop`; but a smaller image is refused, not padded.

    Returns:
        uint8 (H, W, 3), RGB.

    Raises:
        InputError: the file is missing, empty, no image, truncated or damaged; it has levels beyond
            16 bits, more than `LARGEST_IMAGE` pixels, or a side shorter than 16; or a length below
            16, or a crop that does not fit.
    """
    _check_sides(resize, crop)
    name, content = _name(source), _content(source)
    if not content:
        raise InputError(f"{name} is empty: put the whole file there or remove it")
    try:
        with (
            Image.open(BytesIO(content)) as file,
            _LARGE if file.width * file.height > ONE_AT_A_TIME else nullcontext(),
        ):
            file.load()
            _turn_upright(file)
            image = _rgb(file, name)
    except (InputError, MemoryError):
        raise
    except Image.DecompressionBombError as error:
        reason = str(error).partition(",")[0]
        raise InputError(f"{name} is too large ({reason}): make it smaller") from error
    except UnidentifiedImageError as error:
        raise InputError(f"{name} is not a readable image: replace or remove it") from error
    except Exception as error:  # Pillow's decoders raise a dozen kinds.
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"{name} is truncated or damaged ({reason}): replace it") from error
    if min(image.size) < SMALLEST_SIDE:
        raise InputError(
            f"{name} is {image.height}x{image.width} pixels: "
            f"at least {SMALLEST_SIDE}x{SMALLEST_SIDE} are needed"
        )
    return np.array(_fit(image, name, resize, crop))


def read_images(
    sources: Sequence[Source], resize: int | None = None, crop: int | None = None
) -> NDArray[np.uint8]:
    """All images at once: uint8 (N, H, W, 3). Arguments and errors are those of `read_batches`."""
    return next(read_batches(sources, max(1, len(sources)), resize, crop))


def read_batches(
    sources: Sequence[Source],
    batch_size: int,
    resize: int | None = None,
    crop: int | None = None,
    workers: int | None = None,
) -> Iterator[NDArray[np.uint8]]:
    """Read images in order, in batches, with several threads.

    While the caller is busy with a batch the next one is decoded; memory is bounded by the batch.

    Args:
        sources: paths or contents of files; without resize and crop, of images of one size.
        batch_size: images in a batch; the last one may hold fewer.
        resize: as in `read_image`.
        crop: as in `read_image`.
        workers: threads; by default one for each processor. They change the speed alone.

    Returns:
        An iterator of uint8 (N, H, W, 3).

    Raises:
        InputError: no source, a batch size or number of workers below 1; while iterating, images
            that `read_image` refuses or of another size than the first: all of them are looked for
            then, and up to 20 named.
    """
    _check_sides(resize, crop)
    threads = cpu_count() if workers is None else workers
    for what, value in (("batch_size", batch_size), ("workers", threads)):
        if value < 1:
            raise InputError(f"{what} must be at least 1, but is {value}")
    if len(sources) == 0:
        raise InputError("there are no images to read")
    return _batches(sources, batch_size, resize, crop, threads)


def _batches(
    sources: Sequence[Source], size: int, resize: int | None, crop: int | None, threads: int
) -> Iterator[NDArray[np.uint8]]:
    read = partial(read_image, resize=resize, crop=crop)
    ahead: deque[Future[NDArray[np.uint8]]] = deque()
    coming = iter(sources)
    first: tuple[str, tuple[int, ...]] | None = None
    refused: list[str] = []
    with ThreadPoolExecutor(threads) as pool:
        try:
            ahead.extend(pool.submit(read, s) for s in islice(coming, max(size, threads)))
            for start in range(0, len(sources), size):
                batch = None
                for place, source in enumerate(sources[start : start + size]):
                    try:
                        image = ahead.popleft().result()
                        first = first or (_name(source), image.shape)
                        _check_same(_name(source), image.shape, *first)
                    except InputError as error:
                        refused.append(str(error))
                    ahead.extend(pool.submit(read, s) for s in islice(coming, 1))
                    if not refused:
                        if batch is None:
                            batch = np.empty(
                                (min(size, len(sources) - start), *image.shape), np.uint8
                            )
                        batch[place] = image
                if batch is not None and not refused:
                    yield batch
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    if refused:
        raise InputError(_list(refused, len(sources)))


def _check_same(name: str, shape: tuple[int, ...], first: str, expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise InputError(
            f"{name} is {shape[0]}x{shape[1]} pixels, but {first} is "
            f"{expected[0]}x{expected[1]}: resize and crop them to one size"
        )


def _list(refused: list[str], count: int) -> str:
    """What is wrong with some of the images, in one line."""
    if len(refused) == 1:
        return refused[0]
    more = len(refused) - NAMED_AT_MOST
    named = [*refused[:NAMED_AT_MOST], *([f"and {more} more"] if more > 0 else [])]
    return f"{len(refused)} of {count} images cannot be taken: {'; '.join(named)}"


def user_path(path: str) -> Path:
    """A path as a user gives it: `~` is the home, links and `..` are followed; absolute."""
    return Path(os.path.expanduser(path)).resolve()


def _name(source: Source) -> str:
    return source.name if isinstance(source, Encoded) else str(Path(source))


def _content(source: Source) -> bytes:
    if isinstance(source, Encoded):
        return source.content
    path = Path(source)
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file, though it is named as an image: remove it")
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"image {path} does not exist") from error
    except OSError as error:
        raise InputError(f"image {path} cannot be read ({error.strerror})") from error


def _rgb(image: Image.Image, name: str) -> Image.Image:
    if image.mode == "F":
        raise InputError(f"{name} holds floating-point values: save it with 8 or 16 bits a channel")
    if image.mode.startswith("I"):
        levels = np.asarray(image)
        low, high = int(levels.min()), int(levels.max())
        if low < 0 or high > 65535:
            raise InputError(
                f"{name} holds levels from {low} to {high}: save it with 8 or 16 bits a channel"
            )
        if image.mode == "I" and high < 256:
            return Image.fromarray(levels.astype(np.uint8)).convert("RGB")
        if high < DARK:
            _warn_dark(name, high)
        return Image.fromarray((levels >> 8).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, _WHITE), layer).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _turn_upright(image: Image.Image) -> None:
    try:
        ImageOps.exif_transpose(image, in_place=True)
    except MemoryError:
        raise
    except Exception:  # A damaged EXIF block takes nothing from the pixels.
        return


@lru_cache(1000)  # Sets are read many times.
def _warn_dark(name: str, high: int) -> None:
    logger.warning(
        "%s holds levels up to %d of 65,535, so that it comes out nearly black: scale them if that "
        "is not meant",
        name,
        high,
    )


def _fit(image: Image.Image, name: str, resize: int | None, crop: int | None) -> Image.Image:
    if resize is not None:
        short, long = sorted(image.size)
        longer = int(resize * long / short)
        upright = image.width <= image.height
        size = (resize, longer) if upright else (longer, resize)
        if size != image.size:
            image = image.resize(size, Image.Resampling.BILINEAR)
    if crop is not None:
        if min(image.size) < crop:
            raise InputError(
                f"{name} is {image.height}x{image.width} pixels, which has no room for a crop of "
                f"{crop}x{crop}: take a smaller crop or larger images"
            )
        left, top = (round((side - crop) / 2) for side in image.size)
        image = image.crop((left, top, left + crop, top + crop))
    return image


def _check_sides(resize: int | None, crop: int | None) -> None:
    for what, side in (("resize", resize), ("crop", crop)):
        if side is not None and side < SMALLEST_SIDE:
            raise InputError(f"{what} must be at least {SMALLEST_SIDE} pixels, but is {side}")
    if resize is not None and crop is not None and crop > resize:
        raise InputError(f"a crop of {crop} pixels does not fit a shorter side of {resize}")
