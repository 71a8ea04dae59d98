"""First actions, what stopped them, and what that cost (paper, appendix G, Inaction)."""

import pandas as pd

OUTCOMES = {
    "kept": "carried out",
    "inoperable": "forbidden by the tree",
    "nop": "the policy chose none",
    "beta": "stopped by β",
}
"""What becomes of a first action, in words."""


def inaction_table(first_actions: pd.DataFrame) -> pd.DataFrame:
    """First actions by shift, each by what became of it, means over severities and trials.

    Args:
        first_actions: one row a cell, trial and classifier.

    Returns:
        `controller`, `shift`, `outcome` ("kept", or what stopped it), `wanted` (the first action;
        the commoner of one outcome first), `share` (of the shift's cells, a severity and a trial
        each, in %), `distance_change` (relative, by the first action alone, in %) and
        `delta_<classifier>` (points of accuracy that it gains alone).
    """
    names = list(dict.fromkeys(first_actions["classifier"]))
    gain = 100 * (first_actions["accuracy_first"] - first_actions["accuracy_shifted"])
    ratio = first_actions["distance_first"] / first_actions["distance_initial"]
    table = first_actions.assign(gain=gain, change=100 * (ratio - 1))
    rows = []
    for (controller, shift), cells in table.groupby(["controller", "shift"], sort=False):
        for outcome in OUTCOMES:
            stopped = cells[cells["outcome"] == outcome]
            for action in stopped["action"].value_counts().index:
                part = stopped[stopped["action"] == action]
                gains = part.groupby("classifier")["gain"].mean()
                rows.append(
                    {
                        "controller": controller,
                        "shift": shift,
                        "outcome": outcome,
                        "wanted": action,
                        "share": 100 * len(part) / len(cells),
                        "distance_change": part["change"].mean(),
                        **{f"delta_{name}": gains[name] for name in names},
                    }
                )
    return pd.DataFrame(rows)
