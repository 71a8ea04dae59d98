"""Peers as one Markdown page: every number in it comes from the run."""

import pandas as pd

from superstar.control.supervisor import CALIBRATED, PAPER
from superstar.parameters import Peers
from superstar.peers import ORACLE, PEERS, UNTOUCHED, Needs
from superstar.pipelines.pages import intervals, readable, render, with_interval
from superstar.pipelines.peers.summary import (
    CLEAN,
    CONTROLLERS,
    MEAN,
    SHIFTS,
    STREAM,
    along_stream,
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


def name_of(front: str, peer: str) -> str:
    """One name for a front and a peer."""
    parts = [part for part in (front, peer) if part != UNTOUCHED]
    return readable(" > ".join(parts) or UNTOUCHED)


def compose(
    table: pd.DataFrame, beside: pd.DataFrame, on_stream: pd.DataFrame, given: Peers
) -> str:
    """The page.

    Args:
        table: of `summary.gain_table`.
        beside: of `summary.beside_ours`.
        on_stream: a row a segment, front and peer.
        given: parameters of the study.
    """
    on_shifts = table[table["setting"] == SHIFTS]
    mean = on_shifts[on_shifts["part"] == MEAN]
    segments, _ = along_stream(on_stream)
    return render(
        "peers.md",
        given=given,
        shifts=on_shifts["part"].nunique() - 2,
        accuracy=_of(mean, UNTOUCHED, UNTOUCHED)["accuracy"].item(),
        clean=_of(on_shifts[on_shifts["part"] == CLEAN], UNTOUCHED, UNTOUCHED)["accuracy"].item(),
        leaders=_leaders(on_shifts),
        beside=_beside(beside),
        by_shift=_by_shift(on_shifts, behind=UNTOUCHED),
        behind=_by_shift(on_shifts, behind=CALIBRATED),
        stream=_stream(table[table["setting"] == STREAM]),
        segments=len(segments),
        images=int(segments["images"].sum()),
        costs=_costs(mean),
    )


def _of(table: pd.DataFrame, front: str, peer: str) -> pd.DataFrame:
    return table[(table["front"] == front) & (table["peer"] == peer)]


def _leaders(on_shifts: pd.DataFrame) -> pd.DataFrame:
    """A row a peer or baseline, best first, with what it gains alone and behind each controller."""
    mean, clean = (on_shifts[on_shifts["part"] == part] for part in (MEAN, CLEAN))
    alone = mean[(mean["front"] == UNTOUCHED) | (mean["peer"] == UNTOUCHED)]
    rows = []
    for row in alone.sort_values("gain", ascending=False).to_dict("records"):
        front, peer = row["front"], row["peer"]
        made = {"": name_of(front, peer), "alone": _cell(row)}
        for controller in CONTROLLERS:
            found = _of(mean, controller, peer) if front == UNTOUCHED != peer else mean[:0]
            made[f"behind {controller}"] = _cell(found.iloc[0]) if len(found) else ""
        made["clean images"] = _cell(_of(clean, front, peer).iloc[0])
        rows.append(made)
    return pd.DataFrame(rows)


def _cell(row: "pd.Series | dict[str, float]") -> str:
    return with_interval(row["gain"], row["gain_low"], row["gain_high"])


def _beside(beside: pd.DataFrame) -> pd.DataFrame:
    parts = {
        "": [name_of(*pair) for pair in zip(beside["front"], beside["peer"], strict=True)],
        "lead of calibrated": intervals(beside, "lead"),
        "ahead on": [f"{row.ahead} of {row.shifts}" for row in beside.itertuples()],
        "loses a point or more on": [readable(shifts) for shifts in beside["lost"]],
        "pair over the better": [
            ""
            if pd.isna(row["pair"])
            else with_interval(row["pair"], row["pair_low"], row["pair_high"])
            for row in beside.to_dict("records")
        ],
    }
    others = ~beside["front"].isin([PAPER, ORACLE]) | (beside["peer"] == UNTOUCHED)
    return pd.DataFrame(parts)[others.to_numpy()]


def _by_shift(on_shifts: pd.DataFrame, behind: str) -> pd.DataFrame:
    """Gains by shift behind one front; alone the other fronts stand beside the peers."""
    some = on_shifts[on_shifts["front"] == behind]
    if behind == UNTOUCHED:
        some = on_shifts[(on_shifts["front"] == UNTOUCHED) | (on_shifts["peer"] == UNTOUCHED)]
        some = some[(some["front"] != UNTOUCHED) | (some["peer"] != UNTOUCHED)]
    names = [name_of(*pair) for pair in zip(some["front"], some["peer"], strict=True)]
    wide = some.assign(name=names).pivot(index="part", columns="name", values="gain")
    wide = wide.loc[list(dict.fromkeys(some["part"])), list(dict.fromkeys(names))]
    wide.index = pd.Index([readable(name) for name in wide.index], name="shift")
    return wide.reset_index()


def _stream(on_stream: pd.DataFrame) -> pd.DataFrame:
    some = on_stream[on_stream["front"] != PAPER]
    names = [name_of(*pair) for pair in zip(some["front"], some["peer"], strict=True)]
    wide = some.assign(name=names).pivot(index="name", columns="part", values="gain")
    return wide.loc[list(dict.fromkeys(names)), list(PARTS)].rename(columns=PARTS).reset_index()


def _costs(mean: pd.DataFrame) -> pd.DataFrame:
    """Images a second and needs, of what stands alone."""
    rows = []
    for name, needs in NEEDS.items():
        found = pd.concat([_of(mean, UNTOUCHED, name), _of(mean, name, UNTOUCHED)])
        if len(found):
            speed = found["images_a_second"].item()
            asked = {key: "yes" if value else "" for key, value in vars(needs).items()}
            rows.append({"": readable(name), "images a second": round(speed), **asked})
    return pd.DataFrame(rows)
