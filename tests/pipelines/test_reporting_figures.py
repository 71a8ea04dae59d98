import numpy as np
import pandas as pd

from projects import reporting_parameters
from superstar.actions import ACTIONS, EXTENDED
from superstar.pipelines import drawing
from superstar.pipelines.reporting import figures, nodes


def curves_of(batches):
    """An episode a batch, whose reward is the batch's number."""
    rows = [
        {"episode": episode, "batch": batch, "reward": float(batch), "distance_ratio": 1.0}
        for episode, batch in enumerate(batches)
    ]
    return pd.DataFrame(rows).assign(nop=1, dncnn=0)


def curves_drawn(figure):
    return {line.get_label(): line.get_ydata().tolist() for line in figure.axes[0].lines}


def test_curves_are_those_of_the_surrogates_batches_though_the_last_were_never_drawn():
    # Of three surrogates with four batches each two of the second were drawn, the third never.
    batches = {"blur": range(4), "gamma": range(4, 8), "noise": range(8, 12)}
    drawn = curves_drawn(
        figures.policy_figure(curves_of([0, 1, 2, 3, 4, 5]), ["nop", "dncnn"], batches, window=1)
    )
    assert drawn["blur"] == [0, 1, 2, 3]
    assert drawn["gamma"] == [4, 5]
    assert "noise" not in drawn


def test_batches_are_numbered_surrogate_by_surrogate(monkeypatch):
    seen = {}
    monkeypatch.setattr(figures, "policy_figure", lambda *given: seen.update(given[2]))
    policy = {
        "names": ["uniform_noise", "gamma_increase"],
        "severity": 5,
        "batch_size": 20,
        "training_batches": 3,
        "held_out_batches": 1,
    }
    nodes.draw_policy(curves_of([0]), reporting_parameters(), {"policy": policy})
    assert seen == {"uniform_noise": range(3), "gamma_increase": range(3, 6)}


def test_every_correction_has_a_name_and_a_colour_of_its_own():
    assert set(drawing.CORRECTIONS) == {*EXTENDED, *ACTIONS}
    names, shades = zip(*drawing.CORRECTIONS.values(), strict=True)
    assert len(set(names)) == len(set(shades)) == len(names)
    assert drawing.corrections(["dncnn", "match_tone"]) == "denoise, network, then match tone"


def test_as_many_colours_as_are_asked_for():
    for count in (1, 10, 11, 40):
        assert len(set(drawing.colours(count))) == count


def test_a_map_says_its_gains_and_nothing_where_nothing_changed():
    table = pd.DataFrame({"1": [0.0, -12.6], "2": [np.nan, 0.2]}, index=["fog", "gaussian_noise"])
    panel, _ = drawing.gain_maps({"augmix": table}, "severity").axes
    assert [text.get_text() for text in panel.texts] == ["", "", "-13", "0"]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["fog", "gaussian noise"]
    assert panel.images[0].get_clim() == (-drawing.FULL_COLOUR, drawing.FULL_COLOUR)


def test_many_panels_go_on_below():
    table = pd.DataFrame({"1": [1.0]}, index=["fog"])
    figure = drawing.gain_maps({str(n): table for n in range(6)}, "severity")
    assert sum(bool(axis.images) for axis in figure.axes) == 6


def test_bars_of_actions_fill_every_row():
    rows = [
        ("paper", "fog", True, "dncnn", 75.0),
        ("paper", "fog", False, "beta", 25.0),
        ("paper", "none", False, "nop", 100.0),
    ]
    table = pd.DataFrame(rows, columns=["controller", "shift", "acted", "what", "share"])
    figure = figures.actions_figure(table)
    (axis,) = figure.axes
    lengths = np.array([[bar.get_width() for bar in stack] for stack in axis.containers])
    assert lengths.sum(axis=0).tolist() == [100, 100]
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {
        "denoise, network",
        "policy chose nothing",
        "comes no nearer (β)",
    }
