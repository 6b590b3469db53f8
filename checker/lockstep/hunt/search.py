"""The search: runs of Hypothesis one after the other, within one budget of time.

Each run has a seed of its own that follows from the seed of the search. From the second run on, examples may go on from
runs to rare situations, drawn before Hypothesis begins. So nothing but what Hypothesis draws decides what an example of
a run does, and it can shrink what it finds. Its database keeps what the first run finds, which begins from nothing.
Each target has a database of its own.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import HypothesisException

from lockstep.base.interrupts import Interrupted
from lockstep.base.progress import Say, silent
from lockstep.conformance.rerun_minimiser import RerunMinimiser
from lockstep.hunt.archive import Archive
from lockstep.hunt.example import Example, Target, ViolatedError, counted, is_wanted, replay
from lockstep.systems.hunted_group import Move, Violation

#: The number of examples of one run of Hypothesis, and of the prefixes that they may go on from.
EXAMPLES, PREFIXES = 100, 100
#: The longest that Hypothesis may shrink what it has found; then single steps are left out.
SHRINK_SECONDS = 5.0
#: The time between two lines of progress.
PROGRESS_SECONDS = 10.0


class _OverError(KeyboardInterrupt):
    """The time is over. Hypothesis takes any exception for one of the example, but for an interrupt."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run that violates a property: the plan of its group, its steps, and the property with its values."""

    plan: Any
    moves: tuple[Move, ...]
    violation: Violation


@dataclass(slots=True)
class HuntProgress:
    """The progress of a search so far: examples, steps by their action, and the farthest distances."""

    examples: int = 0
    reached: Counter[str] = field(default_factory=Counter)
    distances: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def steps(self) -> int:
        """The number of steps."""
        return self.reached.total()

    def line(self, actions: Sequence[str]) -> str:
        """Return a line that says how far the search is."""
        far = ", ".join(f"{name} {distance:g}" for name, distance in sorted(self.distances.items()))
        reached = sum(each in self.reached for each in actions)
        return (
            f"{self.seconds:.0f} s: {self.examples:,} examples, {self.steps:,} steps, "
            f"{reached} of {len(actions)} actions; farthest: {far}"
        )


class Search:
    """A search for a violation; `progress` is what it has done, and `found` the shortest run that violates."""

    def __init__(
        self,
        wanted: Target,
        first_seed: int,
        seconds: float,
        database: Path | None = None,
        say: Say = silent,
        report: Say = silent,
        clock: Callable[[], float] = time.monotonic,
        shrink_seconds: float = SHRINK_SECONDS,
        max_examples: int | None = None,
    ) -> None:
        """Prepare a search.

        Arguments: `wanted`; `first_seed`, which everything but the database and the time follows from;
        `seconds`, the budget; `database`, the folder where Hypothesis keeps what its first run found, in a subfolder
        for each target, None for none; `say`, called with the state now and then; `report`, called with each line of
        progress that is to stay; `clock`, the seconds that the budget is of: on a machine that others use,
        `time.process_time` measures what the search itself needs; `shrink_seconds`, the longest that Hypothesis may
        shrink; `max_examples`, the examples after which a search that has found nothing ends, None for any number.
        """
        self._target, self._seed, self._max_examples = wanted, first_seed, max_examples
        self._database = None if database is None else database / _name_of(wanted)
        self._say, self._report = say, report
        self._clock, self._shrink_seconds = clock, shrink_seconds
        self._begin = clock()
        self._end = self._begin + seconds
        self._next_line = self._begin + PROGRESS_SECONDS
        self.progress = HuntProgress()
        self.found: FoundRun | None = None
        self.found_after = 0.0
        self._archive = Archive()
        self._interrupt: Interrupted | None = None
        self._is_over = False

    def run(self) -> FoundRun | None:
        """Search until something is found, or the time is over; return the shortest run that violates."""
        number = 0
        while self.found is None and self._clock() < self._end:
            try:
                self._run_once(number)
            except ViolatedError:
                pass
            except _OverError:
                break
            except HypothesisException:
                if not self._is_over:  # Hypothesis may mistake an example that ends at once for a flaky one
                    raise
                break
            number += 1
        if self._interrupt is not None:
            raise self._interrupt
        self.progress.seconds = self._clock() - self._begin
        return self.found

    def _run_once(self, number: int) -> None:
        run_seed = self._seed * 1_000_003 + number
        prefixes = self._archive.draw(random.Random(run_seed), PREFIXES)
        # What a run with prefixes finds means something else in another search, whose prefixes are others.
        kept = DirectoryBasedExampleDatabase(self._database) if self._database is not None and number == 0 else None

        # No Phase.target: it shrinks what has come far, over and over, and half of all examples did nothing.
        # Above `seed`, which turns the database off.
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=kept,
            phases=(Phase.reuse, Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=Verbosity.quiet,
        )
        @seed(run_seed)
        @given(st.data())
        def hunt(data: st.DataObject) -> None:
            self._take_time()
            example = Example(self._target, data, self._archive, prefixes)
            try:
                self._take(example)
            except ViolatedError:
                self._keep(example)
                raise
            except Interrupted as interrupt:
                self._interrupt, self._is_over = interrupt, True
                raise _OverError from interrupt

        hunt()

    def _take_time(self) -> None:
        now = self._clock()
        self.progress.seconds = now - self._begin
        if now >= self._end or (self.found is None and self.progress.examples == self._max_examples):
            self._is_over = True
            raise _OverError
        line = self.progress.line(self._target.hunted.actions)
        self._say(line)
        if now >= self._next_line:
            self._next_line = now + PROGRESS_SECONDS
            self._report(line)

    def _take(self, example: Example) -> None:
        """Run an example, and count it unless it is one of those by which what was found is shrunk."""
        try:
            example.run()
        finally:
            if self.found is None:
                self._count(example)

    def _count(self, example: Example) -> None:
        self.progress.examples += 1
        self.progress.reached.update(counted(example.record.moves))
        for name, distance in example.distances.items():
            self.progress.distances[name] = max(distance, self.progress.distances.get(name, 0.0))

    def _keep(self, example: Example) -> None:
        """Keep the run of an example if it is the shortest so far; from the first on the time is that for shrinking."""
        record = example.record
        if self.found is None:
            self.found_after = self._clock() - self._begin
            self._end = self._clock() + self._shrink_seconds
        if record.violation is not None and (self.found is None or len(record.moves) < len(self.found.moves)):
            self.found = FoundRun(example.plan, tuple(record.moves), record.violation)


def _name_of(wanted: Target) -> str:
    """Return a name for a target, the same in every process.

    Hypothesis deletes the examples of a database that fail no more, and those of another target do not fail.
    """
    features = sorted(wanted.features.items())
    parts = (wanted.hunted.spec, wanted.nodes, wanted.flaws, sorted(wanted.properties), features, wanted.because)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def without_needless_steps(wanted: Target, found: FoundRun) -> FoundRun:
    """Leave out the steps of a run without which the same property is violated."""
    only = replace(wanted, properties=frozenset({found.violation[0]}))

    def rerun(moves: Sequence[Move]) -> Sequence[Move] | None:
        record = replay(only, found.plan, moves)
        return record.moves if is_wanted(only, found.plan, record) else None

    search = RerunMinimiser(rerun, lambda move: move[0])
    if not search.begin(found.moves):
        raise RuntimeError(f"the run that violates {found.violation[0]} does not violate it again")
    search.shorten()
    violation = replay(only, found.plan, search.best).violation
    return FoundRun(found.plan, tuple(search.best), violation or found.violation)
