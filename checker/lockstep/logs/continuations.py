"""Continuations of a behaviour: steps from a state, and those among several to one state that are worth following."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter, le
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value

#: No property.
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ExplainingStep:
    """A step: its action with its arguments, the state after it, and whether it is hidden: no line is of it."""

    action: str
    args: Mapping[str, Value]
    state: State
    hidden: bool


@dataclass(frozen=True, slots=True, eq=False)
class Continuation:
    """Steps from a state, and the properties that fail on the way."""

    state: State
    failed: frozenset[str] = NONE
    steps: tuple[ExplainingStep, ...] = ()


class StartState(Protocol):
    """A state in which hidden steps may begin, and what has failed before it."""

    @property
    def state(self) -> State:
        """The state."""

    @property
    def failed(self) -> frozenset[str]:
        """The properties that have failed."""


class HiddenStep(NamedTuple):
    """A hidden step: the number of its action and its arguments, the state after it, and what fails by it."""

    kind: int
    action: str
    args: Mapping[str, Value]
    state: State
    failed: frozenset[str]


class ReachedState:
    """A state that hidden steps lead to, with the number of the state where they begin, and what failed."""

    __slots__ = ("_before", "_step", "failed", "origin", "state", "used")

    def __init__(
        self,
        state: State,
        failed: frozenset[str],
        used: tuple[int, ...],
        origin: int,
        before: ReachedState | None = None,
        step: HiddenStep | None = None,
    ) -> None:
        """Take the state, what failed, how many steps of each hidden action were taken, and the last of them."""
        self.state, self.failed, self.used, self.origin = state, failed, used, origin
        self._before, self._step = before, step

    def no_worse(self, failed: frozenset[str], used: tuple[int, ...]) -> bool:
        """Return whether what this has failed does for another way to its state, and it used no more hidden steps."""
        return dominates(self.failed, failed) and all(map(le, self.used, used))

    def steps(self) -> tuple[ExplainingStep, ...]:
        """Return the hidden steps that lead here."""
        if self._step is None or self._before is None:
            return ()
        last = self._step
        return (*self._before.steps(), ExplainingStep(last.action, last.args, last.state, hidden=True))


# ---- Which ways are enough ----


def dominates(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether a continuation that fails `one` makes one that fails `other` needless, as it fails no more.

    One that fails nothing does not: whether some explanation fails anything matters as well.
    """
    return one <= other and bool(one) == bool(other)


_Begin = TypeVar("_Begin", bound=StartState)


def add_least(alike: list[_Begin], new: _Begin) -> None:
    """Add a way to a state unless another makes it needless; remove those that it makes needless."""
    if not any(dominates(other.failed, new.failed) for other in alike):
        alike[:] = [other for other in alike if not dominates(new.failed, other.failed)]
        alike.append(new)


# ---- Steps by what they change ----

#: A step by what it changes: its arguments, and the new values of what its action reads.
Move: TypeAlias = tuple[Mapping[str, Value], tuple[Value, ...]]


def values_at(numbers: Sequence[int]) -> Callable[[State], tuple[Value, ...]]:
    """Return what takes the values of some variables, by their numbers, from a state."""
    if len(numbers) == 1:
        (number,) = numbers
        return lambda state: (tuple.__getitem__(state, number),)
    return itemgetter(*numbers) if numbers else lambda _: ()


class Moves:
    """The variables that an action reads: from states alike in these its steps are the same."""

    def __init__(self, spec: Spec, action: str) -> None:
        read = spec.actions[action].reads
        self._numbers = [number for number, name in enumerate(spec.variables) if name in read]
        self.read = values_at(self._numbers)

    def move(self, args: Mapping[str, Value], after: State) -> Move:
        """Return a step by what it changes."""
        return args, tuple(after[number] for number in self._numbers)

    def after(self, state: State, move: Move) -> State:
        """Return the state after a step from a state like the one that it was found in."""
        values = list(state)
        for number, value in zip(self._numbers, move[1], strict=True):
            values[number] = value
        return type(state)(values)
