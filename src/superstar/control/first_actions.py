"""What the policy wanted to do first, and what became of it (paper, appendix G, Inaction)."""

from dataclasses import dataclass

from superstar.actions import Correction
from superstar.control.scoring import Actions
from superstar.control.supervisor import Recovery, Supervisor


@dataclass(frozen=True)
class FirstAction:
    """The first action of a trial, brakes or not.

    Attributes:
        action: what the policy drew; where the tree forbade to ask it, what it holds most probable.
        distance: of the batch after that action.
        outcome: "kept", or what stopped it: "inoperable", "nop" or "beta".
    """

    action: str
    distance: float
    outcome: str

    @property
    def sequence(self) -> Actions:
        """The action alone; empty where it changes nothing."""
        return () if self.action == "nop" else (Correction(self.action),)


def first_action(recovery: Recovery, supervisor: Supervisor) -> FirstAction:
    """The first action that the supervisor's policy wanted for a batch."""
    step = recovery.steps[0]
    if step.action is not None:
        outcome = "kept" if step.decision == "kept" else step.reason
        return FirstAction(step.action, step.distance, outcome)
    likely = int(supervisor.actor.probabilities(step.state).argmax())
    action = supervisor.actions[likely]
    if action == "nop":
        return FirstAction(action, step.distance, step.reason)
    # Nothing was applied, so these are the images as they came.
    transitions = supervisor.transitions([recovery.images], memory_limit=0)
    return FirstAction(action, transitions.distance_at(0, (likely,)), step.reason)
