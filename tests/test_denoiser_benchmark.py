"""The tables of the denoiser's card, and its ceiling on the shifts of a run."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from benchmarks import denoiser, denoiser_ceiling
from superstar.actions import UNet, save_denoiser
from superstar.images import from_uint8
from superstar.jpeg import through_jpeg


class Bright(nn.Module):
    """Says 1 of bright images, 0 of dark ones."""

    def forward(self, images: Tensor) -> Tensor:
        level = images.float().mean(dim=(1, 2, 3)) - 0.5
        return torch.stack([-level, level], dim=1)


@pytest.fixture(scope="module")
def clean() -> Tensor:
    """Two dark images and two bright ones, each of one colour."""
    levels = np.array([40, 60, 180, 200], dtype=np.uint8).reshape(4, 1, 1, 1)
    return from_uint8(np.tile(levels, (1, 16, 16, 3)))


def test_every_action_has_its_column_in_the_tables_of_the_card(clean, monkeypatch):
    monkeypatch.setattr(denoiser, "load_named", lambda *_: Bright())
    actions = {"none": lambda images, _: images, "flipped": lambda images, _: 1 - images}
    reached = denoiser.accuracy_table(clean, np.array([0, 0, 1, 1]), actions)
    assert reached["sigma"].tolist() == [0, 0.08, 0.12, 0.18, 0.26, 0.38]
    assert reached["noisy"].equals(reached["none"])
    assert (reached["none"] + reached["flipped"]).tolist() == [100] * 6
    assert reached.loc[0, "none"] == 100
    kept = denoiser.unchanged_table({"gray": clean}, actions)
    assert kept[["jpeg", "of", "none", "flipped"]].to_numpy().tolist() == [
        ["none", 4, 4, 0],
        [85, 4, 4, 0],
    ]
    speeds = denoiser.speed_table(clean, actions)
    assert speeds["denoiser"].tolist() == ["none", "flipped"]
    restored = denoiser.clipped_table(clean, {"told": lambda images, sigma: clean + sigma / 2550})
    # The worse the noise, the lower: first without JPEG, then through it.
    for half in (restored[:4], restored[4:]):
        assert half["noisy"].is_monotonic_decreasing
        assert half["told"].tolist() == pytest.approx(
            [-20 * np.log10(s / 2550) for s in half["sigma"]], abs=0.01
        )


def test_stored_images_are_what_a_file_holds(clean):
    noisy = denoiser.stored(clean, 25, None)
    assert torch.equal((noisy * 255).round() / 255, noisy)
    assert (noisy - clean).std() * 255 == pytest.approx(25, rel=0.1)
    assert torch.equal(denoiser.stored(clean, 25, 85), through_jpeg(noisy, 85))


def trials(*given: tuple[str, str, list[str]], recovered: float) -> pd.DataFrame:
    rows = pd.DataFrame(given, columns=["action", "outcome", "sequence"])
    return rows.assign(accuracy_recovered=recovered, calibrated=0.6)


CELL = denoiser_ceiling.Cell("shot_noise", 2)
ACCURACIES = {"shifted": 30.0, "action": 70.0, "all taken off": 50.0}
TAKEN = ("dncnn", "kept", ["dncnn", "clahe_2_2"])


def test_a_cell_tells_the_share_and_where_it_is_low_what_was_done():
    low = trials(
        ("dncnn", "beta", []),
        TAKEN,
        ("dncnn", "beta", []),
        ("clahe_2_2", "inoperable", []),
        ("nop", "nop", []),
        recovered=0.4,
    )
    row = denoiser_ceiling.cell_row(CELL, ACCURACIES, low)
    assert row["share"] == pytest.approx(25)
    assert row["why"] == (
        "dncnn stopped by β (2), took dncnn > clahe_2_2 (1), clahe_2_2 forbidden by the tree (1), "
        "wanted nothing (1)"
    )
    enough = denoiser_ceiling.cell_row(CELL, ACCURACIES, trials(TAKEN, recovered=0.65))
    assert enough["share"] == pytest.approx(87.5)
    assert enough["why"] == ""


def test_where_the_denoiser_gains_nothing_there_is_no_share():
    none = ACCURACIES | {"action": 30.5}
    row = denoiser_ceiling.cell_row(CELL, none, trials(TAKEN, recovered=0.2))
    assert np.isnan(row["share"])
    assert row["why"] == ""


def test_the_summary_counts_over_the_noises():
    clean_row = denoiser_ceiling.cell_row(
        denoiser_ceiling.Cell("none", None),
        dict.fromkeys(ACCURACIES, 90.0),
        trials(TAKEN, recovered=0.9),
    )
    cells = pd.DataFrame(
        [
            clean_row,
            denoiser_ceiling.cell_row(CELL, ACCURACIES, trials(TAKEN, recovered=0.4)),
            denoiser_ceiling.cell_row(CELL, ACCURACIES, trials(TAKEN, recovered=0.7)),
        ]
    )
    told = denoiser_ceiling.summary(cells)
    assert "60.0 points are lost" in told
    assert "action: 66.7%, all taken off: 33.3%, paper: 41.7%, calibrated: 50.0%" in told
    assert "in 1 of 2 cells, and over all 62.5%" in told


def test_a_finished_run_has_its_page(finished_run, tmp_path, capsys):
    torch.manual_seed(0)
    save_denoiser(UNet((4,), (1,), gate=(0.5, 0.6)), tmp_path / "idle.safetensors")
    output = tmp_path / "ceiling.md"
    arguments = ["--project", str(finished_run.root), "--env", "test", "--output", str(output)]
    denoiser_ceiling.main([*arguments, "--also", f"idle={tmp_path / 'idle.safetensors'}"])
    page = output.read_text()
    assert capsys.readouterr().out == page
    lines = [line for line in page.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    cells = [dict(zip(header, row, strict=True)) for row in rows]
    assert [(cell["shift"], cell["severity"]) for cell in cells] == [
        ("none", ""),
        ("gaussian noise", "1"),
        ("gaussian noise", "5"),
    ]
    table = pd.read_csv(finished_run.data("08_reporting/main_table.csv"))
    table = table[table["classifier"] == "standard"].set_index(["controller", "shift"])
    for column, name, controller in (
        ("shifted", "shifted", "paper"),
        ("recovered", "paper", "paper"),
        ("recovered", "calibrated", "calibrated"),
    ):
        measured = [float(cell[name]) for cell in cells]
        assert measured[0] == pytest.approx(table.loc[(controller, "none"), column], abs=0.051)
        noisy = table.loc[(controller, "gaussian_noise"), column]
        assert np.mean(measured[1:]) == pytest.approx(noisy, abs=0.051)
    # A denoiser that lets nothing through leaves all as it is.
    assert all(cell["idle"] == cell["shifted"] for cell in cells)
    assert "points are lost" in page


def test_without_a_finished_run_it_says_so(tmp_path):
    from projects import make_project

    project = make_project(tmp_path / "project")
    for environment, message in (("test", "no finished run of test"), ("none", "no environment")):
        with pytest.raises(SystemExit, match=message):
            denoiser_ceiling.main(["--project", str(project.root), "--env", environment])
