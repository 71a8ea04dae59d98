"""What fronts and peers gain over the network as it is, with intervals paired by image."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from superstar.control.controllers import CALIBRATED, PAPER
from superstar.control.intervals import Bootstrap
from superstar.peers import UNTOUCHED
from superstar.pipelines.pages import intervals, number, readable

CONTROLLERS = (PAPER, CALIBRATED)
CLEAN = "none"
MEAN = "mean"
SHIFTS, STREAM = "shifts", "stream"
NOTHING = (UNTOUCHED, UNTOUCHED)

Pair = tuple[str, str]
"""A front and a peer."""
Hits = Mapping[Pair, NDArray[np.float32]]
"""Right or wrong by pair: shifts and severities by images, or the images of a stream."""


def gain_table(
    on_shifts: pd.DataFrame, on_stream: pd.DataFrame, batch_size: int, bootstrap: Bootstrap
) -> pd.DataFrame:
    """Gains in points over the network as it is, on the images that a pair was asked for.

    Args:
        on_shifts: a row a shift, severity, front and peer: `hits`, `front_seconds`,
            `peer_seconds`; of one classifier.
        on_stream: likewise, with the `segment`.
        batch_size: so many images after each change of the stream are a part of it.
        bootstrap: of images.

    Returns:
        A row a `setting`, `part`, `front` and `peer`, whose `name` is for reading: `accuracy` in %,
        `gain` with `gain_low` and `gain_high`, and `images_a_second` of processor time, in
        the mean over shifts and severities. Parts of
        `shifts`: each shift, `none` (clean images) and `mean` (of the shifts). Parts of `stream`:
        `shifted`, `none`, the images `after_a_change`, and shifted ones of the `first_half` and
        the `last_half`.
    """
    rows: list[dict[str, Any]] = []
    cells, hits = by_cell(on_shifts)
    for part, places in parts_of_shifts(cells).items():
        rows += _rows(SHIFTS, part, {pair: of[places] for pair, of in hits.items()}, bootstrap)
    segments, hits = along_stream(on_stream)
    for part, chosen in parts_of_stream(segments, batch_size).items():
        some = {pair: of[None, chosen] for pair, of in hits.items()}
        rows += _rows(STREAM, part, some, bootstrap)
    seconds = on_shifts["front_seconds"] + on_shifts["peer_seconds"]
    speed = 1 / seconds.groupby([on_shifts["front"], on_shifts["peer"]]).mean()
    return pd.DataFrame(rows).join(speed.rename("images_a_second"), on=["front", "peer"])


def beside_ours(on_shifts: pd.DataFrame, bootstrap: Bootstrap) -> pd.DataFrame:
    """Everything else beside `calibrated` alone, in points of the mean over shifts.

    Returns:
        A row a front and peer other than it and its pairs: `lead` of `calibrated` with its
        interval; on how many `shifts` it is `ahead`, and which are `lost` to the other by a point
        or more; of peers, `pair`: what they gain behind `calibrated` over the better of the two
        alone, with its interval.
    """
    cells, hits = by_cell(on_shifts)
    parts = parts_of_shifts(cells)
    away = parts[MEAN]
    ours = hits[CALIBRATED, UNTOUCHED]
    rows = []
    for (front, peer), theirs in hits.items():
        if front == CALIBRATED or (front, peer) == NOTHING:
            continue
        lead = ours - theirs
        by_shift = {
            part: 100 * float(np.nanmean(lead[places]))
            for part, places in parts.items()
            if part not in (MEAN, CLEAN)
        }
        found = _interval("lead", lead[away], bootstrap)
        row: dict[str, Any] = {"front": front, "peer": peer, "name": name_of(front, peer), **found}
        row["shifts"] = len(by_shift)
        row["ahead"] = sum(gain > 0 for gain in by_shift.values())
        row["lost"] = ", ".join(part for part, gain in by_shift.items() if gain <= -1)
        pair = hits.get((CALIBRATED, peer)) if front == UNTOUCHED else None
        if pair is not None:
            better = ours if found["lead"] > 0 else theirs
            row |= _interval("pair", (pair - better)[away], bootstrap)
        rows.append(row)
    return pd.DataFrame(rows)


def alone(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of peers without a front, and of fronts without a peer."""
    return table[(table["front"] == UNTOUCHED) | (table["peer"] == UNTOUCHED)]


def controllers_before_peers(table: pd.DataFrame) -> list[str]:
    """Those of both controllers that have peers behind them."""
    fronts = set(table[table["peer"] != UNTOUCHED]["front"])
    return [name for name in CONTROLLERS if name in fronts]


def name_of(front: str, peer: str) -> str:
    """One name for a front and a peer."""
    parts = [part for part in (front, peer) if part != UNTOUCHED]
    return readable(" > ".join(parts) or UNTOUCHED)


def metrics(table: pd.DataFrame) -> dict[str, float]:
    """Gains of the means, clean images and the stream.

    Args:
        table: of `gain_table`, with the `classifier`.

    Returns:
        By `peers.gain.<classifier>.<setting>.<part>.<front>.<peer>`.
    """
    shown = table[(table["setting"] == STREAM) | table["part"].isin([MEAN, CLEAN])]
    keys = shown[["classifier", "setting", "part", "front", "peer"]].itertuples(index=False)
    names = [".".join(["peers.gain", *key]) for key in keys]
    return dict(zip(names, shown["gain"], strict=True))


def by_classifier(table: pd.DataFrame) -> pd.DataFrame:
    """Gains in the mean over shifts, alone and behind `calibrated`: a column a classifier.

    Rows are those of the first classifier.

    Args:
        table: of `gain_table`, with the `classifier`.
    """
    some = table[table["front"].isin([UNTOUCHED, CALIBRATED]) | (table["peer"] == UNTOUCHED)]
    mean = some[(some["setting"] == SHIFTS) & (some["part"] == MEAN)]
    order = mean[mean["classifier"] == mean["classifier"].iloc[0]].sort_values("gain")["name"][::-1]
    made = pd.DataFrame({"": order.to_numpy()})
    for classifier, rows in mean.groupby("classifier", sort=False):
        shown = dict(zip(rows["name"], intervals(rows, "gain"), strict=True))
        plain = number(rows[rows["name"] == UNTOUCHED]["accuracy"].iloc[0], 1)
        made[f"{classifier} ({plain}%)"] = [shown.get(name, "") for name in order]
    return made


def by_cell(on_shifts: pd.DataFrame) -> tuple[list[str], dict[Pair, NDArray[np.float32]]]:
    """The shift of each cell, and the hits of each pair, (cells, images)."""
    groups = dict(_pairs(on_shifts))
    return list(groups[NOTHING]["shift"]), {
        pair: np.stack(part["hits"].to_list()) for pair, part in groups.items()
    }


def along_stream(
    on_stream: pd.DataFrame,
) -> tuple[pd.DataFrame, dict[Pair, NDArray[np.float32]]]:
    """The segments, with their `start` and how many `images`; the hits of each pair, (images,)."""
    groups = dict(_pairs(on_stream))
    segments = groups[NOTHING][["shift", "severity"]].reset_index(drop=True)
    segments["images"] = [len(hits) for hits in groups[NOTHING]["hits"]]
    segments["start"] = segments["images"].cumsum() - segments["images"]
    return segments, {pair: np.concatenate(part["hits"].to_list()) for pair, part in groups.items()}


def parts_of_shifts(cells: list[str]) -> dict[str, NDArray[np.int64]]:
    """The cells of each shift, of the mean over shifts, and of clean images."""
    shifts = np.array(cells)
    names = [name for name in dict.fromkeys(cells) if name != CLEAN]
    chosen = {name: shifts == name for name in names}
    chosen |= {MEAN: shifts != CLEAN, CLEAN: shifts == CLEAN}
    return {name: np.flatnonzero(some) for name, some in chosen.items()}


def parts_of_stream(segments: pd.DataFrame, batch_size: int) -> dict[str, NDArray[np.bool_]]:
    """Which images are shifted, clean, soon after a change, early and late."""
    lengths = segments["images"]
    shifted = np.repeat(segments["shift"].to_numpy() != CLEAN, lengths)
    since = np.arange(lengths.sum()) - np.repeat(segments["start"].to_numpy(), lengths)
    late = np.arange(len(shifted)) >= len(shifted) / 2
    first = np.arange(len(shifted)) < segments["images"].iloc[0]
    return {
        "shifted": shifted,
        CLEAN: ~shifted,
        "after_a_change": ~first & (since < batch_size),
        "first_half": shifted & ~late,
        "last_half": shifted & late,
    }


def _pairs(found: pd.DataFrame) -> Iterator[tuple[Pair, pd.DataFrame]]:
    for (front, peer), part in found.groupby(["front", "peer"], sort=False):
        yield (str(front), str(peer)), part


def _rows(setting: str, part: str, hits: Hits, bootstrap: Bootstrap) -> Iterator[dict[str, Any]]:
    for (front, peer), of in hits.items():
        asked = of[~np.isnan(of)]
        yield {
            "setting": setting,
            "part": part,
            "front": front,
            "peer": peer,
            "name": name_of(front, peer),
            "accuracy": 100 * float(asked.mean()) if len(asked) else np.nan,
            **_interval("gain", of - hits[NOTHING], bootstrap),
        }


def _interval(
    name: str, differences: NDArray[np.float32], bootstrap: Bootstrap
) -> dict[str, float]:
    """The mean of differences (cells, images) in points, and its interval over images."""
    by_image = 100 * differences.mean(0)
    by_image = by_image[~np.isnan(by_image)]
    if not len(by_image):
        return dict.fromkeys([name, f"{name}_low", f"{name}_high"], np.nan)
    low, high = bootstrap.interval(by_image)
    return {name: float(by_image.mean()), f"{name}_low": low, f"{name}_high": high}
