"""Every public function takes whole numbers of NumPy and PyTorch as it takes Python's."""

import json
from functools import partial
from operator import index

import numpy as np
import pytest
import torch

from superstar.actions import DnCNN, denoise, load_denoiser, save_denoiser
from superstar.actions.denoiser_training import DenoiserSchedule, psnr_gains, train_denoiser
from superstar.checkpoint import Checkpoint, TrainingState
from superstar.classifiers import (
    ClassifierSchedule,
    SmallResNet,
    WideResNet,
    load_classifier,
    predict,
    save_classifier,
    train_standard,
)
from superstar.control import ShiftEnv
from superstar.control.actor_critic import PolicySchedule, train_actor_critic
from superstar.control.clustering import cluster_states
from superstar.control.operability import fit_tree
from superstar.control.thresholds import clean_ratios
from superstar.corruptions import corrupt
from superstar.errors import InputError
from superstar.images import ImageSet, stream
from superstar.integers import whole
from superstar.jpeg import through_jpeg
from superstar.measures import Distance, Projection, cai_lim_distance, ssim
from superstar.photos import photo_patches

COLOURS = {"mean": (0.5,) * 3, "std": (0.25,) * 3}
IMAGES = torch.rand(6, 3, 16, 16, generator=torch.Generator().manual_seed(0))
STATES = np.random.default_rng(0).random((20, 3))
TWO = ImageSet(
    np.repeat(np.array([40, 200] * 8, np.uint8), 16 * 16 * 3).reshape(16, 16, 16, 3),
    np.arange(16) % 2,
)


def points(images, **options):
    return Projection.create("dct", n=256, m=8, **options, **COLOURS)(images)


def environment(k):
    projection = Projection.create("dct", n=256, m=8, **COLOURS)
    return ShiftEnv(
        [IMAGES, IMAGES**2],
        projection(IMAGES),
        projection,
        actions=["nop", "bilateral"],
        horizon=k(2),
        ssim_weight=1.0,
        ssim_threshold=0.5,
    )


def episode(k):
    env = environment(k).view(horizon=k(1))
    env.reset(seed=k(1))
    env.reset(options={"batch": k(1)})
    return env.step(k(1))[:2]


def classifier(network, path):
    save_classifier(network, path)
    return load_classifier(path).state_dict()


def denoiser(network, path):
    save_denoiser(network, path)
    return load_denoiser(path).state_dict()


def seeded(build):
    torch.manual_seed(0)
    return build()


def trained(k, folder):
    network = seeded(lambda: SmallResNet(2, 2, **COLOURS))
    schedule = ClassifierSchedule(
        shift=k(1),
        epochs=k(4),
        batch_size=k(4),
        learning_rate=0.05,
        seed=k(1),
        threads=k(1),
        checkpoint=Checkpoint(folder / "checkpoint"),
    )
    return train_standard(network, TWO, schedule)[1]


def policy(k, folder):
    schedule = PolicySchedule(
        episodes=k(2),
        seed=k(1),
        checkpoint=Checkpoint(folder / "checkpoint"),
        checkpoint_episodes=k(1),
    )
    return train_actor_critic(environment(k), schedule, progress=False).curves


def ratios(k):
    projection = Projection.create("dct", n=256, m=8, **COLOURS)
    return clean_ratios(
        IMAGES,
        projection,
        partial(Distance.create("wasserstein"), projection(IMAGES**2)),
        batch_size=k(3),
        draws=k(2),
        actions=["bilateral"],
        seed=k(1),
    )


# Functions of the kind of number and a folder.
CALLS = {
    "corrupt": lambda k, _: corrupt(IMAGES, "fog", severity=k(3), seed=k(1), first_index=k(2)),
    "corrupt by strength": lambda k, _: corrupt(IMAGES, "median_blur", strength=k(3)),
    "stream": lambda k, _: stream(k(1), "key", k(2)).random(),
    "ImageSet.batch": lambda k, _: TWO.batch(k(1)),
    "ImageSet.take": lambda k, _: TWO.take(k(1)).images,
    "photo_patches": lambda k, _: (
        photo_patches(k(16), {"test": k(3)}, seed=k(1), gap=k(2))["test"].images
    ),
    "through_jpeg": lambda k, _: through_jpeg(IMAGES, k(85)),
    "ssim": lambda k, _: ssim(IMAGES, IMAGES**2, data_range=k(1)),
    "Projection": lambda k, _: json.dumps(
        Projection.create("sparse", n=k(256), m=k(8), seed=k(1), **COLOURS).to_dict()
    ),
    "Distance": lambda k, _: json.dumps(
        Distance.create("sliced_wasserstein", p=k(2), directions=k(8), seed=k(1)).to_dict()
    ),
    "divergence": lambda k, _: json.dumps(
        Distance.create("kullback_leibler", directions=k(8), bins=k(4), seed=k(1)).to_dict()
    ),
    "cai_lim_distance": lambda k, _: cai_lim_distance(
        points(IMAGES), points(IMAGES**2)[:, :3], p=k(2), restarts=k(1), iterations=k(2), seed=k(1)
    ),
    "predict": lambda k, _: predict(
        seeded(lambda: SmallResNet(3, 2, **COLOURS)), IMAGES, batch_size=k(2)
    ),
    "SmallResNet": lambda k, folder: classifier(
        seeded(lambda: SmallResNet(k(2), k(2), **COLOURS)), folder / "file"
    ),
    "WideResNet": lambda k, folder: classifier(
        seeded(lambda: WideResNet(k(2), k(10), k(1), **COLOURS)), folder / "file"
    ),
    "train_standard": trained,
    "DnCNN": lambda k, folder: denoiser(
        seeded(lambda: DnCNN(k(3), k(4), k(2), k(3), k(1))), folder / "file"
    ),
    "denoise": lambda k, _: denoise(
        seeded(lambda: DnCNN(3, 4)).fuse(), IMAGES, batch_size=k(2)
    ),
    "train_denoiser": lambda k, _: train_denoiser(
        TWO,
        DenoiserSchedule(
            k(4), k(4), seed=k(1), threads=k(1), crop=k(16), jpeg_quality=k(85)
        ),
        depth=k(2), width=k(4),
    )[1],
    "psnr_gains": lambda k, _: psnr_gains(
        seeded(lambda: DnCNN(3, 4)).fuse(), IMAGES, sigmas=[k(15)], seed=k(1)
    ),
    "ShiftEnv": lambda k, _: episode(k),
    "train_actor_critic": policy,
    "clean_ratios": lambda k, _: ratios(k),
    "fit_tree": lambda k, _: fit_tree(
        STATES, np.arange(20) % 2, np.arange(20), depths=[k(3)], seed=k(1)
    ).sweep,
    "cluster_states": lambda k, _: cluster_states(STATES, most=k(3), seed=k(1)).labels,
    "Checkpoint": lambda k, folder: (
        Checkpoint(folder / "file").save({"count": k(1)}, TrainingState({}, {}))
        or Checkpoint(folder / "file").load({"count": 1}).values
    ),
}  # fmt: skip


def plain(result):
    """What two results can be compared by."""
    if isinstance(result, dict):
        return {str(int(key)) if not isinstance(key, str) else key: plain(value)
                for key, value in result.items()}  # fmt: skip
    if isinstance(result, list | tuple):
        return [plain(part) for part in result]
    if hasattr(result, "to_dict"):
        return result.to_dict("list")
    return np.asarray(result).tolist()


@pytest.mark.parametrize("kind", [np.uint16, torch.tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize("call", CALLS)
def test_takes_whole_numbers_of_other_libraries(call, kind, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    expected = CALLS[call](int, tmp_path / "one")
    found = CALLS[call](kind, tmp_path / "other")
    assert repr(plain(found)) == repr(plain(expected))


@pytest.mark.parametrize("value", [3, np.int32(3), np.array(3), torch.tensor(3, dtype=torch.uint8)])
def test_a_whole_number_becomes_an_int(value):
    assert whole(value, "it", 3, 3) == index(value) == 3
    assert type(whole(value, "it")) is int


@pytest.mark.parametrize(
    "value",
    [True, np.True_, torch.tensor(True), 3.0, np.float32(3), torch.tensor(3.0), "3", None,
     torch.tensor([3]), np.array([3]), -1, 5],
)  # fmt: skip
def test_anything_else_is_refused(value):
    with pytest.raises(InputError, match=r"^it must be a whole number from 0 to 4, not "):
        whole(value, "it", most=4)
    if value != 5:
        with pytest.raises(InputError, match=r"^it must be a whole number of at least 0, not "):
            whole(value, "it")
