"""What follows from the measurements: two verdicts, and what ImageNet-C whole would take."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from benchmarks.large_sets.measuring import CellCost, Parts

MOST_GROWTH = 50.0
"""MB by which the largest set may take more than the smallest."""
MOST_SPREAD = 0.15
"""Share by which an image may cost more in one set than in another."""

CELLS = 19 * 5 + 1
"""ImageNet-C's shifts at five severities, and the clean set."""
IMAGES = 50_000
TRIALS, BATCH = 3, 1000
SEQUENCES = 2
"""Different sequences of a cell that are not empty, of one action each."""
DECODED = 2
"""Times that a cell decodes an image: for the classifiers, and for its state."""
HOUR = 3600


@dataclass(frozen=True)
class Accelerator:
    """A GPU, as its maker describes it, and how much of that networks this small may reach.

    Attributes:
        name: of the GPU.
        flops: a second in bfloat16, dense, by the data sheet.
        utilisation: assumed share of these.
    """

    name: str
    flops: float
    utilisation: float


GPU = Accelerator("NVIDIA A100", 312e12, 0.1)


def growth(costs: Sequence[CellCost]) -> float | None:
    """MB by which the peak of the largest set exceeds that of the smallest."""
    return _above(costs[0], costs[-1])


def last_growth(costs: Sequence[CellCost]) -> float | None:
    """MB by which the peak of the largest set exceeds that of the one before it."""
    return _above(costs[-2], costs[-1])


def _above(less: CellCost, more: CellCost) -> float | None:
    if less.megabytes is None or more.megabytes is None:
        return None
    return more.megabytes - less.megabytes


def spread(costs: Sequence[CellCost]) -> float:
    """By which share an image costs more in the dearest set than in the cheapest."""
    each = [cost.per_image for cost in costs]
    return max(each) / min(each) - 1


def foretold(parts: Parts, sequences: int) -> float:
    """Seconds an image of a cell in which so many sequences of one action are scored."""
    return (
        DECODED * parts.decode
        + parts.state
        + sequences * parts.action
        + (1 + sequences) * parts.classification
    )


@dataclass(frozen=True)
class Whole:
    """ImageNet-C whole, with one classifier.

    Attributes:
        cell: seconds of a cell on one thread.
        trials: those of them that its trials take.
    """

    cell: float
    trials: float

    @property
    def thread_hours(self) -> float:
        """Of one thread, for all cells."""
        return CELLS * self.cell / HOUR

    def hours(self, workers: int) -> float:
        """By the clock, with so many workers that each take whole cells."""
        return ceil(CELLS / workers) * self.cell / HOUR

    def idle(self, workers: int) -> float:
        """Share of the workers' time in which the last cells keep some waiting."""
        return 1 - CELLS / (workers * ceil(CELLS / workers))


def whole(parts: Parts, largest: CellCost) -> Whole:
    """The estimate, from the parts and from the largest set's Algorithm 1."""
    trials = TRIALS * BATCH * largest.batch_seconds.processor / largest.batch
    return Whole(IMAGES * foretold(parts, SEQUENCES) + trials, trials)


@dataclass(frozen=True)
class OnGpu:
    """ImageNet-C whole with the networks on a GPU.

    Attributes:
        operations: of the networks.
        network_hours: of the GPU.
        thread_hours: that decoding and states still take of one thread of the processor.
    """

    operations: float
    network_hours: float
    thread_hours: float


def on_gpu(parts: Parts, gpu: Accelerator = GPU) -> OnGpu:
    """The estimate with the networks on a GPU; trials, a few percent, are left out."""
    images = CELLS * IMAGES
    operations = images * (
        SEQUENCES * parts.action_flops + (1 + SEQUENCES) * parts.classification_flops
    )
    return OnGpu(
        operations,
        operations / (gpu.utilisation * gpu.flops) / HOUR,
        images * (DECODED * parts.decode + parts.state) / HOUR,
    )
