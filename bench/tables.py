"""Measure exploring by tables beside TLC and beside the search state by state: the same models, one after the other.

Each way of exploring is measured in turn, as often as asked, and the least processor time counts; wall time is given
as well, but other work on the machine lengthens it. All ways must agree on the counts, or the run fails; the depth is
not compared for several workers of TLC. *Cold* is with an empty cache, so that the spec is parsed and compiled as
well; the other times are with a compiled spec. TLC's times include its start.

    python bench/tables.py                         some models of both systems
    python bench/tables.py two_messages --once     one of them, once
    python bench/tables.py --symmetry both         each model that has SYMMETRY without it as well
    python bench/tables.py --jar tla2tools.jar     beside another TLC, too
    python bench/tables.py three_terms --threads 2 with two threads
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from lockstep.base.verdict import Verdict
from lockstep.models.pinned_models import files_of
from lockstep.models.search_result import Engine, SearchResult, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.report.text_table import table
from lockstep.systems.registry import model_named
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.tables.table_search import explore_by_tables

MODELS = (
    "ordered",
    "crash",
    "stale_push",
    "lossy",
    "vote_messages",
    "replication",
    "raft_queue",
    "raft_zombies",
    "raft_lossy",
)
#: More states than these are left to TLC and to tables.
LITERALLY = 25_000


class Subject(NamedTuple):
    """A model as it is explored: its files, whether a deadlock is a violation, and whether it has SYMMETRY."""

    name: str
    files: SpecFiles
    deadlock: bool
    symmetry: bool


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds of the processor, of this process and its children, and of the clock."""

    processor: float
    wall: float

    def __str__(self) -> str:
        """Processor time, and wall time in brackets."""
        return f"{self.processor:.1f} s ({self.wall:.1f})"


Search = Callable[[], SearchResult]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--once", action="store_true", help="take each way once, not twice")
    parser.add_argument("--symmetry", choices=("with", "without", "both"), default="with")
    parser.add_argument("--jar", type=Path, help="the tla2tools.jar of another TLC to stand beside")
    parser.add_argument(
        "--literally", type=int, default=LITERALLY, help="the most states to be explored state by state"
    )
    parser.add_argument("--threads", type=int, default=1, help="the threads of a search by tables")
    parser.add_argument(
        "--workers", type=int, nargs="+", choices=(1, 2), default=(1, 2), help="the numbers of workers of TLC, 2 last"
    )
    chosen = parser.parse_args()
    jars: dict[str, Path | None] = {"TLC": None} | (
        {} if chosen.jar is None else {f"TLC of {chosen.jar.stem}": chosen.jar}
    )
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
        subjects = [each for name in chosen.models for each in _subjects(name, chosen.symmetry, Path(folder))]
        plan = _Plan(jars, chosen.literally, chosen.threads, tuple(chosen.workers))
        rows = [_row(each, plan, 1 if chosen.once else 2) for each in subjects]
    ways = list(_ways(subjects[0], replace(plan, literally=0)))
    print(
        table(
            (
                *("model", "distinct", "generated", "depth", *ways),
                *("TLC, 2 workers / tables, by the clock", "by the processor", "evaluations", "bytes a state"),
            ),
            rows,
        )
    )


def _subjects(name: str, symmetry: str, folder: Path) -> Iterator[Subject]:
    """Yield a model as it stands, without its SYMMETRY, or both."""
    manifest, entry = model_named(name)
    files = files_of(manifest, entry)
    subject = Subject(name, files, entry.deadlock, symmetry=entry.symmetry)
    if symmetry != "without" or not entry.symmetry:
        yield subject
    if symmetry != "with" and entry.symmetry:
        lines = files.cfg.read_text(encoding="utf-8").splitlines()
        plain = folder / f"{name}.cfg"
        plain.write_text("\n".join(each for each in lines if not each.startswith("SYMMETRY")) + "\n", encoding="utf-8")
        yield subject._replace(name=f"{name}, no SYMMETRY", files=replace(files, named_cfg=plain), symmetry=False)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The ways to be measured.

    Attributes:
        jars: the jar of each TLC by its name.
        literally: the most states to be explored state by state.
        threads: the threads of a search by tables.
        workers: the numbers of workers of TLC.
    """

    jars: dict[str, Path | None]
    literally: int
    threads: int
    workers: tuple[int, ...]


def _row(subject: Subject, plan: _Plan, times: int) -> tuple[str | int | None, ...]:
    explore_spec(subject.files, Engine.LITERAL, SearchOptions(max_states=1))  # compiled before the clock starts
    counts: set[_Counts] = set()
    taken: dict[str, Time | None] = {}
    for way, search in _ways(subject, plan).items():
        distinct = max((each[0] or 0 for each in counts), default=0)
        if search is None or (way == "state by state" and distinct > plan.literally):
            taken[way] = None
            continue
        found, taken[way] = _least(search, times, f"{subject.name}: {way}")
        # Several workers of TLC do not go level by level, so the depth that they find may be one more.
        counts.add((*found[:2], _depth_of(counts)) if way.endswith("workers") else found)
    if len(counts) != 1:
        raise SystemExit(f"{subject.name}: the engines differ: {counts}")
    ((distinct, generated, depth),) = counts
    two, ours = taken["TLC, 2 workers"], taken["tables"]
    assert two is not None
    assert ours is not None
    times = [None if each is None else str(each) for each in taken.values()]
    evaluations, memory = _inside(subject)
    return (
        subject.name,
        distinct,
        generated,
        depth,
        *times,
        f"{two.wall / ours.wall:.1f}",
        f"{two.processor / ours.processor:.0f}",
        evaluations,
        memory,
    )


def _depth_of(counts: set[_Counts]) -> int | None:
    """Return the depth that other ways have found."""
    return next((depth for _, _, depth in counts), None)


def _ways(subject: Subject, plan: _Plan) -> dict[str, Search | None]:
    """Return the ways of exploring a model, by name; the first ones find the number of its states."""

    options = SearchOptions(check_deadlock=subject.deadlock)

    def tlc(workers: int, jar: Path | None) -> Search:
        files = replace(subject.files, jar=jar)
        return lambda: explore_spec(files, Engine.TLC, replace(options, tlc_workers=workers))

    def tables() -> SearchResult:
        return explore_spec(subject.files, Engine.TABLES, replace(options, threads=plan.threads))

    def cold() -> SearchResult:
        with _empty_cache():
            return tables()

    def state_by_state() -> SearchResult:
        return explore_spec(subject.files, Engine.LITERAL, options)

    return {
        "tables, cold": cold,
        "tables": tables,
        "state by state": state_by_state if plan.literally else None,
        **{
            f"{name}, {count} worker{'s' * (count > 1)}": tlc(count, jar)
            for name, jar in plan.jars.items()
            for count in plan.workers
        },
    }


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Let nothing be cached as long as the block lasts."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory(prefix="lockstep-cold-") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield
        finally:
            del os.environ["XDG_CACHE_HOME"]
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before


_Counts = tuple[int | None, int | None, int | None]


def _least(search: Search, times: int, name: str) -> tuple[_Counts, Time]:
    """Return the counts of a search, and its least time."""
    found: list[tuple[_Counts, Time]] = []
    for _ in range(times):
        begin, wall = _processor(), time.perf_counter()
        result = search()
        taken = Time(_processor() - begin, time.perf_counter() - wall)
        print(f"  {name}: {taken.processor:.2f} s ({taken.wall:.2f})", file=sys.stderr, flush=True)
        if result.verdict not in (Verdict.HOLDS, Verdict.VIOLATED):
            raise SystemExit(f"{name}: {result.verdict}: {result.reason}")
        found.append(((result.distinct, result.generated, result.depth), taken))
    if len({counts for counts, _ in found}) != 1:
        raise SystemExit(f"{name}: it counts another time otherwise")
    return min(found, key=lambda each: each[1].processor)


def _processor() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _inside(subject: Subject) -> tuple[int, int]:
    """Return the number of evaluations, and the bytes of arrays for each distinct state."""
    loaded = subject.files.load()
    found = explore_by_tables(loaded, SearchOptions(check_deadlock=subject.deadlock and loaded.check_deadlock))
    return found.evaluations, found.memory // max(1, found.distinct)


if __name__ == "__main__":
    main()
