"""The training loop that classifiers and the denoiser share."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from joblib import cpu_count
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from superstar.checkpoint import Checkpoint, TrainingState, digest, restore, tensors_of
from superstar.errors import InputError
from superstar.images import check_seed, stream
from superstar.integers import whole

logger = logging.getLogger(__name__)

LOG_SECONDS = 30.0
"""An epoch gets a line in the log once that much time has passed since the last line."""

CHECK_AFTER = 0.5
"""Share of the steps after which a loss that has not fallen ends a training."""

MakeBatch = Callable[[Tensor, torch.Generator], tuple[Tensor, ...]]
"""Indices int64 (B,) and a generator in, the tensors of one training step out."""
Loss = Callable[..., Tensor]
"""The model and a batch's tensors in, a scalar out."""


def supports_bfloat16(device: str | torch.device = "cpu") -> bool:
    """Whether the device has instructions for bfloat16, so that autocast gains time."""
    kind = torch.device(device).type
    if kind == "cuda":
        return torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    return kind == "cpu" and torch.cpu._is_avx512_bf16_supported()


@contextmanager
def fixed_threads(threads: int) -> Iterator[None]:
    """Compute on that many threads inside the block, and as before after it.

    Raises:
        InputError: threads below 1.
    """
    count = whole(threads, "threads", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def global_seed(seed: int, device: str | torch.device = "cpu") -> Iterator[None]:
    """Seed the global generator, and that of a GPU, inside the block only.

    For code that draws from nowhere else: initialisers of layers, dropout, torchvision's
    transforms.
    """
    seed, device = check_seed(seed), torch.device(device)
    cuda = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        torch.default_generator.manual_seed(seed)
        if cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


def random_windows(
    images: Tensor,
    indices: Tensor,
    generator: torch.Generator,
    size: tuple[int, int] | None = None,
    margin: int = 0,
) -> Tensor:
    """One window of each chosen image, at a random place, mirrored left to right half the time.

    Args:
        images: uint8 (N, H, W, 3).
        indices: the chosen images, int64 (B,).
        generator: where the draws come from.
        size: height and width of the windows; those of the images if None.
        margin: pixels by which a window may stick out; what lies outside is reflected.

    Returns:
        float32 (B, 3, h, w) in [0, 1], channels last in memory.

    Raises:
        InputError: a window larger than the images, or a margin that is negative or not smaller
            than the images.
    """
    height, width = images.shape[1:3]
    rows, columns = size or (height, width)
    rows = whole(rows, "the height of a window", 1, height)
    columns = whole(columns, "the width of a window", 1, width)
    margin = whole(margin, "the margin of windows", 0, min(height, width) - 1)
    count = len(indices)
    down = _window_lines(height, rows, margin, count, generator)
    across = _window_lines(width, columns, margin, count, generator)
    mirrored = torch.rand(count, 1, generator=generator) < 0.5
    across = torch.where(mirrored, across.flip(1), across)
    windows = images[indices[:, None, None], down[:, :, None], across[:, None, :]]
    return windows.permute(0, 3, 1, 2).float().div_(255)


def _window_lines(
    extent: int, length: int, margin: int, count: int, generator: torch.Generator
) -> Tensor:
    """Rows or columns of `count` windows, reflected into [0, extent): int64 (count, length)."""
    start = torch.randint(-margin, extent - length + margin + 1, (count, 1), generator=generator)
    lines = (start + torch.arange(length)).abs()
    return (extent - 1) - ((extent - 1) - lines).abs()


def one_cycle(progress: float, warm_up: float) -> float:
    """Share of the highest learning rate: cosines from 0.04 up to 1, then down to 0.

    After L. N. Smith and N. Topin, "Super-convergence", 2019, with an adaptive optimiser's
    momentum left as it is.

    Args:
        progress: share of the training that is done, in [0, 1].
        warm_up: share of the training in which the rate rises, in [0, 1).
    """
    if progress < warm_up:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * progress / warm_up)) / 2
    return (1 + math.cos(math.pi * (progress - warm_up) / (1 - warm_up))) / 2


@dataclass(frozen=True)
class Schedule:
    """How long and in what steps a network is trained.

    Attributes:
        epochs: passes over the items.
        batch_size: items a step; an epoch leaves out what does not fill a batch.
        learning_rate: highest rate of the one-cycle schedule.
        weight_decay: of the optimiser; applies to matrices and kernels, not to biases or norms.
        warm_up: share of the steps in which the rate rises.
        seed: of the order of items, of all that is drawn for them, and of dropout.
        threads: of the processor; results depend on it.
        device: where to train.
        checkpoint: where to keep, after each epoch, how far training has come. What an earlier
            training from the same weights with the same settings left there is gone on from, to
            the same result as without a break; anything else there is replaced.
        clip_norm: largest norm of a step's gradient; None for any.
        optimizer: AdamW, or a class that derives from it.

    Raises:
        InputError: a number out of its range.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float = 0.0
    warm_up: float = 0.25
    seed: int = 0
    threads: int = 2
    device: str | torch.device = "cpu"
    checkpoint: Checkpoint | None = None
    clip_norm: float | None = None
    optimizer: type[torch.optim.AdamW] = torch.optim.AdamW

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "threads"):
            object.__setattr__(self, name, whole(getattr(self, name), name, 1))
        object.__setattr__(self, "seed", check_seed(self.seed))
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be positive, but is {self.learning_rate}")
        if not 0 <= self.warm_up < 1:
            raise InputError(f"warm_up must lie in [0, 1), but is {self.warm_up}")


def fit(
    model: nn.Module,
    make_batch: MakeBatch,
    loss: Loss,
    items: int,
    schedule: Schedule,
    *,
    description: str = "training",
    untrained_loss: float | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[float]:
    """Train a model in place: a one-cycle schedule, bfloat16 where the device has it.

    The result depends on the arguments and the processor, and on no global state; it differs
    between numbers of threads, so keep that number fixed where runs are compared.

    Args:
        model: trained in place, left on the schedule's device in eval mode.
        make_batch: makes the tensors of a step from the indices of its items and a generator.
        loss: the scalar to minimise, from the model and a batch's tensors.
        items: number of items in an epoch; each is drawn at most once in it.
        schedule: of the training.
        description: what the progress bar and the log call it.
        untrained_loss: what a model that has learnt nothing would score; the loss of the first
            step if None. Half-way through the loss must have fallen below that.
        settings: what `make_batch` and `loss` depend on beside the data, as JSON can hold it; a
            checkpoint is gone on from only where these are the same too.

    Returns:
        Mean loss of each epoch.

    Raises:
        InputError: there are no items, or the loss is not finite or has not fallen in time.
    """
    items, device = whole(items, "items", 1), torch.device(schedule.device)
    checkpoint, epochs = schedule.checkpoint, schedule.epochs
    batch_size = min(schedule.batch_size, items)
    steps = items // batch_size
    total = epochs * steps
    check_step = max(1, math.ceil(CHECK_AFTER * total))
    half = torch.autocast(device.type, torch.bfloat16, enabled=supports_bfloat16(device))
    identity = {
        "weights": digest(model.state_dict()) if checkpoint is not None else "",
        "items": items,
        "bfloat16": supports_bfloat16(device),
        **{name: value for name, value in asdict(schedule).items() if name != "checkpoint"},
        "batch_size": batch_size,
        "device": device.type,
        "optimizer": schedule.optimizer.__name__,
        **(settings or {}),
    }
    model.to(device).to(memory_format=torch.channels_last).train()
    optimizer = schedule.optimizer(_groups(model, schedule.weight_decay))
    run = _Run(model, optimizer, torch.Generator().manual_seed(schedule.seed))
    losses = run.losses
    saved = None if checkpoint is None else checkpoint.load(identity)
    if saved is not None:
        run.restore(saved)
        logger.info("%s goes on from epoch %d", description, len(losses) // steps + 1)
    if schedule.threads > (there := cpu_count()):
        logger.warning(
            "%d threads on %d processor(s) wait for one another, which takes many times longer: "
            "set execution.threads to %d",
            *(schedule.threads, there, there),
        )
    started = logged = time.perf_counter()
    with (
        fixed_threads(schedule.threads),
        torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True),
        _progress() as progress,
    ):
        task = progress.add_task(
            description, total=total, completed=len(losses), loss=losses[-1] if losses else math.nan
        )
        for epoch in range(len(losses) // steps, epochs):
            with global_seed(_seed_of_epoch(schedule.seed, epoch), device):
                order = torch.randperm(items, generator=run.generator)
                for indices in order[: steps * batch_size].split(batch_size):
                    batch = [_on(device, part) for part in make_batch(indices, run.generator)]
                    progressed = (len(losses) + 0.5) / total
                    rate = schedule.learning_rate * one_cycle(progressed, schedule.warm_up)
                    for group in optimizer.param_groups:
                        group["lr"] = rate
                    optimizer.zero_grad(set_to_none=True)
                    with half:
                        value = loss(model, *batch)
                    value.backward()
                    if schedule.clip_norm is not None:
                        nn.utils.clip_grad_norm_(model.parameters(), schedule.clip_norm)
                    optimizer.step()
                    losses.append(value.item())
                    _check_progress(losses, check_step, untrained_loss, description)
                    progress.update(task, advance=1, loss=losses[-1])
            now = time.perf_counter()
            if now - logged >= LOG_SECONDS:
                logger.info(
                    "%s: epoch %d of %d, loss %.4g, learning rate %.2g, %.0f s so far",
                    description,
                    epoch + 1,
                    epochs,
                    sum(losses[-steps:]) / steps,
                    rate,
                    now - started,
                )
                logged = now
            if checkpoint is not None:
                checkpoint.save(identity, run.state())
    model.eval()
    history = [sum(losses[i : i + steps]) / steps for i in range(0, total, steps)]
    logger.info(
        "%s: %d epochs in %.1f s, loss %.4g",
        description,
        epochs,
        time.perf_counter() - started,
        history[-1],
    )
    return history


@dataclass
class _Run:
    """All that changes in the course of a training."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    generator: torch.Generator
    losses: list[float] = field(default_factory=list)

    def state(self) -> TrainingState:
        """What `restore` needs."""
        tensors = tensors_of(model=self.model, optimizer=self.optimizer)
        return TrainingState(
            tensors | {"generator": self.generator.get_state()}, {"losses": self.losses}
        )

    def restore(self, saved: TrainingState) -> None:
        """Become what was saved."""
        restore(saved.tensors, model=self.model, optimizer=self.optimizer)
        self.generator.set_state(saved.tensors["generator"])
        self.losses[:] = saved.values["losses"]


def _seed_of_epoch(seed: int, epoch: int) -> int:
    return int(stream(seed, "fit", epoch).integers(2**63))


def _groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]


def _on(device: torch.device, part: Tensor) -> Tensor:
    if part.ndim == 4:
        return part.to(device=device, memory_format=torch.channels_last)
    return part.to(device)


def _check_progress(
    losses: list[float], check_step: int, untrained_loss: float | None, description: str
) -> None:
    if not math.isfinite(losses[-1]):
        raise InputError(
            f"{description}: the loss is {losses[-1]} at step {len(losses)}: lower learning_rate"
        )
    if len(losses) != check_step or (untrained_loss is None and check_step == 1):
        return
    level = losses[0] if untrained_loss is None else untrained_loss
    recent = losses[-max(1, check_step // 5) :]
    reached = sum(recent) / len(recent)
    if reached >= level:
        raise InputError(
            f"{description}: after {check_step} steps the loss is {reached:.4g}, not below the "
            f"{level:.4g} of an untrained model: change learning_rate or raise epochs"
        )


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} loss {task.fields[loss]:.4f}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
