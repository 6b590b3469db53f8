"""Evaluations in states of which nothing is read yet, and the tables of what they answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lockstep.tla.state import State
from lockstep.tla.tables.decision_trees import AUX, Ints, Trees, Way
from lockstep.tla.tables.definition_columns import ROOM, Definition
from lockstep.tla.tables.state_layout import Layout, UnsuitedError
from lockstep.tla.tables.step_kinds import Kinds
from lockstep.tla.tables.tracked_evaluation import Evaluation, Reading
from lockstep.tla.tables.unread import NeedRead, Unread
from lockstep.tla.values.equality import same_kind
from lockstep.tla.values.kinds import TlaError, Value

__all__ = ["ERROR", "Column", "Evaluator", "LeakError", "Lists", "Successors"]

Answer = TypeVar("Answer")

#: The answer of an evaluation that has no value.
ERROR = -1

_MOST_BEGUN = 10_000
_AUDITED = 3
_AUDIT_EVERY = 257


class LeakError(AssertionError):
    """An evaluation depends on something that it was not seen to read: a bug of this search, never of the spec."""


class Column:
    """A column of integers that grows."""

    def __init__(self, dtype: npt.DTypeLike = np.int32) -> None:
        """Begin with none."""
        self._values: npt.NDArray[Any] = np.zeros(64, dtype)
        self.count = 0

    def extend(self, values: Iterable[int]) -> None:
        """Put values at the end."""
        for value in values:
            if self.count == len(self._values):
                self._values = np.concatenate([self._values, np.zeros_like(self._values)])
            self._values[self.count] = value
            self.count += 1

    @property
    def array(self) -> npt.NDArray[Any]:
        """All of them."""
        return self._values[: self.count]


class Lists:
    """Lists of integers by number; the list with the number 0 is empty."""

    def __init__(self) -> None:
        """Begin with the empty list."""
        self.first, self.length, self.items = Column(np.int64), Column(), Column()
        self._known: dict[tuple[int, ...], int] = {}
        self.number(())

    def number(self, items: tuple[int, ...]) -> int:
        """Answer the number of a list."""
        known = self._known.get(items)
        if known is None:
            known = self._known[items] = len(self._known)
            self.first.extend([self.items.count])
            self.length.extend([len(items)])
            self.items.extend(items)
        return known

    def spread(self, numbers: Ints) -> tuple[Ints, Ints, npt.NDArray[np.int32]]:
        """Lay out lists one after the other.

        Args:
            numbers: those of the lists.

        Returns:
            For each element the index of its list in `numbers`, its place in the list, and the element.
        """
        length = self.length.array.take(numbers).astype(np.int64)
        which = np.repeat(np.arange(len(numbers)), length)
        place = np.arange(len(which)) - np.repeat(np.cumsum(length) - length, length)
        return which, place, self.items.array.take(self.first.array.take(numbers).take(which) + place)


class Successors:
    """What steps write, by number: columns with the numbers of the new values.

    Attributes:
        slots: the columns that a step writes, as a list for each pattern of them.
        pattern: the number of the pattern of a step.
        values: the numbers of the new values, as a list for each step in the order of its columns.
    """

    def __init__(self) -> None:
        """Begin with no step."""
        self.slots, self.values = Lists(), Lists()
        self.pattern, self._values_of = Column(), Column()
        self.masks: list[int] = [0]
        self._known: dict[tuple[tuple[int, int], ...], int] = {}
        self._places = np.zeros((0, 0), np.int16)

    def number(self, writes: list[tuple[int, int]]) -> int:
        """Answer the number of a step."""
        key = tuple(writes)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self._known)
            pattern = self.slots.number(tuple([slot for slot, _ in key]))
            if pattern == len(self.masks):
                self.masks.append(sum(1 << slot for slot, _ in key))
            self.pattern.extend([pattern])
            self._values_of.extend([self.values.number(tuple([number for _, number in key]))])
        return known

    def written(self, steps: Ints) -> tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Lay out what steps write: for each write the index of its step in `steps`, the column, the value's number."""
        which, _, slots = self.slots.spread(self.pattern.array[steps].astype(np.int64))
        values = self.values.spread(self._values_of.array[steps].astype(np.int64))[2]
        return which, slots, values

    def at(self, steps: Ints, slots: Ints) -> npt.NDArray[np.int32]:
        """Answer the numbers of the values that steps write into columns, one for each; -1 where they write nothing."""
        if not self.values.items.count:
            return np.full(len(steps), -1, np.int32)
        places = self._placed(int(slots.max(initial=-1)) + 1)[self.pattern.array[steps], slots]
        firsts = self.values.first.array[self._values_of.array[steps]]
        found: npt.NDArray[np.int32] = np.where(
            places < 0, np.int32(-1), self.values.items.array[np.where(places < 0, 0, firsts + places)]
        )
        return found

    def _placed(self, width: int) -> npt.NDArray[np.int16]:
        """Answer for each pattern and column the place of the column among those that are written, or -1."""
        known, count = self._places, len(self.masks)
        if len(known) < count or known.shape[1] < width:
            pattern, place, slots = self.slots.spread(np.arange(count))
            width = max(width, known.shape[1], int(slots.max(initial=-1)) + 1)
            known = self._places = np.full((count, width), -1, np.int16)
            known[pattern, slots] = place
        return known


class Evaluator:
    """Evaluates for trees.

    Attributes:
        layout: the columns.
        steps: what successors write.
        reading: has the evaluation under way.
        span: how many columns a row has, those of definitions among them; then come the columns of the next state.
        too_deep: how many evaluations have no answer as they went deeper than Python goes.
    """

    def __init__(self, layout: Layout, trees: Trees) -> None:
        """Prepare for a layout; `trees` find the values of definitions."""
        self.layout, self._trees = layout, trees
        self.steps = Successors()
        self.reading = Reading()
        self.span = layout.width + ROOM
        self._values: list[list[Any]] = [*layout.values, *[[] for _ in range(ROOM)], *layout.values]
        self._names: dict[int, str] = {}
        self._audits = self.too_deep = 0
        layout.leave_unread(self.reading)
        self._after = [Unread(self.span + slot, self.reading) for slot in range(layout.width)]

    # ---- Of definitions ----

    def open_definition(self, definition: Definition) -> None:
        """Make the tree of a definition that is a column."""
        refused: set[int] = set()

        def evaluate(way: Way, look: Callable[[int], int]) -> tuple[Way, int]:
            whole, answer = self.ask(
                way, look, lambda state: definition.number(_read(definition.holds(state))), refused
            )
            return whole, 0 if answer == ERROR else answer  # what calls it meets the error

        self._values[definition.column] = definition.values
        self._names[definition.column] = definition.text
        self._trees.derived[definition.column] = self._trees.tree(evaluate)

    def tried(self, formula: Callable[[State], Value]) -> tuple[int, Value | None]:
        """Compute a formula in the state under way: answer how many columns it reads, and its value, if it has one."""
        whole, value = self._asked(
            [], self.reading.now.look, formula, set(), audited=False
        )  # it may have parts that are Unread
        return len(whole), value

    # ---- Of one state ----

    def truth(self, holds: Callable[[State], Any]) -> Callable[[Way, Callable[[int], int]], tuple[Way, int]]:
        """Return what evaluates a predicate of a state for a tree; it answers 1, 0 or ERROR."""
        refused: set[int] = set()
        return lambda way, look: self.ask(way, look, lambda state: int(bool(holds(state))), refused)

    def numbered(
        self, value: Callable[[State], Value], number: Callable[[Value], int]
    ) -> Callable[[Way, Callable[[int], int]], tuple[Way, int]]:
        """Return what evaluates a formula in a state for a tree; it answers the number of its value, or ERROR."""
        refused: set[int] = set()
        return lambda way, look: self.ask(way, look, lambda state: number(value(state)), refused)

    def successors(
        self, listed: Callable[..., Iterable[State]], numbers: Lists, args: Callable[[int], tuple[Value, ...]]
    ) -> Callable[[Way, Callable[[int], int]], tuple[Way, int]]:
        """Return what evaluates the successors of a state for a tree; it answers the number of the list of them.

        Args:
            listed: lists the successors of a state, given arguments.
            numbers: the lists of steps.
            args: answers the arguments for a number that comes with a row, -1 where none does.
        """

        refused: set[int] = set()

        def generated(state: State, given: tuple[Value, ...]) -> tuple[int, ...]:
            number, known = self.steps.number, self.reading.now.numbers.get
            return tuple([number(self.layout.writes(state, after, known)) for after in listed(state, *given)])

        def evaluate(way: Way, look: Callable[[int], int]) -> tuple[Way, int]:
            given = args(_aux(way))
            whole, answer = self._asked(way, look, lambda state: generated(state, given), refused)
            return whole, ERROR if answer is None else numbers.number(answer)

        return evaluate

    def elements(
        self, listed: Callable[..., Iterable[tuple[Value, ...]]], numbers: Lists, args: Arguments, outer: Arguments
    ) -> Callable[[Way, Callable[[int], int]], tuple[Way, int]]:
        """Return what evaluates the sets of a quantifier for a tree; it answers the number of the list of elements.

        Args:
            listed: lists the elements in a state, given arguments.
            numbers: the lists of elements.
            args: what numbers the elements, together with the arguments before them.
            outer: what numbers these.
        """

        refused: set[int] = set()

        def evaluate(way: Way, look: Callable[[int], int]) -> tuple[Way, int]:
            given = outer.of(_aux(way))
            whole, answer = self._asked(
                way,
                look,
                lambda state: tuple([args.number((*given, *each)) for each in listed(state, *given)]),
                refused,
            )
            return whole, ERROR if answer is None else numbers.number(answer)

        return evaluate

    # ---- Of a step ----

    def truth_of_step(
        self, holds: Callable[[State, State], Any], kinds: Kinds
    ) -> Callable[[Way, Callable[[int], int]], tuple[Way, int]]:
        """Return what evaluates a predicate of a step for a tree whose root branches on the kind of the step."""

        refused: set[int] = set()

        def evaluate(way: Way, look: Callable[[int], int]) -> tuple[Way, int]:
            written = kinds.written(_aux(way))

            def answer(state: State) -> int:
                # An audit takes what the step writes indeed.
                changed = self.steps.masks[look(AUX)] if self.reading.now.state is None else written
                return int(bool(holds(state, self._next(state, changed))))

            whole, found = self.ask(way, look, answer, refused)
            kinds.note(whole)
            return whole, found

        return evaluate

    def _next(self, state: State, changed: int) -> State:
        span, after, now = self.span, self._after, self.reading.now
        known, refused = now.known, now.refused
        now.state = None  # the definitions of a step are read as they stand

        def pick(slot: int) -> Value:
            column = span + slot
            return known[column] if column in known and column in refused else after[slot]

        return self.layout.next_state(state, changed, pick)

    # ---- All ----

    def ask(
        self, way: Way, look: Callable[[int], int], answer: Callable[[State], int], refused: set[int]
    ) -> tuple[Way, int]:
        """Evaluate; an answer is a number, and ERROR where it has no value.

        Arguments: `refused`, the columns that evaluations of the same touched without asking: they are put in place
        once they are known.
        """
        whole, found = self._asked(way, look, answer, refused)
        return whole, ERROR if found is None else found

    def _asked(
        self,
        way: Way,
        look: Callable[[int], int],
        answer: Callable[[State], Answer],
        refused: set[int],
        *,
        audited: bool = True,
    ) -> tuple[Way, Answer | None]:
        """Evaluate with what is known; answer the whole way, and None where there is no value.

        Another evaluation may be under way, which reads a definition; it goes on after this one.
        """
        outer, deep = self.reading.now, self.too_deep
        evaluation = self._evaluation(way, look, refused)
        try:
            found, failed = self._attempt(evaluation, answer)
            whole = [*way, *evaluation.asked()]
            if audited and self.too_deep == deep:
                self._audits += 1
                # What read nothing answers for all states, and is evaluated once.
                if failed or not whole or self._audits % _AUDIT_EVERY < _AUDITED:
                    self._audit(evaluation, answer, found, failed)
        finally:
            self.reading.now = outer
        return whole, found

    def _evaluation(self, way: Way, look: Callable[[int], int], refused: set[int]) -> Evaluation:
        """Begin an evaluation; `look` answers the number of a column, a negative one for a definition not yet found."""
        return Evaluation(way, self._values, lambda column: self._trees.number(column, look), refused)

    def _attempt(
        self, evaluation: Evaluation, answer: Callable[[State], Answer], *, in_place: bool = False
    ) -> tuple[Answer | None, bool]:
        """Evaluate; answer what comes of it, and whether it has no value. With `in_place` what is known is in place."""
        self.reading.now = evaluation
        known, refused, width = evaluation.known, evaluation.refused, self.layout.width
        for _ in range(_MOST_BEGUN):
            mask = 0
            for column in known:
                if column < width and (in_place or column in refused):
                    mask |= 1 << column
            state = self.layout.state(known, mask)
            evaluation.state = None if in_place else state
            try:
                return answer(state), False
            except NeedRead as need:
                if mask >> need.column & 1:
                    raise LeakError(f"{self._text(need.column)} is asked for where it is known") from None
                refused.add(need.column)
                evaluation.read(need.column)
            except TlaError:
                return None, True
            except RecursionError:  # the literal search tells of it, if it gets here
                self.too_deep += 1
                return None, True
        raise LeakError(f"an evaluation was begun {_MOST_BEGUN:,} times, and still asks for more")

    def _audit(
        self, evaluation: Evaluation, answer: Callable[[State], Answer], found: Answer | None, failed: bool
    ) -> None:
        """Evaluate once more in the whole state: it must come to the same.

        Raises:
            LeakError: if it does not.
        """
        # What a step changes is read as it comes; all of the state before it is known.
        way: Way = [(slot, evaluation.look(slot)) for slot in range(self.layout.width)]
        whole = self._evaluation(way, evaluation.look, evaluation.refused)
        deep = self.too_deep
        again, also_failed = self._attempt(whole, answer, in_place=True)
        if self.too_deep > deep:
            return
        if failed != also_failed or (not failed and not self._agree(found, again, whole.numbers)):
            read = ", ".join(map(self._text, evaluation.columns)) or "nothing"
            raise LeakError(f"an evaluation that read {read} answers {found!r}, and {again!r} in the whole state")

    def _agree(self, found: Answer | None, again: Answer | None, numbers: dict[int, int]) -> bool:
        """Tell whether two answers say the same of a state, which has these numbers."""
        if found == again:
            return True
        if not isinstance(found, tuple) or not isinstance(again, tuple) or len(found) != len(again):
            return False

        def changes(step: int) -> dict[int, int]:
            _, slots, values = self.steps.written(np.array([step], np.int64))
            written = dict(zip(slots.tolist(), values.tolist(), strict=True))
            return {slot: number for slot, number in written.items() if numbers.get(slot) != number}

        # A step that wrote what was there all the same is one that writes less where that is known.
        return all(changes(one) == changes(other) for one, other in zip(found, again, strict=True))

    def _text(self, column: int) -> str:
        if column in self._names:
            return self._names[column]
        slot = column % self.span
        return self.layout.path_text(slot) + "'" * (column >= self.span)


def _read(value: Value) -> Value:
    return value.value() if type(value) is Unread else value


def _aux(way: Way) -> int:
    """Answer the number that came with the row, -1 if none did."""
    return way[0][1] if way and way[0][0] == AUX else -1


class Arguments:
    """Arguments by number."""

    def __init__(self, fixed: tuple[Value, ...] = ()) -> None:
        """Begin with those that are the same everywhere, which have the number -1."""
        self._fixed = fixed
        self._known: dict[tuple[Value, ...], int] = {}
        self._all: list[tuple[Value, ...]] = []

    def of(self, number: int) -> tuple[Value, ...]:
        """Answer arguments."""
        return self._fixed if number < 0 else self._all[number]

    def number(self, args: tuple[Value, ...]) -> int:
        """Answer the number of arguments.

        Raises:
            UnsuitedError: if others differ from them in kind alone.
        """
        known = self._known.get(args)
        if known is None:
            known = self._known[args] = len(self._all)
            self._all.append(args)
        elif not all(map(same_kind, self._all[known], args)):
            raise UnsuitedError("a quantifier has elements that differ in kind only")
        return known
