"""Breadth-first search of a specification's states, one by one, counting as TLC counts."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable, Mapping
from contextlib import suppress
from pathlib import Path

from lockstep.base.errors import GaveUpError
from lockstep.tla.compile.spec_fault import SpecFault, fault_of
from lockstep.tla.exploration import Edge, Exploration, SearchStep, Violation
from lockstep.tla.liveness.behaviour_graph import graph_of
from lockstep.tla.liveness.temporal_check import LassoContradictedError, check_temporal, refuse_symmetry_and_view
from lockstep.tla.liveness.temporal_formulas import Leaf, leaves_of
from lockstep.tla.search_options import DEFAULT_OPTIONS, SearchOptions, SearchProgress
from lockstep.tla.spec import Spec
from lockstep.tla.state import State, bytes_of, same_in_kind
from lockstep.tla.symmetry import state_equivalence
from lockstep.tla.values.kinds import TlaAssertionError, TlaError, TlaTypeError, Value
from lockstep.tla.values.next_state import UnassignedError

#: The number of states after which temporal formulas are first looked at for a fault, and the factor to the next time.
_FORMULA_CHECK = 16
#: The number of states between two looks at the memory of this process.
_MEMORY_CHECK = 4_096


class LiteralSearch:
    """A search that keeps every state and evaluates everything in each.

    Attributes:
        successors: the numbers of each expanded state's successors, where temporal properties are checked.
        evaluated: the name of what is evaluated ("" for an action), the number of the state, and the step from there.
    """

    def __init__(self, spec: Spec, options: SearchOptions) -> None:
        self.spec, self.options = spec, options
        self.check_deadlock = spec.check_deadlock if options.check_deadlock is None else options.check_deadlock
        self.result = Exploration(unchecked=tuple(spec.unchecked))
        self.successors: list[list[int]] | None = [] if spec.temporal and spec.has_behaviour else None
        self.queued = 0
        self.evaluated: tuple[str, int, tuple[str | None, dict[str, Value], State] | None] = ("Init", -1, None)
        self.equivalence = state_equivalence(spec)
        self._key_name = spec.view or spec.symmetry or "the state"
        self._numbers: dict[Hashable, int] = {}
        self._images: dict[State, State] = {}
        """Under SYMMETRY, each image of a state by itself: a state that Python holds equal may differ in kind."""
        self.parents: list[tuple[int, str | None, dict[str, Value]]] = []
        self._memory_before, self._check_memory_at = _resident_memory(), _MEMORY_CHECK
        self._begun = time.perf_counter()

    def statistic(self, name: str) -> int:
        """Return the value of TLCGet(name) at this very moment; raises KeyError if there is no such statistic."""
        level = self.result.depth  # that of the state which is expanded; 0 before the first
        distinct, diameter = self.result.distinct, self.deepest()
        return {"level": level, "distinct": distinct, "queue": self.queued, "diameter": diameter}[name]

    def deepest(self) -> int:
        """Return the level of the state that was found last; 1, as in TLC, before there is one."""
        return len(self.trace(len(self.result.states) - 1)) if self.result.states else 1

    # ---- Running ----

    def run(self) -> Exploration:
        """Search; a false Assert is a violation.

        Raises:
            SpecFault: if an evaluation fails.
            GaveUpError: if this process grows by more than the memory that the search may use.
        """
        try:
            return self.search()
        except TlaAssertionError as error:
            self.assertion_failed(error)
            return self.result
        except TlaError as error:
            raise self.fault(error) from error

    def search(self) -> Exploration:
        """Search all states, or check the ASSUMEs alone where there is no behaviour."""
        result = self.result
        if not self.spec.has_behaviour and self.spec.assumptions:
            result.depth = 1  # as TLC counts it
            return self.complete()
        return self.complete() if self.levels() and result.violation is None else result

    def levels(self) -> bool:
        """Expand one level of states after the other; return whether that came to its end."""
        result = self.result
        frontier = self.start()
        result.levels.append(len(frontier))
        if not frontier:
            result.depth = 1
        check_at = _FORMULA_CHECK
        while frontier and result.violation is None:
            result.depth += 1
            found: list[int] = []
            goes_on = all(self.expand(number, found) for number in frontier)
            result.levels.append(len(found))
            if not goes_on:
                return False
            if self.successors is not None and result.distinct >= check_at:
                self.check_formulas_early()
                check_at *= _FORMULA_CHECK
            frontier = found
            self.report()
        return True

    def complete(self) -> Exploration:
        """Record that all states were seen, and check what must hold then."""
        self.result.complete = True
        self.check_temporal(self.successors)
        self.evaluated = "the POSTCONDITION", -1, None
        if self.result.violation is None and not self.spec.postcondition_holds():
            self.result.violation = Violation("postcondition", self.spec.postcondition or "", ())
        return self.result

    def report(self) -> None:
        """Report the progress."""
        if self.options.on_progress is not None:
            result, seconds = self.result, time.perf_counter() - self._begun
            self.options.on_progress(
                SearchProgress(result.distinct, result.generated, self.queued, result.depth, seconds)
            )

    def check_memory(self) -> None:
        """Give up where this process has grown by more than the budget; the size of states is not known otherwise."""
        distinct, budget = len(self.result.states), self.options.memory_budget
        if distinct < self._check_memory_at:
            return
        self._check_memory_at = distinct + _MEMORY_CHECK
        self.report()
        if budget is not None and _resident_memory() - self._memory_before > budget:
            reason = f"the search would need more than {budget / 1e9:.3g} GB of memory"
            raise GaveUpError(f"{reason}, with {distinct:,} distinct states")

    # ---- States ----

    def start(self) -> list[int]:
        """Generate the initial states; return their numbers."""
        found: list[int] = []
        for state in self.spec.initial_states():
            self.result.generated += 1
            self.visit_initial(state, found)
            if self.result.violation is not None:
                return found
            self.evaluated = "Init", -1, None
        return found

    def visit_initial(self, state: State, found: list[int]) -> None:
        """Visit an initial state; as in TLC, the initial properties are checked last, and of a new state alone."""
        self.evaluated = "the CONSTRAINT", -1, (None, {}, state)
        in_model, known = self.spec.constraint(state), len(self.result.states)
        self.visit(state, in_model, -1, None, {}, found)
        if self.result.violation is None and not (in_model and len(self.result.states) == known):
            self.check_initial(state)
        self.check_memory()

    def check_initial(self, state: State) -> None:
        """Check the properties of an initial state."""
        for name, holds in self.spec.initial_properties.items():
            self.evaluated = name, -1, (None, {}, state)
            if not holds(state):
                self.violated("initial property", name, [SearchStep(None, {}, state)])
                return

    def visit(
        self,
        state: State,
        in_model: bool,
        parent: int,
        action: str | None,
        args: dict[str, Value],
        found: list[int],
    ) -> int | None:
        """Visit a generated state; return its number, if the constraints leave it in the model.

        A state outside them is compared with no other state, and its invariants are checked each time.
        """
        number: int | None = None
        if in_model:
            self.evaluated = self._key_name, parent, (action, args, state)
            number = self.known(state)
            if number is not None:
                return number
            number = len(self.result.states)
            self.remember(state, number)
            self.result.states.append(state)
            self.parents.append((parent, action, args))
            self.queued += parent < 0  # TLC queues an initial state before it looks at the invariants
            found.append(number)
        for name, holds in self.spec.invariants.items():
            self.evaluated = name, parent, (action, args, state)
            if not holds(state):
                self.violated("invariant", name, [*self.trace(parent), SearchStep(action, args, state)])
                break
        return number

    def known(self, state: State) -> int | None:
        """Return the number of the state that this one is the same as; None if it is new.

        States that differ in kind only are two, as they are for TLC, which compares fingerprints.
        """
        number = self._numbers.get(self.equivalence.key(state))
        if number is None or self.equivalence.view is not None:
            return number
        if same_in_kind(self._images.get(state, self.result.states[number]), state):
            return number
        return self._numbers.get(bytes_of(state))

    def remember(self, state: State, number: int) -> None:
        """Record a new state, under SYMMETRY with its images, by its bytes where another differs in kind only.

        Raises:
            TlaTypeError: if two of its images differ in kind only. TLC compares these with one another.
        """
        own: dict[State, State] = {}
        for key in self.equivalence.keys(state):
            if not isinstance(key, State):
                self._numbers[key] = number
                continue
            first = own.setdefault(key, key)
            if first is not key and not same_in_kind(first, key):
                raise TlaTypeError(f"two images of a state differ in kind only:\n{first}\nand\n{key}")
            apart = self._numbers.get(key, number) != number
            self._numbers[bytes_of(key) if apart else key] = number
            if self.equivalence.images:
                self._images.setdefault(key, key)

    def expand(self, number: int, found: list[int]) -> bool:
        """Generate the successors of a state; return whether the search goes on."""
        spec, result = self.spec, self.result
        state = result.states[number]
        targets: list[int] = []
        if self.successors is not None:
            self.successors.append(targets)
        self.queued -= 1
        self.evaluated = "", number, None
        deadlocked = True
        once, stepped = self.equivalence.is_equality and not spec.has_registers, set[int | None]()
        for action, args, after in spec.successors(state):
            result.generated += 1
            known = len(result.states)
            deadlocked = False
            self.evaluated = "the CONSTRAINT", number, (action, args, after)
            in_model = spec.constraint(after) and spec.action_constraint(state, after)
            target = self.visit(after, in_model, number, action, args, found)
            if in_model and target is not None:
                targets.append(target)
                if self.options.keep_edges:
                    result.edges.append(Edge(number, action, args, target))
            if result.violation is None and target not in stepped:
                self.check_step(number, state, action, args, after)
            if once and target is not None:
                stepped.add(target)
            if result.violation is not None:
                return False
            self.queued += len(result.states) - known
            self.evaluated = "", number, None
        if deadlocked and self.check_deadlock:
            self.violated("deadlock", "", self.trace(number))
            return False
        self.check_memory()
        return self.options.max_states is None or len(result.states) < self.options.max_states

    def check_step(self, number: int, state: State, action: str, args: dict[str, Value], after: State) -> None:
        """Check the properties of a step."""
        for name, holds in self.spec.action_properties.items():
            self.evaluated = name, number, (action, args, after)
            if not holds(state, after):
                self.violated("action property", name, [*self.trace(number), SearchStep(action, args, after)])
                return

    # ---- Violations and faults ----

    def violated(self, kind: str, name: str, trace: list[SearchStep], message: str = "") -> None:
        """Record a violation, and the steps there."""
        self.result.violation = Violation(kind, name, tuple(trace), message=message)
        # TLC reports the level of the state it found last, which may lie before the violation or after it.
        self.result.depth = max(self.result.depth, self.deepest())

    def assertion_failed(self, error: TlaAssertionError) -> None:
        """Record a false Assert, and the steps to where it was evaluated."""
        what, number, step = self.evaluated
        name = what if what in self.spec.property_places else ""
        steps = [*self.trace(number), *(() if step is None else (SearchStep(*step),))]
        self.violated("assertion", name, steps, str(error))

    def fault(self, error: TlaError) -> SpecFault:
        """Return the fault of an evaluation that failed: what was evaluated, where, and the steps that led there."""
        what, number, step = self.evaluated
        steps = (*self.trace(number), *(() if step is None else (SearchStep(*step),)))
        if what:
            known = self.spec.init_place if what == "Init" else self.spec.definitions.get(what)
            place = self.spec.property_places.get(what, known)
            return fault_of(error, self.spec.source, what, {}, str(place or ""), steps)
        return fault_of(error, self.spec.source, "Next", {}, "", steps)  # of successors, which name the action already

    def trace(self, number: int) -> list[SearchStep]:
        """Return a shortest path from an initial state to a state."""
        steps: list[SearchStep] = []
        while number >= 0:
            parent, action, args = self.parents[number]
            steps.append(SearchStep(action, args, self.result.states[number]))
            number = parent
        steps.reverse()
        return steps

    # ---- Temporal formulas ----

    def check_temporal(self, successors: list[list[int]] | None) -> None:
        """Check the properties of whole behaviours, once all states and steps are there."""
        if successors is None:
            return
        graph = graph_of(self.result.states, successors, range(self.result.levels[0]))
        try:
            violation, unchecked = check_temporal(self.spec, graph, self.begin_formula)
        except TlaError as error:
            self.evaluated = self.evaluated[0], self._state_of_fault(error, successors), None
            raise
        self.result.unchecked = tuple(dict.fromkeys([*self.result.unchecked, *unchecked]))
        self.result.violation = violation or self.result.violation

    def begin_formula(self, name: str) -> None:
        """Record that a temporal property is being checked."""
        self.evaluated = name, -1, None

    def check_formulas_early(self) -> None:
        """Raise what makes temporal formulas impossible to check, if the states found so far are enough to see it.

        A behaviour of these states and steps is one of the whole graph, so that nothing is refused too much;
        one that violates something is left to the end, for the counts are TLC's then.
        """
        if not self._fails_early():
            return
        successors = self.successors_so_far()
        graph = graph_of(self.result.states, successors, range(self.result.levels[0]))
        try:
            with suppress(LassoContradictedError):  # of a part of the states alone
                check_temporal(self.spec, graph, self.begin_formula)
        except TlaError as error:
            self.evaluated = self.evaluated[0], self._state_of_fault(error, successors), None
            raise

    def _fails_early(self) -> bool:
        """Return whether a part of a temporal formula has no value in a first state; perhaps it is guarded."""
        for _, leaf in self.leaves():
            try:
                for state in self.result.states[: _FORMULA_CHECK * _FORMULA_CHECK]:
                    leaf.test(state, state)
            except UnassignedError:
                continue  # whether such an action is enabled is unknown, and that is no fault
            except TlaError:
                return True
        return False

    def successors_so_far(self) -> list[list[int]]:
        """Return the successors of each state; none of a state that is not expanded yet."""
        known = self.successors or []
        return [*known, *[[] for _ in self.result.states[len(known) :]]]

    def leaves(self) -> list[tuple[str, Leaf]]:
        """Return the parts of temporal formulas that one state or step decides, each with the name of the formula."""
        assumed, properties = self.spec.temporal_formulas if self.spec.temporal else ((), {})
        return [
            (name, leaf)
            for name, formulas in [("the SPECIFICATION", assumed), *properties.items()]
            for formula in formulas
            for leaf in leaves_of(formula)
        ]

    def _state_of_fault(self, error: TlaError, successors: list[list[int]]) -> int:
        """Return the number of the first state in which a temporal formula fails with this error; -1 if in none."""
        states, leaves = self.result.states, self.leaves()
        for number, state in enumerate(states):
            for _, leaf in leaves:
                for target in successors[number] if leaf.of_step else [number]:
                    try:
                        leaf.test(state, states[target])
                    except TlaError as again:
                        if str(again) == str(error):
                            return number
        return -1

    def fault_in_formulas(self) -> SpecFault | None:
        """Evaluate temporal formulas in the states and steps found so far; return the first fault.

        The parts that a search of these states would evaluate come first, then all others, guarded or not.
        """
        if self.equivalence.is_equality and self.successors is not None:
            try:
                with suppress(LassoContradictedError):  # of a part of the states alone
                    self.check_temporal(self.successors_so_far())
            except TlaError as error:
                return self.fault(error)
        leaves = self.leaves()
        steps: dict[int, list[int]] = {}
        for edge in self.result.edges if leaves else ():
            steps.setdefault(edge.source, []).append(edge.target)
        states = self.result.states
        for number, state in enumerate(states):
            for name, leaf in leaves:
                for target in steps.get(number, []) if leaf.of_step else [number]:
                    try:
                        leaf.test(state, states[target])
                    except UnassignedError:
                        continue  # whether an action is enabled that leaves a variable open is unknown
                    except TlaError as error:
                        self.evaluated = name, number, None
                        return self.fault(error)
        return None


def explore(spec: Spec, options: SearchOptions = DEFAULT_OPTIONS) -> Exploration:
    """Search all reachable states, breadth first, until one violates something; then check temporal properties.

    SYMMETRY and VIEW work as in TLC: of states that are the same, the first one found stands for all. So do
    constraints: a state outside them is generated, counted and checked, but is not a distinct state and has no
    successors. A specification without an initial predicate has no states; where it has ASSUMEs, these are all there
    is to check.

    Raises:
        FalseAssumptionError: if an ASSUME is false.
        LivenessRefusedError: if there are temporal properties together with SYMMETRY or VIEW.
        LassoContradictedError: if a behaviour that was found does not stand when it is replayed.
        SpecFault: if evaluation fails, with its place and the steps that lead there.
        GaveUpError: if the search takes more memory than it may.
    """
    refuse_symmetry_and_view(spec)
    return run_search(LiteralSearch(spec, options))


def run_search(search: LiteralSearch) -> Exploration:
    """Run a search; it raises what :func:`explore` does."""
    with search.spec.registers.searching(search.statistic):
        search.spec.refuse_false_constants()
        return search.run()


def fault_in(spec: Spec, values: Mapping[str, Value], *, initial: bool) -> SpecFault | None:
    """Evaluate all that a search evaluates in a state and its successors; return the fault, None if there is none.

    Args:
        initial: whether the state is an initial one.
    """
    search = LiteralSearch(spec, SearchOptions(check_deadlock=False))
    state = spec.state(values)
    try:
        with spec.registers.searching(search.statistic):
            search.evaluated = "the CONSTRAINT", -1, (None, {}, state)
            spec.constraint(state)
            search.visit(state, True, -1, None, {}, [])
            if initial:
                search.check_initial(state)
            search.result.violation = None
            search.expand(0, [])
            return search.fault_in_formulas()
    except TlaError as error:
        return search.fault(error)


def fault_or_violation(spec: Spec, max_states: int) -> SpecFault | Violation | None:
    """Search up to a number of states; return the evaluation that fails, or the violation, if there is one.

    Temporal formulas are evaluated in each state, as TLC evaluates them while it searches.

    Raises:
        FalseAssumptionError: if an ASSUME is false.
    """
    search = LiteralSearch(spec, SearchOptions(keep_edges=True, check_deadlock=False, max_states=max_states))
    with spec.registers.searching(search.statistic):
        spec.refuse_false_constants()
        try:
            search.levels()
        except TlaAssertionError as error:
            search.assertion_failed(error)
            return search.result.violation
        except TlaError as error:
            return search.fault(error)
        violation = search.result.violation
        return search.fault_in_formulas() or violation


def _resident_memory() -> int:
    """Return the bytes of memory that this process has; 0 where the system does not report them."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
