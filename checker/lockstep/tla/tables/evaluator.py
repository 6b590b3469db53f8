"""Evaluations in states that are not read yet, for the trees of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from lockstep.tla.state import State
from lockstep.tla.tables.decision_trees import Evaluate, Lookup, ReadPath, Trees
from lockstep.tla.tables.definition_columns import MAX_DEFINITIONS, DefinitionColumn
from lockstep.tla.tables.search_kernels import AUX
from lockstep.tla.tables.state_layout import Layout, UnsuitedError
from lockstep.tla.tables.step_kinds import StepKinds
from lockstep.tla.tables.tracked_evaluation import CurrentEvaluation, TrackedEvaluation
from lockstep.tla.tables.unread import NeedRead, Unread
from lockstep.tla.tables.written_steps import IntLists, WrittenSteps
from lockstep.tla.values.equality import same_kind
from lockstep.tla.values.kinds import TlaError, Value

Result = TypeVar("Result")

#: The result of an evaluation that has no value.
ERROR = -1

#: The most times that one evaluation begins anew.
MAX_BEGUN = 10_000
#: The first few evaluations of each batch of this size are audited.
_AUDIT_EVERY, _AUDITED = 257, 3


class LeakError(AssertionError):
    """An evaluation depends on something that it was not seen to read: a bug of this search, never of the spec."""


class Evaluator:
    """Evaluator for trees.

    Attributes:
        span: the number of columns of a row, those of definitions among them; then come those of the next state.
        too_deep: the number of evaluations without a result as they went deeper than Python goes.
    """

    def __init__(self, layout: Layout, trees: Trees) -> None:
        self.layout, self._trees = layout, trees
        self.steps = WrittenSteps()
        self.current = CurrentEvaluation()
        self.span = layout.width + MAX_DEFINITIONS
        self._values: list[list[Any]] = [*layout.values, *[[] for _ in range(MAX_DEFINITIONS)], *layout.values]
        self._names: dict[int, str] = {}
        self._audits = self.too_deep = 0
        layout.mark_unread(self.current)
        self._after = [Unread(self.span + slot, self.current) for slot in range(layout.width)]

    # ---- Of definitions ----

    def open_definition(self, definition: DefinitionColumn) -> None:
        """Make the tree of a definition that is a column."""
        refused: set[int] = set()

        def evaluate(path: ReadPath, lookup: Lookup) -> tuple[ReadPath, int]:
            whole, number = self._number(
                path, lookup, lambda state: definition.number(_read(definition.holds(state))), refused
            )
            return whole, 0 if number == ERROR else number  # what calls it meets the error

        self._values[definition.column] = definition.values
        self._names[definition.column] = definition.text
        self._trees.derived[definition.column] = self._trees.tree(evaluate)

    def try_formula(self, formula: Callable[[State], Value]) -> tuple[int, Value | None]:
        """Evaluate a formula in the current state; return the number of columns that it reads, and any value."""
        lookup = self.current.now.lookup
        whole, value = self._evaluated([], lookup, formula, set(), audited=False)  # it may have parts that are Unread
        return len(whole), value

    # ---- Of one state ----

    def truth(self, holds: Callable[[State], Any]) -> Evaluate:
        """Return the evaluation of a predicate of a state, whose result is 1, 0 or ERROR."""
        refused: set[int] = set()
        return lambda path, lookup: self._number(path, lookup, lambda state: int(bool(holds(state))), refused)

    def numbered(self, value: Callable[[State], Value], number: Callable[[Value], int]) -> Evaluate:
        """Return the evaluation of a formula in a state, whose result is the number of its value, or ERROR."""
        refused: set[int] = set()
        return lambda path, lookup: self._number(path, lookup, lambda state: number(value(state)), refused)

    def successors(
        self, listed: Callable[..., Iterable[State]], numbers: IntLists, args: Callable[[int], tuple[Value, ...]]
    ) -> Evaluate:
        """Return the evaluation of the successors of a state, whose result is the number of the list of their steps.

        Args:
            listed: returns the successors of a state, given arguments.
            numbers: the lists of steps.
            args: returns the arguments for a number that comes with a row, -1 where none does.
        """
        refused: set[int] = set()

        def generated(state: State, given: tuple[Value, ...]) -> tuple[int, ...]:
            number, known = self.steps.number, self.current.now.numbers.get
            return tuple([number(self.layout.writes(state, after, known)) for after in listed(state, *given)])

        def evaluate(path: ReadPath, lookup: Lookup) -> tuple[ReadPath, int]:
            given = args(_aux(path))
            whole, steps = self._evaluated(path, lookup, lambda state: generated(state, given), refused)
            return whole, ERROR if steps is None else numbers.number(steps)

        return evaluate

    def elements(
        self,
        listed: Callable[..., Iterable[tuple[Value, ...]]],
        numbers: IntLists,
        args: ArgumentTable,
        outer: ArgumentTable,
    ) -> Evaluate:
        """Return the evaluation of the sets of a quantifier, whose result is the number of the list of elements.

        Args:
            listed: returns the elements in a state, given arguments.
            numbers: the lists of elements.
            args: numbers the elements, together with the arguments before them.
            outer: numbers these.
        """
        refused: set[int] = set()

        def evaluate(path: ReadPath, lookup: Lookup) -> tuple[ReadPath, int]:
            given = outer.arguments(_aux(path))

            def elements(state: State) -> tuple[int, ...]:
                return tuple([args.number((*given, *each)) for each in listed(state, *given)])

            whole, found = self._evaluated(path, lookup, elements, refused)
            return whole, ERROR if found is None else numbers.number(found)

        return evaluate

    # ---- Of a step ----

    def truth_of_step(self, holds: Callable[[State, State], Any], kinds: StepKinds) -> Evaluate:
        """Return the evaluation of a predicate of a step, for a tree whose root branches on the kind of the step."""
        refused: set[int] = set()

        def evaluate(path: ReadPath, lookup: Lookup) -> tuple[ReadPath, int]:
            written = kinds.written(_aux(path))

            def truth(state: State) -> int:
                # An audit takes what the step writes indeed.
                changed = self.steps.masks[lookup(AUX)] if self.current.now.state is None else written
                return int(bool(holds(state, self._next(state, changed))))

            whole, found = self._number(path, lookup, truth, refused)
            kinds.record(whole)
            return whole, found

        return evaluate

    def _next(self, state: State, changed: int) -> State:
        span, after, now = self.span, self._after, self.current.now
        known, refused = now.known, now.refused
        now.state = None  # the definitions of a step are read as they stand

        def pick(slot: int) -> Value:
            column = span + slot
            return known[column] if column in known and column in refused else after[slot]

        return self.layout.next_state(state, changed, pick)

    # ---- All ----

    def _number(
        self, path: ReadPath, lookup: Lookup, evaluate: Callable[[State], int], refused: set[int]
    ) -> tuple[ReadPath, int]:
        """Evaluate to a number; ERROR where there is no value.

        Arguments: `refused`, the columns that evaluations of the same touched without asking: they are put in place
        once they are known.
        """
        whole, found = self._evaluated(path, lookup, evaluate, refused)
        return whole, ERROR if found is None else found

    def _evaluated(
        self,
        path: ReadPath,
        lookup: Lookup,
        evaluate: Callable[[State], Result],
        refused: set[int],
        *,
        audited: bool = True,
    ) -> tuple[ReadPath, Result | None]:
        """Evaluate with what is known; return the whole path, and the result, None where there is no value.

        Another evaluation may be under way, which reads a definition; it goes on after this one.
        """
        outer, deep = self.current.now, self.too_deep
        evaluation = self._evaluation(path, lookup, refused)
        try:
            found, failed = self._attempt(evaluation, evaluate)
            whole = [*path, *evaluation.reads()]
            if audited and self.too_deep == deep:
                self._audits += 1
                # What read nothing is the result in all states, and is evaluated once.
                if failed or not whole or self._audits % _AUDIT_EVERY < _AUDITED:
                    self._audit(evaluation, evaluate, found, failed)
        finally:
            self.current.now = outer
        return whole, found

    def _evaluation(self, path: ReadPath, lookup: Lookup, refused: set[int]) -> TrackedEvaluation:
        """Begin an evaluation; `lookup` returns the number of a column, a negative one for an unknown definition."""
        return TrackedEvaluation(path, self._values, lambda column: self._trees.number(column, lookup), refused)

    def _attempt(
        self, evaluation: TrackedEvaluation, evaluate: Callable[[State], Result], *, in_place: bool = False
    ) -> tuple[Result | None, bool]:
        """Evaluate; return the result, and whether there is no value. With `in_place` what is known is in place."""
        self.current.now = evaluation
        known, refused, width = evaluation.known, evaluation.refused, self.layout.width
        for _ in range(MAX_BEGUN):
            mask = 0
            for column in known:
                if column < width and (in_place or column in refused):
                    mask |= 1 << column
            state = self.layout.state(known, mask)
            evaluation.state = None if in_place else state
            try:
                return evaluate(state), False
            except NeedRead as need:
                if mask >> need.column & 1:
                    raise LeakError(f"{self._text(need.column)} is asked for where it is known") from None
                refused.add(need.column)
                evaluation.read(need.column)
            except TlaError:
                return None, True
            except RecursionError:  # the literal search reports it, if it gets here
                self.too_deep += 1
                return None, True
        raise LeakError(f"an evaluation was begun {MAX_BEGUN:,} times, and still asks for more")

    def _audit(
        self, evaluation: TrackedEvaluation, evaluate: Callable[[State], Result], found: Result | None, failed: bool
    ) -> None:
        """Evaluate once more in the whole state: it must come to the same; raises LeakError if it does not."""
        # What a step changes is read as it comes; all of the state before it is known.
        path: ReadPath = [(slot, evaluation.lookup(slot)) for slot in range(self.layout.width)]
        whole = self._evaluation(path, evaluation.lookup, evaluation.refused)
        deep = self.too_deep
        again, also_failed = self._attempt(whole, evaluate, in_place=True)
        if self.too_deep > deep:
            return
        if failed != also_failed or (not failed and not self._agree(found, again, whole.numbers)):
            read = ", ".join(map(self._text, evaluation.columns)) or "nothing"
            raise LeakError(f"an evaluation that read {read} answers {found!r}, and {again!r} in the whole state")

    def _agree(self, found: Result | None, again: Result | None, numbers: dict[int, int]) -> bool:
        """Return whether two results say the same of a state, which has these numbers."""
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


def _aux(path: ReadPath) -> int:
    """Return the number that came with the row, -1 if none did."""
    return path[0][1] if path and path[0][0] == AUX else -1


class ArgumentTable:
    """Arguments of actions by number."""

    def __init__(self, fixed: tuple[Value, ...] = ()) -> None:
        """Begin with those that are the same everywhere, which have the number -1."""
        self._fixed = fixed
        self._known: dict[tuple[Value, ...], int] = {}
        self._all: list[tuple[Value, ...]] = []

    def arguments(self, number: int) -> tuple[Value, ...]:
        """Return the arguments with a number."""
        return self._fixed if number < 0 else self._all[number]

    def number(self, args: tuple[Value, ...]) -> int:
        """Return the number of arguments; raises UnsuitedError if others differ from them in kind alone."""
        known = self._known.get(args)
        if known is None:
            known = self._known[args] = len(self._all)
            self._all.append(args)
        elif not all(map(same_kind, self._all[known], args)):
            raise UnsuitedError("a quantifier has elements that differ in kind only")
        return known
