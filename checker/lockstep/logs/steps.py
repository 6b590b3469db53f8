"""What a line leads to from a state: the steps that it tells of, and hidden ones before them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter, le
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from lockstep.base.errors import BadInputError
from lockstep.conformance.compare import ObservationError, compare, equal_count
from lockstep.conformance.incremental import Branching, Standing
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


class Begin(Protocol):
    """Where hidden steps may begin: a state, and what has failed before it."""

    @property
    def state(self) -> State:
        """The state."""

    @property
    def failed(self) -> frozenset[str]:
        """The properties that have failed."""


_Begin = TypeVar("_Begin", bound=Begin)


class _Hidden(NamedTuple):
    """A hidden step: the number of its action and its arguments, the state after it, and what fails by it."""

    kind: int
    action: str
    args: Mapping[str, Value]
    state: State
    failed: frozenset[str]


#: A step by what it changes: its arguments, and the new values of what its action reads.
_Move: TypeAlias = tuple[Mapping[str, Value], tuple[Value, ...]]


class _Moves:
    """What an action reads of a state: of states alike in that, the steps are the same, whatever else they are."""

    def __init__(self, spec: Spec, action: str) -> None:
        read = spec.actions[action].reads
        self._numbers = [number for number, name in enumerate(spec.variables) if name in read]
        self.of: Callable[[State], Any] = itemgetter(*self._numbers) if self._numbers else lambda _: ()

    def move(self, args: Mapping[str, Value], after: State) -> _Move:
        """Return a step by what it changes."""
        return args, tuple(after[number] for number in self._numbers)

    def after(self, state: State, move: _Move) -> State:
        """Return the state after a step from a state like the one that it was found in."""
        values = list(state)
        for number, value in zip(self._numbers, move[1], strict=True):
            values[number] = value
        return type(state)(values)


class Reached:
    """A state that hidden steps lead to from one of several: which one that is, by its number, and what failed."""

    __slots__ = ("_before", "_step", "failed", "origin", "state", "used")

    def __init__(
        self,
        state: State,
        failed: frozenset[str],
        used: tuple[int, ...],
        origin: int,
        before: Reached | None = None,
        step: _Hidden | None = None,
    ) -> None:
        """Take the state, what failed, how many steps of each hidden action were taken, and the last of them."""
        self.state, self.failed, self.used, self.origin = state, failed, used, origin
        self._before, self._step = before, step

    def no_worse(self, failed: frozenset[str], used: tuple[int, ...]) -> bool:
        """Tell whether what this has failed does for another way to its state, and it used no more hidden steps."""
        return does_for(self.failed, failed) and all(map(le, self.used, used))

    def steps(self) -> tuple[Step, ...]:
        """Return the hidden steps that lead here."""
        if self._step is None or self._before is None:
            return ()
        last = self._step
        return (*self._before.steps(), Step(last.action, last.args, last.state, hidden=True))


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
            most: how many hidden steps are tried at most before one line, for each state that they may begin in.
        """
        self.spec, self.interface, self.hidden, self.most = spec, interface, dict(hidden), most
        self.left_out: dict[str, None] = {}
        self._names = tuple(self.hidden)
        self._properties = Branching(spec)
        self._standing: dict[State, Standing] = {}
        self._standing_before: dict[State, Standing] = {}
        self._sights: dict[tuple[int, Any], bool] = {}
        self._read = _what_is_read(spec, interface.observe)
        self._moves = {name: _Moves(spec, name) for name in spec.actions}
        self._told: dict[tuple[int, Any], list[_Move]] = {}
        self._explained: dict[tuple[State, Line], list[Path]] = {}
        self._unseen: dict[tuple[str, Any], list[_Move]] = {}
        self._next: dict[State, list[_Hidden]] = {}
        self._can_list = True

    def starts(self) -> list[Path]:
        """Return the initial states that the spec allows, each once, with the properties that fail there."""
        first = self.spec.initial_properties
        return [
            Path(state, self._stands(state).failed | {name for name, holds in first.items() if not holds(state)})
            for state in dict.fromkeys(self.spec.initial_states())
        ]

    def start(self, state: State) -> Path:
        """Return where a log begins in the middle of a behaviour: what fails there fails, and no first state is."""
        return Path(state, self._stands(state).failed)

    def forget(self) -> None:
        """Forget what was found before the line before: the states of a log seldom come again."""
        self._standing_before, self._standing = self._standing, {}
        self._sights.clear()
        self._told.clear()
        self._explained.clear()
        self._properties.forget()

    def essence(self, state: State) -> State:
        """Return the state: all of it may matter to the lines to come."""
        return state

    def explaining(self, state: State, line: Line, _positions: tuple[int, ...] = ()) -> list[Path]:
        """Return the ways to go on from a state by what a line tells of, with no hidden steps before it.

        Of those that end in the same state there are only such that no other one does for.
        """
        known = self._explained.get((state, line))
        if known is None:
            found: dict[State, list[Path]] = {}
            for claims in line.readings:
                for path in self._understood(Path(state), claims):
                    add_least(found.setdefault(path.state, []), path)
            known = self._explained[state, line] = [path for alike in found.values() for path in alike]
        return known

    def _understood(self, before: Path, claims: Iterable[Claim]) -> list[Path]:
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
        if not claim.action:
            if self.shows(before.state, claim):
                yield before
            return
        if claim.repeat > 1:
            yield from (each for each in self._repeated(before, claim) if self.shows(each.state, claim))
            return
        for args, state in self._taken(before.state, claim):
            if self.shows(state, claim):
                yield self._gone_on(before, claim.action, args, state)

    def _repeated(self, before: Path, claim: Claim) -> Iterator[Path]:
        """Yield the ways to take a step once, and once more with the same arguments, and so on."""
        found = [self._gone_on(before, claim.action, *taken) for taken in self._taken(before.state, claim)]
        yield from found
        for _ in range(claim.repeat - 1):
            again = (after for each in found for after in self._again(each))
            found = list({(each.state, each.failed): each for each in again}.values())
            yield from found

    def _again(self, path: Path) -> Iterator[Path]:
        last = path.steps[-1]
        for after in self.spec.steps(path.state, last.action, last.args):
            yield self._gone_on(path, last.action, last.args, after)

    def _gone_on(self, before: Path, action: str, args: Mapping[str, Value], after: State) -> Path:
        failed = before.failed | self._failed_by(before.state, after)
        return Path(after, failed, (*before.steps, Step(action, args, after, hidden=False)))

    def shows(self, state: State, claim: Claim) -> bool:
        """Tell whether a state shows what a line says."""
        if not claim.shows:
            return True
        key = id(claim), self._read(state)
        known = self._sights.get(key)
        if known is None:
            count = equal_count(claim.shows, self.seen(state, claim), self.interface.words)
            known = self._sights[key] = count is not None
        return known

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
                for state in self._after(before.state, claim):
                    list(compare(claim.shows, self.seen(state, claim), self.interface.words))
        except ObservationError as error:
            return str(error)
        except ArgumentError as error:
            return f"`{error.name}`: {error}"
        except TlaError:
            return None
        return None

    def _after(self, state: State, claim: Claim) -> Iterator[State]:
        return (after for _, after in self._taken(state, claim)) if claim.action else iter((state,))

    def _taken(self, state: State, claim: Claim) -> Iterator[tuple[Mapping[str, Value], State]]:
        """Yield the arguments, and the state after it, of each step that a line may tell of."""
        moves = self._moves[claim.action]
        key = id(claim), moves.of(state)
        known = self._told.get(key)
        if known is None:
            found: dict[tuple[tuple[Value, ...], State], _Move] = {}
            for args in self._arguments(state, claim):
                for after in self.spec.steps(state, claim.action, args):
                    found.setdefault((tuple(args.values()), after), moves.move(args, after))
            known = self._told[key] = list(found.values())
        return ((move[0], moves.after(state, move)) for move in known)

    def _arguments(self, state: State, claim: Claim) -> Iterable[Mapping[str, Value]]:
        params = self.spec.actions[claim.action].params
        told = [claim.told.get(name) for name in params]
        if all(type(each) is Exactly for each in told):  # the step itself asks whether there are such arguments
            return ({name: each.value for name, each in zip(params, told, strict=True) if type(each) is Exactly},)
        known = {name: each or Matching(name) for name, each in zip(params, told, strict=True)}
        return self.spec.arguments(state, claim.action, known)

    def _leave_out(self, reason: str) -> None:
        self.left_out.setdefault(reason)

    # ---- Properties ----

    def _failed_by(self, state: State, after: State) -> frozenset[str]:
        """Return the properties that fail by a step, or after it."""
        failed, self._standing[after] = self._properties.step(state, self._stands(state), after)
        return failed

    def _stands(self, state: State) -> Standing:
        known = self._standing.get(state)
        if known is None:
            known = self._standing_before.get(state) or self._properties.standing(state)
            self._standing[state] = known
        return known

    # ---- Hidden steps ----

    def hidden_from(self, state: State) -> list[Path]:
        """Return the ways from a state by hidden steps, as many as may come between two lines, and by none."""
        return [Path(each.state, each.failed, each.steps()) for each in self.reached([Path(state)])]

    def reached(self, begins: Sequence[Begin]) -> list[Reached]:
        """Return the states that hidden steps lead to from any of some states, as many as may come between two lines.

        They are searched for from all of these at once. Of the ways to a state those are left out that another does
        for; of two that used some hidden action more often, and none less, one is enough to go on from.
        """
        found: dict[State, list[Reached]] = {}
        nothing = (0,) * len(self._names)
        for number, begin in enumerate(begins):
            found.setdefault(begin.state, []).append(Reached(begin.state, begin.failed, nothing, number))
        pending = [each for alike in found.values() for each in alike] if self._names else []
        tried, most = 0, self.most * len(begins)
        while pending:
            further: list[Reached] = []
            for each in pending:
                for after in self._hide(each):
                    tried += 1
                    if tried > most:
                        self._leave_out(f"more than {self.most:,} hidden steps may come before one line")
                        return _least(found)
                    if _add_reached(found.setdefault(after.state, []), after):
                        further.append(after)
            pending = further
        return _least(found)

    def _hide(self, before: Reached) -> Iterator[Reached]:
        used = before.used
        left = [count < self.hidden[name] for name, count in zip(self._names, used, strict=True)]
        if any(left):
            for step in self._hidden_steps(before.state):
                kind = step.kind
                if left[kind]:
                    more = (*used[:kind], used[kind] + 1, *used[kind + 1 :])
                    failed = before.failed | step.failed if step.failed else before.failed
                    yield Reached(step.state, failed, more, before.origin, before, step)

    def _hidden_steps(self, state: State) -> list[_Hidden]:
        known = self._next.get(state)
        if known is None:
            if len(self._next) >= _MOST_KNOWN:
                self._next.clear()
            known = self._next[state] = list(self._find_hidden_steps(state))
        return known

    def _find_hidden_steps(self, state: State) -> Iterator[_Hidden]:
        keys = [(name, self._moves[name].of(state)) for name in self._names]
        if not all(key in self._unseen for key in keys):
            if len(self._unseen) >= _MOST_KNOWN:
                self._unseen.clear()
            self._unseen.update(zip(keys, self._list_hidden(state), strict=True))
        for kind, key in enumerate(keys):
            name, moves = key[0], self._moves[key[0]]
            for move in self._unseen[key]:
                after = moves.after(state, move)
                yield _Hidden(kind, name, move[0], after, self._failed_by(state, after))

    def _list_hidden(self, state: State) -> list[list[_Move]]:
        """Return the steps of each hidden action."""
        found: dict[tuple[str, State], Mapping[str, Value]] = {}
        try:
            if self._can_list:
                for name, args, after in self.spec.successors(state):
                    if name in self.hidden:
                        found.setdefault((name, after), args)
        except TlaError:  # perhaps of an action that is not hidden, as one that takes any number
            self._can_list = False
        listed = found if self._can_list else self._one_by_one(state)
        by_name: dict[str, list[_Move]] = {name: [] for name in self._names}
        for (name, after), given in listed.items():
            by_name[name].append(self._moves[name].move(given, after))
        return list(by_name.values())

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


def _what_is_read(spec: Spec, observe: str) -> Callable[[State], Any]:
    """Return what takes from a state the variables that an observation reads, all where that is not known."""
    try:
        read = {path[0] for path in spec.footprint(observe)}
    except KeyError:
        return lambda state: state
    numbers = [number for number, name in enumerate(spec.variables) if name in read]
    return itemgetter(*numbers) if numbers else lambda _: ()


def add_least(alike: list[_Begin], new: _Begin) -> None:
    """Add a way to a state, unless another does for it; those that it does for are given up."""
    if not any(does_for(other.failed, new.failed) for other in alike):
        alike[:] = [other for other in alike if not does_for(new.failed, other.failed)]
        alike.append(new)


def _add_reached(alike: list[Reached], new: Reached) -> bool:
    """Add a way to a state, unless another is as good; tell whether it was added."""
    if any(other.no_worse(new.failed, new.used) for other in alike):
        return False
    if alike:
        alike[:] = [other for other in alike if not new.no_worse(other.failed, other.used)]
    alike.append(new)
    return True


def _least(found: Mapping[State, Sequence[Reached]]) -> list[Reached]:
    """Return the ways to each state that no other one does for."""
    kept: list[Reached] = []
    for alike in found.values():
        if len(alike) == 1:
            kept.append(alike[0])
            continue
        least: list[Reached] = []
        for each in alike:
            add_least(least, each)
        kept += least
    return kept
