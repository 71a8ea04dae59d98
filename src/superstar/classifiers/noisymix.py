"""NoisyMix: AugMix with features that are mixed between images and made noisy."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from superstar.classifiers.augmix import check_severity, jensen_shannon, three_views
from superstar.classifiers.training import ClassifierSchedule, Network, draw_seed, train_scheme
from superstar.errors import InputError
from superstar.images import ImageSet, stream

NOISE_SHARE = (2.0, 5.0)
"""Parameters of the beta distribution of a step's noise level, as a share of the highest."""


def train_noisymix(
    standard: Network,
    images: ImageSet,
    schedule: ClassifierSchedule,
    *,
    consistency: float = 12.0,
    severity: int = 3,
    alpha: float = 1.0,
    additive_noise: float = 0.5,
    multiplicative_noise: float = 0.5,
) -> tuple[Network, list[float]]:
    """Fine-tune a classifier with NoisyMix (Erichson et al., 2022, arXiv:2202.01263).

    The three views of AugMix go through the network together. At one of its `mixing_points`,
    drawn for each step, the features of each view are mixed with those of the same view of
    another image, at one λ ~ Beta(alpha, alpha) for the whole step, and made noisy (noisy feature
    mixup, Lim et al., ICLR 2022). The loss is the cross-entropy of the clean view, mixed between
    both images' labels likewise, plus `consistency` times the Jensen-Shannon divergence of the
    three predictions. Pairs, λ and the point are the same for all views, so that these may be
    expected to agree; the noise is every number's own.

    As in the paper, but for this: the levels of noise are the highest of a step, and each step
    draws its own share of them from Beta(2, 5), as the authors' program does; that program can
    leave out the additive noise at some places, which this one does not; training starts from a
    trained classifier.

    Args:
        standard: where to start from; not changed. Its attribute `mixing_points` lists the modules
            whose input may be mixed; the first one's input is the normalised image.
        images: training images and their labels.
        schedule: of the training; each image of a batch goes in three times.
        consistency: weight of the divergence.
        severity: of AugMix's operations, 1 to 10.
        alpha: of the beta distribution of λ, above 0.
        additive_noise: highest standard deviation of what is added, in units of the features.
        multiplicative_noise: features are multiplied by up to 1 ± this.

    Returns:
        The classifier in eval mode and the mean loss of each epoch.

    Raises:
        InputError: a network without mixing points, labels out of range, other arguments out of
            theirs, or no progress.
    """
    check_severity(severity)
    if not alpha > 0 or not additive_noise >= 0 or not multiplicative_noise >= 0:
        raise InputError(
            "NoisyMix needs an alpha above 0 and noise of 0 or more, "
            f"not {alpha}, {additive_noise} and {multiplicative_noise}"
        )
    _mixing_points(standard)

    def augment(
        clean: Tensor, labels: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        return three_views(clean, severity, generator), labels, draw_seed(generator)

    def loss(model: nn.Module, batch: Tensor, targets: Tensor, seed_of_step: Tensor) -> Tensor:
        points = _mixing_points(model)
        mixing = Mixing.draw(
            int(seed_of_step),
            len(targets),
            len(points),
            alpha,
            additive_noise,
            multiplicative_noise,
        )
        with _changed_input(points[mixing.point], mixing.apply):
            clean, first, second = model(batch).float().chunk(3)
        partners = targets[mixing.partners.to(targets.device)]
        own, other = (functional.cross_entropy(clean, labels) for labels in (targets, partners))
        divergence = jensen_shannon(clean, first, second)
        return mixing.share * own + (1 - mixing.share) * other + consistency * divergence

    return train_scheme(
        "noisymix",
        standard,
        images,
        schedule,
        augment,
        loss,
        consistency=consistency,
        severity=severity,
        alpha=alpha,
        additive_noise=additive_noise,
        multiplicative_noise=multiplicative_noise,
    )


@dataclass(frozen=True)
class Mixing:
    """What one step of noisy feature mixup has drawn.

    Attributes:
        point: index of the module whose input is mixed.
        partners: which image each of the B images is mixed with, int64 (B,).
        share: λ, of an image's own features, in [0, 1].
        additive_noise: standard deviation of what is added.
        multiplicative_noise: features are multiplied by up to 1 ± this.
        seed: of the noise.
    """

    point: int
    partners: Tensor
    share: float
    additive_noise: float
    multiplicative_noise: float
    seed: int

    @classmethod
    def draw(
        cls,
        seed: int,
        images: int,
        points: int,
        alpha: float,
        additive_noise: float,
        multiplicative_noise: float,
    ) -> "Mixing":
        """Draw for that many images and mixing points; levels of noise are the highest."""
        random = stream(seed, "noisymix")
        return cls(
            int(random.integers(points)),
            torch.from_numpy(random.permutation(images)),
            float(random.beta(alpha, alpha)),
            additive_noise * float(random.beta(*NOISE_SHARE)),
            multiplicative_noise * float(random.beta(*NOISE_SHARE)),
            int(random.integers(2**63)),
        )

    def apply(self, features: Tensor) -> Tensor:
        """Mix the features of each view within it, then make them noisy.

        Args:
            features: (V·B, ...) for V views of the B images, one view behind the other.
        """
        count = len(self.partners)
        starts = torch.arange(0, len(features), count).repeat_interleave(count)
        partners = (starts + self.partners.repeat(len(features) // count)).to(features.device)
        # Unlike `index_select`, this keeps channels last in memory.
        mixed = torch.lerp(features[partners], features, self.share)
        generator = torch.Generator(features.device).manual_seed(self.seed)
        if self.multiplicative_noise > 0:
            lowest, highest = 1 - self.multiplicative_noise, 1 + self.multiplicative_noise
            noise = _noise_like(mixed).uniform_(lowest, highest, generator=generator)
            mixed = mixed * _placed_like(mixed, noise)
        if self.additive_noise > 0:
            noise = _noise_like(mixed).normal_(0, self.additive_noise, generator=generator)
            mixed = mixed + _placed_like(mixed, noise)
        return mixed


def _noise_like(features: Tensor) -> Tensor:
    """Room for as many numbers in a row: in one row they are drawn many times faster."""
    return torch.empty(features.numel(), dtype=features.dtype, device=features.device)


def _placed_like(features: Tensor, noise: Tensor) -> Tensor:
    return noise.as_strided(features.shape, torch.empty_like(features).stride())


@contextmanager
def _changed_input(module: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside the block the module gets its input changed."""
    hook = module.register_forward_pre_hook(lambda _, inputs: (change(inputs[0]),))
    try:
        yield
    finally:
        hook.remove()


def _mixing_points(network: nn.Module) -> list[nn.Module]:
    points = getattr(network, "mixing_points", None)
    if not points:
        raise InputError(
            f"NoisyMix cannot mix features of a {type(network).__name__}: "
            "it needs an attribute mixing_points that lists the modules whose input may be mixed"
        )
    return list(points)
