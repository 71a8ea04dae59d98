"""Threads that wait leave the core to other work."""

import os
import subprocess
import sys

import pytest

PROGRAM = "import os, superstar; print(os.environ.get('GOMP_SPINCOUNT'))"


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "5"}, "5"), ({"OMP_WAIT_POLICY": "active"}, "None")],
)
def test_what_the_user_set_stays(own, expected):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment | own,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == expected
