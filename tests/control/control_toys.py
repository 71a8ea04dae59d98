"""A toy world where every figure can be worked out by hand, and synthetic photographs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from superstar.actions.appearance import Appearance
from superstar.control import Supervisor
from superstar.control.calibrated import Calibrated, Limits
from superstar.control.gate import calibrate_gate
from superstar.control.networks import Actor
from superstar.control.worth import Worth
from superstar.measures import Projection
from superstar.measures.bands import Bands, band_histograms
from superstar.measures.rulers import BandRuler

LIMITS = Limits(horizon=3, sample=40, least_fall=0.1, most_rise=0.1, least_gain=0.05)
WORTHY = Worth(0.0, (0.0, 1.0), (0.1, 0.9))


@cache
def calibrated(height: int, width: int) -> Calibrated:
    """At home among shaded blobs."""
    clean, others = (photographs(count, height, width, seed) for count, seed in ((80, 1), (150, 2)))
    ruler = BandRuler.of(band_histograms(clean), Bands.of(height, width))
    gate = calibrate_gate(ruler, band_histograms(others), rate=0.02, draws=300, sizes=(1, 10, 50))
    worth = dict.fromkeys(["match_contrast", "match_tone", "dncnn"], WORTHY)
    return Calibrated(ruler, Appearance.of(clean), gate, worth, LIMITS)


def supervisor_for(side: int) -> Supervisor:
    """With the controller of `calibrated`, but without the denoiser, which is slow here."""
    torch.manual_seed(0)
    colours = {"mean": (0.4, 0.5, 0.6), "std": (0.2, 0.25, 0.3)}
    projection = Projection.create("dct", n=side**2, m=40, seed=3, **colours)
    controller = calibrated(side, side)
    worth = {name: w for name, w in controller.worth.items() if "dncnn" not in name}
    actions = ("nop", "wavelet_bayes", "clahe_2_1")
    return Supervisor(
        actor=Actor(len(actions)),
        tree=DecisionTreeClassifier(random_state=0).fit(np.zeros((2, 3)), [1, 1]),
        denoiser=None,
        validation_points=projection(photographs(10, side, side, seed=9)),
        projection=projection,
        alpha=0.5,
        beta=0.999,
        horizon=3,
        actions=actions,
        image_size=(side, side),
        benchmark="toys",
        calibrated=replace(controller, worth=worth),
    )


@dataclass
class World:
    """Stand-ins for actions and measures: only the mean level of the images counts.

    An action multiplies the images by its factor; the one coordinate of a point is 100 times its
    image's level, which is the distance from a reference at 0; the similarity is 1 minus the
    change of the level; the state is the level three times.
    """

    factors: dict[str, float] = field(
        default_factory=lambda: {
            "nop": 1.0,
            "bilateral": 0.999,
            "wavelet_bayes": 0.97,
            "wavelet_visu": 0.95,
            "clahe_2_1": 0.5,
            "clahe_2_2": 1.1,
        }
    )
    applied: list[str] = field(default_factory=list)
    measured: int = 0

    def apply_action(self, images: Tensor, name: str, denoiser: object = None) -> Tensor:
        self.applied.append(name)
        return (images * self.factors[name]).clamp(0, 1)

    def projection(self, images: Tensor) -> Tensor:
        self.measured += 1
        return hundredfold(images)

    def ssim(self, first: Tensor, second: Tensor, data_range: float) -> float:
        return 1 - abs(float(first.double().mean() - second.double().mean()))

    def state_features(self, images: Tensor) -> Tensor:
        return images.mean(dim=(1, 2, 3))[:, None].expand(-1, 3)


def hundredfold(images: Tensor) -> Tensor:
    return 100 * images.double().mean(dim=(1, 2, 3))[:, None]


def level(value: float, count: int = 2, side: int = 16) -> Tensor:
    return torch.full((count, 3, side, side), value)


def photographs(count: int, height: int = 24, width: int = 24, seed: int = 0) -> Tensor:
    """Shaded blobs with edges on a slope, 8-bit levels: no two alike."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    images = []
    for _ in range(count):
        channels = []
        angle, offset = rng.uniform(0, 2 * np.pi), rng.uniform(0.2, 0.6)
        shade = offset + 0.3 * (np.cos(angle) * x + np.sin(angle) * y)
        centre, radius = rng.uniform(0.2, 0.8, 2), rng.uniform(0.1, 0.4)
        disc = (x - centre[0]) ** 2 + (y - centre[1]) ** 2 < radius**2
        texture = 0.05 * np.sin(rng.uniform(5, 60) * x + rng.uniform(5, 60) * y)
        for tint in rng.uniform(0.7, 1.2, 3):
            channels.append(tint * shade + rng.uniform(-0.3, 0.3) * disc + texture)
        images.append(channels)
    stacked = np.clip(np.asarray(images), 0, 1)
    return torch.from_numpy(np.round(stacked * 255) / 255).float()


def noisy(images: Tensor, amplitude: float = 0.3, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    noise = torch.rand(images.shape, generator=generator) * 2 - 1
    return (images + amplitude * noise).clamp(0, 1)


class Lazy(Sequence[Tensor]):
    """Batches that are made when asked for."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = values
        self.loads = 0

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index):
        self.loads += 1
        return level(self.values[index])


class Signpost(gymnasium.Env):
    """One step: the action must be the hot coordinate of the observation."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 1, (3,), dtype=np.float32)
        self.action_space = spaces.Discrete(3)
        self.wanted = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.wanted = int(self.np_random.integers(3))
        return np.eye(3, dtype=np.float32)[self.wanted], {}

    def step(self, action):
        reward = -80.0 if action == self.wanted else -120.0
        return np.zeros(3, dtype=np.float32), reward, True, False, {}
