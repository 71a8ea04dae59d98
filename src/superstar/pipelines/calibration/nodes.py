"""The denoiser's gate; home, its gate, and what corrections are worth."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from torch import nn

from superstar.actions import Denoiser, UNet
from superstar.actions.appearance import Appearance
from superstar.actions.denoiser_gate import fit_gate
from superstar.checkpoint import own_checkpoint
from superstar.classifiers import predict
from superstar.classifiers.inference import Precision
from superstar.control.calibrated import Calibrated, Limits
from superstar.control.finished import FinishedRows
from superstar.control.gate import calibrate_gate
from superstar.control.trials import (
    LINE_BLUR,
    TRIAL_COLUMNS,
    Shifts,
    full_name_of,
    name_of,
    shift_by,
    surrogate_shifts,
    try_on,
)
from superstar.control.worth import (
    Worth,
    costly_on_clean,
    find_worth,
    lendable,
    uncontradicted,
)
from superstar.corruptions import corrupt
from superstar.images import ImageSet, stream
from superstar.jpeg import as_it_comes
from superstar.measures.bands import Bands, band_histograms
from superstar.measures.rulers import BandRuler
from superstar.parallel import fan_out
from superstar.parameters import Calibration, DenoiserGate, Execution
from superstar.weights import on_device

logger = logging.getLogger(__name__)

WORTH_COLUMNS = [
    "candidate",
    "gain_on_clean",
    "margin",
    "cells_above",
    "highest_gain",
    "lowest_gain",
]


def fit_denoiser(
    network: Denoiser,
    design: ImageSet,
    strengths: dict[str, list[float]],
    classifier: nn.Module,
    parameters: dict[str, Any],
    scale: str,
    jpeg_quality: int | None,
    precision: Precision,
    execution: dict[str, Any],
    seed: int,
) -> Denoiser:
    """The denoiser with a gate for these images and this classifier; a DnCNN has no gate."""
    if not isinstance(network, UNet):
        return network
    given, run = DenoiserGate.model_validate(parameters), Execution.model_validate(execution)
    chosen = design.take(slice(given.images))
    clean = chosen.batch()
    classifier = on_device(classifier, run.device)
    how = (run.batch_size, run.device, precision)
    fitted = fit_gate(
        on_device(network, run.device),
        as_it_comes(clean, jpeg_quality),
        (
            as_it_comes(
                corrupt(clean, given.surrogate, 1, scale, seed, strength=strength), jpeg_quality
            )
            for strength in strengths[given.surrogate]
        ),
        lambda images: float((predict(classifier, images, *how).numpy() == chosen.labels).mean()),
        **given.model_dump(include={"clean_share", "margin", "rise", "strengths"}),
    )
    least, most = (255 * end for end in fitted.gate)
    logger.info(
        "the denoiser takes off nothing below noise of %.1f of 255, %d%% from %.1f on",
        least,
        100 * fitted.strength,
        most,
    )
    return fitted.cpu()


def set_home(
    reference: ImageSet,
    train: ImageSet,
    parameters: dict[str, Any],
    jpeg_quality: int | None,
    seed: int,
) -> tuple[Calibrated, pd.DataFrame]:
    """The ruler of validation images and its gate from training images, no correction yet.

    Returns:
        The controller, and the reading by size of batch from which on images are told from clean
        ones, at several rates of false alarms; NaN where there are too few images.
    """
    given = Calibration.model_validate(parameters)
    clean = as_it_comes(reference.batch(), jpeg_quality)
    others = as_it_comes(train.take(slice(given.gate.images)).batch(), jpeg_quality)
    bands = Bands.of(*clean.shape[2:])
    ruler = BandRuler.of(band_histograms(clean), bands)
    gate = calibrate_gate(
        ruler,
        band_histograms(others),
        rate=given.gate.rate,
        draws=given.gate.draws,
        sizes=given.gate.sizes,
        seed=seed,
    )
    rows = [
        {"batch": size, "rate": rate, "reading": replace(gate, rate=rate).threshold(size)}
        for size in gate.sizes
        for rate in given.gate.shown_rates
        if rate >= gate.smallest_rate
    ]
    limits = Limits(**given.limits.model_dump())
    table = pd.DataFrame(rows, columns=["batch", "rate", "reading"])
    return Calibrated(ruler, Appearance.of(clean), gate, {}, limits), table


def try_corrections(
    design: ImageSet,
    strengths: dict[str, list[float]],
    classifier: nn.Module,
    denoiser: Denoiser,
    home: Calibrated,
    borrowed: dict[str, Worth],
    parameters: dict[str, Any],
    scale: str,
    jpeg_quality: int | None,
    precision: Precision,
    execution: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Every candidate on clean images, every surrogate and every pair: its fall and its gain.

    What costs clean images too much is tried on these alone. Where another benchmark's labels say
    what corrections are worth, those that are worth something there are tried alone. What
    interrupted trials finished is taken as it is.
    """
    given, run = Calibration.model_validate(parameters), Execution.model_validate(execution)
    lines = given.line_blur
    cells = surrogate_shifts(list(strengths), given.severities, given.pair_severities, len(lines))
    strengths = {**strengths, LINE_BLUR: lines}
    settings = (given.images, scale, jpeg_quality, precision, run, seed)
    shared = (design, strengths, classifier, denoiser, home, *settings)
    borrowed = lendable(borrowed, given.own_labels_only)
    names = list(borrowed) or given.candidates
    rows = _try_cells(cells[:1], names, run, shared)
    if not borrowed:
        costly = costly_on_clean(pd.DataFrame(rows), given.clean_bound)
        names = [name for name in names if name not in costly]
    rows += _try_cells(cells[1:], names, run, shared)
    return pd.DataFrame(rows, columns=["shift", "severity", *TRIAL_COLUMNS])


def weigh_corrections(
    home: Calibrated,
    trials: pd.DataFrame,
    borrowed: dict[str, Worth],
    parameters: dict[str, Any],
) -> tuple[Calibrated, pd.DataFrame]:
    """The controller, and the candidates with their margins; NaN where one is left out.

    A candidate that clean images rule out has their gain alone.
    """
    given = Calibration.model_validate(parameters)
    if borrowed := lendable(borrowed, given.own_labels_only):
        worth = uncontradicted(borrowed, trials, veto=given.veto)
    else:
        bounds = given.model_dump(include={"bound", "clean_bound", "confidence"})
        worth = find_worth(trials, **bounds)
    rows = [
        {
            "candidate": name,
            "gain_on_clean": part.loc[part["shift"] == "none", "gain"].mean(),
            "margin": worth[name].margin if name in worth else np.nan,
            "cells_above": int((part["fall"] >= worth[name].margin).sum()) if name in worth else 0,
            "highest_gain": part["gain"].max(),
            "lowest_gain": part["gain"].min(),
        }
        for name, part in trials.groupby("candidate", sort=False)
    ]
    if not worth:
        logger.warning(
            "no correction is worth it on surrogates, so the controller will change nothing: more "
            "labelled images (calibration.images) would tell more"
        )
    logger.info("corrections that are worth it: %s", ", ".join(worth) or "none")
    return replace(home, worth=worth), pd.DataFrame(rows, columns=WORTH_COLUMNS)


def _try_cells(
    cells: Sequence[Shifts], names: Sequence[str], run: Execution, shared: tuple[Any, ...]
) -> list[dict[str, Any]]:
    finished = FinishedRows(own_checkpoint())
    known = {c: rows for c in cells if (rows := finished.load(full_name_of(c))) is not None}
    missing = [cell for cell in cells if cell not in known]
    if known and missing:
        logger.info("trials of corrections go on: %d of %d are there", len(known), len(cells))
    made = fan_out(
        _try_cell,
        [(cell,) for cell in missing],
        run,
        "corrections",
        shared=(finished, names, *shared),
        names=[full_name_of(cell) for cell in missing],
    )
    known |= dict(zip(missing, made, strict=True))
    return [row for cell in cells for row in known[cell]]


def _try_cell(
    cell: Shifts,
    finished: FinishedRows,
    candidates: Sequence[str],
    design: ImageSet,
    strengths: dict[str, list[float]],
    classifier: nn.Module,
    denoiser: Denoiser,
    home: Calibrated,
    most: int,
    scale: str,
    jpeg_quality: int | None,
    precision: Precision,
    run: Execution,
    seed: int,
) -> list[dict[str, Any]]:
    # It may be there if another worker, not this one, died after it was finished.
    if (known := finished.load(full_name_of(cell))) is not None:
        return known
    name = name_of(cell)
    drawn = stream(seed, "corrections", name).permutation(len(design))
    # What a correction costs on clean images is small, so all of them are asked.
    chosen = design.take(drawn[:most] if cell else drawn)
    images = shift_by(chosen.batch(), cell, strengths, scale, seed)
    classifier = on_device(classifier, run.device)
    how = (run.batch_size, run.device, precision)
    rows = try_on(
        as_it_comes(images, jpeg_quality),
        candidates,
        home.appearance,
        home.ruler,
        on_device(denoiser, run.device),
        lambda corrected: predict(classifier, corrected, *how).numpy() == chosen.labels,
    )
    rows = [{"shift": name, "severity": cell[0][1] if cell else None, **row} for row in rows]
    finished.save(full_name_of(cell), rows)
    return rows
