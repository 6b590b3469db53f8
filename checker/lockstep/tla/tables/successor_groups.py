"""The stages of a next-state relation as trees: the choices of arguments, and the successors below them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import CodeType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from lockstep.tla.compile.spec_meta import SuccessorStage
from lockstep.tla.state import State
from lockstep.tla.tables.decision_trees import Ints, StateRows, Tree, Trees
from lockstep.tla.tables.definition_columns import padded
from lockstep.tla.tables.evaluator import ArgumentTable, Evaluator, LeakError
from lockstep.tla.tables.search_kernels import AGAIN, MISSED, NO_CAPACITY, SUCCESSORS, generate
from lockstep.tla.tables.state_layout import Rows, UnsuitedError
from lockstep.tla.tables.tracked_evaluation import TrackedEvaluation
from lockstep.tla.tables.unread import NeedRead
from lockstep.tla.tables.written_steps import IntLists
from lockstep.tla.values.kinds import TlaError, Value, format_value

#: The most groups of Next, and how many quantifiers may stand in one another.
_MAX_GROUPS, _MAX_DEPTH = 1 << 13, 2
#: The most states that are expanded at once.
MAX_ROWS = 1 << 16
_NONE: Ints = np.zeros(0, np.int32)
#: Successors for which there is capacity at first.
_FIRST_CAPACITY = 1 << 16
#: What is missing that is listed at once; more of it is met again.
_MAX_MISSED = 1 << 14


@dataclass(slots=True)
class SuccessorGroup:
    """A tree of choices, with the groups below; or a tree of successors, with none below."""

    tree: Tree
    args: ArgumentTable
    action: str
    below: list[SuccessorGroup] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Generated:
    """Successors of some states, in the order in which TLC generates them.

    Attributes:
        rows: the number of the state of each.
        steps: the number of what each writes.
        groups: the number of the group that each is of.
        failing: the states in which some evaluation failed.
    """

    rows: Ints
    steps: Ints
    groups: Ints
    failing: Ints


class SuccessorGroups:
    """The trees that generate successors.

    Actions that choose from the same set share the tree of its elements, which is looked up once for a state.

    Attributes:
        top: the groups of the stages, in TLC's order; `count` of them.
        all: these, and after all of them those below, and so on; `all_roots` are the roots of their trees.
        below: the groups below each group, by their numbers, from its `below_first` on.
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
        self._capacity = _FIRST_CAPACITY
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
        self.all = _numbered(groups)
        places = {id(group): place for place, group in enumerate(self.all)}
        below = [[places[id(each)] for each in group.below] for group in self.all]
        self.all_roots = np.array([group.tree.root for group in self.all], np.int64)
        self.below_first = np.cumsum([0, *map(len, below)])
        self.below = np.array([each for one in below for each in one], np.int64)

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
        if depth == _MAX_DEPTH:
            raise UnsuitedError("more than two quantifiers of Next, one in another, range over what states have")
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
        failing = np.zeros(len(rows), np.bool_)
        which, found = np.arange(len(rows)), [(_NONE, _NONE, _NONE)]
        while len(which):
            parts = self._trees.threads.run(
                len(which), partial(self._generate, rows, results, failing, self._trees.tables(), which)
            )
            found += [made for made, _, _ in parts]
            which = np.concatenate([again for _, again, _ in parts])
            missed = np.concatenate([missed for _, _, missed in parts])
            self._trees.supply(missed, StateRows(rows, np.arange(len(rows))))
        sources, steps, groups = map(np.concatenate, zip(*found, strict=True))
        if len(sources) and (np.diff(sources) < 0).any():
            order = np.argsort(sources, kind="stable")
            sources, steps, groups = sources[order], steps[order], groups[order]
        return Generated(sources, steps, groups, np.flatnonzero(failing))

    def _generate(
        self,
        rows: Rows,
        results: Ints,
        failing: npt.NDArray[np.bool_],
        tables: tuple[Ints, Ints, Ints],
        states: Ints,
        begin: int,
        end: int,
    ) -> tuple[tuple[Ints, Ints, Ints], Ints, Ints]:
        """Generate the successors of a part of some states.

        Returns:
            Their states, steps and groups; the states in which something is missing; and what that is.
        """
        which = states[begin:end]
        counts, again = np.zeros(3, np.int64), np.empty(len(which), np.int64)
        missed = np.empty((_MAX_MISSED, 3), np.int64)
        lists = self.step_lists.starts, self.step_lists.items.array
        elements = self.element_lists.starts, self.element_lists.items.array
        groups = self.count, self.tree_of, self.all_roots, self.below_first, self.below
        capacity = self._capacity
        while True:
            out = np.empty((3, capacity), np.int32)
            generate(which, results, *groups, *lists, *elements, *tables, rows, *out, failing, again, missed, counts)
            if counts[SUCCESSORS] != NO_CAPACITY:
                break
            capacity *= 2
        self._capacity = max(capacity, self._capacity)
        sources, steps, made_of = out[:, : counts[SUCCESSORS]]
        return (sources, steps, made_of), again[: counts[AGAIN]], missed[: counts[MISSED]]

    def action(self, group: int) -> str:
        """Return the name of the action of a group."""
        return self.all[group].action


def _numbered(groups: Sequence[SuccessorGroup]) -> list[SuccessorGroup]:
    """List groups, and after all of them those below, and so on."""
    found, level = list(groups), list(groups)
    while level := [each for group in level for each in group.below]:
        found += level
    return found


def code_key(code: CodeType) -> Hashable:
    """Return a key that is equal for the code of functions that do the same with the same globals and defaults.

    A function of generated code that is written at the top of its module has neither a closure nor defaults.
    """
    constants = [code_key(each) if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, code.co_argcount, code.co_flags, names, tuple(constants), code.co_exceptiontable
