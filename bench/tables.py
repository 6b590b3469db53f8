"""Measure exploring by tables beside TLC and beside the search state by state: the same models, one after the other.

Each model is explored by each engine in turn, as often as asked, and the least processor time of each counts; wall time
is told as well, but other work on the machine lengthens it. All engines must agree on the counts, or the run fails.

    python bench/tables.py                       some models of both systems
    python bench/tables.py two_messages --once   one of them, once
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lockstep.models.search import SearchResult, explore_compiled, explore_with_tables, explore_with_tlc
from lockstep.report.text import table
from lockstep.systems.models import model_named
from lockstep.tla.loading.load import load_spec
from lockstep.tla.tables.search import explore_by_tables

MODELS = ("ordered", "crash", "stale_push", "lossy", "replication", "two_messages", "raft_queue", "raft_zombies")
#: More states than these are left to TLC and to tables.
LITERALLY = 25_000


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds of the processor, of this process and its children, and of the clock."""

    processor: float
    wall: float


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--once", action="store_true", help="take each engine once, not twice")
    chosen = parser.parse_args()
    header = ("model", "distinct", "generated", "depth", "TLC, 1 worker", "TLC, 2 workers", "state by state", "tables")
    rows = [_row(name, 1 if chosen.once else 2) for name in chosen.models]
    print(table((*header, "TLC 2 / tables", "evaluations", "bytes a state"), rows))


def _row(name: str, times: int) -> tuple[str | int | None, ...]:
    manifest, entry = model_named(name)
    spec, cfg = manifest.files(entry)
    library = [manifest.path.parent / folder for folder in manifest.library]
    explore_compiled(spec, cfg, search_path=library, max_states=1)  # compiled and cached before the clock starts

    def tlc(workers: int) -> Callable[[], SearchResult]:
        return lambda: explore_with_tlc(spec, cfg, deadlock=entry.deadlock, workers=workers, search_path=library)

    asked: list[Callable[[], SearchResult] | None] = [tlc(1), tlc(2), None]
    if (entry.distinct or 0) <= LITERALLY:
        asked[2] = lambda: explore_compiled(spec, cfg, deadlock=entry.deadlock, search_path=library)
    asked.append(lambda: explore_with_tables(spec, cfg, deadlock=entry.deadlock, search_path=library))
    least = [_least(each, times, name) for each in asked]
    counts = {found for found, _ in least if found is not None}
    if len(counts) != 1:
        raise SystemExit(f"{name}: the engines differ: {counts}")
    ((distinct, generated, depth),) = counts
    told = [None if taken is None else f"{taken.processor:.1f} s ({taken.wall:.1f})" for _, taken in least]
    two, ours = least[1][1], least[3][1]
    assert two is not None
    assert ours is not None
    evaluations, memory = _inside(spec, cfg, library, deadlock=entry.deadlock)
    ratio = f"{two.processor / ours.processor:.0f}"
    return (name, distinct, generated, depth, *told, ratio, evaluations, memory)


_Counts = tuple[int | None, int | None, int | None]


def _least(search: Callable[[], SearchResult] | None, times: int, name: str) -> tuple[_Counts | None, Time | None]:
    """Answer the counts of a search, and the least time that it took."""
    if search is None:
        return None, None
    found: list[tuple[_Counts, Time]] = []
    for _ in range(times):
        begin, wall = _processor(), time.perf_counter()
        result = search()
        taken = Time(_processor() - begin, time.perf_counter() - wall)
        print(f"  {name}: {result.engine}: {taken.processor:.2f} s ({taken.wall:.2f})", flush=True)
        found.append(((result.distinct, result.generated, result.depth), taken))
    return min(found, key=lambda each: each[1].processor)


def _processor() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _inside(spec: Path, cfg: Path, library: list[Path], *, deadlock: bool) -> tuple[int, int]:
    """Answer how many evaluations there are, and the bytes of arrays for each distinct state."""
    loaded = load_spec(spec, cfg, search_path=library)
    found = explore_by_tables(loaded, check_deadlock=deadlock and loaded.check_deadlock)
    return found.evaluations, found.memory // max(1, found.distinct)


if __name__ == "__main__":
    main()
