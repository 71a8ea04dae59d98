"""How we decide: the MDP, its policy, operability, Algorithm 1 and the supervisor they make.

Names load on first use: importing the package costs nothing until one of them is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from superstar.control.actor_critic import (
        Actor,
        Critic,
        Policy,
        TrainingResult,
        evaluate_policy,
        load_actor,
        save_actor,
        train_actor_critic,
    )
    from superstar.control.algorithm import Selection, Step, select_transforms
    from superstar.control.env import ShiftEnv
    from superstar.control.observation import observe
    from superstar.control.operability import (
        TreeFit,
        auroc,
        fit_tree,
        is_operable,
        load_tree,
        percent_inoperable,
        regression_labels,
        save_tree,
    )
    from superstar.control.supervisor import Recovery, Supervisor
    from superstar.control.thresholds import BetaCalibration, calibrate_beta

__all__ = [
    "Actor",
    "BetaCalibration",
    "Critic",
    "Policy",
    "Recovery",
    "Selection",
    "ShiftEnv",
    "Step",
    "Supervisor",
    "TrainingResult",
    "TreeFit",
    "auroc",
    "calibrate_beta",
    "evaluate_policy",
    "fit_tree",
    "is_operable",
    "load_actor",
    "load_tree",
    "observe",
    "percent_inoperable",
    "regression_labels",
    "save_actor",
    "save_tree",
    "select_transforms",
    "train_actor_critic",
]

_MODULES = {
    "actor_critic": (
        "Actor",
        "Critic",
        "Policy",
        "TrainingResult",
        "evaluate_policy",
        "load_actor",
        "save_actor",
        "train_actor_critic",
    ),
    "algorithm": ("Selection", "Step", "select_transforms"),
    "env": ("ShiftEnv",),
    "observation": ("observe",),
    "operability": (
        "TreeFit",
        "auroc",
        "fit_tree",
        "is_operable",
        "load_tree",
        "percent_inoperable",
        "regression_labels",
        "save_tree",
    ),
    "supervisor": ("Recovery", "Supervisor"),
    "thresholds": ("BetaCalibration", "calibrate_beta"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
