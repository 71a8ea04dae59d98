import json

import numpy as np
import pandas as pd
import pytest

from superstar.control.intervals import Bootstrap
from superstar.peers import ORACLE, UNTOUCHED
from superstar.pipelines.peers import summary

BOOTSTRAP = Bootstrap(200, 0.95, 0)
COMPARED = [
    "batch_statistics",
    "batch_norm",
    "tent",
    "tent_reset",
    "memo",
    "averaging",
    "switching",
    "quantiles",
]


def test_it_runs_after_a_plain_run(project_copy):
    outcome = project_copy.run("--pipelines", "peers")
    assert outcome.returncode == 0, outcome.stderr
    reporting = project_copy.data("08_reporting/")
    table = pd.read_csv(reporting / "peers.csv")
    print((reporting / "peers.md").read_text())
