"""Searches with a state machine of Hypothesis."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def search(machine: type[RuleBasedStateMachine], examples: int, steps: int) -> None:
    """Run a number of examples of a number of steps, the same in every run."""
    # Shrinking takes minutes here; the failing run is replayed as it was found.
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            phases=(Phase.generate,),
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
