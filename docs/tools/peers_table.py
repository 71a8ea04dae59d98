"""Print the peers of several runs as one table, and keep what it is made from.

    python docs/tools/peers_table.py "photographs=data/08_reporting/photos/peers.csv" ...

Each argument is a heading and the `peers.csv` of a run of the pipeline `peers`, which gets a column
for each of its classifiers.
"""

import argparse
from pathlib import Path

import pandas as pd

from superstar.pipelines.peers.summary import CLEAN, MEAN, SHIFTS, by_classifier

KEPT = Path(__file__).parents[1] / "results" / "peers.csv"


def main() -> None:
    """Print the table, best first by its first column."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="+", metavar="HEADING=FILE")
    given = parser.parse_args()
    found = []
    for heading, path in (each.split("=", 1) for each in given.runs):
        table = pd.read_csv(path)
        table = table[(table["setting"] == SHIFTS) & table["part"].isin([MEAN, CLEAN])]
        first = table["classifier"].iloc[0]
        names = {of: f"{heading}, {of}" for of in table["classifier"].unique()} | {first: heading}
        found.append(table.replace({"classifier": names}))
    kept = pd.concat(found)
    kept.drop(columns="setting").rename(columns={"classifier": "run"}).round(3).to_csv(
        KEPT, index=False
    )
    shown = by_classifier(kept).map(lambda cell: cell.replace("-", "\N{MINUS SIGN}"))
    print(shown.to_markdown(index=False))


if __name__ == "__main__":
    main()
