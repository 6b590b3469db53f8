"""Exploring a specification by tables, level by level, counting as TLC counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from lockstep.base.errors import BadInputError
from lockstep.tla.compile.module.meta import Meta
from lockstep.tla.explore import Step, Violation
from lockstep.tla.liveness.check import refuse_sameness
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.symmetry import sameness
from lockstep.tla.tables.checkpoint import Checkpoint, Kept
from lockstep.tla.tables.evaluate import ERROR, Evaluator
from lockstep.tla.tables.groups import Generated, Groups
from lockstep.tla.tables.literal import Literal
from lockstep.tla.tables.predicates import OfStates, OfSteps, constraints, invariants, step_properties
from lockstep.tla.tables.states.content import Fingerprints, Hashes, Views
from lockstep.tla.tables.states.graph import Graph
from lockstep.tla.tables.states.layout import Layout, Path, Rows, ShapeChangedError, UnsuitedError
from lockstep.tla.tables.states.seen import Seen
from lockstep.tla.tables.trees import Ints, RowsAsked, Trees
from lockstep.tla.tables.unread import tracked
from lockstep.tla.values.kinds import Value

__all__ = ["Progress", "TableExploration", "explore_by_tables", "unsuited"]

_MOST_PAIRS = 1 << 20
_SAY_EVERY = 0.3
#: An evaluation that is kept costs several times what it costs in a search state by state: it has to be seldom.
_WORTH = 0.25
#: At how many evaluations that is first asked; then at twice as many each time.
_LOOK = 8_192


@dataclass
class TableExploration:
    """The result of a search by tables; the counts are those of :class:`lockstep.tla.explore.Exploration`.

    Attributes:
        distinct: the number of distinct states.
        generated: the states generated.
        depth: the number of levels.
        complete: whether all reachable states were seen.
        gave_up: why they were not, where neither a violation nor `max_states` ended the search.
        levels: how many distinct states each level has.
        violation: the first violation, if any.
        unchecked: the properties with parts that no search checks.
        collision: about how probable it is that two states had one fingerprint, so that something was not seen.
        evaluations: how many evaluations there were.
        looked_up: how many answers were asked for.
        memory: the bytes of all arrays at the end, about.
        graph: states and steps, if they were asked for.
    """

    distinct: int = 0
    generated: int = 0
    depth: int = 0
    complete: bool = False
    gave_up: str = ""
    levels: list[int] = field(default_factory=list)
    violation: Violation | None = None
    unchecked: tuple[str, ...] = ()
    collision: float = 0.0
    evaluations: int = 0
    looked_up: int = 0
    memory: int = 0
    graph: Graph | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is: distinct and generated states, those waiting, the level, evaluations and answers."""

    distinct: int
    generated: int
    queued: int
    depth: int
    seconds: float
    evaluations: int
    looked_up: int


@dataclass(slots=True)
class _Level:
    """Some states of one level.

    `first` is the number of the first among all; `rows` are they, `hashes` the fingerprints of their images; `answers`
    what each group answered of the state before the last step to each, and `patterns` which columns that step wrote.
    """

    first: int
    rows: Rows
    hashes: Hashes
    answers: Ints
    patterns: Ints

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return sum(each.nbytes for each in (self.rows, self.hashes, self.answers, self.patterns))

    def part(self, begin: int, end: int) -> _Level:
        """Answer some of the states."""
        of_rows = self.rows[begin:end], self.hashes[:, begin:end], self.answers[begin:end], self.patterns[begin:end]
        return _Level(self.first + begin, *of_rows)


def unsuited(spec: Spec) -> str | None:
    """Say why a specification cannot be explored by tables; None where it can, as far as is known beforehand."""
    if not spec.has_behaviour:
        return "it has no behaviour"
    if spec.has_registers:
        return "TLCGet or TLCSet make it matter how often a formula is evaluated"
    if "_tlc_print" in spec.source.partition("\nMETA")[2]:
        return "Print tells of every evaluation"
    if spec.view is not None and spec.symmetry is not None:
        return "there is VIEW beside SYMMETRY"
    return None


def explore_by_tables(
    spec: Spec,
    *,
    check_deadlock: bool | None = None,
    max_states: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    seed: int = 0,
    keep_edges: bool = False,
    most_memory: int | None = None,
    checkpoint: FilePath | None = None,
    checkpoint_seconds: float = 300.0,
) -> TableExploration:
    """Search all reachable states, breadth first, until one violates something.

    Args:
        spec: the specification.
        check_deadlock: whether a state without successors is a violation; the configuration decides if None.
        max_states: stop after the state whose successors make this many distinct ones.
        on_progress: told how far the search is, a few times a second.
        seed: chooses the function that makes fingerprints.
        keep_edges: whether to keep the states and steps.
        most_memory: give up where the arrays would take more bytes.
        checkpoint: a file that the search is kept in now and then, and goes on from where it is there.
        checkpoint_seconds: how many seconds are to pass before it is written again.

    Returns:
        Counts and the violation, which the literal search has confirmed.

    Raises:
        UnsuitedError: if the specification cannot be taken apart so; nothing is known of it then.
        LivenessRefusedError: if there are temporal properties together with SYMMETRY or VIEW.
        FalseAssumptionError: if an ASSUME is false.
        SpecFault: if evaluation fails, with its place and the steps that lead there.
        LeakError: if an evaluation depends on what it was not seen to read.
        BadInputError: if the checkpoint is none, or that of another search, or cannot be kept as states and steps
            have to be kept, too.
    """
    refuse_sameness(spec)
    if (why := unsuited(spec)) is not None:
        raise UnsuitedError(why)
    deadlock = spec.check_deadlock if check_deadlock is None else check_deadlock
    spec.refuse_false_assumptions()
    file = None
    if checkpoint is not None:
        if keep_edges or spec.temporal:
            raise BadInputError(f"{checkpoint}: no checkpoint can be kept where temporal properties are checked")
        identity = {"spec": spec.spec_hash, "deadlock": deadlock, "seed": seed}
        file = Checkpoint(checkpoint, identity, list(spec.model_values))
    kept = None if file is None else file.load()
    whole: set[Path] = set() if kept is None else set(kept.whole)
    while True:
        search = _Search(spec, deadlock, max_states, on_progress, seed, whole, keep_edges)
        search.most_memory, search.checkpoint, search.checkpoint_seconds = most_memory, file, checkpoint_seconds
        try:
            return search.run(kept)
        except ShapeChangedError as error:
            whole.add(error.path)
            kept = None  # its columns are others


def _view(module: dict[str, Any], name: str) -> Callable[[State], Value]:
    """Return what evaluates the VIEW, given the names of the tracked code."""
    meta: Meta = module["META"]
    told = meta["definitions"][name]
    view: Callable[..., Value] = module[told["function"]]
    return view if told["reads_now"] else lambda _state: view()


class _Search:
    def __init__(
        self,
        spec: Spec,
        check_deadlock: bool,
        max_states: int | None,
        on_progress: Callable[[Progress], None] | None,
        seed: int,
        whole: set[Path],
        keep_edges: bool,
    ) -> None:
        self.spec, self.max_states, self.seed, self.whole = spec, max_states, seed, whole
        self.on_progress, self.said = on_progress, 0.0
        self.literal = Literal(spec, check_deadlock)
        self.check_deadlock = check_deadlock
        self.result = TableExploration(unchecked=tuple(spec.unchecked))
        self.begin = time.perf_counter()
        self.keep_edges = keep_edges
        self.most_memory: int | None = None
        self.checkpoint: Checkpoint | None = None
        self.checkpoint_seconds, self.kept_at, self.largest = 0.0, self.begin, 0
        self.look_at = _LOOK
        self.graph: Graph | None = None
        self.seen = Seen(numbered=keep_edges or bool(spec.temporal))
        self.trees = Trees()
        self.parents: list[Ints] = []
        self.found: list[Hashes] = []

    def run(self, kept: Kept | None = None) -> TableExploration:
        """Search, from what was kept of the same search, if anything was."""
        result = self.result
        initial, generated, violation = self.literal.start()
        result.generated, result.distinct, result.levels = generated, len(initial), [len(initial)]
        if violation is not None or not initial:
            result.violation, result.depth = violation, 1
            if violation is None:
                self.completed()
            return result
        self.prepare(initial, kept)
        level = self.first(initial)
        if kept is not None:
            level = self.resumed(kept)
        while len(level.rows):
            result.depth += 1
            before = result.distinct
            level, goes_on = self.expand(level)
            result.levels.append(result.distinct - before)
            if not goes_on:
                # TLC tells the level of the state it found last.
                result.depth += result.violation is not None and result.distinct > before
                break
            self.keep(level)
        else:
            self.completed()
        return self.told()

    def completed(self) -> None:
        """Note that all states were seen, and ask what must hold then."""
        graph = self.graph if self.spec.temporal else None
        violation, unchecked = self.literal.completed(graph, self.trace)
        self.result.complete, self.result.violation, self.result.unchecked = True, violation, unchecked

    def told(self) -> TableExploration:
        result, trees = self.result, self.trees
        # As TLC's: every state generated that was not distinct might have been one.
        result.collision = result.distinct * max(1, result.generated - result.distinct) / 2.0**64
        result.evaluations, result.looked_up = trees.evaluations, trees.looked_up
        result.graph = self.graph if self.keep_edges else None
        result.memory = self.memory() + self.largest
        return result

    def tell(self, queued: int) -> None:
        """Tell how far the search is, now and then."""
        result, trees = self.result, self.trees
        seconds = time.perf_counter() - self.begin
        if self.on_progress is None or seconds - self.said < _SAY_EVERY:
            return
        self.said = seconds
        counts = result.distinct, result.generated, queued, result.depth, seconds
        self.on_progress(Progress(*counts, trees.evaluations, trees.looked_up))

    def prepare(self, initial: list[State], kept: Kept | None) -> None:
        """Make the trees."""
        spec, trees = self.spec, self.trees
        self.layout = Layout(spec.variables, initial, self.whole)
        for slot, values in enumerate(() if kept is None else kept.values):
            for value in values:
                self.layout.number(slot, value)
        self.hashing = Fingerprints(self.layout, sameness(spec).images, self.seed)
        evaluator = self.evaluator = Evaluator(self.layout)
        module = tracked(spec)
        self.views = Views(self.seed)
        self.view = (
            None if spec.view is None else trees.tree(evaluator.numbered(_view(module, spec.view), self.views.number))
        )
        self.groups = Groups(module["META"]["stages"], module, evaluator, trees)
        self.invariants = OfStates(evaluator, trees, invariants(module))
        self.step_properties = OfSteps(evaluator, trees, step_properties(module))
        of_states, of_steps = constraints(module)
        self.constraints = OfStates(evaluator, trees, of_states)
        self.action_constraints = OfSteps(evaluator, trees, of_steps)

    def first(self, initial: list[State]) -> _Level:
        rows = self.layout.encode(initial)
        hashes = self.hashed(rows)
        least = hashes.min(axis=0)
        self.seen.add(least)
        if self.seen.is_numbered:
            self.graph = Graph(self.layout)
            self.graph.states.add(rows)
        self.parents.append(np.full(len(rows), -1, np.int64))
        self.found.append(least)
        if (self.invariants.told(rows) != 1).any():
            raise AssertionError("the tables find fault with an initial state in which the literal search finds none")
        self.groups.settle(rows)
        every = np.nonzero(np.ones((len(rows), len(self.groups)), np.bool_))
        answers = self.groups.answers(rows, *every).reshape(len(rows), -1)
        return _Level(0, rows, hashes, answers, np.zeros(len(rows), np.int64))

    def resumed(self, kept: Kept) -> _Level:
        """Go on from what was kept: all states found, and those of the last level."""
        result = self.result
        self.seen = Seen()
        self.seen.add(kept.found)
        self.found, self.parents = [kept.found], [kept.parents]
        result.distinct, result.generated, result.depth = (
            kept.counts[name] for name in ("distinct", "generated", "depth")
        )
        result.levels = list(kept.levels)
        if (self.invariants.told(kept.rows) != 1).any():
            raise AssertionError("the tables find fault with a state of the checkpoint")
        every = np.nonzero(np.ones((len(kept.rows), len(self.groups)), np.bool_))
        answers = self.groups.answers(kept.rows, *every).reshape(len(kept.rows), -1)
        first = result.distinct - len(kept.rows)
        return _Level(first, kept.rows, self.hashed(kept.rows), answers, np.zeros(len(kept.rows), np.int64))

    def keep(self, level: _Level) -> None:
        """Keep the search in its file, now and then."""
        now = time.perf_counter()
        if self.checkpoint is None or now - self.kept_at < self.checkpoint_seconds:
            return
        result = self.result
        counts = {"distinct": result.distinct, "generated": result.generated, "depth": result.depth}
        arrays = np.concatenate(self.found), np.concatenate(self.parents), level.rows
        self.checkpoint.save(counts, result.levels, sorted(self.whole, key=str), self.layout, arrays)
        self.kept_at = now

    def refuse_what_gains_nothing(self) -> None:
        """Give the search up where most of what it asks was never asked before, as where a state is one part.

        Raises:
            UnsuitedError: if so.
        """
        result, evaluations = self.result, self.trees.evaluations
        if evaluations < self.look_at:
            return
        self.look_at = 2 * evaluations
        of_states = len(self.groups) + len(self.invariants)
        asked = result.distinct * of_states + result.generated * len(self.step_properties)
        if evaluations > _WORTH * asked:
            said = f"{evaluations:,} of {asked:,} evaluations would be new"
            raise UnsuitedError(
                f"what its actions and properties read takes nearly as many values as its states: {said}"
            )

    def is_too_large(self, level: _Level, made: list[_Level]) -> bool:
        """Tell whether the search would take more memory than it may, and note that."""
        if self.most_memory is None:
            return False
        size = self.memory() + sum(each.nbytes for each in (level, *made))
        if size > self.most_memory:
            said = f"the search would need more than {self.most_memory / 1e9:.1f} GB of memory"
            self.result.gave_up = f"{said}, with {self.result.distinct:,} distinct states"
        return size > self.most_memory

    def memory(self) -> int:
        """Answer how many bytes there are of what was seen and of tables, about."""
        return self.seen.nbytes + self.trees.nbytes + 16 * self.result.distinct

    def expand(self, level: _Level) -> tuple[_Level, bool]:
        """Expand a level, some of its states at once; answer the next one, and whether the search goes on."""
        size = max(1, min(1 << 16, _MOST_PAIRS // max(1, len(self.groups))))
        next_first = self.result.distinct
        made: list[_Level] = []
        goes_on = True
        for begin in range(0, len(level.rows), size):
            new, goes_on = self.chunk(level.part(begin, begin + size))
            made.append(new)
            self.largest = max(self.largest, sum(each.nbytes for each in (level, *made)))
            goes_on = goes_on and not self.is_too_large(level, made)
            if not goes_on:
                break
            self.refuse_what_gains_nothing()
            self.tell(max(0, len(level.rows) - begin - size) + self.result.distinct - next_first)
        hashes = np.concatenate([each.hashes for each in made], axis=1)
        rows, answers, patterns = (
            np.concatenate([getattr(each, name) for each in made]) for name in ("rows", "answers", "patterns")
        )
        return _Level(next_first, rows, hashes, answers, patterns), goes_on

    def chunk(self, level: _Level) -> tuple[_Level, bool]:
        """Expand some states; answer the new ones, and whether the search goes on."""
        self.ask(level)
        generated = self.groups.generate(level.rows, level.answers)
        self.hashing.known()
        level.rows = self.layout.wide(level.rows)
        steps = self.evaluator.steps
        which, slots, values = steps.written(generated.steps)
        patterns = steps.pattern.array[generated.steps]
        checked = len(self.step_properties) + len(self.constraints) + len(self.action_constraints)
        needs_rows = bool(checked) or self.view is not None
        wrong = [generated.failing]
        outside = np.zeros(len(generated.rows), np.bool_)
        if needs_rows:
            after = level.rows[generated.rows]
            after[which, slots] = values
            outside, broken = self.constrained(level, generated, after, patterns)
            wrong.append(broken)
            told = self.step_properties.told(level.rows, generated.rows, after, patterns)
            wrong.append(generated.rows[told != 1])
        if self.view is None:
            hashes = self.stepped(level, generated, which, slots, values)
        else:
            hashes, failed = self.seen_as(after, np.flatnonzero(~outside))
            wrong.append(generated.rows[failed])
        least = hashes.min(axis=0)
        candidates = np.flatnonzero(~outside & ~self.seen.has(least))
        _, first = np.unique(least[candidates], return_index=True)
        new = np.sort(candidates[first])
        rows = after[new] if needs_rows else self.rows_of(level, generated, new)
        wrong.append(generated.rows[new[self.invariants.told_after(rows, patterns[new], steps.masks) != 1]])
        if outside.any():
            beyond = np.flatnonzero(outside)
            wrong.append(generated.rows[beyond[self.invariants.told(after[beyond]) != 1]])
        if self.check_deadlock:
            stuck = np.ones(len(level.rows), np.bool_)
            stuck[generated.rows] = False
            wrong.append(np.flatnonzero(stuck))
        found = _Level(0, rows, hashes[:, new], level.answers[generated.rows[new]], patterns[new])
        kept, count, goes_on = self.taken(level, generated, least, new, np.concatenate(wrong))
        if self.graph is not None:
            self.graph.states.add(found.rows[:kept])
            inside = np.flatnonzero(~outside[:count])
            targets = self.seen.numbers(least[inside])
            self.graph.follows.add(level.first + generated.rows[inside], targets, level.first + len(level.rows))
            if self.keep_edges:
                self.graph.actions += map(self.groups.action, generated.places[inside].tolist())
        return found.part(0, kept), goes_on

    def ask(self, level: _Level) -> None:
        """Ask the groups that have read something that the last step to a state wrote; the others answer as before."""
        concerned = self.groups.touched(self.evaluator.steps.masks)
        which, groups = np.nonzero(concerned[level.patterns])
        level.answers[which, groups] = self.groups.answers(level.rows, which, groups)

    def stepped(self, level: _Level, generated: Generated, which: Ints, slots: Rows, values: Rows) -> Hashes:
        """Answer the fingerprints after steps: those before, and the difference that the writes make."""
        hashes = level.hashes[:, generated.rows]
        if len(which):
            old = level.rows[generated.rows[which], slots]
            change = self.hashing.at(slots, values) - self.hashing.at(slots, old)
            starts = np.flatnonzero(np.diff(which, prepend=-1))
            hashes[:, which[starts]] += np.add.reduceat(change, starts, axis=1)
        return hashes

    def seen_as(self, rows: Rows, which: Ints) -> tuple[Hashes, Ints]:
        """Answer the fingerprints of states under the VIEW, a row of them, and the states in which it has no value.

        Arguments: `which`, the states that are asked for; of the others the fingerprint means nothing.
        """
        assert self.view is not None
        numbers = self.trees.answers(np.full(len(which), self.view.root, np.int64), RowsAsked(rows, which))
        hashes = np.zeros((1, len(rows)), np.uint64)
        hashes[0, which] = self.views.hashes(numbers)
        return hashes, which[numbers == ERROR]

    def rows_of(self, level: _Level, generated: Generated, new: Ints) -> Rows:
        rows = level.rows[generated.rows[new]]
        which, slots, values = self.evaluator.steps.written(generated.steps[new])
        rows[which, slots] = values
        return rows

    def constrained(
        self, level: _Level, generated: Generated, after: Rows, patterns: Ints
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], Ints]:
        """Tell which successors are outside the constraints; and the states of some whose constraint has no value."""
        told = self.constraints.told(after)
        on = np.flatnonzero(told == 1)
        told[on] = self.action_constraints.told(level.rows, generated.rows[on], after[on], patterns[on])
        return told != 1, generated.rows[told == ERROR]

    def taken(
        self,
        level: _Level,
        generated: Generated,
        least: Hashes,
        new: Ints,
        wrong: Ints,
    ) -> tuple[int, int, bool]:
        """Take in the new states, up to the first state of which something is wrong.

        Returns:
            How many of the new ones, and of the successors, are taken in, and whether the search goes on.
        """
        result = self.result
        stop = int(wrong.min()) if len(wrong) else None
        enough = None
        if self.max_states is not None and result.distinct + len(new) >= self.max_states:
            enough = int(generated.rows[new[self.max_states - result.distinct - 1]])
        if stop is not None and (enough is None or stop <= enough):
            kept, count = new[generated.rows[new] < stop], int(np.searchsorted(generated.rows, stop))
        elif enough is not None:
            kept, count = new[generated.rows[new] <= enough], int(np.searchsorted(generated.rows, enough, "right"))
            stop = None
        else:
            kept, count = new, len(least)
        self.seen.add(least[kept])
        self.found.append(least[kept])
        self.parents.append(level.first + generated.rows[kept])
        result.generated += count
        result.distinct += len(kept)
        if stop is not None:
            self.judge(level, stop)
        return len(kept), count, stop is None and enough is None

    def judge(self, level: _Level, number: int) -> None:
        """Let the literal search expand a state of which something is wrong, and take over what it finds.

        Raises:
            AssertionError: if that finds nothing.
        """
        result = self.result
        trace = self.trace(level.first + number)
        generated, distinct, violation = self.literal.expand(trace, lambda after: self.has(after))
        result.generated += generated
        result.distinct += distinct
        if violation is None:
            raise AssertionError("the tables find fault with a state in which the literal search finds none")
        result.violation = violation

    def trace(self, number: int) -> list[Step]:
        """Answer the steps to a state, which the literal search has taken."""
        return self.literal.trace(self.fingerprints(number), self.fingerprint)

    def has(self, state: State) -> bool:
        return bool(self.seen.has(np.array([self.fingerprint(state)], np.uint64))[0])

    def fingerprint(self, state: State) -> int:
        """Answer the fingerprint of a state, the least of those of its images."""
        return int(self.hashed(self.layout.encode([state])).min())

    def hashed(self, rows: Rows) -> Hashes:
        """Answer the fingerprints of states, of each of their images."""
        return self.hashing.of_rows(rows) if self.view is None else self.seen_as(rows, np.arange(len(rows)))[0]

    def fingerprints(self, number: int) -> list[int]:
        """Answer the fingerprints on the way from an initial state to a state."""
        parents, found = np.concatenate(self.parents), np.concatenate(self.found)
        way = []
        while number >= 0:
            way.append(int(found[number]))
            number = int(parents[number])
        way.reverse()
        return way
