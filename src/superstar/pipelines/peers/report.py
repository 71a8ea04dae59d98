"""Peers as one Markdown page: every number in it comes from the run."""

import pandas as pd

from superstar.control.controllers import CALIBRATED, PAPER
from superstar.parameters import Peers
from superstar.peers import PEERS, UNTOUCHED, Needs
from superstar.pipelines.pages import intervals, readable, render, with_interval
from superstar.pipelines.peers.summary import (
    CLEAN,
    MEAN,
    SHIFTS,
    STREAM,
    alone,
    along_stream,
    by_classifier,
    controllers_before_peers,
    name_of,
)

NEEDS = {
    PAPER: Needs(batch=True, clean=True),
    CALIBRATED: Needs(batch=True, clean=True),
    "always dncnn": Needs(),
    "always match_tone": Needs(batch=True, clean=True),
    "rule": Needs(batch=True),
    **{name: peer.needs for name, peer in PEERS.items()},
}
PARTS = {
    "shifted": "shifted images",
    CLEAN: "clean images",
    "after_a_change": "after a change",
    "first_half": "shifted, first half",
    "last_half": "shifted, last half",
}


def compose(
    table: pd.DataFrame,
    beside: pd.DataFrame,
    on_stream: pd.DataFrame,
    given: Peers,
    tested: int,
    of_all: pd.DataFrame,
) -> str:
    """The page.

    Args:
        table: of `summary.gain_table`, of the first classifier, as all that follows.
        beside: of `summary.beside_ours`.
        on_stream: a row a segment, front and peer.
        given: parameters of the study.
        tested: images of every shift and severity; fewer than were asked for where there are fewer.
        of_all: as `table`, of all classifiers.
    """
    on_shifts = table[table["setting"] == SHIFTS].set_index("part", drop=False)
    on_the_stream = table[(table["setting"] == STREAM) & (table["front"] != PAPER)]
    mean, untouched = on_shifts.loc[[MEAN]], on_shifts[on_shifts["name"] == UNTOUCHED]["accuracy"]
    segments, _ = along_stream(on_stream)
    peers = beside[beside["front"] == UNTOUCHED]
    return render(
        "peers.md",
        given=given,
        tested=tested,
        shifts=on_shifts["part"].nunique() - 2,
        accuracy=untouched[MEAN],
        clean=untouched[CLEAN],
        led=[readable(name) for name in peers[peers["lead_low"] > 0]["peer"]],
        leading=[readable(name) for name in peers[peers["lead_high"] < 0]["peer"]],
        best=peers.loc[peers["pair"].idxmax()],
        leaders=_leaders(mean, on_shifts.loc[[CLEAN]]),
        beside=_beside(beside),
        by_shift=_gains(alone(on_shifts).query("name != @UNTOUCHED"), "part", "name"),
        stream=_gains(on_the_stream, "name", "part").rename(columns=PARTS),
        segments=len(segments),
        images=int(segments["images"].sum()),
        costs=_costs(alone(mean)),
        classifiers=by_classifier(of_all),
    )


def _leaders(mean: pd.DataFrame, clean: pd.DataFrame) -> pd.DataFrame:
    """A row a peer or baseline, best first, with what it gains alone and behind each controller."""
    shown = {
        row["name"]: with_interval(row["gain"], row["gain_low"], row["gain_high"])
        for row in mean.to_dict("records")
    }
    order = alone(mean).sort_values("gain", ascending=False)
    made = pd.DataFrame({"": order["name"], "alone": [shown[name] for name in order["name"]]})
    for controller in controllers_before_peers(mean):
        behind = [name_of(controller, peer) for peer in order["peer"]]
        peers = (order["front"] == UNTOUCHED) & (order["peer"] != UNTOUCHED)
        made[f"behind {controller}"] = [
            shown.get(name, "") if peer else "" for name, peer in zip(behind, peers, strict=True)
        ]
    at_home = clean.set_index("name").loc[order["name"]].reset_index()
    return made.assign(**{"clean images": intervals(at_home, "gain")})


def _beside(beside: pd.DataFrame) -> pd.DataFrame:
    some = alone(beside)
    pairs = some[["pair", "pair_low", "pair_high"]].itertuples(index=False)
    return pd.DataFrame(
        {
            "": some["name"],
            "lead of calibrated": intervals(some, "lead"),
            "ahead on": [f"{row.ahead} of {row.shifts}" for row in some.itertuples()],
            "loses a point or more on": some["lost"].map(readable),
            "pair over the better": ["" if pd.isna(p[0]) else with_interval(*p) for p in pairs],
        }
    )


def _gains(table: pd.DataFrame, rows: str, columns: str) -> pd.DataFrame:
    """Gains with names or parts as rows and columns, in the table's order."""
    wide = table.pivot(index=rows, columns=columns, values="gain")
    wide = wide.loc[table[rows].unique(), table[columns].unique()]
    return wide.rename(index=readable).rename_axis(None).reset_index(names="")


def _costs(mean: pd.DataFrame) -> pd.DataFrame:
    """Images a second and needs, of what stands alone."""
    rows = []
    for row in mean.to_dict("records"):
        needs = NEEDS.get(row["front"] if row["peer"] == UNTOUCHED else row["peer"])
        if needs is not None:
            asked = {name: "yes" if value else "" for name, value in vars(needs).items()}
            rows.append({"": row["name"], "images a second": round(row["images_a_second"])} | asked)
    return pd.DataFrame(rows)
