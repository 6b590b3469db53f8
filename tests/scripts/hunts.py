"""Hunt each safety flaw with several seeds, and print how often and how soon it is found: the table of docs/hunt.md.

Each hunt begins from nothing, without a database, and ends when it has found something: the time is that of the
processor until then, as the machine may have other work. Results go to a file, one a line, and a hunt that is there is
not run again, so that the script can be interrupted.

    python -m tests.scripts.hunts results.ndjson --seeds 5 --seconds 600
    python -m tests.scripts.hunts results.ndjson --flaw TornVote --flaw VoteFile --seed 3
    python -m tests.scripts.hunts tests/hunt/hunts.ndjson --table

tests/hunt/hunts.ndjson has the results that the page shows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lockstep.hunt.example import Target
from lockstep.hunt.search import Search, without_needless_steps
from lockstep.systems.hunted_group import NODES
from lockstep.systems.registry import SYSTEMS

#: The flaws that break a property of safety, each with the property that counts; None stands for any. Those by which
#: TLC breaks IndexOrder come first.
FLAWS: Mapping[str, tuple[tuple[str, str | None], ...]] = {
    "DLedger": (
        ("AckByQuorumIndex", "IndexOrder"),
        ("CommitPastEnd", "IndexOrder"),
        ("PriorTermCommit", None),
        ("TruncatedTail", None),
        ("LateTruncate", None),
        ("DeposedTruncate", None),
        ("PushTermCheck", None),
        ("VoteFile", None),
        ("AsyncFlush", None),
        ("ApplyUnclamped", None),
        ("StaleCompareIndex", None),
        ("LedgerEndTerm", None),
        ("AppendTermCheck", None),
    ),
    "HashicorpRaft": (
        ("SnapshotRegress", None),
        ("DeleteThenStore", None),
        ("ReplayUncommitted", None),
        ("TransferFlagLeft", None),
        ("ConflictAtSnapshot", None),
        ("StaleInstall", None),
        ("TruncateWithoutConflict", None),
        ("CommitUnverified", None),
        ("TornVote", None),
        ("HeartbeatRace", None),
        ("LastLogNotLowered", None),
        ("VerifyCountsNonvoters", None),
        ("VerifyCountsOldAcks", None),
        ("EvenQuorum", None),
    ),
}


def names() -> Iterator[str]:
    """Yield the names of the flaws."""
    yield from (flaw for flaws in FLAWS.values() for flaw, _ in flaws)


def hunt(spec: str, flaw: str, wanted: str | None, seed: int, seconds: float) -> dict[str, Any]:
    """Hunt a flaw once, in a group of the size that it needs, and return what came of it."""
    make = SYSTEMS[spec].hunted
    assert make is not None
    hunted = make()
    nodes = hunted.nodes_for(flaw)
    properties = frozenset(hunted.properties if wanted is None else (wanted,))
    target = Target(hunted, nodes, (flaw, *hunted.together.get(flaw, ())), properties, because=True)
    search = Search(target, seed, seconds, shrink_seconds=0, clock=time.process_time)
    found = search.run()
    result = {"flaw": flaw, "nodes": nodes, "seed": seed, "seconds": seconds, **_progress(search)}
    if found is None:
        return {**result, "found": None}
    short = without_needless_steps(target, found)
    return {**result, "found": found.violation[0], "after": search.found_after, "length": len(short.moves)}


def _progress(search: Search) -> dict[str, Any]:
    done = search.progress
    return {"examples": done.examples, "steps": done.steps, "farthest": dict(sorted(done.distances.items()))}


def results(path: Path) -> list[dict[str, Any]]:
    """Return the results of a file, or none where it does not exist."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table in Markdown."""
    for spec, flaws in FLAWS.items():
        yield f"| Flaw of {spec} | Found | Median | Worst | Property | Steps | Farthest, where not found |"
        yield "| --- " * 7 + "|"
        for flaw, _ in flaws:
            runs = [each for each in found if each["flaw"] == flaw]
            if runs:
                yield _row(flaw, runs)
        yield ""


def _row(flaw: str, runs: Sequence[Mapping[str, Any]]) -> str:
    nodes = runs[0]["nodes"]
    hits = [each for each in runs if each["found"] is not None]
    names = ", ".join(sorted({each["found"] for each in hits}))
    # Of a hunt that found nothing no more is known than that it takes longer.
    times = sorted(each.get("after", float("inf")) for each in runs)
    median, worst = (_seconds(each, runs) for each in (statistics.median_low(times), times[-1]))
    steps = f"{min(each['length'] for each in hits)}" if hits else ""
    name = f"`{flaw}`" if nodes == NODES else f"`{flaw}`, {nodes} nodes"
    return f"| {name} | {len(hits)} of {len(runs)} | {median} | {worst} | {names} | {steps} | {_farthest(runs)} |"


def _farthest(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the largest of each distance over the runs that found nothing."""
    missed = [each["farthest"] for each in runs if each["found"] is None]
    names = sorted({name for each in missed for name in each})
    return ", ".join(f"{name} {max(each.get(name, 0.0) for each in missed):g}" for name in names)


def _seconds(seconds: float, runs: Sequence[Mapping[str, Any]]) -> str:
    if seconds == float("inf"):
        return f"> {max(each['seconds'] for each in runs):.0f} s"
    return f"{seconds:.0f} s"


def main() -> None:
    """Hunt, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 1 on")
    parser.add_argument("--seed", type=int, action="append", help="this one instead, and no other that is not named")
    parser.add_argument("--seconds", type=float, default=600.0, help="of the processor, for each hunt")
    parser.add_argument("--flaw", action="append", metavar="FLAW", choices=list(names()), help="this one, not all")
    parser.add_argument("--table", action="store_true", help="hunt nothing")
    given = parser.parse_args()
    if given.table and not given.results.exists():
        parser.error(f"there is no {given.results}")
    seeds = given.seed or range(1, given.seeds + 1)
    known = {(each["flaw"], each["seed"]) for each in results(given.results)}
    for spec, flaws in FLAWS.items():
        for flaw, wanted in flaws:
            for seed in seeds:
                if given.table or (given.flaw and flaw not in given.flaw) or (flaw, seed) in known:
                    continue
                result = hunt(spec, flaw, wanted, seed, given.seconds)
                with given.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")
                print(json.dumps(result), flush=True)
    print("\n".join(table(results(given.results))))


if __name__ == "__main__":
    main()
