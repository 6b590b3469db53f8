"""Measure what longer fingerprints and mapped files cost a search by tables: the same model, one way after the other.

Fingerprints have 64 bits or 128; the memory is as much as the search wants, or a share of that, so that the rest goes
to mapped files. Each way is measured in turn, as often as asked, and the least processor time counts. All ways must
come to the same counts, and a search that is to map files must have done so, or the run fails. The specs are compiled
before.

    python bench/room.py                      prior_term_commit and three_terms, three times each
    python bench/room.py crash --times 1      another model, once
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

from lockstep.report.text import table
from lockstep.systems.models import model_named
from lockstep.tla.loading.load import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.tables.search import TableExploration, explore_by_tables

MODELS = ("prior_term_commit", "three_terms")
#: What a search may take of the memory that it would have at most; what is added beyond half of that is mapped.
SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Way:
    """A way of exploring: how long fingerprints are, and how much of the wanted memory there is; all of it if None."""

    name: str
    bits: int
    share: float | None = None


WAYS = (
    Way("64 bits", 64),
    Way("128 bits", 128),
    Way("64 bits, mapped files", 64, SHARE),
    Way("128 bits, mapped files", 128, SHARE),
)


def main() -> None:
    """Print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--times", type=int, default=3, help="how often each way is taken (%(default)s)")
    chosen = parser.parse_args()
    rows = [row for name in chosen.models for row in _rows(name, chosen.times)]
    print(
        table(("model", "way", "distinct", "processor, s", "clock, s", "by 64 bits", "memory, MB", "mapped, MB"), rows)
    )


def _rows(name: str, times: int) -> list[tuple[str | int, ...]]:
    manifest, entry = model_named(name)
    spec, cfg = manifest.files(entry)
    loaded = load_spec(spec, cfg, search_path=[manifest.path.parent / each for each in manifest.library])
    deadlock = entry.deadlock and loaded.check_deadlock
    wanted = {bits: explore_by_tables(loaded, check_deadlock=deadlock, bits=bits).memory for bits in (64, 128)}
    taken: dict[Way, list[tuple[float, float, TableExploration]]] = {way: [] for way in WAYS}
    for _ in range(times):
        for way in WAYS:
            taken[way].append(_taken(loaded, deadlock, way, wanted[way.bits]))
            print(f"  {name}, {way.name}: {taken[way][-1][0]:.2f} s", file=sys.stderr, flush=True)
    least = {way: min(each, key=lambda one: one[0]) for way, each in taken.items()}
    found = {(each.distinct, each.generated, each.depth) for _, _, each in least.values()}
    if len(found) != 1:
        raise SystemExit(f"{name}: the ways differ: {found}")
    first = least[WAYS[0]][0]
    return [
        (
            name,
            way.name,
            each.distinct,
            f"{processor:.1f}",
            f"{wall:.1f}",
            f"{processor / first:.2f}",
            f"{each.memory / 1e6:.0f}",
            f"{each.mapped / 1e6:.0f}",
        )
        for way, (processor, wall, each) in least.items()
    ]


def _taken(spec: Spec, deadlock: bool, way: Way, wanted: int) -> tuple[float, float, TableExploration]:
    """Explore; answer the seconds of the processor and of the clock, and what was found."""
    most = None if way.share is None else int(wanted * way.share)
    begin, wall = time.process_time(), time.perf_counter()
    found = explore_by_tables(spec, check_deadlock=deadlock, bits=way.bits, most_memory=most)
    taken = time.process_time() - begin, time.perf_counter() - wall, found
    if found.gave_up or not found.complete or bool(found.mapped) != (way.share is not None):
        raise SystemExit(f"{way.name}: {found.gave_up or 'nothing was mapped, or something without need'}")
    return taken


if __name__ == "__main__":
    main()
