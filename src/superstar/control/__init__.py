"""How we decide: the MDP, its policy, operability, Algorithm 1 and the supervisor they make.

They load on first use, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from superstar.control.env import ShiftEnv
    from superstar.control.stream import SupervisorStream
    from superstar.control.supervisor import Recovery, Supervisor

__all__ = ["Recovery", "ShiftEnv", "Supervisor", "SupervisorStream"]

_HOMES = {
    "Recovery": "supervisor",
    "ShiftEnv": "env",
    "Supervisor": "supervisor",
    "SupervisorStream": "stream",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
