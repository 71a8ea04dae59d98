"""Print the table of all benchmarks and that of seeds, from the result pages and their tables.

    python docs/tools/leaderboard.py

A mean and its interval come from a page's row of means, the worst of a controller from its CSV.
"""

import re
from pathlib import Path

import pandas as pd

from superstar.control.controllers import CALIBRATED, PAPER
from superstar.pipelines.pages import number, readable

RESULTS = Path(__file__).parents[1] / "results"
SEEDS = RESULTS / "photos_full_seeds.csv"
"""The tables of `kedro run --env full --params seed=...`, with the seed as a column."""
PHOTOGRAPHS = "photographs"
CIFAR = "CIFAR-100"
IMAGENET = "ImageNet, 200 test images"
# What the images are, the page, its row of means, the classifier.
ROWS = (
    (PHOTOGRAPHS, "photos", "all 11 shifts", "standard"),
    (PHOTOGRAPHS, "photos_full", "ImageNet-C (19)", "standard"),
    (PHOTOGRAPHS, "photos_full", "composites (12)", "standard"),
    (PHOTOGRAPHS, "photos_c_bar", "all 10 shifts", "standard"),
    (CIFAR, "cifar100", "all 19 shifts", "standard"),
    (f"{CIFAR}, `augmix`", "cifar100", "all 19 shifts", "augmix"),
    (f"{CIFAR}, `noisymix`", "cifar100", "all 19 shifts", "noisymix"),
    (f"{CIFAR}, `puzzlemix`", "cifar100", "all 19 shifts", "puzzlemix"),
    (IMAGENET, "imagenet", "ImageNet-C (19)", "standard"),
    (IMAGENET, "imagenet", "composites (12)", "standard"),
)
NAMES = {
    "all 11 shifts": "11",
    "all 10 shifts": "ImageNet-C̄, 10",
    "all 19 shifts": "ImageNet-C, 19",
    "ImageNet-C (19)": "ImageNet-C, 19",
    "composites (12)": "composites, 12",
}


def table() -> str:
    """The table in Markdown: a row a benchmark, set of shifts and classifier."""
    heads = ["images", "shifts", "S", *(f"`{each}`" for each in (PAPER, CALIBRATED))]
    heads += [f"worst shift and severity, `{each}`" for each in (PAPER, CALIBRATED)]
    lines = [heads, ["---", "---", "--:", "--:", "--:", "---", "---"]]
    for images, page, mean, classifier in ROWS:
        accuracy, gains = means(page, mean, classifier)
        lines.append([f"[{images}](results/{page}.md)", NAMES[mean], accuracy, *gains])
        lines[-1] += [worst(page, mean, classifier, each) for each in (PAPER, CALIBRATED)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def seeds() -> str:
    """The photographs' table by the seed of the whole run, training included, in Markdown."""
    rows = pd.concat([pd.read_csv(RESULTS / "photos_full.csv").assign(seed=0), pd.read_csv(SEEDS)])
    rows = rows[(rows["classifier"] == "standard") & (rows["shift"] != "none")]
    composite = rows["shift"].str.contains("+", regex=False)
    heads = ["shifts", "seed", "S", *(f"`{each}`" for each in (PAPER, CALIBRATED))]
    heads += [f"worst shift, `{each}`" for each in (PAPER, CALIBRATED)]
    lines = [heads, ["---", *["--:"] * 4, "---", "---"]]
    for name, some in (("ImageNet-C, 19", rows[~composite]), ("composites, 12", rows[composite])):
        for seed, part in some.groupby("seed"):
            gains = part.pivot(index="shift", columns="controller", values="delta")
            each = [gains[PAPER], gains[CALIBRATED]]
            line = [name, str(seed), number(part["shifted"].mean(), 1)]
            line += [_points(one.mean()) for one in each]
            lines.append([*line, *(f"{_points(o.min())} {readable(o.idxmin())}" for o in each)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def means(page: str, mean: str, classifier: str) -> tuple[str, list[str]]:
    """Accuracy on shifted images, and the gain of both controllers with its interval."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (RESULTS / f"{page}.md").read_text(encoding="utf-8").splitlines()
        if line.startswith(("| shift ", f"| **mean of {mean}**"))
    ]
    heads, cells = rows[0], rows[1]
    found = dict(zip(heads, cells, strict=True))
    gains = [found[f"{classifier} Δ {each}"] for each in (PAPER, CALIBRATED)]
    return found[f"{classifier} S"], [gain.replace("-", "−") for gain in gains]


def worst(page: str, mean: str, classifier: str, controller: str) -> str:
    """The least gain on a shift in the mean, and on a shift at one severity."""
    rows = pd.read_csv(RESULTS / f"{page}.csv")
    rows = rows[(rows["classifier"] == classifier) & (rows["controller"] == controller)]
    rows = rows[rows["shift"] != "none"].set_index("shift")
    rows = rows[rows.index.str.contains("+", regex=False) == mean.startswith("composites")]
    shift = rows["delta"].idxmin()
    cells = rows.filter(regex=r"severity_\d").stack()
    cell, severity = cells.idxmin()
    if cells.min() > -0.05:
        return "none"
    return (
        f"{_points(rows.loc[shift, 'delta'])} {readable(shift)}; "
        f"{_points(cells.min())} {readable(cell)} {re.sub(r'[^0-9]', '', severity)}"
    )


def _points(gain: float) -> str:
    return number(gain, 1, sign=True).replace("-", "−")


if __name__ == "__main__":
    print(table(), seeds(), sep="\n\n")
