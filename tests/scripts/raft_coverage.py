"""The coverage by clusters of hashicorp/raft: `python -m tests.scripts.raft_coverage` prints a part of coverage.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from lockstep.conformance.step_coverage import Reached, all_parts
from lockstep.jobs.fleet_coverage import Coverage
from lockstep.report.text_table import table
from lockstep.systems.hashicorp.floors import RARE_PARTS, unreachable
from lockstep.systems.hashicorp.plans import PLANS
from lockstep.systems.plan_floors import FEW_CLUSTERS, FEW_EVENTS, rare_parts
from tests.support.systems.fleets import covered, covering_spec


def everything() -> frozenset[Reached]:
    """All that a trace can reach, whether constants and plans allow it or not."""
    return all_parts(covering_spec("raft_whole"))


def coverage() -> Coverage:
    """Return the coverage of clusters of all plans, as many of each plan as verify runs of two."""
    found = Coverage()
    for plan in PLANS:
        for seed in range(1, FEW_CLUSTERS + 1):
            found.add_verdict(covered(plan, seed, FEW_EVENTS))
    return found


def why_not(what: Reached) -> str:
    """Return why no cluster reached something: every plan rules it out, or it is seldom in those that do not."""
    ruled_out = [unreachable(plan, covering_spec(plan)).get(what) for plan in PLANS]
    if None not in ruled_out:
        return f"unreachable: {ruled_out[0]}"
    rare = [rare_parts(plan, RARE_PARTS).get(what) for plan, why in zip(PLANS, ruled_out, strict=True) if why is None]
    return f"seldom: {rare[0]}" if None not in rare else "MUST BE REACHED"


def never(found: Coverage) -> Iterator[tuple[str, str, str]]:
    """Yield everything that was never reached, with the reason."""
    for kind, name in sorted(everything() - found.times.keys()):
        yield kind, name, why_not((kind, name))


def section() -> str:
    """Return the two tables."""
    found = coverage()
    missed = table(("what", "name", "why"), list(never(found)))
    return "\n".join(line.rstrip() for line in f"{found.text()}\n\nNever reached:\n\n{missed}".splitlines()) + "\n"


if __name__ == "__main__":
    sys.stdout.write(section())
