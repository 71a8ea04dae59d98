import numpy as np
import pandas as pd
import pytest

from superstar.datasets import ReferenceTableDataset
from superstar.digests import Digests
from superstar.errors import InputError
from superstar.pipelines.reporting import comparison
from superstar.reference_tables import read_accuracies

ROWS = [
    ("none", "none", 80.0, 80.0, 0.0),
    ("gaussian noise", "none", 20.0, 35.0, 15.0),
    ("jpeg", "none", 60.0, 57.0, -2.5),
    ("GN + B", "none", 10.0, 12.0, 2.0),
    ("none", "augmix", 75.0, 75.0, 0.0),
    ("gaussian noise", "augmix", 35.0, 45.0, 10.0),
]


NO_TRANSFER = pd.DataFrame(columns=["policy", "shift", "classifier"])


@pytest.fixture
def published():
    columns = ["shift", "classifier", "shifted", "recovered", "delta"]
    return pd.DataFrame(ROWS, columns=columns)


@pytest.fixture
def reference_rows(published, tmp_path):
    path = tmp_path / "published.csv"
    published.to_csv(path, index=False)
    return read_accuracies([path])


@pytest.fixture
def main():
    rows = [("none", 90.0, 90.0), ("gaussian_noise", 30.0, 60.0), ("fog", 50.0, 50.0)]
    table = pd.DataFrame(rows, columns=["shift", "shifted", "recovered"])
    table["delta"] = table["recovered"] - table["shifted"]
    return table.assign(controller="paper", classifier="standard", delta_low=-1.0, delta_high=1.0)


def test_shares_are_of_what_each_lost(main, reference_rows):
    table = comparison.compare_accuracies(main, NO_TRANSFER, reference_rows)
    assert table["policy"].tolist() == ["own", "own"]
    assert table["shift"].tolist() == ["none", "gaussian_noise"]
    noise = table.iloc[1]
    assert (noise["share"], noise["reference_share"]) == (pytest.approx(50), pytest.approx(25))
    assert (noise["reference_shifted"], noise["reference_delta"]) == (20, 15)
    assert np.isnan(table.iloc[0]["share"])
    means = comparison.mean_shares(table, ["gaussian_noise", "shot_noise"])
    assert means.to_dict("records") == [
        {
            "policy": "own",
            "classifier": "standard",
            "delta": 30.0,
            "share": pytest.approx(50),
            "reference_delta": 15.0,
            "reference_share": pytest.approx(25),
        }
    ]


def test_our_own_table_is_a_reference_too(main, tmp_path):
    main.to_csv(tmp_path / "main_table.csv", index=False)
    own = read_accuracies([tmp_path / "main_table.csv"])
    table = comparison.compare_accuracies(main, NO_TRANSFER, own)
    assert len(table) == len(main)
    assert table["delta"].tolist() == table["reference_delta"].tolist()


def test_policies_from_elsewhere_stand_beside_the_reference_too(main, reference_rows):
    worse = main.assign(recovered=main["recovered"] - 12, delta=main["delta"] - 12, policy="photos")
    worse.loc[worse["shift"] == "none", ["recovered", "delta"]] += 12
    table = comparison.compare_accuracies(main, worse, reference_rows)
    noise = table[table["shift"] == "gaussian_noise"].set_index("policy")
    assert noise["delta"].to_dict() == {"own": 30, "photos": 18}
    assert noise["share"].tolist() == pytest.approx([50, 30])
    assert (noise["reference_delta"] == 15).all()
    means = comparison.mean_shares(table, ["gaussian_noise"]).set_index("policy")
    assert means["delta"].to_dict() == {"own": 30, "photos": 18}


def test_means_are_over_the_shifts_that_both_have(main, reference_rows):
    composite = main.iloc[[1]].assign(
        shift="gaussian_noise+brightness", shifted=20.0, recovered=24.0, delta=4.0
    )
    both = pd.concat([main, composite])
    table = comparison.mean_accuracies(
        comparison.compare_accuracies(both, NO_TRANSFER, reference_rows)
    )
    assert table["classifier"].unique().tolist() == ["standard"]
    means = table.set_index("over")
    # The reference lacks fog, and clean images are no shift.
    assert means["shifts"].to_dict() == {"all shifts": 2, "single shifts": 1, "composites": 1}
    assert means.loc["all shifts", ["shifted", "recovered", "delta"]].tolist() == [25, 42, 17]
    assert means.loc["composites", ["delta", "reference_delta"]].tolist() == [4, 2]
    theirs = ["reference_shifted", "reference_recovered", "reference_delta"]
    assert means.loc["all shifts", theirs].tolist() == [15, 23.5, 8.5]
    alone = comparison.mean_accuracies(
        comparison.compare_accuracies(main, NO_TRANSFER, reference_rows)
    )
    assert alone["over"].tolist() == ["all shifts"]


def give(project, table: str) -> None:
    globals_file = project.root / "conf" / "test" / "globals.yml"
    globals_file.write_text(f"benchmark: test\nreference_table: {table}\n")


def test_a_run_stands_beside_a_reference(project_copy, published):
    composite = published["shift"].str.contains("+", regex=False)
    for name, part in (("paper", published[~composite]), ("composites", published[composite])):
        part.to_csv(project_copy.root / f"{name}.csv", index=False)
    give(project_copy, "[paper.csv, composites.csv]")
    outcome = project_copy.run("--only-missing-outputs")
    assert outcome.returncode == 0, outcome.stderr
    assert "make_tables done" in outcome.stderr
    assert "evaluate done" not in outcome.stderr
    table = pd.read_csv(project_copy.data("08_reporting/reference_comparison.csv"))
    assert set(table["shift"]) == {"none", "gaussian_noise"}
    assert set(table["classifier"]) == {"standard", "augmix"}
    page = project_copy.data("08_reporting/report.md").read_text()
    assert "Comparison with the reference" in page
    assert "Reference: `paper.csv`, `composites.csv`." in page
    assert str(project_copy.root) not in page
    assert "over the shifts that both have" in page
    assert "came back, over gaussian noise" in page


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[paper.csv, bad.csv]", "bad.csv, line 2, column shifted: '80%'"),
        ("{paper: paper.csv}", "or null, not"),
    ],
)
def test_bad_references_are_refused_before_any_work(project_copy, published, given, said):
    published.to_csv(project_copy.root / "paper.csv", index=False)
    (project_copy.root / "bad.csv").write_text("shift,classifier,shifted,recovered\nfog,x,80%,1\n")
    give(project_copy, given)
    outcome = project_copy.run()
    assert outcome.returncode != 0
    assert said in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert "prepare_clean_sets" not in outcome.stderr


@pytest.mark.parametrize("filepath", [5, {"paper": "paper.csv"}, ["paper.csv", 5]])
def test_references_are_paths(filepath):
    with pytest.raises(InputError, match="or null, not"):
        ReferenceTableDataset(filepath=filepath, holds="accuracies")


def test_references_are_told_by_names_and_contents(tmp_path, published):
    def dataset(*names):
        files = [str(tmp_path / name) for name in names]
        return ReferenceTableDataset(filepath=files, holds="accuracies")

    for name in ("a.csv", "b.csv"):
        published.to_csv(tmp_path / name, index=False)
    known = dataset("a.csv").identity(Digests())
    assert ReferenceTableDataset(filepath=str(tmp_path / "a.csv"), holds="accuracies").identity(
        Digests()
    ) == (known)
    assert (
        len(
            {
                known,
                dataset("b.csv").identity(Digests()),
                dataset("a.csv", "b.csv").identity(Digests()),
            }
        )
        == 3
    )
    published.iloc[:3].to_csv(tmp_path / "a.csv", index=False)
    assert dataset("a.csv").identity(Digests()) != known


def test_without_a_reference_there_is_nothing(tmp_path):
    for given in (None, []):
        dataset = ReferenceTableDataset(filepath=given, holds="inoperable")
        dataset.check()
        assert dataset.load().empty
        assert dataset.identity(Digests()) == "none"


def test_the_check_says_what_is_wrong_in_one_line(tmp_path):
    dataset = ReferenceTableDataset(filepath=str(tmp_path / "absent.csv"), holds="accuracies")
    with pytest.raises(InputError, match=r"absent\.csv cannot be read") as caught:
        dataset.check()
    assert "\n" not in str(caught.value)
