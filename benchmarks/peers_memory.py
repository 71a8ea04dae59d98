"""How much memory the peers and the controllers take on one batch, beyond the network's own."""

import argparse
import multiprocessing
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from superstar.classifiers import load_classifier
from superstar.control import Supervisor
from superstar.control.controllers import CALIBRATED, PAPER
from superstar.peers import PEERS, Unadapted
from superstar.pipelines.pages import table

NETWORK = "network"
SETTINGS: dict[str, dict[str, Any]] = {
    "batch_statistics": {"prior": 0},
    "batch_norm": {"prior": 16},
    "tent": {"learning_rate": 1e-3},
    "memo": {"views": 8, "learning_rate": 5e-3},
    "averaging": {"views": 8},
}


def measured(models: Path, size: int, batch: int) -> pd.DataFrame:
    """Megabytes at the highest, each in a process of its own that does nothing else.

    Args:
        models: a run's folder of models, `data/06_models/<benchmark>`.
        size: side of the images.
        batch: images at once; memo and averaging get them too, and take them one at a time.
    """
    names = [NETWORK, *SETTINGS, PAPER, CALIBRATED]
    pool = multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1)
    with pool:
        peaks = pool.starmap(_peak, [(name, models, size, batch) for name in names], chunksize=1)
    added = [peak - peaks[0] for peak in peaks]
    return pd.DataFrame({"": names, "MB at the highest": peaks, "beyond the network's": added})


def _peak(name: str, models: Path, size: int, batch: int) -> float:
    torch.set_num_threads(1)
    images = torch.rand(batch, 3, size, size, generator=torch.Generator().manual_seed(0))
    # All processes hold both, so that what they read counts for none.
    network = load_classifier(models / "classifiers" / "standard.safetensors")
    supervisor = Supervisor.load(models / "supervisor")
    seen: Tensor = images
    if name in supervisor.controllers:
        seen = supervisor.recover(images, 0, name).images
    peer = PEERS[name](network, **SETTINGS[name]) if name in SETTINGS else Unadapted(network)
    peer.adapt(seen)
    peer.predict(seen)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, help="data/06_models/<benchmark> of a finished run")
    parser.add_argument("--size", type=int, default=64, help="side of the images in pixels")
    parser.add_argument("--batch", type=int, default=100, help="images at once")
    given = parser.parse_args(arguments)
    if not (given.models / "supervisor").is_dir():
        sys.exit(f"{given.models} holds no supervisor of a finished run: kedro run makes one")
    print(table(measured(given.models, given.size, given.batch), 0))


if __name__ == "__main__":
    main()
