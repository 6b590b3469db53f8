"""The result of a search state by state: counts, states, steps, and the violation."""

from __future__ import annotations

from dataclasses import dataclass, field

from lockstep.tla.behaviour import Behaviour, BehaviourStep
from lockstep.tla.liveness.lasso_replay import FairnessEvidence
from lockstep.tla.state import State
from lockstep.tla.values.html_table import table
from lockstep.tla.values.kinds import Value


@dataclass(frozen=True, slots=True)
class SearchStep:
    """A step of a search: the action and its arguments, and the state after it.

    The action is None of an initial state, and of a step that stutters.
    """

    action: str | None
    args: dict[str, Value]
    state: State


@dataclass(frozen=True)
class Violation:
    """A violation that a search found.

    Attributes:
        kind: ``invariant``, ``action property``, ``initial property``, ``deadlock``, ``assertion``, ``temporal
            property`` or ``postcondition``.
        name: the property; empty for a deadlock; of an assertion the property in which it stands, if it stands in one.
        trace: a shortest path there, from an initial state; of a temporal property a behaviour without end; empty for
            a postcondition, which is of no state.
        back_to: of a temporal property the index of the state after the last: the last itself where it stutters.
        fairness: how the cycle meets each condition of fairness of the SPECIFICATION.
        message: the message of a false Assert.
    """

    kind: str
    name: str
    trace: tuple[SearchStep, ...]
    back_to: int | None = None
    fairness: tuple[FairnessEvidence, ...] = ()
    message: str = ""

    @property
    def label(self) -> str:
        """The name, or the kind of what has none."""
        return self.name or self.kind

    def _repr_html_(self) -> str:
        """Show the steps to it, with what each changed, in a notebook."""
        steps = tuple(BehaviourStep(step.action or "Init", step.args, "", step.state.as_dict()) for step in self.trace)
        rows = Behaviour(steps, self.back_to).rows()
        return table(f"{self.kind} {self.name}".rstrip(), ["", "action", "changes"], rows)


@dataclass(frozen=True)
class Edge:
    """A step between two distinct states, by their numbers."""

    source: int
    action: str
    args: dict[str, Value]
    target: int


@dataclass
class SearchOutcome:
    """The counts and the violation that a search found, state by state or by tables.

    Attributes:
        generated: the number of states generated: all initial states and all successors, repetitions included.
        depth: the number of levels, as TLC reports it: the initial states are the first, and the level in which a
            violation was found is the last.
        complete: whether all reachable states were seen; what is `unchecked` may be violated all the same.
        levels: the number of distinct states in each level.
        unchecked: the properties with parts that no search checks, such as \\EE.
    """

    generated: int = 0
    depth: int = 0
    complete: bool = False
    levels: list[int] = field(default_factory=list)
    violation: Violation | None = None
    unchecked: tuple[str, ...] = ()


@dataclass
class Exploration(SearchOutcome):
    """The result of a search state by state.

    Attributes:
        states: the distinct states, in the order they were found.
        edges: the steps, if they are kept; parallel ones are all there.
        notes: lines about the search for its reader.
    """

    states: list[State] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    @property
    def distinct(self) -> int:
        """The number of distinct states."""
        return len(self.states)

    @property
    def inconclusive(self) -> str:
        """Reason why the search has no verdict though nothing it checks is violated; empty where it has one."""
        return "" if self.complete or self.violation else f"given up after {self.distinct} distinct states"
