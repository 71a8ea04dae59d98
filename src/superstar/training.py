"""The training loop that classifiers and the denoiser share."""

import hashlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from superstar.checkpoint import Checkpoint, TrainingState
from superstar.errors import InputError
from superstar.images import stream

logger = logging.getLogger(__name__)

LOG_SECONDS = 30.0
"""An epoch gets a line in the log once that much time has passed since the last line."""

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
    if threads < 1:
        raise InputError(f"threads must be at least 1, but is {threads}")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
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
    device = torch.device(device)
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
    size = size or (height, width)
    if size[0] > height or size[1] > width or min(size) < 1:
        raise InputError(f"windows of {size[0]}x{size[1]} do not fit images of {height}x{width}")
    if not 0 <= margin < min(height, width):
        raise InputError(f"a margin of {margin} does not suit images of {height}x{width}")
    count = len(indices)
    rows = _window_lines(height, size[0], margin, count, generator)
    columns = _window_lines(width, size[1], margin, count, generator)
    mirrored = torch.rand(count, 1, generator=generator) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    windows = images[indices[:, None, None], rows[:, :, None], columns[:, None, :]]
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


def fit(
    model: nn.Module,
    make_batch: MakeBatch,
    loss: Loss,
    items: int,
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    weight_decay: float = 0.0,
    warm_up: float = 0.25,
    clip_norm: float | None = None,
    untrained_loss: float | None = None,
    check_after: float = 0.5,
    seed: int = 0,
    threads: int = 2,
    device: str | torch.device = "cpu",
    description: str = "training",
    checkpoint: Checkpoint | None = None,
    checkpoint_epochs: int = 1,
    settings: Mapping[str, Any] | None = None,
    optimizer: type[torch.optim.AdamW] = torch.optim.AdamW,
) -> list[float]:
    """Train a model in place: AdamW, a one-cycle schedule, bfloat16 where the device has it.

    The result depends on the arguments, the processor and `threads`, and on no global state; it
    differs between numbers of threads, so keep `threads` fixed where runs are compared.

    Args:
        model: trained in place, left on `device` in eval mode.
        make_batch: makes the tensors of a step from the indices of its items and a generator.
        loss: the scalar to minimise, from the model and a batch's tensors.
        items: number of items in an epoch; each is drawn at most once in it.
        epochs: passes over the items.
        batch_size: items a step; an epoch leaves out what does not fill a batch.
        learning_rate: highest rate of the one-cycle schedule.
        weight_decay: of AdamW; applies to matrices and kernels, not to biases or norms.
        warm_up: share of the steps in which the rate rises.
        clip_norm: largest norm of a gradient; None for no bound.
        untrained_loss: what a model that has learnt nothing would score; the loss of the first
            step if None.
        check_after: share of the steps after which the loss must have fallen below that.
        seed: of the order of items, of all that `make_batch` draws, and of dropout.
        threads: of the processor.
        device: where to train.
        description: what the progress bar and the log call it.
        checkpoint: where to keep how far training has come. What an earlier call from the same
            weights with the same arguments left there is gone on from, to the same result as
            without a break; anything else there is replaced.
        checkpoint_epochs: how many epochs go by from one checkpoint to the next, at least 1;
            there is one after the last epoch too.
        settings: what `make_batch` and `loss` depend on beside the data, as JSON can hold it; a
            checkpoint is gone on from only where these are the same too.
        optimizer: AdamW or a class that derives from it.

    Returns:
        Mean loss of each epoch.

    Raises:
        InputError: a number out of its range; a loss that is not finite; or one that has not
            fallen by `check_after`.
    """
    _check_settings(items, epochs, batch_size, learning_rate, warm_up, check_after)
    if checkpoint_epochs < 1:
        raise InputError(f"checkpoint_epochs must be at least 1, but is {checkpoint_epochs}")
    device = torch.device(device)
    batch_size = min(batch_size, items)
    steps = items // batch_size
    total = epochs * steps
    check_step = max(1, math.ceil(check_after * total))
    half = torch.autocast(device.type, torch.bfloat16, enabled=supports_bfloat16(device))
    identity = {
        "weights": _digest(model) if checkpoint is not None else "",
        "items": items,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "warm_up": warm_up,
        "clip_norm": clip_norm,
        "seed": seed,
        "threads": threads,
        "device": device.type,
        "bfloat16": supports_bfloat16(device),
        "optimizer": optimizer.__name__,
        **(settings or {}),
    }
    model.to(device).to(memory_format=torch.channels_last).train()
    stepping = optimizer(_groups(model, weight_decay), lr=learning_rate)
    run = _Run(model, stepping, torch.Generator().manual_seed(seed))
    losses = run.losses
    saved = None if checkpoint is None else checkpoint.load(identity)
    if saved is not None:
        run.restore(saved)
        logger.info("%s goes on from epoch %d", description, len(losses) // steps + 1)
    started = logged = time.perf_counter()
    with (
        fixed_threads(threads),
        torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True),
        _progress() as progress,
    ):
        task = progress.add_task(
            description, total=total, completed=len(losses), loss=losses[-1] if losses else math.nan
        )
        for epoch in range(len(losses) // steps, epochs):
            with global_seed(_seed_of_epoch(seed, epoch), device):
                order = torch.randperm(items, generator=run.generator)
                for indices in order[: steps * batch_size].split(batch_size):
                    batch = [_on(device, part) for part in make_batch(indices, run.generator)]
                    rate = learning_rate * one_cycle((len(losses) + 0.5) / total, warm_up)
                    for group in stepping.param_groups:
                        group["lr"] = rate
                    stepping.zero_grad(set_to_none=True)
                    with half:
                        value = loss(model, *batch)
                    value.backward()
                    if clip_norm is not None:
                        nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
                    stepping.step()
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
            if checkpoint is not None and (
                (epoch + 1) % checkpoint_epochs == 0 or epoch + 1 == epochs
            ):
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
        weights = {f"model.{key}": tensor for key, tensor in self.model.state_dict().items()}
        moments = {
            f"optimizer.{index}.{key}": tensor
            for index, moment in self.optimizer.state_dict()["state"].items()
            for key, tensor in moment.items()
        }
        tensors = weights | moments | {"generator": self.generator.get_state()}
        return TrainingState(
            {name: tensor.detach().cpu() for name, tensor in tensors.items()},
            {"losses": self.losses},
        )

    def restore(self, saved: TrainingState) -> None:
        """Become what was saved."""
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        weights: dict[str, Tensor] = {}
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in saved.tensors.items():
            kind, _, rest = name.partition(".")
            if kind == "model":
                weights[rest] = tensor
            elif kind == "optimizer":
                index, _, key = rest.partition(".")
                if key != "step":
                    # In the parameter's own order in memory, since sums of products may depend
                    # on the loop that goes through them.
                    tensor = torch.empty_like(parameters[int(index)]).copy_(tensor)
                moments.setdefault(int(index), {})[key] = tensor.detach()
        self.model.load_state_dict(weights)
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": moments})
        self.generator.set_state(saved.tensors["generator"])
        self.losses[:] = saved.values["losses"]


def _digest(model: nn.Module) -> str:
    """Tells apart models with other tensors."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.detach().cpu().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _seed_of_epoch(seed: int, epoch: int) -> int:
    return int(stream(seed, "fit", epoch).integers(2**63))


def _check_settings(
    items: int,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    warm_up: float,
    check_after: float,
) -> None:
    for name, number in (("items", items), ("epochs", epochs), ("batch_size", batch_size)):
        if number < 1:
            raise InputError(f"{name} must be at least 1, but is {number}")
    if not learning_rate > 0:
        raise InputError(f"learning_rate must be positive, but is {learning_rate}")
    if not 0 <= warm_up < 1:
        raise InputError(f"warm_up must lie in [0, 1), but is {warm_up}")
    if not 0 < check_after <= 1:
        raise InputError(f"check_after must lie in (0, 1], but is {check_after}")


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
