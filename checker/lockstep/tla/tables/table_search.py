"""Exploring a specification by tables, level by level, counting as TLC counts."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.tla.exploration import SearchOutcome, SearchStep
from lockstep.tla.liveness.temporal_check import refuse_symmetry_and_view
from lockstep.tla.search_options import DEFAULT_OPTIONS, SearchOptions, SearchProgress
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.tables.cuda_device import Device, require_cuda
from lockstep.tla.tables.decision_trees import Ints, TooNestedError
from lockstep.tla.tables.expander import TOO_DEEP, Expander
from lockstep.tla.tables.fingerprint_set import DeviceFullError, FingerprintSet, MemoryLimitError
from lockstep.tla.tables.fingerprints import FingerprintFunction, Hashes, collision_probability, orbit_sizes
from lockstep.tla.tables.frontier import Frontier
from lockstep.tla.tables.literal_judge import LiteralJudge
from lockstep.tla.tables.search_checkpoint import CheckpointFile, SavedSearch
from lockstep.tla.tables.search_kernels import is_loaded
from lockstep.tla.tables.state_layout import Layout, Path, ShapeChangedError, UnsuitedError
from lockstep.tla.tables.stored_graph import StoredGraph

if TYPE_CHECKING:
    from lockstep.tla.tables.cuda_fingerprint_set import CudaFingerprintSet
    from lockstep.tla.tables.cuda_frontier import CudaFrontier

_REPORT_SECONDS = 0.3
#: What the first search of a process waits for: some ten seconds where it is the first on its machine, too.
COMPILING = "loading the search, which is compiled once on a machine"
#: Objects that Python may make before it looks for garbage.
_GARBAGE_THRESHOLD = 100_000
_COUNTS = ("distinct", "generated", "depth", "levels")
#: The share of evaluations, of those that a search state by state needs, at which tables gain nothing: each costs
#: several times what it costs there.
MAX_EVALUATION_SHARE = 0.25
#: The share from which on it is measured how long some states take one by one; tables may take MAX_SLOWDOWN as long.
DOUBTFUL_EVALUATION_SHARE = 0.03
MAX_SLOWDOWN = 1.5
_SAMPLE_SIZE = 32
#: From how many seconds on a search on the processor says what a graphics card would save at most.
LONG_SEARCH_SECONDS = 60.0
#: The number of evaluations at which the shares are first computed; then at twice as many each time.
GAIN_CHECK = 8_192


@dataclass
class Orbits:
    """All images of the states found under SYMMETRY, counted.

    Attributes:
        levels: the number of states of each level with all images.
        generated: the number of states generated from all images.
    """

    levels: list[int]
    generated: int


@dataclass
class TableExploration(SearchOutcome):
    """The result of a search by tables.

    Attributes:
        gave_up: why not all states were seen, where neither a violation nor `max_states` ended the search.
        collision: an estimate of the probability that two states had the same fingerprint.
        memory: the bytes of all arrays, about, when there were most.
        graph: states and steps, if they are kept.
        orbits: all images of the states, if they are counted.
        confirmed: the comparisons with other searches that had the same counts, a line each.
        doubt: why the counts are not to be believed, where another search had others.
        unsaved: why the checkpoint lacks the last level, where that could not be written.
        on_a_card: what a graphics card would save at most, where the search took long without one.
    """

    distinct: int = 0
    gave_up: str = ""
    collision: float = 0.0
    evaluations: int = 0
    lookups: int = 0
    memory: int = 0
    graph: StoredGraph | None = None
    orbits: Orbits | None = None
    confirmed: tuple[str, ...] = ()
    doubt: str = ""
    unsaved: str = ""
    on_a_card: str = ""

    @property
    def inconclusive(self) -> str:
        """Reason why the search has no verdict though nothing it checks is violated; empty where it has one."""
        if self.doubt:
            return f"not confirmed: {self.doubt}"
        if self.complete or self.violation:
            return ""
        return f"given up: {self.gave_up}" if self.gave_up else f"given up after {self.distinct} distinct states"

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines about the search for its reader; that on fingerprints is in TLC's words."""
        return (
            *([f"note: {self.unsaved}"] if self.unsaved else []),
            f"note: {self.evaluations:,} evaluations; for each distinct state at most "
            f"{self.memory / max(1, self.distinct):,.0f} bytes of memory",
            "note: estimate of the probability that not all reachable states were checked because two distinct states "
            f"had the same fingerprint: calculated (optimistic): {self.collision:.1E}",
            *(f"note: confirmed: {each}" for each in self.confirmed),
            *([f"note: {self.on_a_card}"] if self.on_a_card else []),
        )


def why_unsuited(spec: Spec) -> str | None:
    """Return the reason why tables cannot explore a specification; None where none is known beforehand."""
    if not spec.has_behaviour:
        return "it has no behaviour"
    if spec.has_registers:
        return "TLCGet or TLCSet make it matter how often a formula is evaluated"
    if "_tlc_print" in spec.source.partition("\nMETA")[2]:
        return "Print shows every evaluation"
    if spec.view is not None and spec.symmetry is not None:
        return "there is VIEW beside SYMMETRY"
    return None


def explore_by_tables(spec: Spec, options: SearchOptions = DEFAULT_OPTIONS) -> TableExploration:
    """Search all reachable states, breadth first, until one violates something.

    The search state by state has confirmed the violation. `confirm` of the options is for the caller.

    Raises:
        GaveUpError: if the initial states alone take more memory than the search may use, or than a card has.
        UnsuitedError: if the specification cannot be taken apart so; nothing is known of it then.
        LivenessRefusedError: if there are temporal properties together with SYMMETRY or VIEW.
        FalseAssumptionError: if an ASSUME is false.
        SpecFault: if evaluation fails, with its place and the steps that lead there.
        LeakError: if an evaluation depends on something that it was not seen to read.
        EnvironmentFailedError: if the checkpoint cannot be written.
        BadInputError: if the checkpoint is none, or that of another search, or another search is using it, or it cannot
            be kept as states and steps have to be kept, too; or if there is no graphics card where one is asked for.
    """
    if options.device == "cuda":
        require_cuda()
        if options.keep_edges or spec.temporal:
            raise BadInputError("--device cuda: temporal properties need the steps between states, which no card keeps")
    refuse_symmetry_and_view(spec)
    if (why := why_unsuited(spec)) is not None:
        raise UnsuitedError(why)
    spec.refuse_false_constants()
    file = _checkpoint_file(spec, options)
    with nullcontext() if file is None else file.locked():
        saved = None if file is None else file.load()
        whole: set[Path] = set() if saved is None else set(saved.whole)
        while True:
            search = _TableSearch(spec, options, file, whole)
            try:
                with rare_garbage_collection():
                    return search.run(saved)
            except DeviceFullError as error:
                raise GaveUpError(str(error)) from error
            except TooNestedError as error:
                raise UnsuitedError(TOO_DEEP) from error
            except ShapeChangedError as error:
                whole.add(error.path)
                saved = None  # its columns are others


def _checkpoint_file(spec: Spec, options: SearchOptions) -> CheckpointFile | None:
    if options.checkpoint is None:
        return None
    if options.keep_edges or spec.temporal:
        raise BadInputError(f"{options.checkpoint}: no checkpoint can be kept where temporal properties are checked")
    identity = {
        "spec": spec.spec_hash,
        "deadlock": _checks_deadlock(spec, options),
        "seed": options.fingerprint_seed,
        "orbits": options.count_orbits,
        "SYMMETRY": spec.symmetry,
    }
    return CheckpointFile(options.checkpoint, identity, list(spec.model_values))


def _checks_deadlock(spec: Spec, options: SearchOptions) -> bool:
    return spec.check_deadlock if options.check_deadlock is None else options.check_deadlock


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Let Python look for cycles of garbage seldom: hardly any arise here, and it looks through all nodes of trees."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _GARBAGE_THRESHOLD) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _TableSearch:
    """One search by tables; `whole` are the parts of a state that are not taken apart."""

    def __init__(self, spec: Spec, options: SearchOptions, file: CheckpointFile | None, whole: set[Path]) -> None:
        self.spec, self.options, self.file, self.whole = spec, options, file, whole
        self.check_deadlock = _checks_deadlock(spec, options)
        self.judge = LiteralJudge(spec, options)
        self.result = TableExploration(unchecked=tuple(spec.unchecked))
        self.result.orbits = Orbits([], 0) if options.count_orbits else None
        self.begun, self.begun_processor = time.perf_counter(), time.process_time()
        self.reported, self.saved_at = 0.0, self.begun
        self.keeps_graph = options.keep_edges or bool(spec.temporal)
        self.graph: StoredGraph | None = None
        self.seen: FingerprintSet | CudaFingerprintSet = FingerprintSet(numbered=self.keeps_graph)
        self.check_gain_at = GAIN_CHECK
        self.layout: Layout
        self.expander: Expander
        self.frontier: Frontier | CudaFrontier
        self.parents: list[Ints] = []
        self.found: list[Hashes] = []
        self.found_bytes = 0

    # ---- Levels ----

    def run(self, saved: SavedSearch | None = None) -> TableExploration:
        """Search, from a saved state of the same search if there is one."""
        result = self.result
        initial, generated, violation = self.judge.start()
        result.generated, result.distinct, result.levels = generated, len(initial), [len(initial)]
        if violation is not None or not initial:
            result.violation, result.depth = violation, 1
            if violation is None:
                self.complete()
            return result
        self.report_kernels()
        self.prepare(initial, saved)
        self.expand_levels()
        images = self.expander.images
        result.collision = collision_probability(result.distinct, result.generated, images)
        result.graph = self.graph if self.options.keep_edges else None
        result.on_a_card = self.most_that_a_card_saves()
        return result

    def prepare(self, initial: list[State], saved: SavedSearch | None) -> None:
        """Make the tables and the first level."""
        self.layout = Layout(self.spec.variables, initial, self.whole)
        places = [] if saved is None else saved.take_values(self.layout)
        rows = self.layout.encode(initial)
        function = FingerprintFunction(self.options.fingerprint_seed)
        threads = self.options.threads
        self.expander = Expander(
            self.spec, self.layout, check_deadlock=self.check_deadlock, function=function, threads=threads
        )
        self.expander.groups.drop_empty(rows)
        self.frontier = self.made_frontier()
        found = self.expander.fingerprints(rows)
        self.seen.add(found)
        self.list_found(found, np.full(len(rows), -1, np.int64))
        if (orbits := self.result.orbits) is not None:
            sizes = orbit_sizes(self.expander.hashed(rows))
            orbits.levels, orbits.generated = [int(sizes.sum())], self.result.generated
        if self.keeps_graph:
            self.graph = StoredGraph(self.layout)
            self.graph.states.add(rows)
        if saved is not None:
            self.resume(saved, places)
        else:
            self.frontier.start([rows])

    def made_frontier(self) -> Frontier | CudaFrontier:
        """Make the frontier, and for a card the set of fingerprints."""
        if isinstance(self.seen, FingerprintSet) and self.options.device == "cpu":
            return Frontier(self.expander, self.seen)
        from lockstep.tla.tables.cuda_fingerprint_set import CudaFingerprintSet
        from lockstep.tla.tables.cuda_frontier import CudaFrontier

        device = Device(self.options.device_memory)
        self.seen = seen = CudaFingerprintSet(device)
        counts_orbits, most = self.options.count_orbits, self.options.device_states
        return CudaFrontier(self.expander, seen, device, counts_orbits=counts_orbits, max_states=most)

    def expand_levels(self) -> None:
        """Expand one level after the other."""
        result, count = self.result, self.result.levels[-1]
        while count:
            result.depth += 1
            before = result.distinct
            if result.orbits is not None:
                result.orbits.levels.append(0)
            goes_on = self.expand_level(count)
            count = result.distinct - before
            result.levels.append(count)
            if not goes_on:
                # TLC reports the level of the state it found last.
                result.depth += result.violation is not None and count > 0
                return
            self.save()
        self.complete()

    def expand_level(self, count: int) -> bool:
        """Expand a level, in chunks; return whether the search goes on. `count` is the number of its states."""
        first = self.result.distinct - count
        next_first = self.result.distinct
        for begin, end in self.frontier.chunks(count):
            if not self.expand_chunk(begin, end, first):
                return False
            self.refuse_unsuited_spec()
            self.report(count - end + self.result.distinct - next_first)
        self.frontier.advance()
        return True

    def expand_chunk(self, begin: int, end: int, first: int) -> bool:
        """Expand the states at some places of a level that has a first number; return whether the search goes on."""
        result = self.result
        try:
            self.limit_fingerprints()
            new = self.frontier.expand(begin, end)
        except MemoryLimitError:
            self.give_up_for_memory()
            return False
        except DeviceFullError as error:
            result.gave_up = f"{error}, with {result.distinct:,} distinct states"
            return False
        result.evaluations, result.lookups = self.expander.trees.evaluations, self.expander.trees.lookups
        stop, enough = self.ends(new.parents, new.wrong)
        kept, generated = len(new.parents), new.generated_count
        if stop is not None:
            kept, generated = int(np.searchsorted(new.parents, stop)), self.frontier.generated_before(stop)
        elif enough is not None:
            kept = int(np.searchsorted(new.parents, enough, side="right"))
            generated = self.frontier.generated_before(enough + 1)
        if stop is None and self.exceeds_memory():
            return False
        self.frontier.keep(kept)
        self.list_found(new.hashes[:kept], first + new.parents[:kept])
        result.generated += generated
        result.distinct += kept
        if result.orbits is not None:
            self.count_orbits(result.orbits, kept)
        if self.graph is not None:
            self.store_steps(self.graph, first + begin, first + end, kept, generated)
        if stop is not None:
            self.confirm_violation(first + stop)
        return stop is None and enough is None

    def ends(self, parents: Ints, wrong: Ints) -> tuple[int | None, int | None]:
        """Return the place of the first state that is wrong, or of the one with whose successors there are enough.

        Args:
            parents: the places of the states before the new ones.
            wrong: the places of states with something wrong about them.
        """
        stop = int(wrong.min()) if len(wrong) else None
        left = None if self.options.max_states is None else self.options.max_states - self.result.distinct
        if left is None or len(parents) < left:
            return stop, None
        enough = int(parents[left - 1]) if left > 0 else 0  # the initial states may be enough, but for the first step
        return (stop, None) if stop is not None and stop <= enough else (None, enough)

    def list_found(self, found: Hashes, parents: Ints) -> None:
        """List states that were found: their fingerprints, and the numbers of the states before them."""
        if parents.max(initial=-1) <= np.iinfo(np.int32).max:
            parents = parents.astype(np.int32)
        self.found.append(found)
        self.parents.append(parents)
        self.found_bytes += found.nbytes + parents.nbytes

    def store_steps(self, graph: StoredGraph, first: int, end: int, kept: int, generated: int) -> None:
        """Store new states, and the steps of the expanded states, which have the numbers from `first` to `end`."""
        assert isinstance(self.frontier, Frontier)
        assert isinstance(self.seen, FingerprintSet)
        expanded = self.frontier.expanded
        graph.states.add(self.frontier.new_rows(kept))
        inside = np.flatnonzero(~expanded.outside[:generated])
        targets = self.seen.numbers(expanded.least[inside])
        graph.successors.add(first + expanded.generated.rows[inside], targets, end)
        if self.options.keep_edges:
            graph.actions += map(self.expander.groups.action, expanded.generated.groups[inside].tolist())

    def count_orbits(self, orbits: Orbits, kept: int) -> None:
        """Count the images of the new states, and of those that were generated."""
        new, generated = self.frontier.orbits(kept)
        orbits.levels[-1] += new
        orbits.generated += generated

    # ---- Limits and progress ----

    def exceeds_memory(self) -> bool:
        """Return whether the search takes more memory than it may, and record that."""
        used, budget = self.used_memory(), self.options.memory_budget
        on_device = self.frontier.device_bytes + self.seen.device_bytes
        self.result.memory = max(self.result.memory, used + self.seen.peak + on_device)
        if budget is None or used + self.seen.nbytes <= budget:
            return False
        self.give_up_for_memory()
        return True

    def used_memory(self) -> int:
        """The bytes of the processor's memory that all but the set of fingerprints takes."""
        used = self.expander.trees.nbytes + self.frontier.nbytes + self.found_bytes
        return used + (0 if self.graph is None else self.graph.nbytes)

    def limit_fingerprints(self) -> None:
        """Let the set of fingerprints grow no larger than the budget allows."""
        budget = self.options.memory_budget
        if budget is not None and isinstance(self.seen, FingerprintSet):
            self.seen.limit = budget - self.used_memory()

    def give_up_for_memory(self) -> None:
        """Record that the search would take more memory than it may."""
        reason = f"the search would need more than {(self.options.memory_budget or 0) / 1e9:.3g} GB of memory"
        self.result.gave_up = f"{reason}, with {self.result.distinct:,} distinct states"

    def refuse_unsuited_spec(self) -> None:
        """Give the search up where many of its evaluations are new, as where a state is one part.

        Raises:
            UnsuitedError: if these are too many, or take longer than one by one.
        """
        evaluations = self.result.evaluations
        if evaluations < self.check_gain_at:
            return
        self.check_gain_at = 2 * evaluations
        literal = self.expander.literal_evaluations(self.result.distinct, self.result.generated)
        if evaluations > MAX_EVALUATION_SHARE * literal:
            counts = f"{evaluations:,} evaluations, where a search state by state needs some {literal:,}"
            raise UnsuitedError(f"its actions and properties read nearly as many values as it has states: {counts}")
        if evaluations > DOUBTFUL_EVALUATION_SHARE * literal:
            sample = self.frontier.sample(_SAMPLE_SIZE)
            one_by_one = self.judge.measure_seconds(list(map(self.layout.decode, sample))) / len(sample)
            if time.process_time() - self.begun_processor > MAX_SLOWDOWN * one_by_one * self.result.distinct:
                raise UnsuitedError("its actions and properties are evaluated one by one in less time")

    def report(self, queued: int) -> None:
        """Report the progress, a few times a second."""
        result = self.result
        seconds = time.perf_counter() - self.begun
        if self.options.on_progress is None or seconds - self.reported < _REPORT_SECONDS:
            return
        self.reported = seconds
        counts = result.distinct, result.generated, queued, result.depth, seconds
        self.options.on_progress(SearchProgress(*counts, result.evaluations, result.lookups))

    def most_that_a_card_saves(self) -> str:
        """Return what a graphics card would save at most: a long search on the processor without its evaluations."""
        seconds = time.perf_counter() - self.begun
        if self.options.device != "cpu" or self.keeps_graph or seconds < LONG_SEARCH_SECONDS:
            return ""
        evaluating = self.expander.trees.evaluation_seconds
        return (
            f"--device cuda would save at most {seconds - evaluating:,.1f} of {seconds:,.1f} s: "
            f"evaluations, {evaluating:,.1f} s, stay on the processor"
        )

    def report_kernels(self) -> None:
        """Report what the first search of a process waits for: its loops are loaded, or compiled."""
        if self.options.on_progress is not None and not is_loaded():
            result = self.result
            self.options.on_progress(
                SearchProgress(result.distinct, result.generated, result.distinct, 1, waits_for=COMPILING)
            )

    # ---- The checkpoint ----

    def save(self) -> None:
        """Save the search now and then; it goes on where that fails, and the file stays as it was."""
        now = time.perf_counter()
        if self.file is None or now - self.saved_at < self.options.checkpoint_seconds:
            return
        result = self.result
        counts: dict[str, Any] = {name: getattr(result, name) for name in _COUNTS}
        counts["orbits"] = None if result.orbits is None else asdict(result.orbits)
        try:
            self.file.save(counts, sorted(self.whole, key=str), self.layout, self.saved_arrays())
            result.unsaved = ""
        except OSError as error:
            result.unsaved = f"level {result.depth} was not kept in {self.file.path}: {error.strerror}"
        self.saved_at = time.perf_counter()

    def saved_arrays(self) -> Iterator[dict[str, Ints]]:
        """Yield what is saved: all states found, and those of the last level."""
        for found, parents in zip(self.found, self.parents, strict=True):
            yield {"found": found, "parents": parents}
        yield {"rows": self.layout.encode([])}  # where no state is left, there is one part
        yield from ({"rows": rows} for rows in self.frontier.parts())

    def resume(self, saved: SavedSearch, places: list[int]) -> None:
        """Go on from a saved search: all states found, and those of the last level; `places` are their columns."""
        result = self.result
        known = len(self.seen)
        self.found, self.parents, self.found_bytes = [], [], 0
        for found, parents in saved.pairs("found", "parents"):
            self.seen.add(found[known:])
            known = max(0, known - len(found))
            self.list_found(found, parents)
            result.memory = max(result.memory, self.seen.peak + self.found_bytes)
        for name in _COUNTS:
            setattr(result, name, saved.counts[name])
        if result.orbits is not None:
            result.orbits = Orbits(**saved.counts["orbits"])
        count = self.frontier.start(self.layout.wide(rows[:, places]) for rows in saved.arrays("rows"))
        if (count, len(self.seen)) != (result.levels[-1], result.distinct):
            raise BadInputError(f"{saved.path}: the checkpoint lacks states")

    # ---- Verdicts ----

    def complete(self) -> None:
        """Record that all states were seen, and check what must hold then."""
        graph = self.graph if self.spec.temporal else None
        violation, unchecked = self.judge.complete(graph, self.trace)
        self.result.complete, self.result.violation, self.result.unchecked = True, violation, unchecked

    def confirm_violation(self, number: int) -> None:
        """Let the search state by state expand a state that is wrong, and take over what it finds.

        Raises:
            UnsuitedError: if that finds nothing, where tables could not follow a recursion.
            AssertionError: if that finds nothing elsewhere.
        """
        generated, distinct, violation = self.judge.expand(self.trace(number), self.has)
        self.result.generated += generated
        self.result.distinct += distinct
        if violation is None and self.expander.too_deep:
            raise UnsuitedError(TOO_DEEP)
        if violation is None:
            raise AssertionError("the tables find fault with a state in which the literal search finds none")
        self.result.violation = violation

    def trace(self, number: int) -> list[SearchStep]:
        """Return the steps to a state, which the search state by state has taken."""
        return self.judge.trace(self.path_to(number), self.fingerprint)

    def has(self, state: State) -> bool:
        return bool(self.seen.has(self.expander.fingerprints(self.layout.encode([state])))[0])

    def fingerprint(self, state: State) -> int:
        return int(self.expander.fingerprints(self.layout.encode([state]))[0])

    def path_to(self, number: int) -> list[int]:
        """Return the fingerprints on the path from an initial state to a state."""
        starts = np.cumsum([0, *map(len, self.parents)])
        path = []
        while number >= 0:
            part = int(np.searchsorted(starts, number, side="right")) - 1
            place = number - int(starts[part])
            path.append(int(self.found[part][place]))
            number = int(self.parents[part][place])
        path.reverse()
        return path
