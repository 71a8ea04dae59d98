"""The results of a run as one Markdown page."""

from collections.abc import Mapping, Sequence

import pandas as pd

from superstar.pipelines.reporting.reference import OWN, mean_accuracies, mean_shares
from superstar.pipelines.reporting.typesetting import (
    parted,
    readable,
    to_markdown,
    with_interval,
)

CLEAN_ACCURACY = "clean_accuracy."
NUMBERS = {
    "psnr_gain_db.": "denoiser, gain in PSNR on validation images, dB ({})",
    "operability.auroc": "operability tree, AUROC on held-out surrogate images of all severities",
    "operability.accuracy": "operability tree, accuracy on held-out images at severity 5",
    "operability.commonest": "the same of a tree that always says the commoner label",
    "operability.depth": "operability tree, depth",
    "operability.leaves": "operability tree, leaves",
    "operability.images": "images of each surrogate and severity behind labels and tree",
    "policy.distance_ratio.": "final / initial distance on surrogate batches held out ({})",
    "policy.distinct_steps": "steps of the environment computed in training",
    "policy.steps": "steps of the environment in training",
    "threshold.": "threshold of Algorithm 1 ({})",
}


def compose(
    benchmark: str,
    distance: str,
    shifts: str,
    extent: str,
    main_table: str,
    overall: pd.DataFrame,
    means: pd.DataFrame,
    mce: pd.DataFrame | None,
    transfer: pd.DataFrame,
    by_severity: pd.DataFrame,
    actions: pd.DataFrame,
    worst: pd.DataFrame,
    operability: pd.DataFrame,
    labels: pd.DataFrame,
    distances: pd.DataFrame,
    wanted: pd.DataFrame,
    alike: pd.DataFrame,
    severities: pd.DataFrame,
    beside: pd.DataFrame,
    abstained: pd.DataFrame,
    highlighted: Sequence[str],
    metrics: Mapping[str, float | None],
    classifiers: pd.DataFrame,
    stages: pd.DataFrame,
    sources: Sequence[str],
    configuration: str,
) -> str:
    """The page: what was recovered, what was done, where it abstained, and what it rests on.

    Args:
        benchmark: name of the benchmark.
        distance: which one decided, in a few words.
        shifts: with what they were made, in a few words.
        extent: how much was evaluated, in words.
        main_table: the main table in Markdown.
        overall: mean, best and worst Delta over shifts.
        means: over the benchmark's sets of shifts; may be empty.
        mce: before and after recovery; None where it was not asked for, empty where it has no
            meaning.
        transfer: the main table with policies from other benchmarks; may be empty.
        by_severity: Delta by severity.
        actions: what was done, by shift.
        worst: where most accuracy was lost; may be empty.
        operability: % inoperable in two columns, of surrogates and of shifts.
        labels: of the surrogates, with the lines behind them.
        distances: of the test shifts, and whether they meet the definition of operable.
        wanted: what the policy wanted, and what became of it.
        alike: clusters of the states of single images.
        severities: strengths of the surrogates.
        beside: our accuracies beside others'; may be empty.
        abstained: % inoperable beside others'; may be empty.
        highlighted: shifts over which means stand beside others'.
        metrics: numbers of the run.
        classifiers: how each was made, and its accuracy on clean images.
        stages: how long each took, and its peak memory.
        sources: what came from elsewhere, a sentence each.
        configuration: the run's, in YAML.
    """
    design = severities.pivot(index="surrogate", columns="severity", values="strength")
    changes = severities.pivot(index="surrogate", columns="severity", values="change")
    shown = (changes * 100).round(0).astype(int).astype(str) + "%"
    parts = [
        f"# Results: {benchmark}",
        f"Written by the reporting pipeline from one run. Distance: {distance}. Shifts: {shifts}. "
        "Where paper, authors' release and this controller differ: "
        "[departures](../../../docs/departures.md).",
        extent,
        "## Recovery",
        "Accuracy (%) shifted (S), recovered (R) and Δ = R − S in points, means over severities "
        "and trials. In a trial the policy chooses a sequence by a batch drawn anew; it is then "
        "applied to the whole shifted set. In brackets the interval over the draw of images "
        "(bootstrap, paired by image) and of batches and the policy (spread of the trials).",
        main_table,
        "Over all shifts, clean images apart:",
        _markdown(_overall(overall)),
        *_means(means, mce, OWN),
        *_transfer(transfer, means, mce),
        *_beside(beside, highlighted),
        "## Δ by severity",
        _markdown(by_severity.drop(columns="controller").round(2)),
        "## What it did",
        "Shares in % of severities and trials: how often it acted, and what ended the sequence.",
        _markdown(actions.drop(columns="controller").round(0)),
        *_worst(worst),
        "## Where it abstains",
        "Single images that the operability tree calls inoperable (surrogates: held out), in %; "
        "abstained: severities and trials in which it calls the whole batch so, in %.",
        _markdown(_inoperable(operability)),
        *_abstained(abstained),
        "The tree learned from the surrogates' labels: operable where the line of distance on "
        "accuracy (a share of images) falls and fits. Where accuracy does not vary there is no "
        "line, and slope and R² count as 0.",
        _markdown(labels.round(2)),
        "Distances of the shifted test sets, means over trials, and whether the shift itself would "
        "meet that definition by the accuracy of `standard` on the test images (slope, R²). For "
        "the reader alone: nothing was learned from it. Where tree and definition differ, the "
        "tree takes the shift for one whose states are alike.",
        _markdown(_distances(distances)),
        "## What it wanted",
        "The first action that the policy wanted, by what became of it (kept; forbidden by the "
        "tree, inoperable; stopped by β), with its share of the shift's severities and trials. "
        "The changes, means over those severities and trials, are what this action alone does, "
        "brakes or not: to the distance of the batch (%) and to accuracy on the whole set "
        "(points).",
        _markdown(_wanted(wanted)),
        "## Which shifts look alike",
        f"States of single images in {_count(alike)} clusters (K-means on the raw features, K by "
        "the elbow of the inertia; numbered from low entropy to high), shares in %. A shift's "
        "images are taken at all severities, in turn.",
        _markdown(alike.round(0)),
        "## What it rests on",
        "The classifiers, with their accuracy on clean test images in %.",
        _markdown(classifiers.round(2)),
        "Strengths of the surrogates, with the relative change of the state that each causes.",
        _markdown((design.astype(str) + " (" + shown + ")").reset_index()),
        _markdown(pd.DataFrame(_named(metrics), columns=["number", "value"])),
        "## The run",
        "Time and peak memory of each stage, up to this page; of a node that was interrupted, "
        "since it went on.",
        _markdown(_stages(stages)),
        *([" ".join(sources)] if sources else []),
        "Its configuration, but for the studies beside it:",
        f"```yaml\n{configuration}```",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _means(table: pd.DataFrame, mce: pd.DataFrame | None, policy: str) -> list[str]:
    """Of one policy: over the benchmark's sets of shifts, and mCE."""
    parts = []
    own = table[table["policy"] == policy]
    if len(own):
        shown = pd.DataFrame(
            {
                "shifts": own["group"] + " (" + own["shifts"].astype(str) + ")",
                "classifier": own["classifier"],
                "S": own["shifted"].map("{:.2f}".format),
                "R": own["recovered"].map("{:.2f}".format),
                "Δ": _intervals(own, "delta"),
            }
        )
        parts += ["Means over the sets of shifts that were evaluated in full:", _as_is(shown)]
    if mce is None:
        return parts
    errors = mce[mce["policy"] == policy]
    if errors.empty:
        return [
            *parts,
            "No mCE: it needs the 15 shifts of `imagenet_c_standard` at all five severities.",
        ]
    shown = pd.DataFrame(
        {
            "classifier": errors["classifier"],
            "mCE shifted": errors["mce_shifted"].map("{:.2f}".format),
            "mCE recovered": errors["mce_recovered"].map("{:.2f}".format),
            "change": _intervals(errors, "change"),
        }
    )
    return [
        *parts,
        "mCE (%): over those 15 shifts, the mean of the error divided by AlexNet's published one "
        "(Hendrycks and Dietterich, 2019). The smaller the better.",
        _as_is(shown),
    ]


def _intervals(table: pd.DataFrame, column: str) -> list[str]:
    columns = [column, f"{column}_low", f"{column}_high"]
    return [with_interval(*row) for row in table[columns].itertuples(index=False)]


def _transfer(table: pd.DataFrame, means: pd.DataFrame, mce: pd.DataFrame | None) -> list[str]:
    parts = []
    for policy, own in table.groupby("policy", sort=False):
        parts += [
            f"## With the policy of {policy}",
            "That policy, trained elsewhere, as it is; everything else, batches included, as "
            "above.",
            to_markdown(own),
            *_means(means, mce, str(policy)),
        ]
    return parts


def _worst(table: pd.DataFrame) -> list[str]:
    if table.empty:
        return ["It cost no classifier accuracy at any severity of any shift."]
    return [
        "Where it cost most: Δ in points, mean over trials; sequences and what ended them, with "
        "the number of trials; the change of the batch's distance in %.",
        _markdown(table.round(2)),
    ]


def _beside(table: pd.DataFrame, highlighted: Sequence[str]) -> list[str]:
    if table.empty:
        return []
    parts = [
        "## Beside the reference",
        "Accuracies (%) and Δ of this run and of the reference table, and the share (%) of the "
        "accuracy lost to the shift that came back, 100 Δ / (S on clean images - S). Networks and "
        "policies are each one's own, so that Δ and shares compare rather than accuracies.",
    ]
    own = table[table["policy"] == OWN]
    others = table[table["policy"] != OWN]
    if len(others):
        parts.append(
            "Where the reference's policy was brought over from another benchmark, as the paper's "
            "from ImageNet to CIFAR-100, its like here is a policy from elsewhere."
        )
    for classifier, rows in own.groupby("classifier", sort=False):
        parts.append(f"### {classifier}")
        for part in parted(rows):
            shown = _reference_rows(part)
            for policy, elsewhere in others[others["classifier"] == classifier].groupby("policy"):
                deltas = elsewhere.set_index("shift")["delta"].map("{:+.2f}".format)
                shown[f"Δ, policy of {policy}"] = part["shift"].map(deltas).to_numpy()
            parts.append(_as_is(shown))
    parts += [
        "### Means",
        "Over the shifts that both have, clean images apart:",
        _as_is(_mean_rows(mean_accuracies(table))),
    ]
    there = [shift for shift in highlighted if shift in set(table["shift"])]
    if there:
        means = mean_shares(table, there).round(2)
        parts += [
            f"Δ and share alone over {', '.join(map(readable, there))}:",
            _markdown(means),
        ]
    worst = [
        f"{_least(rows, 'delta')} with {_whose(policy)}"
        for policy, rows in table.groupby("policy", sort=False)
    ]
    return [
        *parts,
        f"The least Δ is {', '.join(worst)}, and {_least(own, 'reference_delta')} in the "
        "reference.",
    ]


def _least(rows: pd.DataFrame, column: str) -> str:
    row = rows.loc[rows[column].idxmin()]
    return f"{row[column]:+.2f} ({readable(row['shift'])}, {row['classifier']})"


def _whose(policy: object) -> str:
    return "the run's own policy" if policy == OWN else f"the policy of {policy}"


def _mean_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Means for reading: ours, then the reference's."""
    shown = table[["policy", "classifier"]].assign(
        over=[
            f"{row.shifts} shifts" if row.over == "all shifts" else f"{row.shifts} {row.over}"
            for row in table.itertuples()
        ]
    )
    for prefix, label in (("", ""), ("reference_", "reference ")):
        shown[f"{label}S"] = table[f"{prefix}shifted"].map("{:.2f}".format)
        shown[f"{label}R"] = table[f"{prefix}recovered"].map("{:.2f}".format)
        shown[f"{label}Δ"] = table[f"{prefix}delta"].map("{:+.2f}".format)
    return shown


def _reference_rows(own: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "shift": own["shift"].map(readable),
            "S": own["shifted"].map("{:.2f}".format),
            "R": own["recovered"].map("{:.2f}".format),
            "Δ": own["delta"].map("{:+.2f}".format),
            "interval": [
                f"[{low:+.2f}, {high:+.2f}]" if low < high else ""
                for low, high in zip(own["delta_low"], own["delta_high"], strict=True)
            ],
            "share": own["share"].map("{:.1f}".format),
            "reference S": own["reference_shifted"].map("{:.2f}".format),
            "reference R": own["reference_recovered"].map("{:.2f}".format),
            "reference Δ": own["reference_delta"].map("{:+.2f}".format),
            "reference share": own["reference_share"].map("{:.1f}".format),
        }
    ).replace("nan", "")


def _abstained(table: pd.DataFrame) -> list[str]:
    if table.empty:
        return []
    return ["% inoperable beside the reference:", _markdown(table.round(2))]


def _inoperable(table: pd.DataFrame) -> pd.DataFrame:
    shown = table.round(1).astype(object).where(table.notna(), "")
    shown.columns = ["surrogate", "% inoperable", "benchmark shift", "% inoperable", "% abstained"]
    return shown


def _overall(table: pd.DataFrame) -> pd.DataFrame:
    shown = []
    for row in table.itertuples():
        where = "" if pd.isna(row.shift) else f" ({readable(row.shift)})"
        interval = f"[{row.delta_low:+.2f}, {row.delta_high:+.2f}]"
        shown.append((row.classifier, row.figure, f"{row.delta:+.2f} {interval}{where}"))
    wide = pd.DataFrame(shown, columns=["classifier", "figure", "Δ"])
    pivoted = wide.pivot(index="classifier", columns="figure", values="Δ")
    return pivoted.loc[wide["classifier"].unique(), ["mean", "best", "worst"]].reset_index()


def _distances(table: pd.DataFrame) -> pd.DataFrame:
    shown = table.drop(columns="controller").rename(columns={"severity_0": "clean"})
    levels = [name for name in shown.columns if str(name).startswith("severity_")]
    shown[["clean", *levels]] = shown[["clean", *levels]].round(1)
    shown[["slope", "r_squared"]] = shown[["slope", "r_squared"]].round(2)
    shown = shown[["shift", "clean", *levels, "slope", "r_squared", "operable"]]
    return shown.astype(object).where(shown.notna(), "")


def _wanted(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop(columns="controller").round({"share": 0}).round(2)


def _stages(table: pd.DataFrame) -> pd.DataFrame:
    shown = table.round({"seconds": 0, "peak_memory_gb": 1})
    return shown.rename(columns={"seconds": "time (s)", "peak_memory_gb": "peak memory (GB)"})


def _count(clusters: pd.DataFrame) -> int:
    return sum(str(column).startswith("cluster_") for column in clusters.columns)


def _named(metrics: Mapping[str, float | None]) -> list[tuple[str, str]]:
    rows = []
    for prefix, text in NUMBERS.items():
        for name, value in metrics.items():
            if name == prefix or (prefix.endswith(".") and name.startswith(prefix)):
                shown = "not defined" if value is None else f"{value:.4g}"
                rows.append((text.format(name.removeprefix(prefix)), shown))
    return rows


def _as_is(table: pd.DataFrame) -> str:
    """A table whose numbers are text already."""
    return str(table.to_markdown(index=False, disable_numparse=True))


def _markdown(table: pd.DataFrame) -> str:
    tidy = table.rename(columns=lambda name: str(name).replace("_", " "))
    return str(tidy.to_markdown(index=False))
