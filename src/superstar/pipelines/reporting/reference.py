"""The results of a run beside those of others: the paper's tables, or another run's."""

import pandas as pd

from superstar.errors import InputError

CLASSIFIERS = {"none": "standard"}
SHIFTS = {
    "elastic": "elastic_transform",
    "jpeg": "jpeg_compression",
    "gamma_type_a": "gamma_increase",
    "gamma_type_b": "gamma_decrease",
    "sigmoid_type_a": "sigmoid_increase",
    "sigmoid_type_b": "sigmoid_decrease",
}
LETTERS = {
    "GN": "gaussian_noise",
    "ShN": "shot_noise",
    "IN": "impulse_noise",
    "SpN": "speckle_noise",
    "B": "brightness",
    "C": "contrast",
    "S": "saturate",
}
"""Names in the paper's tables, of classifiers and of shifts, and what we call them."""

NUMBERS = ["shifted", "recovered", "delta"]


def read_reference(table: pd.DataFrame) -> pd.DataFrame:
    """A table of accuracies in our names.

    Args:
        table: `shift`, `classifier`, `shifted` and `recovered` in percent; further columns, such
            as those of our own main table, are left out. Delta is computed anew, since some of
            the paper's are not the difference of its accuracies.

    Raises:
        InputError: a missing column, or a shift and classifier that occur twice.
    """
    if missing := {"shift", "classifier", "shifted", "recovered"} - set(table.columns):
        raise InputError(f"the reference table lacks the columns {', '.join(sorted(missing))}")
    named = pd.DataFrame(
        {
            "shift": table["shift"].map(shift_name),
            "classifier": table["classifier"].map(lambda name: CLASSIFIERS.get(name, name)),
            "shifted": table["shifted"],
            "recovered": table["recovered"],
            "delta": table["recovered"] - table["shifted"],
        }
    )
    twice = named[named.duplicated(["shift", "classifier"])]
    if len(twice):
        shift, classifier = twice.iloc[0][["shift", "classifier"]]
        raise InputError(f"the reference table holds {shift} for {classifier} twice")
    return named


def read_inoperable(table: pd.DataFrame) -> pd.DataFrame:
    """% inoperable by surrogate and shift (`group`, `shift`, `percent_inoperable`) in our names.

    Raises:
        InputError: a missing column.
    """
    wanted = ["group", "shift", "percent_inoperable"]
    if missing := set(wanted) - set(table.columns):
        raise InputError(f"the reference table lacks the columns {', '.join(sorted(missing))}")
    return table[wanted].assign(shift=table["shift"].map(shift_name))


def shift_name(name: str) -> str:
    """Our name of a shift: `GN + B` is `gaussian_noise+brightness`, `jpeg` `jpeg_compression`."""
    parts = []
    for part in str(name).split("+"):
        own = LETTERS.get(part.strip(), part.strip().lower().replace(" ", "_"))
        parts.append(SHIFTS.get(own, own))
    return "+".join(parts)


def beside_reference(
    main: pd.DataFrame, transfer: pd.DataFrame, reference: pd.DataFrame
) -> pd.DataFrame:
    """Our tables beside another, a row a policy, shift and classifier that both have.

    Args:
        main: our main table, whose policy is called `own`.
        transfer: of `tables.transfer_table`, with policies from elsewhere; may be empty.
        reference: of `read_reference`.

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


OWN = "own"
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
        reference: of `read_inoperable`.
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


def _share(table: pd.DataFrame) -> pd.Series:
    clean = table[table["shift"] == "none"].set_index("classifier")["shifted"]
    lost = table["classifier"].map(clean) - table["shifted"]
    return (100 * table["delta"] / lost.where(lost > 0)).astype(float)
