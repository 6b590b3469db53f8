"""The stages of a next-state relation as trees: the choices of arguments, and the successors below them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from lockstep.tla.compile.spec_meta import SuccessorStage
from lockstep.tla.state import State
from lockstep.tla.tables.decision_trees import Ints, StateRows, Tree, Trees, places_of
from lockstep.tla.tables.definition_columns import padded
from lockstep.tla.tables.evaluator import ERROR, ArgumentTable, Evaluator, LeakError
from lockstep.tla.tables.state_layout import Rows, UnsuitedError
from lockstep.tla.tables.tracked_evaluation import TrackedEvaluation
from lockstep.tla.tables.unread import NeedRead
from lockstep.tla.tables.written_steps import IntLists
from lockstep.tla.values.kinds import TlaError, Value, format_value

# The place of a successor among those of its state, as digits of a number: the group, twice an element with the stage
# below, the successor among those of one evaluation. Together with the number of the state in its chunk: 63 bits.
_GROUP_AT, _ELEMENT_AT, _STEP_BITS = (34, (18, 8), 8)
_MAX_GROUPS, _MAX_ELEMENTS, _MAX_BELOW = 1 << 13, (1 << 12, 1 << 8), (1 << 4, 1 << 2)
_PARENT_AT = 47
_NONE: Ints = np.zeros(0, np.int64)
#: The most states that are expanded at once.
MAX_ROWS = 1 << 16
#: Rows that go down the trees below choices together, or more by those of one choice.
_ROWS_TOGETHER = 1 << 15


@dataclass(slots=True)
class SuccessorGroup:
    """A tree of choices, with the groups below; or a tree of successors, with none below."""

    tree: Tree
    args: ArgumentTable
    action: str
    below: list[SuccessorGroup] = field(default_factory=list)


class _GroupRows(NamedTuple):
    """A group and some rows: their states, the numbers that go down its tree or come out of it, the places so far."""

    group: SuccessorGroup
    at: Ints
    numbers: Ints
    places: Ints


@dataclass(frozen=True, slots=True)
class Generated:
    """Successors of some states, in the order in which TLC generates them.

    Attributes:
        rows: the number of the state of each.
        steps: the number of what each writes.
        places: the place of each among those of its state, from which its action follows.
        failing: the states in which some evaluation failed.
    """

    rows: Ints
    steps: Ints
    places: Ints
    failing: Ints


class SuccessorGroups:
    """The trees that generate successors.

    Actions that choose from the same set share the tree of its elements, which is looked up once for a state.

    Attributes:
        top: the groups of the stages, in TLC's order; `count` of them.
        of_states: the trees that are looked up for every state; `roots` are the numbers of their roots.
        tree_of: the number of the tree of each group among these.
        step_lists: the lists of steps that are results of trees of successors.
        element_lists: the lists of arguments, by number, that are results of trees of choices.
    """

    def __init__(
        self, stages: Sequence[SuccessorStage], module: dict[str, Any], evaluator: Evaluator, trees: Trees
    ) -> None:
        """Make a tree of each stage; where its choices are constant, one for each choice.

        Raises:
            UnsuitedError: if there are too many.
        """
        self._module, self._evaluator, self._trees = module, evaluator, trees
        self.step_lists, self.element_lists = IntLists(), IntLists()
        self._chosen: dict[Hashable, tuple[Tree, ArgumentTable]] = {}
        self._constants: list[tuple[str, tuple[Value, ...], list[tuple[Value, ...]]]] = []
        self._set_groups(list(self._opened(stages, ())))
        if self.count > _MAX_GROUPS:
            raise UnsuitedError(f"Next has {self.count:,} parts, more than {_MAX_GROUPS:,}")

    def __len__(self) -> int:
        """Count the trees that are looked up for every state."""
        return len(self.of_states)

    def _set_groups(self, groups: list[SuccessorGroup]) -> None:
        self.top, self.count = groups, len(groups)
        trees = {group.tree.root: group.tree for group in groups}
        number = {root: number for number, root in enumerate(trees)}
        self.of_states = list(trees.values())
        self.tree_of = np.array([number[group.tree.root] for group in groups], np.int64)
        self.roots = np.array(list(trees), np.int64)
        self._chooses = np.array([bool(group.below) for group in groups], np.bool_)

    # ---- Making ----

    def _opened(self, stages: Sequence[SuccessorStage], args: tuple[Value, ...]) -> Iterator[SuccessorGroup]:
        for stage in stages:
            if not stage["below"]:
                yield self._successors(stage, ArgumentTable(args), on_aux=False)
            elif (chosen := self._constant(stage, args)) is not None:
                for each in chosen:
                    yield from self._opened(stage["below"], (*args, *each))
            else:
                yield self._choice(stage, ArgumentTable(args), 0)

    def _constant(self, stage: SuccessorStage, args: tuple[Value, ...]) -> list[tuple[Value, ...]] | None:
        """Return what a stage chooses, if that does not depend on the state; if it fails, each state will show that."""

        def lookup(column: int) -> NoReturn:
            raise NeedRead(column)

        self._evaluator.current.now = TrackedEvaluation([], (), lookup)
        try:
            chosen = list(self._module[stage["function"]](self._evaluator.layout.state({}, 0), *args))
        except (NeedRead, TlaError, RecursionError):
            return None
        self._constants.append((stage["function"], args, chosen))
        return chosen

    def _audit(self, state: State) -> None:
        """Evaluate in a state what was taken for constant; raises LeakError if that comes to something else."""
        for function, args, chosen in self._constants:
            if (again := list(self._module[function](state, *args))) != chosen:
                raise LeakError(f"a set that reads nothing has {chosen!r}, and {again!r} in the whole state")

    def _successors(self, stage: SuccessorStage, args: ArgumentTable, *, on_aux: bool) -> SuccessorGroup:
        evaluate = self._evaluator.successors(self._module[stage["function"]], self.step_lists, args.arguments)
        return SuccessorGroup(self._trees.tree(evaluate, on_aux=on_aux), args, stage["action"])

    def _choice(self, stage: SuccessorStage, outer: ArgumentTable, depth: int) -> SuccessorGroup:
        if depth == len(_ELEMENT_AT):
            raise UnsuitedError("more than two quantifiers of Next, one in another, range over what states have")
        if len(stage["below"]) > _MAX_BELOW[depth]:
            raise UnsuitedError(f"Next chooses between {len(stage['below'])} actions below one quantifier")
        function = self._module[stage["function"]]
        outer_key = tuple(map(format_value, outer.arguments(-1))) if depth == 0 else id(outer)
        key = code_key(function.__code__), outer_key
        if key not in self._chosen:
            args = ArgumentTable()
            evaluate = self._evaluator.elements(function, self.element_lists, args, outer)
            self._chosen[key] = self._trees.tree(evaluate, on_aux=depth > 0), args
        tree, args = self._chosen[key]
        below = [
            self._choice(each, args, depth + 1) if each["below"] else self._successors(each, args, on_aux=True)
            for each in stage["below"]
        ]
        return SuccessorGroup(tree, args, "", below)

    # ---- Looking up ----

    def results(self, rows: Rows, which: Ints, trees: Ints) -> Ints:
        """Look up trees, by their numbers, for rows, by theirs."""
        return self._trees.results(self.roots[trees], StateRows(rows, which))

    def drop_empty(self, rows: Rows) -> None:
        """Leave out the groups that read nothing and have no successor, as the constants alone make them.

        Raises:
            LeakError: if a set that seemed to read nothing depends on the state all the same.
        """
        self._audit(self._evaluator.layout.decode(rows[0].tolist()))
        rows = padded(rows, self._evaluator.layout.width)
        self.results(rows, np.zeros(len(self), np.int64), np.arange(len(self)))
        self._set_groups([group for group in self.top if group.tree.columns or self._trees.result_at(group.tree.root)])

    def touched(self, masks: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return for each of some sets of columns, and each tree, whether the tree has read one of them."""
        return self._trees.touched(masks, self.of_states)

    def generate(self, rows: Rows, results: Ints) -> Generated:
        """Generate the successors of states, MAX_ROWS at most, given the result of each tree for each."""
        found: list[tuple[Ints, Ints]] = []
        failing = [np.flatnonzero((results == ERROR).any(axis=1) if results.min(initial=0) < 0 else _NONE)]
        results = results.take(self.tree_of, axis=1)
        at, groups = places_of(results > 0)
        lists = np.flatnonzero(~self._chooses.take(groups))
        at, groups = at.take(lists), groups.take(lists)
        listed = results.reshape(-1).take(at * results.shape[1] + groups)
        self._collect(at, listed, groups << _GROUP_AT, found)
        chosen = []
        for group in np.flatnonzero(self._chooses).tolist():
            at = np.flatnonzero(results[:, group] > 0)
            places = np.full(len(at), group << _GROUP_AT, np.int64)
            chosen.append(_GroupRows(self.top[group], at, results[at, group], places))
        self._generate_below(chosen, rows, 0, found, failing)
        keys = np.concatenate([key for key, _ in found]) if found else np.zeros(0, np.int64)
        steps = np.concatenate([step for _, step in found]) if found else np.zeros(0, np.int64)
        order = np.argsort(keys)
        keys = keys.take(order)
        places = keys & ((1 << _PARENT_AT) - 1)
        return Generated(keys >> _PARENT_AT, steps.take(order), places, np.unique(np.concatenate(failing)))

    def action(self, place: int) -> str:
        """Return the name of the action at a place."""
        group, depth = self.top[place >> _GROUP_AT], 0
        while group.below:
            group = group.below[(place >> _ELEMENT_AT[depth]) & (_MAX_BELOW[depth] - 1)]
            depth += 1
        return group.action

    def _collect(self, at: Ints, lists: Ints, places: Ints, found: list[tuple[Ints, Ints]]) -> None:
        """Collect the successors in lists, with a number for each that orders them."""
        which, place, steps = self.step_lists.spread(lists)
        if len(place) and int(place.max()) >= 1 << _STEP_BITS:
            raise UnsuitedError("an action has too many successors of one state")
        found.append(((at << _PARENT_AT | places).take(which) | place, steps.astype(np.int64)))

    def _generate_below(
        self, chosen: Iterable[_GroupRows], rows: Rows, depth: int, found: list[tuple[Ints, Ints]], failing: list[Ints]
    ) -> None:
        """Generate the successors below what groups chose."""
        for together in _by_rows(each for one in chosen for each in self._below(one, depth)):
            roots = np.repeat([each.group.tree.root for each in together], [len(each.at) for each in together])
            at = np.concatenate([each.at for each in together])
            numbers = np.concatenate([each.numbers for each in together])
            results = self._trees.results(roots, StateRows(rows, at), numbers)
            if int(results.min()) < 0:
                failing.append(np.unique(at[results == ERROR]))
            ends = np.cumsum([len(each.at) for each in together])[:-1]
            parts = zip(together, np.split(results, ends), strict=True)
            below = [each._replace(numbers=part) for each, part in parts]
            for each in below:
                if not each.group.below:
                    on = np.flatnonzero(each.numbers > 0)
                    self._collect(each.at[on], each.numbers[on], each.places[on], found)
            if deeper := [each for each in below if each.group.below]:
                self._generate_below(deeper, rows, depth + 1, found, failing)

    def _below(self, one: _GroupRows, depth: int) -> Iterator[_GroupRows]:
        """Yield the groups below what a group chose, with the arguments."""
        which, place, args = self.element_lists.spread(np.maximum(one.numbers, 0))
        if not len(which):
            return
        if int(place.max()) >= _MAX_ELEMENTS[depth]:
            raise UnsuitedError("a quantifier of Next ranges over too many elements of a state")
        at, places = one.at.take(which), one.places.take(which)
        below_bits = _MAX_BELOW[depth].bit_length() - 1
        for number, below in enumerate(one.group.below):
            yield _GroupRows(below, at, args, places | (((place << below_bits) | number) << _ELEMENT_AT[depth]))


def _by_rows(chosen: Iterable[_GroupRows]) -> Iterator[list[_GroupRows]]:
    """Yield what is looked up together: one after the other costs more calls, all at once more memory."""
    together: list[_GroupRows] = []
    rows = 0
    for each in chosen:
        together.append(each)
        rows += len(each.at)
        if rows >= _ROWS_TOGETHER:
            yield together
            together, rows = [], 0
    if together:
        yield together


def code_key(code: CodeType) -> Hashable:
    """Return a key that is equal for the code of functions that do the same with the same globals and defaults.

    A function of generated code that is written at the top of its module has neither a closure nor defaults.
    """
    constants = [code_key(each) if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, code.co_argcount, code.co_flags, names, tuple(constants), code.co_exceptiontable
