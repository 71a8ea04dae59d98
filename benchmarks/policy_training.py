"""Time policy training on CIFAR-100 in batches of 1,000, as the paper trains."""

import argparse
import sys
import time
from pathlib import Path

import yaml
from rich.console import Console

from benchmarks.agreement.setups import cifar100, read_parquet_images
from benchmarks.machine import facts
from superstar.actions import DnCNN, load_denoiser
from superstar.control import ShiftEnv
from superstar.corruptions import corrupt
from superstar.errors import InputError
from superstar.images import from_uint8, stream, to_uint8
from superstar.parameters import PolicyTraining, SurrogateGeneration
from superstar.pipelines.policies import train

CONFIGURATION = Path(__file__).parents[1] / "conf" / "base"
BATCH = 1000
WINDOW = 200
SSIM_WEIGHT = 20.0
"""The paper's lambda: distances on CIFAR-100 are those that it was chosen for."""


def measure(folder: Path, denoiser: DnCNN, console: Console) -> str:
    """One training with the run's own parameters, in a few lines."""
    given = PolicyTraining.model_validate(_parameters("policy_training"))
    policy = SurrogateGeneration.model_validate(_parameters("surrogate_generation")).policy
    files = sorted(folder.glob("*train*.parquet"))
    if not files:
        raise InputError(f"{folder} holds no *train*.parquet with CIFAR-100's training images")
    images = read_parquet_images(files[0])
    needed = BATCH * (1 + policy.training_batches * len(policy.names))
    if len(images) < needed:
        raise InputError(f"{files[0]} holds {len(images)} images, of which {needed} are needed")
    order = stream(0, "benchmark", "policy training").permutation(len(images))[:needed]
    parts = from_uint8(images[order]).split(BATCH)
    projection = cifar100(folder, draws=1).projection
    names = [name for name in policy.names for _ in range(policy.training_batches)]
    shifted = [
        from_uint8(to_uint8(corrupt(part, name, policy.severity, "cifar", 0, i * BATCH)))
        for i, (name, part) in enumerate(zip(names, parts[1:], strict=True))
    ]
    env = ShiftEnv(
        shifted,
        projection(parts[0]),
        projection,
        horizon=given.horizon,
        alpha=given.alpha,
        ssim_weight=SSIM_WEIGHT,
        ssim_threshold=given.reward.ssim_threshold,
        data_range=given.reward.data_range,
        regulariser=given.reward.regulariser,
        denoiser=denoiser,
        memory_limit=given.memory_limit_mb * 2**20,
    )
    with console.status(f"{given.episodes} episodes"):
        start = time.perf_counter()
        result = train(env, given, seed=0, progress=False)
        seconds = time.perf_counter() - start
    last = result.curves["return"].tail(WINDOW).mean()
    return (
        f"Policy training on CIFAR-100: {given.episodes} episodes over {len(shifted)} batches of "
        f"{BATCH}: {seconds / 60:.1f} minutes.\n"
        f"{env.steps} steps of the environment, {env.distinct_steps} computed "
        f"({100 * env.hit_rate:.0f}% remembered): without memory {env.steps} would have been "
        f"computed, in about {seconds * env.steps / env.distinct_steps / 60:.0f} minutes.\n"
        f"Mean return of the last {WINDOW} episodes: {last:.1f}.\n"
        + "\n".join(f"{name}: {value}" for name, value in facts().items())
    )


def _parameters(name: str) -> dict[str, object]:
    return dict(yaml.safe_load((CONFIGURATION / f"parameters_{name}.yml").read_text())[name])


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.policy_training", description=__doc__
    )
    parser.add_argument("cifar100", type=Path, help="folder of the Hugging Face hub's parquet")
    parser.add_argument("denoiser", type=Path, help="safetensors of a run's denoiser")
    given = parser.parse_args()
    console = Console(stderr=True)
    try:
        print(measure(given.cifar100, load_denoiser(given.denoiser), console))
    except InputError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
