"""Breadth-first search of a specification's states, counting as TLC counts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from lockstep.tla.behaviour import Behaviour, Taken
from lockstep.tla.compile.spec_fault import SpecFault, blamed
from lockstep.tla.liveness.behaviour_graph import graph_of
from lockstep.tla.liveness.lasso_replay import Met
from lockstep.tla.liveness.temporal_check import LassoContradictedError, check_temporal, refuse_sameness
from lockstep.tla.liveness.temporal_formulas import Leaf, leaves_of
from lockstep.tla.spec import Spec
from lockstep.tla.state import State, bytes_of, same_in_kind
from lockstep.tla.symmetry import sameness
from lockstep.tla.values.html_table import table
from lockstep.tla.values.kinds import TlaAssertionError, TlaError, TlaTypeError, Value
from lockstep.tla.values.next_state import UnassignedError

__all__ = [
    "Edge",
    "Exploration",
    "LiteralSearch",
    "Step",
    "Violation",
    "explore",
    "fault_in",
    "met_within",
    "run_search",
]


#: At how many states temporal formulas are first looked at for a fault; then at so many times as many.
_LOOK = 16


@dataclass(frozen=True)
class Step:
    """One step of a trace: the action and its arguments (None and none for the initial state), and where it leads."""

    action: str | None
    args: dict[str, Value]
    state: State


@dataclass(frozen=True)
class Violation:
    """What a search found wrong.

    Attributes:
        kind: ``invariant``, ``action property``, ``initial property``, ``deadlock``, ``assertion``, ``temporal
            property`` or ``postcondition``.
        name: which; empty for a deadlock; of an assertion the property in which it stands, if it stands in one.
        trace: a shortest way there, from an initial state; of a temporal property a behaviour without end; empty for a
            postcondition, which is of no state.
        back_to: of that the index of the state that comes after the last: the last itself where it stutters for ever.
        met: how what it repeats meets each condition of fairness of the SPECIFICATION.
        message: what a false Assert says.
    """

    kind: str
    name: str
    trace: tuple[Step, ...]
    back_to: int | None = None
    met: tuple[Met, ...] = ()
    message: str = ""

    @property
    def label(self) -> str:
        """The name, or the kind of what has none."""
        return self.name or self.kind

    def _repr_html_(self) -> str:
        """Show the steps to it, with what each changed, in a notebook."""
        steps = tuple(Taken(step.action or "Init", step.args, "", step.state.as_dict()) for step in self.trace)
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
class Exploration:
    """The result of a search.

    Attributes:
        generated: the states generated: all initial states and all successors, repetitions included.
        depth: the number of levels, as TLC reports it: the initial states are the first, and the level in which a
            violation was found is the last.
        complete: whether all reachable states were seen; what is `unchecked` may be violated all the same.
        states: the distinct states, in the order they were found.
        levels: how many of them each level has.
        edges: the steps, if they were asked for; parallel ones are kept.
        violation: the first violation, if any.
        unchecked: the properties with parts that no search checks, such as \\EE.
    """

    generated: int = 0
    depth: int = 0
    complete: bool = False
    states: list[State] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    violation: Violation | None = None
    unchecked: tuple[str, ...] = ()

    @property
    def distinct(self) -> int:
        """The number of distinct states."""
        return len(self.states)


class LiteralSearch:
    """A search that keeps every state and evaluates everything in each; the arguments are those of :func:`explore`."""

    def __init__(
        self,
        spec: Spec,
        keep_edges: bool,
        check_deadlock: bool,
        max_states: int | None,
        on_level: Callable[[int], None] | None,
    ) -> None:
        """Begin with no state."""
        self.spec = spec
        self.keep_edges = keep_edges
        self.check_deadlock = check_deadlock
        self.max_states = max_states
        self.on_level = on_level
        self.result = Exploration(unchecked=tuple(spec.unchecked))
        self.same = sameness(spec)
        self.seen_by = spec.view or spec.symmetry or "the state"
        self.numbers: dict[Hashable, int] = {}
        self.kept: dict[State, State] = {}
        """Under SYMMETRY, each image of a state by itself: a state that Python holds equal may differ in kind."""
        self.parents: list[tuple[int, str | None, dict[str, Value]]] = []
        self.follows: list[list[int]] | None = [] if spec.temporal and spec.has_behaviour else None
        self.queued = 0
        self.asked: tuple[str, int, tuple[str | None, dict[str, Value], State] | None] = ("Init", -1, None)
        """What is evaluated: its name, the state's number, and the step from there; "" while an action is."""

    def tell(self, name: str) -> int:
        """Answer what TLC tells of a search: of the state that is expanded, at this very moment.

        Raises:
            KeyError: if it is none of these.
        """
        level = self.result.depth  # that of the state which is expanded; 0 before the first
        told = {"level": level, "distinct": self.result.distinct, "queue": self.queued, "diameter": self.deepest()}
        return told[name]

    def deepest(self) -> int:
        """Answer the level of the state that was found last; 1, as TLC has it, before there is one."""
        return len(self.trace(len(self.result.states) - 1)) if self.result.states else 1

    def run(self) -> Exploration:
        """Search; a false Assert is a violation.

        Raises:
            SpecFault: if an evaluation fails.
        """
        try:
            return self.search()
        except TlaAssertionError as error:
            self.asserted(error)
            return self.result
        except TlaError as error:
            raise self.fault(error) from error

    def asserted(self, error: TlaAssertionError) -> None:
        """Note that an Assert is false, and the steps to where it was evaluated."""
        what, number, step = self.asked
        name = what if what in self.spec.property_places else ""
        self.violated("assertion", name, [*self.trace(number), *(() if step is None else (Step(*step),))], str(error))

    def fault(self, error: TlaError) -> SpecFault:
        """Tell of an evaluation that failed: what was evaluated, where, and the steps that led there."""
        what, number, step = self.asked
        steps = (*self.trace(number), *(() if step is None else (Step(*step),)))
        if what:
            known = self.spec.init_place if what == "Init" else self.spec.definitions.get(what)
            place_of = self.spec.property_places.get(what, known)
            return blamed(error, self.spec.source, what, {}, str(place_of or ""), steps)
        return blamed(error, self.spec.source, "Next", {}, "", steps)  # of successors, which name the action already

    def search(self) -> Exploration:
        """Search all states, or check the ASSUMEs alone where there is no behaviour."""
        result = self.result
        if not self.spec.has_behaviour and self.spec.assumptions:
            result.depth = 1  # as TLC counts it
            return self.completed()
        return self.completed() if self.levels() and result.violation is None else result

    def levels(self) -> bool:
        """Take in one level of states after the other; answer whether that came to its end."""
        result = self.result
        frontier = self.start()
        result.levels.append(len(frontier))
        if not frontier:
            result.depth = 1
        look_at = _LOOK
        while frontier and result.violation is None:
            result.depth += 1
            found: list[int] = []
            goes_on = all(self.expand(number, found) for number in frontier)
            result.levels.append(len(found))
            if not goes_on:
                return False
            if self.follows is not None and result.distinct >= look_at:
                self.look_for_faults()
                look_at *= _LOOK
            frontier = found
            if self.on_level is not None:
                self.on_level(result.distinct)
        return True

    def completed(self) -> Exploration:
        """Note that all states were seen, and ask what must hold then."""
        self.result.complete = True
        self.check_temporal(self.follows)
        self.asked = "the POSTCONDITION", -1, None
        if self.result.violation is None and not self.spec.postcondition_holds():
            self.result.violation = Violation("postcondition", self.spec.postcondition or "", ())
        return self.result

    def fails_early(self) -> bool:
        """Tell whether a part of a temporal formula has no value in one of the first states; perhaps it is guarded."""
        for _, leaf in self.leaves():
            try:
                for state in self.result.states[: _LOOK * _LOOK]:
                    leaf.test(state, state)
            except UnassignedError:
                continue  # whether such an action is enabled nobody can tell, and that is no fault
            except TlaError:
                return True
        return False

    def look_for_faults(self) -> None:
        """Raise what makes temporal formulas impossible to check, if the states found so far are enough to see it.

        What is a behaviour of these states and steps is one of the whole graph, so that nothing is refused too much;
        a behaviour that violates something is left to the end, for the counts are TLC's then.
        """
        if not self.fails_early():
            return
        follows = self.known_steps()
        graph = graph_of(self.result.states, follows, range(self.result.levels[0]))
        try:
            with suppress(LassoContradictedError):  # of a part of the states alone
                check_temporal(self.spec, graph, self.begin_formula)
        except TlaError as error:
            self.asked = self.asked[0], self.where_in_formulas(error, follows), None
            raise

    def known_steps(self) -> list[list[int]]:
        """List the steps of each state; none of those whose successors are not generated yet."""
        known = self.follows or []
        return [*known, *[[] for _ in self.result.states[len(known) :]]]

    def begin_formula(self, name: str) -> None:
        """Note that a temporal property is being checked."""
        self.asked = name, -1, None

    def leaves(self) -> list[tuple[str, Leaf]]:
        """List the parts of temporal formulas that one state or step decides, each with what it is a part of."""
        assumed, properties = self.spec.temporal_formulas if self.spec.temporal else ((), {})
        return [
            (name, leaf)
            for name, formulas in [("the SPECIFICATION", assumed), *properties.items()]
            for formula in formulas
            for leaf in leaves_of(formula)
        ]

    def check_temporal(self, follows: list[list[int]] | None) -> None:
        """Check what is said of whole behaviours, once all states and steps are there."""
        if follows is None:
            return
        states = self.result.states
        graph = graph_of(states, follows, range(self.result.levels[0]))
        try:
            checked = check_temporal(self.spec, graph, self.begin_formula)
        except TlaError as error:
            self.asked = self.asked[0], self.where_in_formulas(error, follows), None
            raise
        self.result.unchecked = tuple(dict.fromkeys([*self.result.unchecked, *checked.unchecked]))
        if (found := checked.found) is not None:
            trace = tuple(Step(step.action, step.args, step.state) for step in found.steps)
            self.result.violation = Violation("temporal property", found.name, trace, found.back_to, found.met)

    def where_in_formulas(self, error: TlaError, follows: list[list[int]]) -> int:
        """Answer the number of the first state in which a temporal formula fails with this error; -1 if in none."""
        states, leaves = self.result.states, self.leaves()
        for number, state in enumerate(states):
            for _, leaf in leaves:
                for target in follows[number] if leaf.of_step else [number]:
                    try:
                        leaf.test(state, states[target])
                    except TlaError as again:
                        if str(again) == str(error):
                            return number
        return -1

    def fault_in_formulas(self) -> SpecFault | None:
        """Evaluate what temporal formulas say of the states and steps found so far; return the first that fails.

        What a search of these states would evaluate comes first; then all parts of the formulas, guarded or not.
        """
        if self.same.is_equality and self.follows is not None:
            try:
                with suppress(LassoContradictedError):  # of a part of the states alone
                    self.check_temporal(self.known_steps())
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
                        continue  # of an action that leaves a variable open nobody can tell whether it is enabled
                    except TlaError as error:
                        self.asked = name, number, None
                        return self.fault(error)
        return None

    def start(self) -> list[int]:
        """Generate the initial states; answer their numbers."""
        found: list[int] = []
        for state in self.spec.initial_states():
            self.result.generated += 1
            self.begin(state, found)
            if self.result.violation is not None:
                return found
            self.asked = "Init", -1, None
        return found

    def begin(self, state: State, found: list[int]) -> None:
        """Take an initial state in; as in TLC, the initial properties are asked last, and of a new state alone."""
        self.asked = "the CONSTRAINT", -1, (None, {}, state)
        in_model, known = self.spec.constraint(state), len(self.result.states)
        self.visit(state, in_model, -1, None, {}, found)
        if self.result.violation is None and not (in_model and len(self.result.states) == known):
            self.check_start(state)

    def check_start(self, state: State) -> None:
        """Ask what the properties say of an initial state."""
        for name, holds in self.spec.initial_properties.items():
            self.asked = name, -1, (None, {}, state)
            if not holds(state):
                self.violated("initial property", name, [Step(None, {}, state)])
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
        """Take a generated state in; answer its number, if it is one of the model's.

        What the constraints exclude is compared with no other state, and is asked for the invariants each time.
        """
        number: int | None = None
        if in_model:
            self.asked = self.seen_by, parent, (action, args, state)
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
            self.asked = name, parent, (action, args, state)
            if not holds(state):
                self.violated("invariant", name, [*self.trace(parent), Step(action, args, state)])
                break
        return number

    def known(self, state: State) -> int | None:
        """Return the number of the state that this one is the same as; None if it is new.

        States that differ in kind only are two, as they are for TLC, which compares fingerprints.
        """
        number = self.numbers.get(self.same.key(state))
        if number is None or self.same.view is not None:
            return number
        if same_in_kind(self.kept.get(state, self.result.states[number]), state):
            return number
        return self.numbers.get(bytes_of(state))

    def remember(self, state: State, number: int) -> None:
        """Note a new state, under SYMMETRY with its images: by its bytes where one that differs in kind only is known.

        Raises:
            TlaTypeError: if two of its images differ in kind only. TLC compares these with one another.
        """
        own: dict[State, State] = {}
        for key in self.same.keys(state):
            if not isinstance(key, State):
                self.numbers[key] = number
                continue
            first = own.setdefault(key, key)
            if first is not key and not same_in_kind(first, key):
                raise TlaTypeError(f"two images of a state differ in kind only:\n{first}\nand\n{key}")
            apart = self.numbers.get(key, number) != number
            self.numbers[bytes_of(key) if apart else key] = number
            if self.same.images:
                self.kept.setdefault(key, key)

    def expand(self, number: int, found: list[int]) -> bool:
        """Generate the successors of a state; answer whether the search goes on."""
        spec, result = self.spec, self.result
        state = result.states[number]
        follows: list[int] = []
        if self.follows is not None:
            self.follows.append(follows)
        self.queued -= 1
        self.asked = "", number, None
        deadlocked = True
        once, stepped = self.same.is_equality and not spec.has_registers, set[int | None]()
        for action, args, after in spec.successors(state):
            result.generated += 1
            known = len(result.states)
            deadlocked = False
            self.asked = "the CONSTRAINT", number, (action, args, after)
            in_model = spec.constraint(after) and spec.action_constraint(state, after)
            target = self.visit(after, in_model, number, action, args, found)
            if in_model and target is not None:
                follows.append(target)
                if self.keep_edges:
                    result.edges.append(Edge(number, action, args, target))
            if result.violation is None and target not in stepped:
                self.check_step(number, state, action, args, after)
            if once and target is not None:
                stepped.add(target)
            if result.violation is not None:
                return False
            self.queued += len(result.states) - known
            self.asked = "", number, None
        if deadlocked and self.check_deadlock:
            self.violated("deadlock", "", self.trace(number))
            return False
        return self.max_states is None or len(result.states) < self.max_states

    def check_step(self, number: int, state: State, action: str, args: dict[str, Value], after: State) -> None:
        """Ask what the properties say of a step."""
        for name, holds in self.spec.action_properties.items():
            self.asked = name, number, (action, args, after)
            if not holds(state, after):
                self.violated("action property", name, [*self.trace(number), Step(action, args, after)])
                return

    def violated(self, kind: str, name: str, trace: list[Step], message: str = "") -> None:
        """Note what is violated, and the steps there."""
        self.result.violation = Violation(kind, name, tuple(trace), message=message)
        # TLC tells the level of the state it found last, which may lie before the violation or beyond it.
        self.result.depth = max(self.result.depth, self.deepest())

    def trace(self, number: int) -> list[Step]:
        """Answer a shortest way from an initial state to a state."""
        steps: list[Step] = []
        while number >= 0:
            parent, action, args = self.parents[number]
            steps.append(Step(action, args, self.result.states[number]))
            number = parent
        steps.reverse()
        return steps


def fault_in(spec: Spec, values: Mapping[str, Value], *, initial: bool) -> SpecFault | None:
    """Evaluate what a search evaluates in a state, and of its successors; return what fails, None if nothing does.

    Args:
        spec: the specification.
        values: the variables of the state by name.
        initial: whether the state is an initial one.
    """
    search = LiteralSearch(spec, keep_edges=False, check_deadlock=False, max_states=None, on_level=None)
    state = spec.state(values)
    try:
        with spec.registers.searching(search.tell):
            search.asked = "the CONSTRAINT", -1, (None, {}, state)
            spec.constraint(state)
            search.visit(state, True, -1, None, {}, [])
            if initial:
                search.check_start(state)
            search.result.violation = None
            search.expand(0, [])
            return search.fault_in_formulas()
    except TlaError as error:
        return search.fault(error)


def met_within(spec: Spec, most: int) -> SpecFault | Violation | None:
    """Search until there are so many states; return the evaluation that fails, or what is violated, if anything is.

    Temporal formulas are evaluated in each state, as TLC evaluates them while it searches.

    Raises:
        FalseAssumptionError: if an ASSUME is false.
    """
    search = LiteralSearch(spec, keep_edges=True, check_deadlock=False, max_states=most, on_level=None)
    with spec.registers.searching(search.tell):
        spec.refuse_false_constants()
        try:
            search.levels()
        except TlaAssertionError as error:
            search.asserted(error)
            return search.result.violation
        except TlaError as error:
            return search.fault(error)
        violation = search.result.violation
        return search.fault_in_formulas() or violation


def explore(
    spec: Spec,
    *,
    keep_edges: bool = False,
    check_deadlock: bool | None = None,
    max_states: int | None = None,
    on_level: Callable[[int], None] | None = None,
) -> Exploration:
    """Search all reachable states, breadth first, until one violates something; then check temporal properties.

    SYMMETRY and VIEW work as in TLC: of states that are the same, the first one found stands for all. So do
    constraints: a state outside them is generated, counted and checked, but is not a distinct state and has no
    successors. A specification without an initial predicate has no states; where it has ASSUMEs, these are all there
    is to check.

    Args:
        spec: the specification.
        keep_edges: whether to keep the steps.
        check_deadlock: whether a state without successors is a violation; the configuration decides if None.
        max_states: stop after the state whose successors make this many distinct ones.
        on_level: told of the number of distinct states, level by level.

    Returns:
        Counts, states, edges, the violation, and the properties that were not checked.

    Raises:
        FalseAssumptionError: if an ASSUME is false.
        LivenessRefusedError: if there are temporal properties together with SYMMETRY or VIEW.
        LassoContradictedError: if a behaviour that was found does not stand when it is replayed.
        SpecFault: if evaluation fails, with its place and the steps that lead there.
    """
    refuse_sameness(spec)
    deadlock = spec.check_deadlock if check_deadlock is None else check_deadlock
    return run_search(LiteralSearch(spec, keep_edges, deadlock, max_states, on_level))


def run_search(search: LiteralSearch) -> Exploration:
    """Run a search that was made; what it raises is told of :func:`explore`."""
    with search.spec.registers.searching(search.tell):
        search.spec.refuse_false_constants()
        return search.run()
