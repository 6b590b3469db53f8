"""Expanding states of one level: their successors, the wrong ones, and the new ones, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.tla.compile.spec_meta import Meta
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.symmetry import state_equivalence
from lockstep.tla.tables.decision_trees import Ints, StateRows, Trees
from lockstep.tla.tables.definition_columns import DefinitionColumns, padded
from lockstep.tla.tables.evaluator import ERROR, Evaluator
from lockstep.tla.tables.fingerprints import (
    FingerprintFunction,
    Fingerprints,
    Hashes,
    ViewFingerprints,
    least_fingerprints,
)
from lockstep.tla.tables.kernel_threads import KernelThreads
from lockstep.tla.tables.predicate_trees import (
    StatePredicates,
    StepPredicates,
    constraints,
    invariants,
    step_properties,
)
from lockstep.tla.tables.search_kernels import look_up, take
from lockstep.tla.tables.state_layout import Layout, Rows, UnsuitedError
from lockstep.tla.tables.step_fingerprints import StepFingerprints
from lockstep.tla.tables.successor_groups import MAX_ROWS, Generated, SuccessorGroups
from lockstep.tla.tables.unread import tracked
from lockstep.tla.tables.written_steps import lists_of
from lockstep.tla.values.kinds import Value

MAX_PAIRS = 1 << 20
#: The number of expansions after which trees that read nothing are evaluated again; then after four times as many.
_EVALUATE_AGAIN_AT = 4
#: Why a specification is unsuited whose states the literal search can judge, and tables cannot.
TOO_DEEP = "it has a recursion too deep for tables"


@dataclass(slots=True)
class Level:
    """Some states of one level.

    Attributes:
        full: the states, with room for definitions.
        width: how many columns a state has without these.
        hashes: the fingerprints of the images of each.
        results: the results of the groups' trees for the state before the last step to each.
        patterns: the columns that step wrote.
    """

    full: Rows
    width: int
    hashes: Hashes
    results: Ints
    patterns: Ints

    @property
    def rows(self) -> Rows:
        """The states."""
        return self.full[:, : self.width]

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return sum(each.nbytes for each in (self.full, self.hashes, self.results, self.patterns))

    def part(self, begin: int, end: int) -> Level:
        """Return some of the states."""
        of_states = self.hashes[begin:end], self.results[begin:end], self.patterns[begin:end]
        return Level(self.full[begin:end], self.width, *of_states)

    @classmethod
    def empty(cls, count: int, like: Level, kind: npt.DTypeLike) -> Level:
        """Make arrays for states like others, in rows of a kind of numbers."""
        full = np.empty((count, like.full.shape[1]), kind)
        others = (np.empty((count, *each.shape[1:]), each.dtype) for each in (like.hashes, like.results, like.patterns))
        return cls(full, like.width, *others)


@dataclass(slots=True)
class Expanded:
    """The expansion of some states.

    Attributes:
        least: the fingerprint of each successor.
        outside: the successors that the constraints exclude.
        wrong: the numbers of states with something wrong about them.
    """

    generated: Generated
    least: Hashes
    outside: npt.NDArray[np.bool_]
    wrong: Ints


class Expander:
    """The tables of a specification, and the expansion of states by them.

    Attributes:
        view: the tree of the VIEW, if there is one; its results are numbers of `views`.
        is_constrained: whether there are constraints.
    """

    def __init__(
        self, spec: Spec, layout: Layout, *, check_deadlock: bool, function: FingerprintFunction, threads: int = 1
    ) -> None:
        self.layout, self.check_deadlock = layout, check_deadlock
        self.trees = Trees(KernelThreads(threads))
        trees, evaluator, module = self.trees, Evaluator(layout, self.trees), tracked(spec)
        self.hashing, self.evaluator = Fingerprints(layout, state_equivalence(spec).images, function), evaluator
        self.views, self.view = ViewFingerprints(function), None
        if spec.view is not None:
            self.view = trees.tree(evaluator.numbered(_view(module, spec.view), self.views.number))
        self.groups = SuccessorGroups(module["META"]["stages"], module, evaluator, trees)
        self.invariants = StatePredicates(evaluator, trees, invariants(module))
        self.step_properties = StepPredicates(evaluator, trees, step_properties(module))
        of_states, of_steps = constraints(module)
        self.constraints = StatePredicates(evaluator, trees, of_states)
        self.action_constraints = StepPredicates(evaluator, trees, of_steps)
        self.is_constrained = bool(of_states or of_steps)
        self._expanded, self._evaluate_again_at = 0, _EVALUATE_AGAIN_AT
        self.step_fingerprints = StepFingerprints(self.hashing, evaluator.steps, self.trees.threads)
        definitions = DefinitionColumns(layout, evaluator.current, evaluator.open_definition, evaluator.try_formula)
        definitions.install(module)

    @property
    def size(self) -> int:
        """The number of states to expand at once."""
        return max(1, min(MAX_ROWS, MAX_PAIRS // max(1, len(self.groups))))

    def literal_evaluations(self, distinct: int, generated: int) -> int:
        """Return the number of evaluations that a search state by state needs for as many states."""
        of_states = self.groups.count + len(self.invariants)
        of_steps = len(self.step_properties) + len(self.constraints) + len(self.action_constraints)
        return distinct * of_states + generated * (of_steps + (self.view is not None))

    def begin(self, rows: Rows) -> Level:
        """Make a level of states that were not looked up before, and in which nothing is wrong.

        Raises:
            UnsuitedError: if something seems to be, where tables could not follow a recursion.
            AssertionError: if something seems to be elsewhere.
        """
        full, deep = padded(rows, self.layout.width), self.too_deep
        if len(self.violating(full)):
            if self.too_deep > deep:
                raise UnsuitedError(TOO_DEEP)
            raise AssertionError("the tables find fault with a state in which the literal search finds none")
        return self.level(full)

    def level(self, rows: Rows) -> Level:
        """Make a level of states that were not looked up before."""
        full = padded(rows, self.layout.width)
        every = np.nonzero(np.ones((len(full), len(self.groups)), np.bool_))
        results = self.groups.results(full, *every).reshape(len(full), len(self.groups))
        return Level(full, self.layout.width, self.hashed(full), results, np.zeros(len(full), np.int64))

    def violating(self, rows: Rows) -> Ints:
        """Return the numbers of states in which not all invariants hold."""
        return np.flatnonzero(self.invariants.verdicts(padded(rows, self.layout.width)) != 1)

    @property
    def too_deep(self) -> int:
        """The number of evaluations that went deeper than Python goes."""
        return self.evaluator.too_deep

    @property
    def images(self) -> int:
        """The number of images of a state, itself among them."""
        return self.hashing.image_count

    def fingerprints(self, rows: Rows) -> Hashes:
        """Return the fingerprints of states."""
        return least_fingerprints(self.hashed(rows))

    def hashed(self, rows: Rows) -> Hashes:
        """Return the fingerprints of states, of each of their images.

        Raises:
            UnsuitedError: if the VIEW has no value in one, in which it has one for the literal search.
        """
        if self.view is None:
            return self.hashing.of_rows(rows)
        hashes, failed = self._view_fingerprints(padded(rows, self.layout.width), np.arange(len(rows)))
        if len(failed):
            raise UnsuitedError(TOO_DEEP)
        return hashes

    def expand(self, level: Level) -> Expanded:
        """Expand states, no more than `size`."""
        self._expanded += 1
        if self._expanded == self._evaluate_again_at and len(level.full):
            self._evaluate_again_at *= 4  # it costs as much each time
            self.trees.evaluate_again(StateRows(level.full, np.array([len(level.full) - 1])).lookup(0))
        self._look_up(level)
        generated = self.groups.generate(level.full, level.results)
        self.hashing.add_values()
        level.full = self.layout.wide(level.full)
        verdicts = self.step_properties.verdicts(level.full, generated.rows, generated.steps)
        wrong = [generated.failing, generated.rows[verdicts != 1]]
        outside, after = np.zeros(len(generated.rows), np.bool_), None
        if self.is_constrained or self.view is not None:
            after = self.successor_rows(level, generated, np.arange(len(generated.rows)))
        if self.is_constrained and after is not None:
            outside, broken = self._constrained(level, generated, after)
            wrong.append(broken)
        if self.view is None or after is None:
            least = self.step_fingerprints.after(level.full, level.hashes, generated.rows, generated.steps)
        else:
            hashes, failed = self._view_fingerprints(after, np.flatnonzero(~outside))
            least = hashes[:, 0]
            wrong.append(generated.rows[failed])
        if after is not None and outside.any():
            excluded = np.flatnonzero(outside)
            wrong.append(generated.rows[excluded[self.invariants.verdicts(after[excluded]) != 1]])
        if self.check_deadlock:
            stuck = np.ones(len(level.full), np.bool_)
            stuck[generated.rows] = False
            wrong.append(np.flatnonzero(stuck))
        return Expanded(generated, least, outside, np.unique(np.concatenate(wrong)))

    def accept(self, level: Level, expanded: Expanded, new: Ints, into: Level, to: int) -> Ints:
        """Make new states of a level, from place `to` on; return the numbers of states with a new one that is wrong.

        Args:
            new: the numbers of the successors that are new.
        """
        generated = expanded.generated
        self._make(level, generated, expanded.least, new, into, to)
        made = into.part(to, to + len(new))
        verdicts = self.invariants.verdicts_after(made.full, made.patterns, self.evaluator.steps.masks)
        wrong: Ints = generated.rows[new[verdicts != 1]]
        return wrong

    def _make(self, level: Level, generated: Generated, least: Hashes, new: Ints, into: Level, to: int) -> None:
        """Make some of the successors of a level, from place `to` on, without the definitions that steps made stale."""
        stale = lists_of(self.trees.touched(self.evaluator.steps.masks, list(self.trees.derived.values())))
        columns = np.array(list(self.trees.derived), np.int64)
        steps = generated.rows, generated.steps, least, self.view is not None
        tables = *self.evaluator.steps.arrays(), stale[0], columns[stale[1]], self.step_fingerprints.of_steps()
        before = *self.hashing.sums, level.full, level.results, level.hashes
        after = into.full, into.results, into.hashes, into.patterns
        self.trees.threads.run(
            len(new), lambda begin, end: take(new[begin:end], *steps, *tables, *before, to + begin, *after)
        )

    def successor_rows(self, level: Level, generated: Generated, which: Ints) -> Rows:
        """Return the rows of some successors, with columns for definitions."""
        bare = Level(level.full, level.width, level.hashes[:, :0], level.results[:, :0], level.patterns)
        made = Level.empty(len(which), bare, level.full.dtype)
        self._make(bare, generated, np.zeros(0, np.uint64), which, made, 0)
        return made.full

    def _look_up(self, level: Level) -> None:
        """Look up the groups that have read what the last step to a state wrote; the others have the same result."""
        affected = lists_of(self.groups.touched(self.evaluator.steps.masks))
        before = level.patterns, *affected, self.groups.roots
        self.trees.look_up(
            StateRows(level.full, np.arange(len(level.full))),
            len(level.full),
            lambda which, *more: look_up(which, *before, *more[:3], level.full, level.results, *more[3:]),
        )
        self.trees.lookups += int(np.diff(affected[0])[level.patterns].sum())

    def _view_fingerprints(self, rows: Rows, which: Ints) -> tuple[Hashes, Ints]:
        """Return the fingerprints of states under the VIEW, and the states in which it has no value.

        Arguments: `which`, the states in question; the fingerprints of the others mean nothing.
        """
        assert self.view is not None
        numbers = self.trees.results(np.full(len(which), self.view.root, np.int64), StateRows(rows, which))
        hashes = np.zeros((len(rows), 1), np.uint64)
        hashes[which, 0] = self.views.hashes(numbers)
        return hashes, which[numbers == ERROR]

    def _constrained(self, level: Level, generated: Generated, after: Rows) -> tuple[npt.NDArray[np.bool_], Ints]:
        """Return which successors the constraints exclude, and the states of those whose constraint has no value."""
        verdicts = self.constraints.verdicts(after)
        on = np.flatnonzero(verdicts == 1)
        steps = generated.rows[on], generated.steps[on]
        verdicts[on] = self.action_constraints.verdicts(level.full, *steps)
        return verdicts != 1, generated.rows[verdicts == ERROR]


def _view(module: dict[str, Any], name: str) -> Callable[[State], Value]:
    """Return the function that evaluates the VIEW, given the names of the tracked code."""
    meta: Meta = module["META"]
    definition = meta["definitions"][name]
    view: Callable[..., Value] = module[definition["function"]]
    return view if definition["reads_now"] else lambda _state: view()
