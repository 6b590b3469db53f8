"""The stages of a next-state relation as trees: what chooses arguments, and the successors below it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from lockstep.tla.compile.spec_meta import Stage
from lockstep.tla.state import State
from lockstep.tla.tables.decision_trees import Ints, RowsAsked, Tree, Trees, places_of
from lockstep.tla.tables.definition_columns import padded
from lockstep.tla.tables.evaluator import ERROR, Arguments, Evaluator, LeakError, Lists
from lockstep.tla.tables.state_layout import Rows, UnsuitedError
from lockstep.tla.tables.tracked_evaluation import Evaluation
from lockstep.tla.tables.unread import NeedRead
from lockstep.tla.values.kinds import TlaError, Value, format_value

__all__ = ["Generated", "Groups"]

# The place of a successor among those of its state, as digits of a number: the group, twice an element with the stage
# below, the successor among those of one evaluation. Together with the number of the state in its chunk: 63 bits.
_GROUP_AT, _ELEMENT_AT, _STEP_BITS = (34, (18, 8), 8)
_GROUPS, _ELEMENTS, _BELOW = 1 << 13, (1 << 12, 1 << 8), (1 << 4, 1 << 2)
_PARENT_AT = 47
_NONE: Ints = np.zeros(0, np.int64)
#: So many states at most are expanded at once.
MOST_ROWS = 1 << 16
#: What chooses is asked about so many rows at once, or more by those of one choice.
_MOST_ASKED = 1 << 15


@dataclass(slots=True)
class _Group:
    """A tree, and what comes below what it chooses; below nothing it answers successors."""

    tree: Tree
    args: Arguments
    action: str
    below: list[_Group] = field(default_factory=list)


class _Told(NamedTuple):
    """A group, and of some states their numbers, what goes down its tree or came out of it, and the places so far."""

    group: _Group
    at: Ints
    told: Ints
    places: Ints


@dataclass(frozen=True, slots=True)
class Generated:
    """Successors of some states, in the order in which TLC generates them.

    Attributes:
        rows: the number of the state of each.
        steps: the number of what each writes.
        places: the place of each among those of its state, which tells its action.
        failing: the states of which some evaluation failed.
    """

    rows: Ints
    steps: Ints
    places: Ints
    failing: Ints


class Groups:
    """All that generates successors.

    Actions that choose from the same set share the tree that answers it, which is asked once of a state.

    Attributes:
        count: how many groups there are.
    """

    def __init__(self, stages: Sequence[Stage], module: dict[str, Any], evaluator: Evaluator, trees: Trees) -> None:
        """Make a tree of each stage; where what chooses is constant, one for each choice.

        Raises:
            UnsuitedError: if there are too many.
        """
        self._module, self._evaluator, self._trees = module, evaluator, trees
        self._steps, self._elements = Lists(), Lists()
        self._chosen: dict[Hashable, tuple[Tree, Arguments]] = {}
        self._constants: list[tuple[str, tuple[Value, ...], list[tuple[Value, ...]]]] = []
        self._take_groups(list(self._opened(stages, ())))
        if self.count > _GROUPS:
            raise UnsuitedError(f"Next has {self.count:,} parts, more than {_GROUPS:,}")

    def __len__(self) -> int:
        """Count the trees that are asked of every state."""
        return len(self._asked)

    def _take_groups(self, groups: list[_Group]) -> None:
        self._top, self.count = groups, len(groups)
        trees = {group.tree.root: group.tree for group in groups}
        number = {root: number for number, root in enumerate(trees)}
        self._asked = list(trees.values())
        self._tree_of = np.array([number[group.tree.root] for group in groups], np.int64)
        self._roots = np.array(list(trees), np.int64)
        self._chooses = np.array([bool(group.below) for group in groups], np.bool_)

    # ---- Making ----

    def _opened(self, stages: Sequence[Stage], args: tuple[Value, ...]) -> Iterator[_Group]:
        for stage in stages:
            if not stage["below"]:
                yield self._successors(stage, Arguments(args), on_aux=False)
            elif (chosen := self._constant(stage, args)) is not None:
                for each in chosen:
                    yield from self._opened(stage["below"], (*args, *each))
            else:
                yield self._choice(stage, Arguments(args), 0)

    def _constant(self, stage: Stage, args: tuple[Value, ...]) -> list[tuple[Value, ...]] | None:
        """Answer what a stage chooses, if that does not depend on the state; if it fails, each state tells of that."""

        def look(column: int) -> NoReturn:
            raise NeedRead(column)

        self._evaluator.reading.now = Evaluation([], (), look)
        try:
            chosen = list(self._module[stage["function"]](self._evaluator.layout.state({}, 0), *args))
        except (NeedRead, TlaError, RecursionError):
            return None
        self._constants.append((stage["function"], args, chosen))
        return chosen

    def _audit(self, state: State) -> None:
        """List in a state what was taken for constant.

        Raises:
            LeakError: if that comes to something else.
        """
        for function, args, chosen in self._constants:
            if (again := list(self._module[function](state, *args))) != chosen:
                raise LeakError(f"a set that reads nothing has {chosen!r}, and {again!r} in the whole state")

    def _successors(self, stage: Stage, args: Arguments, *, on_aux: bool) -> _Group:
        evaluate = self._evaluator.successors(self._module[stage["function"]], self._steps, args.of)
        return _Group(self._trees.tree(evaluate, on_aux=on_aux), args, stage["action"])

    def _choice(self, stage: Stage, outer: Arguments, depth: int) -> _Group:
        if depth == len(_ELEMENT_AT):
            raise UnsuitedError("more than two quantifiers of Next, one in another, range over what states have")
        if len(stage["below"]) > _BELOW[depth]:
            raise UnsuitedError(f"Next chooses between {len(stage['below'])} actions below one quantifier")
        function = self._module[stage["function"]]
        outer_key = tuple(map(format_value, outer.of(-1))) if depth == 0 else id(outer)
        key = code_key(function.__code__), outer_key
        if key not in self._chosen:
            args = Arguments()
            evaluate = self._evaluator.elements(function, self._elements, args, outer)
            self._chosen[key] = self._trees.tree(evaluate, on_aux=depth > 0), args
        tree, args = self._chosen[key]
        below = [
            self._choice(each, args, depth + 1) if each["below"] else self._successors(each, args, on_aux=True)
            for each in stage["below"]
        ]
        return _Group(tree, args, "", below)

    # ---- Asking ----

    def answers(self, rows: Rows, which: Ints, trees: Ints) -> Ints:
        """Ask trees of rows: the trees with these numbers, of the rows with those."""
        return self._trees.answers(self._roots[trees], RowsAsked(rows, which))

    def settle(self, rows: Rows) -> None:
        """Leave out the groups that read nothing and answer no successor, as the constants alone make them.

        Raises:
            LeakError: if what seemed to read nothing depends on the state all the same.
        """
        self._audit(self._evaluator.layout.decode(rows[0].tolist()))
        rows = padded(rows, self._evaluator.layout.width)
        self.answers(rows, np.zeros(len(self), np.int64), np.arange(len(self)))
        self._take_groups(
            [group for group in self._top if group.tree.columns or self._trees.answer_at(group.tree.root)]
        )

    def touched(self, masks: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Tell for each of some sets of columns, and each tree, whether the tree has read one of them."""
        return self._trees.touched(masks, self._asked)

    def generate(self, rows: Rows, answers: Ints) -> Generated:
        """Generate the successors of states, MOST_ROWS at most, given the answer of each tree for each."""
        found: list[tuple[Ints, Ints]] = []
        failing = [np.flatnonzero((answers == ERROR).any(axis=1) if answers.min(initial=0) < 0 else _NONE)]
        answers = answers.take(self._tree_of, axis=1)
        at, groups = places_of(answers > 0)
        lists = np.flatnonzero(~self._chooses.take(groups))
        at, groups = at.take(lists), groups.take(lists)
        listed = answers.reshape(-1).take(at * answers.shape[1] + groups)
        self._take(at, listed, groups << _GROUP_AT, found)
        chosen = []
        for group in np.flatnonzero(self._chooses).tolist():
            at = np.flatnonzero(answers[:, group] > 0)
            places = np.full(len(at), group << _GROUP_AT, np.int64)
            chosen.append(_Told(self._top[group], at, answers[at, group], places))
        self._choose(chosen, rows, 0, found, failing)
        keys = np.concatenate([key for key, _ in found]) if found else np.zeros(0, np.int64)
        steps = np.concatenate([step for _, step in found]) if found else np.zeros(0, np.int64)
        order = np.argsort(keys)
        keys = keys.take(order)
        places = keys & ((1 << _PARENT_AT) - 1)
        return Generated(keys >> _PARENT_AT, steps.take(order), places, np.unique(np.concatenate(failing)))

    def action(self, place: int) -> str:
        """Answer the name of the action at a place."""
        group, depth = self._top[place >> _GROUP_AT], 0
        while group.below:
            group = group.below[(place >> _ELEMENT_AT[depth]) & (_BELOW[depth] - 1)]
            depth += 1
        return group.action

    def _take(self, at: Ints, lists: Ints, places: Ints, found: list[tuple[Ints, Ints]]) -> None:
        """Note the successors in lists, with a number for each that tells their order."""
        which, place, steps = self._steps.spread(lists)
        if len(place) and int(place.max()) >= 1 << _STEP_BITS:
            raise UnsuitedError("an action has too many successors of one state")
        found.append(((at << _PARENT_AT | places).take(which) | place, steps.astype(np.int64)))

    def _choose(
        self, chosen: Iterable[_Told], rows: Rows, depth: int, found: list[tuple[Ints, Ints]], failing: list[Ints]
    ) -> None:
        """Go on below what groups chose."""
        for together in _by_rows(each for one in chosen for each in self._below(one, depth)):
            roots = np.repeat([each.group.tree.root for each in together], [len(each.at) for each in together])
            at = np.concatenate([each.at for each in together])
            told = self._trees.answers(roots, RowsAsked(rows, at), np.concatenate([each.told for each in together]))
            if int(told.min()) < 0:
                failing.append(np.unique(at[told == ERROR]))
            ends = np.cumsum([len(each.at) for each in together])[:-1]
            answered = [each._replace(told=of) for each, of in zip(together, np.split(told, ends), strict=True)]
            for each in answered:
                if not each.group.below:
                    on = np.flatnonzero(each.told > 0)
                    self._take(each.at[on], each.told[on], each.places[on], found)
            if deeper := [each for each in answered if each.group.below]:
                self._choose(deeper, rows, depth + 1, found, failing)

    def _below(self, one: _Told, depth: int) -> Iterator[_Told]:
        """Yield what is to be asked below what a group chose, with the arguments."""
        which, place, args = self._elements.spread(np.maximum(one.told, 0))
        if not len(which):
            return
        if int(place.max()) >= _ELEMENTS[depth]:
            raise UnsuitedError("a quantifier of Next ranges over too many elements of a state")
        at, places = one.at.take(which), one.places.take(which)
        below_bits = _BELOW[depth].bit_length() - 1
        for number, below in enumerate(one.group.below):
            yield _Told(below, at, args, places | (((place << below_bits) | number) << _ELEMENT_AT[depth]))


def _by_rows(asked: Iterable[_Told]) -> Iterator[list[_Told]]:
    """Yield what is to be asked together: one after the other costs more calls, all at once more memory."""
    together: list[_Told] = []
    rows = 0
    for each in asked:
        together.append(each)
        rows += len(each.at)
        if rows >= _MOST_ASKED:
            yield together
            together, rows = [], 0
    if together:
        yield together


def code_key(code: CodeType) -> Hashable:
    """Answer what is equal for the code of functions that do the same, given the same globals, closures and defaults.

    A function of generated code that is written at the top of its module has neither a closure nor defaults.
    """
    constants = [code_key(each) if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, code.co_argcount, code.co_flags, names, tuple(constants), code.co_exceptiontable
