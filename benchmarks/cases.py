"""What is measured: for each name our call and its peer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import ot
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks import peers, workers
from benchmarks.images import Scene, make_projection
from benchmarks.measure import Prepare
from superstar.actions import ACTIONS, DnCNN, apply_action
from superstar.control import ShiftEnv
from superstar.images import stream
from superstar.measures import Distance, Projection, ssim, state_features
from superstar.training import global_seed

PROJECTIONS = ("dct", "uniform_qr", "haar", "gaussian", "sparse")
DENSE = ("uniform_qr", "haar", "gaussian")
"""Projections by a dense matrix."""
DIVERGENCES = ("total_variation", "kullback_leibler", "jensen_shannon")
STEP_ACTION = "wavelet_bayes"
STEP_PARTS = ("state", "dct", "ssim", STEP_ACTION, "wasserstein")
"""What a step does, each a case of its own."""
CASES = (
    "state",
    *ACTIONS,
    *PROJECTIONS,
    "wasserstein",
    "sliced_wasserstein",
    *DIVERGENCES,
    "aline_d",
    "ssim",
    "step",
)
GROWING = (
    "state",
    *(name for name in ACTIONS if name not in ("nop", "dncnn")),
    "dct",
    "ssim",
    "wasserstein",
    "sliced_wasserstein",
)
"""Cases measured over the size of the batch."""

DIRECTIONS = 256
DENOISED_PIXELS = 4 * 224**2
"""Pixels of the images that the published denoiser is measured on."""
MEMBERS, CLASSES = 5, 10
SSIM_FLOPS = 5 * 2 * 11 * 2
"""A value's, counted by the textbook: five maps, each filtered down and across with eleven taps."""


@dataclass(frozen=True)
class Peer:
    """A peer of a case.

    Attributes:
        name: what the table calls it.
        prepare: makes its call; None for the sum of the peers of other cases.
        most: images it is measured on at most; its time for more is scaled up from these.
        parts: names of the cases whose peers add up to this one.
    """

    name: str
    prepare: Prepare | None = None
    most: int | None = None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A thing to measure.

    Attributes:
        name: what the table calls it.
        ours: makes our call.
        inputs: what the call has to read, for a number of images.
        peer: if there is an obvious one.
        flops: an image, where they are simple to count.
        make: our first call, if that makes something large which later ones reuse.
    """

    name: str
    ours: Prepare
    inputs: Callable[[int], tuple[Tensor, ...]]
    peer: Peer | None = None
    flops: float | None = None
    make: Callable[[], object] | None = None


def make_cases(scene: Scene, pool: peers.Processes, count: int) -> dict[str, Case]:
    """All cases by name, for at most `count` images beside the peers."""
    pixels = scene.noisy[:count].permute(0, 2, 3, 1).contiguous().numpy()
    pool.share(pixels)
    cases = [
        _state_case(scene, pool),
        *_action_cases(scene, pixels, pool),
        *_projection_cases(scene),
        *_distance_cases(scene),
        _ssim_case(scene),
        _step_case(scene),
    ]
    return {case.name: case for case in cases}


def _state_case(scene: Scene, pool: peers.Processes) -> Case:
    return Case(
        "state",
        lambda count: partial(state_features, scene.noisy[:count]),
        scene.images,
        Peer(
            f"scikit-image, OpenCV, PyWavelets, {peers.cores} processes",
            pool.prepare(workers.state, (3,)),
        ),
    )


def _action_cases(scene: Scene, pixels: NDArray[np.float32], pool: peers.Processes) -> list[Case]:
    with global_seed(0):
        denoiser = DnCNN().fuse()
        published = peers.published_dncnn()
    most = max(1, DENOISED_PIXELS // scene.size**2)
    named = {
        "dncnn": Peer(
            "DnCNN of 20 layers of 64 on each channel, float32",
            lambda count: partial(peers.denoise, published, scene.noisy[:count]),
            most,
        ),
        "bilateral": Peer(
            "OpenCV bilateralFilter", lambda count: partial(peers.bilateral, pixels[:count])
        ),
    }
    for name in ("wavelet_bayes", "wavelet_visu"):
        task = getattr(workers, name)
        named[name] = Peer(
            f"scikit-image denoise_wavelet, {peers.cores} processes",
            pool.prepare(task, pixels.shape[1:]),
        )
    for grid, clip_limit in ((2, 1), (2, 2), (6, 1)):
        named[f"clahe_{grid}_{clip_limit}"] = Peer(
            "OpenCV image by image", _clahe_peer(pixels, grid, clip_limit)
        )

    def ours(name: str) -> Prepare:
        return lambda count: partial(apply_action, scene.noisy[:count], name, denoiser)

    flops = {"dncnn": _convolution_flops(denoiser, scene.size)}
    return [
        Case(name, ours(name), scene.images, named.get(name), flops.get(name)) for name in ACTIONS
    ]


def _clahe_peer(pixels: NDArray[np.float32], grid: int, clip_limit: int) -> Prepare:
    return lambda count: partial(peers.clahe, pixels[:count], grid, clip_limit)


def _convolution_flops(model: DnCNN, size: int) -> float:
    weights = sum(layer.weight.numel() for layer in model.layers if isinstance(layer, nn.Conv2d))
    return 2.0 * weights * (size / model.unshuffle) ** 2


def _projection_cases(scene: Scene) -> list[Case]:
    projections = {kind: make_projection(kind, scene.size) for kind in PROJECTIONS}
    dense = projections["uniform_qr"]
    gray = cache(lambda: scene.noisy.mean(dim=1).flatten(1))
    peer = Peer(
        "dense product in PyTorch, images gray already",
        lambda count: partial(torch.matmul, gray()[:count], torch.from_numpy(dense._matrix.T)),
    )

    def ours(projection: Projection) -> Prepare:
        return lambda count: partial(projection, scene.noisy[:count])

    return [
        Case(
            kind,
            ours(projection),
            scene.images,
            peer,
            2.0 * projection.n * projection.m if kind in DENSE else None,
            partial(projection, scene.noisy[:1]),
        )
        for kind, projection in projections.items()
    ]


def _distance_cases(scene: Scene) -> list[Case]:
    draw = cache(
        lambda m: ot.sliced.get_random_projections(m, DIRECTIONS, seed=0).astype(np.float32)
    )

    def exact(count: int) -> Callable[[], float]:
        return partial(peers.exact_distance, *scene.pairs(count))

    def sliced(count: int) -> Callable[[], float]:
        a, b = (points.numpy() for points in scene.pairs(count))
        return partial(peers.sliced_distance, a, b, draw(a.shape[1]))

    named = {
        "wasserstein": Peer("POT dist and emd2", exact),
        "sliced_wasserstein": Peer("POT sliced_wasserstein_distance", sliced),
    }
    cases = []
    for kind in (*named, *DIVERGENCES, "aline_d"):
        inputs = _predictions if kind == "aline_d" else scene.pairs
        cases.append(Case(kind, _between(kind, inputs), inputs, named.get(kind)))
    return cases


def _between(kind: str, inputs: Callable[[int], tuple[Tensor, ...]]) -> Prepare:
    return lambda count: partial(Distance.create(kind), *inputs(count))


def _predictions(count: int) -> tuple[Tensor, Tensor]:
    """Labels with an ensemble's predictions, and its predictions on other images."""
    draw = stream(0, "benchmark", "predictions")
    labels = draw.integers(CLASSES, size=(2, count, 1))
    right = draw.random((2, count, MEMBERS)) < np.linspace(0.5, 0.9, MEMBERS)
    predicted = np.where(right, labels, draw.integers(CLASSES, size=right.shape))
    clean, shifted = np.concatenate([labels, predicted], axis=2)
    return torch.from_numpy(clean), torch.from_numpy(shifted[:, 1:])


def _ssim_case(scene: Scene) -> Case:
    def inputs(count: int) -> tuple[Tensor, Tensor]:
        return scene.clean[:count], scene.noisy[:count]

    return Case(
        "ssim",
        lambda count: partial(ssim, *inputs(count), data_range=255.0),
        inputs,
        Peer(
            f"pytorch-msssim, {peers.SSIM_CHUNK} at a time",
            lambda count: partial(peers.mean_ssim, *inputs(count)),
        ),
        3.0 * SSIM_FLOPS * scene.size**2,
    )


def _step_case(scene: Scene) -> Case:
    def ours(count: int) -> Callable[[], object]:
        env = ShiftEnv(
            [scene.noisy[:count]],
            scene.reference[:count],
            scene.projection,
            actions=[STEP_ACTION],
            ssim_weight=20.0,
            ssim_threshold=0.994,
        )
        env.reset(seed=0)
        return partial(env.step, 0)

    return Case("step", ours, scene.images, Peer("sum of the peers of its parts", parts=STEP_PARTS))
