"""What a line leads to from a state: the steps that it tells of, and hidden ones before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lockstep.base.errors import BadInputError
from lockstep.conformance.compare import ObservationError, compare, equal_count
from lockstep.conformance.interface import Interface
from lockstep.logs.lines import Claim, Line
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import ArgumentError, Fcn, ForeignWordError, TlaError, Value
from lockstep.tla.values.operators.bounds import Exactly, Matching

#: Of so many states the hidden steps are remembered.
_MOST_KNOWN = 20_000

#: No property.
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its action with its arguments, the state after it, and whether no line tells of it."""

    action: str
    args: Mapping[str, Value]
    state: State
    hidden: bool


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Steps from a state, and the properties that fail on the way."""

    state: State
    failed: frozenset[str] = NONE
    steps: tuple[Step, ...] = ()


def does_for(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether what fails `one` does for what fails `other`: these are properties that it fails, and no others.

    Nothing does not: whether some explanation fails anything is asked, too.
    """
    return one <= other and bool(one) == bool(other)


class Fewest:
    """Paths by the state they end in; of those alike in that, only the ones that no other one does for.

    A path does for another if what it fails does, and it uses no more hidden steps.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._by_state: dict[State, list[tuple[tuple[int, ...], Path]]] = {}

    def add(self, path: Path, used: tuple[int, ...] = ()) -> bool:
        """Add a path, unless another is as good; tell whether it was added."""
        known = self._by_state.setdefault(path.state, [])
        for before, other in known:
            if does_for(other.failed, path.failed) and all(map(int.__le__, before, used)):
                return False
        known[:] = [
            (before, other)
            for before, other in known
            if not (does_for(path.failed, other.failed) and all(map(int.__le__, used, before)))
        ]
        known.append((used, path))
        return True

    def paths(self) -> list[Path]:
        """Return the paths; of those that differ in their hidden steps alone, the ones that no other one does for."""
        fewest = Fewest()
        for known in self._by_state.values():
            for _, path in known:
                fewest.add(path)
        return [path for known in fewest._by_state.values() for _, path in known]


class Steps:
    """Takes steps of one spec.

    `left_out` tells why not every explanation was looked at, if that is so: then nothing is refuted.
    """

    def __init__(self, spec: Spec, interface: Interface, hidden: Mapping[str, int], most: int = 100_000) -> None:
        """Take steps of a spec.

        Args:
            spec: the spec, compiled.
            interface: where a log meets it.
            hidden: the actions that may be taken with no line to tell of them, and how often between two lines.
            most: how many steps are tried at most before one line, from one state.
        """
        self.spec, self.interface, self.hidden, self.most = spec, interface, dict(hidden), most
        self.left_out: dict[str, None] = {}
        self._names = tuple(self.hidden)
        self._failed: dict[State, frozenset[str]] = {}
        self._hidden: dict[State, list[Path]] = {}
        self._explaining: dict[tuple[State, Line], list[Path]] = {}
        self._next: dict[State, list[tuple[int, Step, frozenset[str]]]] = {}
        self._can_list = True

    def starts(self) -> list[Path]:
        """Return the initial states that the spec allows, each once, with the properties that fail there."""
        first = self.spec.initial_properties
        return [
            Path(state, self._of_state(state) | {name for name, holds in first.items() if not holds(state)})
            for state in dict.fromkeys(self.spec.initial_states())
        ]

    def start(self, state: State) -> Path:
        """Return where a log begins in the middle of a behaviour: what fails there fails, and no first state is."""
        return Path(state, self._of_state(state))

    def forget(self) -> None:
        """Forget what was found so far: the states of a log seldom come again."""
        self._failed.clear()
        self._hidden.clear()
        self._explaining.clear()

    def essence(self, state: State) -> State:
        """Return the state: all of it may matter to the lines to come."""
        return state

    def explaining(self, state: State, line: Line, _positions: tuple[int, ...] = ()) -> list[Path]:
        """Return the ways from a state by hidden steps and then what a line tells of, whatever else was read."""
        known = self._explaining.get((state, line))
        if known is None:
            found = Fewest()
            for before in self.hidden_from(state):
                for claims in line.readings:
                    for after in self._read(before, claims):
                        found.add(after)
            known = self._explaining[state, line] = found.paths()
        return known

    def _read(self, before: Path, claims: Iterable[Claim]) -> list[Path]:
        found = [before]
        for claim in claims:
            try:
                found = [after for each in found for after in self.claimed(each, claim)]
            except ForeignWordError as error:
                raise BadInputError(f"`{error.name}`: {error}") from error
            except ArgumentError as error:
                # A value that is told, and that no such step has: this reading does not fit.
                if not isinstance(claim.told.get(error.name), Exactly):
                    self._leave_out(str(error))
                return []
            except TlaError as error:
                self._leave_out(str(error))
                return []
        return found

    def claimed(self, before: Path, claim: Claim) -> Iterator[Path]:
        """Yield the ways to go on by one step that a line tells of, or none where it tells of none."""
        after = self._taken(before, claim) if claim.action else (before,)
        return (each for each in after if self.shows(each.state, claim))

    def shows(self, state: State, claim: Claim) -> bool:
        """Tell whether a state shows what a line says."""
        return not claim.shows or equal_count(claim.shows, self.seen(state, claim), self.interface.words) is not None

    def seen(self, state: State, claim: Claim) -> Value:
        """Return what the spec lets be seen of a state."""
        observe = self.interface.observe
        if observe not in self.spec.definitions:
            return Fcn(dict(state.as_dict()))
        return self.spec.evaluate(observe, state, *([claim.node] if self.spec.arity(observe) else []))

    def mistake(self, state: State, line: Line) -> str | None:
        """Say what a line tells that the spec cannot have, however it is read; None where there is nothing such."""
        for before in self.hidden_from(state):
            found = [self._mistake(before, claims) for claims in line.readings]
            if all(found):
                return found[0]
        return None

    def _mistake(self, before: Path, claims: Iterable[Claim]) -> str | None:
        try:
            for claim in claims:
                for each in self._taken(before, claim) if claim.action else (before,):
                    list(compare(claim.shows, self.seen(each.state, claim), self.interface.words))
        except ObservationError as error:
            return str(error)
        except ArgumentError as error:
            return f"`{error.name}`: {error}"
        except TlaError:
            return None
        return None

    def _taken(self, before: Path, claim: Claim) -> Iterator[Path]:
        params = self.spec.actions[claim.action].params
        told = {name: claim.told.get(name, Matching(name)) for name in params}
        yield from self._after(before, claim.action, told, hidden=False)

    def _after(
        self, before: Path, action: str, told: Mapping[str, Exactly | Matching], *, hidden: bool
    ) -> Iterator[Path]:
        seen: set[tuple[tuple[Value, ...], State]] = set()
        for args in self.spec.arguments(before.state, action, told):
            for state in self.spec.steps(before.state, action, args):
                if (known := (tuple(args.values()), state)) in seen:
                    continue
                seen.add(known)
                failed = before.failed | self._of_step(before.state, state)
                yield Path(state, failed, (*before.steps, Step(action, args, state, hidden)))

    def _of_step(self, state: State, after: State) -> frozenset[str]:
        broken = frozenset(name for name, holds in self.spec.action_properties.items() if not holds(state, after))
        return self._of_state(after) | broken

    def _of_state(self, state: State) -> frozenset[str]:
        known = self._failed.get(state)
        if known is None:
            broken = (name for name, holds in self.spec.invariants.items() if not holds(state))
            known = self._failed[state] = frozenset(broken)
        return known

    def _leave_out(self, reason: str) -> None:
        self.left_out.setdefault(reason)

    # ---- Hidden steps ----

    def hidden_from(self, state: State) -> list[Path]:
        """Return the ways from a state by hidden steps, as many as may come between two lines, and by none."""
        known = self._hidden.get(state)
        if known is None:
            known = self._hidden[state] = self._find_hidden(state)
        return known

    def _find_hidden(self, state: State) -> list[Path]:
        begin, nothing = Path(state), (0,) * len(self._names)
        found, pending, tried = Fewest(), [(begin, nothing)], 0
        found.add(begin, nothing)
        while pending:
            further = []
            for each, used in pending:
                for after, more in self._hide(each, used):
                    tried += 1
                    if tried > self.most:
                        self._leave_out(f"more than {self.most:,} hidden steps may come before one line")
                        return found.paths()
                    if found.add(after, more):
                        further.append((after, more))
            pending = further
        return found.paths()

    def _hide(self, before: Path, used: tuple[int, ...]) -> Iterator[tuple[Path, tuple[int, ...]]]:
        for kind, step, failed in self._hidden_steps(before.state):
            if used[kind] < self.hidden[step.action]:
                more = (*used[:kind], used[kind] + 1, *used[kind + 1 :])
                yield Path(step.state, before.failed | failed, (*before.steps, step)), more

    def _hidden_steps(self, state: State) -> list[tuple[int, Step, frozenset[str]]]:
        """Return the hidden steps from a state: the number of the action, the step, and what fails by it."""
        known = self._next.get(state)
        if known is None:
            if len(self._next) >= _MOST_KNOWN:
                self._next.clear()
            known = self._next[state] = list(self._find_hidden_steps(state))
        return known

    def _find_hidden_steps(self, state: State) -> Iterator[tuple[int, Step, frozenset[str]]]:
        found: dict[tuple[str, State], Mapping[str, Value]] = {}
        try:
            if self._can_list:
                for name, args, after in self.spec.successors(state):
                    if name in self.hidden:
                        found.setdefault((name, after), args)
        except TlaError:  # perhaps of an action that is not hidden, as one that takes any number
            self._can_list = False
        listed = found if self._can_list else self._one_by_one(state)
        for (name, after), given in listed.items():
            yield self._names.index(name), Step(name, given, after, hidden=True), self._of_step(state, after)

    def _one_by_one(self, state: State) -> dict[tuple[str, State], Mapping[str, Value]]:
        """Return the hidden steps of each action with each of its arguments."""
        found: dict[tuple[str, State], Mapping[str, Value]] = {}
        for name in self._names:
            told = {param: Matching(param) for param in self.spec.actions[name].params}
            try:
                for args in self.spec.arguments(state, name, told):
                    for after in self.spec.steps(state, name, args):
                        found.setdefault((name, after), args)
            except TlaError as error:
                self._leave_out(f"{name}, which is hidden: {error}")
        return found
