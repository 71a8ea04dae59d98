import numpy as np
import pandas as pd
import pytest

from superstar.corruptions import SHIFTS
from superstar.datasets import ReferenceTableDataset
from superstar.errors import InputError
from superstar.pipelines.reporting import reference

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
def main():
    rows = [("none", 90.0, 90.0), ("gaussian_noise", 30.0, 60.0), ("fog", 50.0, 50.0)]
    table = pd.DataFrame(rows, columns=["shift", "shifted", "recovered"])
    table["delta"] = table["recovered"] - table["shifted"]
    return table.assign(controller="paper", classifier="standard", delta_low=-1.0, delta_high=1.0)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("glass blur", "glass_blur"),
        ("elastic", "elastic_transform"),
        ("jpeg", "jpeg_compression"),
        ("SpN + S", "speckle_noise+saturate"),
        ("sigmoid type B", "sigmoid_decrease"),
        ("gaussian_noise+brightness", "gaussian_noise+brightness"),
    ],
)
def test_shifts_get_our_names(theirs, ours):
    assert reference.shift_name(theirs) == ours
    assert set(ours.split("+")) - {"sigmoid_decrease"} <= set(SHIFTS)


def test_deltas_are_differences_of_accuracies(published):
    table = reference.read_reference(published).set_index(["shift", "classifier"])
    assert table.loc[("jpeg_compression", "standard"), "delta"] == pytest.approx(-3)
    assert ("gaussian_noise+brightness", "standard") in table.index


def test_shares_are_of_what_each_lost(main, published):
    table = reference.beside_reference(main, NO_TRANSFER, reference.read_reference(published))
    assert table["policy"].tolist() == ["own", "own"]
    assert table["shift"].tolist() == ["none", "gaussian_noise"]
    noise = table.iloc[1]
    assert (noise["share"], noise["reference_share"]) == (pytest.approx(50), pytest.approx(25))
    assert (noise["reference_shifted"], noise["reference_delta"]) == (20, 15)
    assert np.isnan(table.iloc[0]["share"])
    means = reference.mean_shares(table, ["gaussian_noise", "shot_noise"])
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


def test_our_own_table_is_a_reference_too(main):
    table = reference.beside_reference(main, NO_TRANSFER, reference.read_reference(main))
    assert len(table) == len(main)
    assert table["delta"].tolist() == table["reference_delta"].tolist()


def test_policies_from_elsewhere_stand_beside_the_reference_too(main, published):
    worse = main.assign(recovered=main["recovered"] - 12, delta=main["delta"] - 12, policy="photos")
    worse.loc[worse["shift"] == "none", ["recovered", "delta"]] += 12
    table = reference.beside_reference(main, worse, reference.read_reference(published))
    noise = table[table["shift"] == "gaussian_noise"].set_index("policy")
    assert noise["delta"].to_dict() == {"own": 30, "photos": 18}
    assert noise["share"].tolist() == pytest.approx([50, 30])
    assert (noise["reference_delta"] == 15).all()
    means = reference.mean_shares(table, ["gaussian_noise"]).set_index("policy")
    assert means["delta"].to_dict() == {"own": 30, "photos": 18}


def test_tables_that_cannot_be_read_are_refused(published):
    with pytest.raises(InputError, match="lacks the columns recovered, shifted"):
        reference.read_reference(published.drop(columns=["shifted", "recovered"]))
    with pytest.raises(InputError, match="holds jpeg_compression for standard twice"):
        reference.read_reference(pd.concat([published, published.iloc[[2]]]))
    with pytest.raises(InputError, match="lacks the columns group"):
        reference.read_inoperable(pd.DataFrame({"shift": ["fog"], "percent_inoperable": [1.0]}))


def give(project, table: str) -> None:
    globals_file = project.root / "conf" / "test" / "globals.yml"
    globals_file.write_text(f"benchmark: test\nreference_table: {table}\n")


def test_a_run_stands_beside_a_reference(project_copy, published):
    path = project_copy.root / "paper.csv"
    published.to_csv(path, index=False)
    give(project_copy, str(path))
    outcome = project_copy.run("--only-missing-outputs")
    assert outcome.returncode == 0, outcome.stderr
    assert "compare_with_reference done" in outcome.stderr
    assert "evaluate done" not in outcome.stderr
    table = pd.read_csv(project_copy.data("08_reporting/reference_comparison.csv"))
    assert set(table["shift"]) == {"none", "gaussian_noise"}
    assert set(table["classifier"]) == {"standard", "augmix"}
    page = project_copy.data("08_reporting/report.md").read_text()
    assert "## Beside the reference" in page
    assert "Means over gaussian noise:" in page
    assert "The least Δ is " in page


def test_a_reference_that_is_not_there_is_refused_before_any_work(project_copy):
    give(project_copy, "absent.csv")
    outcome = project_copy.run()
    assert outcome.returncode != 0
    assert "cannot be read" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert "prepare_clean_sets" not in outcome.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read"), ("", "cannot be read"), ("a,b\n", "holds no rows")],
)
def test_tables_are_looked_at_before_a_run(tmp_path, content, said):
    path = tmp_path / "paper.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=said):
        ReferenceTableDataset(filepath=str(path)).check()
    ReferenceTableDataset(filepath=None).check()
