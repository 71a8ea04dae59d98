import pandas as pd

from projects import reporting_parameters
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


def test_as_many_colours_as_are_asked_for():
    for count in (1, 10, 11, 40):
        assert len(set(figures.colours(count))) == count
