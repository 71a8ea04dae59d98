"""The results of a run and the reference: the paper's tables, or another run's."""

import pandas as pd

from superstar.pipelines.pages import COMPOSITE

OWN = "own"
"""Name of the run's own policy among those from elsewhere."""

KEYS = ["policy", "classifier"]
NUMBERS = ["shifted", "recovered", "delta"]
REFERENCE = {name: f"reference_{name}" for name in [*NUMBERS, "share"]}
"""Columns of the reference, by ours."""

COLUMNS = ["policy", "shift", "classifier", *NUMBERS, "delta_low", "delta_high", "share"]
COLUMNS += REFERENCE.values()


def compare_accuracies(
    main: pd.DataFrame, transfer: pd.DataFrame, reference: pd.DataFrame
) -> pd.DataFrame:
    """A row a policy, shift and classifier that both our tables and the reference have.

    Args:
        main: our main table, whose policy is called `own`.
        transfer: of `tables.transfer_table`, with policies from elsewhere; may be empty.
        reference: of `superstar.reference_tables.read_accuracies`; may be empty.

    Returns:
        `policy`, `shift`, `classifier`, our `shifted`, `recovered`, `delta`, `delta_low`,
        `delta_high` and `share`, the reference's as `reference_shifted` and so on. Shares are of
        the accuracy lost to the shift, the classifier's on `none` less that on the shift, in
        percent; missing where nothing is lost.
    """
    if reference.empty:
        return pd.DataFrame(columns=COLUMNS)
    policies = {OWN: main, **dict(list(transfer.groupby("policy", sort=False)))}
    theirs = reference.assign(share=_share(reference)).rename(columns=REFERENCE)
    return pd.concat(
        [
            table.assign(policy=policy, share=_share(table)).merge(
                theirs, on=["shift", "classifier"]
            )[COLUMNS]
            for policy, table in policies.items()
        ],
        ignore_index=True,
    )


def mean_shares(comparison: pd.DataFrame, shifts: list[str]) -> pd.DataFrame:
    """Mean Delta over some shifts, and the mean share of what was lost to them that came back.

    A row a policy and classifier; shifts that are not there are left out.
    """
    columns = ["delta", "share", "reference_delta", "reference_share"]
    rows = comparison[comparison["shift"].isin(shifts)]
    return rows.groupby(KEYS, sort=False)[columns].mean().reset_index()


def mean_accuracies(comparison: pd.DataFrame) -> pd.DataFrame:
    """Means over all shifts that both have, clean images apart.

    Returns:
        `policy`, `over` ("all shifts", and where there are both "single shifts" and "composites"),
        `shifts` (their number), `classifier`, our `shifted`, `recovered` and `delta`, and the
        reference's as `reference_shifted` and so on.
    """
    shifted = comparison[comparison["shift"] != "none"]
    composite = shifted["shift"].str.contains(COMPOSITE, regex=False)
    parts = {"all shifts": shifted}
    if 0 < composite.sum() < len(shifted):
        parts |= {"single shifts": shifted[~composite], "composites": shifted[composite]}
    columns = [*NUMBERS, *(REFERENCE[name] for name in NUMBERS)]
    rows = []
    for over, part in parts.items():
        groups = part.groupby(KEYS, sort=False)
        rows.append(groups[columns].mean().assign(over=over, shifts=groups.size()).reset_index())
    order = ["policy", "over", "shifts", "classifier", *columns]
    return pd.concat(rows, ignore_index=True)[order]


def _share(table: pd.DataFrame) -> pd.Series:
    clean = table[table["shift"] == "none"].set_index("classifier")["shifted"]
    lost = table["classifier"].map(clean) - table["shifted"]
    return (100 * table["delta"] / lost.where(lost > 0)).astype(float)
