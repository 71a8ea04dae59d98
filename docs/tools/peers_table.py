"""Print the peers of several runs as one table, and keep what it is made from.

    python docs/tools/peers_table.py "photographs=data/08_reporting/photos/peers.csv" ...

Each argument is a column: its heading, and the `peers.csv` of a run of the pipeline `peers`.
"""

import argparse
from pathlib import Path

import pandas as pd

from superstar.control.controllers import CALIBRATED
from superstar.peers import UNTOUCHED
from superstar.pipelines.pages import number, readable, with_interval
from superstar.pipelines.peers.summary import CLEAN, MEAN, SHIFTS

KEPT = Path(__file__).parents[1] / "results" / "peers.csv"


def main() -> None:
    """Print the table, best first by its first column."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="+", metavar="HEADING=FILE")
    given = parser.parse_args()
    found = {}
    for heading, path in (each.split("=", 1) for each in given.runs):
        table = pd.read_csv(path)
        found[heading] = table[(table["setting"] == SHIFTS) & table["part"].isin([MEAN, CLEAN])]
    kept = pd.concat(found, names=["run"]).reset_index("run").drop(columns="setting")
    kept.round(3).to_csv(KEPT, index=False)
    print(compare(kept).to_markdown(index=False))


def compare(kept: pd.DataFrame) -> pd.DataFrame:
    """What stands alone, and what stands behind `calibrated`: a column a run, gains in points."""
    shown = kept[kept["front"].isin([UNTOUCHED, CALIBRATED]) | (kept["peer"] == UNTOUCHED)]
    mean = shown[shown["part"] == MEAN]
    text = {
        (row.run, row.name): with_interval(row.gain, row.gain_low, row.gain_high).replace("-", "−")
        for row in mean.itertuples(index=False)
    }
    first = mean[mean["run"] == mean["run"].iloc[0]].sort_values("gain", ascending=False)
    table = pd.DataFrame({"": [readable(name) for name in first["name"]]})
    for run, rows in mean.groupby("run", sort=False):
        plain = rows[rows["name"] == UNTOUCHED]["accuracy"].iloc[0]
        heading = f"{run} ({number(plain, 1)}%)"
        table[heading] = [text.get((run, name), "") for name in first["name"]]
    return table


if __name__ == "__main__":
    main()
