"""Times of the state, actions, projection, distance and SSIM on photo patches, with peers."""

import argparse
import logging
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import torch
from skimage.filters.rank import entropy
from skimage.morphology import disk
from skimage.restoration import denoise_wavelet

from superstar.actions import ACTIONS, apply_action
from superstar.actions.dncnn import DnCNN
from superstar.measures import Projection, ssim, state_features, wasserstein_distance
from superstar.photos import photo_patches

logger = logging.getLogger("benchmarks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")

    sets = photo_patches(given.size, {"train": given.images, "validation": given.images})
    clean, other = sets["validation"].batch(), sets["train"].batch()
    noise = 0.1 * torch.randn(other.shape, generator=torch.Generator().manual_seed(0))
    noisy = (other + noise).clamp(0, 1)
    projection = Projection.create(
        "dct", n=given.size**2, m=500, seed=0, mean=(0.45,) * 3, std=(0.25,) * 3
    )
    points = projection(clean)
    denoiser = DnCNN(depth=8, width=48, unshuffle=2).fuse()

    ours: dict[str, Callable[[], object]] = {
        "state": partial(state_features, noisy),
        "projection": partial(projection, noisy),
        "distance": partial(wasserstein_distance, points, noisy, projection),
        "ssim": partial(ssim, other, noisy),
    } | {name: partial(apply_action, noisy, name, denoiser) for name in ACTIONS}

    array = noisy.permute(0, 2, 3, 1).numpy()
    with ProcessPoolExecutor(max_workers=2) as pool:
        peers: dict[str, tuple[str, Callable[[], object]]] = {
            "state": (
                "scikit-image rank entropy, two processes",
                lambda: list(pool.map(_rank_entropy, array, chunksize=25)),
            ),
            "wavelet_bayes": (
                "scikit-image, two processes",
                lambda: list(pool.map(_wavelet, array, chunksize=25)),
            ),
        }
        rows = []
        for name, run in ours.items():
            seconds = best_of(run, given.repeats)
            row = {"what": name, "seconds": seconds, "peer": "", "peer_seconds": np.nan}
            if name in peers:
                row["peer"], row["peer_seconds"] = (
                    peers[name][0],
                    best_of(peers[name][1], given.repeats),
                )
            rows.append(row)
    table = pd.DataFrame(rows)
    table["ratio"] = table["peer_seconds"] / table["seconds"]
    logger.info("%d images, %d x %d", given.images, given.size, given.size)
    logger.info(table.to_markdown(index=False, floatfmt=".3f"))


def best_of(run: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest of some runs, after one to warm up."""
    run()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times)


def _rank_entropy(image: np.ndarray) -> float:
    gray = (255 * image.mean(2)).astype(np.uint8)[::2, ::2]
    return float(entropy(gray, disk(10)).mean())


def _wavelet(image: np.ndarray) -> np.ndarray:
    return denoise_wavelet(
        image,
        method="BayesShrink",
        mode="soft",
        convert2ycbcr=True,
        rescale_sigma=True,
        channel_axis=2,
    )


if __name__ == "__main__":
    main()
