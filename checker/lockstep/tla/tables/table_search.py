"""Exploring a specification by tables, level by level, counting as TLC counts."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from lockstep.base.errors import BadInputError
from lockstep.tla.explore import Step, Violation
from lockstep.tla.liveness.temporal_check import refuse_sameness
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.expander import TOO_DEEP, Expander
from lockstep.tla.tables.fingerprint_set import Seen
from lockstep.tla.tables.fingerprints import Function, Hashes, collision, orbit_sizes
from lockstep.tla.tables.frontier import Frontier
from lockstep.tla.tables.literal_judge import Literal
from lockstep.tla.tables.search_checkpoint import Checkpoint, Kept
from lockstep.tla.tables.state_layout import Layout, Path, ShapeChangedError, UnsuitedError
from lockstep.tla.tables.stored_graph import Graph

__all__ = ["Orbits", "Progress", "TableExploration", "explore_by_tables", "unsuited"]

_SAY_EVERY = 0.3
#: So many more objects than before make Python look for garbage.
_COLLECTED = 100_000
_COUNTS = ("distinct", "generated", "depth", "levels")
#: An evaluation that is kept costs several times what it costs in a search state by state: it has to be seldom.
_WORTH = 0.25
#: What an evaluation costs depends on the spec. If they are not as seldom as this, it is measured what some states
#: take one by one; tables may take so much more time than all states would.
_DOUBTFUL, _PATIENCE = 0.03, 1.5
_SAMPLE = 32
#: At how many evaluations that is first asked; then at twice as many each time.
_LOOK = 8_192


@dataclass
class Orbits:
    """What the states found under SYMMETRY stand for: all their images.

    Attributes:
        levels: how many states each level has with them.
        generated: how many states are generated with them.
    """

    levels: list[int]
    generated: int


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
        collision: about how probable it is that two states had the same fingerprint, so that something was not seen.
        evaluations: how many evaluations there were.
        looked_up: how many answers were asked for.
        memory: how many bytes the arrays had, about, when they had most.
        graph: states and steps, if they were asked for.
        orbits: what the states stand for, if that was asked for.
        doubt: why the counts are not to be believed, where another search came to others.
        unkept: why its file lacks what was found last, where that could not be written.
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
    orbits: Orbits | None = None
    doubt: str = ""
    unkept: str = ""


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
    orbits: bool = False,
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
        orbits: whether to count what the states stand for under SYMMETRY.
        most_memory: give up where the arrays would take more bytes.
        checkpoint: a file that the search is kept in now and then, and goes on from where it is there.
        checkpoint_seconds: how many seconds are to pass before it is written again.

    Returns:
        Counts and the violation, which the literal search has confirmed.

    Raises:
        GaveUpError: if the initial states alone take more memory.
        UnsuitedError: if the specification cannot be taken apart so; nothing is known of it then.
        LivenessRefusedError: if there are temporal properties together with SYMMETRY or VIEW.
        FalseAssumptionError: if an ASSUME is false.
        SpecFault: if evaluation fails, with its place and the steps that lead there.
        LeakError: if an evaluation depends on what it was not seen to read.
        EnvironmentFailedError: if the checkpoint cannot be written.
        BadInputError: if the checkpoint is none, or that of another search, or another search is using it, or it cannot
            be kept as states and steps have to be kept, too.
    """
    refuse_sameness(spec)
    if (why := unsuited(spec)) is not None:
        raise UnsuitedError(why)
    deadlock = spec.check_deadlock if check_deadlock is None else check_deadlock
    spec.refuse_false_constants()
    file = None
    if checkpoint is not None:
        if keep_edges or spec.temporal:
            raise BadInputError(f"{checkpoint}: no checkpoint can be kept where temporal properties are checked")
        identity = {"spec": spec.spec_hash, "deadlock": deadlock, "seed": seed, "orbits": orbits}
        identity["SYMMETRY"] = spec.symmetry
        file = Checkpoint(checkpoint, identity, list(spec.model_values))
    with nullcontext() if file is None else file.held():
        kept = None if file is None else file.load()
        whole: set[Path] = set() if kept is None else set(kept.whole)
        while True:
            search = _Search(spec, deadlock, max_states, on_progress, Function(seed), whole, keep_edges)
            search.result.orbits = Orbits([], 0) if orbits else None
            search.most_memory, search.checkpoint, search.checkpoint_seconds = most_memory, file, checkpoint_seconds
            try:
                with _seldom_collected():
                    return search.run(kept)
            except ShapeChangedError as error:
                whole.add(error.path)
                kept = None  # its columns are others


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let Python look for cycles of garbage seldom: hardly any arise here, and it looks through all nodes of trees."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _COLLECTED) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Search:
    def __init__(
        self,
        spec: Spec,
        check_deadlock: bool,
        max_states: int | None,
        on_progress: Callable[[Progress], None] | None,
        function: Function,
        whole: set[Path],
        keep_edges: bool,
    ) -> None:
        self.spec, self.max_states, self.function, self.whole = spec, max_states, function, whole
        self.on_progress, self.said = on_progress, 0.0
        self.literal = Literal(spec, check_deadlock)
        self.check_deadlock = check_deadlock
        self.result = TableExploration(unchecked=tuple(spec.unchecked))
        self.begin, self.begun_at = time.perf_counter(), time.process_time()
        self.keep_edges = keep_edges
        self.most_memory: int | None = None
        self.checkpoint: Checkpoint | None = None
        self.checkpoint_seconds, self.kept_at = 0.0, self.begin
        self.frontier: Frontier
        self.look_at = _LOOK
        self.graph: Graph | None = None
        self.seen = Seen(numbered=keep_edges or bool(spec.temporal))
        self.listed = 0
        self.parents: list[Ints] = []
        self.found: list[Hashes] = []

    def run(self, kept: Kept | None = None) -> TableExploration:
        """Search, from what was kept of the same search, if anything was."""
        result = self.result
        initial, generated, violation = self.literal.start(self.most_memory)
        result.generated, result.distinct, result.levels = generated, len(initial), [len(initial)]
        if violation is not None or not initial:
            result.violation, result.depth = violation, 1
            if violation is None:
                self.completed()
            return result
        self.prepare(initial, kept)
        self.go_on()
        return self.told()

    def go_on(self) -> None:
        """Expand one level after the other."""
        result, count = self.result, self.result.levels[-1]
        while count:
            result.depth += 1
            before = result.distinct
            if result.orbits is not None:
                result.orbits.levels.append(0)
            goes_on = self.expand(count)
            count = result.distinct - before
            result.levels.append(count)
            if not goes_on:
                # TLC tells the level of the state it found last.
                result.depth += result.violation is not None and count > 0
                return
            self.keep()
        self.completed()

    def completed(self) -> None:
        """Note that all states were seen, and ask what must hold then."""
        graph = self.graph if self.spec.temporal else None
        violation, unchecked = self.literal.completed(graph, self.trace)
        self.result.complete, self.result.violation, self.result.unchecked = True, violation, unchecked

    def told(self) -> TableExploration:
        result = self.result
        result.collision = collision(result.distinct, result.generated, self.expander.images)
        result.graph = self.graph if self.keep_edges else None
        return result

    def tell(self, queued: int) -> None:
        """Tell how far the search is, now and then."""
        result = self.result
        seconds = time.perf_counter() - self.begin
        if self.on_progress is None or seconds - self.said < _SAY_EVERY:
            return
        self.said = seconds
        counts = result.distinct, result.generated, queued, result.depth, seconds
        self.on_progress(Progress(*counts, result.evaluations, result.looked_up))

    def prepare(self, initial: list[State], kept: Kept | None) -> None:
        """Make the tables and the first level."""
        layout = self.layout = Layout(self.spec.variables, initial, self.whole)
        places = [] if kept is None else kept.take_values(layout)
        rows = layout.encode(initial)

        self.expander = Expander(self.spec, layout, check_deadlock=self.check_deadlock, function=self.function)
        self.expander.groups.settle(rows)
        self.frontier = Frontier(self.expander, self.seen)
        found = self.expander.fingerprints(rows)
        self.seen.add(found)
        self.enlist(found, np.full(len(rows), -1, np.int64))
        if (orbits := self.result.orbits) is not None:
            sizes = orbit_sizes(self.expander.hashed(rows))
            orbits.levels, orbits.generated = [int(sizes.sum())], self.result.generated
        if self.seen.is_numbered:
            self.graph = Graph(layout)
            self.graph.states.add(rows)
        if kept is not None:
            self.resume(kept, places)
        else:
            self.frontier.start([rows])

    def resume(self, kept: Kept, places: list[int]) -> None:
        """Go on from what was kept: all states found, and those of the last level; `places` are their columns."""
        result = self.result
        known = len(self.seen)
        self.found, self.parents, self.listed = [], [], 0
        for found, parents in kept.pairs("found", "parents"):
            self.seen.add(found[known:])
            known = max(0, known - len(found))
            self.enlist(found, parents)
        for name in _COUNTS:
            setattr(result, name, kept.counts[name])
        if result.orbits is not None:
            result.orbits = Orbits(**kept.counts["orbits"])
        count = self.frontier.start(self.layout.wide(rows[:, places]) for rows in kept.arrays("rows"))
        if (count, len(self.seen)) != (result.levels[-1], result.distinct):
            raise BadInputError(f"{kept.path}: the checkpoint lacks states")

    def keep(self) -> None:
        """Keep the search in its file, now and then; it goes on where that fails, and the file stays as it was."""
        now = time.perf_counter()
        if self.checkpoint is None or now - self.kept_at < self.checkpoint_seconds:
            return
        result = self.result
        counts: dict[str, Any] = {name: getattr(result, name) for name in _COUNTS}
        counts["orbits"] = None if result.orbits is None else asdict(result.orbits)
        try:
            self.checkpoint.save(counts, sorted(self.whole, key=str), self.layout, self.arrays())
            result.unkept = ""
        except OSError as error:
            result.unkept = f"level {result.depth} was not kept in {self.checkpoint.path}: {error.strerror}"
        self.kept_at = time.perf_counter()

    def arrays(self) -> Iterator[dict[str, Ints]]:
        """List what is to be kept: all states found, and those of the last level."""
        yield from (
            {"found": found, "parents": parents} for found, parents in zip(self.found, self.parents, strict=True)
        )
        yield {"rows": self.layout.encode([])}  # where no state is left, there is one part
        yield from ({"rows": rows} for rows in self.frontier.parts())

    def refuse_what_gains_nothing(self) -> None:
        """Give the search up where much of what it asks was never asked before, as where a state is one part.

        Raises:
            UnsuitedError: if so, and it is too much, or takes longer than one by one.
        """
        evaluations = self.result.evaluations
        if evaluations < self.look_at:
            return
        self.look_at = 2 * evaluations
        asked = self.expander.asked_of(self.result.distinct, self.result.generated)
        if evaluations > _WORTH * asked:
            said = f"{evaluations:,} evaluations, where a search state by state needs some {asked:,}"
            raise UnsuitedError(f"its actions and properties read nearly as many values as it has states: {said}")
        if evaluations > _DOUBTFUL * asked:
            rows = self.frontier.level.rows
            sample = rows[:: max(1, len(rows) // _SAMPLE)][:_SAMPLE].tolist()
            one_by_one = self.literal.seconds_of(list(map(self.layout.decode, sample))) / len(sample)
            if time.process_time() - self.begun_at > _PATIENCE * one_by_one * self.result.distinct:
                raise UnsuitedError("its actions and properties are evaluated one by one in less time")

    def is_too_large(self, more: int) -> bool:
        """Tell whether the search would take more memory than it may with more states, and note that."""
        used = self.expander.trees.nbytes + self.frontier.nbytes + self.listed
        used += 0 if self.graph is None else self.graph.nbytes
        self.result.memory = max(self.result.memory, used + self.seen.nbytes)
        if self.most_memory is None or used + self.seen.nbytes_with(more) <= self.most_memory:
            return False
        said = f"the search would need more than {self.most_memory / 1e9:.3g} GB of memory"
        self.result.gave_up = f"{said}, with {self.result.distinct:,} distinct states"
        return True

    def expand(self, count: int) -> bool:
        """Expand a level of so many states, some at once; answer whether the search goes on."""
        first = self.result.distinct - count
        size, next_first = self.expander.size, self.result.distinct
        for begin in range(0, count, size):
            end = min(begin + size, count)
            if not self.piece(begin, end, first):
                return False
            self.refuse_what_gains_nothing()
            self.tell(count - end + self.result.distinct - next_first)
        self.frontier.advance()
        return True

    def piece(self, begin: int, end: int, first: int) -> bool:
        """Expand the states at some places of a level, whose first state has a number; answer whether to go on."""
        result, found = self.result, self.frontier.expand(begin, end)
        result.evaluations, result.looked_up = self.expander.trees.evaluations, self.expander.trees.looked_up
        stop, enough = self.ends(found.parents, found.wrong)
        kept, count = len(found.parents), found.generated_count
        if stop is not None:
            kept, count = int(np.searchsorted(found.parents, stop)), self.frontier.generated_before(stop)
        elif enough is not None:
            kept = int(np.searchsorted(found.parents, enough, side="right"))
            count = self.frontier.generated_before(enough + 1)
        if self.is_too_large(kept) and stop is None:
            return False
        self.seen.add(found.hashes[:kept])
        self.enlist(found.hashes[:kept], first + found.parents[:kept])
        result.generated += count
        result.distinct += kept
        if result.orbits is not None:
            self.note_orbits(result.orbits, kept)
        if self.graph is not None:
            self.note_steps(first + begin, first + end, kept, count)
        if stop is not None:
            self.judge(first + stop)
        return stop is None and enough is None

    def enlist(self, found: Hashes, parents: Ints) -> None:
        """List states that were found: their fingerprints, and the numbers of the states before them."""
        self.found.append(found)
        self.parents.append(parents)
        self.listed += found.nbytes + parents.nbytes

    def ends(self, parents: Ints, wrong: Ints) -> tuple[int | None, int | None]:
        """Answer the place of the first state of which something is wrong, or after whose successors there are enough.

        Arguments: `parents`, the places of the states before the new ones; `wrong`, those of which something is wrong.
        """
        stop = int(wrong.min()) if len(wrong) else None
        left = None if self.max_states is None else self.max_states - self.result.distinct
        if left is None or len(parents) < left:
            return stop, None
        enough = int(parents[left - 1]) if left > 0 else 0  # the initial states may be enough, but for the first step
        return (stop, None) if stop is not None and stop <= enough else (None, enough)

    def note_steps(self, first: int, end: int, kept: int, count: int) -> None:
        """Keep the states and steps that were found; `first` and `end` are the numbers of those that were expanded."""
        assert self.graph is not None
        expanded, states = self.frontier.expanded, self.frontier.accepted[-1]
        self.graph.states.add(states.rows[:kept])
        inside = np.flatnonzero(~expanded.outside[:count])
        targets = self.seen.numbers(expanded.least[inside])
        self.graph.follows.add(first + expanded.generated.rows[inside], targets, end)
        if self.keep_edges:
            self.graph.actions += map(self.expander.groups.action, expanded.generated.places[inside].tolist())

    def note_orbits(self, orbits: Orbits, kept: int) -> None:
        """Count the images of the states that were found, and of those that were generated."""
        part, expanded = self.frontier.part, self.frontier.expanded
        orbits.levels[-1] += int(orbit_sizes(self.frontier.accepted[-1].hashes[:kept]).sum())
        orbits.generated += int(orbit_sizes(part.hashes)[expanded.generated.rows].sum())

    def judge(self, number: int) -> None:
        """Let the literal search expand a state of which something is wrong, and take over what it finds.

        Raises:
            UnsuitedError: if that finds nothing, where tables could not follow a recursion.
            AssertionError: if that finds nothing elsewhere.
        """
        result = self.result
        generated, distinct, violation = self.literal.expand(self.trace(number), self.has)
        result.generated += generated
        result.distinct += distinct
        if violation is None and self.expander.too_deep:
            raise UnsuitedError(TOO_DEEP)
        if violation is None:
            raise AssertionError("the tables find fault with a state in which the literal search finds none")
        result.violation = violation

    def trace(self, number: int) -> list[Step]:
        """Answer the steps to a state, which the literal search has taken."""
        return self.literal.trace(self.fingerprints(number), self.fingerprint)

    def has(self, state: State) -> bool:
        return bool(self.seen.has(self.expander.fingerprints(self.layout.encode([state])))[0])

    def fingerprint(self, state: State) -> int:
        """Return the fingerprint of a state."""
        return int(self.expander.fingerprints(self.layout.encode([state]))[0])

    def fingerprints(self, number: int) -> list[int]:
        """Answer the fingerprints on the way from an initial state to a state."""
        starts = np.cumsum([0, *map(len, self.parents)])
        way = []
        while number >= 0:
            part = int(np.searchsorted(starts, number, side="right")) - 1
            place = number - int(starts[part])
            way.append(int(self.found[part][place]))
            number = int(self.parents[part][place])
        way.reverse()
        return way
