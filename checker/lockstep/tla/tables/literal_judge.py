"""Evaluation state by state for a search by tables: initial states, the path to a state, the verdict on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

from lockstep.tla.exploration import SearchStep, Violation
from lockstep.tla.explore import LiteralSearch
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.tables.stored_graph import StoredGraph
from lockstep.tla.values.kinds import TlaAssertionError, TlaError, Value


class LiteralJudge:
    """The search state by state of a specification, one state at a time."""

    def __init__(self, spec: Spec, options: SearchOptions) -> None:
        self._spec, self._budget = spec, options.memory_budget
        self._options = SearchOptions(check_deadlock=options.check_deadlock)
        self._initial: list[State] = []

    def start(self) -> tuple[list[State], int, Violation | None]:
        """Return the initial states, the number of those that were generated, and the violation in one, if any.

        Raises:
            SpecFault: if evaluation fails.
            GaveUpError: if the states take more memory than the search may use.
        """
        search = LiteralSearch(self._spec, SearchOptions(memory_budget=self._budget))
        _run(search, search.start)
        self._initial = search.result.states
        return self._initial, search.result.generated, search.result.violation

    def complete(
        self, graph: StoredGraph | None, trace: Callable[[int], list[SearchStep]]
    ) -> tuple[Violation | None, tuple[str, ...]]:
        """Check what must hold once all states were seen: temporal properties, and the POSTCONDITION.

        Args:
            graph: the states and steps, where there are temporal properties.
            trace: returns the steps to a state.

        Returns:
            The violation, if there is one, and the properties that were not checked.

        Raises:
            SpecFault: if evaluation fails.
        """
        search = _Completion(self._spec, graph, len(self._initial), trace)
        _run(search, search.complete)
        return search.result.violation, search.result.unchecked

    def trace(self, path: list[int], fingerprint: Callable[[State], int]) -> list[SearchStep]:
        """Return the steps to a state.

        Args:
            path: the fingerprints of the states on the path, from an initial one.
            fingerprint: returns that of a state.

        Raises:
            AssertionError: if there is no such path.
        """
        trace: list[SearchStep] = []
        for wanted in path:
            following = (
                self._steps_from(trace[-1].state) if trace else (SearchStep(None, {}, state) for state in self._initial)
            )
            found = next((step for step in following if fingerprint(step.state) == wanted), None)
            if found is None:
                raise AssertionError("a step of the tables is none of the specification")
            trace.append(found)
        return trace

    def trace_of_places(self, places: list[int]) -> list[SearchStep]:
        """Return the steps to a state, given the place of the initial state, and of each step among all successors."""
        trace = [SearchStep(None, {}, self._initial[places[0]])]
        for place in places[1:]:
            step = next(islice(self._spec.successors(trace[-1].state), place, None), None)
            if step is None:
                raise AssertionError("a step of the tables is none of the specification")
            trace.append(SearchStep(*step))
        return trace

    def _steps_from(self, state: State) -> Iterator[SearchStep]:
        """Yield the steps from a state but those that the constraints exclude, which may look like one of these."""
        for action, args, after in self._spec.successors(state):
            if self._spec.constraint(after) and self._spec.action_constraint(state, after):
                yield SearchStep(action, args, after)

    def measure_seconds(self, states: list[State]) -> float:
        """Measure the processor time that it takes to expand states one by one."""
        begin = time.process_time()
        for state in states:
            search = _Expansion(self._spec, [SearchStep(None, {}, state)], lambda _: False, SearchOptions())
            with suppress(TlaError, RecursionError):  # the search reports it if it gets there
                search.expand(0, [])
        return time.process_time() - begin

    def expand(self, trace: list[SearchStep], known: Callable[[State], bool]) -> tuple[int, int, Violation | None]:
        """Expand the last state of a trace; return the numbers of generated and of new states, and the violation.

        Args:
            known: returns whether a state was seen before.

        Raises:
            SpecFault: if evaluation fails.
        """
        search = _Expansion(self._spec, trace, known, self._options)
        _run(search, lambda: search.expand(len(trace) - 1, []))
        return search.result.generated, len(search.result.states) - len(trace), search.result.violation


def _run(search: LiteralSearch, act: Callable[[], object]) -> None:
    try:
        act()
    except TlaAssertionError as error:
        search.assertion_failed(error)
    except TlaError as error:
        raise search.fault(error) from error


class _Completion(LiteralSearch):
    """A literal search that is given all states and steps."""

    def __init__(
        self, spec: Spec, graph: StoredGraph | None, initial: int, trace: Callable[[int], list[SearchStep]]
    ) -> None:
        super().__init__(spec, SearchOptions(check_deadlock=False))
        self._trace = trace
        self.successors = None
        self.result.levels.append(initial)
        if graph is not None:
            self.result.states, self.successors = graph.states, graph.successors  # type: ignore[assignment]  # a list in all

    def trace(self, number: int) -> list[SearchStep]:
        return self._trace(number) if number >= 0 else []


class _Expansion(LiteralSearch):
    """A literal search that is given the states that were seen before."""

    def __init__(
        self, spec: Spec, trace: list[SearchStep], known: Callable[[State], bool], options: SearchOptions
    ) -> None:
        super().__init__(spec, options)
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
        self.evaluated = self._key_name, parent, (action, args, state)
        if in_model and self.known(state) is None and self._known(state):
            return None
        return super().visit(state, in_model, parent, action, args, found)
