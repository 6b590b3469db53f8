"""What the literal search does for a search by tables: initial states, the way to a state, the verdict on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeAlias

from lockstep.tla.explore import LiteralSearch, Step, Violation
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.tables.bounded import BoundedSearch
from lockstep.tla.tables.stored_graph import Graph
from lockstep.tla.values.kinds import TlaAssertionError, TlaError, Value

#: Names of properties.
Unchecked: TypeAlias = tuple[str, ...]

__all__ = ["Literal"]


class Literal:
    """The literal search of a specification, one state at a time."""

    def __init__(self, spec: Spec, check_deadlock: bool) -> None:
        """Prepare to search."""
        self._spec, self._check_deadlock = spec, check_deadlock
        self._initial: list[State] = []

    def start(self, most_memory: int | None) -> tuple[list[State], int, Violation | None]:
        """Answer the initial states, how many were generated, and what is violated in one, if anything is.

        Raises:
            SpecFault: if evaluation fails.
            GaveUpError: if the states take more memory, in bytes.
        """
        search = BoundedSearch(self._spec, False, self._check_deadlock, None, None)
        search.most_memory = most_memory
        _guarded(search, search.start)
        self._initial = search.result.states
        return self._initial, search.result.generated, search.result.violation

    def completed(self, graph: Graph | None, trace: Callable[[int], list[Step]]) -> tuple[Violation | None, Unchecked]:
        """Ask what must hold once all states were seen: of whole behaviours, and the POSTCONDITION.

        Args:
            graph: the states and steps, where something is said of behaviours.
            trace: answers the steps to a state.

        Returns:
            What is violated, if anything is, and the properties that were not checked.

        Raises:
            SpecFault: if evaluation fails.
        """
        search = _Completion(self._spec, graph, len(self._initial), trace)
        _guarded(search, search.completed)
        return search.result.violation, search.result.unchecked

    def trace(self, way: list[int], fingerprint: Callable[[State], int]) -> list[Step]:
        """Answer the steps to a state.

        Args:
            way: the fingerprints of the states on the way, from an initial one.
            fingerprint: answers that of a state.

        Raises:
            AssertionError: if there is no such way.
        """
        trace: list[Step] = []
        for wanted in way:
            following = (
                self._explored_after(trace[-1].state) if trace else (Step(None, {}, state) for state in self._initial)
            )
            found = next((step for step in following if fingerprint(step.state) == wanted), None)
            if found is None:
                raise AssertionError("a step of the tables is none of the specification")
            trace.append(found)
        return trace

    def _explored_after(self, state: State) -> Iterator[Step]:
        """List the steps from a state but those that the constraints exclude, which may look like one of these."""
        for action, args, after in self._spec.successors(state):
            if self._spec.constraint(after) and self._spec.action_constraint(state, after):
                yield Step(action, args, after)

    def seconds_of(self, states: list[State]) -> float:
        """Measure how many seconds of the processor it takes to expand states one by one."""
        begin = time.process_time()
        for state in states:
            search = _Expansion(self._spec, [Step(None, {}, state)], lambda _: False, False)
            with suppress(TlaError, RecursionError):  # it is told if the search gets there
                search.expand(0, [])
        return time.process_time() - begin

    def expand(self, trace: list[Step], known: Callable[[State], bool]) -> tuple[int, int, Violation | None]:
        """Expand the last state of a trace; answer how many states were generated, how many new, and the violation.

        Args:
            trace: the steps to it.
            known: tells whether a state was seen before.

        Raises:
            SpecFault: if evaluation fails.
        """
        search = _Expansion(self._spec, trace, known, self._check_deadlock)
        _guarded(search, lambda: search.expand(len(trace) - 1, []))
        return search.result.generated, len(search.result.states) - len(trace), search.result.violation


def _guarded(search: LiteralSearch, act: Callable[[], object]) -> None:
    try:
        act()
    except TlaAssertionError as error:
        search.asserted(error)
    except TlaError as error:
        raise search.fault(error) from error


class _Completion(LiteralSearch):
    """A literal search that is given all states and steps."""

    def __init__(self, spec: Spec, graph: Graph | None, initial: int, trace: Callable[[int], list[Step]]) -> None:
        super().__init__(spec, False, False, None, None)
        self._trace = trace
        self.follows = None
        self.result.levels.append(initial)
        if graph is not None:
            self.result.states, self.follows = graph.states, graph.follows  # type: ignore[assignment]  # a list in all

    def trace(self, number: int) -> list[Step]:
        return self._trace(number) if number >= 0 else []


class _Expansion(LiteralSearch):
    """A literal search that is told which states were seen before."""

    def __init__(self, spec: Spec, trace: list[Step], known: Callable[[State], bool], check_deadlock: bool) -> None:
        super().__init__(spec, False, check_deadlock, None, None)
        self._known = known
        for number, step in enumerate(trace):
            self.result.states.append(step.state)
            self.parents.append((number - 1, step.action, step.args))
        self.result.depth = len(trace)

    def visit(
        self,
        state: State,
        in_model: bool,
        parent: int,
        action: str | None,
        args: dict[str, Value],
        found: list[int],
    ) -> int | None:
        self.asked = self.seen_by, parent, (action, args, state)
        if in_model and self.known(state) is None and self._known(state):
            return None
        return super().visit(state, in_model, parent, action, args, found)
