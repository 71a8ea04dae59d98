import subprocess
import sys

import pytest

import superstar.control


def test_every_exported_name_is_there():
    for name in superstar.control.__all__:
        assert getattr(superstar.control, name).__name__ == name
    with pytest.raises(AttributeError, match="Supervisr"):
        superstar.control.Supervisr  # noqa: B018


def test_importing_the_package_loads_nothing_heavy():
    check = "import sys, superstar.control; print('torch' in sys.modules, 'sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
