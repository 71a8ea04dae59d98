"""Calls that do not depend on one another, on processes of this machine or a Dask cluster."""

from superstar.parallel.backends import check_backend
from superstar.parallel.calls import fan_out

__all__ = ["check_backend", "fan_out"]
