"""Explanations of why an action is not enabled: for each branch, its first conjunct that is false."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lockstep.tla.syntax.tree import Location
from lockstep.tla.values.kinds import TlaError, Value, format_value

#: The number of elements up to which those for which a formula is false are counted.
_MAX_COUNTED = 1000


@dataclass(frozen=True)
class Conjunct:
    """A conjunct of an action: its place and its text."""

    loc: Location
    text: str


@dataclass(frozen=True)
class Branch:
    """A branch of an action that ends in a false conjunct.

    Attributes:
        left: the left side's value, as a 1-tuple, if the conjunct is a comparison.
        right: the right side's value, likewise; None for a set that depends on no state.
        bound: the variables that quantifiers within the action had bound.
        error: the error of evaluation, if the conjunct has no value.
        failing: the number of elements for which it is false, if it is to hold for all of a set; counted to a thousand.
    """

    held: tuple[Conjunct, ...]
    failed: Conjunct
    left: tuple[Value] | None
    right: tuple[Value] | None
    bound: tuple[tuple[str, Value], ...]
    error: str | None = None
    failing: int = 1

    def __str__(self) -> str:
        lines = [f"{self.failed.loc}: {' '.join(self.failed.text.split())}"]
        if self.left is not None:
            lines.append(f"  left:  {format_value(self.left[0])}")
        if self.right is not None:
            lines.append(f"  right: {format_value(self.right[0])}")
        lines.extend(f"  with {name} = {format_value(value)}" for name, value in self.bound)
        if self.error is not None:
            lines.append(f"  error: {self.error}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Explanation:
    """The verdict on an action in a state.

    Attributes:
        enabled: whether it has a successor after all.
        branches: the false branches: longest true prefix first, then in source order.
    """

    action: str
    args: dict[str, Value]
    enabled: bool
    branches: tuple[Branch, ...]

    def __str__(self) -> str:
        args = ", ".join(f"{name} = {format_value(value)}" for name, value in self.args.items())
        head = f"{self.action}({args}) is {'enabled' if self.enabled else 'not enabled'}"
        return "\n".join([head, *map(str, self.branches)])


class Tracer:
    """Collector of the branches of a traced action that end in a false conjunct."""

    def __init__(self, conjuncts: list[list[Any]]) -> None:
        self.conjuncts = conjuncts
        self.stack: list[int | dict[str, Value]] = []
        self.found: list[tuple[int, int, Branch]] = []

    def _conjunct(self, number: int) -> Conjunct:
        *place, text = self.conjuncts[number]
        return Conjunct(Location(*place), text)

    def test(self, number: int, holds: bool) -> bool:
        """Note the verdict on a conjunct without sides."""
        return self._note(number, holds, None, None)

    def compare(self, number: int, holds: bool, left: Value, *right: Value) -> bool:
        """Note the verdict on a comparison; the right side may be left out."""
        return self._note(number, holds, (left,), (right[0],) if right else None)

    def every(self, number: int, failing: Iterator[tuple[Any, ...]]) -> bool:
        """Note the verdict on a conjunct that is to hold for all of a set, given the elements for which it does not.

        Each comes as what the quantifier binds, by name, and both sides of the comparison, if it is one.
        """
        first = next(failing, None)
        if first is None:
            return self.test(number, True)
        bound, *compared = first
        left, right = ((compared[0],), (compared[1],)) if compared else (None, None)
        self.bind(**bound)
        self._fail(number, left, right, failing=1 + _count(failing))
        self.release()
        return False

    def _note(self, number: int, holds: bool, left: tuple[Value] | None, right: tuple[Value] | None) -> bool:
        if holds:
            self.stack.append(number)
        else:
            self._fail(number, left, right)
        return holds

    def _fail(
        self,
        number: int,
        left: tuple[Value] | None,
        right: tuple[Value] | None,
        error: str | None = None,
        failing: int = 1,
    ) -> None:
        held = tuple(self._conjunct(entry) for entry in self.stack if isinstance(entry, int))
        bound = tuple(pair for entry in self.stack if isinstance(entry, dict) for pair in entry.items())
        branch = Branch(held, self._conjunct(number), left, right, bound, error, failing)
        self.found.append((-len(held), len(self.found), branch))

    def bind(self, **values: Value) -> None:
        """Note what a quantifier binds."""
        self.stack.append(values)

    def release(self) -> None:
        """Leave the innermost conjunct or quantifier."""
        self.stack.pop()

    def domain(self, number: int, values: Any) -> Iterator[Value]:
        """List a quantifier's domain; an empty one ends the branch."""
        listed = list(values)
        if not listed:
            self._fail(number, None, None, "there is no element to choose")
        yield from listed

    def branches(self) -> tuple[Branch, ...]:
        """Return the branches in their order."""
        ordered = sorted(self.found, key=lambda entry: (entry[0], _place(entry[2]), entry[1]))
        return tuple(entry[2] for entry in ordered)

    def broke(self, error: TlaError) -> None:
        """Note that evaluation stopped with an error."""
        if self.conjuncts:
            last = [entry for entry in self.stack if isinstance(entry, int)]
            self._fail(last[-1] if last else 0, None, None, f"evaluation stops here or after it: {error}")


def _count(failing: Iterator[Any]) -> int:
    """Count the elements for which a formula is false, up to one for which it has no value."""
    count = 0
    try:
        for _ in islice(failing, _MAX_COUNTED):
            count += 1
    except TlaError:
        pass
    return count


def _place(branch: Branch) -> tuple[int, int]:
    return (branch.failed.loc.line, branch.failed.loc.column)
