"""The results of a run beside those of others: the paper's tables, or another run's."""

import pandas as pd

from superstar.pipelines.reporting.typesetting import COMPOSITE

OWN = "own"
"""What the run's own policy is called beside those from elsewhere."""

NUMBERS = ["shifted", "recovered", "delta"]
KEYS = ["policy", "classifier"]


def beside_reference(
    main: pd.DataFrame, transfer: pd.DataFrame, reference: pd.DataFrame
) -> pd.DataFrame:
    """Our tables beside another, a row a policy, shift and classifier that both have.

    Args:
        main: our main table, whose policy is called `own`.
        transfer: of `tables.transfer_table`, with policies from elsewhere; may be empty.
        reference: of `superstar.reference_tables.read_accuracies`.

    Returns:
        `policy`, `shift`, `classifier`, our `shifted`, `recovered`, `delta`, `delta_low`,
        `delta_high` and `share`, theirs as `reference_shifted` and so on. Shares are of the
        accuracy lost to the shift, the classifier's on `none` less that on the shift, in percent;
        missing where nothing is lost.
    """
    policies = {OWN: main, **dict(list(transfer.groupby("policy", sort=False)))}
    columns = {name: f"reference_{name}" for name in [*NUMBERS, "share"]}
    theirs = reference.assign(share=_share(reference)).rename(columns=columns)
    return pd.concat(
        [
            table.assign(policy=policy, share=_share(table)).merge(
                theirs, on=["shift", "classifier"]
            )[COLUMNS]
            for policy, table in policies.items()
        ],
        ignore_index=True,
    )


COLUMNS = [
    "policy",
    "shift",
    "classifier",
    *NUMBERS,
    "delta_low",
    "delta_high",
    "share",
    *(f"reference_{name}" for name in [*NUMBERS, "share"]),
]


INOPERABLE_COLUMNS = ["group", "shift", "percent_inoperable", "reference_percent_inoperable"]


def inoperable_beside(own: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """% inoperable: `group`, `shift`, ours and theirs, of what both have.

    Args:
        own: of `tables.operability_table`.
        reference: of `superstar.reference_tables.read_inoperable`.
    """
    theirs = reference.rename(columns={"percent_inoperable": "reference_percent_inoperable"})
    return own.merge(theirs, on=["group", "shift"])


def mean_shares(table: pd.DataFrame, shifts: list[str]) -> pd.DataFrame:
    """Mean Delta over some shifts, and the mean share of what was lost to them that came back.

    Args:
        table: of `beside_reference`.
        shifts: to average over; those that are not there are left out.

    Returns:
        A row a policy and classifier: `policy`, `classifier`, `delta`, `share`,
        `reference_delta`, `reference_share`.
    """
    columns = ["delta", "share", "reference_delta", "reference_share"]
    rows = table[table["shift"].isin(shifts)]
    return rows.groupby(["policy", "classifier"], sort=False)[columns].mean().reset_index()


MEAN_COLUMNS = ["policy", "over", "shifts", "classifier"]
MEAN_COLUMNS += [*NUMBERS, *(f"reference_{name}" for name in NUMBERS)]


def mean_accuracies(table: pd.DataFrame) -> pd.DataFrame:
    """Means over all shifts that both have, clean images apart.

    Args:
        table: of `beside_reference`.

    Returns:
        `policy`, `over` ("all shifts", and where there are both "single shifts" and "composites"),
        `shifts` (their number), `classifier`, our `shifted`, `recovered` and `delta`, and theirs as
        `reference_shifted` and so on.
    """
    shifted = table[table["shift"] != "none"]
    composite = shifted["shift"].str.contains(COMPOSITE, regex=False)
    parts = {"all shifts": shifted}
    if 0 < composite.sum() < len(shifted):
        parts |= {"single shifts": shifted[~composite], "composites": shifted[composite]}
    columns = [name for name in MEAN_COLUMNS if name in table.columns and name not in KEYS]
    rows = [
        part.groupby(KEYS, sort=False)[columns]
        .mean()
        .assign(over=over, shifts=part.groupby(KEYS, sort=False).size())
        .reset_index()
        for over, part in parts.items()
    ]
    return pd.concat(rows, ignore_index=True)[MEAN_COLUMNS]


def _share(table: pd.DataFrame) -> pd.Series:
    clean = table[table["shift"] == "none"].set_index("classifier")["shifted"]
    lost = table["classifier"].map(clean) - table["shifted"]
    return (100 * table["delta"] / lost.where(lost > 0)).astype(float)
