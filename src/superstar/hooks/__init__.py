"""What happens around a run: it is bound to its project, guarded, tracked and timed."""

from superstar.hooks.guards import InputHook, LockHook, ProvenanceHook
from superstar.hooks.project import ProjectHook
from superstar.hooks.stages import StageHook
from superstar.hooks.tracking import TrackingHook

__all__ = [
    "InputHook",
    "LockHook",
    "ProjectHook",
    "ProvenanceHook",
    "StageHook",
    "TrackingHook",
]
