"""What a line leads to from a state: the steps that it tells of, and hidden ones before them."""

from lockstep.logs.steps.every import Steps
from lockstep.logs.steps.path import NONE, Begin, Path, Reached, Step, add_least

__all__ = ["NONE", "Begin", "Path", "Reached", "Step", "Steps", "add_least"]
